// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exact vectors, by which the best of a scan are put in their final order.

use crate::error::VectorError;
use crate::scan::Hit;
use crate::shape::{Shape, check_query, each_row};

/// Bytes of one f32.
const VALUE_BYTES: usize = 4;

/// Writes rows of `dim` dimensions each as [`Exact`] reads them.
///
/// # Errors
/// [`VectorError::Dimensions`], [`VectorError::TooManyRows`], [`VectorError::RowLength`],
/// [`VectorError::RowNotFinite`].
pub fn exact_bytes<R: AsRef<[f32]>>(
    dim: usize,
    rows: impl IntoIterator<Item = R>,
) -> Result<Vec<u8>, VectorError> {
    let mut bytes = Vec::new();
    each_row(dim, rows, |values| {
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    })?;
    Ok(bytes)
}

/// Rows of f32 in bytes that lie elsewhere, such as a file in memory; nothing is copied.
#[derive(Debug, Clone, Copy)]
pub struct Exact<'a> {
    shape: Shape,
    bytes: &'a [u8],
}

impl<'a> Exact<'a> {
    /// Reads `rows` rows of `dim` dimensions. The values are looked at when a row is rescored.
    ///
    /// # Errors
    /// [`VectorError::Dimensions`], [`VectorError::TooManyRows`], [`VectorError::BytesLength`].
    pub fn new(dim: usize, rows: u32, bytes: &'a [u8]) -> Result<Self, VectorError> {
        let shape = Shape::new(dim, rows)?;
        let needed = shape.values().saturating_mul(VALUE_BYTES as u64);
        shape.check_bytes(needed, bytes)?;
        Ok(Self { shape, bytes })
    }

    /// The values of a row.
    fn row(&self, row: u32) -> Result<impl Iterator<Item = f32> + use<'a>, VectorError> {
        let rows = self.shape.rows;
        let bytes = self.shape.dim.saturating_mul(VALUE_BYTES);
        let from = bytes.saturating_mul(row as usize);
        let found = self.bytes.get(from..from.saturating_add(bytes));
        let (values, _) = found.ok_or(VectorError::NoRow { row, rows })?.as_chunks();
        Ok(values.iter().map(|bytes| f32::from_le_bytes(*bytes)))
    }

    /// The dot product with a query of as many finite numbers.
    ///
    /// A product of two f32 is exact in f64; they are added one by one in the order of the
    /// dimensions.
    fn dot(&self, query: &[f32], row: u32) -> Result<f64, VectorError> {
        let mut sum = 0.0f64;
        for ((index, value), query) in self.row(row)?.enumerate().zip(query) {
            if !value.is_finite() {
                return Err(VectorError::RowNotFinite { row, index });
            }
            sum += f64::from(value) * f64::from(*query);
        }
        // A sum that begins with 0.0 is never -0.0.
        Ok(sum)
    }
}

/// The best `k` of the rows in `hits` by their exact dot products, best first.
///
/// Of equal scores the lower row comes first; a row that is named twice is given once. The scores
/// of `hits` do not matter, and neither does their order.
///
/// # Errors
/// [`VectorError::Dimensions`], [`VectorError::QueryLength`], [`VectorError::QueryNotFinite`];
/// [`VectorError::NoRow`] and [`VectorError::RowNotFinite`] for the first hit with that fault.
pub fn rescore(
    exact: Exact<'_>,
    query: &[f32],
    hits: &[Hit],
    k: usize,
) -> Result<Vec<Hit>, VectorError> {
    check_query(query)?;
    if query.len() != exact.shape.dim {
        return Err(VectorError::QueryLength {
            found: query.len(),
            dim: exact.shape.dim,
        });
    }
    let score = |hit: &Hit| {
        let score = exact.dot(query, hit.row)?;
        Ok(Hit { score, ..*hit })
    };
    let mut best: Vec<Hit> = hits.iter().map(score).collect::<Result<_, _>>()?;
    best.sort_unstable_by(Hit::order);
    best.dedup_by_key(|hit| hit.row);
    best.truncate(k);
    Ok(best)
}
