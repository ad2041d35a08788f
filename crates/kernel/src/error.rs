// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why vectors are refused.

use crate::shape::{DIM_MAX, ROWS_MAX};

/// Why vectors, or bytes that should hold them, are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// The number of dimensions is outside its limits.
    #[error("a vector of {dim} dimensions; limit is 1 to {DIM_MAX}; take an embedder within it")]
    Dimensions {
        /// The number of dimensions.
        dim: usize,
    },
    /// More rows than a segment holds.
    #[error("more than {ROWS_MAX} rows; spread them over several segments")]
    TooManyRows,
    /// A row is not as long as the segment says.
    #[error("row {row} has {found} dimensions, not {dim}; embed all rows with one model")]
    RowLength {
        /// The row, from 0.
        row: u32,
        /// Its dimensions.
        found: usize,
        /// What the segment says.
        dim: usize,
    },
    /// A row holds a NaN or an infinity.
    #[error("row {row} is not a finite number at index {index}; embed its text again")]
    RowNotFinite {
        /// The row, from 0.
        row: u32,
        /// The dimension, from 0.
        index: usize,
    },
    /// The query is not as long as the rows.
    #[error("the query has {found} dimensions, the rows {dim}; embed both with one model")]
    QueryLength {
        /// Dimensions of the query.
        found: usize,
        /// Dimensions of the rows.
        dim: usize,
    },
    /// The query holds a NaN or an infinity.
    #[error("the query is not a finite number at index {index}; embed its text again")]
    QueryNotFinite {
        /// The dimension, from 0.
        index: usize,
    },
    /// The bytes are cut off or go on too long.
    #[error("{rows} rows of {dim} dimensions are {needed} bytes, not {found}; read them again")]
    BytesLength {
        /// Rows that the bytes should hold.
        rows: u32,
        /// Dimensions of each.
        dim: usize,
        /// Bytes there should be.
        needed: u64,
        /// Bytes there are.
        found: usize,
    },
    /// A scale is negative, a NaN or an infinity.
    #[error("the scale of row {row} is negative or not finite; restore the segment")]
    Scale {
        /// The row, from 0.
        row: u32,
    },
    /// A row to rescore is not in the segment.
    #[error("row {row} is not among {rows} rows; rescore with the segment that was scanned")]
    NoRow {
        /// The row, from 0.
        row: u32,
        /// Rows in the segment.
        rows: u32,
    },
}
