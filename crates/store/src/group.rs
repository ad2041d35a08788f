// SPDX-License-Identifier: MIT OR Apache-2.0
//! The group that is being written: its savepoints, the check of a leaf before it is written, and
//! the head that closes it.

use crate::damage::Content;
use crate::fault::{CommitError, DatabaseFault, WriteError};
use crate::load::{Logs, Tip};
use crate::rows;
use crate::{BODY_BYTES_MAX, CONTENT_BYTES_MAX};
use ancile_core::{RecordView, TenantName, content_commitment};
use ancile_ledger::{
    Checkpoint, ControlChain, GroupHead, LeafKind, LogName, SignerKey, Tree, heads_root,
};
use rusqlite::Connection;

/// A place in the open group to which it can be rolled back.
#[derive(Debug)]
#[must_use = "roll it back or release it"]
pub struct Savepoint {
    pub(crate) number: u64,
}

/// The group that is being written.
#[derive(Debug, Default)]
pub(crate) struct OpenGroup {
    /// What was done, so that it can be undone in memory.
    pub(crate) done: Vec<Done>,
    /// The open savepoints, the outermost first.
    pub(crate) savepoints: Vec<Mark>,
}

/// A change of the open group.
#[derive(Debug)]
pub(crate) enum Done {
    Appended {
        tenant: TenantName,
        control_before: ControlChain,
    },
    ContentRemoved,
    SegmentChanged,
}

/// An open savepoint: its number, and how much was done before it.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) number: u64,
    pub(crate) done: usize,
}

impl OpenGroup {
    pub(crate) fn position(&self, savepoint: &Savepoint) -> Option<usize> {
        self.savepoints
            .iter()
            .position(|mark| mark.number == savepoint.number)
    }
}

/// Where a test can stop a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing of the group's heads is written.
    BeforeSeal,
    /// All is written, nothing committed.
    BeforeCommit,
    /// The database has the group, the witness not.
    AfterCommit,
    /// The witness has it, the caller not.
    AfterWitness,
}

/// Says whether to stop at a step.
#[cfg(test)]
pub(crate) type Hook = Box<dyn FnMut(Step) -> bool>;

/// Writes the leaf of the heads log that closes a group, and signs the checkpoint over it.
pub(crate) fn seal(
    conn: &Connection,
    signer: &SignerKey,
    logs: &Logs,
    heads: &mut Tree,
    epoch: u64,
) -> Result<Tip, CommitError> {
    let tenants = || logs.values().filter_map(|log| log.head.as_ref());
    let before = heads.size();
    let group = GroupHead {
        group: before,
        epoch,
        tenants: tenants().count() as u64,
        heads_root: heads_root(tenants()).map_err(CommitError::Heads)?,
    };
    heads.append(group.leaf());
    let checkpoint = signer
        .sign(Checkpoint {
            origin: signer.verifier().name().to_owned(),
            size: heads.size(),
            root: heads.root(),
        })
        .map_err(CommitError::Sign)?;
    let row = i64::try_from(before).map_err(|_| CommitError::LogFull)?;
    rows::put_group(conn, row, &group)
        .and_then(|()| rows::put_tiles(conn, &LogName::Heads, heads, before))
        .and_then(|()| rows::put_checkpoint(conn, checkpoint.text()))
        .map_err(writing("writing a group's head"))?;
    Ok(Tip { group, checkpoint })
}

pub(crate) fn writing(step: &'static str) -> impl Fn(rusqlite::Error) -> CommitError {
    move |e| CommitError::Database(DatabaseFault::of(step, e))
}

/// Checks a leaf before it is written.
pub(crate) fn check_leaf(
    body: &[u8],
    content: Option<Content<'_>>,
) -> Result<LeafKind, WriteError> {
    if body.len() > BODY_BYTES_MAX {
        return Err(WriteError::BodyTooLong { bytes: body.len() });
    }
    let kind = LeafKind::of(body).ok_or(WriteError::BodyKind)?;
    let Some(Content { salt, bytes }) = content else {
        return Ok(kind);
    };
    if bytes.len() > CONTENT_BYTES_MAX {
        return Err(WriteError::ContentTooLong { bytes: bytes.len() });
    }
    if kind == LeafKind::Record {
        let record = RecordView::of(body).map_err(WriteError::Record)?;
        if record.commitment() != content_commitment(&salt, bytes) {
            return Err(WriteError::Commitment);
        }
    }
    Ok(kind)
}
