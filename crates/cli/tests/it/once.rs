// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server that is killed while it answers: what was sent is there once, and is answered alike.

use crate::support::Scene;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Writes that each client sends.
const WRITES: usize = 20;
const CLIENTS: usize = 4;
/// Answers after which the server is killed, in each round.
const ROUNDS: [usize; 3] = [1, 7, 31];

/// Sends a note under its own idempotency key; nothing where the server is gone.
fn send(address: &str, key: &str, text: &str) -> Option<Value> {
    let body = json!({"kind": "memory", "namespace": "main", "text": text});
    let request = ureq::http::Request::builder()
        .method("POST")
        .uri(format!("http://{address}/v1/entries"))
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .header("idempotency-key", text.replace(' ', "-"))
        .body(body.to_string())
        .unwrap();
    let config = ureq::Agent::config_builder().proxy(None).build();
    let mut answer = ureq::Agent::from(config).run(request).ok()?;
    assert_eq!(answer.status(), 201);
    let text = answer.body_mut().read_to_string().ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

#[test]
fn what_was_sent_before_a_kill_is_there_once_and_answered_alike() {
    for kill_after in ROUNDS {
        let scene = Scene::new();
        let server = scene.serve(&[]);
        let key = std::fs::read_to_string(scene.path(".ancile/keys/user.key")).unwrap();
        let (address, key) = (server.address(), key.trim().to_owned());
        let answered: Arc<Mutex<BTreeMap<String, Value>>> = Arc::default();
        let texts = |client: usize| (0..WRITES).map(move |n| format!("note {client} {n}"));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (answered, address, key) =
                    (Arc::clone(&answered), address.clone(), key.clone());
                std::thread::spawn(move || {
                    for text in texts(client) {
                        let Some(answer) = send(&address, &key, &text) else {
                            return;
                        };
                        answered.lock().unwrap().insert(text, answer);
                    }
                })
            })
            .collect();
        while answered.lock().unwrap().len() < kill_after {
            std::thread::yield_now();
        }
        assert_eq!(server.signal("-KILL"), None);
        for client in clients {
            client.join().unwrap();
        }
        let answered = answered.lock().unwrap();
        let server = scene.serve(&[]);
        for text in (0..CLIENTS).flat_map(texts) {
            let answer = send(&server.address(), &key, &text).unwrap();
            if let Some(before) = answered.get(&text) {
                assert_eq!(answer, *before, "{text}");
            }
        }
        let listed = scene.json(&["entry", "list", "--limit", "200"]);
        let listed = listed["items"].as_array().unwrap().len();
        assert_eq!(listed, CLIENTS * WRITES, "each once");
        assert_eq!(server.signal("-TERM"), Some(0));
    }
}
