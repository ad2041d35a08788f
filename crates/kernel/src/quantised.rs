// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vectors as int8 with one scale each.

use crate::error::VectorError;
use crate::shape::{Shape, check_query, each_row};

/// The largest int8 value that is written; -128 never is, so that a vector and its opposite have
/// opposite values.
const LEVEL_MAX: f32 = 127.0;

/// Rows of int8 with one scale each, in the layout of a segment.
///
/// The scale of a row is its largest magnitude divided by 127, and a value is the nearest multiple
/// of it, halves away from zero. A zero row has scale 0; so has one below about 9e-44 throughout,
/// whose scale f32 cannot hold.
#[derive(Debug, Clone)]
pub struct Quantised {
    shape: Shape,
    bytes: Vec<u8>,
}

impl Quantised {
    /// Quantises rows of `dim` dimensions each; there may be none.
    ///
    /// # Errors
    /// [`VectorError::Dimensions`], [`VectorError::TooManyRows`], [`VectorError::RowLength`],
    /// [`VectorError::RowNotFinite`].
    pub fn new<R: AsRef<[f32]>>(
        dim: usize,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Self, VectorError> {
        let (mut bytes, mut scales, mut count) = (Vec::new(), Vec::new(), 0u32);
        each_row(dim, rows, |values| {
            let scale = scale_of(values);
            bytes.extend(levels(values, scale).map(i8::cast_unsigned));
            scales.extend(scale.to_le_bytes());
            count = count.saturating_add(1);
        })?;
        bytes.append(&mut scales);
        let shape = Shape::new(dim, count)?;
        Ok(Self { shape, bytes })
    }

    /// The rows, to scan.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View::split(self.shape, &self.bytes)
    }

    /// The bytes of the segment.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of the segment, without a copy.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Rows of int8 in bytes that lie elsewhere, such as a file in memory; nothing is copied.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    shape: Shape,
    values: &'a [u8],
    scales: &'a [[u8; 4]],
}

impl<'a> View<'a> {
    /// Reads `rows` rows of `dim` dimensions from the bytes of a segment.
    ///
    /// Every scale is read once. A value of -128, which nothing writes, is taken as -128.
    ///
    /// # Errors
    /// [`VectorError::Dimensions`], [`VectorError::TooManyRows`], [`VectorError::BytesLength`],
    /// [`VectorError::Scale`].
    pub fn new(dim: usize, rows: u32, bytes: &'a [u8]) -> Result<Self, VectorError> {
        let shape = Shape::new(dim, rows)?;
        let scales = u64::from(rows).saturating_mul(4);
        shape.check_bytes(shape.values().saturating_add(scales), bytes)?;
        let view = Self::split(shape, bytes);
        let fits = |scale: &f32| scale.is_finite() && *scale >= 0.0;
        // All are looked at without a branch, which is several times faster than to stop at one.
        if view.scales().fold(true, |all, scale| all & fits(&scale)) {
            return Ok(view);
        }
        let row = (0..).zip(view.scales()).find(|(_, scale)| !fits(scale));
        let row = row.map_or(0, |(row, _)| row);
        Err(VectorError::Scale { row })
    }

    /// Splits bytes of the right length.
    fn split(shape: Shape, bytes: &'a [u8]) -> Self {
        let (values, scales) = usize::try_from(shape.values())
            .ok()
            .and_then(|at| bytes.split_at_checked(at))
            .unwrap_or_default();
        let (scales, _) = scales.as_chunks();
        Self {
            shape,
            values,
            scales,
        }
    }

    /// Dimensions of each row.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.shape.dim
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.shape.rows
    }

    /// The values of all rows, each byte an i8.
    pub(crate) fn values(&self) -> &'a [u8] {
        self.values
    }

    /// The scales in the order of the rows.
    pub(crate) fn scales(&self) -> impl Iterator<Item = f32> + use<'a> {
        self.scales.iter().map(|bytes| f32::from_le_bytes(*bytes))
    }
}

/// A query, quantised as a row is.
#[derive(Debug, Clone)]
pub struct Query {
    /// From -127 to 127; i16, since the scan multiplies i16.
    levels: Vec<i16>,
    scale: f32,
}

impl Query {
    /// Quantises a query.
    ///
    /// # Errors
    /// [`VectorError::Dimensions`], [`VectorError::QueryNotFinite`].
    pub fn new(values: &[f32]) -> Result<Self, VectorError> {
        check_query(values)?;
        let scale = scale_of(values);
        let levels = levels(values, scale).map(i16::from).collect();
        Ok(Self { levels, scale })
    }

    /// Dimensions of the query.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.levels.len()
    }

    pub(crate) fn levels(&self) -> &[i16] {
        &self.levels
    }

    pub(crate) fn scale(&self) -> f32 {
        self.scale
    }
}

fn magnitude(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

fn scale_of(values: &[f32]) -> f32 {
    magnitude(values) / LEVEL_MAX
}

/// The values in units of the scale, from -127 to 127; all 0 where the scale is.
///
/// They are taken from the largest magnitude and not from the scale, which is rounded. `value *
/// 127` is exact in f64 and at most `most * 127`, so no quotient is above 127.
fn levels(values: &[f32], scale: f32) -> impl Iterator<Item = i8> {
    let most = f64::from(magnitude(values));
    values.iter().map(move |value| {
        if scale == 0.0 {
            return 0;
        }
        let level = (f64::from(*value) * f64::from(LEVEL_MAX) / most).round();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a whole number from -127 to 127"
        )]
        let level = level as i8;
        level
    })
}
