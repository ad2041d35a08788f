// SPDX-License-Identifier: MIT OR Apache-2.0
//! The segment table, and a second connection that only reads, for work beside the writer.

use crate::damage::{Compared, DamageKind, compare};
use crate::fault::{DatabaseFault, OpenError, ReadError, WriteError};
use crate::group::Done;
use crate::rows::{self, LeafRow};
use crate::schema::{self, DATABASE_FILE};
use crate::segment::{ChunkSource, Piece};
use crate::store::{Store, StoredContent};
use ancile_core::{Digest, TenantName};
use ancile_ledger::{LeafKind, NodeHash};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::path::Path;

/// The stored segments of one tenant.
#[derive(Clone, Copy)]
pub struct Chunks<'a> {
    conn: &'a Connection,
    tenant: &'a TenantName,
}

impl ChunkSource for Chunks<'_> {
    fn fetch(
        &self,
        segment: &Digest,
        section: u8,
        chunk: i64,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        self.conn
            .prepare_cached(
                "SELECT bytes FROM segment \
                 WHERE tenant = ?1 AND digest = ?2 AND section = ?3 AND chunk = ?4",
            )
            .and_then(|mut found| {
                let key = params![self.tenant.as_str(), segment.0, section, chunk];
                found.query_row(key, |row| row.get(0)).optional()
            })
            .map_err(|e| reading("reading an index segment", e))
    }
}

fn reading(step: &'static str, error: rusqlite::Error) -> ReadError {
    ReadError::Database(DatabaseFault::of(step, error))
}

impl Store {
    /// The stored segments of a tenant, those of the open group included.
    #[must_use]
    pub fn chunks<'a>(&'a self, tenant: &'a TenantName) -> Chunks<'a> {
        let conn = &self.conn;
        Chunks { conn, tenant }
    }

    /// Stores a piece of a segment in the open group. A segment counts once an event of the log
    /// names its digest; until then it may be swept.
    ///
    /// # Errors
    /// [`WriteError`], as for [`Store::append`].
    pub fn put_piece(
        &mut self,
        tenant: &TenantName,
        segment: &Digest,
        piece: &Piece,
    ) -> Result<(), WriteError> {
        self.alive()?;
        self.begin()?;
        let (section, chunk, bytes) = piece;
        let key = params![tenant.as_str(), segment.0, section, chunk, bytes];
        self.conn
            .prepare_cached(
                "INSERT OR REPLACE INTO segment(tenant, digest, section, chunk, bytes) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )
            .and_then(|mut insert| insert.execute(key))
            .map_err(|e| self.fail("writing an index segment", e))?;
        self.done(Done::SegmentChanged);
        Ok(())
    }

    /// Removes at most `most` pieces of a segment, the head first, and says how many there were.
    ///
    /// # Errors
    /// [`WriteError`], as for [`Store::append`].
    pub fn remove_pieces(
        &mut self,
        tenant: &TenantName,
        segment: &Digest,
        most: u32,
    ) -> Result<usize, WriteError> {
        self.alive()?;
        self.begin()?;
        let key = params![tenant.as_str(), segment.0, most];
        let removed = self
            .conn
            .prepare_cached(
                "DELETE FROM segment WHERE (tenant, digest, section, chunk) IN \
                 (SELECT tenant, digest, section, chunk FROM segment \
                  WHERE tenant = ?1 AND digest = ?2 ORDER BY section, chunk LIMIT ?3)",
            )
            .and_then(|mut delete| delete.execute(key))
            .map_err(|e| self.fail("removing an index segment", e))?;
        self.done(Done::SegmentChanged);
        Ok(removed)
    }

    /// The digests of all segments of a tenant that have a piece in the table, as bytes, in order.
    ///
    /// # Errors
    /// [`ReadError::Database`].
    pub fn segments_stored(&self, tenant: &TenantName) -> Result<Vec<Digest>, ReadError> {
        let fault = |e| reading("listing the index segments", e);
        // One look-up a segment; a scan would read every piece.
        let mut next = self
            .conn
            .prepare_cached(
                "SELECT digest FROM segment WHERE tenant = ?1 AND digest > ?2 \
                 ORDER BY digest LIMIT 1",
            )
            .map_err(fault)?;
        let (mut found, mut last) = (Vec::new(), Vec::new());
        loop {
            let key = params![tenant.as_str(), last];
            let digest: Option<Vec<u8>> = next
                .query_row(key, |row| row.get(0))
                .optional()
                .map_err(fault)?;
            let Some(digest) = digest else {
                return Ok(found);
            };
            // One of another length was inserted; no event names it.
            found.extend(digest.as_slice().try_into().ok().map(Digest));
            last = digest;
        }
    }

    /// The hashes of the leaves of a tenant's log from `from` to `to`, the last not included.
    pub fn leaves(
        &self,
        tenant: &TenantName,
        (from, to): (u64, u64),
    ) -> impl Iterator<Item = NodeHash> + '_ {
        let tree = self.logs.get(tenant).map(|log| &log.tree);
        (from..to).map_while(move |seq| tree?.leaf(seq))
    }
}

/// The body of a leaf, and the content beside it.
pub type BodyAndContent = (Vec<u8>, Option<StoredContent>);

/// A connection that only reads, beside an open store.
#[derive(Debug)]
pub struct Beside {
    conn: Connection,
}

/// What a comparison found at one place of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The row is what was written, with its content.
    Whole,
    /// The row is what was written; there is no content beside it.
    Bare(LeafKind),
    /// It is not what was written.
    Damaged(DamageKind),
}

impl Beside {
    /// Opens a second connection to the store in a data directory.
    ///
    /// # Errors
    /// [`OpenError`] when there is no store that could be read.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let conn = schema::open_read_only(&dir.join(DATABASE_FILE), false)?;
        Ok(Self { conn })
    }

    /// The stored segments of a tenant.
    #[must_use]
    pub fn chunks<'a>(&'a self, tenant: &'a TenantName) -> Chunks<'a> {
        let conn = &self.conn;
        Chunks { conn, tenant }
    }

    /// Compares the rows from `from` on with the hashes of their leaves, and gives each place to
    /// `see`.
    ///
    /// # Errors
    /// [`ReadError::Database`].
    pub fn compare(
        &self,
        tenant: &TenantName,
        from: u64,
        leaves: &[NodeHash],
        see: &mut dyn FnMut(u64, Place),
    ) -> Result<(), ReadError> {
        let fault = |e| reading("comparing leaves", e);
        let to = from.saturating_add(leaves.len() as u64);
        let columns = rows::leaf_columns();
        let mut statement = self
            .conn
            .prepare_cached(&format!(
                "SELECT {columns} FROM leaf l LEFT JOIN content c USING (tenant, seq) \
                 WHERE l.tenant = ?1 AND l.seq >= ?2 AND l.seq < ?3 ORDER BY l.seq"
            ))
            .map_err(fault)?;
        let range = params![tenant.as_str(), rows::cell(from), rows::cell(to)];
        let mut found = statement.query(range).map_err(fault)?;
        let mut next = (from..).zip(leaves);
        while let Some(row) = found.next().map_err(fault)? {
            let row = LeafRow::of(row).map_err(fault)?;
            for (seq, hash) in next.by_ref() {
                if rows::cell(seq) < row.seq {
                    see(seq, Place::Damaged(DamageKind::Missing));
                    continue;
                }
                let place = match compare(hash, row.body, row.content) {
                    Compared::Intact {
                        content: Some(_), ..
                    } => Place::Whole,
                    Compared::Intact {
                        content: None,
                        kind,
                        ..
                    } => Place::Bare(kind),
                    Compared::ContentEdited { .. } => Place::Damaged(DamageKind::Content),
                    Compared::Edited => Place::Damaged(DamageKind::Edited),
                };
                see(seq, place);
                break;
            }
        }
        next.for_each(|(seq, _)| see(seq, Place::Damaged(DamageKind::Missing)));
        Ok(())
    }

    /// The body of a leaf, if it is the one of this hash, and the content beside it, if that is the
    /// one that it commits to.
    ///
    /// # Errors
    /// [`ReadError::Database`].
    pub fn leaf(
        &self,
        tenant: &TenantName,
        seq: u64,
        hash: &NodeHash,
    ) -> Result<Option<BodyAndContent>, ReadError> {
        rows::with_leaf(&self.conn, (tenant.as_str(), rows::cell(seq)), |row| {
            let row = row?;
            match compare(hash, row.body, row.content) {
                Compared::Intact { body, content, .. } => {
                    let content = content.map(|content| StoredContent {
                        salt: content.salt,
                        bytes: content.bytes.to_vec(),
                    });
                    Some((body.to_vec(), content))
                }
                Compared::ContentEdited { body, .. } => Some((body.to_vec(), None)),
                Compared::Edited => None,
            }
        })
        .map_err(|e| reading("reading a leaf", e))
    }
}
