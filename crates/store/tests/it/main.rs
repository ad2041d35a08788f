// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the store through its public interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    reason = "a test may stop at the first surprise"
)]

mod access;
mod fixture;
mod history;
mod proofs;
mod roundtrip;
mod segments;
mod tamper;
mod witness;

/// Fails when a file of this folder is not compiled into the binary.
#[test]
fn no_test_file_is_forgotten() {
    let listed = include_str!("main.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap();
        let is_module = listed.contains(&format!("\nmod {module};\n"));
        assert!(module == "main" || is_module, "{name} is not in main.rs");
        seen += 1;
    }
    assert!(seen > 1);
}
