// SPDX-License-Identifier: MIT OR Apache-2.0
//! The gates, through the engine's handle.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs,
    reason = "a test stops at the first surprise"
)]

mod act;
mod recall;
mod tamper;
mod world;
mod write;
