// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::naive;
use ancile_ledger::{
    BUNDLE_BYTES_MAX, LEAF_BYTES_MAX, TileError, decode_bundle, decode_tile, encode_bundle,
    encode_tile, entries_path, leaf_hash, tile_path,
};
use proptest::prelude::*;

#[test]
fn paths_are_those_of_the_specification() {
    let cases = [
        (0, 0, 256, "tile/0/000"),
        (0, 0, 1, "tile/0/000.p/1"),
        (1, 999, 255, "tile/1/999.p/255"),
        (2, 1000, 256, "tile/2/x001/000"),
        (0, 1_234, 5, "tile/0/x001/234.p/5"),
        (0, 1_234_067, 256, "tile/0/x001/x234/067"),
        (63, 1_000_000, 256, "tile/63/x001/x000/000"),
        (0, u64::MAX, 256, "tile/0/x018/x446/x744/x073/x709/x551/615"),
    ];
    for (level, index, width, path) in cases {
        assert_eq!(tile_path(level, index, width), path);
    }
    assert_eq!(entries_path(1_234_067, 256), "tile/entries/x001/x234/067");
    assert_eq!(entries_path(273, 112), "tile/entries/273.p/112");
    // No width but 1 to 255 is partial.
    assert_eq!(tile_path(0, 7, 0), "tile/0/007");
    assert_eq!(tile_path(0, 7, 257), "tile/0/007");
}

#[test]
fn tiles_of_a_tree_of_70_000_leaves_are_those_of_the_specification() {
    let leaves = naive::leaves(70_000);
    let tree = naive::tree(&leaves);
    let there = |level, index, width| tree.tile(level, index, width).is_some();
    assert!(there(0, 272, 256) && there(0, 273, 112) && !there(0, 273, 113));
    assert!(there(1, 0, 256) && there(1, 1, 17) && !there(1, 1, 18));
    assert!(there(2, 0, 1) && !there(2, 0, 2) && !there(3, 0, 1));
    let tile = decode_tile(&tree.tile(0, 273, 112).unwrap()).unwrap();
    assert_eq!(tile, leaves[69_888..]);
    let tile = decode_tile(&tree.tile(1, 0, 256).unwrap()).unwrap();
    for (i, hash) in tile.iter().enumerate() {
        assert_eq!(*hash, naive::root(&leaves[i * 256..(i + 1) * 256]));
    }
    let tile = decode_tile(&tree.tile(2, 0, 1).unwrap()).unwrap();
    assert_eq!(tile, [naive::root(&leaves[..65_536])]);
}

#[test]
fn tile_width_limits() {
    let tree = naive::tree(&naive::leaves(600));
    for (width, there) in [
        (0, false),
        (1, true),
        (255, true),
        (256, true),
        (257, false),
    ] {
        let tile = tree.tile(0, 0, width);
        assert_eq!(tile.is_some(), there);
        assert_eq!(
            tile.map_or(0, |t| t.len()),
            usize::from(there) * usize::from(width) * 32
        );
    }
    assert_eq!(tree.tile(255, u64::MAX, 256), None);
    for (bytes, fits) in [
        (0, false),
        (31, false),
        (32, true),
        (33, false),
        (8160, true),
        (8192, true),
        (8193, false),
        (8224, false),
    ] {
        let answer = decode_tile(&vec![7; bytes]);
        assert_eq!(answer.is_ok(), fits, "{bytes}");
        if !fits {
            assert_eq!(answer, Err(TileError::TileLength { bytes }));
        }
    }
}

#[test]
fn leaf_length_limit() {
    for length in [LEAF_BYTES_MAX - 1, LEAF_BYTES_MAX] {
        let body = vec![1u8; length];
        let bundle = encode_bundle(&[&body]).unwrap();
        assert_eq!(bundle.len(), 2 + length);
        assert_eq!(decode_bundle(&bundle).unwrap(), [&body[..]]);
    }
    let bytes = LEAF_BYTES_MAX + 1;
    let answer = encode_bundle(&[vec![1u8; bytes]]);
    assert_eq!(answer, Err(TileError::LeafTooLong { bytes }));
    let message = answer.unwrap_err().to_string();
    assert_eq!(
        message,
        "leaf body is 65536 bytes; limit is 65535; split what it says"
    );
}

#[test]
fn bundle_count_limit() {
    for count in [0, 1, 255, 256] {
        let bundle = encode_bundle(&vec![b"ab"; count]).unwrap();
        assert_eq!(decode_bundle(&bundle).unwrap().len(), count);
    }
    let many = vec![b"ab"; 257];
    assert_eq!(encode_bundle(&many), Err(TileError::TooManyLeaves));
    let mut bundle = encode_bundle(&many[..256]).unwrap();
    bundle.extend_from_slice(&[0, 0]);
    assert_eq!(decode_bundle(&bundle), Err(TileError::TooManyLeaves));
    let largest = encode_bundle(&vec![vec![0u8; LEAF_BYTES_MAX]; 256]).unwrap();
    assert_eq!(largest.len(), BUNDLE_BYTES_MAX);
}

#[test]
fn a_bundle_is_lengths_in_big_endian_and_bodies() {
    let bundle = encode_bundle(&[&b"a"[..], b"", b"bcd"]).unwrap();
    assert_eq!(bundle, b"\0\x01a\0\0\0\x03bcd");
    for (cut, at) in [(1, 0), (2, 0), (4, 1), (6, 2), (9, 2)] {
        let answer = decode_bundle(&bundle[..cut]);
        assert_eq!(answer, Err(TileError::BundleCut { at }), "{cut}");
    }
}

proptest! {
    #[test]
    fn bundles_and_tiles_round_trip(
        leaves in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..40),
    ) {
        let bundle = encode_bundle(&leaves).unwrap();
        prop_assert_eq!(decode_bundle(&bundle).unwrap(), leaves.clone());
        let hashes: Vec<_> = leaves.iter().map(|l| leaf_hash(l)).collect();
        prop_assert_eq!(decode_tile(&encode_tile(&hashes)).unwrap(), hashes);
    }

    #[test]
    fn what_decodes_encodes_to_the_same_bytes(bytes in prop::collection::vec(0u8..4, 0..60)) {
        if let Ok(leaves) = decode_bundle(&bytes) {
            prop_assert_eq!(encode_bundle(&leaves).unwrap(), bytes);
        }
    }
}
