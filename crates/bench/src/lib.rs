// SPDX-License-Identifier: MIT OR Apache-2.0
//! Benchmarks, reference model and tidy tests.
//!
//! Nothing depends on this crate. Its integration tests read the workspace as text and as cargo
//! sees it, and hold what neither the compiler nor clippy can: which crate may use which, sizes,
//! words, licences, links in documents, and that each invariant names a test that exists.

pub mod inputs;
