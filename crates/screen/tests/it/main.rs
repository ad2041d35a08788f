// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integration tests of screening.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test stops where what it expects is not there"
)]

mod corpora;
mod grounding;
mod limits;
mod near;
mod policy;
mod property;
mod reply;
mod screening;
mod withheld;
