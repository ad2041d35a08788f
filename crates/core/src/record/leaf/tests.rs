// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{SHORT_BYTES_MAX, general, leaf_hash, short};

#[test]
fn a_short_leaf_hashes_as_the_general_hasher_says() {
    let bytes: Vec<u8> = (0..SHORT_BYTES_MAX + 2)
        .map(|n| (n * 7).to_le_bytes()[0])
        .collect();
    for len in 0..=bytes.len() {
        let part = &bytes[..len];
        assert_eq!(leaf_hash(part), general(part), "{len} bytes");
        assert_eq!(short(part).is_some(), len <= SHORT_BYTES_MAX, "{len} bytes");
    }
}

#[test]
fn the_empty_leaf_is_that_of_rfc_6962() {
    let known = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d";
    assert_eq!(leaf_hash(b"").to_string(), known);
}
