// SPDX-License-Identifier: MIT OR Apache-2.0
//! Backups, and what restoring them loses and keeps from coming back.

use crate::world::{World, main_namespace, memory, principal};
use ancile_core::{Channel, EntryId, Role, SessionMode};
use ancile_engine::api::{EntryState, Gates, KeySpec, PageSpec};
use ancile_engine::{
    Backup, BackupOptions, Engine, Fault, Present, Refusal, Restored, audit, backup, restore,
};
use std::path::PathBuf;

const SECRET: &str = "The zebra code is 7319-umbrella.";

const PLAIN: BackupOptions = BackupOptions {
    with_keys: false,
    accept_damage: false,
};
const WITH_KEYS: BackupOptions = BackupOptions {
    with_keys: true,
    accept_damage: false,
};

const ALL: PageSpec<'static> = PageSpec {
    cursor: None,
    limit: 200,
};

fn remember(w: &World, text: &str) -> EntryId {
    w.engine.write(&w.user, memory(None, text)).unwrap().id
}

fn place(w: &World, name: &str) -> PathBuf {
    w.dir.path().join(name)
}

/// Makes a backup of the served store.
fn make(w: &World, name: &str) -> PathBuf {
    let to = place(w, name);
    backup(&w.home(), &to, PLAIN).unwrap();
    to
}

/// Closes the store, restores a backup in spite of the loss, and opens it again.
fn replace(w: World, from: &str) -> (World, Restored) {
    let (home, from) = (w.home(), place(&w, from));
    let World { dir, engine, .. } = w;
    engine.close();
    let restored = restore(&home, &from, true).unwrap();
    assert!(restored.done);
    let found = audit(&home, None).unwrap();
    assert!(found.ok, "{:?}", found.problems);
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    w.settled();
    let health = w.engine.health();
    assert_eq!((health.integrity, health.problems), ("verified", vec![]));
    (w, restored)
}

fn refused(w: World, from: &str) -> (PathBuf, tempfile::TempDir, Refusal) {
    let (home, from) = (w.home(), place(&w, from));
    let World { dir, engine, .. } = w;
    engine.close();
    let refusal = restore(&home, &from, true).unwrap_err();
    (home, dir, refusal)
}

#[test]
fn a_backup_of_a_served_store_is_restored_whole() {
    let w = World::new();
    let kept = remember(&w, "The plumber comes on Friday.");
    let to = place(&w, "copy");
    let made = backup(&w.home(), &to, PLAIN).unwrap();
    assert_eq!(made, Backup::read(&to).unwrap());
    assert_eq!((made.tenants, made.keys), (1, false));
    assert!(!to.join("keys").exists());
    let (w, restored) = replace(w, "copy");
    assert_eq!(restored.present, Present::Later);
    assert_eq!((restored.groups_lost, restored.lost.len()), (Some(0), 0));
    let view = w.engine.entry(&w.user, kept).unwrap();
    assert_eq!(view.state, EntryState::Current);
    remember(&w, "It goes on.");
    let w = w.reopen();
    w.settled();
    assert_eq!(w.engine.health().integrity, "verified");
}

#[test]
fn a_restore_says_exactly_what_is_lost_before_anything_is() {
    let w = World::new();
    let kept = remember(&w, "The plumber comes on Friday.");
    let from = make(&w, "copy");
    let (first, second) = (remember(&w, "One."), remember(&w, "Two."));
    w.engine.make_key(&w.operator, key("bob")).unwrap();
    let (home, dir) = (w.home(), w.dir);
    w.engine.close();
    let asked = restore(&home, &from, false).unwrap();
    assert!(!asked.done);
    let (tenant, loss) = asked.lost.iter().next().unwrap();
    assert_eq!(
        (tenant.as_str(), loss.entries, loss.events),
        ("default", 2, 1)
    );
    let (a, b) = (loss.first.unwrap(), loss.last.unwrap());
    assert_eq!((a.0, b.0, b.1 - a.1), (first, second, 1));
    assert_eq!(asked.groups_lost, Some(3));
    // All is as it was.
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    assert!(w.engine.entry(&w.user, second).is_ok());
    let (w, done) = replace(w, "copy");
    assert_eq!((done.lost, done.groups_lost), (asked.lost, Some(3)));
    assert!(w.engine.entry(&w.user, kept).is_ok());
    let gone = w.engine.entry(&w.user, second).unwrap_err();
    assert_eq!(gone.fault, Fault::NotFound);
    assert_eq!(
        (done.epoch, w.engine.integrity(&w.operator).unwrap().epoch),
        (1, 1)
    );
}

fn key(who: &str) -> KeySpec {
    KeySpec {
        principal: principal(who),
        role: Role::User,
        namespaces: vec![main_namespace()],
        channels: vec![Channel::User],
        agent: None,
        relays_user: false,
        expires: None,
    }
}

/// Whether any file under a directory has these bytes.
fn holds(dir: &std::path::Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, bytes);
        }
        let read = std::fs::read(&path).unwrap();
        read.windows(bytes.len()).any(|window| window == bytes)
    })
}

#[test]
fn promise_7_what_was_erased_after_a_backup_stays_erased() {
    let w = World::new();
    let (before, after) = (remember(&w, "Erased before."), remember(&w, SECRET));
    w.engine.erase(&w.user, before).unwrap();
    let from = make(&w, "copy");
    assert!(holds(&from, SECRET.as_bytes()));
    w.engine.erase(&w.user, after).unwrap();
    let (w, restored) = replace(w, "copy");
    assert_eq!(restored.kept.erased, 1);
    assert!(restored.kept.erasures_known);
    for id in [before, after] {
        let view = w.engine.entry(&w.user, id).unwrap();
        assert_eq!((view.state, view.text), (EntryState::Erased, None));
    }
    assert!(!holds(&w.home(), SECRET.as_bytes()));
    let pack = w
        .engine
        .recall(&w.user, main_namespace(), crate::world::recall("zebra"));
    assert_eq!(pack.unwrap().items.len(), 0);
    // The list outlives the restore, for the next one.
    let (w, restored) = replace(w, "copy");
    assert_eq!(restored.kept.erased, 1);
    assert!(!holds(&w.home(), SECRET.as_bytes()));
}

#[test]
fn promise_7_what_was_erased_after_a_backup_is_in_no_restored_segment() {
    let w = World::new();
    let secret = remember(&w, SECRET);
    for i in 0..20 {
        remember(&w, &format!("Note {i} on the zoo."));
    }
    w.settled();
    let from = make(&w, "copy");
    w.engine.erase(&w.user, secret).unwrap();
    let (w, restored) = replace(w, "copy");
    assert_eq!(restored.kept.erased, 1);
    w.settled();
    // Its words were in the text and in the segment, in small letters.
    for words in ["7319-umbrella", "umbrella"] {
        assert!(holds(&from, words.as_bytes()));
        assert!(!holds(&w.home(), words.as_bytes()), "{words}");
    }
    let pack = w
        .engine
        .recall(&w.user, main_namespace(), crate::world::recall("zoo"));
    assert!(!pack.unwrap().items.is_empty());
}

#[test]
fn sessions_of_the_backup_are_closed_and_revocations_done_again() {
    let w = World::new();
    let bob = w.engine.make_key(&w.operator, key("bob")).unwrap();
    let session = w.session(SessionMode::Interactive);
    w.says(&session, "What is on Friday?");
    make(&w, "copy");
    w.engine.revoke_key(&w.operator, &bob.id).unwrap();
    // What it was shown since would be forgotten.
    let web = memory(Some(Channel::Web), "A page about Friday.");
    w.engine.write(&w.host, web).unwrap();
    let (w, restored) = replace(w, "copy");
    let kept = restored.kept;
    assert_eq!((kept.sessions, kept.keys, kept.mandates), (1, 1, 0));
    assert!(kept.revocations_known && kept.operators.is_empty());
    assert!(w.engine.authenticate(&bob.token).is_err());
    let over = w.step(&session, vec![]).unwrap_err();
    assert_eq!(over.code, "session_closed");
}

#[test]
fn the_last_operator_is_not_revoked_again() {
    let w = World::new();
    make(&w, "copy");
    let spec = KeySpec {
        role: Role::Operator,
        namespaces: vec![],
        channels: vec![],
        ..key("second")
    };
    let second = w.engine.make_key(&w.operator, spec).unwrap();
    let second = w.engine.authenticate(&second.token).unwrap();
    let keys = w.engine.keys(&second, ALL).unwrap().items;
    let first = keys
        .iter()
        .find(|k| k.spec.principal.as_str() == "operator");
    let first = first.unwrap().id.clone();
    w.engine.revoke_key(&second, &first).unwrap();
    // Until the restore it works no more, so that the world is opened by hand.
    let (home, from) = (w.home(), place(&w, "copy"));
    w.engine.close();
    let restored = restore(&home, &from, true).unwrap();
    assert_eq!(
        (restored.kept.keys, restored.kept.operators),
        (0, vec![first])
    );
    let w = World::open(w.dir, Gates::Enforce, true).unwrap();
    assert!(w.engine.keys(&w.operator, ALL).is_ok());
}

#[test]
fn promise_6_a_plain_copy_of_a_backup_is_refused_as_a_rollback() {
    let w = World::new();
    remember(&w, "One.");
    let from = make(&w, "copy");
    remember(&w, "Two.");
    let (home, dir) = (w.home(), w.dir);
    w.engine.close();
    std::fs::copy(from.join("store.db"), home.join("data/store.db")).unwrap();
    let refused = World::open(dir, Gates::Enforce, true).err().unwrap();
    assert_eq!(refused.code, "store_refused");
    assert!(refused.outside.contains("was rolled back"), "{refused}");
}

#[test]
fn a_backup_stands_in_for_a_store_that_is_damaged_or_gone() {
    let w = World::new();
    let kept = remember(&w, "The plumber comes on Friday.");
    make(&w, "copy");
    remember(&w, "Two.");
    let (home, dir) = (w.home(), w.dir);
    w.engine.close();
    std::fs::write(home.join("data/store.db"), "no database").unwrap();
    let asked = restore(&home, &dir.path().join("copy"), false).unwrap();
    assert!(matches!(asked.present, Present::Unreadable(_)));
    assert_eq!((asked.done, asked.groups_lost), (false, Some(1)));
    std::fs::remove_dir_all(home.join("data")).unwrap();
    let asked = restore(&home, &dir.path().join("copy"), false).unwrap();
    assert_eq!((asked.done, asked.present), (false, Present::None));
    let done = restore(&home, &dir.path().join("copy"), true).unwrap();
    assert!(done.done && !done.kept.revocations_known);
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    assert!(w.engine.entry(&w.user, kept).is_ok());
}

#[test]
fn a_backup_with_keys_stands_in_for_a_whole_home() {
    let w = World::new();
    let kept = remember(&w, "The plumber comes on Friday.");
    let to = place(&w, "copy");
    assert!(backup(&w.home(), &to, WITH_KEYS).unwrap().keys);
    let (home, dir) = (w.home(), w.dir);
    w.engine.close();
    std::fs::remove_dir_all(&home).unwrap();
    let done = restore(&home, &to, true).unwrap();
    assert_eq!((done.done, done.groups_lost), (true, None));
    assert!(!done.kept.erasures_known);
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    assert!(w.engine.entry(&w.user, kept).is_ok());
    // Without keys there is nobody to sign it.
    make(&w, "bare");
    let (home, dir) = (w.home(), w.dir);
    w.engine.close();
    std::fs::remove_dir_all(&home).unwrap();
    let refused = restore(&home, &dir.path().join("bare"), true).unwrap_err();
    assert_eq!(refused.code, "no_keys");
}

#[test]
fn a_backup_of_another_history_is_said_to_be_one() {
    let w = World::new();
    remember(&w, "One.");
    make(&w, "early");
    let late = remember(&w, "Two.");
    make(&w, "late");
    let (w, first) = replace(w, "early");
    let other = remember(&w, "Three.");
    let (w, second) = replace(w, "late");
    assert_eq!(
        (second.present, first.epoch, second.epoch),
        (Present::Other, 1, 2)
    );
    let loss = second.lost.values().next().unwrap();
    assert_eq!((loss.entries, loss.first.unwrap().0), (1, other));
    assert!(w.engine.entry(&w.user, late).is_ok());
    assert!(w.engine.entry(&w.user, other).is_err());
}

#[test]
fn what_is_no_whole_backup_is_refused_and_changes_nothing() {
    let w = World::new();
    remember(&w, "The plumber comes on Friday.");
    let to = make(&w, "copy");
    let again = backup(&w.home(), &to, PLAIN).unwrap_err();
    assert_eq!(again.code, "backup_exists");
    let inside = backup(&w.home(), &w.home().join("data/copy"), PLAIN).unwrap_err();
    assert_eq!(inside.code, "backup_inside");
    let busy = restore(&w.home(), &to, true).unwrap_err();
    assert_eq!(busy.code, "store_locked");
    let database = to.join("store.db");
    let mut bytes = std::fs::read(&database).unwrap();
    let at = bytes.windows(6).position(|w| w == b"Friday").unwrap();
    bytes[at..at + 6].copy_from_slice(b"Sunday");
    std::fs::write(&database, bytes).unwrap();
    let (home, dir, edited) = refused(w, "copy");
    assert_eq!(
        (edited.fault, edited.code),
        (Fault::Tampered, "backup_damaged")
    );
    let said = std::fs::read_to_string(to.join("backup.json")).unwrap();
    let newer = said.replace("\"version\":1", "\"version\":2");
    std::fs::write(to.join("backup.json"), newer).unwrap();
    assert_eq!(restore(&home, &to, true).unwrap_err().code, "backup_newer");
    std::fs::remove_file(to.join("backup.json")).unwrap();
    assert_eq!(restore(&home, &to, true).unwrap_err().code, "no_backup");
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    w.settled();
    assert_eq!(w.engine.health().integrity, "verified");
}

#[test]
fn what_was_begun_and_not_ended_is_no_backup_and_is_replaced() {
    let w = World::new();
    remember(&w, "One.");
    let partial = place(&w, "copy.partial");
    std::fs::create_dir(&partial).unwrap();
    std::fs::write(partial.join("store.db"), "half").unwrap();
    assert_eq!(Backup::read(&partial).unwrap_err().code, "no_backup");
    make(&w, "copy");
    assert!(!partial.exists());
    let (w, restored) = replace(w, "copy");
    assert!(restored.done);
    Engine::close(w.engine);
}

#[test]
fn a_damaged_store_is_backed_up_only_where_that_is_accepted() {
    let w = World::new();
    let (bad, good) = (remember(&w, "Comes on Friday."), remember(&w, "Two."));
    let (home, dir) = (w.home(), w.dir);
    w.engine.close();
    let database = home.join("data/store.db");
    let mut bytes = std::fs::read(&database).unwrap();
    let at = bytes.windows(6).position(|w| w == b"Friday").unwrap();
    bytes[at..at + 6].copy_from_slice(b"Sunday");
    std::fs::write(&database, bytes).unwrap();
    let to = dir.path().join("copy");
    let refused = backup(&home, &to, PLAIN).unwrap_err();
    assert_eq!(refused.code, "backup_damaged");
    assert!(refused.outside.contains("--accept-damage"), "{refused}");
    assert!(!to.exists());
    let accepting = BackupOptions {
        accept_damage: true,
        ..PLAIN
    };
    assert_eq!(backup(&home, &to, accepting).unwrap().problems, 1);
    let restored = restore(&home, &to, true).unwrap();
    assert!(restored.done);
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    let broken = w.engine.entry(&w.user, bad).unwrap();
    assert!(
        matches!(broken.state, EntryState::Broken(_)),
        "{:?}",
        broken.state
    );
    assert!(w.engine.entry(&w.user, good).is_ok());
}
