// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dot products of int8, exact in i32.

use crate::shape::DIM_MAX;
use fearless_simd::{Level, dispatch};

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::levels;

/// Values multiplied at a time. Long enough for two AVX2 multiplications, which hides the time an
/// addition takes; 16 and 64 are slower with AVX2 (`docs/decisions/0002-vector-kernel.md`).
const LANES: usize = 32;

// No sum leaves i32, whatever the order of adding: a value of a row is at most 128 in magnitude,
// one of a query at most 127, and 128 * 127 * 4096 = 66,584,576 < 2^31. So wrapping additions do
// not wrap, and they may be taken in any order.
const _: () = assert!(128 * 127 * DIM_MAX <= i32::MAX as usize);

/// The dot product of the query with each row, as many as `out` holds or `rows` has.
///
/// The code is one plain loop. `dispatch` compiles it once for each level of SIMD instructions,
/// and the compiler makes vectors of it; there are no instructions written by hand that could
/// compute something else on another machine.
pub(crate) fn dots(level: Level, query: &[i16], rows: &[u8], out: &mut [i32]) {
    dispatch!(level, _ => dots_plain(query, rows, out));
}

// Inlined, so that it is compiled with the instructions of the level that calls it.
#[inline(always)]
pub(crate) fn dots_plain(query: &[i16], rows: &[u8], out: &mut [i32]) {
    // A query has at least one dimension, so the chunks are not empty.
    for (out, row) in out.iter_mut().zip(rows.chunks_exact(query.len())) {
        *out = dot(query, row);
    }
}

#[inline(always)]
fn dot(query: &[i16], row: &[u8]) -> i32 {
    let (query, query_rest) = query.as_chunks::<LANES>();
    let (row, row_rest) = row.as_chunks::<LANES>();
    let whole = query.iter().zip(row).fold(0i32, |sum, (query, row)| {
        sum.wrapping_add(products(query, row))
    });
    whole.wrapping_add(products(query_rest, row_rest))
}

#[inline(always)]
fn products(query: &[i16], row: &[u8]) -> i32 {
    query.iter().zip(row).fold(0i32, |sum, (query, row)| {
        let product = i32::from(*query).wrapping_mul(i32::from(row.cast_signed()));
        sum.wrapping_add(product)
    })
}
