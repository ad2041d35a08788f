// SPDX-License-Identifier: MIT OR Apache-2.0
//! Benchmarks, reference model and tidy tests.
