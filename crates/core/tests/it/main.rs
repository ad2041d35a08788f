// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the core promises, shown by enumeration where the space is small and by random inputs
//! where it is not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test stops where what it expects is not there"
)]

mod graphs;
mod pack_every_case;
mod pack_random;
mod permits;
mod records;
mod support;
mod tables;
mod untrusted_input;
