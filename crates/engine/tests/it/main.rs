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
mod attacks;
mod backup;
mod chat;
mod concurrency;
mod edges;
mod embedding;
mod endorse;
mod erase;
mod exposures;
mod faults;
mod formats;
mod held;
mod judged;
mod kill;
mod lists;
mod long_session;
mod odd_orders;
mod once;
mod promises;
mod quota;
mod recall;
mod reply;
mod report;
mod screened;
mod segments;
mod tamper;
mod tamper_rows;
mod withheld;
mod world;
mod write;
