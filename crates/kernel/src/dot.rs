// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dot products of int8, exact in i32.

use crate::shape::DIM_MAX;
use fearless_simd::{Level, dispatch};

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::levels;

/// Values multiplied at a time, the sums of which are kept apart in half as many lanes. Shorter and
/// longer are slower with AVX2 and SSE4.2 (`docs/decisions/0002-vector-kernel.md`).
const VALUES: usize = 32;
const LANES: usize = VALUES / 2;

// No sum leaves i32, whatever the order of adding: a value of a row is at most 128 in magnitude,
// one of a query at most 127, and 128 * 127 * 4096 = 66,584,576 < 2^31. So wrapping additions do
// not wrap, and they may be taken in any order.
const _: () = assert!(128 * 127 * DIM_MAX <= i32::MAX as usize);

/// The dot product of the query with each row, as many as `out` holds or `rows` has.
///
/// The code is plain loops. `dispatch` compiles them once for each level of SIMD instructions, and
/// the compiler makes vectors of them; there are no instructions written by hand that could compute
/// something else on another machine.
pub(crate) fn dots(level: Level, query: &[i16], rows: &[u8], out: &mut [i32]) {
    if is_wide(level) {
        dispatch!(level, _ => each_row(query, rows, out, whole));
    } else {
        dispatch!(level, _ => each_row(query, rows, out, in_lanes));
    }
}

/// Whether the level is AVX-512, with which a loop over a whole row is fastest.
fn is_wide(level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    return level.as_avx512().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

// Inlined, as all below, so that it is compiled with the instructions of the level that calls it.
#[inline(always)]
fn each_row(query: &[i16], rows: &[u8], out: &mut [i32], dot: impl Fn(&[i16], &[u8]) -> i32) {
    // A query has at least one dimension, so the chunks are not empty.
    for (out, row) in out.iter_mut().zip(rows.chunks_exact(query.len())) {
        *out = dot(query, row);
    }
}

#[inline(always)]
fn in_lanes(query: &[i16], row: &[u8]) -> i32 {
    let (query, query_rest) = query.as_chunks::<VALUES>();
    let (row, row_rest) = row.as_chunks::<VALUES>();
    let mut sums = [0i32; LANES];
    for (query, row) in query.iter().zip(row) {
        let (query, query_above) = query.split_at(LANES);
        let (row, row_above) = row.split_at(LANES);
        let below = query.iter().zip(row);
        let above = query_above.iter().zip(row_above);
        for (sum, ((q0, r0), (q1, r1))) in sums.iter_mut().zip(below.zip(above)) {
            let two = product(*q0, *r0).wrapping_add(product(*q1, *r1));
            *sum = sum.wrapping_add(two);
        }
    }
    sums.iter().fold(whole(query_rest, row_rest), |sum, lane| {
        sum.wrapping_add(*lane)
    })
}

#[inline(always)]
fn whole(query: &[i16], row: &[u8]) -> i32 {
    query.iter().zip(row).fold(0i32, |sum, (query, row)| {
        sum.wrapping_add(product(*query, *row))
    })
}

#[inline(always)]
fn product(query: i16, row: u8) -> i32 {
    i32::from(query).wrapping_mul(i32::from(row.cast_signed()))
}
