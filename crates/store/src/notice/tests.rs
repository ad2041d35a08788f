// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both ways of holding a notice, whatever the system.

use super::{Notice, held_path};
use std::fs::{self, File, TryLockError};
use std::path::Path;

fn open(path: &Path) -> File {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).unwrap()
}

/// Only where the file itself may be locked and still be read can both ways be tried.
const WAYS: &[bool] = match cfg!(windows) {
    true => &[true],
    false => &[false, true],
};

#[test]
fn a_notice_is_read_while_it_is_held_and_counts_until_it_is_given_up() {
    for &beside in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notice");
        let mut notice = Notice::take_where(beside, open(&path), &path).unwrap();
        notice.say("a longer text").unwrap();
        notice.say("a text").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a text");
        let held = |file: &File| Notice::is_held_where(beside, file, &path).unwrap();
        let reader = File::open(&path).unwrap();
        assert!(held(&reader));
        // Looking twice takes nothing.
        assert!(held(&reader));
        let second = Notice::take_where(beside, open(&path), &path);
        assert!(matches!(second, Err(TryLockError::WouldBlock)));
        drop(notice);
        assert!(!held(&reader));
        assert_eq!(held_path(&path).exists(), beside);
        let again = Notice::take_where(beside, open(&path), &path).unwrap();
        assert!(held(&reader));
        drop(again);
    }
}

#[test]
fn a_notice_ends_though_a_child_process_shares_its_file() {
    for &beside in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notice");
        let notice = Notice::take_where(beside, open(&path), &path).unwrap();
        // What a process has between its fork and its own program.
        let locked = notice.held.as_ref().unwrap_or(&notice.file);
        let shared = locked.try_clone().unwrap();
        drop(notice);
        Notice::take_where(beside, open(&path), &path).unwrap();
        drop(shared);
    }
}

#[test]
fn a_file_that_nobody_ever_locked_is_not_held() {
    for &beside in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notice");
        let file = open(&path);
        assert!(!Notice::is_held_where(beside, &file, &path).unwrap());
        assert!(!held_path(&path).exists(), "looking makes nothing");
    }
}
