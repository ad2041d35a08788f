// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file that says something for as long as its lock is held.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// A text in a file that counts while the lock of the file is held, by whoever wrote it; anybody
/// may read it meanwhile.
///
/// On Unix the file itself is locked. On Windows nobody else can read what is locked, so there the
/// lock is of an empty file beside it, `<name>.held`, which stays.
///
/// The lock ends with this value or the process. It is given up by name, not only by closing the
/// file: a child process that another thread is just starting shares the open file, and with it
/// the lock, until it runs its own program.
#[derive(Debug)]
pub struct Notice {
    file: File,
    /// What is locked, where it is not the file itself.
    held: Option<File>,
}

impl Notice {
    /// Takes the lock of the file at this path, which is open for writing.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] when somebody holds it, or what the system says.
    pub fn take(file: File, path: &Path) -> Result<Self, TryLockError> {
        Self::take_where(BESIDE, file, path)
    }

    fn take_where(beside: bool, file: File, path: &Path) -> Result<Self, TryLockError> {
        let held = match beside {
            true => Some(open_held(path).map_err(TryLockError::Error)?),
            false => None,
        };
        held.as_ref().unwrap_or(&file).try_lock()?;
        Ok(Self { file, held })
    }

    /// Puts this text in the place of what the file said.
    ///
    /// # Errors
    /// What the system says; the file then says nothing or a part of it.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }

    /// Whether somebody holds the lock of the file at this path, which is open for reading; takes
    /// nothing.
    ///
    /// # Errors
    /// What the system says when the lock cannot be looked at.
    pub fn is_held(file: &File, path: &Path) -> io::Result<bool> {
        Self::is_held_where(BESIDE, file, path)
    }

    fn is_held_where(beside: bool, file: &File, path: &Path) -> io::Result<bool> {
        let held = match beside {
            true => match File::open(held_path(path)) {
                Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(false),
                opened => Some(opened?),
            },
            false => None,
        };
        match held.as_ref().unwrap_or(file).try_lock_shared() {
            // It ends with the file that was opened for it, right after.
            Ok(()) if held.is_some() => Ok(false),
            Ok(()) => file.unlock().map(|()| false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(fault)) => Err(fault),
        }
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        // Where this fails the lock ends when the file is closed, right after.
        let _closed_next = self.held.as_ref().unwrap_or(&self.file).unlock();
    }
}

/// Opens the file that is locked in the place of another, or makes it. Nothing is ever written to
/// it, so a link there harms nothing.
fn open_held(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(held_path(path))
}

fn held_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".held");
    PathBuf::from(name)
}

/// Whether a lock is of a file beside: where it keeps others from reading.
const BESIDE: bool = cfg!(windows);

#[cfg(test)]
mod tests;
