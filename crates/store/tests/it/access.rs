// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that are not a store, locks, and places that cannot be written.

use crate::fixture::*;
use ancile_store::{
    APPLICATION_ID, DATABASE_FILE, DatabaseFault, FORMAT_VERSION, OpenError, ReplayLeaf, Store,
    audit, export,
};
use std::fs::{self, OpenOptions};
use std::path::Path;

#[test]
fn a_newer_version_is_refused() {
    let place = sample();
    place.sql(&format!("PRAGMA user_version = {}", FORMAT_VERSION + 1));
    let refusal = place.refusal();
    let newer = |refusal: &OpenError| match refusal {
        OpenError::Version { found, .. } => *found == FORMAT_VERSION + 1,
        _ => false,
    };
    assert!(newer(&refusal), "{refusal}");
    let audited = audit(&place.dir(), None, &verifier());
    assert!(audited.is_err_and(|refusal| newer(&refusal)));
    place.sql("PRAGMA user_version = 0");
    assert!(matches!(
        place.refusal(),
        OpenError::Version { found: 0, .. }
    ));
}

#[test]
fn a_database_of_another_program_is_refused() {
    let place = sample();
    place.sql("PRAGMA application_id = 7");
    assert!(matches!(
        place.refusal(),
        OpenError::NotAStore { found: 7, .. }
    ));
    assert_ne!(APPLICATION_ID, 7);
    let audited = audit(&place.dir(), None, &verifier());
    assert!(matches!(audited, Err(OpenError::NotAStore { .. })));
}

#[test]
fn files_that_are_no_database_are_refused() {
    let place = sample();
    let whole = fs::read(place.database()).unwrap();
    let refusal = |bytes: &[u8]| {
        fs::write(place.database(), bytes).unwrap();
        let audited = audit(&place.dir(), None, &verifier());
        let clean = audited.as_ref().is_ok_and(ancile_store::AuditReport::ok);
        assert!(!clean, "audit of {} bytes", bytes.len());
        place.refusal()
    };
    let not_a_database = |refusal: &OpenError| {
        matches!(
            refusal,
            OpenError::Database {
                fault: DatabaseFault::NotADatabase { .. },
                ..
            }
        )
    };
    assert!(matches!(refusal(b""), OpenError::Empty { .. }));
    assert!(not_a_database(&refusal(&[b'x'; 5000])));
    // A header that is cut off has no application id.
    assert!(matches!(
        refusal(&whole[..50]),
        OpenError::NotAStore { found: 0, .. }
    ));
    // Without its last byte every page is there; the log tells.
    let cut = refusal(&whole[..whole.len() - 1]);
    assert!(matches!(cut, OpenError::TenantRoot { .. }), "{cut}");
    for cut in [whole.len() / 4, whole.len() / 2, whole.len() - 4096] {
        let refused = refusal(&whole[..cut]);
        assert!(
            matches!(
                refused,
                OpenError::Database {
                    fault: DatabaseFault::Corrupt { .. },
                    ..
                }
            ),
            "cut at {cut}: {refused}"
        );
    }
    fs::remove_file(place.database()).unwrap();
    assert!(matches!(place.refusal(), OpenError::NoStore { .. }));
    fs::write(place.database(), whole).unwrap();
    assert_eq!(place.open().unwrap().1.damage_total, 0);
}

#[test]
fn flipped_bytes_are_never_served() {
    // Every leaf that opens must be one that was written, whatever byte of the file changed.
    let place = sample();
    let (store, _, written) = place.open().unwrap();
    drop(store);
    let whole = fs::read(place.database()).unwrap();
    let (mut refused, mut damaged, mut unseen) = (0, 0, 0);
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        fs::write(place.database(), &bytes).unwrap();
        match place.open() {
            Err(_) => refused += 1,
            Ok((_, report, seen)) => {
                for (found, expected) in seen.iter().zip(&written) {
                    let content_gone = found.what.as_ref().is_ok_and(|f| f.2.is_none());
                    assert!(
                        found == expected || found.what.is_err() || content_gone,
                        "byte {at}"
                    );
                }
                match report.damage_total {
                    0 => unseen += 1,
                    _ => damaged += 1,
                }
            }
        }
        let _ = fs::remove_file(place.dir().join("store.db-wal"));
        let _ = fs::remove_file(place.dir().join("store.db-shm"));
    }
    assert!(
        refused > 0 && damaged > 0 && unseen > 0,
        "{refused} {damaged} {unseen}"
    );
}

#[test]
fn a_second_opener_is_told_who_holds_the_store() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    let pid = std::process::id();
    let said = |text: &str| {
        let refusal = place.refusal().to_string();
        assert!(refusal.ends_with(text), "{refusal}");
        assert!(matches!(place.refusal(), OpenError::Locked { .. }));
    };
    said(&format!(
        "is in use by process {pid}; speak to that process, or stop it"
    ));
    store.set_address("127.0.0.1:7777").unwrap();
    said(&format!(
        "in use by process {pid} at `127.0.0.1:7777`; speak to that process, or stop it"
    ));
    let locked = with_config(&place.dir(), &place.witness(), Store::create).unwrap_err();
    assert!(matches!(locked, OpenError::Locked { .. }));
    drop(store);
    assert_eq!(place.open().unwrap().1.groups, 4);
}

#[cfg(unix)]
#[test]
fn no_file_is_overwritten_through_a_link_in_the_data_directory() {
    let place = sample();
    let witness = fs::read(place.witness()).unwrap();
    let none = place.root().join("none");
    for name in ["lock", "store.db-wal", "store.db-shm"] {
        for target in [&place.witness(), &none] {
            let link = place.dir().join(name);
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(target, &link).unwrap();
            let refusal = place.refusal();
            let link_said = matches!(refusal, OpenError::Link { .. });
            assert_eq!(link_said, name == "lock" && target.exists(), "{refusal}");
            assert_eq!(fs::read(place.witness()).unwrap(), witness, "{name}");
            assert!(!none.exists(), "{name}");
            fs::remove_file(&link).unwrap();
        }
    }
    let second_name = place.dir().join("lock");
    let _ = fs::remove_file(&second_name);
    fs::hard_link(place.witness(), &second_name).unwrap();
    assert!(matches!(place.refusal(), OpenError::Link { .. }));
    assert_eq!(fs::read(place.witness()).unwrap(), witness);
    fs::remove_file(&second_name).unwrap();
    assert_eq!(place.open().unwrap().1.groups, 4);
}

#[cfg(unix)]
#[test]
fn the_files_of_a_store_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = sample();
    let _ = fs::remove_file(place.dir().join("lock"));
    let _held = place.open().unwrap();
    let mut files = 0;
    for entry in fs::read_dir(place.dir()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", entry.path().display());
        files += 1;
    }
    assert!(files >= 2);
}

#[test]
fn an_added_tile_that_refuses_the_store_is_in_the_audit() {
    let place = sample();
    for (log, level, index) in [
        ("@heads", 0, 1),
        ("@heads", 9, 0),
        ("acme", 1, 0),
        ("acme", 0, -1),
    ] {
        place.sql(&format!(
            "INSERT INTO tile VALUES ('{log}', {level}, {index}, zeroblob(32))"
        ));
        assert!(matches!(place.refusal(), OpenError::Tile { .. }));
        let report = audit(&place.dir(), Some(&place.witness()), &verifier()).unwrap();
        assert!(!report.ok(), "{log} {level} {index}");
        place.sql(&format!(
            "DELETE FROM tile WHERE log = '{log}' AND level = {level} AND idx = {index}"
        ));
    }
    let report = audit(&place.dir(), Some(&place.witness()), &verifier()).unwrap();
    assert!(report.ok(), "{report:?}");
}

#[test]
fn an_audit_runs_beside_an_open_store() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    put_record(&mut store, &tenant("acme"), b"committed");
    let _ = store.commit().unwrap();
    put_record(&mut store, &tenant("acme"), b"open");
    let report = audit(&place.dir(), Some(&place.witness()), &verifier()).unwrap();
    assert!(report.ok(), "{report:?}");
    assert_eq!(
        (report.contents(), report.logs().checkpoint().unwrap().size),
        (5, 5)
    );
    let _ = store.commit().unwrap();
    let report = audit(&place.dir(), Some(&place.witness()), &verifier()).unwrap();
    assert_eq!((report.ok(), report.contents()), (true, 6));
}

#[test]
fn another_writer_makes_the_store_wait_and_not_die() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    let other = rusqlite::Connection::open(place.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store
        .append(&tenant("acme"), &control("x"), None)
        .map(drop)
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("another program holds the database"),
        "{refused}"
    );
    assert_eq!(store.fault(), None);
    other.execute_batch("ROLLBACK").unwrap();
    put_control(&mut store, &tenant("acme"), "x");
    let _ = store.commit().unwrap();
    assert_eq!(store.size(&tenant("acme")), 7);
}

#[test]
fn files_are_for_their_owner_only() {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let place = sample();
        let (_store, ..) = place.open().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
        assert_eq!(mode(&place.dir()), 0);
        for name in [DATABASE_FILE, "store.db-wal"] {
            assert_eq!(mode(&place.dir().join(name)), 0, "{name}");
        }
    }
}

/// Names the place when this test runs again as a user who cannot write there.
const READ_ONLY_PLACE: &str = "ANCILE_TEST_READ_ONLY_PLACE";

#[test]
fn a_read_only_place_is_refused() {
    if let Ok(root) = std::env::var(READ_ONLY_PLACE) {
        return check_read_only(Path::new(&root));
    }
    let place = sample();
    set_modes(place.root(), 0o555, 0o444);
    let writable = OpenOptions::new()
        .append(true)
        .open(place.database())
        .is_ok();
    if !writable {
        check_read_only(place.root());
    } else if !runs_as_nobody(place.root()) {
        println!("SKIPPED (this user can write anything): a_read_only_place_is_refused");
    }
    set_modes(place.root(), 0o755, 0o644);
}

/// Checks a place of which nothing can be written, then one of which only the database cannot.
fn check_read_only(root: &Path) {
    let (dir, witness) = (root.join("data"), root.join("witness"));
    let open = || {
        with_config(&dir, &witness, |cfg| {
            Store::open(cfg, &mut |_: ReplayLeaf<'_>| Ok(()))
        })
    };
    let refusal = open().map(drop).unwrap_err();
    assert!(matches!(refusal, OpenError::ReadOnly { .. }), "{refusal}");
    assert!(
        refusal
            .to_string()
            .ends_with("cannot be written; give this process write access")
    );
    let report = audit(&dir, Some(&witness), &verifier()).unwrap();
    assert!(report.ok(), "{report:?}");
    let copy = tempfile::tempdir().unwrap();
    let data = copy.path().join("data");
    copy_files(&dir, &data);
    set_mode(&data.join("lock"), 0o644);
    fs::copy(&witness, copy.path().join("witness")).unwrap();
    let refusal = with_config(&data, &copy.path().join("witness"), |cfg| {
        Store::open(cfg, &mut |_: ReplayLeaf<'_>| Ok(()))
            .map(drop)
            .unwrap_err()
    });
    let path = data.join(DATABASE_FILE);
    assert!(matches!(refusal, OpenError::ReadOnly { path: p } if p == path));
}

/// Runs this one test again as the user `nobody`; says whether that could be done.
fn runs_as_nobody(root: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        let binary = root
            .parent()
            .unwrap()
            .join(format!("ancile-it-{}", std::process::id()));
        fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
        set_mode(&binary, 0o755);
        let run = std::process::Command::new(&binary)
            .args([
                "--exact",
                "access::a_read_only_place_is_refused",
                "--nocapture",
            ])
            .env(READ_ONLY_PLACE, root)
            .current_dir("/")
            .uid(NOBODY)
            .gid(NOBODY)
            .output();
        fs::remove_file(&binary).unwrap();
        match run {
            Err(_) => false,
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout);
                assert!(
                    output.status.success() && text.contains("1 passed"),
                    "{text}"
                );
                true
            }
        }
    }
    #[cfg(not(unix))]
    false
}

#[cfg(unix)]
const NOBODY: u32 = 65_534;

fn set_mode(path: &Path, mode: u32) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// Sets the modes of a place: its directories, and all files in them.
fn set_modes(root: &Path, directories: u32, files: u32) {
    for directory in [root.to_owned(), root.join("data")] {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            set_mode(&path, if path.is_dir() { directories } else { files });
        }
        set_mode(&directory, directories);
    }
}

#[test]
fn an_export_is_a_log_that_verifies() {
    let place = sample();
    let out = place.root().join("export");
    let (store, ..) = place.open().unwrap();
    let exported = export(&place.dir(), &out).unwrap();
    assert_eq!((exported.tenants, exported.leaves), (2, 11));
    drop(store);
    let logs = ancile_ledger::ExportedLogs::new(&out);
    let report = ancile_ledger::verify::verify(&logs, &verifier());
    assert!(report.ok(), "{report:?}");
    assert!(export(&place.dir(), &out).is_err());
    assert!(export(&place.root().join("none"), &place.root().join("e2")).is_err());
}
