// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one scan over vectors: int8 rows first, then exact rescoring of the best.
//!
//! A row of f32 becomes int8 with one scale a row ([`Quantised`]). [`scan`] finds the best rows by
//! the dot product of int8 values, [`rescore`] orders them by the dot product of the f32 values.
//! Both visit every row they are given: no graph and no order of insertion that an attacker could
//! shape, and erasing a row is leaving it out.
//!
//! The same bytes and the same query give the same rows and the same bits of the scores on every
//! machine. A dot product is an i32 that is exact in any order of adding; what follows is f64
//! arithmetic in one fixed order.
//!
//! # Layout
//!
//! A segment is what [`View`] reads: `n` rows of `d` dimensions, aligned to nothing.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | `n * d` | the values, one i8 each, row after row; written ones are -127 to 127 |
//! | `n * d` | `4 * n` | the scales, one f32 a row, little endian, finite and not negative |
//!
//! Beside it lie the exact values, which [`Exact`] reads, aligned to nothing.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | `4 * n * d` | the values, one f32 each, little endian, row after row |
//!
//! Neither names its own `n` and `d` or carries a digest: whoever keeps the segment knows both and
//! has checked its digest.
//!
//! # Example
//!
//! ```
//! use ancile_kernel::{Exact, Quantised, Query, View, exact_bytes, rescore, scan};
//!
//! let rows = [[0.6_f32, 0.8], [1.0, 0.0], [0.0, -1.0]];
//! let segment = Quantised::new(2, rows)?.into_bytes();
//! let floats = exact_bytes(2, rows)?;
//!
//! let query = [0.0_f32, 1.0];
//! let view = View::new(2, 3, &segment)?;
//! let hits = scan(view, &Query::new(&query)?, 2, &|row| row != 2)?;
//! let best = rescore(Exact::new(2, 3, &floats)?, &query, &hits, 1)?;
//! assert_eq!(best.first().map(|hit| hit.row), Some(0));
//! # Ok::<(), ancile_kernel::VectorError>(())
//! ```

#![deny(missing_docs)]
#![deny(clippy::arithmetic_side_effects)]

mod dot;
mod error;
mod exact;
mod quantised;
mod scan;
mod shape;

pub use error::VectorError;
pub use exact::{Exact, exact_bytes, rescore};
pub use quantised::{Quantised, Query, View};
pub use scan::{Hit, scan};
pub use shape::{DIM_MAX, ROWS_MAX};
