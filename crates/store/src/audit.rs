// SPDX-License-Identifier: MIT OR Apache-2.0
//! The offline audit: every log, every content and every row that should not be there, checked
//! with nothing but a public key.

use crate::CONTENT_BYTES_MAX;
use crate::damage::Content;
use crate::fault::{DatabaseFault, OpenError};
use crate::rows::{self, Beside, Keyed};
use crate::schema::DATABASE_FILE;
use crate::source::{SqliteLogs, read_snapshot};
use ancile_core::{DecodeError, Digest, RecordView, content_commitment};
use ancile_ledger::verify::{PROBLEMS_MAX, Report, verify};
use ancile_ledger::{LeafKind, LogName, LogSource as _, VerifierKey, leaf_hash};
use core::fmt;
use rusqlite::{Connection, Row};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// One thing beside the logs that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuditProblem {
    /// A witness was named and is not there.
    #[error("witness `{}` is missing", .path.display())]
    WitnessMissing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The content beside a leaf is not the one that the leaf commits to.
    #[error("tenant `{}`: content of leaf {seq} is not what its leaf commits to",
        .tenant.escape_debug())]
    Content {
        /// The tenant.
        tenant: String,
        /// The leaf's sequence number.
        seq: i64,
    },
    /// A record with content cannot be read.
    #[error("tenant `{}`: leaf {seq} has content, but is no readable record",
        .tenant.escape_debug())]
    Record {
        /// The tenant.
        tenant: String,
        /// The leaf's sequence number.
        seq: i64,
        /// What is wrong with it; nothing when it is not a record at all.
        #[source]
        source: Option<DecodeError>,
    },
    /// A content row has no leaf row.
    #[error("tenant `{}`: content {seq} has no leaf", .tenant.escape_debug())]
    ContentWithoutLeaf {
        /// The tenant column.
        tenant: String,
        /// The sequence number column.
        seq: i64,
    },
    /// The content of an erased record is there again.
    #[error("tenant `{}`: content of leaf {seq} was erased, and is there again",
        .tenant.escape_debug())]
    ErasedContent {
        /// The tenant.
        tenant: String,
        /// The leaf's sequence number.
        seq: i64,
    },
    /// A leaf row is outside the log.
    #[error("tenant `{}`: row {seq} is outside the log; it was inserted", .tenant.escape_debug())]
    Inserted {
        /// The tenant column.
        tenant: String,
        /// The sequence number column.
        seq: i64,
    },
    /// There are tiles of a log that the store has not.
    #[error("{log}: has tiles, but the store has no such log")]
    StrayTiles {
        /// The log that they name.
        log: LogName,
    },
    /// A tile lies where a log of this size has none.
    #[error("{log}: tile {index} of level {level} was added")]
    AddedTile {
        /// The log.
        log: LogName,
        /// The level column.
        level: i64,
        /// The index column.
        index: i64,
    },
}

/// What an audit found. Only [`Audit::run`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditReport {
    logs: Report,
    problems: Vec<AuditProblem>,
    problems_total: u64,
    contents: u64,
    contents_unchecked: u64,
    records_bare: u64,
}

impl AuditReport {
    /// Whether everything that was checked holds.
    #[must_use]
    pub const fn ok(&self) -> bool {
        self.logs.ok() && self.problems_total == 0
    }

    /// What the ledger's verifier says of the logs, checkpoint and witness.
    #[must_use]
    pub const fn logs(&self) -> &Report {
        &self.logs
    }

    /// The first [`PROBLEMS_MAX`] problems beside the logs.
    #[must_use]
    pub fn problems(&self) -> &[AuditProblem] {
        &self.problems
    }

    /// The number of problems beside the logs, those not listed included.
    #[must_use]
    pub const fn problems_total(&self) -> u64 {
        self.problems_total
    }

    /// Contents that fit the commitment in their leaf.
    #[must_use]
    pub const fn contents(&self) -> u64 {
        self.contents
    }

    /// Contents of control events whose commitment nobody could tell.
    #[must_use]
    pub const fn contents_unchecked(&self) -> u64 {
        self.contents_unchecked
    }

    /// Records without content that no event erases, as far as [`Audit::erasures`] tells.
    #[must_use]
    pub const fn records_without_content(&self) -> u64 {
        self.records_bare
    }

    fn add(&mut self, problem: AuditProblem) {
        self.problems_total = self.problems_total.saturating_add(1);
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }
}

/// Says what a control event commits its content to; nothing for one without content.
pub type ControlCommitment<'a> = &'a dyn Fn(&[u8]) -> Option<Digest>;

/// Says the hash of the record whose content a control event erases; nothing for another event.
pub type Erases<'a> = &'a dyn Fn(&[u8]) -> Option<Digest>;

/// The records of each tenant that were erased, by their hash.
type Erased = HashSet<(Vec<u8>, Digest)>;

/// An audit that is being set up.
#[derive(Clone, Copy)]
pub struct Audit<'a> {
    dir: &'a Path,
    key: &'a VerifierKey,
    witness: Option<&'a Path>,
    control: Option<ControlCommitment<'a>>,
    erases: Option<Erases<'a>>,
}

impl fmt::Debug for Audit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit")
            .field("dir", &self.dir)
            .field("key", &self.key)
            .field("witness", &self.witness)
            .finish_non_exhaustive()
    }
}

/// Audits the store in a data directory. See [`Audit`] for the contents of control events.
///
/// # Errors
/// [`OpenError`] when there is no store that could be read.
pub fn audit(
    dir: &Path,
    witness: Option<&Path>,
    key: &VerifierKey,
) -> Result<AuditReport, OpenError> {
    Audit {
        witness,
        ..Audit::new(dir, key)
    }
    .run()
}

impl<'a> Audit<'a> {
    /// An audit of the store in a data directory, by the public key of its checkpoints.
    #[must_use]
    pub const fn new(dir: &'a Path, key: &'a VerifierKey) -> Self {
        Self {
            dir,
            key,
            witness: None,
            control: None,
            erases: None,
        }
    }

    /// Also compares the store with a witness, which must be there.
    #[must_use]
    pub const fn witness(mut self, path: &'a Path) -> Self {
        self.witness = Some(path);
        self
    }

    /// Also checks the contents of control events, whose bytes only their writer can read.
    #[must_use]
    pub const fn control_commitments(mut self, read: ControlCommitment<'a>) -> Self {
        self.control = Some(read);
        self
    }

    /// Also tells the records that were erased from those that lost their content.
    #[must_use]
    pub const fn erasures(mut self, read: Erases<'a>) -> Self {
        self.erases = Some(read);
        self
    }

    /// Runs it. It only reads, needs no lock and works beside a running server.
    ///
    /// # Errors
    /// [`OpenError`] when there is no store that could be read.
    pub fn run(&self) -> Result<AuditReport, OpenError> {
        read_snapshot(self.dir, &mut |conn| self.check(conn))?
            .map_err(|e| OpenError::database(&self.dir.join(DATABASE_FILE), e))
    }

    fn check(&self, conn: &Connection) -> Result<AuditReport, DatabaseFault> {
        let source = SqliteLogs {
            conn,
            witness: self.witness,
        };
        let mut report = AuditReport {
            logs: verify(&source, self.key),
            problems: Vec::new(),
            problems_total: 0,
            contents: 0,
            contents_unchecked: 0,
            records_bare: 0,
        };
        if let Some(path) = self.witness
            && matches!(source.witness(), Ok(None))
        {
            report.add(AuditProblem::WitnessMissing {
                path: path.to_owned(),
            });
        }
        self.contents(conn, &mut report)
            .map_err(|e| DatabaseFault::of("reading contents", e))?;
        outside(&source, &mut report)
            .map_err(|e| DatabaseFault::of("looking for inserted rows", e))?;
        Ok(report)
    }

    /// Compares each content with the commitment in its leaf.
    fn contents(&self, conn: &Connection, report: &mut AuditReport) -> rusqlite::Result<()> {
        let erased = self.erased(conn)?;
        let mut statement = conn.prepare(&format!(
            "SELECT c.tenant, c.seq, c.salt, \
             CASE WHEN length(c.bytes) <= {CONTENT_BYTES_MAX} THEN c.bytes END, l.body \
             FROM content c LEFT JOIN leaf l USING (tenant, seq)"
        ))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            self.content(row, &erased, report)?;
        }
        report.records_bare = bare(conn, &erased)?;
        Ok(())
    }

    /// The records that control events erase.
    fn erased(&self, conn: &Connection) -> rusqlite::Result<Erased> {
        let mut erased = Erased::new();
        let Some(read) = self.erases else {
            return Ok(erased);
        };
        let mut statement =
            conn.prepare("SELECT tenant, body FROM leaf WHERE substr(body, 1, 1) = x'02'")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let tenant = row.get_ref(0)?.as_bytes()?;
            if let Some(hash) = row.get_ref(1)?.as_blob().ok().and_then(read) {
                erased.insert((tenant.to_vec(), hash));
            }
        }
        Ok(erased)
    }

    fn content(
        &self,
        row: &Row<'_>,
        erased: &Erased,
        report: &mut AuditReport,
    ) -> rusqlite::Result<()> {
        let tenant = || text(row);
        let seq: i64 = row.get(1)?;
        let Ok(body) = row.get_ref(4)?.as_blob() else {
            report.add(AuditProblem::ContentWithoutLeaf {
                tenant: tenant()?,
                seq,
            });
            return Ok(());
        };
        let commitment = match LeafKind::of(body) {
            Some(LeafKind::Record) if is_erased(row, body, erased)? => {
                report.add(AuditProblem::ErasedContent {
                    tenant: tenant()?,
                    seq,
                });
                return Ok(());
            }
            Some(LeafKind::Record) => match RecordView::of(body) {
                Ok(record) => record.commitment(),
                Err(fault) => {
                    let source = Some(fault);
                    report.add(AuditProblem::Record {
                        tenant: tenant()?,
                        seq,
                        source,
                    });
                    return Ok(());
                }
            },
            Some(LeafKind::Control) => match self.control {
                None => {
                    report.contents_unchecked = report.contents_unchecked.saturating_add(1);
                    return Ok(());
                }
                Some(read) => match read(body) {
                    Some(commitment) => commitment,
                    None => {
                        report.add(AuditProblem::Content {
                            tenant: tenant()?,
                            seq,
                        });
                        return Ok(());
                    }
                },
            },
            None => {
                report.add(AuditProblem::Record {
                    tenant: tenant()?,
                    seq,
                    source: None,
                });
                return Ok(());
            }
        };
        let content = match (row.get_ref(2)?.as_blob(), row.get_ref(3)?.as_blob()) {
            (Ok(salt), Ok(bytes)) => salt.try_into().ok().map(|salt| Content { salt, bytes }),
            _ => None,
        };
        if content.is_some_and(|c| content_commitment(&c.salt, c.bytes) == commitment) {
            report.contents = report.contents.saturating_add(1);
        } else {
            report.add(AuditProblem::Content {
                tenant: tenant()?,
                seq,
            });
        }
        Ok(())
    }
}

/// Whether the record in a row, whose first column is its tenant, was erased.
fn is_erased(row: &Row<'_>, body: &[u8], erased: &Erased) -> rusqlite::Result<bool> {
    if erased.is_empty() {
        return Ok(false);
    }
    let tenant = row.get_ref(0)?.as_bytes()?.to_vec();
    Ok(erased.contains(&(tenant, Digest(leaf_hash(body).0))))
}

/// The number of records without content that were not erased.
fn bare(conn: &Connection, erased: &Erased) -> rusqlite::Result<u64> {
    let mut statement = conn.prepare(
        "SELECT l.tenant, l.body FROM leaf l WHERE substr(body, 1, 1) = x'01' AND NOT EXISTS \
         (SELECT 1 FROM content c WHERE c.tenant = l.tenant AND c.seq = l.seq)",
    )?;
    let mut rows = statement.query([])?;
    let mut bare = 0_u64;
    while let Some(row) = rows.next()? {
        let body = row.get_ref(1)?.as_bytes()?;
        if !is_erased(row, body, erased)? {
            bare = bare.saturating_add(1);
        }
    }
    Ok(bare)
}

/// Lists rows that belong to no log.
fn outside(source: &SqliteLogs<'_>, report: &mut AuditReport) -> rusqlite::Result<()> {
    for name in rows::names(source.conn, Keyed::Leaf)? {
        let tenant = String::from_utf8_lossy(&name).into_owned();
        let size = source
            .head(&tenant)
            .ok()
            .flatten()
            .map_or(0, |head| head.size);
        rows::each_outside(source.conn, Beside::Leaf, (&name, size), &mut |seq| {
            report.add(AuditProblem::Inserted {
                tenant: tenant.clone(),
                seq,
            });
        })?;
    }
    for name in rows::names(source.conn, Keyed::Tile)? {
        let log = rows::log_named(&name);
        let size = match &log {
            LogName::Heads => source.extent(&log).ok(),
            LogName::Tenant(tenant) => match source.head(tenant) {
                Ok(None) => {
                    report.add(AuditProblem::StrayTiles { log });
                    continue;
                }
                Ok(Some(head)) => Some(head.size),
                Err(_) => None,
            },
        };
        // A size that cannot be read is among what the verifier said.
        if let Some(size) = size {
            added_tiles(source.conn, &log, size, report)?;
        }
    }
    Ok(())
}

/// Lists tiles that a log of this size has not; the others are the verifier's to compare.
fn added_tiles(
    conn: &Connection,
    log: &LogName,
    size: u64,
    report: &mut AuditReport,
) -> rusqlite::Result<()> {
    let mut statement =
        conn.prepare_cached("SELECT level, idx FROM tile WHERE log = ?1 ORDER BY level, idx")?;
    let mut found = statement.query([rows::log_column(log)])?;
    let mut expected = rows::tiles_since(0, size).peekable();
    while let Some(row) = found.next()? {
        let (level, index): (i64, i64) = (row.get(0)?, row.get(1)?);
        let place = |t: &rows::TilePlace| (i64::from(t.level), rows::cell(t.index));
        while expected.next_if(|t| place(t) < (level, index)).is_some() {}
        if expected.peek().is_none_or(|t| place(t) != (level, index)) {
            let log = log.clone();
            report.add(AuditProblem::AddedTile { log, level, index });
        }
    }
    Ok(())
}

fn text(row: &Row<'_>) -> rusqlite::Result<String> {
    let name = row.get_ref(0)?.as_bytes().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}
