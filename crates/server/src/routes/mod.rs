// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each route does: one plain function each, from a request to an answer.

pub(crate) mod entries;
pub(crate) mod keys;
pub(crate) mod mandates;
pub(crate) mod review;
pub(crate) mod sessions;
pub(crate) mod sources;
