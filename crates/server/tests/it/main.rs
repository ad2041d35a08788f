// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server as a client meets it: real HTTP over a real store.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs,
    reason = "a test stops at the first surprise"
)]

mod bad;
mod cases;
mod contract;
mod document;
mod exposures;
mod input;
mod limits;
mod metrics;
mod once;
mod pages;
mod pending;
mod roles;
mod story;
mod world;
