// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{HEAD_BYTES, SHORT_BYTES_MAX, general, in_turn, leaf_hash, short, with_content};
use crate::record::content_commitment;

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

#[test]
fn a_leaf_and_a_content_in_turn_hash_as_each_alone() {
    let bytes: Vec<u8> = (0..2_000)
        .map(|n: usize| (n * 7).to_le_bytes()[0])
        .collect();
    let leaves = [
        0,
        1,
        54,
        55,
        118,
        119,
        228,
        SHORT_BYTES_MAX,
        SHORT_BYTES_MAX + 1,
    ];
    let contents = (0..300).chain([1_023, 1_024, 1_025, 1_999]);
    for (leaf, content) in contents.flat_map(|c| leaves.map(|l| (l, c))) {
        let (leaf, text) = (&bytes[..leaf], &bytes[..content]);
        let salt = [9; 16];
        let alone = (general(leaf), content_commitment(&salt, text));
        assert_eq!(
            with_content(leaf, (&salt, text)),
            alone,
            "{} {content}",
            leaf.len()
        );
        let taken = leaf.len() <= SHORT_BYTES_MAX && content >= HEAD_BYTES;
        assert_eq!(in_turn(leaf, (&salt, text)).is_some(), taken);
    }
}
