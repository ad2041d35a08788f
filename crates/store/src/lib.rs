// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries, records and logs in SQLite; the only user of a database.
//!
//! The store is an operation log with views: every change is a leaf of a tenant's Merkle log, the
//! erasable content of a leaf lies beside it, and what is not a leaf can be recomputed. Its owner
//! keeps all state in memory and rebuilds it from the leaves when it opens the store.
//!
//! A group of leaves is committed, witnessed, and only then answered. The tables, and what is lost
//! if the process dies at each step, are in `docs/formats/store.md`.

mod audit;
mod beside;
pub mod bm25;
mod copy;
mod damage;
mod erase;
mod fault;
mod group;
mod kept;
mod load;
mod lock;
mod migrate;
mod notice;
mod open;
mod outside;
mod prove;
mod rows;
mod schema;
pub mod segment;
mod source;
mod store;
pub mod tokenize;

pub use audit::{Audit, AuditProblem, AuditReport, ControlCommitment, audit};
pub use beside::{Beside, BodyAndContent, Chunks, Place};
pub use copy::{Extent, Hold, Newer, copy, extent, newer};
pub use damage::{Content, Damage, DamageKind, Replay, ReplayLeaf, ReplayRefusal};
pub use fault::{
    CommitError, DatabaseFault, OpenError, ProveError, ReadError, SqlError, WriteError,
};
pub use group::Savepoint;
pub use load::DAMAGE_LISTED_MAX;
pub use lock::{LOCK_FILE, LockHolder, lock_holder};
pub use migrate::{FORMAT_VERSION_OLDEST, migrate};
pub use notice::Notice;
pub use open::NewEpoch;
pub use outside::format_version;
pub use prove::{InclusionError, InclusionProof};
pub use schema::{APPLICATION_ID, DATABASE_FILE, FORMAT_VERSION};
pub use source::{ExportFault, export};
pub use store::{
    Appended, CommitReceipt, OpenReport, Store, StoreConfig, StoredContent, StoredLeaf,
};

/// Longest leaf body in bytes.
pub const BODY_BYTES_MAX: usize = ancile_ledger::LEAF_BYTES_MAX;

/// Longest content in bytes: 1 MiB.
pub const CONTENT_BYTES_MAX: usize = 1_048_576;
