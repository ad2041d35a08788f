// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows that are not what was written, and what replay sees of a log.

use ancile_core::{RecordView, Salt, TenantName, content_commitment};
use ancile_ledger::{LeafKind, NodeHash, leaf_hash};
use core::fmt;

/// The erasable part of a leaf: what a record or an exposure commits to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Content<'a> {
    /// The salt of the commitment.
    pub salt: Salt,
    /// The content, at most [`crate::CONTENT_BYTES_MAX`] bytes.
    pub bytes: &'a [u8],
}

impl fmt::Debug for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({} bytes)", self.bytes.len())
    }
}

/// What is wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DamageKind {
    /// The leaf's row is gone.
    Missing,
    /// The leaf's row is there, but is not the leaf of the log at this place.
    Edited,
    /// The leaf is intact; its content is not the one that it commits to.
    Content,
    /// A leaf row where the log has no leaf.
    Inserted,
    /// A content row where the log has no leaf.
    InsertedContent,
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "its row is missing",
            Self::Edited => "its row was edited or moved",
            Self::Content => "its content was edited",
            Self::Inserted => "a row was inserted where the log has no leaf",
            Self::InsertedContent => "a content row was inserted where the log has no leaf",
        })
    }
}

/// A row that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The tenant column of the row; of an inserted row any text.
    pub tenant: String,
    /// The sequence number; of an inserted row any number.
    pub seq: i64,
    /// What is wrong.
    pub what: DamageKind,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenant = self.tenant.escape_debug();
        write!(f, "tenant `{tenant}`: leaf {}: {}", self.seq, self.what)
    }
}

/// What replay sees at one place of a tenant's log.
#[derive(Debug, Clone, Copy)]
pub enum ReplayLeaf<'a> {
    /// The leaf that was written there.
    Intact {
        /// The tenant.
        tenant: &'a TenantName,
        /// The sequence number.
        seq: u64,
        /// Record or control event.
        kind: LeafKind,
        /// The leaf's hash in the log.
        hash: NodeHash,
        /// The body.
        body: &'a [u8],
        /// The content, checked against the record's commitment; of a control event unchecked.
        /// Whether there should be one is for the reader, who knows what was erased.
        content: Option<Content<'a>>,
    },
    /// A leaf that is gone or not what was written. Of a control event only the content can be
    /// damaged, or the store would not open.
    Damaged {
        /// The tenant.
        tenant: &'a TenantName,
        /// The sequence number.
        seq: u64,
        /// What is wrong.
        what: DamageKind,
        /// The leaf's hash in the log.
        hash: NodeHash,
        /// The body, where that is intact ([`DamageKind::Content`]).
        body: Option<&'a [u8]>,
    },
}

/// Why the reader of a replay does not accept a leaf; opening ends with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReplayRefusal(pub String);

/// Reads a store when it is opened.
pub trait Replay {
    /// Takes a place of a tenant's log.
    ///
    /// # Errors
    /// [`ReplayRefusal`] ends the opening.
    fn leaf(&mut self, leaf: ReplayLeaf<'_>) -> Result<(), ReplayRefusal>;

    /// Whether a control event says that all records below a sequence number are in segments, so
    /// that they need not be replayed. Events are asked from the last one back to the first that
    /// says so.
    fn sealed(&self, _event: &[u8]) -> Option<u64> {
        None
    }
}

impl<F: FnMut(ReplayLeaf<'_>) -> Result<(), ReplayRefusal>> Replay for F {
    fn leaf(&mut self, leaf: ReplayLeaf<'_>) -> Result<(), ReplayRefusal> {
        self(leaf)
    }
}

/// The content cells beside a leaf.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContentCells<'a> {
    Absent,
    /// Of a wrong type or length.
    Malformed,
    Present(Content<'a>),
}

/// A row compared with the log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Compared<'a> {
    Intact {
        kind: LeafKind,
        body: &'a [u8],
        content: Option<Content<'a>>,
    },
    /// Only the content is wrong.
    ContentEdited {
        kind: LeafKind,
        body: &'a [u8],
    },
    Edited,
}

/// Compares a row with the leaf hash of the log at its place. A body of a wrong type or length
/// is given as nothing.
pub(crate) fn compare<'a>(
    expected: &NodeHash,
    body: Option<&'a [u8]>,
    content: ContentCells<'a>,
) -> Compared<'a> {
    let Some(body) = body.filter(|body| leaf_hash(body) == *expected) else {
        return Compared::Edited;
    };
    let Some(kind) = LeafKind::of(body) else {
        return Compared::Edited;
    };
    match content {
        ContentCells::Absent => Compared::Intact {
            kind,
            body,
            content: None,
        },
        ContentCells::Present(found) if kind == LeafKind::Control || commits(body, &found) => {
            Compared::Intact {
                kind,
                body,
                content: Some(found),
            }
        }
        _ => Compared::ContentEdited { kind, body },
    }
}

/// Whether a record commits to this content.
fn commits(record: &[u8], content: &Content<'_>) -> bool {
    RecordView::of(record)
        .is_ok_and(|r| r.commitment() == content_commitment(&content.salt, content.bytes))
}
