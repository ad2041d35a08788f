// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fixed inputs: what the benchmarks time and what the instruction counts run.

pub mod decide;
pub mod pack;
pub mod screen;
