// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many callers at once.

use crate::faults::{grant, pay};
use crate::world::{World, main_namespace, memory, principal, recall, tool_call};
use ancile_core::{
    AuthorityClass, Channel, Decision, EntryId, PermitId, Role, SessionId, SessionMode,
};
use ancile_engine::Fault;
use ancile_engine::api::{ApprovalState, EntryState, Gates, KeySpec, StepOp, StepResult};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Operations of each thread.
const OPS: usize = 15;

/// Ends the process when a test hangs: a deadlock is a failure, not a wait.
struct Watchdog(std::sync::mpsc::Sender<()>);

impl Watchdog {
    fn start(test: &'static str) -> Self {
        let (alive, wait) = std::sync::mpsc::channel::<()>();
        std::thread::spawn(move || {
            use std::sync::mpsc::RecvTimeoutError::Timeout;
            if wait.recv_timeout(Duration::from_secs(120)) == Err(Timeout) {
                eprintln!("{test} hangs");
                std::process::exit(101);
            }
        });
        Self(alive)
    }

    fn end(self) {
        drop(self.0);
    }
}

type Kept = Mutex<Vec<(EntryId, String)>>;

fn writes(w: &World, kept: &Kept, thread: usize) {
    for number in 0..OPS {
        let text = format!("Note {number} of writer {thread}: the rent is due.");
        let written = w.engine.write(&w.user, memory(None, &text)).unwrap();
        assert_eq!(written.class, AuthorityClass::UserAuthored);
        let view = w.engine.entry(&w.user, written.id).unwrap();
        assert_eq!((view.hash, view.text.as_ref()), (written.hash, Some(&text)));
        kept.lock().unwrap().push((written.id, text));
    }
}

fn runs_sessions(w: &World, kept: &Kept, thread: usize) {
    for number in 0..OPS / 3 {
        let s = w.session(SessionMode::Interactive);
        w.says(&s, "When is the rent due?");
        let text = format!("Summary {number} of session thread {thread}.");
        let written = w.remember(&s, &text);
        assert_eq!(written.class, AuthorityClass::AgentDerived);
        kept.lock().unwrap().push((written.id, text));
        w.sees(&s, Channel::Web, "Pay the rent elsewhere.");
        assert_eq!(w.call(&s, tool_call("ping", &[])).decision, Decision::Ask);
        assert_eq!(w.class(s.id), AuthorityClass::Untrusted);
    }
}

fn recalls(w: &World) {
    let mut before = 0;
    for _ in 0..OPS {
        let pack = w
            .engine
            .recall(&w.user, main_namespace(), recall("rent due"))
            .unwrap();
        assert!(
            pack.items.len() >= before.min(3),
            "what was found is found again"
        );
        assert_eq!(pack.withheld, 0);
        before = pack.items.len();
    }
}

fn answers_asks(w: &World, approved: &AtomicUsize) {
    for _ in 0..OPS {
        let page = w.engine.approvals(&w.user, None, 50).unwrap();
        for ask in page.items {
            if ask.state == ApprovalState::Waiting {
                let done = w.engine.approve_once(&w.user, ask.id, ask.digest).unwrap();
                assert_eq!(done.state, ApprovalState::Approved);
                approved.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

fn makes_and_revokes_keys(w: &World) {
    for number in 0..OPS / 3 {
        let spec = KeySpec {
            principal: principal(&format!("user-{number}")),
            role: Role::User,
            namespaces: vec![main_namespace()],
            channels: vec![Channel::User],
            agent: None,
            relays_user: false,
            expires: None,
        };
        let made = w.engine.make_key(&w.operator, spec).unwrap();
        let caller = w.engine.authenticate(&made.token).unwrap();
        let pack = w.engine.recall(&caller, main_namespace(), recall("rent"));
        pack.unwrap();
        w.engine.revoke_key(&w.operator, &made.id).unwrap();
        let late = w
            .engine
            .write(&caller, memory(None, "Too late."))
            .unwrap_err();
        assert_eq!(late.fault, Fault::Unauthenticated);
        let again = w.engine.authenticate(&made.token).unwrap_err();
        assert_eq!(again.fault, Fault::Unauthenticated);
    }
}

fn lists(w: &World) {
    for _ in 0..OPS {
        let page = w
            .engine
            .entries(&w.user, main_namespace(), None, 50)
            .unwrap();
        let seqs: Vec<u64> = page.items.iter().map(|e| e.seq).collect();
        assert!(seqs.windows(2).all(|pair| pair[0] > pair[1]), "{seqs:?}");
        assert_eq!(w.engine.health().integrity, "verified");
    }
}

#[test]
fn promise_7_eight_threads_lose_no_write_and_answer_alike() {
    let watchdog = Watchdog::start("mixed load");
    let w = World::new();
    let kept = Kept::default();
    let approved = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        let (w, kept, approved) = (&w, &kept, &approved);
        threads.spawn(move || writes(w, kept, 0));
        threads.spawn(move || writes(w, kept, 1));
        threads.spawn(move || runs_sessions(w, kept, 2));
        threads.spawn(move || runs_sessions(w, kept, 3));
        threads.spawn(move || recalls(w));
        threads.spawn(move || answers_asks(w, approved));
        threads.spawn(move || makes_and_revokes_keys(w));
        threads.spawn(move || lists(w));
    });
    let kept = kept.into_inner().unwrap();
    assert_eq!(kept.len(), 2 * OPS + 2 * (OPS / 3));
    let ids: BTreeSet<EntryId> = kept.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids.len(), kept.len(), "each id was given once");
    let w = w.reopen();
    for (id, text) in &kept {
        let view = w.engine.entry(&w.user, *id).unwrap();
        assert_eq!(
            (view.state, view.text.as_ref()),
            (EntryState::Current, Some(text))
        );
    }
    let asks = w.engine.approvals(&w.user, None, 200).unwrap().items;
    assert_eq!(asks.len(), 2 * (OPS / 3));
    let answered = asks.iter().filter(|a| a.state == ApprovalState::Approved);
    assert_eq!(answered.count(), approved.into_inner());
    assert!(ancile_engine::audit(&w.home(), None).unwrap().ok);
    watchdog.end();
}

#[test]
fn after_a_mandate_is_revoked_no_permit_is_given_or_redeemed() {
    let watchdog = Watchdog::start("revocation race");
    let w = World::with(Gates::Enforce, false);
    let mut counts = (0, 0);
    for round in 0..4 {
        let mandate = grant(&w, AuthorityClass::Untrusted);
        let revoked = AtomicBool::new(false);
        let permits = Mutex::new(Vec::<(SessionId, String, PermitId)>::new());
        let seen = Mutex::new((0, 0));
        let (given, wait) = channel();
        std::thread::scope(|threads| {
            for _ in 0..4 {
                let given = given.clone();
                threads.spawn(|| race((&w, &revoked), &permits, &seen, given));
            }
            for _ in 0..=3 * round {
                wait.recv().unwrap();
            }
            w.engine.revoke_mandate(&w.user, mandate.id).unwrap();
            revoked.store(true, Ordering::SeqCst);
        });
        // Nothing that was given before is redeemed now.
        for (id, token, permit) in permits.into_inner().unwrap() {
            let redeem = vec![StepOp::Redeem(permit, pay())];
            let late = w.engine.step(&w.host, id, &token, redeem).unwrap_err();
            assert_eq!(late.code, "permit_policy_changed");
        }
        let (before, after) = seen.into_inner().unwrap();
        counts = (counts.0 + before, counts.1 + after);
    }
    println!(
        "{} permits before the revocations, {} denials after",
        counts.0, counts.1
    );
    assert!(counts.0 > 0 && counts.1 > 0, "{counts:?}");
    watchdog.end();
}

/// Proposes until the revocation is known, and a few times more, and says so when it is given a
/// permit. Every second one is redeemed.
fn race(
    (w, revoked): (&World, &AtomicBool),
    permits: &Mutex<Vec<(SessionId, String, PermitId)>>,
    seen: &Mutex<(usize, usize)>,
    given: Sender<()>,
) {
    let s = w.session(SessionMode::Headless);
    w.says(&s, "Pay the rent to DE89 3704 0044 0532 0130 00.");
    w.sees(&s, Channel::Web, "Pay now.");
    let mut after = 0;
    for number in 0.. {
        let late = revoked.load(Ordering::SeqCst);
        let answer = w.call(&s, pay());
        match (answer.permit, late) {
            (Some(permit), true) => panic!("permit {permit} after the revocation"),
            (Some(permit), false) => {
                seen.lock().unwrap().0 += 1;
                // Nobody waits any more once there were enough.
                let _enough = given.send(());
                assert_eq!(answer.decision, Decision::Permit);
                let late = revoked.load(Ordering::SeqCst);
                if number % 2 == 0 {
                    let redeemed = w.step(&s, vec![StepOp::Redeem(permit, pay())]);
                    match redeemed {
                        Ok(answer) => {
                            assert!(!late, "redeemed after the revocation");
                            assert_eq!(answer.results, [StepResult::Redeemed]);
                        }
                        Err(refusal) => assert_eq!(refusal.code, "permit_policy_changed"),
                    }
                } else {
                    permits
                        .lock()
                        .unwrap()
                        .push((s.id, s.token.clone(), permit));
                }
            }
            (None, _) => {
                assert_eq!(answer.decision, Decision::Deny);
                seen.lock().unwrap().1 += 1;
                after += 1;
                if after > 3 {
                    return;
                }
            }
        }
    }
}
