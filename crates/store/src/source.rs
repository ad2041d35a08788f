// SPDX-License-Identifier: MIT OR Apache-2.0
//! A store's logs as the verifier and the exporter read them.

use crate::fault::{DatabaseFault, OpenError, chain};
use crate::rows::{self, Keyed, log_column};
use crate::schema::{self, DATABASE_FILE};
use ancile_ledger::{
    ExportError, Exported, LogName, LogSource, SourceError, TenantHead, TilesKept, Witness,
};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::collections::BTreeSet;
use std::path::Path;

/// One snapshot of a store, for reading only.
pub(crate) struct SqliteLogs<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) witness: Option<&'a Path>,
}

impl LogSource for SqliteLogs<'_> {
    /// Names that only a head, only leaves or only contents have are among them.
    fn tenants(&self) -> Result<Vec<String>, SourceError> {
        let mut names = BTreeSet::new();
        let mut statement = self
            .conn
            .prepare_cached("SELECT tenant FROM tenant ORDER BY tenant")
            .map_err(sql)?;
        let mut found = statement.query([]).map_err(sql)?;
        while let Some(row) = found.next().map_err(sql)? {
            let name = row.get_ref(0).map_err(sql)?.as_bytes().unwrap_or_default();
            names.insert(String::from_utf8_lossy(name).into_owned());
        }
        for name in rows::names(self.conn, Keyed::Leaf).map_err(sql)? {
            names.insert(String::from_utf8_lossy(&name).into_owned());
        }
        Ok(names.into_iter().collect())
    }

    fn head(&self, tenant: &str) -> Result<Option<TenantHead>, SourceError> {
        let bytes: Option<Vec<u8>> = self
            .conn
            .prepare_cached("SELECT head FROM tenant WHERE tenant = ?1")
            .and_then(|mut s| s.query_row([tenant], |row| row.get(0)).optional())
            .map_err(sql)?;
        let Some(bytes) = bytes else { return Ok(None) };
        let head = TenantHead::decode(&bytes).map_err(|e| SourceError(chain(&e)))?;
        if head.tenant != tenant {
            return Err(SourceError("stored head is of another tenant".to_owned()));
        }
        Ok(Some(head))
    }

    fn extent(&self, log: &LogName) -> Result<u64, SourceError> {
        let last: Option<i64> = match log {
            LogName::Heads => self
                .conn
                .prepare_cached("SELECT max(\"group\") FROM head")
                .and_then(|mut s| s.query_row([], |row| row.get(0))),
            LogName::Tenant(name) => self
                .conn
                .prepare_cached("SELECT max(seq) FROM leaf WHERE tenant = ?1")
                .and_then(|mut s| s.query_row([name], |row| row.get(0))),
        }
        .map_err(sql)?;
        Ok(last
            .and_then(|last| u64::try_from(last).ok())
            .map_or(0, |last| last.saturating_add(1)))
    }

    fn leaf(&self, log: &LogName, index: u64) -> Result<Option<Vec<u8>>, SourceError> {
        let index = rows::cell(index);
        match log {
            LogName::Heads => self
                .conn
                .prepare_cached("SELECT body FROM head WHERE \"group\" = ?1")
                .and_then(|mut s| s.query_row([index], |row| row.get(0)).optional()),
            LogName::Tenant(name) => self.conn.prepare_cached(LEAF).and_then(|mut s| {
                s.query_row(params![name, index], |row| row.get(0))
                    .optional()
            }),
        }
        .map_err(sql)
    }

    fn tiles_kept(&self) -> TilesKept {
        TilesKept::All
    }

    fn tile(
        &self,
        log: &LogName,
        level: u8,
        index: u64,
        _width: u16,
    ) -> Result<Option<Vec<u8>>, SourceError> {
        self.conn
            .prepare_cached("SELECT bytes FROM tile WHERE log = ?1 AND level = ?2 AND idx = ?3")
            .and_then(|mut s| {
                s.query_row(params![log_column(log), level, rows::cell(index)], |row| {
                    row.get(0)
                })
                .optional()
            })
            .map_err(sql)
    }

    fn checkpoint(&self) -> Result<Option<String>, SourceError> {
        rows::checkpoint(self.conn).map_err(sql)
    }

    fn witness(&self) -> Result<Option<String>, SourceError> {
        match self.witness {
            Some(path) => Witness::read(path).map_err(|e| SourceError(chain(&e))),
            None => Ok(None),
        }
    }
}

fn sql(error: rusqlite::Error) -> SourceError {
    SourceError(chain(&DatabaseFault::of("reading the logs", error)))
}

/// Why a store was not exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportFault {
    /// The store could not be read.
    #[error("store cannot be exported")]
    Open(#[source] OpenError),
    /// The logs could not be read or written.
    #[error("logs cannot be exported")]
    Export(#[source] ExportError),
}

/// Writes the logs of a store into a new or empty directory in the C2SP tlog-tiles layout:
/// records and control events, without content. It only reads the store, and works beside a
/// running server. Nothing is checked; run [`ancile_ledger::verify::verify`] on the result.
///
/// # Errors
/// [`ExportFault`] says what failed.
pub fn export(dir: &Path, out: &Path) -> Result<Exported, ExportFault> {
    read_snapshot(dir, &mut |conn| {
        let source = SqliteLogs {
            conn,
            witness: None,
        };
        ancile_ledger::export(&source, out)
    })
    .map_err(ExportFault::Open)?
    .map_err(ExportFault::Export)
}

/// Gives `read` one snapshot of the store in a directory.
///
/// A store that no one has open is read as immutable. If a server starts meanwhile, it is read
/// once more beside the server.
pub(crate) fn read_snapshot<T>(
    dir: &Path,
    read: &mut dyn FnMut(&Connection) -> T,
) -> Result<T, OpenError> {
    let path = dir.join(DATABASE_FILE);
    let stamp = || {
        path.metadata()
            .and_then(|m| Ok((m.len(), m.modified()?)))
            .ok()
    };
    let before = stamp();
    if !schema::has_wal(&path) {
        let answer = read_once(&path, true, read);
        if !schema::has_wal(&path) && stamp() == before {
            return answer;
        }
    }
    read_once(&path, false, read)
}

fn read_once<T>(
    path: &Path,
    immutable: bool,
    read: &mut dyn FnMut(&Connection) -> T,
) -> Result<T, OpenError> {
    let fault = |e| OpenError::database(path, DatabaseFault::of("beginning to read", e));
    let conn = schema::open_read_only(path, immutable)?;
    let snapshot = conn.unchecked_transaction().map_err(fault)?;
    let answer = read(&snapshot);
    snapshot.finish().map_err(fault)?;
    Ok(answer)
}

/// The body of a leaf, cut off one byte after the limit: what is longer is refused by its length.
const LEAF: &str = "SELECT substr(body, 1, 65536) FROM leaf WHERE tenant = ?1 AND seq = ?2";

const _: () = assert!(
    crate::BODY_BYTES_MAX + 1 == 65_536,
    "LEAF cuts off after the limit"
);
