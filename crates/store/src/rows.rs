// SPDX-License-Identifier: MIT OR Apache-2.0
//! The statements that write and read single rows.

use crate::damage::{Content, ContentCells};
use crate::{BODY_BYTES_MAX, CONTENT_BYTES_MAX};
use ancile_ledger::{GroupHead, LogName, TILE_WIDTH, TenantHead, Tree};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// The `log` column of the heads log; no tenant can have this name.
const HEADS: &str = "@heads";

/// The `log` column of a log.
pub(crate) fn log_column(log: &LogName) -> &str {
    match log {
        LogName::Heads => HEADS,
        LogName::Tenant(name) => name,
    }
}

/// The log that a `log` column names.
pub(crate) fn log_named(column: &[u8]) -> LogName {
    match String::from_utf8_lossy(column).into_owned() {
        name if name == HEADS => LogName::Heads,
        name => LogName::Tenant(name),
    }
}

/// A sequence number or index as an integer cell. Numbers above 2^63 are never given out, so that
/// none is cut off here.
pub(crate) fn cell(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A text cell as bytes, since one that was not written by us need not be UTF-8.
pub(crate) struct Text<'a>(pub(crate) &'a [u8]);

impl ToSql for Text<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// Writes a leaf and says how many rows were in its place; the log had none there.
pub(crate) fn put_leaf(
    conn: &Connection,
    (tenant, seq): (&str, i64),
    body: &[u8],
    content: Option<Content<'_>>,
) -> rusqlite::Result<usize> {
    let stray_content = remove_content(conn, (tenant, seq))?;
    let stray_leaf = conn
        .prepare_cached("DELETE FROM leaf WHERE tenant = ?1 AND seq = ?2")?
        .execute(params![tenant, seq])?;
    conn.prepare_cached("INSERT INTO leaf(tenant, seq, body) VALUES (?1, ?2, ?3)")?
        .execute(params![tenant, seq, body])?;
    if let Some(Content { salt, bytes }) = content {
        conn.prepare_cached(
            "INSERT INTO content(tenant, seq, salt, bytes) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![tenant, seq, salt, bytes])?;
    }
    Ok(stray_content.saturating_add(stray_leaf))
}

/// Removes the content beside a leaf; says how many rows that were.
pub(crate) fn remove_content(
    conn: &Connection,
    (tenant, seq): (&str, i64),
) -> rusqlite::Result<usize> {
    conn.prepare_cached("DELETE FROM content WHERE tenant = ?1 AND seq = ?2")?
        .execute(params![tenant, seq])
}

/// Writes the stored head of a tenant's log.
pub(crate) fn put_tenant_head(conn: &Connection, head: &TenantHead) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO tenant(tenant, head) VALUES (?1, ?2)")?
        .execute(params![head.tenant, head.encode()])
        .map(drop)
}

/// Writes a leaf of the heads log.
pub(crate) fn put_group(conn: &Connection, row: i64, group: &GroupHead) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO head(\"group\", body) VALUES (?1, ?2)")?
        .execute(params![row, group.encode()])
        .map(drop)
}

/// Writes the signed checkpoint in place of the one before.
pub(crate) fn put_checkpoint(conn: &Connection, note: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO checkpoint(id, note) VALUES (0, ?1)")?
        .execute([note])
        .map(drop)
}

/// Writes the tiles that a log has gained or that have grown since it had `before` leaves.
pub(crate) fn put_tiles(
    conn: &Connection,
    log: &LogName,
    tree: &Tree,
    before: u64,
) -> rusqlite::Result<()> {
    let mut insert = conn.prepare_cached(
        "INSERT OR REPLACE INTO tile(log, level, idx, bytes) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for TilePlace {
        level,
        index,
        width,
    } in tiles_since(before, tree.size())
    {
        let bytes = tree.tile(level, index, width);
        insert.execute(params![log_column(log), level, cell(index), bytes])?;
    }
    Ok(())
}

/// Where a tile is, and how many hashes it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TilePlace {
    pub(crate) level: u8,
    pub(crate) index: u64,
    pub(crate) width: u16,
}

/// The tiles of a log of `size` leaves that one of `before` leaves has not, or not so wide, in
/// order of level and index.
pub(crate) fn tiles_since(before: u64, size: u64) -> impl Iterator<Item = TilePlace> {
    let tile_width = u64::from(TILE_WIDTH);
    (0..TILE_LEVELS)
        .map(move |level| {
            let shift = u32::from(level) * TILE_BITS;
            (level, before >> shift, size >> shift)
        })
        .take_while(|(_, before, size)| before < size)
        .flat_map(move |(level, before, size)| {
            (before / tile_width..size.div_ceil(tile_width)).map(move |index| {
                let hashes = size.saturating_sub(index.saturating_mul(tile_width));
                let width = u16::try_from(hashes.min(tile_width)).unwrap_or(TILE_WIDTH);
                TilePlace {
                    level,
                    index,
                    width,
                }
            })
        })
}

/// The signed checkpoint.
pub(crate) fn checkpoint(conn: &Connection) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT note FROM checkpoint WHERE id = 0")?
        .query_row([], |row| row.get(0))
        .optional()
}

/// Columns of a leaf `l` and its content `c`; cells beyond the limits are not loaded.
pub(crate) fn leaf_columns() -> String {
    format!(
        "l.seq, CASE WHEN length(l.body) <= {BODY_BYTES_MAX} THEN l.body END, \
         c.seq IS NOT NULL, c.salt, \
         CASE WHEN length(c.bytes) <= {CONTENT_BYTES_MAX} THEN c.bytes END"
    )
}

/// A row of [`leaf_columns`].
pub(crate) struct LeafRow<'a> {
    pub(crate) seq: i64,
    /// The body, where it is of the right type and length.
    pub(crate) body: Option<&'a [u8]>,
    pub(crate) content: ContentCells<'a>,
}

impl<'a> LeafRow<'a> {
    pub(crate) fn of(row: &'a Row<'_>) -> rusqlite::Result<Self> {
        let blob = |at| row.get_ref(at).map(|cell| cell.as_blob().ok());
        let content = if row.get(2)? {
            match (blob(3)?.and_then(|salt| salt.try_into().ok()), blob(4)?) {
                (Some(salt), Some(bytes)) => ContentCells::Present(Content { salt, bytes }),
                _ => ContentCells::Malformed,
            }
        } else {
            ContentCells::Absent
        };
        Ok(Self {
            seq: row.get(0)?,
            body: blob(1)?,
            content,
        })
    }
}

/// A leaf and its content by tenant and sequence number.
///
/// Without the signs before its parameters, which change nothing else, SQLite makes the plan of the
/// join depend on them and prepares the statement anew for each row.
fn leaf_query() -> String {
    let columns = leaf_columns();
    format!(
        "SELECT {columns} FROM leaf l LEFT JOIN content c USING (tenant, seq) \
         WHERE l.tenant = +?1 AND l.seq = +?2"
    )
}

/// Gives `read` the row of a leaf and its content, or nothing.
pub(crate) fn with_leaf<T>(
    conn: &Connection,
    (tenant, seq): (&str, i64),
    read: impl FnOnce(Option<LeafRow<'_>>) -> T,
) -> rusqlite::Result<T> {
    let mut statement = conn.prepare_cached(&leaf_query())?;
    let mut rows = statement.query(params![tenant, seq])?;
    match rows.next()? {
        Some(row) => Ok(read(Some(LeafRow::of(row)?))),
        None => Ok(read(None)),
    }
}

/// A table whose first key column names a tenant or a log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keyed {
    Leaf,
    Content,
    Tile,
}

/// The distinct names in the first key column of a table, as bytes, in order.
pub(crate) fn names(conn: &Connection, table: Keyed) -> rusqlite::Result<Vec<Vec<u8>>> {
    // One look-up a name; a scan would read every row.
    let mut first = conn.prepare_cached(match table {
        Keyed::Leaf => "SELECT tenant FROM leaf ORDER BY tenant LIMIT 1",
        Keyed::Content => "SELECT tenant FROM content ORDER BY tenant LIMIT 1",
        Keyed::Tile => "SELECT log FROM tile ORDER BY log LIMIT 1",
    })?;
    let mut next = conn.prepare_cached(match table {
        Keyed::Leaf => "SELECT tenant FROM leaf WHERE tenant > ?1 ORDER BY tenant LIMIT 1",
        Keyed::Content => "SELECT tenant FROM content WHERE tenant > ?1 ORDER BY tenant LIMIT 1",
        Keyed::Tile => "SELECT log FROM tile WHERE log > ?1 ORDER BY log LIMIT 1",
    })?;
    let name = |row: &Row<'_>| Ok(row.get_ref(0)?.as_bytes()?.to_vec());
    let mut names = Vec::new();
    let mut found: Option<Vec<u8>> = first.query_row([], name).optional()?;
    while let Some(last) = found {
        found = next.query_row([Text(&last)], name).optional()?;
        names.push(last);
    }
    Ok(names)
}

/// A table of rows beside the leaves of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Beside {
    Leaf,
    Content,
}

/// Gives the sequence numbers of a tenant's rows that are outside `0..size`.
pub(crate) fn each_outside(
    conn: &Connection,
    table: Beside,
    (tenant, size): (&[u8], u64),
    found: &mut dyn FnMut(i64),
) -> rusqlite::Result<()> {
    // Two ranges of the key; one condition with OR would read all rows of the tenant.
    let mut statement = conn.prepare_cached(match table {
        Beside::Leaf => {
            "SELECT seq FROM leaf WHERE tenant = ?1 AND seq < 0 UNION ALL \
             SELECT seq FROM leaf WHERE tenant = ?1 AND seq >= ?2"
        }
        Beside::Content => {
            "SELECT seq FROM content WHERE tenant = ?1 AND seq < 0 UNION ALL \
             SELECT seq FROM content WHERE tenant = ?1 AND seq >= ?2"
        }
    })?;
    let mut rows = statement.query(params![Text(tenant), cell(size)])?;
    while let Some(row) = rows.next()? {
        found(row.get(0)?);
    }
    Ok(())
}

/// Bits of a leaf index that one tile level spans.
const TILE_BITS: u32 = 8;

/// Tile levels of a log of 2^64 leaves.
const TILE_LEVELS: u8 = 8;

#[cfg(test)]
mod tests;
