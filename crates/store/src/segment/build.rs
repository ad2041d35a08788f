// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making a segment: from new entries, or from segments that are merged.

use super::head::{Head, MODEL_BYTES_MAX, Model, SectionHead};
use super::{CHUNK_BYTES, ROWS_MAX, Row, Section, chunk_list, list_digest};
use ancile_core::{Digest, EntryId};
use std::collections::BTreeMap;

/// What does not fit into a segment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DraftError {
    /// Too many entries.
    #[error("a segment has at most {ROWS_MAX} entries; begin another one")]
    Full,
    /// Entries must come by ascending sequence number.
    #[error("entry {seq} comes after {last}; add entries by ascending sequence number")]
    Order {
        /// The entry's number.
        seq: u64,
        /// The one before.
        last: u64,
    },
    /// Postings must come by ascending row.
    #[error("row {row} of term `{term}` does not come after those before it")]
    PostingOrder {
        /// The term.
        term: String,
        /// The row.
        row: u32,
    },
    /// A vector has not the bytes that its dimensions take.
    #[error("a vector of {dim} dimensions has {codes} quantised and {exact} exact bytes")]
    VectorLength {
        /// Dimensions.
        dim: u16,
        /// Bytes of int8.
        codes: usize,
        /// Bytes of f32.
        exact: usize,
    },
    /// Each entry needs a vector, or none has one.
    #[error("{vectors} of {rows} entries have a vector; give one to each")]
    VectorCount {
        /// Vectors.
        vectors: usize,
        /// Entries.
        rows: usize,
    },
    /// The model's name is too long.
    #[error("name of the model is {bytes} bytes; limit is {MODEL_BYTES_MAX}; shorten it")]
    ModelName {
        /// Its length.
        bytes: usize,
    },
}

/// A segment that is being made.
#[derive(Debug)]
pub struct Draft {
    model: Option<Model>,
    rows: Vec<Row>,
    hashes: Vec<Digest>,
    lengths: Vec<u32>,
    facts: BTreeMap<Box<[u8]>, u32>,
    terms: BTreeMap<Box<str>, Posted>,
    codes: Vec<u8>,
    scales: Vec<u8>,
    exact: Vec<u8>,
}

/// The postings of one term so far.
#[derive(Debug, Default)]
struct Posted {
    df: u32,
    /// The row after the last one.
    next: u32,
    bytes: Vec<u8>,
}

/// The vector of one entry, quantised and exact.
#[derive(Debug, Clone, Copy)]
pub struct Vectors<'a> {
    /// One int8 a dimension.
    pub codes: &'a [u8],
    /// The scale of the codes, an f32.
    pub scale: [u8; 4],
    /// One f32 a dimension.
    pub exact: &'a [u8],
}

/// An entry of a draft.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Its row; the facts number is given by the draft.
    pub row: Row,
    /// What the writer wants to know of it at recall; many entries have the same.
    pub facts: &'a [u8],
    /// Hash of its record.
    pub hash: Digest,
    /// Terms of its text.
    pub length: u32,
    /// Its vector, where the draft has a model.
    pub vectors: Option<Vectors<'a>>,
}

impl Draft {
    /// An empty draft; with a model each entry needs a vector.
    ///
    /// # Errors
    /// [`DraftError::ModelName`].
    pub fn new(model: Option<Model>) -> Result<Self, DraftError> {
        if let Some(model) = &model
            && model.name.len() > MODEL_BYTES_MAX
        {
            let bytes = model.name.len();
            return Err(DraftError::ModelName { bytes });
        }
        Ok(Self {
            model: model.filter(|model| model.dim > 0),
            rows: Vec::new(),
            hashes: Vec::new(),
            lengths: Vec::new(),
            facts: BTreeMap::new(),
            terms: BTreeMap::new(),
            codes: Vec::new(),
            scales: Vec::new(),
            exact: Vec::new(),
        })
    }

    /// Adds an entry and gives its row number.
    ///
    /// # Errors
    /// [`DraftError::Full`], [`DraftError::Order`], [`DraftError::VectorLength`].
    pub fn add(&mut self, part: Part<'_>) -> Result<u32, DraftError> {
        let Part { row, facts, .. } = part;
        let number = u32::try_from(self.rows.len()).map_err(|_| DraftError::Full)?;
        if number >= ROWS_MAX {
            return Err(DraftError::Full);
        }
        if let Some(last) = self.rows.last().map(|r| r.seq).filter(|l| *l >= row.seq) {
            return Err(DraftError::Order { seq: row.seq, last });
        }
        if let (Some(model), Some(vectors)) = (&self.model, part.vectors) {
            let dim = usize::from(model.dim);
            if vectors.codes.len() != dim || vectors.exact.len() != dim.saturating_mul(4) {
                return Err(DraftError::VectorLength {
                    dim: model.dim,
                    codes: vectors.codes.len(),
                    exact: vectors.exact.len(),
                });
            }
            self.codes.extend(vectors.codes);
            self.scales.extend(vectors.scale);
            self.exact.extend(vectors.exact);
        }
        let next = u32::try_from(self.facts.len()).map_err(|_| DraftError::Full)?;
        let facts = match self.facts.get(facts) {
            Some(known) => *known,
            None => *self.facts.entry(facts.into()).or_insert(next),
        };
        self.rows.push(Row { facts, ..row });
        self.hashes.push(part.hash);
        self.lengths.push(part.length);
        Ok(number)
    }

    /// Adds a term of an entry. The rows of a term come in ascending order.
    ///
    /// # Errors
    /// [`DraftError::PostingOrder`].
    pub fn post(&mut self, term: &str, row: u32, tf: u32) -> Result<(), DraftError> {
        let posted = match self.terms.get_mut(term) {
            Some(posted) => posted,
            None => self.terms.entry(term.into()).or_default(),
        };
        let gap = row.checked_sub(posted.next).filter(|_| row != u32::MAX);
        let gap = gap.ok_or_else(|| DraftError::PostingOrder {
            term: term.to_owned(),
            row,
        })?;
        put_number(&mut posted.bytes, gap);
        put_number(&mut posted.bytes, tf);
        posted.next = row.saturating_add(1);
        posted.df = posted.df.saturating_add(1);
        Ok(())
    }

    /// Whether each entry needs a vector.
    #[must_use]
    pub fn has_vectors(&self) -> bool {
        self.model.is_some()
    }

    /// Entries so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no entry yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Ends the draft.
    ///
    /// # Errors
    /// [`DraftError::VectorCount`].
    pub fn finish(mut self) -> Result<Built, DraftError> {
        let vectors = self.scales.len() / 4;
        if self.model.is_some() && vectors != self.rows.len() {
            let rows = self.rows.len();
            return Err(DraftError::VectorCount { vectors, rows });
        }
        self.codes.append(&mut self.scales);
        let (terms, postings) = self.dictionary();
        let contents = Section::ALL.map(|section| match section {
            Section::Rows => self.row_bytes(|_| true),
            Section::Facts => self.fact_bytes(),
            Section::Listed => self.row_bytes(|row| row.flags != 0),
            Section::Ids => self.id_bytes(),
            Section::Hashes => self.hash_bytes(),
            Section::Lengths => self.lengths.iter().flat_map(|l| l.to_le_bytes()).collect(),
            Section::Terms => terms.clone(),
            Section::Postings => postings.clone(),
            Section::Codes => std::mem::take(&mut self.codes),
            Section::Exact => std::mem::take(&mut self.exact),
        });
        let sections: Vec<(Section, Vec<u8>)> = Section::ALL.into_iter().zip(contents).collect();
        let head = Head {
            rows: u32::try_from(self.rows.len()).map_err(|_| DraftError::Full)?,
            length_total: self.lengths.iter().copied().map(u64::from).sum(),
            first: self.rows.first().map_or(0, |row| row.seq),
            last: self.rows.last().map_or(0, |row| row.seq),
            ids: self.id_range(),
            model: self.model,
            sections: sections
                .iter()
                .map(|(_, bytes)| section_head(bytes))
                .collect(),
        };
        Ok(Built { head, sections })
    }

    fn id_range(&self) -> (EntryId, EntryId) {
        let none = EntryId::from_bytes([0; 16]);
        let ids = || self.rows.iter().map(|row| row.id);
        (ids().min().unwrap_or(none), ids().max().unwrap_or(none))
    }

    fn row_bytes(&self, wanted: impl Fn(&Row) -> bool) -> Vec<u8> {
        let mut out = Vec::new();
        let rows = self.rows.iter().filter(|row| wanted(row));
        rows.for_each(|row| row.encode(&mut out));
        out
    }

    fn fact_bytes(&self) -> Vec<u8> {
        let mut facts: Vec<(u32, &[u8])> = self.facts.iter().map(|(f, n)| (*n, &**f)).collect();
        facts.sort_unstable();
        let mut out = Vec::new();
        for (_, bytes) in facts {
            put_number(&mut out, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
            out.extend(bytes);
        }
        out
    }

    fn id_bytes(&self) -> Vec<u8> {
        let mut order: Vec<_> = self.rows.iter().map(|row| row.id).zip(0_u32..).collect();
        order.sort_unstable();
        order.iter().flat_map(|(_, at)| at.to_le_bytes()).collect()
    }

    fn hash_bytes(&self) -> Vec<u8> {
        let mut order: Vec<(Digest, u32)> = self.hashes.iter().copied().zip(0..).collect();
        let mut out: Vec<u8> = self.hashes.iter().flat_map(|hash| hash.0).collect();
        order.sort_unstable();
        out.extend(order.iter().flat_map(|(_, at)| at.to_le_bytes()));
        out
    }

    /// The terms in order, each found by its offset, and the postings of all.
    fn dictionary(&mut self) -> (Vec<u8>, Vec<u8>) {
        let terms = std::mem::take(&mut self.terms);
        let mut offsets = Vec::with_capacity(terms.len().saturating_mul(4));
        let (mut entries, mut postings) = (Vec::new(), Vec::new());
        for (term, posted) in &terms {
            offsets.extend(
                u32::try_from(entries.len())
                    .unwrap_or(u32::MAX)
                    .to_le_bytes(),
            );
            put_number(&mut entries, u32::try_from(term.len()).unwrap_or(u32::MAX));
            entries.extend(term.as_bytes());
            entries.extend(posted.df.to_le_bytes());
            entries.extend((postings.len() as u64).to_le_bytes());
            entries.extend((posted.bytes.len() as u64).to_le_bytes());
            postings.extend(&posted.bytes);
        }
        let count = u32::try_from(terms.len()).unwrap_or(u32::MAX);
        let mut out = count.to_le_bytes().to_vec();
        out.append(&mut offsets);
        out.append(&mut entries);
        (out, postings)
    }
}

/// Seven bits a byte, the lowest first; the top bit says that more follow.
fn put_number(out: &mut Vec<u8>, number: u32) {
    let mut rest = number;
    loop {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

fn section_head(bytes: &[u8]) -> SectionHead {
    SectionHead {
        bytes: bytes.len() as u64,
        list: list_digest(&chunk_list(bytes)),
    }
}

/// A finished segment, not yet stored.
#[derive(Debug)]
pub struct Built {
    head: Head,
    sections: Vec<(Section, Vec<u8>)>,
}

/// One row of the segment table: section, chunk, bytes. Chunk -1 is the list of chunk digests;
/// section 0 is the head.
pub type Piece = (u8, i64, Vec<u8>);

impl Built {
    /// What it covers.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The digest that stands for it in the log.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::sha256(&self.head.encode())
    }

    /// Everything that is to be stored, the head last, so that a segment with a head is whole.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        let chunks = self.sections.iter().flat_map(|(section, bytes)| {
            let number = section.number();
            let list = (!bytes.is_empty()).then(|| (number, -1, chunk_list(bytes)));
            let chunks = (0..).zip(bytes.chunks(CHUNK_BYTES));
            list.into_iter()
                .chain(chunks.map(move |(at, chunk)| (number, at, chunk.to_vec())))
        });
        chunks.chain(std::iter::once_with(|| (0, 0, self.head.encode())))
    }
}
