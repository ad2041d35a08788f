// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments beside the index in memory, for the lexical search over both.

use super::read::{ChunkSource, Rows, Segment, SegmentError};
use crate::bm25::{Bm25, Part};

/// A segment that is ready to be searched.
#[derive(Clone, Copy)]
pub struct SegmentPart<'a> {
    segment: &'a Segment,
    source: &'a dyn ChunkSource,
    rows: Rows<'a>,
    lengths: &'a [[u8; 4]],
}

impl<'a> SegmentPart<'a> {
    /// Reads what every search needs.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn new(segment: &'a Segment, source: &'a dyn ChunkSource) -> Result<Self, SegmentError> {
        Ok(Self {
            segment,
            source,
            rows: segment.rows(source)?,
            lengths: segment.lengths(source)?,
        })
    }

    /// Its rows.
    #[must_use]
    pub fn rows(&self) -> Rows<'a> {
        self.rows
    }
}

/// A part of a partition's index.
#[derive(Clone, Copy)]
pub enum Index<'a> {
    /// In memory.
    Memory(&'a Bm25),
    /// In a segment.
    Segment(SegmentPart<'a>),
}

impl Part for Index<'_> {
    type Error = SegmentError;

    fn documents(&self) -> u64 {
        match self {
            Self::Memory(index) => index.documents(),
            Self::Segment(part) => u64::from(part.segment.head().rows),
        }
    }

    fn length_total(&self) -> u64 {
        match self {
            Self::Memory(index) => index.length_total(),
            Self::Segment(part) => part.segment.head().length_total,
        }
    }

    fn slots(&self) -> usize {
        match self {
            Self::Memory(index) => index.slots(),
            Self::Segment(part) => part.segment.head().rows as usize,
        }
    }

    fn df(&self, term: &str) -> Result<u32, SegmentError> {
        match self {
            Self::Memory(index) => {
                let Ok(df) = index.df(term);
                Ok(df)
            }
            Self::Segment(part) => {
                let place = part.segment.term(part.source, term)?;
                Ok(place.map_or(0, |place| place.df))
            }
        }
    }

    fn postings(&self, term: &str, visit: &mut dyn FnMut(u32, u32)) -> Result<(), SegmentError> {
        match self {
            Self::Memory(index) => {
                let Ok(()) = index.postings(term, visit);
            }
            Self::Segment(part) => {
                if let Some(place) = part.segment.term(part.source, term)? {
                    let postings = part.segment.postings(part.source, place)?;
                    postings.into_iter().for_each(|(row, tf)| visit(row, tf));
                }
            }
        }
        Ok(())
    }

    fn length(&self, slot: u32) -> u32 {
        match self {
            Self::Memory(index) => index.length(slot),
            Self::Segment(part) => {
                let length = part.lengths.get(slot as usize);
                length.map_or(0, |length| u32::from_le_bytes(*length))
            }
        }
    }

    fn doc(&self, slot: u32) -> u64 {
        match self {
            Self::Memory(index) => index.doc(slot),
            Self::Segment(part) => part.rows.get(slot).map_or(0, |row| row.seq),
        }
    }
}
