// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every path against sums in i64.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]

use super::{dots, each_row, in_lanes, whole};
use crate::shape::DIM_MAX;
use fearless_simd::Level;
use proptest::collection::vec;
use proptest::prelude::*;

/// Every level of instructions that this machine has, by name.
pub(crate) fn levels() -> Vec<(&'static str, Level)> {
    let always = [("baseline", Level::baseline()), ("best", Level::new())];
    always.into_iter().chain(between()).collect()
}

#[cfg(target_arch = "x86_64")]
fn between() -> Vec<(&'static str, Level)> {
    use fearless_simd::Simd;
    let best = Level::new();
    let sse = best.as_sse4_2().map(|token| ("sse4.2", token.level()));
    let avx2 = best.as_avx2().map(|token| ("avx2", token.level()));
    let avx512 = best.as_avx512().map(|token| ("avx512", token.level()));
    [sse, avx2, avx512].into_iter().flatten().collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn between() -> Vec<(&'static str, Level)> {
    Vec::new()
}

#[cfg(target_arch = "aarch64")]
#[test]
fn an_aarch64_machine_runs_the_neon_path() {
    assert!(Level::new().as_neon().is_some());
}

fn naive(query: &[i16], rows: &[u8]) -> Vec<i32> {
    let dot = |row: &[u8]| -> i64 {
        let both = query.iter().zip(row);
        both.map(|(q, r)| i64::from(*q) * i64::from(r.cast_signed()))
            .sum()
    };
    let sums = rows.chunks_exact(query.len()).map(dot);
    sums.map(|sum| i32::try_from(sum).expect("within i32"))
        .collect()
}

#[track_caller]
fn check(query: &[i16], rows: &[u8]) {
    let want = naive(query, rows);
    let mut plain = vec![0; want.len()];
    each_row(query, rows, &mut plain, whole);
    assert_eq!(plain, want, "a whole row");
    each_row(query, rows, &mut plain, in_lanes);
    assert_eq!(plain, want, "in lanes");
    for (name, level) in levels() {
        let mut out = vec![0; want.len()];
        dots(level, query, rows, &mut out);
        assert_eq!(out, want, "{name}");
    }
}

#[test]
fn extreme_values_at_every_length_around_a_chunk() {
    for dim in (1..=130).chain([384, DIM_MAX - 1, DIM_MAX]) {
        for level in [-127i16, 127] {
            for value in [-128i8, -127, 0, 127] {
                check(&vec![level; dim], &vec![value.cast_unsigned(); dim * 3]);
            }
        }
    }
}

#[test]
fn no_sum_leaves_i32_at_the_largest_dimension() {
    let mut out = [0];
    for (value, want) in [(-128i8, -66_584_576), (127, 66_064_384)] {
        for (name, level) in levels() {
            let row = [value.cast_unsigned(); DIM_MAX];
            dots(level, &[127; DIM_MAX], &row, &mut out);
            assert_eq!(out, [want], "{name}");
        }
    }
}

#[test]
fn as_many_rows_are_taken_as_there_are_and_fit() {
    let mut out = [7; 3];
    dots(Level::new(), &[1, 1], &[1, 1, 2, 2, 3], &mut out);
    assert_eq!(out, [2, 4, 7]);
    dots(Level::new(), &[1], &[1, 2, 3, 4, 5], &mut out);
    assert_eq!(out, [1, 2, 3]);
}

/// Queries and three rows of some dimensions.
fn inputs() -> impl Strategy<Value = (Vec<i16>, Vec<u8>)> {
    let dims = prop_oneof![4 => 1usize..=130, 1 => Just(384)];
    dims.prop_flat_map(|dim| (vec(-127i16..=127, dim), vec(any::<u8>(), dim * 3)))
}

proptest! {
    #[test]
    fn every_path_gives_the_exact_sum((query, rows) in inputs()) {
        check(&query, &rows);
    }
}
