// SPDX-License-Identifier: MIT OR Apache-2.0
//! Edits of rows behind the store's back, of a closed store and of an open one.

use crate::world::{World, expose, memory, recall, tool_call};
use ancile_core::{AuthorityClass, Channel, Decision, EntryId, EntryKind, Micros, SessionMode};
use ancile_engine::api::{
    EntryState, ExposureKind, Gates, StepOp, StepResult, TaskSpec, Write, Written,
};
use ancile_engine::{Fault, FireSpec, Refusal};
use rusqlite::{Connection, params};
use std::path::Path;

fn connect(home: &Path) -> Connection {
    Connection::open(home.join("data").join(ancile_store::DATABASE_FILE)).unwrap()
}

/// Closes the store and gives a connection to its database.
fn closed(w: World) -> (tempfile::TempDir, Connection) {
    let World { dir, engine, .. } = w;
    engine.close();
    let conn = connect(&dir.path().join("home"));
    (dir, conn)
}

/// A sequence number as a cell.
fn row(seq: u64) -> i64 {
    seq.try_into().unwrap()
}

fn open(dir: tempfile::TempDir) -> Result<World, Refusal> {
    World::open(dir, Gates::Enforce, true)
}

fn say(w: &World, text: &str) -> Written {
    w.engine.write(&w.user, memory(None, text)).unwrap()
}

fn state(w: &World, id: EntryId) -> EntryState {
    let view = w.engine.entry(&w.user, id).unwrap();
    if matches!(view.state, EntryState::Broken(_)) {
        assert_eq!(view.text, None, "the text of a broken entry does not leave");
    }
    view.state
}

fn broken(why: &str) -> EntryState {
    EntryState::Broken(why.to_owned())
}

fn recalled(w: &World, query: &str) -> Vec<EntryId> {
    let pack = w
        .engine
        .recall(&w.user, crate::world::main_namespace(), recall(query))
        .unwrap();
    pack.items.iter().map(|item| item.id).collect()
}

/// Replaces bytes in a leaf body, same length; says how often they were there.
fn edit_body(conn: &Connection, seq: u64, from: &[u8], to: &[u8]) {
    let read = "SELECT body FROM leaf WHERE tenant = 'default' AND seq = ?1";
    let mut body: Vec<u8> = conn.query_row(read, [row(seq)], |row| row.get(0)).unwrap();
    let at = body.windows(from.len()).position(|w| w == from);
    let at = at.expect("the bytes are in the leaf");
    body[at..at + to.len()].copy_from_slice(to);
    let write = "UPDATE leaf SET body = ?2 WHERE tenant = 'default' AND seq = ?1";
    assert_eq!(conn.execute(write, params![row(seq), body]).unwrap(), 1);
}

/// Number of the last leaf whose body holds these words.
fn leaf_with(conn: &Connection, words: &str) -> u64 {
    let find = "SELECT max(seq) FROM leaf WHERE tenant = 'default' AND instr(body, ?1) > 0";
    conn.query_row(find, [words.as_bytes()], |row| row.get::<_, Option<i64>>(0))
        .unwrap()
        .and_then(|seq| u64::try_from(seq).ok())
        .expect("a leaf has these words")
}

/// The store does not open; what it says names the fault and the next step, and the audit too
/// finds a problem.
fn refused(dir: tempfile::TempDir, words: &[&str]) {
    let home = dir.path().join("home");
    let audit = ancile_engine::audit(&home, None).unwrap();
    assert!(!audit.ok && !audit.problems.is_empty());
    let refusal = open(dir).err().expect("the store is refused");
    assert_eq!(
        (refusal.fault, refusal.code),
        (Fault::Unavailable, "store_refused")
    );
    for word in words {
        assert!(refusal.outside.contains(word), "{}", refusal.outside);
    }
}

/// After an edit of one entry: it is refused, the other stays, and everyone is told.
fn one_is_lost(w: &World, (lost, kept): (&Written, &Written), why: &str) {
    assert_eq!(state(w, lost.id), broken(why));
    assert_eq!(state(w, kept.id), EntryState::Current);
    assert_eq!(recalled(w, "code word"), [kept.id]);
    let refused = w.engine.lineage(&w.user, lost.id).unwrap();
    assert_eq!(refused.broken, Some(why));
}

fn told(w: &World) {
    let health = w.engine.health();
    assert_eq!(health.integrity, "damaged");
    assert!(!health.problems.is_empty());
    assert!(!ancile_engine::audit(&w.home(), None).unwrap().ok);
}

/// Two entries of which the first is edited.
fn two(w: &World) -> (Written, Written) {
    let lost = say(w, "The code word is alpha.");
    (lost, say(w, "The other code word is beta."))
}

#[test]
fn promise_6_an_edited_content_is_refused_while_the_store_is_open() {
    let w = World::new();
    let (lost, kept) = two(&w);
    assert_eq!(recalled(&w, "code word").len(), 2);
    let edit = "UPDATE content SET bytes = ?1 WHERE seq = ?2";
    connect(&w.home())
        .execute(edit, params![b"The code word is omega.", row(lost.seq)])
        .unwrap();
    one_is_lost(&w, (&lost, &kept), "content_edited");
    let w = w.reopen();
    one_is_lost(&w, (&lost, &kept), "content_edited");
    told(&w);
}

#[test]
fn promise_6_a_removed_content_is_refused_and_told() {
    let w = World::new();
    let (lost, kept) = two(&w);
    let (dir, conn) = closed(w);
    conn.execute("DELETE FROM content WHERE seq = ?1", [row(lost.seq)])
        .unwrap();
    drop(conn);
    let w = open(dir).unwrap();
    one_is_lost(&w, (&lost, &kept), "content_edited");
    told(&w);
}

#[test]
fn promise_6_an_edited_label_is_refused_open_and_closed() {
    let w = World::new();
    let planted = memory(Some(Channel::Web), "The code word is alpha.");
    let lost = w.engine.write(&w.host, planted).unwrap();
    assert_eq!(lost.class, AuthorityClass::Untrusted);
    let kept = say(&w, "The other code word is beta.");
    // The class is one byte of the record: any single byte that is changed is refused.
    let home = w.home();
    let conn = connect(&home);
    let read = "SELECT body FROM leaf WHERE tenant = 'default' AND seq = ?1";
    let whole: Vec<u8> = conn
        .query_row(read, [row(lost.seq)], |row| row.get(0))
        .unwrap();
    let write = "UPDATE leaf SET body = ?2 WHERE tenant = 'default' AND seq = ?1";
    let class = AuthorityClass::Untrusted.number();
    let labels = whole.iter().enumerate().filter(|(_, byte)| **byte == class);
    let mut tried = 0;
    for (at, _) in labels {
        let mut body = whole.clone();
        body[at] = AuthorityClass::UserAuthored.number();
        conn.execute(write, params![row(lost.seq), body]).unwrap();
        assert_eq!(state(&w, lost.id), broken("record_edited"), "byte {at}");
        tried += 1;
    }
    assert!(tried > 0);
    drop(conn);
    let w = w.reopen();
    assert_eq!(
        w.engine.entry(&w.user, lost.id).unwrap_err().fault,
        Fault::NotFound
    );
    assert_eq!(recalled(&w, "code word"), [kept.id]);
    told(&w);
}

#[test]
fn promise_6_an_edited_parent_breaks_what_was_derived_from_it() {
    let w = World::new();
    let parent = say(&w, "The code word is alpha.");
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "What is the code word?");
    assert_eq!(w.recalled(&s, "code word").len(), 1);
    let child = w.remember(&s, "A summary of secrets.");
    let kept = say(&w, "Something else.");
    assert_eq!(state(&w, child.id), EntryState::Current);
    let conn = connect(&w.home());
    edit_body(&conn, parent.seq, b"alice", b"mallo");
    assert_eq!(state(&w, child.id), broken("record_edited"));
    assert_eq!(state(&w, kept.id), EntryState::Current);
    drop(conn);
    let w = w.reopen();
    assert_eq!(state(&w, child.id), broken("parent_missing"));
    assert!(recalled(&w, "summary of secrets").is_empty());
    assert_eq!(state(&w, kept.id), EntryState::Current);
    told(&w);
}

#[test]
fn promise_6_swapped_rows_are_refused() {
    let w = World::new();
    let (first, second) = two(&w);
    let third = say(&w, "Something else.");
    let swap = format!(
        "CREATE TEMP TABLE kept AS SELECT seq, body FROM leaf WHERE tenant = 'default';
         UPDATE leaf SET body = (SELECT body FROM kept WHERE kept.seq = {0} + {1} - leaf.seq)
         WHERE tenant = 'default' AND seq IN ({0}, {1})",
        first.seq, second.seq
    );
    connect(&w.home()).execute_batch(&swap).unwrap();
    for id in [first.id, second.id] {
        assert_eq!(state(&w, id), broken("record_edited"));
    }
    assert_eq!(recalled(&w, "code word"), Vec::<EntryId>::new());
    let w = w.reopen();
    for id in [first.id, second.id] {
        assert_eq!(
            w.engine.entry(&w.user, id).unwrap_err().fault,
            Fault::NotFound
        );
    }
    assert_eq!(state(&w, third.id), EntryState::Current);
    told(&w);
}

#[test]
fn promise_6_a_removed_record_is_refused_and_the_rest_stays() {
    let w = World::new();
    let (lost, kept) = two(&w);
    let remove = format!(
        "DELETE FROM content WHERE seq = {0}; DELETE FROM leaf WHERE seq = {0}",
        lost.seq
    );
    connect(&w.home()).execute_batch(&remove).unwrap();
    // The recall puts the entry on the shelf: an event about a record that is gone.
    one_is_lost(&w, (&lost, &kept), "record_edited");
    let w = w.reopen();
    assert_eq!(
        w.engine.entry(&w.user, lost.id).unwrap_err().fault,
        Fault::NotFound
    );
    assert_eq!(state(&w, kept.id), EntryState::Current);
    assert_eq!(recalled(&w, "code word"), [kept.id]);
    told(&w);
    say(&w, "Writing goes on.");
}

#[test]
fn promise_6_a_task_that_fired_and_was_removed_leaves_the_rest() {
    let w = World::new();
    let task = Write {
        kind: EntryKind::Task,
        task: Some(TaskSpec {
            due: Micros(0),
            every_seconds: Some(1),
            call: None,
        }),
        ..memory(None, "Say good morning.")
    };
    let task = w.engine.write(&w.user, task).unwrap();
    let spec = FireSpec {
        agent: crate::world::principal("assistant"),
        user: crate::world::principal("alice"),
    };
    let fired = w.engine.fire(&w.host, task.id, spec.clone()).unwrap();
    assert_eq!(fired.decision, Decision::Permit);
    let kept = say(&w, "Something else.");
    let (dir, conn) = closed(w);
    edit_body(&conn, task.seq, b"alice", b"mallo");
    drop(conn);
    let w = open(dir).unwrap();
    assert_eq!(
        w.engine.fire(&w.host, task.id, spec).unwrap_err().fault,
        Fault::NotFound
    );
    assert_eq!(state(&w, kept.id), EntryState::Current);
    told(&w);
}

#[test]
fn promise_6_an_inserted_row_is_no_entry() {
    let w = World::new();
    let kept = say(&w, "The code word is alpha.");
    let insert = "INSERT INTO leaf(tenant, seq, body)
        SELECT tenant, seq + 1000, body FROM leaf WHERE tenant = 'default' AND seq = ?1";
    connect(&w.home()).execute(insert, [row(kept.seq)]).unwrap();
    assert_eq!(recalled(&w, "code word"), [kept.id]);
    let w = w.reopen();
    assert_eq!(recalled(&w, "code word"), [kept.id]);
    let problems = w.engine.health().problems;
    assert!(
        problems.iter().any(|p| p.contains("inserted")),
        "{problems:?}"
    );
    told(&w);
}

#[test]
fn promise_6_a_row_inserted_where_the_next_leaf_goes_is_replaced() {
    let w = World::new();
    let first = say(&w, "The code word is alpha.");
    let conn = connect(&w.home());
    let insert = "INSERT INTO leaf(tenant, seq, body)
        SELECT tenant, seq + 1, body FROM leaf WHERE tenant = 'default' AND seq = ?1";
    conn.execute(insert, [row(first.seq)]).unwrap();
    let second = say(&w, "The other code word is beta.");
    assert_eq!(second.seq, first.seq + 1);
    let w = w.reopen();
    assert_eq!(state(&w, first.id), EntryState::Current);
    assert_eq!(state(&w, second.id), EntryState::Current);
    assert_eq!(w.engine.health().integrity, "verified");
}

/// The steps after which a control row is removed or edited, and words in its leaf.
fn a_history() -> World {
    let w = World::new();
    crate::faults::grant(&w, AuthorityClass::AgentDerived);
    let granted = w.engine.mandates(&w.user, None, 10).unwrap();
    w.engine
        .revoke_mandate(&w.user, granted.items[0].id)
        .unwrap();
    crate::faults::grade(&w);
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "What do I owe?");
    w.sees(&s, Channel::Web, "You owe 900.");
    w
}

#[test]
fn promise_6_a_removed_control_row_is_refused_whatever_it_said() {
    for event in [
        "mandate_revoked",
        "mandate_granted",
        "exposed",
        "key_made",
        "source_graded",
        "session_opened",
        "manifest_set",
    ] {
        let (dir, conn) = closed(a_history());
        let seq = leaf_with(&conn, &format!("\"event\":\"{event}\""));
        conn.execute_batch(&format!(
            "DELETE FROM content WHERE seq = {seq}; DELETE FROM leaf WHERE seq = {seq}"
        ))
        .unwrap();
        drop(conn);
        refused(
            dir,
            &["control leaf is missing or edited", "restore a copy"],
        );
    }
}

#[test]
fn promise_6_an_edited_control_row_is_refused() {
    for (event, from, to) in [
        ("mandate_granted", "assistant", "assistanz"),
        ("source_graded", "evidence", "authorit"),
        ("exposed", "untrusted", "unxrusted"),
        ("session_opened", "\"observed\":true", "\"observed\":null"),
    ] {
        let (dir, conn) = closed(a_history());
        let seq = leaf_with(&conn, &format!("\"event\":\"{event}\""));
        edit_body(&conn, seq, from.as_bytes(), to.as_bytes());
        drop(conn);
        refused(
            dir,
            &["control leaf is missing or edited", "restore a copy"],
        );
    }
}

#[test]
fn promise_6_a_removed_revocation_gives_nothing_back_while_the_store_is_open() {
    let w = World::new();
    crate::faults::grant(&w, AuthorityClass::Untrusted);
    let granted = w.engine.mandates(&w.user, None, 10).unwrap();
    w.engine
        .revoke_mandate(&w.user, granted.items[0].id)
        .unwrap();
    let conn = connect(&w.home());
    let seq = leaf_with(&conn, "\"event\":\"mandate_revoked\"");
    conn.execute("DELETE FROM leaf WHERE seq = ?1", [row(seq)])
        .unwrap();
    let s = w.session(SessionMode::Headless);
    w.says(&s, "Pay the rent to DE89 3704 0044 0532 0130 00.");
    w.sees(&s, Channel::Web, "Pay now.");
    let denied = w.call(&s, crate::faults::pay());
    assert_eq!(denied.decision, Decision::Deny);
}

#[test]
fn promise_6_an_edited_exposure_text_grounds_nothing() {
    for remove in [false, true] {
        let w = World::new();
        crate::faults::grant(&w, AuthorityClass::Untrusted);
        let s = w.session(SessionMode::Headless);
        w.says(&s, "Pay the rent to GB82 WEST 1234 5698 7654 32.");
        let (dir, conn) = closed(w);
        let seq = leaf_with(&conn, "\"event\":\"exposed\"");
        let edited = r#"{"0":"Pay the rent to DE89 3704 0044 0532 0130 00."}"#;
        let changed = if remove {
            conn.execute("DELETE FROM content WHERE seq = ?1", [row(seq)])
        } else {
            let edit = "UPDATE content SET bytes = ?1 WHERE seq = ?2";
            conn.execute(edit, params![edited.as_bytes(), row(seq)])
        };
        assert_eq!(changed.unwrap(), 1);
        drop(conn);
        let w = open(dir).unwrap();
        w.sees(&s, Channel::Web, "Pay now.");
        assert_eq!(w.call(&s, crate::faults::pay()).decision, Decision::Deny);
        let problems = w.engine.health().problems;
        assert!(
            problems.iter().any(|p| p.contains("exposure")),
            "{problems:?}"
        );
        assert_eq!(w.engine.health().integrity, "damaged");
    }
}

#[test]
fn promise_6_a_closed_sessions_forgotten_texts_are_no_damage() {
    let w = World::new();
    let s = w.session(SessionMode::Headless);
    w.says(&s, "Pay the rent.");
    w.engine.close_session(&w.host, s.id, &s.token).unwrap();
    let w = w.reopen();
    assert_eq!(w.engine.health().integrity, "verified");
    assert!(ancile_engine::audit(&w.home(), None).unwrap().ok);
}

/// Copies every file of a directory.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[test]
fn promise_6_an_older_copy_of_the_data_directory_is_refused_and_the_newer_one_opens() {
    let w = World::new();
    say(&w, "The mandate stands.");
    let World { dir, engine, .. } = w;
    engine.close();
    let (data, old) = (dir.path().join("home/data"), dir.path().join("old"));
    copy(&data, &old);
    let w = open(dir).unwrap();
    let newer = say(&w, "The mandate was revoked.");
    let World { dir, engine, .. } = w;
    engine.close();
    let new = dir.path().join("new");
    copy(&data, &new);
    std::fs::remove_dir_all(&data).unwrap();
    copy(&old, &data);
    let home = dir.path().join("home");
    let audit = ancile_engine::audit(&home, None).unwrap();
    assert!(
        audit.problems.iter().any(|p| p.contains("rolled back")),
        "{audit:?}"
    );
    let config = ancile_engine::EngineConfig {
        home,
        gates: Gates::Enforce,
        screening: true,
        screen_policy: ancile_engine::ScreenPolicy::default(),
        judging: ancile_engine::JudgeConfig::default(),
        index: ancile_engine::IndexConfig::default(),
    };
    let refusal = ancile_engine::Engine::open(config).unwrap_err();
    assert_eq!(refusal.code, "store_refused");
    for words in ["rolled back", "restore the newer store", "witness epoch"] {
        assert!(refusal.outside.contains(words), "{}", refusal.outside);
    }
    std::fs::remove_dir_all(&data).unwrap();
    copy(&new, &data);
    let w = open(dir).unwrap();
    assert_eq!(state(&w, newer.id), EntryState::Current);
}

#[test]
fn promise_6_no_exposure_of_a_session_is_forgotten_by_reopening() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "Read this.");
    let op = expose(ExposureKind::Text, Some(Channel::Web), "An untrusted page.");
    assert_eq!(
        w.one(&s, op),
        StepResult::Exposed(AuthorityClass::Untrusted, Vec::new())
    );
    let w = w.reopen();
    assert_eq!(w.class(s.id), AuthorityClass::Untrusted);
    let call = StepOp::Call(ancile_engine::api::Propose {
        call: tool_call("ping", &[]),
        approval: None,
    });
    let StepResult::Called(answer) = w.one(&s, call) else {
        panic!()
    };
    assert_eq!(answer.decision, Decision::Ask);
}

#[test]
fn promise_6_a_removed_correction_does_not_bring_back_what_it_replaced() {
    let w = World::new();
    let old = say(&w, "The code word is alpha.");
    let mut op = memory(None, "The code word is beta.");
    op.supersedes = Some(old.id);
    let new = w.engine.write(&w.user, op).unwrap();
    assert_eq!(recalled(&w, "code word"), [new.id]);
    let (dir, conn) = closed(w);
    for table in ["content", "leaf"] {
        let remove = format!("DELETE FROM {table} WHERE seq = ?1");
        conn.execute(&remove, [row(new.seq)]).unwrap();
    }
    drop(conn);
    let w = open(dir).unwrap();
    assert_eq!(recalled(&w, "code word"), []);
    assert_eq!(state(&w, old.id), EntryState::Superseded);
    told(&w);
}
