// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copying a store, also while it is served, and what a store has that a copy of it has not.

use crate::fault::{DatabaseFault, OpenError};
use crate::lock::DirectoryLock;
use crate::open::create_private;
use crate::rows;
use crate::schema::DATABASE_FILE;
use crate::source::read_snapshot;
use ancile_core::TenantName;
use ancile_ledger::{GroupHead, LeafKind, Tree, VerifierKey, leaf_hash};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use std::path::Path;

/// The exclusive lock on a data directory, without its store; it ends with this value.
#[derive(Debug)]
pub struct Hold(DirectoryLock);

impl Hold {
    /// Takes the lock of a data directory, which must be there.
    ///
    /// # Errors
    /// [`OpenError::Locked`] when a process has the store open.
    pub fn take(dir: &Path) -> Result<Self, OpenError> {
        DirectoryLock::take(dir).map(Self)
    }

    /// Where the lock lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A store or a copy, as far as its checkpoint says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Committed groups.
    pub groups: u64,
    /// The witness epoch.
    pub epoch: u64,
    /// Each tenant and the number of its leaves, in order of the names.
    pub tenants: Vec<(String, u64)>,
    /// The signed checkpoint.
    pub checkpoint: String,
}

/// Copies the database of a store into a new file of mode 0600, as it stands at one moment. It
/// takes no lock and works beside a running server. Nothing is checked; run the audit on the copy.
///
/// # Errors
/// [`OpenError`]; what was written by then is no copy.
pub fn copy(dir: &Path, to: &Path) -> Result<(), OpenError> {
    create_private(to).map_err(|e| OpenError::io(to, "creating the copy", e))?;
    read_snapshot(dir, &mut |from| copy_to(from, to))?
}

/// Copies an open database into a new file, and has it on the medium.
pub(crate) fn copy_to(from: &Connection, to: &Path) -> Result<(), OpenError> {
    if to.symlink_metadata().is_err() {
        create_private(to).map_err(|e| OpenError::io(to, "creating the copy", e))?;
    }
    let fault = |step| move |e| OpenError::database(to, DatabaseFault::of(step, e));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut made = Connection::open_with_flags(to, flags).map_err(fault("opening the copy"))?;
    let copying = fault("copying the database");
    let backup = Backup::new(from, &mut made).map_err(&copying)?;
    // All at once: nobody may change it meanwhile anyway.
    let step = backup.step(-1).map_err(&copying)?;
    drop(backup);
    if step != StepResult::Done {
        let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        return Err(copying(rusqlite::Error::SqliteFailure(busy, None)));
    }
    made.close().map_err(|(_, e)| copying(e))?;
    ancile_ledger::sync_file(to).map_err(|e| OpenError::io(to, "syncing the copy", e))
}

/// How far a store goes; its checkpoint must be signed by this key, all else is not checked.
///
/// # Errors
/// [`OpenError`] when there is no store, it cannot be read, or another key signed it.
pub fn extent(dir: &Path, key: &VerifierKey) -> Result<Extent, OpenError> {
    read_snapshot(dir, &mut |conn| extent_of(conn, dir, key))?
}

fn extent_of(conn: &Connection, dir: &Path, key: &VerifierKey) -> Result<Extent, OpenError> {
    let path = dir.join(DATABASE_FILE);
    let fault = |e| OpenError::database(&path, DatabaseFault::of("reading the extent", e));
    let note = rows::checkpoint(conn).map_err(fault)?;
    let checkpoint = note.ok_or(OpenError::CheckpointMissing)?;
    let signed = key.open(&checkpoint).map_err(OpenError::Checkpoint)?;
    let groups = signed.checkpoint().size;
    let last: Option<Vec<u8>> = conn
        .query_row(
            "SELECT body FROM head ORDER BY \"group\" DESC LIMIT 1",
            [],
            |row| row.get(0),
        )
        .optional()
        .map_err(fault)?;
    let head = GroupHead::decode(&last.unwrap_or_default()).map_err(|source| OpenError::Group {
        group: groups.saturating_sub(1),
        source: Some(source),
    })?;
    let mut tenants = Vec::new();
    let mut statement = conn
        .prepare("SELECT tenant, max(seq) FROM leaf GROUP BY tenant ORDER BY tenant")
        .map_err(fault)?;
    let mut found = statement.query([]).map_err(fault)?;
    while let Some(row) = found.next().map_err(fault)? {
        let last: i64 = row.get(1).map_err(fault)?;
        let size = u64::try_from(last).map_or(0, |last| last.saturating_add(1));
        tenants.push((row.get(0).map_err(fault)?, size));
    }
    Ok(Extent {
        groups,
        epoch: head.epoch,
        tenants,
        checkpoint,
    })
}

/// A leaf that a store has and a copy has not.
#[derive(Debug, Clone, Copy)]
pub struct Newer<'a> {
    /// The tenant.
    pub tenant: &'a TenantName,
    /// The leaf's sequence number.
    pub seq: u64,
    /// Record or control event.
    pub kind: LeafKind,
    /// The body.
    pub body: &'a [u8],
}

/// Gives `visit` each leaf that the store in `dir` has and the copy in `from` has not, in order of
/// tenant and place, and says whether the copy is an earlier state of the store: with another
/// history, a leaf also counts as new where the copy has another in its place.
///
/// Both are read and neither is checked; run the audit on them.
///
/// # Errors
/// [`OpenError`] when one of them cannot be read.
pub fn newer(dir: &Path, from: &Path, visit: &mut dyn FnMut(Newer<'_>)) -> Result<bool, OpenError> {
    read_snapshot(from, &mut |old| {
        read_snapshot(dir, &mut |new| newer_of(new, old, dir, visit))?
    })?
}

fn newer_of(
    new: &Connection,
    old: &Connection,
    dir: &Path,
    visit: &mut dyn FnMut(Newer<'_>),
) -> Result<bool, OpenError> {
    let path = dir.join(DATABASE_FILE);
    let fault = |e| OpenError::database(&path, DatabaseFault::of("comparing with the copy", e));
    let earlier = is_earlier(new, old).map_err(fault)?;
    let mut statement = new
        .prepare("SELECT tenant, seq, body FROM leaf ORDER BY tenant, seq")
        .map_err(fault)?;
    let mut before = old
        .prepare("SELECT body FROM leaf WHERE tenant = ?1 AND seq = ?2")
        .map_err(fault)?;
    let mut found = statement.query([]).map_err(fault)?;
    while let Some(row) = found.next().map_err(fault)? {
        let (name, seq): (String, i64) = (row.get(0).map_err(fault)?, row.get(1).map_err(fault)?);
        let body = row.get_ref(2).map_err(fault)?.as_blob().unwrap_or_default();
        let same: Option<bool> = before
            .query_row(params![name, seq], |old| {
                Ok(old.get_ref(0)?.as_blob() == Ok(body))
            })
            .optional()
            .map_err(fault)?;
        let there = same.is_some_and(|same| same || earlier);
        if let (false, Ok(tenant), Ok(seq), Some(kind)) = (
            there,
            TenantName::new(&name),
            u64::try_from(seq),
            LeafKind::of(body),
        ) {
            let tenant = &tenant;
            visit(Newer {
                tenant,
                seq,
                kind,
                body,
            });
        }
    }
    Ok(earlier)
}

/// Whether the groups of the older one are the first of the newer one's.
fn is_earlier(new: &Connection, old: &Connection) -> rusqlite::Result<bool> {
    let (old, new) = (heads(old)?, heads(new)?);
    Ok(new.root_at(old.size()).ok() == Some(old.root()))
}

fn heads(conn: &Connection) -> rusqlite::Result<Tree> {
    let mut tree = Tree::new();
    let mut statement = conn.prepare("SELECT body FROM head ORDER BY \"group\"")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        tree.append(leaf_hash(row.get_ref(0)?.as_blob().unwrap_or_default()));
    }
    Ok(tree)
}
