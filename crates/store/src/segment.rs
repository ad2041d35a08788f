// SPDX-License-Identifier: MIT OR Apache-2.0
//! Index segments: what recall needs of the entries of one partition that were written in one
//! stretch of a tenant's log. A segment never changes; its digest stands in the log, and every
//! part of it is compared with that digest when it is first read.
//!
//! A segment is a head and some sections. A section is cut into chunks of [`CHUNK_BYTES`]; the
//! SHA-256 of the list of their SHA-256 digests stands in the head, and the SHA-256 of the head is
//! the segment's digest. So one chunk can be checked alone. `docs/formats/segment.md` has the
//! bytes.

mod build;
mod head;
mod read;
mod search;
#[cfg(test)]
mod tests;

pub use build::{Built, Draft, DraftError, Part, Piece, Vectors};
pub use head::{Head, Model};
pub use read::{ChunkSource, Rows, Segment, SegmentError, TermPlace};
pub use search::{Index, SegmentPart};

use ancile_core::{Digest, EntryId};

/// Bytes of a chunk; the last one of a section may be shorter.
pub const CHUNK_BYTES: usize = 65_536;

/// Most entries in one segment.
pub const ROWS_MAX: u32 = 1_048_576;

/// The parts of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Section {
    /// One [`Row`] for each entry, by ascending sequence number.
    Rows = 1,
    /// What the writer wrote once for many rows.
    Facts = 2,
    /// The rows that are looked for at open.
    Listed = 3,
    /// Row numbers by ascending entry id.
    Ids = 4,
    /// Record hashes by row, then row numbers by ascending hash.
    Hashes = 5,
    /// Terms of each entry's text.
    Lengths = 6,
    /// The terms, each with the place of its postings.
    Terms = 7,
    /// Postings of all terms.
    Postings = 8,
    /// Quantised vectors.
    Codes = 9,
    /// Exact vectors.
    Exact = 10,
}

impl Section {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Rows,
        Self::Facts,
        Self::Listed,
        Self::Ids,
        Self::Hashes,
        Self::Lengths,
        Self::Terms,
        Self::Postings,
        Self::Codes,
        Self::Exact,
    ];

    /// Its number in the table and in the head.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// What a segment says of one entry without a look at the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Sequence number of the record in the tenant's log.
    pub seq: u64,
    /// The entry's id.
    pub id: EntryId,
    /// Which of the facts are its own.
    pub facts: u32,
    /// Any of [`TASK`] and [`QUARANTINED`]; such rows are listed.
    pub flags: u32,
    /// Microseconds from which it is valid; [`i64::MIN`] for always.
    pub valid_from: i64,
    /// Microseconds from which it is valid no more; [`i64::MAX`] for never.
    pub valid_until: i64,
}

/// Flag of a task.
pub const TASK: u32 = 1;
/// Flag of an entry that screening put on the shelf when it was written.
pub const QUARANTINED: u32 = 2;

/// Bytes of a row.
const ROW_BYTES: usize = 48;

impl Row {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.seq.to_le_bytes());
        out.extend(self.id.bytes());
        out.extend(self.facts.to_le_bytes());
        out.extend(self.flags.to_le_bytes());
        out.extend(self.valid_from.to_le_bytes());
        out.extend(self.valid_until.to_le_bytes());
    }

    fn decode(bytes: &[u8; ROW_BYTES]) -> Self {
        let mut fields = Fields(bytes);
        Self {
            seq: u64::from_le_bytes(fields.take()),
            id: EntryId::from_bytes(fields.take()),
            facts: u32::from_le_bytes(fields.take()),
            flags: u32::from_le_bytes(fields.take()),
            valid_from: i64::from_le_bytes(fields.take()),
            valid_until: i64::from_le_bytes(fields.take()),
        }
    }
}

/// Takes fixed fields from the front of bytes that are long enough; zeros where they are not.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_first_chunk::<N>().unwrap_or((&[0; N], &[]));
        self.0 = tail;
        *head
    }
}

/// Digest of the list of a section's chunk digests.
fn list_digest(list: &[u8]) -> Digest {
    Digest::sha256(list)
}

/// The digests of the chunks of a section, one after another.
fn chunk_list(bytes: &[u8]) -> Vec<u8> {
    bytes
        .chunks(CHUNK_BYTES)
        .flat_map(|chunk| Digest::sha256(chunk).0)
        .collect()
}
