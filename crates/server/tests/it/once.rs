// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idempotency keys and rates, over HTTP.

use crate::world::{Answer, Asked, World};
use ancile_server::Limits;
use ancile_server::limits::Rate;
use serde_json::{Value, json};

fn send(w: &World, key: &str, path: &str, body: &Value, once: &str) -> Answer {
    let mut asked = Asked::post(path, body);
    asked.once = Some(once.to_owned());
    w.send(Some(key), &asked)
}

fn count(w: &World) -> usize {
    let list = w.get(&w.user, "/v1/entries?namespace=main").of(200);
    list["items"].as_array().unwrap().len()
}

#[test]
fn a_post_with_a_key_is_carried_out_once() {
    let w = World::new();
    let note = json!({"kind": "memory", "namespace": "main", "text": "a note"});
    let first = send(&w, &w.user, "/v1/entries", &note, "one");
    assert_eq!(
        (first.status, first.header("idempotency-replayed")),
        (201, "")
    );
    let second = send(&w, &w.user, "/v1/entries", &note, "one");
    assert_eq!((second.status, &second.text), (201, &first.text));
    assert_eq!(second.header("idempotency-replayed"), "true");
    assert_eq!(second.header("content-type"), "application/json");
    assert_ne!(second.header("x-request-id"), first.header("x-request-id"));
    assert_eq!(count(&w), 1);
    let other = json!({"kind": "memory", "namespace": "main", "text": "another note"});
    let reused = send(&w, &w.user, "/v1/entries", &other, "one");
    assert_eq!(
        (reused.status, reused.code().as_str()),
        (409, "idempotency_key_reused")
    );
    let path = send(
        &w,
        &w.user,
        "/v1/entries/batch",
        &json!({"entries": [note]}),
        "one",
    );
    assert_eq!(path.code(), "idempotency_key_reused", "another path");
    assert_eq!(send(&w, &w.host, "/v1/entries", &note, "one").status, 201);
    assert_eq!(count(&w), 2);
    // Without a key it is done each time.
    w.post(&w.user, "/v1/entries", &note).of(201);
    assert_eq!(count(&w), 3);
}

#[test]
fn tokens_and_answers_without_a_body_are_given_again() {
    let w = World::new();
    let open = json!({"agent": "assistant", "user": "alice", "namespace": "main"});
    let first = send(&w, &w.host, "/v1/sessions", &open, "s").of(201);
    let again = send(&w, &w.host, "/v1/sessions", &open, "s").of(201);
    assert_eq!(first, again);
    let token = again["token"].as_str().unwrap();
    let mut step = Asked::post(
        format!("/v1/sessions/{}/step", again["id"].as_str().unwrap()),
        &json!({"ops": [{"op": "expose", "kind": "user_turn", "text": "hi"}]}),
    )
    .within(token);
    step.once = Some("step".to_owned());
    let one = w.send(Some(&w.host), &step).of(200);
    assert_eq!(w.send(Some(&w.host), &step).of(200), one);
    assert_eq!(one["exposure_len"], 1, "it was exposed once");
    let made = json!({"name": "work", "readers": [], "writers": []});
    for _ in 0..2 {
        let answer = send(&w, &w.operator, "/v1/namespaces", &made, "n");
        assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    }
}

#[test]
fn a_refusal_is_not_kept_and_a_bad_key_is_refused() {
    let w = World::new();
    let bad = json!({"kind": "memory", "namespace": "main", "text": " "});
    assert_eq!(
        send(&w, &w.user, "/v1/entries", &bad, "k").code(),
        "empty_text"
    );
    let good = json!({"kind": "memory", "namespace": "main", "text": "a note"});
    assert_eq!(send(&w, &w.user, "/v1/entries", &good, "k").status, 201);
    for key in ["", "a b", &"k".repeat(129)] {
        let refused = send(&w, &w.user, "/v1/entries", &good, key);
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (400, "idempotency_key"),
            "{key}"
        );
    }
    let twice = format!(
        "POST /v1/entries HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         idempotency-key: a\r\nidempotency-key: b\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}",
        w.user
    );
    let said = w.raw(twice.as_bytes());
    assert!(
        said.starts_with("HTTP/1.1 400 ") && said.contains("idempotency_key"),
        "{said}"
    );
    let list = w.get(&w.user, "/v1/entries?namespace=main").of(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
}

#[test]
fn each_key_has_its_own_rate() {
    let rate = Rate {
        per_second: 0,
        burst: 3,
    };
    let w = World::with(Limits {
        rate,
        ..Limits::default()
    });
    for _ in 0..3 {
        w.get(&w.user, "/v1/manifest").of(200);
    }
    let refused = w.get(&w.user, "/v1/manifest");
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (429, "rate_limited")
    );
    assert_eq!(refused.header("retry-after"), "3600");
    w.get(&w.host, "/v1/manifest").of(200);
    // Who has no key takes nobody's tokens, and health is always told.
    for _ in 0..5 {
        assert_eq!(
            w.send(Some("ank_user_00"), &Asked::get("/v1/manifest"))
                .status,
            401
        );
        assert_eq!(w.send(None, &Asked::get("/healthz")).status, 200);
    }
}
