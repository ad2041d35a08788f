// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why the store did not do what was asked, one type for each operation.

use crate::damage::DamageKind;
use crate::migrate::FORMAT_VERSION_OLDEST;
use crate::schema::{APPLICATION_ID, FORMAT_VERSION};
use crate::{BODY_BYTES_MAX, CONTENT_BYTES_MAX};
use ancile_core::{DecodeError, TenantName};
use ancile_ledger::{
    CheckpointError, HeadError, LogName, NodeHash, TreeError, WitnessError, WitnessRefusal,
};
use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// What the database said.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SqlError(rusqlite::Error);

/// Why the database did not do its part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseFault {
    /// No space is left.
    #[error("medium or database is full while {step}; free space and open the store again")]
    Full {
        /// What was being done.
        step: &'static str,
        /// What the database said.
        #[source]
        source: SqlError,
    },
    /// Another program holds the database.
    #[error("another program holds the database while {step}; end it and try again")]
    Busy {
        /// What was being done.
        step: &'static str,
        /// What the database said.
        #[source]
        source: SqlError,
    },
    /// The file, its directory or the medium cannot be written.
    #[error("database cannot be written while {step}; make it writable and open the store again")]
    ReadOnly {
        /// What was being done.
        step: &'static str,
        /// What the database said.
        #[source]
        source: SqlError,
    },
    /// The file is not an SQLite database.
    #[error("file is not an SQLite database; give the right directory or restore a copy")]
    NotADatabase {
        /// What the database said.
        #[source]
        source: SqlError,
    },
    /// The file is damaged.
    #[error("database file is damaged, seen while {step}; restore a copy")]
    Corrupt {
        /// What was being done.
        step: &'static str,
        /// What the database said.
        #[source]
        source: SqlError,
    },
    /// Anything else, such as an error of the medium.
    #[error("database failed while {step}; check the medium and open the store again")]
    Failed {
        /// What was being done.
        step: &'static str,
        /// What the database said.
        #[source]
        source: SqlError,
    },
}

impl DatabaseFault {
    pub(crate) fn of(step: &'static str, error: rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        let source = SqlError(error);
        match code {
            Some(ErrorCode::DiskFull) => Self::Full { step, source },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { step, source }
            }
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { step, source },
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { source },
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt { step, source },
            _ => Self::Failed { step, source },
        }
    }
}

/// Why a store was not made or not opened. Nothing was changed, and nothing of it may be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is a store already.
    #[error("`{}` holds a store already; open it, or give another directory", .path.display())]
    Exists {
        /// The database.
        path: PathBuf,
    },
    /// There is a witness of a store that is not here.
    #[error(
        "witness `{}` is there, but its store is not; restore the store, or give another witness \
         path",
        .path.display()
    )]
    WitnessExists {
        /// The witness.
        path: PathBuf,
    },
    /// The witness lies where it would be lost and rolled back together with the store.
    #[error(
        "witness `{}` is inside the data directory; give a path outside of it",
        .path.display()
    )]
    WitnessInside {
        /// The witness.
        path: PathBuf,
    },
    /// There is no store.
    #[error("`{}` is not there; create a store, or give the right directory", .path.display())]
    NoStore {
        /// The database that was looked for.
        path: PathBuf,
    },
    /// The database file has no bytes.
    #[error("`{}` is empty; it was cut or never written; restore a copy", .path.display())]
    Empty {
        /// The database.
        path: PathBuf,
    },
    /// The file is the database of another program.
    #[error(
        "`{}` has application id {found}, a store has {APPLICATION_ID}; give the right directory",
        .path.display()
    )]
    NotAStore {
        /// The database.
        path: PathBuf,
        /// The id it has.
        found: i32,
    },
    /// The tables are of another version.
    #[error(
        "`{}` has format version {found}, this build reads {FORMAT_VERSION}; {}",
        .path.display(),
        other_version(*found)
    )]
    Version {
        /// The database.
        path: PathBuf,
        /// The version it has.
        found: i32,
    },
    /// The tables are not the ones of the version.
    #[error(
        "`{}`: `{}` is not as format version {FORMAT_VERSION} has it; the schema was changed; \
         restore a copy",
        .path.display(),
        .name.escape_debug()
    )]
    Schema {
        /// The database.
        path: PathBuf,
        /// The first table, index, trigger or view that differs.
        name: String,
    },
    /// The directory or file cannot be written.
    #[error("`{}` cannot be written; give this process write access", .path.display())]
    ReadOnly {
        /// The path.
        path: PathBuf,
    },
    /// The lock is no file of its own, and would be written.
    #[error("`{}` is a link to another file, not a lock; remove it", .path.display())]
    Link {
        /// The path.
        path: PathBuf,
    },
    /// Another process has the store open.
    #[error(
        "`{}` is in use by {holder}; speak to that process, or stop it",
        .path.display()
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Who holds it, as far as the lock file says.
        holder: Box<crate::LockHolder>,
    },
    /// The configured origin is not the name of the key.
    #[error(
        "origin is `{}`, the signing key is named `{}`; give the key of this store",
        .origin.escape_debug(),
        .key
    )]
    Origin {
        /// The configured origin.
        origin: String,
        /// The key's name.
        key: String,
    },
    /// The stored checkpoint is not one of this key.
    #[error("stored checkpoint is not signed by this key; give the key of this store, or restore")]
    Checkpoint(#[source] CheckpointError),
    /// There is no stored checkpoint.
    #[error("stored checkpoint is missing; restore a copy")]
    CheckpointMissing,
    /// The heads log is not the one of the checkpoint.
    #[error(
        "heads log has {found_size} groups with root {found_root}, the checkpoint says \
         {size} with {root}; restore a copy"
    )]
    HeadsLog {
        /// Groups that the checkpoint says.
        size: u64,
        /// Root that the checkpoint says.
        root: NodeHash,
        /// Groups that are stored.
        found_size: u64,
        /// Their root.
        found_root: NodeHash,
    },
    /// A leaf of the heads log is not in its place or not a group head.
    #[error("heads log: group {group} is missing or malformed; restore a copy")]
    Group {
        /// Its number.
        group: u64,
        /// What is wrong with the bytes, where there are any.
        #[source]
        source: Option<HeadError>,
    },
    /// The witness is not a checkpoint of this key.
    #[error("witness is not signed by this key; give the witness of this store")]
    WitnessUnsigned(#[source] CheckpointError),
    /// The store does not fit its witness.
    #[error(transparent)]
    WitnessRefused(WitnessRefusal),
    /// The witness file could not be read or written.
    #[error(transparent)]
    Witness(WitnessError),
    /// A stored tenant head is malformed.
    #[error("head of tenant `{}` is malformed; restore a copy", .tenant.escape_debug())]
    TenantHead {
        /// The tenant.
        tenant: String,
        /// What is wrong with it, where it is not the name.
        #[source]
        source: Option<HeadError>,
    },
    /// The stored tenant heads are not those of the last group.
    #[error(
        "{found} tenant heads give root {found_root}, the last group says {tenants} with {root}; \
         restore a copy"
    )]
    TenantHeads {
        /// Tenants that the last group says.
        tenants: u64,
        /// Root that the last group says.
        root: NodeHash,
        /// Tenant heads that are stored.
        found: u64,
        /// Their root.
        found_root: NodeHash,
    },
    /// The leaf hashes in the tiles are not those of the head.
    #[error(
        "{log}: tiles give {found_size} leaves with root {found_root}, its head says {size} with \
         {root}; restore a copy"
    )]
    TenantRoot {
        /// The log.
        log: LogName,
        /// Leaves that the head says.
        size: u64,
        /// Root that the head says.
        root: NodeHash,
        /// Leaves in the tiles.
        found_size: u64,
        /// Their root.
        found_root: NodeHash,
    },
    /// A stored tile differs from the tree.
    #[error("{log}: tile {index} of level {level} is missing, added or edited; restore a copy")]
    Tile {
        /// The log.
        log: LogName,
        /// The tile's level.
        level: i64,
        /// The tile's index.
        index: i64,
    },
    /// Control leaves are missing or edited.
    #[error(
        "tenant `{tenant}`: a control leaf is missing or edited, among {damaged} damaged leaves \
         of which the first is {first}; restore a copy"
    )]
    Control {
        /// The tenant.
        tenant: TenantName,
        /// Damaged leaves of this tenant.
        damaged: u64,
        /// The sequence number of the first.
        first: u64,
    },
    /// The reader of the replayed leaves refused one.
    #[error("tenant `{tenant}`: leaf {seq} could not be replayed: {reason}")]
    Replay {
        /// The tenant.
        tenant: TenantName,
        /// The leaf's sequence number.
        seq: u64,
        /// What the reader said.
        reason: String,
    },
    /// The database did not do its part.
    #[error("`{}`: {fault}", .path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What went wrong.
        fault: DatabaseFault,
    },
    /// A file could not be used.
    #[error("`{}`: {step} failed; check the medium and its permissions", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What was being done.
        step: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The first group, or the one of a new witness epoch, could not be committed.
    #[error("group could not be committed")]
    Commit(#[source] CommitError),
}

impl OpenError {
    pub(crate) fn database(path: &Path, fault: DatabaseFault) -> Self {
        Self::Database {
            path: path.to_owned(),
            fault,
        }
    }

    pub(crate) fn io(path: &Path, step: &'static str, source: io::Error) -> Self {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        let path = path.to_owned();
        match source.kind() {
            PermissionDenied | ReadOnlyFilesystem => Self::ReadOnly { path },
            _ => Self::Io { path, step, source },
        }
    }
}

/// Why a leaf was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The body is neither a record nor a control event.
    #[error("leaf body begins with neither 1 (record) nor 2 (control event); encode it again")]
    BodyKind,
    /// The body is too long.
    #[error("leaf body is {bytes} bytes; limit is {BODY_BYTES_MAX}; split what it says")]
    BodyTooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The content is too long.
    #[error("content is {bytes} bytes; limit is {CONTENT_BYTES_MAX}; split it")]
    ContentTooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// A record with content is malformed.
    #[error("record is malformed; encode it again")]
    Record(#[source] DecodeError),
    /// The content is not the one that the record commits to.
    #[error("content does not fit the commitment in its record; commit to this salt and content")]
    Commitment,
    /// The savepoint's group is over, or an outer savepoint was rolled back or released.
    #[error("savepoint is over; take a new one in the current group")]
    SavepointOver,
    /// There is no such leaf.
    #[error("tenant `{tenant}` has no leaf {seq}; give one that was appended")]
    NoLeaf {
        /// The tenant.
        tenant: TenantName,
        /// The sequence number.
        seq: u64,
    },
    /// The sequence numbers of the tenant are used up.
    #[error("tenant `{tenant}` has 2^63 leaves, which is the limit; use another tenant")]
    LogFull {
        /// The tenant.
        tenant: TenantName,
    },
    /// The database did not do its part; unless it was busy, the handle is dead.
    #[error(transparent)]
    Database(DatabaseFault),
    /// An earlier fault left the handle unusable.
    #[error("store handle is dead since a fault; open the store again; the fault was: {first}")]
    Dead {
        /// The first fault.
        first: String,
    },
}

/// Why a group was not committed, or not witnessed. The handle is dead and nothing of the group
/// may be answered; the next open says whether the group is there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The database did not do its part.
    #[error(transparent)]
    Database(DatabaseFault),
    /// The tenant heads could not be put into one list.
    #[error("tenant heads cannot be hashed")]
    Heads(#[source] HeadError),
    /// The checkpoint could not be signed.
    #[error("checkpoint could not be signed")]
    Sign(#[source] CheckpointError),
    /// The group is committed, but its witness is not written.
    #[error("group {group} is committed but not witnessed; open the store again")]
    Witness {
        /// The group.
        group: u64,
        /// What failed.
        #[source]
        source: WitnessError,
    },
    /// The group numbers are used up.
    #[error("store has 2^63 groups, which is the limit; export it and begin a new one")]
    LogFull,
    /// An earlier fault left the handle unusable.
    #[error("store handle is dead since a fault; open the store again; the fault was: {first}")]
    Dead {
        /// The first fault.
        first: String,
    },
    /// A test asked for a stop here.
    #[cfg(test)]
    #[error("stopped by a test")]
    Stopped,
}

/// Why a leaf was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The log has no such leaf; a row that someone inserted beyond the log is none.
    #[error("tenant `{tenant}` has no leaf {seq}")]
    NoLeaf {
        /// The tenant.
        tenant: TenantName,
        /// The sequence number.
        seq: u64,
    },
    /// What is stored is not what was written.
    #[error("tenant `{tenant}`: leaf {seq}: {what}; it is refused; run the audit")]
    Tampered {
        /// The tenant.
        tenant: TenantName,
        /// The sequence number.
        seq: u64,
        /// What is wrong.
        what: DamageKind,
    },
    /// The database did not do its part.
    #[error(transparent)]
    Database(DatabaseFault),
    /// An earlier fault left the handle unusable.
    #[error("store handle is dead since a fault; open the store again; the fault was: {first}")]
    Dead {
        /// The first fault.
        first: String,
    },
}

/// Why something was not proved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProveError {
    /// No committed group has this leaf.
    #[error("tenant `{tenant}` has no committed leaf {seq}; commit the group first")]
    NotCommitted {
        /// The tenant.
        tenant: TenantName,
        /// The sequence number.
        seq: u64,
    },
    /// A size was asked that the log has not.
    #[error(transparent)]
    Tree(TreeError),
}

/// What to do with a store of another version.
fn other_version(found: i32) -> &'static str {
    if found > FORMAT_VERSION {
        "a newer build wrote it: use that one, or restore a backup that this one made"
    } else if found >= FORMAT_VERSION_OLDEST {
        "bring it up by `ancile migrate`, which keeps a copy of it as it is"
    } else {
        "use the build that wrote it"
    }
}

/// An error and all its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
