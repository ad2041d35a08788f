// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is held until it is judged: it does nothing, no restart loses it, and a person's word on
//! it stands.

use crate::judged::{ESCALATED, PAGE, Told, by, from_the_web, score, settled, shelved, state};
use crate::world::{World, main_namespace, memory, principal, recall};
use ancile_core::{Channel, EntryId, EntryKind, Micros, SessionMode, ToolName};
use ancile_engine::api::{
    BATCH_ENTRIES_MAX, ChatMessage, ChatRole, EntryState, Gates, QuotaSpec, StepOp, StepResult,
    TaskFilter, TaskSpec, Write, Written,
};
use ancile_engine::{
    BackupOptions, Engine, EngineConfig, Fault, FireSpec, JudgeConfig, JudgeFailure, Verdict,
    backup, restore,
};
use std::io::{BufRead as _, BufReader};
use std::num::NonZeroU32;
use std::process::{Command, Stdio};
use std::time::Duration;

const ENFORCED: (Gates, bool) = (Gates::Enforce, true);

/// What a fresh session of the user recalls of the page.
fn recalled(w: &World) -> Vec<String> {
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "When does the ferry leave?");
    w.recalled(&s, "ferry island pier")
}

fn person_recalls(w: &World) -> usize {
    let pack = w
        .engine
        .recall(&w.user, main_namespace(), recall("ferry island pier"));
    pack.unwrap().items.len()
}

/// So many other entries that what came before lies in a segment.
fn bury(w: &World) {
    for n in 0..20 {
        let text = format!("Note {n} on the garden.");
        w.engine.write(&w.user, memory(None, &text)).unwrap();
    }
    w.settled();
}

#[test]
fn what_is_held_is_recalled_by_nobody_until_its_verdict() {
    let judge = Told::waiting(|_| score(0));
    let w = World::judged(by(&judge));
    let written = from_the_web(&w, PAGE);
    assert!(written.pending && !written.quarantined);
    let view = w.engine.entry(&w.user, written.id).unwrap();
    assert_eq!(view.state, EntryState::Pending);
    assert_eq!(view.text.as_deref(), Some(PAGE), "a person can read it");
    assert_eq!(w.engine.entry(&w.agent, written.id).unwrap().text, None);
    assert_eq!((recalled(&w).len(), person_recalls(&w)), (0, 0));
    let shelf = w.engine.quarantine(&w.user, main_namespace(), None, 10);
    assert_eq!(shelf.unwrap().items.len(), 0, "no verdict, no shelf");
    assert_eq!(w.engine.counts().pending(), 1);
    bury(&w);
    assert_eq!((recalled(&w).len(), person_recalls(&w)), (0, 0));
    judge.tell();
    assert_eq!(settled(&w, written.id), EntryState::Current);
    assert_eq!((recalled(&w).len(), person_recalls(&w)), (1, 1));
    assert_eq!(w.engine.counts().pending(), 0);
}

#[test]
fn what_is_held_replaces_nothing_and_is_not_endorsed() {
    for (points, old_state) in [(0, EntryState::Superseded), (900, EntryState::Current)] {
        let judge = Told::waiting(move |_| score(points));
        let w = World::new();
        let old = from_the_web(&w, PAGE);
        let w = w.reopen_judged(ENFORCED, by(&judge));
        let newer = Write {
            supersedes: Some(old.id),
            ..memory(Some(Channel::Web), "The ferry to the island leaves at ten.")
        };
        let newer = w.engine.write(&w.host, newer).unwrap();
        assert!(newer.pending);
        assert_eq!(state(&w, old.id), EntryState::Current);
        assert_eq!(recalled(&w).len(), 1);
        let refused = w.engine.endorse(&w.user, newer.id, newer.hash, vec![]);
        assert_eq!(refused.unwrap_err().code, "entry_pending");
        judge.tell();
        settled(&w, newer.id);
        assert_eq!(state(&w, old.id), old_state);
        assert_eq!(recalled(&w).len(), 1);
    }
}

#[test]
fn what_is_held_does_not_fire() {
    let judge = Told::waiting(|_| score(0));
    let w = World::judged(by(&judge));
    let task = Write {
        kind: EntryKind::Task,
        task: Some(TaskSpec {
            due: Micros(0),
            every_seconds: None,
            call: None,
        }),
        ..memory(Some(Channel::Web), "Look at the timetable.")
    };
    let task = w.engine.write(&w.host, task).unwrap();
    let fire = || {
        let spec = FireSpec {
            agent: principal("assistant"),
            user: principal("alice"),
        };
        w.engine.fire(&w.host, task.id, spec)
    };
    let due = || {
        let filter = TaskFilter {
            namespace: main_namespace(),
            due_only: true,
        };
        let page = w.engine.tasks(&w.host, filter, None, 10);
        page.unwrap().items.len()
    };
    let refused = fire().unwrap_err();
    assert_eq!((refused.code, due()), ("task_withheld", 0));
    judge.tell();
    assert_eq!(settled(&w, task.id), EntryState::Current);
    assert_eq!(due(), 1);
    fire().unwrap();
}

#[test]
fn what_a_person_says_of_a_held_entry_stands_against_a_later_verdict() {
    for points in [0, 900] {
        let judge = Told::waiting(move |_| score(points));
        let w = World::judged(by(&judge));
        let [free, gone, erased, last] = ["one", "two", "three", "four"]
            .map(|n| from_the_web(&w, &format!("The ferry leaves pier {n}.")));
        let other = w.engine.discard(&w.user, gone.id, free.hash).unwrap_err();
        assert_eq!(other.code, "other_digest");
        let view = w
            .engine
            .release(&w.user, free.id, free.hash, "A timetable.");
        assert_eq!(view.unwrap().state, EntryState::Current);
        w.engine.discard(&w.user, gone.id, gone.hash).unwrap();
        w.engine.erase(&w.user, erased.id).unwrap();
        assert_eq!(w.engine.counts().pending(), 1);
        assert_eq!(recalled(&w).len(), 1);
        judge.tell();
        settled(&w, last.id);
        let w = w.reopen_judged(ENFORCED, by(&judge));
        let states = [&free, &gone, &erased].map(|one| state(&w, one.id));
        let expected = [
            EntryState::Current,
            EntryState::Discarded,
            EntryState::Erased,
        ];
        assert_eq!(states, expected, "{points}");
        let view = w.engine.entry(&w.user, free.id).unwrap();
        assert_eq!(view.judged, None);
        let refused = w.engine.discard(&w.user, free.id, free.hash).unwrap_err();
        assert_eq!(refused.code, "not_quarantined");
    }
}

#[test]
fn what_is_evicted_while_it_is_held_stays_gone() {
    let judge = Told::waiting(|_| score(0));
    let w = World::judged(by(&judge));
    let quota = QuotaSpec {
        namespace: Some(main_namespace()),
        principal: None,
        entries: Some(1),
        bytes: None,
    };
    w.engine.set_quota(&w.operator, quota).unwrap();
    let [first, second] =
        ["one", "two"].map(|n| from_the_web(&w, &format!("The ferry leaves pier {n}.")));
    assert_eq!(state(&w, first.id), EntryState::Evicted);
    assert_eq!(w.engine.counts().pending(), 1);
    judge.tell();
    assert_eq!(settled(&w, second.id), EntryState::Current);
    assert_eq!(state(&w, first.id), EntryState::Evicted);
    assert_eq!(recalled(&w).len(), 1);
}

#[test]
fn an_agent_lets_nothing_out_that_is_held() {
    let judge = Told::waiting(|_| score(0));
    let w = World::judged(by(&judge));
    let one = from_the_web(&w, PAGE);
    for by in [&w.agent, &w.host] {
        let refused = w.engine.release(by, one.id, one.hash, "It is fine.");
        assert_eq!(refused.unwrap_err().fault, Fault::Forbidden);
    }
    assert_eq!(state(&w, one.id), EntryState::Pending);
    judge.tell();
}

#[test]
fn beyond_the_limit_writes_are_refused_and_nothing_of_them_is_kept() {
    let judge = Told::waiting(|_| score(0));
    let config = JudgeConfig {
        pending_max: NonZeroU32::new(3).unwrap(),
        ..by(&judge)
    };
    let w = World::judged(config);
    let page = |n: usize| memory(Some(Channel::Web), &format!("The ferry leaves pier {n}."));
    let first = from_the_web(&w, PAGE);
    let all = || {
        let page = w.engine.entries(&w.user, main_namespace(), None, 99);
        page.unwrap().items
    };
    // Two more fit; three do not, and then none is kept.
    let refused = w.engine.write_batch(&w.host, (0..3).map(page).collect());
    let refused = refused.unwrap_err();
    assert_eq!((refused.fault, refused.code), (Fault::Limit, "judge_busy"));
    let says = "entry 2: 3 writes wait for the judge; limit is 3;";
    assert!(refused.outside.starts_with(says), "{}", refused.outside);
    assert_eq!((all().len(), w.engine.counts().pending()), (1, 1));
    let both = w.engine.write_batch(&w.host, (0..2).map(page).collect());
    assert!(both.unwrap().iter().all(|w| w.pending));
    let refused = w.engine.write(&w.host, page(9)).unwrap_err();
    assert_eq!(refused.code, "judge_busy");
    // What nobody judges is written all the same.
    let own = w.engine.write(&w.user, memory(None, PAGE)).unwrap();
    assert!(!own.pending);
    assert_eq!(w.engine.counts().pending(), 3);
    w.engine.erase(&w.user, first.id).unwrap();
    assert!(w.engine.write(&w.host, page(9)).unwrap().pending);
    judge.tell();
    for view in all() {
        settled(&w, view.id);
    }
}

#[test]
fn the_largest_batch_fits_under_a_limit_of_its_size_and_not_below() {
    for (most, code) in [
        (BATCH_ENTRIES_MAX, None),
        (BATCH_ENTRIES_MAX - 1, Some("judge_busy")),
    ] {
        let judge = Told::waiting(|_| score(0));
        let config = JudgeConfig {
            pending_max: NonZeroU32::new(u32::try_from(most).unwrap()).unwrap(),
            ..by(&judge)
        };
        let w = World::judged(config);
        let page = |n: usize| memory(Some(Channel::Web), &format!("The ferry leaves pier {n}."));
        let batch = (0..BATCH_ENTRIES_MAX).map(page).collect();
        let refused = w.engine.write_batch(&w.host, batch).err();
        assert_eq!(refused.as_ref().map(|refusal| refusal.code), code);
        if let Some(refusal) = refused {
            assert!(refusal.outside.ends_with("or less at a time"), "{refusal}");
        }
        judge.tell();
    }
}

#[test]
fn every_way_in_holds_what_is_to_be_judged() {
    let judge = Told::waiting(|_| score(900));
    let w = World::judged(by(&judge));
    let s = w.session(SessionMode::Interactive);
    let says = |role, content: &str| ChatMessage {
        role,
        content: content.to_owned(),
        tool: (role == ChatRole::Tool).then(|| ToolName::new("search").unwrap()),
        permit: None,
    };
    let messages = vec![
        says(ChatRole::User, "When does the ferry leave?"),
        says(ChatRole::Assistant, "I look it up."),
        says(ChatRole::Tool, PAGE),
        says(ChatRole::Assistant, "At nine."),
    ];
    let added = w
        .engine
        .add_messages(&w.host, (s.id, &s.token), messages, vec![])
        .unwrap();
    let added = added.messages.into_iter().filter_map(|m| m.written);
    let mut written: Vec<Written> = added.collect();
    let held: Vec<bool> = written.iter().map(|w| w.pending).collect();
    assert_eq!(held, [false, false, true, true]);
    let step = StepOp::Write(memory(Some(Channel::Tool), "The pier is old."));
    match w.one(&s, step) {
        StepResult::Written(one) => written.push(one),
        other => panic!("{other:?}"),
    }
    let batch = vec![memory(Some(Channel::Document), "The pier is long."); 2];
    written.extend(w.engine.write_batch(&w.host, batch).unwrap());
    let weaker = memory(Some(Channel::Paste), "The pier is high.");
    written.push(w.engine.write(&w.user, weaker).unwrap());
    assert!(written.iter().skip(2).all(|w| w.pending), "{written:?}");
    judge.tell();
    for (at, one) in written.iter().enumerate() {
        let expected = match at {
            0 | 1 => EntryState::Current,
            _ => shelved(ESCALATED),
        };
        assert_eq!(settled(&w, one.id), expected);
    }
}

/// A store in which two entries are held, since its judge does not return.
fn left() -> (World, EntryId, EntryId) {
    let judge = Told::waiting(|_| score(0));
    let w = World::judged(by(&judge));
    let asked = from_the_web(&w, PAGE).id;
    let waits = from_the_web(&w, "The lighthouse is closed in winter.").id;
    bury(&w);
    (w, asked, waits)
}

#[test]
fn a_judge_is_told_when_the_store_closes() {
    for close in [true, false] {
        let judge = Told::waiting(|_| score(0));
        let w = World::judged(by(&judge));
        from_the_web(&w, PAGE);
        let other = w.engine.clone();
        drop(w.engine);
        assert!(!judge.is_closed(), "another handle has it open");
        match close {
            true => other.close(),
            false => drop(other),
        }
        assert!(judge.is_closed());
    }
}

#[test]
fn what_was_held_at_the_end_is_judged_after_the_next_start() {
    let (w, one, other) = left();
    let judge = Told::waiting(|text| score(if text == PAGE { 0 } else { 900 }));
    let w = w.reopen_judged(ENFORCED, by(&judge));
    assert_eq!(state(&w, one), EntryState::Pending);
    assert_eq!((w.engine.counts().pending(), recalled(&w).len()), (2, 0));
    judge.tell();
    assert_eq!(settled(&w, one), EntryState::Current);
    assert_eq!(settled(&w, other), shelved(ESCALATED));
}

#[test]
fn without_a_judge_nothing_stays_held() {
    for on_failure in [JudgeFailure::Quarantine, JudgeFailure::FallBack] {
        let (w, one, other) = left();
        let config = JudgeConfig {
            on_failure,
            ..JudgeConfig::default()
        };
        let w = w.reopen_judged(ENFORCED, config);
        for id in [one, other] {
            let view = w.engine.entry(&w.user, id).unwrap();
            let judged = view.judged.unwrap();
            assert_eq!(judged.failure.as_deref(), Some("no_judge"));
            assert_eq!((judged.judge, judged.score), (None, None));
            let (state, verdict) = match on_failure {
                JudgeFailure::FallBack => (EntryState::Current, Verdict::Flag),
                JudgeFailure::Quarantine => (
                    shelved("judge at write: no score (no_judge)"),
                    Verdict::Quarantine,
                ),
            };
            assert_eq!((view.state, judged.verdict), (state, verdict));
        }
        assert_eq!(w.engine.counts().pending(), 0);
        // And nothing waits for one that is not there.
        assert!(!from_the_web(&w, "The harbour office opens at eight.").pending);
    }
}

#[test]
fn a_dropped_handle_lets_go_of_the_store_though_the_judge_hangs() {
    let (w, one, _) = left();
    let World { dir, engine, .. } = w;
    // Not closed.
    drop(engine);
    let home = dir.path().join("home");
    let mut tries = 0;
    let engine = loop {
        // The writer's thread lets go of the directory a moment later.
        match Engine::open(EngineConfig::new(&home)) {
            Ok((engine, _)) => break engine,
            Err(refusal) => assert_eq!(refusal.code, "store_locked"),
        }
        tries += 1;
        assert!(tries < 2_000, "the directory stays locked");
        std::thread::sleep(Duration::from_millis(5));
    };
    let token = std::fs::read_to_string(home.join("keys/user.key")).unwrap();
    let user = engine.authenticate(token.trim()).unwrap();
    let view = engine.entry(&user, one).unwrap();
    assert_eq!(view.state, shelved("judge at write: no score (no_judge)"));
}

#[test]
fn an_entry_edited_while_it_is_held_goes_to_no_judge_and_to_nobody() {
    let (w, one, other) = left();
    let edited = PAGE.replace("leaves at nine", "is yours alone");
    let dir = crate::tamper::edit(w, PAGE, &edited);
    let judge = Told::new(|_| score(0));
    let config = JudgeConfig {
        on_failure: JudgeFailure::FallBack,
        ..by(&judge)
    };
    let w = World::open_judged(dir, config);
    assert_eq!(settled(&w, other), EntryState::Current);
    for _ in 0..6_000 {
        if w.engine.counts().pending() == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(w.engine.counts().pending(), 0);
    assert!(matches!(state(&w, one), EntryState::Broken(_)));
    let shown = recalled(&w);
    for text in judge.asked().iter().chain(&shown) {
        assert!(!text.contains("yours"), "{text}");
    }
}

#[test]
fn a_restore_leaves_held_what_the_copy_holds() {
    let (w, one, _) = left();
    let copy = w.dir.path().join("copy");
    let plain = BackupOptions {
        with_keys: false,
        accept_damage: false,
    };
    backup(&w.home(), &copy, plain).unwrap();
    let home = w.home();
    let World { dir, engine, .. } = w;
    engine.close();
    assert!(restore(&home, &copy, true).unwrap().done);
    let judge = Told::new(|_| score(0));
    let w = World::open_judged(dir, by(&judge));
    assert_eq!(settled(&w, one), EntryState::Current);
    let judged = w.engine.entry(&w.user, one).unwrap().judged;
    assert_eq!(judged, None, "the restore itself gave no verdict");
}

#[test]
fn what_was_held_when_the_process_was_killed_is_judged_after_the_next_start() {
    let w = World::new();
    let home = w.home();
    let World { dir, engine, .. } = w;
    engine.close();
    let path = crate::kill::program().with_file_name("holds_until_killed");
    let mut child = Command::new(path)
        .arg(&home)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut ids = Vec::new();
    for _ in 0..30 {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        ids.push(EntryId::parse(line.trim()).unwrap());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let judge = Told::waiting(|_| score(900));
    let w = World::open_judged(dir, by(&judge));
    for id in &ids {
        assert_eq!(state(&w, *id), EntryState::Pending);
    }
    assert_eq!((recalled(&w).len(), person_recalls(&w)), (0, 0));
    judge.tell();
    for id in &ids {
        assert_eq!(settled(&w, *id), shelved(ESCALATED));
    }
    assert_eq!(person_recalls(&w), 0);
}
