// SPDX-License-Identifier: MIT OR Apache-2.0
//! The head of a segment: what it covers, and the digests of its sections.

use super::Section;
use ancile_core::{Digest, EntryId};

/// Which model made the vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name and version, at most `MODEL_BYTES_MAX` bytes.
    pub name: String,
    /// Dimensions of a vector.
    pub dim: u16,
}

/// Longest name of a model in bytes.
pub const MODEL_BYTES_MAX: usize = 200;

/// What a segment covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Number of entries.
    pub rows: u32,
    /// Sum of the lengths of the entries' texts, in terms.
    pub length_total: u64,
    /// Sequence number of the first entry.
    pub first: u64,
    /// Sequence number of the last entry.
    pub last: u64,
    /// The lowest and the highest entry id.
    pub ids: (EntryId, EntryId),
    /// Which model made the vectors; none where there are none.
    pub model: Option<Model>,
    pub(super) sections: Vec<SectionHead>,
}

/// Length and digest of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SectionHead {
    pub(super) bytes: u64,
    pub(super) list: Digest,
}

/// First bytes of a head.
const MAGIC: &[u8] = b"ancile segment v1\n";

impl Head {
    pub(super) fn section(&self, section: Section) -> SectionHead {
        let at = usize::from(section.number()).saturating_sub(1);
        let none = SectionHead {
            bytes: 0,
            list: super::list_digest(&[]),
        };
        self.sections.get(at).copied().unwrap_or(none)
    }

    /// Whether an entry of this id can be in the segment.
    #[must_use]
    pub fn may_have(&self, id: &EntryId) -> bool {
        self.ids.0 <= *id && *id <= self.ids.1
    }

    /// The bytes whose SHA-256 is the segment's digest.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(self.rows.to_le_bytes());
        out.extend(self.length_total.to_le_bytes());
        out.extend(self.first.to_le_bytes());
        out.extend(self.last.to_le_bytes());
        out.extend(self.ids.0.bytes());
        out.extend(self.ids.1.bytes());
        let (name, dim) = match &self.model {
            Some(model) => (model.name.as_str(), model.dim),
            None => ("", 0),
        };
        out.extend(dim.to_le_bytes());
        out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        out.extend(name.as_bytes());
        for section in &self.sections {
            out.extend(section.bytes.to_le_bytes());
            out.extend(section.list.0);
        }
        out
    }

    /// Reads what [`Self::encode`] writes; nothing when it is anything else.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut head = Self {
            rows: u32::from_le_bytes(take(&mut rest)?),
            length_total: u64::from_le_bytes(take(&mut rest)?),
            first: u64::from_le_bytes(take(&mut rest)?),
            last: u64::from_le_bytes(take(&mut rest)?),
            ids: (
                EntryId::from_bytes(take(&mut rest)?),
                EntryId::from_bytes(take(&mut rest)?),
            ),
            model: None,
            sections: Vec::new(),
        };
        let dim = u16::from_le_bytes(take(&mut rest)?);
        let [length] = take::<1>(&mut rest)?;
        let (name, mut rest) = rest.split_at_checked(usize::from(length))?;
        let name = std::str::from_utf8(name).ok()?.to_owned();
        head.model = (dim > 0).then_some(Model { name, dim });
        for _ in Section::ALL {
            let bytes = u64::from_le_bytes(take(&mut rest)?);
            let list = Digest(take(&mut rest)?);
            head.sections.push(SectionHead { bytes, list });
        }
        (rest.is_empty() && head.encode() == bytes).then_some(head)
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}
