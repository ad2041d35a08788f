// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is held until it is judged, over HTTP.

use crate::world::{Answer, Asked, INSTRUCTION, World};
use ancile_engine::{Judge, JudgeConfig, JudgeError, JudgeId, JudgeInput, Score};
use ancile_server::{Limits, ROUTES, Verb};
use serde_json::{Value, json};
use std::num::NonZeroU32;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Scores 900 what says `order`, fails on what says `riddle`, and scores all else 0, once it is
/// told to.
struct Told {
    id: JudgeId,
    may: Mutex<bool>,
    told: Condvar,
}

impl Told {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            id: JudgeId::new("told", 7).unwrap(),
            may: Mutex::new(false),
            told: Condvar::new(),
        })
    }

    fn tell(&self) {
        *self.may.lock().unwrap() = true;
        self.told.notify_all();
    }
}

impl Judge for Told {
    fn id(&self) -> &JudgeId {
        &self.id
    }

    fn judge(&self, input: &JudgeInput<'_>) -> Result<Score, JudgeError> {
        let may = self.may.lock().unwrap();
        drop(self.told.wait_while(may, |may| !*may).unwrap());
        match input.text {
            text if text.contains("order") => Score::new(900),
            text if text.contains("riddle") => Err(JudgeError::TimedOut),
            _ => Score::new(0),
        }
    }
}

fn world(judge: &Arc<Told>) -> World {
    let judging = JudgeConfig {
        judge: Some(Arc::clone(judge) as Arc<dyn Judge>),
        pending_max: NonZeroU32::new(6).unwrap(),
        ..JudgeConfig::default()
    };
    World::judged(Limits::default(), judging)
}

fn page(text: &str) -> Value {
    json!({"kind": "memory", "namespace": "main", "channel": "web", "text": text})
}

fn note(text: &str) -> Value {
    json!({"kind": "memory", "namespace": "main", "text": text})
}

fn entry(w: &World, key: &str, written: &Value) -> Value {
    let id = written["id"].as_str().unwrap();
    w.get(key, &format!("/v1/entries/{id}")).of(200)
}

/// The entry once it is pending no more.
fn settled(w: &World, written: &Value) -> Value {
    for _ in 0..6_000 {
        let entry = entry(w, &w.user, written);
        if entry["state"] != "pending" {
            return entry;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{written} is held for ever");
}

fn recalled(w: &World) -> usize {
    let ask = json!({"namespace": "main", "query": "ferry island"});
    let pack = w.post(&w.user, "/v1/recall", &ask).of(200);
    pack["items"].as_array().unwrap().len()
}

#[test]
fn a_write_that_waits_for_a_judge_is_answered_with_202() {
    let judge = Told::new();
    let w = world(&judge);
    let written = w.post(
        &w.host,
        "/v1/entries",
        &page("The ferry to the island leaves at nine."),
    );
    let written = written.of(202);
    assert_eq!(
        (&written["pending"], &written["quarantined"]),
        (&json!(true), &json!(false))
    );
    let seen = entry(&w, &w.user, &written);
    assert_eq!(seen["state"], "pending");
    assert_eq!((seen.get("judged"), seen.get("state_reason")), (None, None));
    let list = w.get(&w.user, "/v1/entries?namespace=main").of(200);
    assert_eq!(list["items"][0]["state"], "pending");
    assert_eq!(entry(&w, &w.model, &written)["text"], Value::Null);
    assert_eq!(recalled(&w), 0);
    let export = w.get(&w.user, "/v1/export?namespace=main").text;
    assert!(export.contains("\"state\":\"pending\""), "{export}");
    judge.tell();
    let seen = settled(&w, &written);
    assert_eq!(seen["state"], "current");
    assert_eq!(seen.get("judged"), None, "nothing to say");
    assert_eq!(recalled(&w), 1);
}

#[test]
fn what_waits_for_nobody_is_answered_with_201() {
    let w = world(&Told::new());
    let own = w.post(&w.user, "/v1/entries", &note(INSTRUCTION)).of(201);
    assert_eq!(own["pending"], false);
    let shelved = w.post(&w.host, "/v1/entries", &page(INSTRUCTION)).of(201);
    assert_eq!(
        (&shelved["quarantined"], &shelved["pending"]),
        (&json!(true), &json!(false))
    );
    let both = json!({"entries": [note("one"), note("two")]});
    w.post(&w.user, "/v1/entries/batch", &both).of(201);
}

#[test]
fn one_that_is_pending_among_many_is_enough() {
    let judge = Told::new();
    let w = world(&judge);
    let pasted = json!({"kind": "memory", "namespace": "main", "channel": "paste", "text": "b"});
    let batch = json!({"entries": [note("a"), pasted]});
    let batch = w.post(&w.user, "/v1/entries/batch", &batch).of(202);
    let pending = |list: &Value| -> Vec<bool> {
        let list = list.as_array().unwrap().iter();
        list.map(|one| one["pending"].as_bool().unwrap()).collect()
    };
    assert_eq!(pending(&batch["written"]), [false, true]);
    let import = json!({"namespace": "main", "entries": [note("c")]});
    let import = w.post(&w.user, "/v1/import", &import).of(202);
    assert_eq!(pending(&import["written"]), [true]);
    let s = w.session();
    let chat = |role: &str, more: Value| {
        let mut message = json!({"role": role, "content": "the ferry"});
        message
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let body = json!({"messages": [message]});
        let asked = Asked::post(s.path("messages"), &body).within(&s.token);
        w.send(Some(&w.host), &asked)
    };
    let said = chat("user", json!({})).of(201);
    assert_eq!(said["messages"][0]["written"]["pending"], false);
    let said = chat("tool", json!({"name": "search"})).of(202);
    assert_eq!(said["messages"][0]["written"]["pending"], true);
    let results = w.step(
        &s,
        &json!([
            {"op": "write", "kind": "memory", "channel": "tool", "text": "the pier"},
            {"op": "recall", "query": "ferry pier"},
        ]),
    );
    assert_eq!(results[0]["pending"], true);
    judge.tell();
}

#[test]
fn a_request_that_is_sent_again_is_answered_alike_though_the_verdict_came() {
    let judge = Told::new();
    let w = world(&judge);
    let send = || -> Answer {
        let mut asked = Asked::post("/v1/entries", &page("The ferry leaves at nine."));
        asked.once = Some("one".to_owned());
        w.send(Some(&w.host), &asked)
    };
    let first = send();
    let written = first.json();
    judge.tell();
    settled(&w, &written);
    let again = send();
    assert_eq!((first.status, again.status), (202, 202));
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(first.text, again.text);
}

#[test]
fn a_person_releases_and_discards_what_is_pending_and_nobody_else_does() {
    let judge = Told::new();
    let w = world(&judge);
    let [free, gone] = ["an order", "another order"]
        .map(|text| w.post(&w.host, "/v1/entries", &page(text)).of(202));
    let act = |key: &str, what: &str, written: &Value, more: Value| {
        let path = format!("/v1/quarantine/{}/{what}", written["id"].as_str().unwrap());
        let mut body = json!({"digest": written["hash"]});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        w.post(key, &path, &body)
    };
    let reason = json!({"reason": "it is a timetable"});
    for key in [&w.host, &w.model] {
        act(key, "release", &free, reason.clone()).of(403);
    }
    assert_eq!(
        act(&w.user, "release", &free, reason).of(200)["state"],
        "current"
    );
    act(&w.user, "discard", &gone, json!({})).of(204);
    let endorse = |written: &Value| {
        let path = format!("/v1/entries/{}/endorse", written["id"].as_str().unwrap());
        w.post(
            &w.user,
            &path,
            &json!({"digest": written["hash"], "values": []}),
        )
    };
    let third = w
        .post(&w.host, "/v1/entries", &page("a third order"))
        .of(202);
    let refused = endorse(&third);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (409, "entry_pending")
    );
    judge.tell();
    let shelved = settled(&w, &third);
    let said = (&shelved["state"], &shelved["state_reason"]);
    assert_eq!(said, (&json!("quarantined"), &json!("judge at write")));
    let judged = &shelved["judged"];
    let said = ["judge", "score", "verdict", "failure"].map(|name| judged[name].clone());
    let due = [
        json!("told/7"),
        json!(900),
        json!("quarantine"),
        Value::Null,
    ];
    assert_eq!(said, due);
    assert!(judged["at"].is_i64());
    assert_eq!(entry(&w, &w.model, &third).get("judged"), None);
    assert_eq!(entry(&w, &w.user, &free)["state"], "current");
    assert_eq!(entry(&w, &w.user, &gone)["state"], "discarded");
}

#[test]
fn beyond_the_limit_a_write_is_refused_with_429_and_nothing_is_kept() {
    let judge = Told::new();
    let w = world(&judge);
    let pages: Vec<Value> = (0..6).map(|n| page(&format!("page {n}"))).collect();
    w.post(&w.host, "/v1/entries/batch", &json!({"entries": pages}))
        .of(202);
    let refused = w.post(&w.host, "/v1/entries", &page("page 6"));
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (429, "judge_busy")
    );
    assert_ne!(refused.header("retry-after"), "");
    let list = w.get(&w.user, "/v1/entries?namespace=main").of(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 6);
    // What is not judged finds room.
    w.post(&w.user, "/v1/entries", &note("my own")).of(201);
    judge.tell();
}

#[test]
fn what_is_held_and_judged_is_counted() {
    let judge = Told::new();
    let w = world(&judge);
    let texts = ["a page", "an order", "a riddle", "another page"];
    let written = texts.map(|text| w.post(&w.host, "/v1/entries", &page(text)).of(202));
    let series = |name: &str| {
        let text = w.get(&w.operator, "/metrics").text;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("ancile_{name} ")));
        let value = line.unwrap_or_else(|| panic!("no {name} in {text}"));
        value.parse::<u64>().unwrap()
    };
    assert_eq!(
        (series("entries_pending"), series("entries_held_total")),
        (4, 4)
    );
    let integrity = w.get(&w.operator, "/v1/integrity").of(200);
    assert_eq!(integrity["entries_pending"], 4);
    judge.tell();
    for one in &written {
        settled(&w, one);
    }
    let judged = ["allow", "flag", "quarantine"]
        .map(|verdict| series(&format!("entries_judged_total{{verdict=\"{verdict}\"}}")));
    assert_eq!(judged, [2, 0, 2]);
    let others = [
        "entries_pending",
        "entries_held_total",
        "judge_failures_total",
    ]
    .map(series);
    assert_eq!(others, [0, 4, 1]);
    assert_eq!(series("entries_quarantined_total"), 2);
}

#[test]
fn the_document_says_202_of_each_route_that_writes_what_is_judged() {
    let openapi = ancile_server::openapi();
    let held: Vec<&str> = ROUTES
        .iter()
        .filter(|route| {
            let method = if route.verb == Verb::Post {
                "post"
            } else {
                "get"
            };
            let answers = &openapi["paths"][route.path][method]["responses"];
            let both = [&answers["201"]["content"], &answers["202"]["content"]];
            assert!(
                answers["202"].is_null() || both[0] == both[1],
                "{}",
                route.path
            );
            !answers["202"].is_null()
        })
        .map(|route| route.path)
        .collect();
    let due = [
        "/v1/sessions/{id}/messages",
        "/v1/entries",
        "/v1/entries/batch",
        "/v1/import",
    ];
    assert_eq!(held, due);
}
