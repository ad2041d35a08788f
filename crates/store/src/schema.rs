// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables, and opening a connection to them that runs nothing but our own statements.

use crate::fault::{DatabaseFault, OpenError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// `PRAGMA application_id` of a store: the bytes `Anci`.
pub const APPLICATION_ID: i32 = 0x416e_6369;

/// `PRAGMA user_version` of the tables that this build reads and writes.
pub const FORMAT_VERSION: i32 = 3;

/// File name of the database in the data directory.
pub const DATABASE_FILE: &str = "store.db";

/// A part of the schema: its kind, its name and the statement that makes it.
pub(crate) type Part = (&'static str, &'static str, &'static str);

/// Kind and name of everything in the schema, and the statement that makes it, in order of the
/// names.
///
/// The pieces of segments are long. In a table without row numbers a look-up would read those that
/// it compares keys with, so they have an index of their own.
pub(crate) const SCHEMA: [Part; 9] = [
    (
        "table",
        "checkpoint",
        "CREATE TABLE checkpoint(id INTEGER NOT NULL PRIMARY KEY CHECK(id = 0), \
         note TEXT NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "table",
        "content",
        "CREATE TABLE content(tenant TEXT NOT NULL, seq INTEGER NOT NULL, salt BLOB NOT NULL, \
         bytes BLOB NOT NULL, PRIMARY KEY(tenant, seq), \
         FOREIGN KEY(tenant, seq) REFERENCES leaf(tenant, seq)) STRICT, WITHOUT ROWID",
    ),
    (
        "table",
        "head",
        "CREATE TABLE head(\"group\" INTEGER NOT NULL PRIMARY KEY, body BLOB NOT NULL) \
         STRICT, WITHOUT ROWID",
    ),
    (
        "table",
        "leaf",
        "CREATE TABLE leaf(tenant TEXT NOT NULL, seq INTEGER NOT NULL CHECK(seq >= 0), \
         body BLOB NOT NULL, PRIMARY KEY(tenant, seq)) STRICT, WITHOUT ROWID",
    ),
    (
        "index",
        "leaf_control",
        "CREATE INDEX leaf_control ON leaf(tenant, seq) WHERE substr(body, 1, 1) = x'02'",
    ),
    (
        "table",
        "segment",
        "CREATE TABLE segment(tenant TEXT NOT NULL, digest BLOB NOT NULL, \
         section INTEGER NOT NULL, chunk INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT",
    ),
    (
        "index",
        "segment_key",
        "CREATE UNIQUE INDEX segment_key ON segment(tenant, digest, section, chunk)",
    ),
    (
        "table",
        "tenant",
        "CREATE TABLE tenant(tenant TEXT NOT NULL PRIMARY KEY, head BLOB NOT NULL) \
         STRICT, WITHOUT ROWID",
    ),
    (
        "table",
        "tile",
        "CREATE TABLE tile(log TEXT NOT NULL, level INTEGER NOT NULL, idx INTEGER NOT NULL, \
         bytes BLOB NOT NULL, PRIMARY KEY(log, level, idx)) STRICT, WITHOUT ROWID",
    ),
];

/// Makes the tables in a new, empty database, inside the caller's transaction.
pub(crate) fn create_tables(conn: &Connection) -> rusqlite::Result<()> {
    for (_, _, statement) in SCHEMA {
        conn.execute_batch(statement)?;
    }
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    conn.pragma_update(None, "user_version", FORMAT_VERSION)
}

/// Opens the database of a store for reading and writing.
pub(crate) fn open_writable(path: &Path) -> Result<Connection, OpenError> {
    check_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let fault = |step| move |e| OpenError::database(path, DatabaseFault::of(step, e));
    let conn = Connection::open_with_flags(path, flags).map_err(fault("opening the database"))?;
    harden(&conn).map_err(fault("configuring the connection"))?;
    check_format(&conn, path)?;
    if conn
        .is_readonly("main")
        .map_err(fault("asking whether it can be written"))?
    {
        return Err(OpenError::ReadOnly {
            path: path.to_owned(),
        });
    }
    make_durable(&conn).map_err(fault("configuring the log"))?;
    Ok(conn)
}

/// Opens the database of a store for reading only. One without a write-ahead log beside it is
/// opened as immutable, so that nothing is written next to it.
pub(crate) fn open_read_only(path: &Path, immutable: bool) -> Result<Connection, OpenError> {
    check_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let fault = |step| move |e| OpenError::database(path, DatabaseFault::of(step, e));
    let mode = if immutable { "immutable=1" } else { "mode=ro" };
    let uri = format!("file:{}?{mode}", percent_encode(path));
    let conn = Connection::open_with_flags(uri, flags).map_err(fault("opening the database"))?;
    harden(&conn).map_err(fault("configuring the connection"))?;
    check_format(&conn, path)?;
    Ok(conn)
}

/// Whether a write-ahead log lies beside the database.
pub(crate) fn has_wal(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    Path::new(&name).metadata().is_ok_and(|m| m.len() > 0)
}

/// Turns off all by which a changed schema could act in our statements, and erases what is
/// deleted from its page.
pub(crate) fn harden(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    conn.busy_timeout(BUSY_TIMEOUT)
}

/// Has every commit on the medium before it returns.
pub(crate) fn make_durable(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    conn.pragma_update(None, "synchronous", "full")?;
    conn.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
    conn.pragma_update(None, "cell_size_check", true)?;
    sync_fully(conn)
}

/// Has every sync reach the medium. On macOS one leaves what it wrote in the cache of the drive
/// unless it is asked for more; on other systems this changes nothing.
pub(crate) fn sync_fully(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "fullfsync", true)?;
    conn.pragma_update(None, "checkpoint_fullfsync", true)
}

pub(crate) fn check_file(path: &Path) -> Result<(), OpenError> {
    match path.metadata() {
        Ok(file) if file.len() == 0 => Err(OpenError::Empty {
            path: path.to_owned(),
        }),
        Ok(_) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(OpenError::NoStore {
            path: path.to_owned(),
        }),
        Err(source) => Err(OpenError::io(path, "looking at the file", source)),
    }
}

/// Checks whose file it is, its version, and that its schema is exactly ours.
fn check_format(conn: &Connection, path: &Path) -> Result<(), OpenError> {
    let found = version(conn, path)?;
    if found != FORMAT_VERSION {
        return Err(OpenError::Version {
            path: path.to_owned(),
            found,
        });
    }
    check_schema(conn, path, SCHEMA.iter())
}

/// Checks whose file it is, and gives its version.
pub(crate) fn version(conn: &Connection, path: &Path) -> Result<i32, OpenError> {
    let fault = |e| OpenError::database(path, DatabaseFault::of("reading the format", e));
    let number = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let found = number("application_id").map_err(fault)?;
    if found != APPLICATION_ID {
        return Err(OpenError::NotAStore {
            path: path.to_owned(),
            found,
        });
    }
    number("user_version").map_err(fault)
}

/// Checks that the schema has exactly these parts.
pub(crate) fn check_schema<'a>(
    conn: &Connection,
    path: &Path,
    mut expected: impl Iterator<Item = &'a Part>,
) -> Result<(), OpenError> {
    let fault = |e| OpenError::database(path, DatabaseFault::of("reading the format", e));
    let mut statement = conn
        .prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name, type")
        .map_err(fault)?;
    let mut rows = statement.query([]).map_err(fault)?;
    while let Some(row) = rows.next().map_err(fault)? {
        let kind: String = row.get(0).map_err(fault)?;
        let name: String = row.get(1).map_err(fault)?;
        let sql: Option<String> = row.get(2).map_err(fault)?;
        let fits = expected
            .next()
            .is_some_and(|(k, n, s)| kind == *k && name == *n && sql.as_deref() == Some(*s));
        if !fits {
            return Err(OpenError::Schema {
                path: path.to_owned(),
                name,
            });
        }
    }
    match expected.next() {
        Some((_, name, _)) => Err(OpenError::Schema {
            path: path.to_owned(),
            name: (*name).to_owned(),
        }),
        None => Ok(()),
    }
}

/// The path for a `file:` URI.
fn percent_encode(path: &Path) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'_' | b'-');
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|b| {
            if plain(*b) {
                char::from(*b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect()
}

/// How long a statement waits for another program that holds the database.
const BUSY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// Prepared statements kept by a connection; the store has fewer.
const STATEMENTS_CACHED: usize = 32;
