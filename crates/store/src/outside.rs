// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads beside the ordinary one: a body alone, what others did to the database, content as it lies
//! there, and the format.

use crate::rows::cell;
use crate::schema::{self, DATABASE_FILE, FORMAT_VERSION};
use crate::{DamageKind, DatabaseFault, OpenError, ReadError, Store};
use ancile_core::{Digest, RecordView, TenantName};
use ancile_ledger::leaf_hash;
use rusqlite::{OptionalExtension as _, params};
use std::path::Path;

/// The format version of the store in a data directory, whether or not this build reads it.
///
/// # Errors
/// [`OpenError`] when there is no store, or the file is none.
pub fn format_version(dir: &Path) -> Result<i32, OpenError> {
    let path = dir.join(DATABASE_FILE);
    match schema::open_read_only(&path, !schema::has_wal(&path)) {
        Ok(_) => Ok(FORMAT_VERSION),
        Err(OpenError::Version { found, .. }) => Ok(found),
        Err(fault) => Err(fault),
    }
}

impl Store {
    /// The body of a leaf, compared with the log; its content is not looked at. For ancestors,
    /// whose content may be gone while their record still counts.
    ///
    /// # Errors
    /// [`ReadError::NoLeaf`], [`ReadError::Tampered`] when the row is gone or edited,
    /// [`ReadError::Dead`] after a fault.
    pub fn read_body(&self, tenant: &TenantName, seq: u64) -> Result<Vec<u8>, ReadError> {
        if let Some(first) = self.fault() {
            return Err(ReadError::Dead {
                first: first.to_owned(),
            });
        }
        let no_leaf = || ReadError::NoLeaf {
            tenant: tenant.clone(),
            seq,
        };
        let expected = self.leaf(tenant, seq).ok_or_else(no_leaf)?;
        let row = i64::try_from(seq).map_err(|_| no_leaf())?;
        let body: Option<Vec<u8>> = self
            .conn
            .query_row(
                "SELECT body FROM leaf WHERE tenant = ?1 AND seq = ?2",
                params![tenant.as_str(), row],
                |row| row.get(0),
            )
            .optional()
            .map_err(|e| ReadError::Database(DatabaseFault::of("reading a leaf", e)))?;
        let what = match body {
            Some(body) if leaf_hash(&body) == expected => return Ok(body),
            Some(_) => DamageKind::Edited,
            None => DamageKind::Missing,
        };
        Err(ReadError::Tampered {
            tenant: tenant.clone(),
            seq,
            what,
        })
    }

    /// Gives the records of a tenant from one sequence number to another, the last not included,
    /// with their hash. Rows that are not what was written are left out.
    ///
    /// # Errors
    /// [`ReadError::Database`], [`ReadError::Dead`] after a fault.
    pub fn each_record(
        &self,
        tenant: &TenantName,
        (from, to): (u64, u64),
        see: &mut dyn FnMut(u64, Digest, RecordView<'_>),
    ) -> Result<(), ReadError> {
        if let Some(first) = self.fault() {
            return Err(ReadError::Dead {
                first: first.to_owned(),
            });
        }
        let fault = |e| ReadError::Database(DatabaseFault::of("reading records", e));
        let mut statement = self
            .conn
            .prepare_cached(
                "SELECT seq, body FROM leaf WHERE tenant = ?1 AND seq >= ?2 AND seq < ?3 \
                 ORDER BY seq",
            )
            .map_err(fault)?;
        let range = params![tenant.as_str(), cell(from), cell(to)];
        let mut rows = statement.query(range).map_err(fault)?;
        while let Some(row) = rows.next().map_err(fault)? {
            let seq: i64 = row.get(0).map_err(fault)?;
            let body = row.get_ref(1).map_err(fault)?.as_blob().unwrap_or_default();
            let Ok(seq) = u64::try_from(seq) else {
                continue;
            };
            let (Ok(record), Some(hash)) = (RecordView::of(body), self.leaf(tenant, seq)) else {
                continue;
            };
            if leaf_hash(body) == hash {
                see(seq, Digest(hash.0), record);
            }
        }
        Ok(())
    }

    /// A number that changes whenever another connection commits to the database (SQLite's
    /// `data_version`). What was verified before such a change must be verified again.
    ///
    /// # Errors
    /// [`ReadError::Database`].
    pub fn data_version(&self) -> Result<i64, ReadError> {
        self.conn
            .query_row("PRAGMA data_version", [], |row| row.get(0))
            .map_err(|e| ReadError::Database(DatabaseFault::of("reading the data version", e)))
    }

    /// The content beside a leaf as it lies there, compared with nothing: for measuring what
    /// happens without gates. Nothing may be decided by it.
    ///
    /// # Errors
    /// [`ReadError::Database`].
    pub fn content_unverified(
        &self,
        tenant: &TenantName,
        seq: u64,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let Ok(seq) = i64::try_from(seq) else {
            return Ok(None);
        };
        self.conn
            .query_row(
                "SELECT bytes FROM content WHERE tenant = ?1 AND seq = ?2",
                params![tenant.as_str(), seq],
                |row| row.get(0),
            )
            .optional()
            .map_err(|e| ReadError::Database(DatabaseFault::of("reading a content", e)))
    }
}
