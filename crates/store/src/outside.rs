// SPDX-License-Identifier: MIT OR Apache-2.0
//! What others do to the database beside this handle.

use crate::{DatabaseFault, ReadError, Store};
use ancile_core::TenantName;
use rusqlite::{OptionalExtension as _, params};

impl Store {
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
        let Ok(seq) = i64::try_from(seq) else { return Ok(None) };
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
