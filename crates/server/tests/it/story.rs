// SPDX-License-Identifier: MIT OR Apache-2.0
//! A whole day through the interface.

use crate::world::{Asked, World};
use serde_json::json;

const ACCOUNT: &str = "DE02120300000000202051";

#[test]
fn a_day_from_the_first_turn_to_the_signed_checkpoint() {
    let w = World::new();
    w.note(&format!("The landlord's account is {ACCOUNT}."));
    let session = w.session();
    let shown = w.step(
        &session,
        &json!([{"op": "expose", "kind": "user_turn", "text": "Pay the landlord 12.50."},
            {"op": "recall", "query": "landlord account", "k": 5}]),
    );
    assert_eq!(shown[0], json!({"op": "expose", "class": "user_authored"}));
    assert_eq!(shown[1]["op"], "recall");
    assert_eq!(shown[1]["items"][0]["class"], "user_authored");
    assert!(
        shown[1]["items"][0]["text"]
            .as_str()
            .unwrap()
            .contains(ACCOUNT)
    );
    assert_eq!(
        shown[1]["items"][0].get("rank"),
        None,
        "ranks are for people"
    );

    // The call, its permit, its use, its result and what is remembered of it.
    let amount: serde_json::Value = serde_json::from_str("12.50").unwrap();
    let args = json!({"to": ACCOUNT, "amount": amount});
    let act = Asked::post(session.path("act"), &json!({"tool": "pay", "args": args}));
    let called = w.send(Some(&w.host), &act.within(&session.token)).of(200);
    assert_eq!(called["decision"], "permit", "{called}");
    let permit = &called["permit"];
    let redeem = json!({"op": "redeem", "permit": permit, "tool": "pay", "args": args});
    let done = w.step(
        &session,
        &json!([redeem,
        {"op": "result", "permit": permit, "not_shown": true},
        {"op": "write", "kind": "memory", "channel": "agent", "text": "Paid the landlord."}]),
    );
    assert_eq!(done[0], json!({"op": "redeem"}));
    assert_eq!(done[1], json!({"op": "result", "class": null}));
    assert_eq!(done[2]["class"], "agent_derived");

    // The permit is used up.
    let again = Asked::post(session.path("step"), &json!({"ops": [redeem]})).within(&session.token);
    let again = w.send(Some(&w.host), &again);
    assert!(matches!(again.status, 404 | 409), "{}", again.text);

    reads_back(&w, done[2]["id"].as_str().unwrap());
    let close = Asked {
        body: None,
        ..Asked::post(session.path("close"), &json!({}))
    };
    let closed = w.send(Some(&w.host), &close.within(&session.token));
    assert_eq!((closed.status, closed.text.as_str()), (204, ""));
    let view = w
        .get(&w.host, &format!("/v1/sessions/{}", session.id))
        .of(200);
    assert_eq!(view["closed"], true);

    let note = w.get(&w.user, "/v1/checkpoint");
    assert_eq!(note.header("content-type"), "text/plain; charset=utf-8");
    assert!(
        note.text.contains("\n\n\u{2014} "),
        "a signed note: {}",
        note.text
    );
    w.stop();
}

/// Reads an entry, its lineage and its proof.
fn reads_back(w: &World, id: &str) {
    let entry = w.get(&w.user, &format!("/v1/entries/{id}")).of(200);
    assert_eq!(
        (&entry["text"], &entry["state"]),
        (&json!("Paid the landlord."), &json!("current"))
    );
    let lineage = w.get(&w.user, &format!("/v1/entries/{id}/lineage")).of(200);
    assert_eq!(lineage["broken"], json!(null));
    assert_eq!(lineage["nodes"].as_array().unwrap().len(), 2, "{lineage}");
    let proof = w.get(&w.user, &format!("/v1/entries/{id}/proof"));
    assert_eq!(proof.header("content-type"), "application/json");
    proof.of(200);
}

#[test]
fn a_task_fires_and_its_call_comes_with_it() {
    let w = World::new();
    let id = w.due_task(&json!({"tool": "pay", "args": {"to": ACCOUNT, "amount": 7}}));
    let due = w.get(&w.host, "/v1/tasks?namespace=main&due=true").of(200);
    assert_eq!(due["items"][0]["entry"]["id"], json!(id));
    let body = json!({"agent": "assistant", "user": "alice"});
    let fired = w
        .post(&w.host, &format!("/v1/tasks/{id}/fire"), &body)
        .of(200);
    assert_eq!(fired["decision"], "permit", "{fired}");
    assert_eq!(fired["proposed"]["args"]["amount"].to_string(), "7");
    assert_eq!(fired["call"]["decision"], "permit");
    assert!(fired["session"]["token"].is_string());
    assert_eq!(
        w.get(&w.host, "/v1/tasks?namespace=main&due=true").of(200)["items"],
        json!([])
    );
}

#[test]
fn an_ask_is_approved_once_by_its_digest_with_the_amount_as_written() {
    let w = World::new();
    let (session, id, digest) = w.ask("1.50");
    let path = format!("/v1/approvals/{id}");
    let seen = w.get(&w.user, &path).of(200);
    assert_eq!(
        (&seen["state"], &seen["digest"]),
        (&json!("waiting"), &json!(digest))
    );
    assert_eq!(seen["call"]["args"]["amount"].to_string(), "1.50");
    let other = json!({"digest": "0".repeat(64)});
    assert_eq!(
        w.post(&w.user, &format!("{path}/approve"), &other).status,
        409
    );
    let exact = json!({"digest": digest});
    let approved = w.post(&w.user, &format!("{path}/approve"), &exact).of(200);
    assert_eq!(approved["state"], "approved");
    let call = json!([{"op": "call", "tool": "pay", "args": seen["call"]["args"], "approval": id}]);
    let called = &w.step(&session, &call)[0];
    assert_eq!(called["decision"], "permit", "{called}");
    assert!(called["permit"].is_string());
}

#[test]
fn exponents_survive_the_log() {
    let w = World::new();
    let (_, id, digest) = w.ask("1E5");
    let path = format!("/v1/approvals/{id}/approve");
    let approved = w.post(&w.user, &path, &json!({"digest": digest})).of(200);
    assert_eq!(approved["call"]["args"]["amount"].to_string(), "1e+5");
}

#[test]
fn a_mandate_is_drafted_granted_listed_and_revoked() {
    let w = World::new();
    let body = json!({"agent": "assistant", "tool": "pay", "not_before": 0,
        "not_after": 4_102_444_800_000_000_i64, "uses_max": 3, "fixed": {"to": [ACCOUNT]}});
    let draft = w.post(&w.user, "/v1/mandates/draft", &body).of(200);
    assert!(draft["cedar"].as_str().unwrap().contains("permit"));
    assert_eq!(w.get(&w.user, "/v1/mandates").of(200)["items"], json!([]));
    let granted = w.post(&w.user, "/v1/mandates", &body).of(201);
    assert_eq!(
        (&granted["uses_max"], &granted["weakest"]),
        (&json!(3), &json!("agent_derived"))
    );
    let id = granted["id"].as_str().unwrap();
    assert_eq!(
        w.post(&w.user, &format!("/v1/mandates/{id}/revoke"), &json!({}))
            .status,
        204
    );
    assert_eq!(
        w.get(&w.user, "/v1/mandates").of(200)["items"][0]["revoked"],
        true
    );
}

#[test]
fn a_shelved_entry_is_shown_to_people_and_released_by_digest() {
    let w = World::new();
    let (id, hash) = w.shelved();
    let shelf = w.get(&w.user, "/v1/quarantine?namespace=main").of(200);
    assert_eq!(shelf["items"][0]["entry"]["id"], json!(id));
    assert!(shelf["items"][0]["entry"]["text"].is_string());
    let recalled = json!({"namespace": "main", "query": "invoice instructions"});
    assert_eq!(
        w.post(&w.user, "/v1/recall", &recalled).of(200)["items"],
        json!([])
    );
    let body = json!({"digest": hash, "reason": "it is about phishing"});
    let released = w
        .post(&w.user, &format!("/v1/quarantine/{id}/release"), &body)
        .of(200);
    assert_eq!(
        (&released["state"], &released["class"]),
        (&json!("current"), &json!("untrusted"))
    );
}

#[test]
fn lists_are_paged_by_cursor() {
    let w = World::new();
    let mut written: Vec<String> = (0..5).map(|i| w.note(&format!("note {i}"))).collect();
    written.reverse();
    let mut seen = Vec::new();
    let mut path = "/v1/entries?namespace=main&limit=2".to_owned();
    loop {
        let page = w.get(&w.user, &path).of(200);
        let items = page["items"].as_array().unwrap();
        seen.extend(
            items
                .iter()
                .map(|item| item["id"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/entries?namespace=main&limit=2&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, written);
}

#[test]
fn a_key_works_until_it_is_revoked() {
    let w = World::new();
    let body = json!({"principal": "bob", "role": "user", "namespaces": ["main"],
        "channels": ["user"]});
    let made = w.post(&w.operator, "/v1/keys", &body).of(201);
    let (id, token) = (
        made["id"].as_str().unwrap(),
        made["token"].as_str().unwrap(),
    );
    w.get(token, "/v1/manifest").of(200);
    let keys = w.get(&w.operator, "/v1/keys").of(200);
    let bob = keys["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|k| k["id"] == id)
        .unwrap();
    assert_eq!(
        (&bob["key"]["principal"], &bob["revoked"]),
        (&json!("bob"), &json!(false))
    );
    assert!(!keys.to_string().contains(token));
    assert_eq!(
        w.post(&w.operator, &format!("/v1/keys/{id}/revoke"), &json!({}))
            .status,
        204
    );
    let refused = w.get(token, "/v1/manifest");
    assert_eq!(
        (refused.status, refused.header("www-authenticate")),
        (401, "Bearer")
    );
}

#[test]
fn health_says_how_it_stands_and_no_more() {
    let w = World::new();
    let health = w.send(None, &Asked::get("/healthz"));
    assert_eq!(health.text, r#"{"status":"ok","integrity":"verified"}"#);
    assert_eq!(health.header("cache-control"), "no-store");
    assert!(!health.header("x-request-id").is_empty());
}

#[test]
fn an_expired_key_is_refused_as_an_unknown_one_is() {
    let w = World::new();
    let body = json!({"principal": "bob", "role": "user", "namespaces": ["main"], "expires": 1});
    let made = w.post(&w.operator, "/v1/keys", &body).of(201);
    let expired = w.get(made["token"].as_str().unwrap(), "/v1/manifest");
    let unknown = w.get("ank_user_0000", "/v1/manifest");
    assert_eq!(
        (expired.status, expired.code().as_str()),
        (401, "key_refused")
    );
    assert_eq!(expired.json()["detail"], unknown.json()["detail"]);
}

#[test]
fn a_store_that_is_gone_is_down_and_says_when_to_come_back() {
    let w = World::new();
    assert_eq!(w.send(None, &Asked::get("/healthz")).status, 200);
    w.close_store();
    let health = w.send(None, &Asked::get("/healthz"));
    assert_eq!(health.status, 503);
    assert_eq!(health.text, r#"{"status":"down","integrity":"down"}"#);
    let answer = w.get(&w.user, "/v1/manifest");
    assert_eq!((answer.status, answer.header("retry-after")), (503, "1"));
    assert_eq!(answer.header("content-type"), "application/problem+json");
}
