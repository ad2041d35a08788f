// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file format of an embedding table; `docs/formats/embedding.md` is its description.

use crate::fault::LoadError;

/// Version of the format that is read.
pub const FORMAT_VERSION: u16 = 1;
/// Most numbers in a row.
pub const DIMENSION_MAX: u16 = 4_096;

const MAGIC: [u8; 8] = *b"ANCILEMB";

/// A table as it lies in its file. Tokens and rows have the same order.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    /// Lines `key: value` that say where it came from.
    pub about: &'a str,
    pub tokens: Vec<&'a str>,
    pub dimension: usize,
    /// One a row, positive.
    pub scales: Vec<f32>,
    /// Row after row.
    pub values: Vec<i8>,
}

impl<'a> Table<'a> {
    /// Reads a table and refuses whatever its description does not allow.
    pub fn read(bytes: &'a [u8]) -> Result<Self, LoadError> {
        let (head, body) = Head::read(bytes)?;
        let expected = head.bytes();
        let wrong_length = LoadError::Length {
            found: bytes.len(),
            expected,
        };
        if u64::try_from(bytes.len()) != Ok(expected) {
            return Err(wrong_length);
        }
        let take = |from: &'a [u8], n: u32| {
            let n = usize::try_from(n).unwrap_or(usize::MAX);
            from.split_at_checked(n).ok_or(wrong_length.clone())
        };
        let (about, body) = take(body, head.about)?;
        let (vocabulary, body) = take(body, head.vocabulary)?;
        let (scales, values) = take(body, head.rows.saturating_mul(4))?;

        Ok(Self {
            about: text(about, "metadata")?,
            tokens: tokens(text(vocabulary, "vocabulary")?, head.rows)?,
            dimension: usize::from(head.dimension),
            scales: positive(scales)?,
            values: values.iter().map(|byte| byte.cast_signed()).collect(),
        })
    }

    /// The value of a metadata line.
    pub fn field(&self, key: &'static str) -> Result<&'a str, LoadError> {
        let value = |line: &'a str| line.strip_prefix(key)?.strip_prefix(": ");
        let found = self.about.lines().find_map(value);
        found.ok_or(LoadError::Metadata(key))
    }
}

/// What the first bytes announce; lengths in bytes.
struct Head {
    dimension: u16,
    rows: u32,
    about: u32,
    vocabulary: u32,
}

impl Head {
    const BYTES: u64 = 24;

    fn read(bytes: &[u8]) -> Result<(Self, &[u8]), LoadError> {
        let body = bytes.strip_prefix(&MAGIC).ok_or(LoadError::NotATable)?;
        let short = LoadError::Length {
            found: bytes.len(),
            expected: Self::BYTES,
        };
        let (version, body) = body.split_first_chunk().ok_or(short.clone())?;
        let version = u16::from_be_bytes(*version);
        if version != FORMAT_VERSION {
            return Err(LoadError::Format(version));
        }
        let (dimension, body) = body.split_first_chunk().ok_or(short.clone())?;
        let (rows, body) = body.split_first_chunk().ok_or(short.clone())?;
        let (about, body) = body.split_first_chunk().ok_or(short.clone())?;
        let (vocabulary, body) = body.split_first_chunk().ok_or(short)?;
        let head = Self {
            dimension: u16::from_be_bytes(*dimension),
            rows: u32::from_be_bytes(*rows),
            about: u32::from_be_bytes(*about),
            vocabulary: u32::from_be_bytes(*vocabulary),
        };
        if head.dimension == 0 || head.dimension > DIMENSION_MAX {
            return Err(LoadError::Dimension(head.dimension));
        }
        Ok((head, body))
    }

    /// Bytes of the whole file. The largest head stays below 2^45.
    fn bytes(&self) -> u64 {
        let row = 4 + u64::from(self.dimension);
        let texts = u64::from(self.about) + u64::from(self.vocabulary);
        Self::BYTES + texts + u64::from(self.rows) * row
    }
}

fn text<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a str, LoadError> {
    std::str::from_utf8(bytes).map_err(|_| LoadError::NotUtf8(what))
}

/// The tokens, each ended by a line feed.
fn tokens(vocabulary: &str, rows: u32) -> Result<Vec<&str>, LoadError> {
    let tokens: Vec<&str> = vocabulary.split_terminator('\n').collect();
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    if tokens.len() != rows || !(vocabulary.is_empty() || vocabulary.ends_with('\n')) {
        let tokens = tokens.len();
        return Err(LoadError::Tokens { tokens, rows });
    }
    Ok(tokens)
}

fn positive(scales: &[u8]) -> Result<Vec<f32>, LoadError> {
    let (chunks, _) = scales.as_chunks();
    let scale = |(row, chunk): (usize, &[u8; 4])| {
        let scale = f32::from_be_bytes(*chunk);
        let good = scale.is_normal() && scale.is_sign_positive();
        good.then_some(scale).ok_or(LoadError::Scale(row))
    };
    chunks.iter().enumerate().map(scale).collect()
}
