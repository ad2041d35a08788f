// SPDX-License-Identifier: MIT OR Apache-2.0
//! What removed content leaves behind in the database's own files.

use crate::fault::{DatabaseFault, WriteError};
use crate::store::Store;

impl Store {
    /// Moves the write-ahead log into the database and empties it, so that no older page with
    /// removed content is left: pages of the database are overwritten when their rows go.
    ///
    /// Says whether it could; not while another program reads, and not within a group.
    ///
    /// # Errors
    /// [`WriteError`], as for [`Store::append`].
    pub fn scrub(&mut self) -> Result<bool, WriteError> {
        if let Some(first) = &self.dead {
            return Err(WriteError::Dead {
                first: first.clone(),
            });
        }
        if self.open.is_some() {
            return Ok(false);
        }
        let busy: rusqlite::Result<i64> = self.conn.query_row(SCRUB, [], |row| row.get(0));
        match busy.map_err(|e| DatabaseFault::of("emptying the log", e)) {
            Ok(busy) => Ok(busy == 0),
            Err(DatabaseFault::Busy { .. }) => Ok(false),
            Err(fault) => Err(WriteError::Database(fault)),
        }
    }
}

/// The statement; its first column says whether it was kept from its end.
const SCRUB: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
