// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::wire::step::StepAnswerBody;
use ancile_engine::api::StepAnswer;
use serde_json::{Value, json};

fn pack(integrity_pending: bool) -> ContextPack {
    ContextPack {
        items: Vec::new(),
        slots_used: 0,
        untrusted_slots: 0,
        tokens_used: 0,
        untrusted_tokens: 0,
        weakest: None,
        withheld: 0,
        served_by: "lexical",
        integrity_pending,
    }
}

fn step(integrity_pending: bool) -> StepAnswer {
    StepAnswer {
        results: Vec::new(),
        class: AuthorityClass::Untrusted,
        exposure_root: Digest([0; 32]),
        exposure_len: 0,
        integrity_pending,
    }
}

#[test]
fn an_answer_says_that_integrity_is_pending_only_while_it_is() {
    let check = |integrity_pending: bool, said: Option<&Value>| {
        let session = AuthorityClass::AgentDerived;
        let pack = || pack(integrity_pending);
        let outside = serde_json::to_value(PackBody::from(pack())).unwrap();
        let inside = serde_json::to_value(SessionPackBody::of(pack(), session)).unwrap();
        let step = StepAnswerBody::from(step(integrity_pending));
        let step = serde_json::to_value(step).unwrap();
        for answer in [&outside, &inside, &step] {
            assert_eq!(answer.get("integrity"), said, "{answer}");
        }
        assert_eq!(inside["session_class"], "agent_derived");
        assert_eq!(outside.get("session_class"), None);
    };
    check(true, Some(&json!("pending")));
    check(false, None);
}
