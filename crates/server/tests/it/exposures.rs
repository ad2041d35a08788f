// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was shown, as the wire tells of it: findings, and a session of many exposures.

use crate::world::{Asked, World};
use ancile_engine::api::STEP_OPS_MAX;
use serde_json::{Value, json};

const KEY: &str = "AKIAQWERTYUIOPASDFGH";

fn page(text: &str) -> Value {
    json!({"op": "expose", "kind": "text", "channel": "web", "text": text})
}

#[test]
fn a_step_tells_what_screening_found_in_what_was_shown() {
    let w = World::new();
    let session = w.session();
    let text = format!("Die Schl\u{fc}ssel sind {KEY}.");
    let told = w.step(&session, &json!([page(&text), page("Nothing of note.")]));
    let start = text.find(KEY).unwrap();
    assert_eq!(
        told[0],
        json!({
            "op": "expose", "class": "untrusted",
            "findings": [{
                "field": null, "stage": "sensitive", "family": "secret", "start": start,
                "end": start + KEY.len(), "verdict": "redact",
            }],
        })
    );
    assert_eq!(told[1], json!({"op": "expose", "class": "untrusted"}));
    let call = json!([
        {"op": "expose", "kind": "user_turn", "text": "What are the rates?"},
        {"op": "call", "tool": "rates", "args": {}}
    ]);
    let permit = w.step(&session, &call)[1]["permit"].clone();
    let told = w.step(
        &session,
        &json!([
            {"op": "redeem", "permit": permit, "tool": "rates", "args": {}},
            {"op": "result", "permit": permit, "fields": {"note": KEY, "rate": "1 EUR"}}
        ]),
    );
    let secrets: Vec<&Value> = told[1]["findings"].as_array().unwrap().iter().collect();
    assert_eq!(secrets.len(), 1, "{told:?}");
    assert_eq!(secrets[0]["field"], "note");
    assert_eq!(secrets[0]["family"], "secret");
    let view = w
        .send(
            Some(&w.host),
            &Asked::get(format!("/v1/sessions/{}", session.id)),
        )
        .of(200);
    assert_eq!(view["flagged"], 2);
}

#[test]
fn a_session_takes_many_exposures_over_http() {
    let w = World::new();
    let session = w.session();
    let steps = 20;
    for step in 0..steps {
        let ops: Vec<Value> = (0..STEP_OPS_MAX)
            .map(|at| match at {
                0 => page(&format!("{KEY} is on page {step}.")),
                _ => page(&format!("Parcel {step}-{at} is on its way.")),
            })
            .collect();
        let told = w.step(&session, &json!(ops));
        assert_eq!(told.len(), STEP_OPS_MAX);
        assert_eq!(told[0]["findings"].as_array().unwrap().len(), 1);
    }
    let view = w
        .send(
            Some(&w.host),
            &Asked::get(format!("/v1/sessions/{}", session.id)),
        )
        .of(200);
    assert_eq!(view["exposure_len"], steps * STEP_OPS_MAX);
    assert_eq!(view["flagged"], steps);
    assert_eq!(view["class"], "untrusted");
    w.note("The boiler is serviced in May.");
    let told = w.step(
        &session,
        &json!([
            {"op": "expose", "kind": "user_turn", "text": "Pay the plumber."},
            {"op": "recall", "query": "boiler"},
            {"op": "call", "tool": "pay",
             "args": {"to": "DE89370400440532013000", "amount": "12 EUR"}}
        ]),
    );
    let items = told[1]["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{told:?}");
    assert_eq!(told[2]["decision"], "ask", "{told:?}");
    assert!(!told[2]["reasons"].as_array().unwrap().is_empty());
}

#[test]
fn a_recall_says_what_class_its_session_has_after_it() {
    let w = World::new();
    w.note("The boiler is serviced in May.");
    w.page("The boiler is sold in June.");
    let session = w.session();
    let turn = json!([{"op": "expose", "kind": "user_turn", "text": "What of the boiler?"}]);
    w.step(&session, &turn);
    let check = |max_class: &str, weakest: &str, after: &str| {
        let body = json!({"query": "boiler", "max_class": max_class});
        let path = format!("/v1/sessions/{}/recall", session.id);
        let asked = Asked::post(path, &body).within(&session.token);
        let pack = w.send(Some(&w.host), &asked).of(200);
        assert_eq!(pack["weakest"], weakest, "{pack}");
        assert_eq!(pack["session_class"], after, "{pack}");
    };
    check("agent_derived", "user_authored", "user_authored");
    check("untrusted", "untrusted", "untrusted");
    // What was shown stays shown.
    check("agent_derived", "user_authored", "untrusted");
}
