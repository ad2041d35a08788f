// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::api::{Expose, ExposureKind, Gates, Propose, SessionSpec, StepOp, StepResult, Write};
use crate::core::Core;
use crate::counts::Integrity;
use crate::turn::Turn;
use crate::upkeep::Next;
use crate::{Engine, EngineConfig, step};
use ancile_core::{Decision, NamespaceName, PrincipalName, ProposedCall, SessionMode, ToolName};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

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
    let name = |name| PrincipalName::new(name).unwrap();
    let spec = SessionSpec {
        agent: name("assistant"),
        user: name("alice"),
        namespace: NamespaceName::new("main").unwrap(),
        mode: SessionMode::Interactive,
        observed: true,
    };
    let session = engine.open_session(&host, spec).unwrap();
    let turn = StepOp::Expose(Expose {
        kind: ExposureKind::UserTurn,
        channel: None,
        text: "Pay the rent".to_owned(),
        locator: String::new(),
    });
    engine
        .step(&host, session.id, &session.token, vec![turn])
        .unwrap();
    engine.close();

    let before = crate::before::Before::open(&config).unwrap();
    let mut core = Core::open(&config, before).unwrap();
    assert_eq!(core.gates, Gates::Enforce);
    let propose = |core: &mut Core| {
        let mut turn = Turn::new(core);
        let key = turn.check(&host).unwrap();
        let ops = crate::before::plain(vec![ping()]);
        let answer = step::step(&mut turn, &key, session.id, &session.token, ops).unwrap();
        match answer.results.into_iter().next() {
            Some(StepResult::Called(answer)) => answer,
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
