// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many rows of how many dimensions.

use crate::error::VectorError;

/// Most dimensions of a vector; the least is 1.
pub const DIM_MAX: usize = 4096;

/// Most rows of a segment.
pub const ROWS_MAX: u32 = 4_194_304;

/// Dimensions and rows within their limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) dim: usize,
    pub(crate) rows: u32,
}

impl Shape {
    pub(crate) fn new(dim: usize, rows: u32) -> Result<Self, VectorError> {
        check_dim(dim)?;
        if rows > ROWS_MAX {
            return Err(VectorError::TooManyRows);
        }
        Ok(Self { dim, rows })
    }

    /// Values of all rows; below 2^34.
    pub(crate) fn values(self) -> u64 {
        u64::from(self.rows).saturating_mul(self.dim as u64)
    }

    /// Refuses bytes that are not exactly as many as needed.
    pub(crate) fn check_bytes(self, needed: u64, bytes: &[u8]) -> Result<(), VectorError> {
        if bytes.len() as u64 == needed {
            return Ok(());
        }
        Err(VectorError::BytesLength {
            rows: self.rows,
            dim: self.dim,
            needed,
            found: bytes.len(),
        })
    }
}

pub(crate) fn check_dim(dim: usize) -> Result<(), VectorError> {
    if (1..=DIM_MAX).contains(&dim) {
        Ok(())
    } else {
        Err(VectorError::Dimensions { dim })
    }
}

/// Gives each row to `take` in order, once it is of `dim` finite numbers.
pub(crate) fn each_row<R: AsRef<[f32]>>(
    dim: usize,
    rows: impl IntoIterator<Item = R>,
    mut take: impl FnMut(&[f32]),
) -> Result<(), VectorError> {
    check_dim(dim)?;
    for (values, row) in rows.into_iter().zip(0..) {
        if row == ROWS_MAX {
            return Err(VectorError::TooManyRows);
        }
        let values = values.as_ref();
        if values.len() != dim {
            let found = values.len();
            return Err(VectorError::RowLength { row, found, dim });
        }
        if let Some(index) = not_finite(values) {
            return Err(VectorError::RowNotFinite { row, index });
        }
        take(values);
    }
    Ok(())
}

/// Checks a query by itself.
pub(crate) fn check_query(values: &[f32]) -> Result<(), VectorError> {
    check_dim(values.len())?;
    not_finite(values).map_or(Ok(()), |index| Err(VectorError::QueryNotFinite { index }))
}

/// The index of the first NaN or infinity.
pub(crate) fn not_finite(values: &[f32]) -> Option<usize> {
    values.iter().position(|value| !value.is_finite())
}
