// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults in the middle of a group: what a stop, a full medium and a lost witness leave behind.

use super::*;
use crate::{OpenError, ReplayLeaf, audit};
use std::fs;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

const ORIGIN: &str = "store.example/fault";

fn signer() -> SignerKey {
    SignerKey::generate(ORIGIN, &[3; 32]).unwrap()
}

fn acme() -> TenantName {
    TenantName::new("acme").unwrap()
}

fn create(root: &Path) -> Store {
    let (dir, witness) = (root.join("data"), root.join("witness"));
    let cfg = StoreConfig {
        dir: &dir,
        witness: &witness,
        signer: signer(),
        origin: ORIGIN,
    };
    Store::create(cfg).unwrap()
}

/// Opens the store; its leaves come as the texts of control events.
fn open(root: &Path) -> Result<(Store, OpenReport, Vec<String>), OpenError> {
    let (dir, witness) = (root.join("data"), root.join("witness"));
    let cfg = StoreConfig {
        dir: &dir,
        witness: &witness,
        signer: signer(),
        origin: ORIGIN,
    };
    let mut texts = Vec::new();
    let (store, report) = Store::open(cfg, &mut |leaf: ReplayLeaf<'_>| {
        if let ReplayLeaf::Intact { body, .. } = leaf {
            texts.push(String::from_utf8(body[1..].to_vec()).unwrap());
        }
        Ok(())
    })?;
    Ok((store, report, texts))
}

fn put(store: &mut Store, text: &str) -> Result<Appended, WriteError> {
    store.append(&acme(), &[b"\x02", text.as_bytes()].concat(), None)
}

/// Copies the files of a running store as they are, as a stop of the machine would leave them.
fn freeze(root: &Path, to: &Path) {
    fs::create_dir_all(to.join("data")).unwrap();
    for entry in fs::read_dir(root.join("data")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join("data").join(entry.file_name())).unwrap();
    }
    fs::copy(root.join("witness"), to.join("witness")).unwrap();
}

const STEPS: [Step; 4] = [
    Step::BeforeSeal,
    Step::BeforeCommit,
    Step::AfterCommit,
    Step::AfterWitness,
];

/// What an open must find after a stop at a step: the group, and whether the witness has it.
fn expect(step: Step, root: &Path) {
    let (mut store, report, texts) = open(root).unwrap();
    let (group_is_there, witness) = match step {
        Step::BeforeSeal | Step::BeforeCommit => (false, WitnessState::Current),
        Step::AfterCommit => (true, WitnessState::OneBehind),
        Step::AfterWitness => (true, WitnessState::Current),
    };
    let expected: &[&str] = if group_is_there {
        &["kept", "one", "two"]
    } else {
        &["kept"]
    };
    assert_eq!(
        (texts.iter().map(String::as_str).collect(), report.witness),
        (expected.to_vec(), witness),
        "{step:?}"
    );
    assert_eq!(
        (report.groups, report.damage_total),
        (2 + u64::from(group_is_there), 0)
    );
    let _ = put(&mut store, "after").unwrap();
    let _ = store.commit().unwrap();
    drop(store);
    let (_, report, texts) = open(root).unwrap();
    assert_eq!(
        (texts.len(), report.witness),
        (expected.len() + 1, WitnessState::Current)
    );
    let key = signer().verifier().clone();
    let report = audit(&root.join("data"), Some(&root.join("witness")), &key).unwrap();
    assert!(report.ok(), "{step:?}: {report:?}");
}

fn two_groups(root: &Path) -> Store {
    let mut store = create(root);
    let _ = put(&mut store, "kept").unwrap();
    let _ = store.commit().unwrap();
    let _ = put(&mut store, "one").unwrap();
    let savepoint = store.savepoint().unwrap();
    let _ = put(&mut store, "two").unwrap();
    store.release(savepoint).unwrap();
    store
}

#[test]
fn a_commit_that_stops_at_any_step_leaves_a_whole_group_or_none() {
    for step in STEPS {
        let root = tempfile::tempdir().unwrap();
        let mut store = two_groups(root.path());
        store.hook = Some(Box::new(move |at| at == step));
        assert!(matches!(store.commit(), Err(CommitError::Stopped)));
        assert_eq!(store.fault(), Some("stopped by a test"));
        assert!(matches!(put(&mut store, "x"), Err(WriteError::Dead { .. })));
        assert!(matches!(store.savepoint(), Err(WriteError::Dead { .. })));
        assert!(matches!(
            store.read(&acme(), 0),
            Err(ReadError::Dead { .. })
        ));
        assert!(matches!(store.commit(), Err(CommitError::Dead { .. })));
        drop(store);
        expect(step, root.path());
    }
}

#[test]
fn the_files_as_they_are_at_any_step_are_a_whole_group_or_none() {
    let root = tempfile::tempdir().unwrap();
    let mut store = two_groups(root.path());
    let images: Arc<Mutex<Vec<(Step, TempDir)>>> = Arc::default();
    let (taken, from) = (Arc::clone(&images), root.path().to_owned());
    store.hook = Some(Box::new(move |step| {
        let image = tempfile::tempdir().unwrap();
        freeze(&from, image.path());
        taken.lock().unwrap().push((step, image));
        false
    }));
    let _ = store.commit().unwrap();
    drop(store);
    let images = images.lock().unwrap();
    assert_eq!(
        images.iter().map(|(step, _)| *step).collect::<Vec<_>>(),
        STEPS
    );
    for (step, image) in images.iter() {
        expect(*step, image.path());
    }
}

#[test]
fn a_torn_log_of_the_database_loses_only_what_was_not_committed() {
    let root = tempfile::tempdir().unwrap();
    let mut store = two_groups(root.path());
    let image = tempfile::tempdir().unwrap();
    let (from, to) = (root.path().to_owned(), image.path().to_owned());
    store.hook = Some(Box::new(move |step| {
        if step == Step::AfterCommit {
            freeze(&from, &to);
        }
        false
    }));
    let before = root
        .path()
        .join("data/store.db-wal")
        .metadata()
        .unwrap()
        .len();
    let _ = store.commit().unwrap();
    drop(store);
    let wal = fs::read(image.path().join("data/store.db-wal")).unwrap();
    assert!(wal.len() as u64 > before);
    let first = usize::try_from(before).unwrap();
    for at in [first, first + 1, (first + wal.len()) / 2, wal.len() - 1] {
        let torn = tempfile::tempdir().unwrap();
        freeze(image.path(), torn.path());
        fs::write(torn.path().join("data/store.db-wal"), &wal[..at]).unwrap();
        fs::remove_file(torn.path().join("data/store.db-shm")).unwrap();
        expect(Step::BeforeCommit, torn.path());
    }
}

/// Lets the database grow by no page.
fn fill(store: &Store) {
    let pages: i64 = store
        .conn
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap();
    store
        .conn
        .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
        .unwrap();
}

#[test]
fn a_full_medium_is_named_and_loses_nothing_acknowledged() {
    let root = tempfile::tempdir().unwrap();
    let mut store = create(root.path());
    let _ = put(&mut store, "kept").unwrap();
    let _ = store.commit().unwrap();
    fill(&store);
    let long = "x".repeat(60_000);
    let refusal = put(&mut store, &long).unwrap_err();
    let text =
        "medium or database is full while writing a leaf; free space and open the store again";
    assert!(
        matches!(&refusal, WriteError::Database(DatabaseFault::Full { .. })),
        "{refusal}"
    );
    assert_eq!(refusal.to_string(), text);
    let dead = put(&mut store, "short").unwrap_err().to_string();
    assert!(
        dead.starts_with("store handle is dead since a fault") && dead.contains(text),
        "{dead}"
    );
    assert!(matches!(store.commit(), Err(CommitError::Dead { .. })));
    drop(store);
    let (mut store, report, texts) = open(root.path()).unwrap();
    assert_eq!((report.damage_total, texts), (0, vec!["kept".to_owned()]));
    let _ = put(&mut store, &long).unwrap();
    let _ = store.commit().unwrap();
    assert_eq!(store.size(&acme()), 2);
}

#[test]
fn a_medium_that_fills_up_in_the_commit_is_named() {
    let root = tempfile::tempdir().unwrap();
    let mut store = create(root.path());
    let mut acknowledged = 0;
    let refusal = loop {
        let name = TenantName::new(&format!("tenant{acknowledged}")).unwrap();
        let _ = store.append(&name, b"\x02event", None).unwrap();
        // A new tenant's head and tile need room that the leaf does not.
        let pages: i64 = store
            .conn
            .query_row("PRAGMA page_count", [], |r| r.get(0))
            .unwrap();
        store
            .conn
            .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            .unwrap();
        match store.commit() {
            Ok(_) => acknowledged += 1,
            Err(refusal) => break refusal,
        }
        assert!(acknowledged < 1000, "the database never filled up");
        store
            .conn
            .pragma_update_and_check(None, "max_page_count", 100_000, |_| Ok(()))
            .unwrap();
    };
    assert!(
        matches!(&refusal, CommitError::Database(DatabaseFault::Full { .. })),
        "{}",
        chain(&refusal)
    );
    drop(store);
    let (_, report, texts) = open(root.path()).unwrap();
    assert_eq!((report.damage_total, texts.len()), (0, acknowledged));
}

#[test]
fn a_witness_that_cannot_be_written_kills_the_handle_and_is_one_behind() {
    let root = tempfile::tempdir().unwrap();
    let mut store = create(root.path());
    let _ = put(&mut store, "kept").unwrap();
    let _ = store.commit().unwrap();
    // A directory where the temporary file should be.
    let blocked = root.path().join("witness.tmp");
    fs::create_dir(&blocked).unwrap();
    let _ = put(&mut store, "unwitnessed").unwrap();
    let refusal = store.commit().unwrap_err();
    assert!(
        matches!(refusal, CommitError::Witness { group: 2, .. }),
        "{refusal}"
    );
    assert!(matches!(store.commit(), Err(CommitError::Dead { .. })));
    drop(store);
    // While it cannot be written, the store does not open either: it would be two behind.
    assert!(matches!(open(root.path()), Err(OpenError::Witness(_))));
    fs::remove_dir(&blocked).unwrap();
    let (_, report, texts) = open(root.path()).unwrap();
    assert_eq!(report.witness, WitnessState::OneBehind);
    assert_eq!(texts, ["kept", "unwitnessed"]);
}

#[test]
fn every_commit_is_synced() {
    let root = tempfile::tempdir().unwrap();
    let store = create(root.path());
    let ask = |name: &str| -> String {
        store
            .conn
            .query_row(
                &format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}"),
                [],
                |r| r.get(0),
            )
            .unwrap()
    };
    assert_eq!(
        [
            "journal_mode",
            "synchronous",
            "foreign_keys",
            "trusted_schema",
            "secure_delete",
            "fullfsync",
            "checkpoint_fullfsync"
        ]
        .map(ask),
        ["wal", "2", "1", "0", "1", "1", "1"]
    );
}

#[test]
fn without_the_log_of_the_database_a_store_is_behind_its_witness() {
    let root = tempfile::tempdir().unwrap();
    let mut store = two_groups(root.path());
    let _ = store.commit().unwrap();
    let image = tempfile::tempdir().unwrap();
    freeze(root.path(), image.path());
    drop(store);
    fs::remove_file(image.path().join("data/store.db-wal")).unwrap();
    fs::remove_file(image.path().join("data/store.db-shm")).unwrap();
    let refusal = open(image.path()).unwrap_err();
    let text = "store has 1 groups, its witness 3; the store was rolled back";
    assert!(refusal.to_string().starts_with(text), "{refusal}");
}
