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
    /// Whether a part of today's schema is in that of `from` already.
    had: fn(&Part) -> bool,
    /// What makes the next version of it.
    does: fn(&Connection) -> rusqlite::Result<()>,
}

/// The steps, oldest first. With another version, the statements of today's schema that a step
/// uses are written out in it, as they were.
const STEPS: [Step; 1] = [Step {
    from: 1,
    had: |(_, name, _)| !SEGMENTS.contains(name),
    does: |conn| {
        let new = SCHEMA.iter().filter(|(_, name, _)| SEGMENTS.contains(name));
        new.map(|(_, _, statement)| *statement)
            .try_for_each(|statement| conn.execute_batch(statement))
    },
}];

/// What version 2 added: index segments, and control events that can be read alone.
const SEGMENTS: [&str; 2] = ["leaf_control", "segment"];

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
    let had = |part: &&Part| steps.iter().all(|step| (step.had)(part));
    schema::check_schema(&conn, &path, SCHEMA.iter().filter(had))?;
    copy_to(&conn, copy)?;
    copied()?;
    let change = conn.transaction().map_err(fault("beginning to migrate"))?;
    for step in steps {
        (step.does)(&change).map_err(fault("changing the tables"))?;
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
