// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the crate from outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a test stops at the first surprise"
)]

mod builtin;
mod format;
#[cfg(feature = "minilm")]
mod minilm;
#[cfg(feature = "ort")]
mod onnx;
mod retrieval;
