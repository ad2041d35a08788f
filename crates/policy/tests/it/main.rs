// SPDX-License-Identifier: MIT OR Apache-2.0
//! Manifests, mandates and coverage as a caller meets them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where what it expects is not there"
)]

mod calls;
mod coverage;
mod documents;
mod fixture;
mod grants;
mod mandates;
mod manifests;
mod properties;
