// SPDX-License-Identifier: MIT OR Apache-2.0
//! The witness: the last signed checkpoint, kept outside the store.
//!
//! A group is committed, then witnessed, then answered. So a store may be one group ahead of its
//! witness, and never behind it.

use crate::checkpoint::SignedCheckpoint;
use crate::note::NOTE_BYTES_MAX;
use crate::proof::TreeHead;
use crate::tree::Tree;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Longest witness file in bytes.
pub const WITNESS_BYTES_MAX: usize = NOTE_BYTES_MAX;

const TEMP_SUFFIX: &str = ".tmp";

/// Why the witness file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WitnessError {
    /// The path names no file.
    #[error("witness path `{}` names no file; give a file path", .path.display())]
    NoFileName {
        /// The path.
        path: PathBuf,
    },
    /// The file is too long.
    #[error(
        "witness `{}` is above {WITNESS_BYTES_MAX} bytes; give the right file",
        .path.display()
    )]
    TooLong {
        /// The path.
        path: PathBuf,
    },
    /// The file is not UTF-8.
    #[error("witness `{}` is not UTF-8; give the right file", .path.display())]
    Encoding {
        /// The path.
        path: PathBuf,
    },
    /// The medium refused.
    #[error("witness `{}`: {step} failed; check the medium and its permissions", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What was being done.
        step: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// The witness file.
#[derive(Debug, Clone, Copy)]
pub struct Witness;

impl Witness {
    /// Reads the witness file; nothing when there is none. What it says is not checked: give it to
    /// [`crate::VerifierKey::open`].
    ///
    /// # Errors
    /// [`WitnessError`] says what failed.
    pub fn read(path: &Path) -> Result<Option<String>, WitnessError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed(path, "opening", source)),
        };
        let limit = (WITNESS_BYTES_MAX as u64).saturating_add(1);
        let mut bytes = Vec::new();
        file.take(limit)
            .read_to_end(&mut bytes)
            .map_err(|source| failed(path, "reading", source))?;
        let path = || path.to_owned();
        if bytes.len() > WITNESS_BYTES_MAX {
            return Err(WitnessError::TooLong { path: path() });
        }
        String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| WitnessError::Encoding { path: path() })
    }

    /// Puts the checkpoint in place of the witness file's content: all of it or nothing. It is
    /// written to `<path>.tmp`, synced, renamed, and the directory synced. A temporary file left
    /// by an interrupted write is replaced.
    ///
    /// # Errors
    /// [`WitnessError`] says what failed; the group must then not be answered.
    pub fn write(path: &Path, checkpoint: &SignedCheckpoint) -> Result<(), WitnessError> {
        let temp = temp_path(path)?;
        match fs::remove_file(&temp) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&temp, "removing a leftover", source));
            }
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options
            .open(&temp)
            .map_err(|source| failed(&temp, "creating", source))?;
        file.write_all(checkpoint.text().as_bytes())
            .map_err(|source| failed(&temp, "writing", source))?;
        file.sync_all()
            .map_err(|source| failed(&temp, "syncing", source))?;
        fs::rename(&temp, path).map_err(|source| failed(path, "renaming", source))?;
        sync_parent(path)
    }
}

/// How a store stands to a witness that it can be opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WitnessState {
    /// The witness has the last group.
    Current,
    /// The witness has the group before the last: the process died between commit and witness.
    /// That group was answered to nobody.
    OneBehind,
}

/// Why a store must not be opened with a witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WitnessRefusal {
    /// The store lost groups that were witnessed: it was rolled back.
    #[error(
        "store has {store} groups, its witness {witness}; the store was rolled back; restore the \
         newer store, or start a new witness epoch by `ancile audit witness-epoch` to accept the \
         loss"
    )]
    StoreBehindWitness {
        /// Groups in the store.
        store: u64,
        /// Groups in the witness.
        witness: u64,
    },
    /// The witness lacks groups that can have been answered.
    #[error(
        "store has {store} groups, its witness {witness}, and only one fewer is normal; bring the \
         current witness, or start a new witness epoch by `ancile audit witness-epoch`"
    )]
    WitnessTooOld {
        /// Groups in the store.
        store: u64,
        /// Groups in the witness.
        witness: u64,
    },
    /// Store and witness have different histories.
    #[error(
        "store of {store} groups has another root than its witness at {witness} groups; history \
         was changed; keep both and restore a store that fits the witness"
    )]
    Forked {
        /// Groups in the store.
        store: u64,
        /// Groups in the witness.
        witness: u64,
    },
    /// There is no witness; only the caller knows whether that is a first run.
    #[error(
        "store has {store} groups and no witness; bring the witness, or start a new witness epoch \
         by `ancile audit witness-epoch`"
    )]
    Missing {
        /// Groups in the store.
        store: u64,
    },
}

/// Compares the heads log with a witness.
///
/// # Errors
/// [`WitnessRefusal`] says why the store must not be opened.
pub fn compare(heads: &Tree, witness: &SignedCheckpoint) -> Result<WitnessState, WitnessRefusal> {
    let claimed = witness.checkpoint().head();
    judge(heads.size(), heads.root_at(claimed.size).ok(), &claimed)
}

/// Compares the size of a heads log, and its root at the witness's size where it has one, with
/// what the witness says.
pub(crate) fn judge(
    store: u64,
    root: Option<crate::NodeHash>,
    claimed: &TreeHead,
) -> Result<WitnessState, WitnessRefusal> {
    let witness = claimed.size;
    let Some(groups_ahead) = store.checked_sub(witness) else {
        return Err(WitnessRefusal::StoreBehindWitness { store, witness });
    };
    if root != Some(claimed.root) {
        return Err(WitnessRefusal::Forked { store, witness });
    }
    match groups_ahead {
        0 => Ok(WitnessState::Current),
        1 => Ok(WitnessState::OneBehind),
        _ => Err(WitnessRefusal::WitnessTooOld { store, witness }),
    }
}

fn temp_path(path: &Path) -> Result<PathBuf, WitnessError> {
    let name = path.file_name().ok_or_else(|| WitnessError::NoFileName {
        path: path.to_owned(),
    })?;
    let mut temp = OsString::from(name);
    temp.push(TEMP_SUFFIX);
    Ok(path.with_file_name(temp))
}

fn sync_parent(path: &Path) -> Result<(), WitnessError> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    crate::sync_directory(directory)
        .map_err(|source| failed(directory, "syncing the directory", source))
}

fn failed(path: &Path, step: &'static str, source: io::Error) -> WitnessError {
    WitnessError::Io {
        path: path.to_owned(),
        step,
        source,
    }
}
