// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that are carried out once.

use crate::world::{World, memory};
use ancile_core::Digest;
use ancile_engine::api::ANSWER_BYTES_MAX;
use ancile_engine::{Caller, Fault, ONCE_KEY_BYTES_MAX, Once, OnceAnswer, Refusal, audit};

fn once(key: &str, request: &str) -> Once {
    Once::new(key, Digest::sha256(request.as_bytes())).unwrap()
}

/// Writes a note once, and answers with its id.
fn note(w: &World, by: &Caller, key: &str, text: &str) -> Result<OnceAnswer, Refusal> {
    let (caller, op) = (by.clone(), memory(None, text));
    w.engine.once(by, once(key, text), move |engine| {
        let written = engine.write(&caller, op)?;
        Ok(format!("{} secret-answer", written.id).into_bytes())
    })
}

#[test]
fn a_request_is_carried_out_once_and_answered_alike() {
    let w = World::new();
    let first = note(&w, &w.user, "k1", "a note").unwrap();
    assert!(!first.again);
    let second = note(&w, &w.user, "k1", "a note").unwrap();
    assert_eq!((&second.bytes, second.again), (&first.bytes, true));
    assert_eq!(w.engine.health().entries, 1);
    let other = note(&w, &w.user, "k1", "another note").unwrap_err();
    assert_eq!(other.code, "idempotency_key_reused");
    // Another key, and the same key of another credential, are other requests.
    assert!(!note(&w, &w.user, "k2", "a note").unwrap().again);
    assert!(!note(&w, &w.host, "k1", "a note").unwrap().again);
    assert_eq!(w.engine.health().entries, 3);
    let w = w.reopen();
    let third = note(&w, &w.user, "k1", "a note").unwrap();
    assert_eq!((&third.bytes, third.again), (&first.bytes, true));
    assert_eq!(w.engine.health().entries, 3);
    let home = w.home();
    w.engine.clone().close();
    let summary = audit(&home, None).unwrap();
    assert!(summary.ok, "{:?}", summary.problems);
}

#[test]
fn a_kept_answer_is_read_by_its_caller_alone() {
    let w = World::new();
    note(&w, &w.user, "k1", "a note").unwrap();
    let home = w.home();
    w.engine.clone().close();
    let bytes = std::fs::read(home.join("data/store.db")).unwrap();
    let has = |text: &[u8]| bytes.windows(text.len()).any(|w| w == text);
    assert!(has(b"a note"));
    assert!(!has(b"secret-answer"));
}

#[test]
fn of_a_refused_request_nothing_is_kept() {
    let w = World::new();
    let refused = note(&w, &w.user, "k1", " ").unwrap_err();
    assert_eq!(refused.code, "empty_text");
    // Nor of one that was carried out in part, whatever it answers.
    let caller = w.user.clone();
    let partly = w.engine.once(&w.user, once("k1", "x"), move |engine| {
        engine.write(&caller, memory(None, "kept?"))?;
        let _refused = engine.write(&caller, memory(None, " "));
        Ok::<_, Refusal>(b"all well".to_vec())
    });
    assert_eq!(partly.unwrap_err().code, "empty_text");
    assert_eq!(w.engine.health().entries, 0);
    let done = note(&w, &w.user, "k1", "a note").unwrap();
    assert!(!done.again, "the key is free");
}

#[test]
fn keys_and_answers_have_limits() {
    let w = World::new();
    for (len, fits) in [
        (0, false),
        (1, true),
        (ONCE_KEY_BYTES_MAX - 1, true),
        (ONCE_KEY_BYTES_MAX, true),
        (ONCE_KEY_BYTES_MAX + 1, false),
    ] {
        let made = Once::new(&"k".repeat(len), Digest([0; 32]));
        assert_eq!(made.is_ok(), fits, "{len}");
    }
    for key in ["a b", "a\n", "\u{e4}", "\u{7f}"] {
        let refused = Once::new(key, Digest([0; 32])).unwrap_err();
        assert_eq!(refused.code, "idempotency_key");
    }
    for (len, fits) in [
        (0, true),
        (ANSWER_BYTES_MAX - 1, true),
        (ANSWER_BYTES_MAX, true),
        (ANSWER_BYTES_MAX + 1, false),
    ] {
        let key = format!("k{len}");
        let (caller, before) = (w.user.clone(), w.engine.health().entries);
        let answer = w.engine.once(&w.user, once(&key, ""), move |engine| {
            engine.write(&caller, memory(None, "a note"))?;
            Ok::<_, Refusal>(vec![b'x'; len])
        });
        match answer {
            Ok(answer) => assert_eq!((answer.bytes.len(), fits), (len, true)),
            Err(refusal) => assert_eq!((refusal.code, fits), ("answer_too_long", false)),
        }
        let entries = before + u64::from(fits);
        assert_eq!(w.engine.health().entries, entries, "{len}");
    }
}

#[test]
fn an_answer_that_was_edited_or_removed_is_not_made_up() {
    let w = World::new();
    note(&w, &w.user, "k1", "a note").unwrap();
    note(&w, &w.user, "k2", "a note").unwrap();
    let database = rusqlite::Connection::open(w.home().join("data/store.db")).unwrap();
    let seqs: Vec<i64> = database
        .prepare("SELECT seq FROM content ORDER BY seq DESC")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    // Note, answer, note, answer.
    let (second, first) = (seqs[0], seqs[2]);
    database
        .execute("UPDATE content SET bytes = x'41' WHERE seq = ?1", [first])
        .unwrap();
    database
        .execute("DELETE FROM content WHERE seq = ?1", [second])
        .unwrap();
    for key in ["k1", "k2"] {
        let refused = note(&w, &w.user, key, "a note").unwrap_err();
        assert_eq!(
            (refused.fault, refused.code),
            (Fault::Conflict, "answer_lost")
        );
    }
    assert_eq!(w.engine.health().entries, 2, "nothing was done again");
}
