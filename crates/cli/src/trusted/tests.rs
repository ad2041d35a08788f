// SPDX-License-Identifier: MIT OR Apache-2.0
use super::{LINKS_MAX, Said, check, others};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// A user who is nobody in these tests.
const OTHER: u32 = 54_321;

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// `DIR/sub/file`, each its owner's alone.
fn scene() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let sub = dir.path().join("sub");
    let file = sub.join("file");
    fs::create_dir(&sub).unwrap();
    fs::write(&file, "#!/bin/sh\n").unwrap();
    chmod(&sub, 0o700);
    chmod(&file, 0o700);
    (dir, sub, file)
}

/// What is refused of a path: where, and why.
fn refused(path: &Path) -> (PathBuf, String) {
    let fault = check(path).unwrap_err();
    (fault.path, fault.what)
}

#[test]
fn who_owns_it_and_who_may_write_to_it_decide() {
    let said = |owner, mode| Said {
        link: false,
        directory: false,
        owner,
        mode,
    };
    for (owner, mode) in [(0, 0o755), (7, 0o755), (7, 0o644), (0, 0o500), (7, 0o4711)] {
        assert_eq!(others(&said(owner, mode), 7), None, "{owner} {mode:o}");
    }
    for (owner, mode) in [(8, 0o700), (8, 0o400), (7, 0o720), (0, 0o702), (0, 0o1722)] {
        assert!(others(&said(owner, mode), 7).is_some(), "{owner} {mode:o}");
    }
    let directory = |owner, mode| Said {
        directory: true,
        ..said(owner, mode)
    };
    assert_eq!(others(&directory(0, 0o1777), 7), None);
    assert!(others(&directory(0, 0o777), 7).is_some());
    assert!(others(&directory(8, 0o1777), 7).is_some());
    let link = |owner| Said {
        link: true,
        ..said(owner, 0o777)
    };
    assert_eq!(others(&link(7), 7), None);
    assert!(others(&link(8), 7).is_some());
}

#[test]
fn a_file_counts_by_its_mode_and_by_that_of_each_directory_above() {
    let (dir, sub, file) = scene();
    assert_eq!(check(&file), Ok(()));
    assert_eq!(check(&sub), Ok(()), "a directory too");
    for path in [&file, &sub, &dir.path().to_owned()] {
        for (mode, fine) in [(0o755, true), (0o775, false), (0o757, false)] {
            chmod(path, mode);
            let found = check(&file);
            assert_eq!(found.is_ok(), fine, "{path:?} {mode:o}");
            if let Err(fault) = found {
                assert_eq!(&fault.path, path);
                let says = format!("has mode {mode:04o}: others can change it; `chmod go-w` it");
                assert_eq!(fault.what, says);
            }
        }
        chmod(path, 0o700);
    }
    chmod(&sub, 0o1777);
    assert_eq!(check(&file), Ok(()), "nobody else moves it out of there");
    let (path, what) = refused(&sub.join("none"));
    assert_eq!(path, sub.join("none"));
    assert!(what.starts_with("cannot be looked at: "), "{what}");
}

#[test]
fn a_link_leads_to_what_is_checked() {
    let (dir, sub, file) = scene();
    let link = dir.path().join("link");
    symlink("sub/../sub", &link).unwrap();
    let through = link.join("file");
    assert_eq!(check(&through), Ok(()));
    chmod(&sub, 0o777);
    let (path, _) = refused(&through);
    assert_eq!(path.file_name(), sub.file_name());
    chmod(&sub, 0o700);
    // Between two links is a directory that others can change.
    let open = dir.path().join("open");
    fs::create_dir(&open).unwrap();
    chmod(&open, 0o777);
    symlink(&file, open.join("on")).unwrap();
    let first = dir.path().join("first");
    symlink(open.join("on"), &first).unwrap();
    let (path, _) = refused(&first);
    assert_eq!(path.file_name(), open.file_name());
}

#[test]
fn so_many_links_are_followed_and_no_more() {
    let (dir, _, file) = scene();
    let chain = |length: u32| {
        let mut to = file.clone();
        for n in 0..length {
            let link = dir.path().join(format!("{length}-{n}"));
            symlink(&to, &link).unwrap();
            to = link;
        }
        to
    };
    assert_eq!(check(&chain(LINKS_MAX - 8)), Ok(()));
    assert!(check(&chain(LINKS_MAX + 1)).is_err());
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    let (dir, sub, file) = scene();
    if !rustix::process::geteuid().is_root() {
        // Nobody else gives files away; the rule itself is tested above.
        return;
    }
    let link = dir.path().join("link");
    symlink(&file, &link).unwrap();
    for path in [&file, &sub, &link] {
        std::os::unix::fs::lchown(path, Some(OTHER), None).unwrap();
        let (at, what) = refused(&link);
        assert_eq!(at.file_name(), path.file_name());
        assert!(what.starts_with("belongs to user 54321"), "{what}");
        std::os::unix::fs::lchown(path, Some(0), None).unwrap();
    }
    assert_eq!(check(&link), Ok(()));
}
