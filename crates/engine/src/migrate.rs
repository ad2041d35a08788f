// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bringing the store of an earlier release up to this one's format, with a copy kept before.

use crate::backup::{ERASED, clear, unreadable};
use crate::home::{Home, copy_file, io, private_dir, sync_dir};
use crate::refusal::{Fault, Refusal};
use crate::{audit, store_format};
use ancile_store::{DATABASE_FILE, OpenError};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the witness in the copy that is kept.
const CHECKPOINT: &str = "checkpoint";

/// What a migration did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The format that the store had.
    pub from: i32,
    /// The format that it has.
    pub to: i32,
    /// Where a copy of database, witness and list of erasures lies as they were; nothing where
    /// there was nothing to do.
    pub copy: Option<PathBuf>,
}

/// Brings the store of a home that nobody serves up to this build's format, all or nothing. A copy
/// of it as it was is whole before anything is changed.
///
/// # Errors
/// [`Refusal`] when the format is newer, or too old; when the store is in use or not as its format
/// has it; the store is as it was.
pub fn migrate(home: &Path) -> Result<Migrated, Refusal> {
    let place = Home::new(home);
    place.end_restore()?;
    let format = store_format(home)?;
    if format.found == format.supported {
        let (from, to) = (format.found, format.supported);
        let copy = None;
        return Ok(Migrated { from, to, copy });
    }
    let kept = home.join(format!("format-{}", format.found));
    let partial = home.join(format!("format-{}.partial", format.found));
    clear(&partial)?;
    private_dir(&partial)?;
    let changed = ancile_store::migrate(place.data(), &partial.join(DATABASE_FILE), || {
        keep(&place, &partial, &kept).map_err(Stopped::Copy)
    });
    let from = match changed {
        Ok(from) => from,
        Err(stopped) => {
            clear(&partial)?;
            return Err(stopped.into());
        }
    };
    let found = audit(home, None)?;
    if let (false, Some(problem)) = (found.ok, found.problems.first()) {
        let text = format!(
            "the store has format {} now and does not verify: {problem}; it is as it was in `{}`",
            format.supported,
            kept.display()
        );
        return Err(Refusal::new(Fault::Tampered, "migrated_damaged", text));
    }
    Ok(Migrated {
        from,
        to: format.supported,
        copy: Some(kept),
    })
}

/// Completes the copy and gives it its name.
fn keep(place: &Home, partial: &Path, kept: &Path) -> Result<(), Refusal> {
    copy_file(place.witness(), &partial.join(CHECKPOINT))?;
    let erased = place.erased_list();
    if erased.exists() {
        copy_file(&erased, &partial.join(ERASED))?;
    }
    sync_dir(partial)?;
    // One that is there is of an attempt that changed nothing.
    clear(kept)?;
    fs::rename(partial, kept).map_err(|e| io("move the copy to", kept, &e))?;
    sync_dir(place.root())
}

/// Why nothing was changed.
enum Stopped {
    Store(OpenError),
    Copy(Refusal),
}

impl From<OpenError> for Stopped {
    fn from(fault: OpenError) -> Self {
        Self::Store(fault)
    }
}

impl From<Stopped> for Refusal {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Store(fault) => unreadable(fault),
            Stopped::Copy(refusal) => refusal,
        }
    }
}
