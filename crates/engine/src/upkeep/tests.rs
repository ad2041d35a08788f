// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::api::{
    Expose, ExposureKind, Gates, Propose, Recall, SESSION_SECONDS, SessionSpec, StepOp, StepResult,
    Write,
};
use crate::before::Before;
use crate::core::Core;
use crate::counts::Integrity;
use crate::index::Partition;
use crate::state::{Sealed, Tenant};
use crate::turn::Turn;
use crate::upkeep::{LOOKED_EVERY_SECONDS, Next, merge_of};
use crate::{Caller, Engine, EngineConfig, step};
use ancile_core::{
    Decision, Digest, Micros, NamespaceName, PrincipalName, ProposedCall, SessionId, SessionMode,
    TenantName, ToolName,
};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

const MANIFEST: &str = r#"{"version":1,"tools":[{"name":"ping","effect":"external","args":{}}]}"#;

fn memory(text: &str) -> Write {
    Write::memory(text)
}

fn ping() -> StepOp {
    StepOp::Call(Propose {
        call: ProposedCall {
            tool: ToolName::new("ping").unwrap(),
            args: BTreeMap::new(),
        },
        approval: None,
    })
}

fn note() -> Recall {
    Recall {
        query: "note".to_owned(),
        ..Recall::default()
    }
}

fn user_turn() -> StepOp {
    StepOp::Expose(Expose {
        kind: ExposureKind::UserTurn,
        channel: None,
        text: "Pay the rent".to_owned(),
        locator: String::new(),
    })
}

fn spec() -> SessionSpec {
    let name = |name| PrincipalName::new(name).unwrap();
    SessionSpec {
        agent: name("assistant"),
        user: name("alice"),
        namespace: NamespaceName::new("main").unwrap(),
        mode: SessionMode::Interactive,
        observed: true,
    }
}

/// How many of segments with so many entries are merged into one.
fn merged(rows: &[u32]) -> usize {
    let mut tenant = Tenant::new(TenantName::new("default").unwrap());
    let sealed = |(number, rows): (u8, &u32)| Sealed {
        namespace: NamespaceName::new("main").unwrap(),
        side: Partition::Trusted,
        digest: Digest([number; 32]),
        rows: *rows,
    };
    tenant.segments = Arc::new((0..).zip(rows).map(sealed).collect());
    merge_of(&tenant).map_or(0, |(_, digests)| digests.len())
}

#[test]
fn eight_segments_of_a_tier_are_merged_where_they_fit_into_one() {
    let seven = [16_384; 7];
    assert_eq!(merged(&seven), 0);
    for (last, expected) in [(16_383, 8), (16_384, 8), (16_385, 0)] {
        assert_eq!(merged(&[&seven[..], &[last]].concat()), expected, "{last}");
    }
    // Of the tier below, or of the one above.
    let others = [8_200; 7];
    for (last, expected) in [(8_191, 0), (8_192, 8), (65_535, 8), (65_536, 0)] {
        assert_eq!(merged(&[&others[..], &[last]].concat()), expected, "{last}");
    }
}

#[test]
fn promise_6_side_effects_ask_until_a_reopened_store_is_compared() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    Engine::init(&home).unwrap();
    let mut config = EngineConfig::new(&home);
    config.index.seal_records = NonZeroU32::MIN;
    let (engine, _) = Engine::open(config.clone()).unwrap();
    let caller = |role: &str| {
        let token = std::fs::read_to_string(home.join("keys").join(format!("{role}.key")));
        engine.authenticate(token.unwrap().trim()).unwrap()
    };
    let (operator, user, host) = (caller("operator"), caller("user"), caller("host"));
    engine.set_manifest(&operator, MANIFEST).unwrap();
    engine
        .write(&user, memory("A note that is sealed"))
        .unwrap();
    while engine.index_state(&operator).unwrap().busy {
        std::thread::yield_now();
    }
    let session = engine.open_session(&host, spec()).unwrap();
    engine
        .step(&host, session.id, &session.token, vec![user_turn()])
        .unwrap();
    engine.close();

    let mut core = Core::open(&config, Before::open(&config).unwrap()).unwrap();
    assert_eq!(core.gates, Gates::Enforce);
    let propose = |core: &mut Core| {
        let mut turn = Turn::new(core);
        let key = turn.check(&host).unwrap();
        let ops = crate::before::plain(vec![StepOp::Recall(note()), ping()]);
        let answer = step::step(&mut turn, &key, session.id, &session.token, ops).unwrap();
        let pending = turn.core.integrity() == Integrity::Pending;
        assert_eq!(answer.integrity_pending, pending);
        match &answer.results[..] {
            [StepResult::Recalled(pack), StepResult::Called(answer)] => {
                assert_eq!(pack.integrity_pending, pending);
                answer.clone()
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(core.integrity(), Integrity::Pending);
    assert_eq!(core.counts.integrity(), Integrity::Pending);
    let waiting = propose(&mut core);
    assert_eq!(waiting.decision, Decision::Ask);
    assert!(
        waiting
            .reasons
            .iter()
            .any(|r| r.rule == "integrity.pending")
    );
    while core.upkeep() != Next::Idle {
        std::thread::yield_now();
    }
    assert_eq!(core.integrity(), Integrity::Verified);
    assert_eq!(core.counts.integrity(), Integrity::Verified);
    assert_eq!(propose(&mut core).decision, Decision::Permit);
}

/// Whether a session is closed, and how many of the texts that it kept are there.
fn kept(core: &mut Core, host: &Caller, id: SessionId) -> (bool, usize) {
    let turn = Turn::new(core);
    let tenant = turn.check(host).unwrap().tenant;
    let session = turn.tenant(&tenant).unwrap().sessions.get(&id).unwrap();
    let store = turn.core.reading().unwrap();
    let content = |seq: &&u64| store.read(&tenant, **seq).unwrap().content.is_some();
    let texts = session.text_leaves.iter().filter(content).count();
    (session.closed, texts)
}

#[test]
fn a_session_is_closed_and_its_texts_are_gone_after_30_days() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    Engine::init(&home).unwrap();
    let config = EngineConfig::new(&home);
    let (engine, _) = Engine::open(config.clone()).unwrap();
    let token = std::fs::read_to_string(home.join("keys/host.key")).unwrap();
    let host = engine.authenticate(token.trim()).unwrap();
    let opened: Vec<_> = (0..2)
        .map(|_| {
            let session = engine.open_session(&host, spec()).unwrap();
            let (id, token) = (session.id, session.token.clone());
            engine.step(&host, id, &token, vec![user_turn()]).unwrap();
            // The next one has a later moment in its identifier.
            std::thread::sleep(std::time::Duration::from_millis(2));
            session
        })
        .collect();
    engine.close();

    let mut core = Core::open(&config, Before::open(&config).unwrap()).unwrap();
    let [first, second] = &opened[..] else {
        panic!("{opened:?}")
    };
    let ms = i64::try_from(first.id.unix_ms()).unwrap();
    let ends = Micros(ms * 1_000).plus_seconds(SESSION_SECONDS);
    assert!(!core.close_old_sessions(Micros(ends.0 - 1)).unwrap());
    assert_eq!(kept(&mut core, &host, first.id), (false, 1));
    // It looks again after an hour, and not before.
    core.upkeep.sessions_due = None;
    assert!(core.close_old_sessions(ends).unwrap());
    assert_eq!(kept(&mut core, &host, first.id), (true, 0));
    assert_eq!(kept(&mut core, &host, second.id), (false, 1));
    assert!(!core.close_old_sessions(ends).unwrap());
    let later = ends.plus_seconds(LOOKED_EVERY_SECONDS);
    assert!(!core.close_old_sessions(Micros(later.0 - 1)).unwrap());
    assert_eq!(kept(&mut core, &host, second.id), (false, 1));
    assert!(core.close_old_sessions(later).unwrap());
    assert_eq!(kept(&mut core, &host, second.id), (true, 0));
    drop(core);

    let core = Core::open(&config, Before::open(&config).unwrap()).unwrap();
    assert_eq!(core.integrity(), Integrity::Verified);
    drop(core);
    let (engine, _) = Engine::open(config).unwrap();
    let turn = vec![user_turn()];
    let refusal = engine.step(&host, first.id, &first.token, turn);
    assert_eq!(refusal.unwrap_err().code, "session_closed");
}
