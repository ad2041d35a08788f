// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bringing the tables of an earlier format up to this build's.
//!
//! A step goes from one version to the next. What is signed never changes: no step may touch a
//! leaf, a head or a checkpoint, so that log and witness fit before and after.

use crate::copy::{Hold, copy_to};
use crate::fault::{DatabaseFault, OpenError};
use crate::schema::{self, Part, SCHEMA};
use crate::schema::{DATABASE_FILE, FORMAT_VERSION};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// The oldest format that can be brought up.
pub const FORMAT_VERSION_OLDEST: i32 = 1;

/// From one version to the next.
struct Step {
    from: i32,
    /// Whether a part of today's schema was not in that of `from`, or was another there.
    new: fn(&str) -> bool,
    /// What was in its place.
    old: &'static [Part],
    /// What makes the next version of it.
    does: &'static [&'static str],
}

/// The steps, oldest first. Statements are written out in each as they were.
const STEPS: [Step; 2] = [
    // Version 2 added index segments, and control events that can be read alone.
    Step {
        from: 1,
        new: |name| matches!(name, "leaf_control" | "segment" | "segment_key"),
        old: &[],
        does: &[
            "CREATE INDEX leaf_control ON leaf(tenant, seq) WHERE substr(body, 1, 1) = x'02'",
            SEGMENT_2,
        ],
    },
    // Version 3 finds a piece of a segment without reading others.
    Step {
        from: 2,
        new: |name| matches!(name, "segment" | "segment_key"),
        old: &[("table", "segment", SEGMENT_2)],
        does: &[
            "ALTER TABLE segment RENAME TO segment_2",
            "CREATE TABLE segment(tenant TEXT NOT NULL, digest BLOB NOT NULL, \
             section INTEGER NOT NULL, chunk INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT",
            "INSERT INTO segment SELECT tenant, digest, section, chunk, bytes FROM segment_2",
            "DROP TABLE segment_2",
            "CREATE UNIQUE INDEX segment_key ON segment(tenant, digest, section, chunk)",
        ],
    },
];

/// The segments of version 2.
const SEGMENT_2: &str = "CREATE TABLE segment(tenant TEXT NOT NULL, digest BLOB NOT NULL, \
    section INTEGER NOT NULL, chunk INTEGER NOT NULL, bytes BLOB NOT NULL, \
    PRIMARY KEY(tenant, digest, section, chunk)) STRICT, WITHOUT ROWID";

impl Step {
    /// The schema that it begins with, in order of the names.
    fn schema(&self) -> Vec<Part> {
        let kept = SCHEMA.into_iter().filter(|(_, name, _)| !(self.new)(name));
        let mut parts: Vec<Part> = kept.chain(self.old.iter().copied()).collect();
        parts.sort_unstable_by_key(|(kind, name, _)| (*name, *kind));
        parts
    }
}

const _: () = assert!(
    STEPS.len() == (FORMAT_VERSION - FORMAT_VERSION_OLDEST).unsigned_abs() as usize,
    "there is a step from each version to the next"
);

/// Brings the store in a data directory up to [`FORMAT_VERSION`], all or nothing, and gives the
/// version that it had. Before that, `copied` is given a copy of the database as it was, at
/// `copy`, and nothing is changed unless it agrees.
///
/// # Errors
/// [`OpenError`]; the store is as it was. A version that is newer, or older than
/// [`FORMAT_VERSION_OLDEST`], is refused.
pub fn migrate<E: From<OpenError>>(
    dir: &Path,
    copy: &Path,
    copied: impl FnOnce() -> Result<(), E>,
) -> Result<i32, E> {
    let hold = Hold::take(dir)?;
    let path = dir.join(DATABASE_FILE);
    let fault = |step| {
        let path = path.clone();
        move |e| OpenError::database(&path, DatabaseFault::of(step, e))
    };
    let mut conn = open(&path)?;
    let found = schema::version(&conn, &path)?;
    if found == FORMAT_VERSION {
        return Ok(found);
    }
    let at = STEPS.iter().position(|step| step.from == found);
    let steps = at.and_then(|at| STEPS.get(at..)).ok_or_else(|| {
        let path = path.clone();
        OpenError::Version { path, found }
    })?;
    let expected = steps.first().map(Step::schema).unwrap_or_default();
    schema::check_schema(&conn, &path, expected.iter())?;
    copy_to(&conn, copy)?;
    copied()?;
    let change = conn.transaction().map_err(fault("beginning to migrate"))?;
    for statement in steps.iter().flat_map(|step| step.does) {
        change
            .execute_batch(statement)
            .map_err(fault("changing the tables"))?;
    }
    change
        .pragma_update(None, "user_version", FORMAT_VERSION)
        .map_err(fault("writing the format version"))?;
    change.commit().map_err(fault("ending to migrate"))?;
    conn.close()
        .map_err(|(_, e)| fault("closing the database")(e))?;
    drop(hold);
    Ok(found)
}

/// Opens a database whatever its version.
fn open(path: &Path) -> Result<Connection, OpenError> {
    schema::check_file(path)?;
    let fault = |step| move |e| OpenError::database(path, DatabaseFault::of(step, e));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(fault("opening the database"))?;
    schema::harden(&conn).map_err(fault("configuring the connection"))?;
    schema::make_durable(&conn).map_err(fault("configuring the log"))?;
    Ok(conn)
}
