// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exclusive lock on a data directory.

use crate::fault::OpenError;
use crate::notice::Notice;
use core::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// File name of the lock in the data directory.
pub const LOCK_FILE: &str = "lock";

/// Who holds a store, as far as its lock file says: the file is for people, and whoever can write
/// the data directory can write it; what counts is the lock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LockHolder {
    /// The process id.
    pub pid: Option<u32>,
    /// The address at which the process serves.
    pub address: Option<String>,
}

impl LockHolder {
    fn parse(text: &str) -> Self {
        let value = |key| text.lines().find_map(|line| line.strip_prefix(key));
        Self {
            pid: value("pid ").and_then(|v| v.parse().ok()),
            address: value("address ").map(str::to_owned),
        }
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}")?,
            None => f.write_str("another process")?,
        }
        match &self.address {
            Some(address) => write!(f, " at `{}`", address.escape_debug()),
            None => Ok(()),
        }
    }
}

/// The held lock; it ends with this value or the process.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    notice: Notice,
    path: PathBuf,
}

impl DirectoryLock {
    pub(crate) fn take(directory: &Path) -> Result<Self, OpenError> {
        let path = directory.join(LOCK_FILE);
        let failed = |step| {
            let path = path.clone();
            move |source| OpenError::io(&path, step, source)
        };
        let file = open_or_make(&path).map_err(failed("opening the lock"))?;
        if !is_at(&file, &path).map_err(failed("looking at the lock"))? {
            return Err(OpenError::Link { path });
        }
        let reader = file.try_clone().map_err(failed("opening the lock"))?;
        let notice = match Notice::take(file, &path) {
            Ok(notice) => notice,
            Err(TryLockError::WouldBlock) => {
                let text = read_text(&reader).map_err(failed("reading the lock"))?;
                let holder = Box::new(LockHolder::parse(&text));
                return Err(OpenError::Locked { path, holder });
            }
            Err(TryLockError::Error(source)) => {
                return Err(OpenError::io(&path, "taking the lock", source));
            }
        };
        let mut lock = Self {
            notice,
            path: path.clone(),
        };
        lock.describe(None).map_err(failed("writing the lock"))?;
        Ok(lock)
    }

    /// Writes who holds the lock.
    pub(crate) fn describe(&mut self, address: Option<&str>) -> io::Result<()> {
        let mut text = format!("pid {}\n", std::process::id());
        if let Some(address) = address {
            text.push_str(&format!("address {address}\n"));
        }
        self.notice.say(&text)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Who holds the store in a data directory, if anybody does; takes nothing.
///
/// # Errors
/// What the system says when the lock file cannot be opened or read.
pub fn lock_holder(directory: &Path) -> io::Result<Option<LockHolder>> {
    let path = directory.join(LOCK_FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(fault) => return Err(fault),
    };
    match Notice::is_held(&file, &path)? {
        true => read_text(&file).map(|text| Some(LockHolder::parse(&text))),
        false => Ok(None),
    }
}

/// Opens the lock file, or makes it; makes none where a link leads.
fn open_or_make(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match options.create_new(true).open(path) {
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {
            options.create_new(false).open(path)
        }
        made => made,
    }
}

/// Whether this file lies at this path, and not where a link there leads: whoever can write the
/// data directory must not make us overwrite files of ours, the witness and the keys among them.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (opened, named) = (file.metadata()?, path.symlink_metadata()?);
    #[cfg(unix)]
    let same = {
        use std::os::unix::fs::MetadataExt as _;
        // A second name of the file is a link as well.
        (opened.dev(), opened.ino()) == (named.dev(), named.ino()) && opened.nlink() == 1
    };
    #[cfg(not(unix))]
    let same = true;
    Ok(same && opened.is_file() && named.is_file())
}

fn read_text(file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(LOCK_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Bytes of a lock file that are read.
const LOCK_BYTES_MAX: u64 = 4096;
