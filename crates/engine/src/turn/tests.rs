// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that depend on the moment, at the moment before, the moment itself and the one after.
//!
//! The clock of a store never goes back, so that a test sets it ahead and knows it exactly.

#[path = "../../tests/it/world.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod world;

use crate::FireSpec;
use crate::api::{
    ApprovalState, Gates, OPEN_ASKS_MAX, Propose, Reason, SessionOpened, StepOp, StepResult,
    TaskSpec, Write,
};
use ancile_core::{
    ApprovalId, AuthorityClass, Channel, Decision, EntryKind, Micros, ProposedCall, SessionMode,
    Value,
};
use std::collections::BTreeSet;
use world::{World, main_namespace, memory, principal, recall, sealing, text, tool_call};

const SECOND: i64 = 1_000_000;
const GOOD: &str = "DE89370400440532013000";

/// Sets the clock of a store to a moment that is still to come.
fn set(w: &World, moment: Micros) {
    let done = w.engine.writer.submit(move |turn| {
        assert!(turn.now <= moment, "the clock is past it");
        turn.core.last = moment;
        Ok(())
    });
    done.unwrap();
    let now = w.engine.writer.submit(|turn| Ok(turn.now)).unwrap();
    assert_eq!(now, moment);
}

fn now(w: &World) -> Micros {
    w.engine.writer.submit(|turn| Ok(turn.now)).unwrap()
}

const fn after(moment: Micros, microseconds: i64) -> Micros {
    Micros(moment.0 + microseconds)
}

fn pay(to: &str) -> ProposedCall {
    let amount = Value::Number("900".into());
    tool_call("pay", &[("to", text(to)), ("amount", amount)])
}

/// An interactive session that was shown a page: its payments ask.
fn poisoned(w: &World) -> SessionOpened {
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "Pay this invoice.");
    w.sees(&s, Channel::Document, "An invoice.");
    s
}

fn with(w: &World, s: &SessionOpened, id: ApprovalId) -> Result<Decision, &'static str> {
    let op = StepOp::Call(Propose {
        call: pay(GOOD),
        approval: Some(id),
    });
    match w.step(s, vec![op]) {
        Ok(mut answer) => match answer.results.remove(0) {
            StepResult::Called(answer) => Ok(answer.decision),
            other => panic!("{other:?}"),
        },
        Err(refusal) => Err(refusal.code),
    }
}

#[test]
fn a_permit_is_redeemed_within_thirty_seconds() {
    let w = World::new();
    for (late, expected) in [
        (-1, None),
        (0, Some("permit_expired")),
        (1, Some("permit_expired")),
    ] {
        let s = w.session(SessionMode::Interactive);
        w.says(&s, "Pay the rent to DE89 3704 0044 0532 0130 00.");
        let before = now(&w);
        set(&w, after(before, SECOND));
        let answer = w.call(&s, pay(GOOD));
        let expires = answer.permit_expires.unwrap();
        assert_eq!(expires, after(before, 31 * SECOND));
        set(&w, after(expires, late));
        let redeem = StepOp::Redeem(answer.permit.unwrap(), pay(GOOD));
        let refused = w.step(&s, vec![redeem]).err().map(|refusal| refusal.code);
        assert_eq!(refused, expected, "{late} microseconds late");
    }
}

#[test]
fn an_ask_is_answered_and_used_within_a_day() {
    let w = World::new();
    for (late, expected) in [
        (-1, None),
        (0, Some("approval_expired")),
        (1, Some("approval_expired")),
    ] {
        let s = poisoned(&w);
        let before = now(&w);
        set(&w, after(before, SECOND));
        let [asked, approved] = [(); 2].map(|()| w.call(&s, pay(GOOD)));
        let [id, used] = [&asked, &approved].map(|answer| answer.approval.unwrap());
        w.engine
            .approve_once(&w.user, used, approved.digest)
            .unwrap();
        let view = w.engine.approval(&w.user, id).unwrap();
        assert_eq!(view.expires, after(before, 86_401 * SECOND));
        set(&w, after(view.expires, late));
        let states = [id, used].map(|id| w.engine.approval(&w.user, id).unwrap().state);
        let (answered, called) = match expected {
            None => {
                let open = [ApprovalState::Waiting, ApprovalState::Approved];
                assert_eq!(states, open);
                (None, Ok(Decision::Permit))
            }
            Some(code) => {
                assert_eq!(states, [ApprovalState::Expired; 2]);
                (Some(code), Err(code))
            }
        };
        assert_eq!(with(&w, &s, used), called, "{late} microseconds late");
        let refused = w.engine.approve_once(&w.user, id, asked.digest);
        assert_eq!(refused.err().map(|refusal| refusal.code), answered);
    }
}

#[test]
fn five_asks_of_a_session_wait_and_no_more() {
    let w = World::new();
    let s = poisoned(&w);
    let ask = |s: &SessionOpened| {
        let answer = w.call(s, pay(GOOD));
        let full = answer
            .reasons
            .iter()
            .any(|r| r.rule == "call.too_many_asks");
        assert_eq!(full, answer.decision == Decision::Deny, "{answer:?}");
        answer.approval
    };
    let asks: Vec<_> = (0..OPEN_ASKS_MAX).map(|_| ask(&s).unwrap()).collect();
    assert_eq!(asks.len(), 5);
    assert_eq!(ask(&s), None, "a sixth");
    assert!(ask(&poisoned(&w)).is_some(), "of another session");
    w.engine.deny(&w.user, asks[0]).unwrap();
    assert!(ask(&s).is_some(), "one was answered");
    assert_eq!(ask(&s), None);
    let expires = w.engine.approval(&w.user, asks[1]).unwrap().expires;
    set(&w, after(expires, -1));
    assert_eq!(ask(&s), None, "all wait still");
    set(&w, expires);
    assert!(ask(&s).is_some(), "one has lapsed");
}

#[test]
fn a_call_names_so_many_values_that_the_store_keeps_in_mind() {
    let w = World::new();
    // Texts that have just so many readings in all: a number has 5, and marks have 4.
    let texts = |named: usize| {
        w.engine.writer.submit(move |turn| {
            let (mut texts, mut read) = (Vec::new(), BTreeSet::new());
            while read.len() < named {
                let next = texts.len() + 1;
                let next = match (named - read.len()) % 4 {
                    0 => "?".repeat(next),
                    _ => format!("{next}.5"),
                };
                read.append(&mut turn.readings(&next));
                texts.push(next);
            }
            assert_eq!(read.len(), named);
            Ok(texts)
        })
    };
    for (named, expected) in [
        (383, Decision::Ask),
        (384, Decision::Ask),
        (385, Decision::Deny),
    ] {
        let list = texts(named).unwrap();
        let list = Value::List(list.iter().map(|one| text(one)).collect());
        let answer = w.call(&poisoned(&w), tool_call("unlisted", &[("list", list)]));
        assert_eq!(answer.decision, expected, "{named}");
        let said = |r: &Reason| r.rule == "call.too_many_values";
        let said = answer.reasons.iter().any(said);
        assert_eq!(said, expected == Decision::Deny, "{:?}", answer.reasons);
    }
}

#[test]
fn an_entry_is_recalled_in_the_time_it_is_valid_for() {
    for sealed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        crate::Engine::init(&dir.path().join("home")).unwrap();
        let index = sealing(if sealed { 2 } else { 1_000 });
        let w = World::open_with(dir, (Gates::Enforce, true), index).unwrap();
        let from = after(now(&w), 3_600 * SECOND);
        let until = after(from, 3_600 * SECOND);
        for words in ["The landlord is Mr Weber.", "The landlord is on holiday."] {
            let mut op = memory(None, words);
            if words.contains("holiday") {
                (op.valid_from, op.valid_until) = (Some(from), Some(until));
            }
            w.engine.write(&w.user, op).unwrap();
        }
        assert_eq!(w.settled().sealed, if sealed { 2 } else { 0 });
        let found = |as_of: Option<Micros>| {
            let mut op = recall("landlord");
            op.as_of = as_of;
            let pack = w.engine.recall(&w.user, main_namespace(), op).unwrap();
            pack.items.len() == 2
        };
        let moments = [
            (after(from, -1), false),
            (from, true),
            (after(until, -1), true),
            (until, false),
        ];
        for (moment, valid) in moments {
            set(&w, moment);
            assert_eq!(found(None), valid, "sealed {sealed}, {moment:?}");
        }
        for (moment, valid) in moments {
            assert_eq!(found(Some(moment)), valid, "as of {moment:?}");
        }
    }
}

#[test]
fn each_fire_is_a_fresh_session_that_sees_no_class_4() {
    let w = World::new();
    let page = memory(Some(Channel::Web), "The rent went up.");
    w.engine.write(&w.host, page).unwrap();
    let due = now(&w);
    let task = Write {
        kind: EntryKind::Task,
        task: Some(TaskSpec {
            due,
            every_seconds: Some(60),
            call: None,
        }),
        ..memory(None, "Look at the rent.")
    };
    let task = w.engine.write(&w.user, task).unwrap().id;
    let spec = || FireSpec {
        agent: principal("assistant"),
        user: principal("alice"),
    };
    let fire = || w.engine.fire(&w.host, task, spec());
    let first = fire().unwrap().session.unwrap();
    assert!(
        w.recalled(&first, "rent")
            .iter()
            .all(|t| !t.contains("went up"))
    );
    assert_eq!(w.class(first.id), AuthorityClass::UserAuthored);
    w.sees(&first, Channel::Web, "A page.");
    assert_eq!(w.class(first.id), AuthorityClass::Untrusted);
    set(&w, after(due, 60 * SECOND - 1));
    assert_eq!(fire().unwrap_err().code, "task_not_due");
    set(&w, after(due, 60 * SECOND));
    let second = fire().unwrap().session.unwrap();
    assert_ne!(second.id, first.id);
    assert_ne!(second.token, first.token);
    assert_eq!(w.class(second.id), AuthorityClass::UserAuthored);
    assert_eq!(w.class(first.id), AuthorityClass::Untrusted);
    let other = w.session(SessionMode::Interactive);
    w.says(&other, "What about the rent?");
    assert!(
        w.recalled(&other, "rent")
            .iter()
            .any(|t| t.contains("went up"))
    );
}
