// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tidy tests: rules over the workspace that no other tool holds. Each rule is a function from
//! text to faults, with an example that it lets pass and one that it does not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs,
    reason = "a test stops at the first surprise"
)]

mod documents;
mod edges;
mod forgotten;
mod full;
mod invariants;
mod licences;
mod lints;
mod markdown;
mod rust_text;
mod sizes;
mod tree;
mod words;
