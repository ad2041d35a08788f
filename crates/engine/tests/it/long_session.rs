// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session of 10,000 exposures: all that a short one answers, it answers as well.

use crate::world::{World, expose, memory, recall, text, tool_call};
use ancile_core::{AuthorityClass, Channel, Decision, SessionMode};
use ancile_engine::Fault;
use ancile_engine::api::{
    ExposureKind, STEP_OPS_MAX, SessionOpened, StepOp, StepResult, ToolResult,
};

const EXPOSURES: u64 = 10_000;
/// Every so many exposures one has a secret in it.
const FLAGGED_EVERY: u64 = 100;
/// Origins that a session's class is explained with, as the engine keeps them.
const ORIGINS_KEPT: usize = 16;

/// Shows a session so many texts, as many a step as there may be.
fn show(w: &World, s: &SessionOpened, numbers: std::ops::Range<u64>) {
    let text = |n: u64| match n % FLAGGED_EVERY {
        0 => format!("Page {n} has the key AKIAQWERTYUIOPASDFGH in it."),
        _ => format!("Page {n} says that parcel {n} costs {n}.50 EUR."),
    };
    let all: Vec<u64> = numbers.collect();
    for some in all.chunks(STEP_OPS_MAX) {
        let ops = some.iter().map(|n| {
            let mut op = expose(ExposureKind::Text, Some(Channel::Web), &text(*n));
            if let StepOp::Expose(op) = &mut op {
                op.locator = format!("https://site{}.example/{n}", n % 40);
            }
            op
        });
        w.step(s, ops.collect()).unwrap();
    }
}

#[test]
fn a_session_of_ten_thousand_exposures_recalls_acts_and_says_why() {
    let w = World::new();
    let kept = memory(
        None,
        "Alice pays the rent to DE89370400440532013000 each month.",
    );
    w.engine.write(&w.user, kept).unwrap();
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "Pay 12 EUR to DE02120300000000202051, please.");
    let pay = |to: &str| {
        let args = [("to", text(to)), ("amount", text("12 EUR"))];
        tool_call("pay", &args)
    };
    // Before anything of class 4 the user's word is enough.
    let first = w.call(&s, pay("DE02120300000000202051"));
    assert_eq!(first.decision, Decision::Permit, "{:?}", first.reasons);
    let permit = first.permit.unwrap();
    w.one(&s, StepOp::Redeem(permit, pay("DE02120300000000202051")));
    let done = ToolResult::NotShown;
    w.one(&s, StepOp::Result(permit, done));

    show(&w, &s, 1..EXPOSURES);
    let view = w.engine.session(&w.host, s.id).unwrap();
    assert_eq!(view.exposure_len, EXPOSURES);
    // The user's own turn, which names an account, is one.
    assert_eq!(view.flagged, 1 + (EXPOSURES - 1) / FLAGGED_EVERY);
    assert_eq!(view.class, AuthorityClass::Untrusted);
    // The first origins explain it, however many there were.
    let origins = view.why.strip_prefix("it was shown: ").unwrap();
    assert_eq!(origins.split("; ").count(), ORIGINS_KEPT, "{}", view.why);

    // A value that only the last pages had, and one of the user's, without a mandate.
    let foreign = w.call(&s, pay("DE89370400440532013000"));
    assert_eq!(foreign.decision, Decision::Ask);
    let own = w.call(&s, pay("DE02120300000000202051"));
    assert_eq!(own.decision, Decision::Ask);
    let rules = |reasons: &[ancile_engine::api::Reason]| -> Vec<String> {
        reasons.iter().map(|r| r.rule.clone()).collect()
    };
    assert!(
        rules(&foreign.reasons).contains(&"call.not_grounded".to_owned()),
        "{:?}",
        foreign.reasons
    );
    assert!(
        !rules(&own.reasons).contains(&"call.not_grounded".to_owned()),
        "{:?}",
        own.reasons
    );

    let texts = w.recalled(&s, "who does Alice pay the rent to");
    assert!(texts.iter().any(|t| t.contains("the rent")), "{texts:?}");
    let written = w.remember(&s, "The pages were about accounts.");
    assert_eq!(written.class, AuthorityClass::Untrusted);
    let told = w.engine.entry(&w.user, written.id).unwrap();
    assert_eq!(told.class, AuthorityClass::Untrusted);

    // Replayed, it is the same session.
    let before = w.engine.session(&w.host, s.id).unwrap();
    let w = w.reopen();
    assert_eq!(w.engine.session(&w.host, s.id).unwrap(), before);
    let again = w.call(&s, pay("DE02120300000000202051"));
    assert_eq!(again.decision, Decision::Ask);
}

/// Recalled entries are shown too, and are parents of what is written: as many as the lineage of
/// one entry reaches.
#[test]
fn what_a_long_session_writes_verifies_with_all_that_it_was_shown() {
    let w = World::new();
    for n in 0..40 {
        let note = memory(None, &format!("Note {n} on the boiler."));
        w.engine.write(&w.user, note).unwrap();
    }
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "What about the boiler?");
    for _ in 0..20 {
        let ask = || {
            let mut ask = recall("boiler");
            ask.k = Some(40);
            StepOp::Recall(ask)
        };
        let answer = w.step(&s, (0..8).map(|_| ask()).collect()).unwrap();
        assert_eq!(answer.class, AuthorityClass::UserAuthored);
    }
    let view = w.engine.session(&w.host, s.id).unwrap();
    assert_eq!(view.exposure_len, 1 + 20 * 8 * 40);
    let written: Vec<_> = (0..3)
        .map(|n| w.remember(&s, &format!("Summary {n} of the heating.")))
        .collect();
    let w = w.reopen();
    for one in &written {
        assert_eq!(one.class, AuthorityClass::AgentDerived);
        let read = w.engine.entry(&w.user, one.id).unwrap();
        assert_eq!(read.class, AuthorityClass::AgentDerived);
    }
    let texts = w.recalled(&s, "summary of the heating");
    let summaries = texts.iter().filter(|text| text.contains("Summary"));
    assert_eq!(summaries.count(), 3, "{texts:?}");
}

#[test]
fn a_step_takes_as_many_exposures_as_its_limit_and_one_more_takes_none() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    let page = || expose(ExposureKind::Text, Some(Channel::Web), "A page.");
    let mut shown = 0;
    for (count, fits) in [
        (STEP_OPS_MAX - 1, true),
        (STEP_OPS_MAX, true),
        (STEP_OPS_MAX + 1, false),
    ] {
        let answer = w.step(&s, (0..count).map(|_| page()).collect());
        match answer {
            Ok(answer) => {
                assert!(fits, "{count}");
                shown += u64::try_from(count).unwrap();
                assert_eq!(answer.exposure_len, shown);
                let told = |r: &StepResult| matches!(r, StepResult::Exposed(_, f) if f.is_empty());
                assert!(answer.results.iter().all(told));
            }
            Err(refusal) => {
                assert!(!fits, "{refusal:?}");
                assert_eq!(
                    (refusal.fault, refusal.code),
                    (Fault::Limit, "too_many_ops")
                );
            }
        }
    }
    assert_eq!(w.engine.session(&w.host, s.id).unwrap().exposure_len, shown);
}
