// SPDX-License-Identifier: MIT OR Apache-2.0
//! Having names and files on the medium, on each system in its way.

use std::fs::File;
use std::io;
use std::path::Path;

/// Has the names in a directory on the medium: what was made, renamed or removed in it stays so.
///
/// On Linux this is `fsync` of the directory; on macOS the standard library asks for
/// `F_FULLFSYNC`, which has the drive empty its cache. Windows syncs no directory, so there this
/// only checks that it is one: its file system keeps names in a journal of its own, and after a
/// power cut the last of them may be gone. A witness that is lost so is refused, never believed.
///
/// # Errors
/// What the system says when the directory cannot be opened or synced.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(windows) {
        return match directory.metadata()?.is_dir() {
            true => Ok(()),
            false => Err(io::ErrorKind::NotADirectory.into()),
        };
    }
    File::open(directory)?.sync_all()
}

/// Has a file that was written before on the medium. It is opened for writing, since Windows syncs
/// no file that can only be read.
///
/// # Errors
/// What the system says when the file cannot be opened for writing, or not synced.
pub fn sync_file(path: &Path) -> io::Result<()> {
    File::options().write(true).open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::{sync_directory, sync_file};
    use std::io;

    #[test]
    fn what_is_there_is_synced_and_what_is_not_is_said() {
        let root = tempfile::tempdir().unwrap();
        let (file, none) = (root.path().join("file"), root.path().join("none"));
        std::fs::write(&file, "text").unwrap();
        sync_directory(root.path()).unwrap();
        sync_file(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
        let missing = |done: io::Result<()>| done.unwrap_err().kind() == io::ErrorKind::NotFound;
        assert!(missing(sync_directory(&none)));
        assert!(missing(sync_file(&none)) && !none.exists());
        // A directory is no file to write to.
        assert!(sync_file(root.path()).is_err());
    }
}
