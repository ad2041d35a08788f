// SPDX-License-Identifier: MIT OR Apache-2.0
//! Backups: a copy of the store as it stood at one moment, with the list of what was erased.

use crate::erase::whole_lines;
use crate::home::{Home, copy_file, io, private_dir, private_file, read_public, sync_dir};
use crate::refusal::{Fault, Refusal, with_causes};
use ancile_store::{DATABASE_FILE, Extent, OpenError};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The erasures of a backup, beside its database.
pub(crate) const ERASED: &str = "erased";
/// The keys of a backup, if it has them.
pub(crate) const KEYS: &str = "keys";
/// What says that a directory is a backup; written last.
const MANIFEST: &str = "backup.json";
/// The form of that file.
const VERSION: u32 = 1;
/// Added to the name of a backup while it is made.
const PARTIAL: &str = ".partial";

/// A backup that was made, or that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// The form of this description.
    version: u32,
    /// The format of the database in it.
    pub store_format: i32,
    /// Committed groups.
    pub groups: u64,
    /// The witness epoch.
    pub epoch: u64,
    /// Leaves of all tenants.
    pub leaves: u64,
    /// Tenants.
    pub tenants: u64,
    /// Whether the keys are in it.
    pub keys: bool,
    /// What did not hold in the store when it was copied, and was accepted; each such entry is
    /// refused after a restore as it was before.
    pub problems: u64,
}

/// How a backup is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackupOptions {
    /// Whether the keys are copied too.
    pub with_keys: bool,
    /// Whether a store that does not verify is copied in spite of that.
    pub accept_damage: bool,
}

/// Copies the store of a home into a new directory, also while it is served, and verifies the
/// copy. A directory that was begun and not ended has another name and is no backup.
///
/// # Errors
/// [`Refusal`] when the directory is there already, the store cannot be read, or the copy does not
/// verify.
pub fn backup(home: &Path, to: &Path, options: BackupOptions) -> Result<Backup, Refusal> {
    let place = Home::new(home);
    place.no_restore_pending()?;
    let partial = make_partial(&place, to)?;
    ancile_store::copy(place.data(), &partial.join(DATABASE_FILE)).map_err(unreadable)?;
    // After the copy, so that it lists all that the copy has erased, and perhaps more.
    let erased = place.erased_text()?;
    private_file(&partial.join(ERASED), whole_lines(&erased))?;
    if options.with_keys {
        copy_keys(&place.keys(), &partial.join(KEYS))?;
    }
    let key = read_public(&place.public_key())?;
    let problems = verify(&partial, &place, options.accept_damage)?;
    let extent = ancile_store::extent(&partial, &key).map_err(unreadable)?;
    let made = Backup {
        version: VERSION,
        store_format: ancile_store::FORMAT_VERSION,
        groups: extent.groups,
        epoch: extent.epoch,
        leaves: extent.tenants.iter().map(|(_, size)| size).sum(),
        tenants: u64::try_from(extent.tenants.len()).unwrap_or(u64::MAX),
        keys: options.with_keys,
        problems,
    };
    let text = serde_json::to_string(&made).map_err(|e| crate::turn::internal(&e))?;
    private_file(&partial.join(MANIFEST), &text)?;
    sync_dir(&partial)?;
    fs::rename(&partial, to).map_err(|e| io("move the backup to", to, &e))?;
    sync_dir(parent(to))?;
    Ok(made)
}

/// Makes the directory in which a backup is written, in place of one that was begun before.
fn make_partial(place: &Home, to: &Path) -> Result<PathBuf, Refusal> {
    if to.symlink_metadata().is_ok() {
        let text = format!("`{}` is there already; name another", to.display());
        return Err(Refusal::new(Fault::Conflict, "backup_exists", text));
    }
    let above = parent(to).canonicalize();
    let above = above.map_err(|e| io("find the directory above", to, &e))?;
    let data = place.data().canonicalize();
    let data = data.map_err(|e| io("find the data directory", place.data(), &e))?;
    if above.starts_with(&data) {
        let text = format!(
            "`{}` is inside the data directory, where it would be lost with the store; name a \
             place outside, best on another disk",
            to.display()
        );
        return Err(Refusal::new(Fault::Conflict, "backup_inside", text));
    }
    let mut name = to.as_os_str().to_owned();
    name.push(PARTIAL);
    let partial = PathBuf::from(name);
    clear(&partial)?;
    private_dir(&partial)?;
    Ok(partial)
}

/// Removes a directory with all that is in it, if it is there; links in it are not followed.
pub(crate) fn clear(dir: &Path) -> Result<(), Refusal> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io("remove", dir, &e)),
        _ => Ok(()),
    }
}

/// Copies every key file.
pub(crate) fn copy_keys(from: &Path, to: &Path) -> Result<(), Refusal> {
    private_dir(to)?;
    let failed = |e: &std::io::Error| io("read the keys in", from, e);
    for entry in fs::read_dir(from).map_err(|e| failed(&e))? {
        let path = entry.map_err(|e| failed(&e))?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            copy_file(&path, &to.join(name))?;
        }
    }
    sync_dir(to)
}

/// Audits a copy against its own checkpoint; gives the number of problems that are accepted.
fn verify(copy: &Path, place: &Home, accept: bool) -> Result<u64, Refusal> {
    let found = crate::audit::audit_at(copy, None, &place.public_key())?;
    if found.ok || accept {
        return Ok(found.problems_total);
    }
    let first = found.problems.first().map_or("", String::as_str);
    let text = format!(
        "the copy does not verify, as the store does not: {first}; what was copied is in \
         `{}`, and is no backup; run `ancile audit verify`, or accept it by --accept-damage",
        copy.display()
    );
    Err(Refusal::new(Fault::Tampered, "backup_damaged", text))
}

impl Backup {
    /// Reads the description of a backup.
    ///
    /// # Errors
    /// [`Refusal`] when the directory is no backup, or of a form that this build does not read.
    pub fn read(dir: &Path) -> Result<Self, Refusal> {
        let path = dir.join(MANIFEST);
        let none = |why: &dyn std::fmt::Display| {
            let text = format!(
                "`{}` is no backup: {why}; name a directory that `ancile backup` made",
                dir.display()
            );
            Refusal::new(Fault::Malformed, "no_backup", text)
        };
        let text = fs::read_to_string(&path).map_err(|e| none(&format!("`{MANIFEST}`: {e}")))?;
        let read: Self = serde_json::from_str(&text).map_err(|e| none(&e))?;
        if read.version > VERSION || read.store_format > ancile_store::FORMAT_VERSION {
            let text = format!(
                "`{}` was made by a newer build: its form is {}, its store's {}, and this build \
                 reads {VERSION} and {}; use the build that made it",
                dir.display(),
                read.version,
                read.store_format,
                ancile_store::FORMAT_VERSION
            );
            return Err(Refusal::new(Fault::Conflict, "backup_newer", text));
        }
        Ok(read)
    }
}

/// How far the store of a home goes.
pub(crate) fn extent(place: &Home, dir: &Path) -> Result<Extent, Refusal> {
    let key = read_public(&place.public_key())?;
    ancile_store::extent(dir, &key).map_err(unreadable)
}

/// Why a store or a copy was not read.
pub(crate) fn unreadable(fault: OpenError) -> Refusal {
    let code = match fault {
        OpenError::Locked { .. } => "store_locked",
        OpenError::Version { .. } => "store_version",
        _ => "store_refused",
    };
    let text = fault.to_string();
    Refusal::new(Fault::Unavailable, code, text).inside(with_causes(&fault))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
