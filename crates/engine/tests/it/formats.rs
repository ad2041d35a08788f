// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stores of earlier formats, as the builds that wrote them left them.

use crate::world::{World, main_namespace};
use ancile_engine::api::{EntryState, Gates};
use ancile_engine::{
    BackupOptions, Fault, audit, backup, migrate, new_witness_epoch, restore, store_format,
};
use ancile_store::{FORMAT_VERSION, FORMAT_VERSION_OLDEST};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// Copies a directory.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, target).unwrap();
        }
    }
}

/// A home of a format, as the build that wrote it left it.
fn home_of(version: i32) -> tempfile::TempDir {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fixture = here.join(format!("../store/tests/fixtures/v{version}"));
    let dir = tempfile::tempdir().unwrap();
    copy(&fixture, &dir.path().join("home"));
    dir
}

fn database(dir: &tempfile::TempDir) -> Vec<u8> {
    std::fs::read(dir.path().join("home/data/store.db")).unwrap()
}

/// Checks that all is there that the fixtures were made with, and that it goes on.
fn is_whole(dir: tempfile::TempDir) {
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    let listed = w.engine.entries(&w.user, main_namespace(), None, 200);
    let listed = listed.unwrap();
    let mut all: Vec<(String, EntryState)> = listed
        .items
        .into_iter()
        .map(|view| (view.text.unwrap_or_default(), view.state))
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    let [
        (_, shelved),
        (plumber, current),
        (old, superseded),
        (new, last),
    ] = &all[..]
    else {
        panic!("{all:?}");
    };
    assert!(matches!(shelved, EntryState::Quarantined(_)));
    assert_eq!(
        (plumber.as_str(), current),
        ("The plumber comes on Friday", &EntryState::Current)
    );
    assert_eq!(
        (old.as_str(), superseded),
        ("The rent is 900 EUR", &EntryState::Superseded)
    );
    assert_eq!(
        (new.as_str(), last),
        ("The rent is 950 EUR", &EntryState::Current)
    );
    let recall = crate::world::recall("plumber");
    let pack = w.engine.recall(&w.user, main_namespace(), recall).unwrap();
    assert_eq!(pack.items.len(), 1);
    w.engine
        .write(&w.user, crate::world::memory(None, "It goes on."))
        .unwrap();
    w.settled();
    let health = w.engine.health();
    assert_eq!((health.integrity, health.problems), ("verified", vec![]));
    let (home, _dir) = (w.home(), w.dir);
    w.engine.close();
    let found = audit(&home, None).unwrap();
    assert!(found.ok, "{:?}", found.problems);
}

/// What a question says of a database that is only read.
fn number(file: &Path, question: &str) -> i32 {
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let conn = Connection::open_with_flags(file, read_only).unwrap();
    conn.query_row(question, [], |row| row.get(0)).unwrap()
}

#[test]
fn there_is_a_store_of_each_format_and_each_is_brought_up() {
    for version in FORMAT_VERSION_OLDEST..=FORMAT_VERSION {
        let dir = home_of(version);
        let home = dir.path().join("home");
        let before = database(&dir);
        assert_eq!(store_format(&home).unwrap().found, version);
        let done = migrate(&home).unwrap();
        assert_eq!((done.from, done.to), (version, FORMAT_VERSION));
        assert_eq!(done.copy.is_some(), version < FORMAT_VERSION);
        if let Some(kept) = done.copy {
            let kept = kept.join("store.db");
            assert_eq!(std::fs::read(&kept).unwrap().len(), before.len());
            assert_eq!(number(&kept, "PRAGMA user_version"), version);
            let leaves = "SELECT count(*) FROM leaf";
            let now = number(&home.join("data/store.db"), leaves);
            assert_eq!((number(&kept, leaves), now > 0), (now, true));
        }
        let again = migrate(&home).unwrap();
        assert_eq!((again.from, again.copy), (FORMAT_VERSION, None));
        is_whole(dir);
    }
}

#[test]
fn an_older_store_is_refused_with_the_next_step_and_not_changed() {
    let dir = home_of(FORMAT_VERSION_OLDEST);
    let home = dir.path().join("home");
    let before = database(&dir);
    for refusal in [
        audit(&home, None).unwrap_err(),
        new_witness_epoch(&home).unwrap_err(),
        backup(&home, &dir.path().join("copy"), BackupOptions::default()).unwrap_err(),
    ] {
        assert!(refusal.outside.contains("`ancile migrate`"), "{refusal}");
    }
    assert_eq!(database(&dir), before);
    is_migrated_and_whole(dir);
}

fn is_migrated_and_whole(dir: tempfile::TempDir) {
    migrate(&dir.path().join("home")).unwrap();
    is_whole(dir);
}

#[test]
fn a_newer_format_and_a_changed_schema_are_refused_and_nothing_is_changed() {
    let dir = home_of(FORMAT_VERSION_OLDEST);
    let home = dir.path().join("home");
    let file = home.join("data/store.db");
    let sql = |statement: &str| {
        let conn = rusqlite::Connection::open(&file).unwrap();
        conn.execute_batch(statement).unwrap();
    };
    let refused = |code: &str, said: &str| {
        let refusal = migrate(&home).unwrap_err();
        assert_eq!((refusal.fault, refusal.code), (Fault::Unavailable, code));
        assert!(refusal.outside.contains(said), "{refusal}");
        assert!(!home.join("format-1").exists() && !home.join("format-1.partial").exists());
    };
    sql("PRAGMA user_version = 1000");
    refused("store_version", "a newer build wrote it");
    sql("PRAGMA user_version = 0");
    refused("store_version", "use the build that wrote it");
    sql("PRAGMA user_version = 1; CREATE TABLE more(x)");
    refused("store_refused", "the schema was changed");
    sql("DROP TABLE more");
    is_migrated_and_whole(dir);
}

#[test]
fn a_backup_of_an_earlier_format_is_brought_up_where_it_is_restored() {
    let dir = home_of(FORMAT_VERSION_OLDEST);
    let (home, copy) = (dir.path().join("home"), dir.path().join("copy"));
    std::fs::create_dir(&copy).unwrap();
    std::fs::rename(home.join("data/store.db"), copy.join("store.db")).unwrap();
    std::fs::write(copy.join("erased"), "\n").unwrap();
    let said = r#"{"version":1,"store_format":1,"groups":10,"epoch":0,"leaves":17,"tenants":1,
        "keys":false,"problems":0}"#;
    std::fs::write(copy.join("backup.json"), said).unwrap();
    let before = std::fs::read(copy.join("store.db")).unwrap();
    let restored = restore(&home, &copy, true).unwrap();
    assert_eq!((restored.done, restored.kept.sessions), (true, 1));
    assert_eq!(std::fs::read(copy.join("store.db")).unwrap(), before);
    is_whole(dir);
}
