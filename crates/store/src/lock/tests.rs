// SPDX-License-Identifier: MIT OR Apache-2.0
//! When the lock ends.

use super::DirectoryLock;
use crate::OpenError;

#[test]
fn a_lock_ends_though_a_child_process_shares_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let lock = DirectoryLock::take(dir.path()).unwrap();
    // What a process has between its fork and its own program.
    let shared = lock.file.try_clone().unwrap();
    assert!(matches!(
        DirectoryLock::take(dir.path()),
        Err(OpenError::Locked { .. })
    ));
    drop(lock);
    DirectoryLock::take(dir.path()).unwrap();
    drop(shared);
}
