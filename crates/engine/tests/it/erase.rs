// SPDX-License-Identifier: MIT OR Apache-2.0
//! Erasure: what is erased is gone from answers, files and restored copies, and says so.

use crate::world::{World, main_namespace, memory};
use ancile_core::{AuthorityClass, Channel, EntryId, SessionMode};
use ancile_engine::api::{EntryState, Gates, StepOp};
use ancile_engine::{Fault, audit, new_witness_epoch};
use std::path::Path;

const SECRET: &str = "The zebra code is 7319-umbrella.";

/// Whether any file under a directory has these bytes.
fn holds(dir: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, bytes);
        }
        let read = std::fs::read(&path).unwrap();
        read.windows(bytes.len()).any(|window| window == bytes)
    })
}

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

fn remember(w: &World, text: &str) -> EntryId {
    w.engine.write(&w.user, memory(None, text)).unwrap().id
}

fn state(w: &World, id: EntryId) -> (EntryState, Option<String>) {
    let view = w.engine.entry(&w.user, id).unwrap();
    (view.state, view.text)
}

fn found(w: &World, query: &str) -> usize {
    let recall = crate::world::recall(query);
    let pack = w.engine.recall(&w.user, main_namespace(), recall);
    pack.unwrap().items.len()
}

#[test]
fn what_is_erased_is_gone_and_its_record_stays() {
    let w = World::new();
    let secret = remember(&w, SECRET);
    remember(&w, "The zebra is in the zoo.");
    assert_eq!(found(&w, "zebra"), 2);
    assert!(holds(&w.home(), SECRET.as_bytes()));
    let erasure = w.engine.erase(&w.user, secret).unwrap();
    assert_eq!((erasure.id, erasure.descendants_total), (secret, 0));
    assert!(
        !holds(&w.home(), SECRET.as_bytes()),
        "no file of the open store has it"
    );
    assert_eq!(found(&w, "zebra"), 1);
    assert_eq!(state(&w, secret), (EntryState::Erased, None));
    assert_eq!(w.engine.lineage(&w.user, secret).unwrap().broken, None);
    assert_eq!(w.engine.erase(&w.user, secret).unwrap(), erasure, "again");
    let w = w.reopen();
    assert_eq!(state(&w, secret), (EntryState::Erased, None));
    assert_eq!(found(&w, "zebra"), 1);
    assert_eq!(w.engine.erase(&w.user, secret).unwrap(), erasure);
    w.settled();
    let health = w.engine.health();
    assert_eq!((health.integrity, health.problems), ("verified", vec![]));
    let home = w.home();
    w.engine.clone().close();
    let summary = audit(&home, None).unwrap();
    assert!(summary.ok, "{:?}", summary.problems);
}

#[test]
fn what_was_derived_is_kept_and_listed() {
    let w = World::new();
    let secret = remember(&w, SECRET);
    let hash = w.engine.entry(&w.user, secret).unwrap().hash;
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "Which code?");
    assert_eq!(w.recalled(&s, "zebra").len(), 1);
    let summary = w.remember(&s, "The user has a code.");
    let mut named = memory(Some(Channel::Agent), "It is for a door.");
    named.parents = vec![summary.hash];
    let named = w.step(&s, vec![StepOp::Write(named)]).unwrap();
    assert_eq!(named.results.len(), 1);
    let apart = remember(&w, "Tea is green.");
    let erasure = w.engine.erase(&w.user, secret).unwrap();
    assert_eq!(erasure.hash, hash);
    assert_eq!(erasure.descendants.len(), 2);
    assert_eq!(erasure.descendants[0].id, summary.id);
    assert_eq!(
        erasure.descendants[0].class_at_write,
        AuthorityClass::AgentDerived
    );
    assert!(erasure.descendants.iter().all(|d| d.id != apart));
    // The session kept the text, so it is over.
    assert_eq!(erasure.sessions_closed, [s.id]);
    assert!(!holds(&w.home(), b"7319-umbrella"));
    let over = w.step(&s, vec![]).unwrap_err();
    assert_eq!(over.code, "session_closed");
    let kept = w.engine.lineage(&w.user, summary.id).unwrap();
    assert_eq!(kept.broken, None);
    let w = w.reopen();
    assert_eq!(state(&w, summary.id).0, EntryState::Current);
    w.settled();
    assert_eq!(w.engine.health().integrity, "verified");
}

#[test]
fn an_erased_correction_does_not_bring_back_what_it_replaced() {
    let w = World::new();
    let old = remember(&w, "The rent is 900.");
    let mut new = memory(None, "The rent is 950.");
    new.supersedes = Some(old);
    let new = w.engine.write(&w.user, new).unwrap().id;
    w.engine.erase(&w.user, new).unwrap();
    assert_eq!(found(&w, "rent"), 0);
    let w = w.reopen();
    assert_eq!(state(&w, old).0, EntryState::Superseded);
    w.engine.erase(&w.user, old).unwrap();
    assert_eq!(state(&w, old).0, EntryState::Erased);
}

#[test]
fn who_may_erase_what() {
    let w = World::new();
    let mine = remember(&w, SECRET);
    for by in [&w.host, &w.agent] {
        let refused = w.engine.erase(by, mine).unwrap_err();
        assert_eq!(refused.fault, Fault::Forbidden);
    }
    let web = memory(Some(Channel::Web), "A page.");
    let web = w.engine.write(&w.host, web).unwrap().id;
    w.engine.erase(&w.user, web).unwrap();
    let bob = ancile_engine::api::KeySpec {
        principal: crate::world::principal("bob"),
        role: ancile_core::Role::User,
        namespaces: vec![main_namespace()],
        channels: vec![],
        agent: None,
        relays_user: false,
        expires: None,
    };
    let bob = w.engine.make_key(&w.operator, bob).unwrap();
    let bob = w.engine.authenticate(&bob.token).unwrap();
    let refused = w.engine.erase(&bob, mine).unwrap_err();
    assert_eq!(refused.fault, Fault::Forbidden, "another user's words");
    w.engine.erase(&w.operator, mine).unwrap();
    let nothing = EntryId::from_bytes([7; 16]);
    let refused = w.engine.erase(&w.operator, nothing).unwrap_err();
    assert_eq!(refused.fault, Fault::NotFound);
}

#[test]
fn a_restored_copy_is_erased_again() {
    let w = World::new();
    let secret = remember(&w, SECRET);
    let home = w.home();
    let World { dir, engine, .. } = w;
    engine.close();
    let before = dir.path().join("copy");
    copy(&home.join("data"), &before);
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    w.engine.erase(&w.user, secret).unwrap();
    let World { dir, engine, .. } = w;
    engine.close();
    std::fs::remove_dir_all(home.join("data")).unwrap();
    copy(&before, &home.join("data"));
    assert!(holds(&home.join("data"), SECRET.as_bytes()));
    new_witness_epoch(&home).unwrap();
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    assert_eq!(state(&w, secret), (EntryState::Erased, None));
    assert_eq!(found(&w, "zebra"), 0);
    assert!(!holds(&home.join("data"), SECRET.as_bytes()));
    let w = w.reopen();
    assert_eq!(state(&w, secret).0, EntryState::Erased);
    w.settled();
    assert_eq!(w.engine.health().integrity, "verified");
}

#[test]
fn the_list_is_made_whole_and_one_that_does_not_read_is_refused() {
    let mut w = World::new();
    let secret = remember(&w, SECRET);
    w.engine.erase(&w.user, secret).unwrap();
    let list = w.home().join("witness").join("erased");
    let whole = std::fs::read_to_string(&list).unwrap();
    assert_eq!(whole.lines().count(), 1);
    assert!(whole.contains(&secret.to_string()), "{whole}");
    // The process died before it listed, or while it did.
    for cut in [0, 10, whole.len() - 1] {
        let World { dir, engine, .. } = w;
        engine.close();
        std::fs::write(&list, &whole[..cut]).unwrap();
        w = World::open(dir, Gates::Enforce, true).unwrap();
        assert_eq!(std::fs::read_to_string(&list).unwrap(), whole, "{cut}");
    }
    let World { dir, engine, .. } = w;
    engine.close();
    std::fs::write(&list, "nonsense\n").unwrap();
    let refused = World::open(dir, Gates::Enforce, true).err().unwrap();
    assert_eq!(refused.code, "erasures_unreadable");
}

#[test]
fn an_audit_tells_an_erased_record_from_one_that_lost_its_content() {
    let w = World::new();
    let (secret, other) = (remember(&w, SECRET), remember(&w, "Tea is green."));
    let seq = |id| w.engine.entry(&w.user, id).unwrap().seq;
    let (erased, lost) = (seq(secret), seq(other));
    w.engine.erase(&w.user, secret).unwrap();
    let home = w.home();
    w.engine.clone().close();
    let database = rusqlite::Connection::open(home.join("data/store.db")).unwrap();
    let run = |sql: &str, seq: u64| {
        let seq = i64::try_from(seq).unwrap();
        assert_eq!(database.execute(sql, [seq]).unwrap(), 1);
    };
    run("DELETE FROM content WHERE seq = ?1", lost);
    let summary = audit(&home, None).unwrap();
    assert_eq!(
        summary.problems,
        ["1 records have no content, and none was erased"]
    );
    run(
        "INSERT INTO content(tenant, seq, salt, bytes) \
         VALUES ('default', ?1, zeroblob(16), x'41')",
        erased,
    );
    let summary = audit(&home, None).unwrap();
    let there =
        format!("tenant `default`: content of leaf {erased} was erased, and is there again");
    assert!(summary.problems.contains(&there), "{:?}", summary.problems);
}
