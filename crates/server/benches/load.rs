// SPDX-License-Identifier: MIT OR Apache-2.0
//! Eight clients at once over HTTP, each writing, recalling, stepping, reading back and listing.
//!
//! `ANCILE_SECONDS` says for how long; 10 without it. It ends with a fault where an acknowledged
//! write is not there, an answer is an error, the audit does not hold, or memory grew by more after
//! a quarter of the time than what is kept of each request; the times of each kind of request and
//! the memory in use then and at the end are printed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a measurement may stop at the first surprise"
)]

use ancile_engine::{Engine, EngineConfig};
use ancile_server::{Limits, ServerHandle};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Clients at once.
const CLIENTS: u64 = 8;
/// What memory may grow by whatever is asked: caches, and what the allocator keeps.
const GROWTH: u64 = 256 << 20;
/// What may stay in memory of each request: what follows from its event, and an entry until it is
/// sealed.
const KEPT: u64 = 4 << 10;
const MANIFEST: &str = r#"{"version":1,"tools":[
 {"name":"search","effect":"read_only","args":{"query":{"kind":"free"}}}]}"#;

/// How long each kind of request took.
type Times = BTreeMap<&'static str, Vec<Duration>>;

struct Server {
    address: String,
    user: String,
    host: String,
}

fn main() {
    let seconds = std::env::var("ANCILE_SECONDS").map_or(10, |n| n.parse().expect("a number"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let home = dir.path().join("home");
    Engine::init(&home).expect("a new home");
    let (engine, _) = Engine::open(EngineConfig::new(&home)).expect("a store that opens");
    let operator = engine.authenticate(&key(&home, "operator")).expect("a key");
    engine
        .set_manifest(&operator, MANIFEST)
        .expect("a manifest");
    let address = "127.0.0.1:0".parse().expect("an address");
    let handle = ServerHandle::spawn_with(engine.clone(), address, Limits::default());
    let handle = handle.expect("a server");
    let server = Server {
        address: format!("http://{}", handle.address()),
        user: key(&home, "user"),
        host: key(&home, "host"),
    };
    let times = Mutex::new(Times::new());
    let written = Mutex::new(Vec::new());
    let end = Instant::now() + Duration::from_secs(seconds);
    let early = std::thread::scope(|threads| {
        for number in 0..CLIENTS {
            let (server, times, written) = (&server, &times, &written);
            threads.spawn(move || {
                let (mine, ids) = client(server, number, end);
                let mut all = times.lock().unwrap();
                for (kind, took) in mine {
                    all.entry(kind).or_default().extend(took);
                }
                written.lock().unwrap().extend(ids);
            });
        }
        std::thread::sleep(Duration::from_secs(seconds) / 4);
        resident()
    });
    let late = resident();
    let requests = say(times.into_inner().unwrap());
    println!(
        "resident {} MiB at a quarter, {} MiB at the end",
        early >> 20,
        late >> 20
    );
    let may = early + GROWTH + requests * KEPT;
    assert!(
        late <= may,
        "{} MiB at the end are more than {}",
        late >> 20,
        may >> 20
    );
    let written = written.into_inner().unwrap();
    let agent = agent();
    for id in &written {
        let (status, entry) = get(&agent, &server.user, &server, &format!("/v1/entries/{id}"));
        assert_eq!(status, 200, "an acknowledged write is there: {entry}");
    }
    handle.stop().expect("a server that stops");
    engine.close();
    let audit = ancile_engine::audit(&home, None).expect("an audit");
    assert!(audit.ok, "{audit:?}");
    println!("{} acknowledged writes, 0 lost; audit ok", written.len());
}

/// Prints how long each kind of request took; gives how many there were.
fn say(times: Times) -> u64 {
    let mut requests = 0;
    for (kind, mut took) in times {
        took.sort_unstable();
        requests += took.len() as u64;
        let at = |percent: usize| took[(took.len() * percent / 100).min(took.len() - 1)];
        println!(
            "{kind}: {} requests, p50 {:.2} ms, p99 {:.2} ms",
            took.len(),
            at(50).as_secs_f64() * 1e3,
            at(99).as_secs_f64() * 1e3
        );
    }
    requests
}

fn key(home: &Path, role: &str) -> String {
    let path = home.join("keys").join(format!("{role}.key"));
    let text = std::fs::read_to_string(path).expect("a key file");
    text.trim().to_owned()
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(60)))
        .proxy(None)
        .build()
        .into()
}

fn get(agent: &ureq::Agent, key: &str, server: &Server, path: &str) -> (u16, Value) {
    let asked = agent
        .get(format!("{}{path}", server.address))
        .header("authorization", format!("Bearer {key}"))
        .call();
    let mut answer = asked.expect("an answer");
    let body = answer.body_mut().read_json().unwrap_or(Value::Null);
    (answer.status().as_u16(), body)
}

/// One client: what its requests took, and the entries that it wrote.
fn client(server: &Server, number: u64, end: Instant) -> (Times, Vec<String>) {
    let agent = agent();
    let (mut times, mut ids) = (Times::new(), Vec::new());
    let post = |times: &mut Times, kind, path: &str, body: Value, session: Option<&str>| {
        let key = if session.is_some() || path == "/v1/sessions" {
            &server.host
        } else {
            &server.user
        };
        let mut asked = agent
            .post(format!("{}{path}", server.address))
            .header("authorization", format!("Bearer {key}"));
        if let Some(token) = session {
            asked = asked.header("ancile-session", token);
        }
        let began = Instant::now();
        let mut answer = asked.send_json(body).expect("an answer");
        times.entry(kind).or_default().push(began.elapsed());
        let status = answer.status().as_u16();
        let body: Value = answer.body_mut().read_json().unwrap_or(Value::Null);
        assert!(status < 300, "{kind}: {status} {body}");
        body
    };
    let mut round = 0_u64;
    while Instant::now() < end {
        let text = format!(
            "client {number} notes the rent of flat {round} in street {}",
            round % 97
        );
        let body = json!({"kind": "memory", "text": text, "namespace": "main"});
        let written = post(&mut times, "write", "/v1/entries", body, None);
        ids.push(written["id"].as_str().expect("an id").to_owned());
        let question = json!({"query": format!("rent of flat {}", round / 2), "namespace": "main"});
        post(&mut times, "recall", "/v1/recall", question, None);
        if round.is_multiple_of(8) {
            let spec = json!({"agent": "assistant", "user": "alice", "namespace": "main",
                "mode": "headless", "observed": true});
            let opened = post(&mut times, "session", "/v1/sessions", spec, None);
            let (id, token) = (opened["id"].as_str(), opened["token"].as_str());
            let path = format!("/v1/sessions/{}", id.expect("an id"));
            let ops = json!({"ops": [
                {"op": "expose", "kind": "user_turn", "text": "How much is the rent?"},
                {"op": "recall", "query": "rent"},
                {"op": "call", "tool": "search", "args": {"query": "rent"}},
                {"op": "write", "kind": "memory", "channel": "agent", "text": "Rent was asked for"},
            ]});
            post(&mut times, "step", &format!("{path}/step"), ops, token);
            post(
                &mut times,
                "close",
                &format!("{path}/close"),
                json!({}),
                token,
            );
        }
        let began = Instant::now();
        let (status, _) = get(
            &agent,
            &server.user,
            server,
            "/v1/entries?namespace=main&limit=20",
        );
        times.entry("list").or_default().push(began.elapsed());
        assert_eq!(status, 200);
        round += 1;
    }
    (times, ids)
}

/// Bytes of memory in use, from `/proc`; 0 where there is none.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
