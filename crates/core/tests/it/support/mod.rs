// SPDX-License-Identifier: MIT OR Apache-2.0
//! What several test files use.

pub mod exhaust;
pub mod facts;
pub mod graph;
pub mod naive_pack;

/// Whether the long enumerations are to run; prints that they are not when they are not.
pub fn full(name: &str) -> bool {
    let full = std::env::var_os("ANCILE_FULL").is_some_and(|v| v == "1");
    if !full {
        println!("SKIPPED (scripts/full): {name}");
    }
    full
}
