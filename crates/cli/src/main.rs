// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `ancile` binary.
fn main() {}
