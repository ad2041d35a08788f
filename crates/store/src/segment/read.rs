// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading a segment: each part is compared with the digest in the head before it is used.

use super::head::Head;
use super::{CHUNK_BYTES, ROW_BYTES, Row, Section, list_digest};
use crate::fault::ReadError;
use ancile_core::{Digest, EntryId};
use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

/// Where the chunks of a tenant's segments are.
pub trait ChunkSource {
    /// A piece as it is stored; nothing when it is not there.
    ///
    /// # Errors
    /// [`ReadError`] when the database cannot be read.
    fn fetch(
        &self,
        segment: &Digest,
        section: u8,
        chunk: i64,
    ) -> Result<Option<Vec<u8>>, ReadError>;

    /// A chunk that was given to [`Self::keep`] and is still there.
    fn cached(&self, _segment: &Digest, _section: u8, _chunk: i64) -> Option<Arc<[u8]>> {
        None
    }

    /// Takes a chunk that was compared with its digest.
    fn keep(&self, _segment: &Digest, _section: u8, _chunk: i64, _bytes: &Arc<[u8]>) {}
}

/// Why a segment cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// A piece is gone.
    #[error("index segment {segment}: chunk {chunk} of section {section} is missing")]
    Missing {
        /// The segment.
        segment: Digest,
        /// The section's number; 0 is the head.
        section: u8,
        /// The chunk; -1 is the list of digests.
        chunk: i64,
    },
    /// A piece is not what was written.
    #[error("index segment {segment}: chunk {chunk} of section {section} was edited")]
    Edited {
        /// The segment.
        segment: Digest,
        /// The section's number; 0 is the head.
        section: u8,
        /// The chunk; -1 is the list of digests.
        chunk: i64,
    },
    /// What was written makes no sense: a fault of the writer.
    #[error("index segment {segment}: section {section} cannot be read")]
    Malformed {
        /// The segment.
        segment: Digest,
        /// The section's number.
        section: u8,
    },
    /// The database cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A segment whose digest stands in the log. Sections are read when they are needed.
#[derive(Debug)]
pub struct Segment {
    digest: Digest,
    head: Head,
    whole: [OnceLock<Vec<u8>>; 10],
    lists: [OnceLock<Vec<u8>>; 10],
}

/// Where the postings of a term are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermPlace {
    /// Entries that have the term.
    pub df: u32,
    from: u64,
    bytes: u64,
}

type Source<'a> = &'a dyn ChunkSource;

impl Segment {
    /// Reads the head of a segment.
    ///
    /// # Errors
    /// [`SegmentError`] when it is not there, or not the one of this digest.
    pub fn open(source: Source<'_>, digest: Digest) -> Result<Self, SegmentError> {
        let (section, chunk) = (0, 0);
        let found = source.fetch(&digest, section, chunk)?;
        let found = found.ok_or(SegmentError::Missing {
            segment: digest,
            section,
            chunk,
        })?;
        let head = Head::decode(&found).filter(|_| Digest::sha256(&found) == digest);
        let head = head.ok_or(SegmentError::Edited {
            segment: digest,
            section,
            chunk,
        })?;
        Ok(Self {
            digest,
            head,
            whole: Default::default(),
            lists: Default::default(),
        })
    }

    /// What it covers.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Its digest.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    fn malformed(&self, section: Section) -> SegmentError {
        SegmentError::Malformed {
            segment: self.digest,
            section: section.number(),
        }
    }

    /// The checked list of the chunk digests of a section.
    fn list(&self, source: Source<'_>, section: Section) -> Result<&[u8], SegmentError> {
        let number = section.number();
        let cell = self.lists.get(usize::from(number).saturating_sub(1));
        let cell = cell.ok_or_else(|| self.malformed(section))?;
        if let Some(list) = cell.get() {
            return Ok(list);
        }
        let expected = self.head.section(section);
        let list = match source.fetch(&self.digest, number, -1)? {
            Some(list) => list,
            None if expected.bytes == 0 => Vec::new(),
            None => {
                return Err(SegmentError::Missing {
                    segment: self.digest,
                    section: number,
                    chunk: -1,
                });
            }
        };
        if list_digest(&list) != expected.list {
            return Err(SegmentError::Edited {
                segment: self.digest,
                section: number,
                chunk: -1,
            });
        }
        Ok(cell.get_or_init(|| list))
    }

    /// One chunk of a section, compared with its digest.
    fn chunk(
        &self,
        source: Source<'_>,
        section: Section,
        chunk: usize,
    ) -> Result<Vec<u8>, SegmentError> {
        let list = self.list(source, section)?;
        let (expected, _) = list.as_chunks::<32>();
        let expected = expected.get(chunk).ok_or_else(|| self.malformed(section))?;
        let number = section.number();
        let at = i64::try_from(chunk).unwrap_or(i64::MAX);
        let (segment, section) = (self.digest, number);
        let found = source.fetch(&segment, number, at)?;
        let found = found.ok_or(SegmentError::Missing {
            segment,
            section,
            chunk: at,
        })?;
        if Digest::sha256(&found).0 == *expected {
            Ok(found)
        } else {
            Err(SegmentError::Edited {
                segment,
                section,
                chunk: at,
            })
        }
    }

    /// A whole section, which stays in memory.
    fn section(&self, source: Source<'_>, section: Section) -> Result<&[u8], SegmentError> {
        let number = usize::from(section.number());
        let cell = self.whole.get(number.saturating_sub(1));
        let cell = cell.ok_or_else(|| self.malformed(section))?;
        if let Some(bytes) = cell.get() {
            return Ok(bytes);
        }
        let bytes = self.whole_section(source, section)?;
        Ok(cell.get_or_init(|| bytes))
    }

    /// A whole section, read once.
    fn whole_section(&self, source: Source<'_>, section: Section) -> Result<Vec<u8>, SegmentError> {
        let length = usize::try_from(self.head.section(section).bytes).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        for chunk in 0..length.div_ceil(CHUNK_BYTES) {
            bytes.append(&mut self.chunk(source, section, chunk)?);
        }
        if bytes.len() == length {
            Ok(bytes)
        } else {
            Err(self.malformed(section))
        }
    }

    /// A stretch of a section, chunk by chunk through the source's cache.
    fn stretch(
        &self,
        source: Source<'_>,
        section: Section,
        (from, bytes): (u64, u64),
    ) -> Result<Vec<u8>, SegmentError> {
        let malformed = || self.malformed(section);
        let end = from.checked_add(bytes).ok_or_else(malformed)?;
        if end > self.head.section(section).bytes {
            return Err(malformed());
        }
        let whole = |n: u64| usize::try_from(n).map_err(|_| malformed());
        let (from, end) = (whole(from)?, whole(end)?);
        let mut out = Vec::with_capacity(end.saturating_sub(from));
        for chunk in from / CHUNK_BYTES..end.div_ceil(CHUNK_BYTES) {
            let (number, at) = (section.number(), i64::try_from(chunk).unwrap_or(i64::MAX));
            let found = match source.cached(&self.digest, number, at) {
                Some(found) => found,
                None => {
                    let found: Arc<[u8]> = self.chunk(source, section, chunk)?.into();
                    source.keep(&self.digest, number, at, &found);
                    found
                }
            };
            let start = chunk.saturating_mul(CHUNK_BYTES);
            let first = from.saturating_sub(start);
            let last = end.saturating_sub(start).min(found.len());
            out.extend(found.get(first..last).ok_or_else(malformed)?);
        }
        Ok(out)
    }

    /// All rows, by ascending sequence number.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn rows(&self, source: Source<'_>) -> Result<Rows<'_>, SegmentError> {
        let (rows, rest) = self.section(source, Section::Rows)?.as_chunks();
        let fits = rest.is_empty() && u32::try_from(rows.len()) == Ok(self.head.rows);
        if fits {
            Ok(Rows(rows))
        } else {
            Err(self.malformed(Section::Rows))
        }
    }

    /// The rows with a flag.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn listed(&self, source: Source<'_>) -> Result<Vec<Row>, SegmentError> {
        let bytes = self.whole_section(source, Section::Listed)?;
        let (rows, rest) = bytes.as_chunks();
        if rest.is_empty() {
            Ok(rows.iter().map(Row::decode).collect())
        } else {
            Err(self.malformed(Section::Listed))
        }
    }

    /// What the writer wrote for many rows, by the number in [`Row::facts`].
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn facts(&self, source: Source<'_>) -> Result<Vec<Vec<u8>>, SegmentError> {
        let bytes = self.whole_section(source, Section::Facts)?;
        let mut rest = bytes.as_slice();
        let mut facts = Vec::new();
        while !rest.is_empty() {
            let length = take_number(&mut rest).map(|n| n as usize);
            let split = length.and_then(|n| rest.split_at_checked(n));
            let (one, after) = split.ok_or_else(|| self.malformed(Section::Facts))?;
            facts.push(one.to_vec());
            rest = after;
        }
        Ok(facts)
    }

    /// The row of an entry.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn find_id(&self, source: Source<'_>, id: &EntryId) -> Result<Option<Row>, SegmentError> {
        let rows = self.rows(source)?;
        let (order, _) = self.section(source, Section::Ids)?.as_chunks::<4>();
        let row = |at: &[u8; 4]| rows.get(u32::from_le_bytes(*at));
        let found =
            order.binary_search_by(|at| row(at).map_or(Ordering::Less, |found| found.id.cmp(id)));
        Ok(found.ok().and_then(|at| order.get(at)).and_then(row))
    }

    /// The row of the entry whose record has a hash.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn find_hash(
        &self,
        source: Source<'_>,
        hash: &Digest,
    ) -> Result<Option<Row>, SegmentError> {
        let (hashes, order) = self.hashes(source)?;
        let of = |at: &[u8; 4]| hashes.get(u32::from_le_bytes(*at) as usize);
        let found = order.binary_search_by(|at| of(at).map_or(Ordering::Less, |h| h.cmp(&hash.0)));
        let Some(at) = found.ok().and_then(|at| order.get(at)) else {
            return Ok(None);
        };
        Ok(self.rows(source)?.get(u32::from_le_bytes(*at)))
    }

    /// Record hashes by row, and row numbers by ascending hash.
    #[allow(clippy::type_complexity, reason = "taken apart at the two calls")]
    fn hashes(&self, source: Source<'_>) -> Result<(&[[u8; 32]], &[[u8; 4]]), SegmentError> {
        let bytes = self.section(source, Section::Hashes)?;
        let split = (self.head.rows as usize).saturating_mul(32);
        let parts = bytes.split_at_checked(split);
        let (hashes, order) = parts.ok_or_else(|| self.malformed(Section::Hashes))?;
        Ok((hashes.as_chunks().0, order.as_chunks().0))
    }

    /// Record hashes by row.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn record_hashes(&self, source: Source<'_>) -> Result<&[[u8; 32]], SegmentError> {
        Ok(self.hashes(source)?.0)
    }

    /// Number of terms of each entry's text, by row, as little-endian u32.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn lengths(&self, source: Source<'_>) -> Result<&[[u8; 4]], SegmentError> {
        Ok(self.section(source, Section::Lengths)?.as_chunks().0)
    }

    /// Where the postings of a term are, if an entry has it.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn term(&self, source: Source<'_>, term: &str) -> Result<Option<TermPlace>, SegmentError> {
        let dictionary = self.dictionary(source)?;
        let at = |offset: &[u8; 4]| dictionary.entry(u32::from_le_bytes(*offset));
        let found = dictionary.offsets.binary_search_by(|offset| {
            at(offset).map_or(Ordering::Less, |(name, _)| name.cmp(term.as_bytes()))
        });
        let offset = found.ok().and_then(|i| dictionary.offsets.get(i));
        Ok(offset.and_then(at).map(|(_, place)| place))
    }

    fn dictionary(&self, source: Source<'_>) -> Result<Dictionary<'_>, SegmentError> {
        let malformed = || self.malformed(Section::Terms);
        let bytes = self.section(source, Section::Terms)?;
        let (count, rest) = bytes.split_first_chunk::<4>().ok_or_else(malformed)?;
        let split = (u32::from_le_bytes(*count) as usize).saturating_mul(4);
        let (offsets, entries) = rest.split_at_checked(split).ok_or_else(malformed)?;
        Ok(Dictionary {
            offsets: offsets.as_chunks().0,
            entries,
        })
    }

    /// Gives each term of the segment and its place, in order of the terms.
    ///
    /// # Errors
    /// [`SegmentError`], or that of `visit`.
    pub fn each_term<E: From<SegmentError>>(
        &self,
        source: Source<'_>,
        visit: &mut dyn FnMut(&str, TermPlace) -> Result<(), E>,
    ) -> Result<(), E> {
        let dictionary = self.dictionary(source)?;
        for offset in dictionary.offsets {
            let found = dictionary.entry(u32::from_le_bytes(*offset));
            let named = found.and_then(|(n, place)| Some((std::str::from_utf8(n).ok()?, place)));
            let (name, place) = named.ok_or_else(|| self.malformed(Section::Terms))?;
            visit(name, place)?;
        }
        Ok(())
    }

    /// The postings of a term: row and occurrences, by ascending row.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn postings(
        &self,
        source: Source<'_>,
        place: TermPlace,
    ) -> Result<Vec<(u32, u32)>, SegmentError> {
        let bytes = self.stretch(source, Section::Postings, (place.from, place.bytes))?;
        let mut rest = bytes.as_slice();
        let mut postings = Vec::with_capacity(place.df.min(self.head.rows) as usize);
        let mut next = 0_u32;
        while !rest.is_empty() {
            let both = take_number(&mut rest).zip(take_number(&mut rest));
            let row = both.and_then(|(gap, _)| next.checked_add(gap));
            let row = row.filter(|row| *row < self.head.rows);
            let ((_, tf), row) = both
                .zip(row)
                .ok_or_else(|| self.malformed(Section::Postings))?;
            postings.push((row, tf));
            next = row.saturating_add(1);
        }
        Ok(postings)
    }

    /// The quantised vectors: one int8 a dimension for all rows, then one f32 scale a row.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn codes(&self, source: Source<'_>) -> Result<&[u8], SegmentError> {
        self.section(source, Section::Codes)
    }

    /// The exact vector of a row: one little-endian f32 a dimension; empty without a model.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn exact(&self, source: Source<'_>, row: u32) -> Result<Vec<u8>, SegmentError> {
        let dim = self.head.model.as_ref().map_or(0, |model| model.dim);
        let bytes = u64::from(dim).saturating_mul(4);
        let from = bytes.saturating_mul(u64::from(row));
        self.stretch(source, Section::Exact, (from, bytes))
    }
}

/// The rows of a segment in memory.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a>(&'a [[u8; ROW_BYTES]]);

impl<'a> Rows<'a> {
    /// A row by its number.
    #[must_use]
    pub fn get(&self, row: u32) -> Option<Row> {
        self.0.get(row as usize).map(Row::decode)
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Row> + ExactSizeIterator + use<'a> {
        self.0.iter().map(Row::decode)
    }

    /// Rows with a sequence number below this one.
    #[must_use]
    pub fn below(&self, seq: u64) -> usize {
        self.0.partition_point(|row| Row::decode(row).seq < seq)
    }
}

struct Dictionary<'a> {
    offsets: &'a [[u8; 4]],
    entries: &'a [u8],
}

impl<'a> Dictionary<'a> {
    fn entry(&self, offset: u32) -> Option<(&'a [u8], TermPlace)> {
        let mut rest = self.entries.get(offset as usize..)?;
        let length = take_number(&mut rest)? as usize;
        let (name, rest) = rest.split_at_checked(length)?;
        let (df, rest) = rest.split_first_chunk()?;
        let (from, rest) = rest.split_first_chunk()?;
        let (bytes, _) = rest.split_first_chunk()?;
        let place = TermPlace {
            df: u32::from_le_bytes(*df),
            from: u64::from_le_bytes(*from),
            bytes: u64::from_le_bytes(*bytes),
        };
        Some((name, place))
    }
}

/// Reads a number of at most five bytes from the front.
fn take_number(rest: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        let bits = u32::from(byte & 0x7f);
        number |= bits.checked_shl(shift).filter(|n| n >> shift == bits)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
