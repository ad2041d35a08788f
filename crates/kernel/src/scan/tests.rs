// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole scans on every path.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use super::{BLOCK_ROWS, Wanted, scan_at};
use crate::dot::levels;
use crate::{Hit, Quantised, Query};
use fearless_simd::Level;
use proptest::collection::vec;
use proptest::prelude::*;

/// Hits with the bits of their scores.
fn bits(hits: &[Hit]) -> Vec<(u32, u64)> {
    hits.iter()
        .map(|hit| (hit.row, hit.score.to_bits()))
        .collect()
}

#[test]
fn rows_on_both_sides_of_a_block_are_found() {
    for count in [BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS] {
        // The last row is the best, the first the second.
        let at = |row: usize| [if row + 1 == count { 2.0 } else { 0.5 }, row as f32 * -1e-3];
        let rows = Quantised::new(2, (0..count).map(at)).unwrap();
        let query = Query::new(&[1.0, 0.5]).unwrap();
        for (name, level) in levels() {
            let keep = &|_| true;
            let hits = scan_at(level, rows.view(), &query, Wanted { k: 2, keep });
            let found: Vec<u32> = hits.iter().map(|hit| hit.row).collect();
            let last = u32::try_from(count - 1).unwrap();
            assert_eq!(found, [last, 0], "{name}, {count} rows");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn every_path_gives_the_same_rows_and_bits(
        values in vec(-1.0f32..1.0, 600 * 35),
        dim in 1usize..=70,
        k in 0usize..=700,
        every in 1u32..=4,
    ) {
        let rows = Quantised::new(dim, values.chunks_exact(dim).take(600)).unwrap();
        let query = Query::new(values.rchunks_exact(dim).next().unwrap()).unwrap();
        let keep = &|row: u32| row.is_multiple_of(every);
        let scan = |level: Level| scan_at(level, rows.view(), &query, Wanted { k, keep });
        let want = bits(&scan(Level::baseline()));
        for (name, level) in levels() {
            prop_assert_eq!(&bits(&scan(level)), &want, "{}", name);
        }
    }
}
