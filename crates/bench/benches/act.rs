// SPDX-License-Identifier: MIT OR Apache-2.0
//! A call put to the act gate over HTTP on an open connection; against a bare loop that appends the
//! same leaves to a copy of the store and commits as often, between which what a step appended is
//! committed as it was there.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a measurement stops where its input is not in form"
)]

mod bare;

use ancile_engine::{Engine, EngineConfig};
use ancile_server::{Limits, ServerHandle};
use bare::{Leaf, caller, commit, copy, leaves, median, tenant};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Calls, and commits, in each round; each is permitted.
const EACH: usize = 200;
/// Many, since how long the medium takes wanders.
const ROUNDS: usize = 21;

const MANIFEST: &str = r#"{"version":1,"tools":[{"name":"pay","effect":"external","args":{
    "to":{"kind":"account","sensitive":true,"required":true},
    "amount":{"kind":"amount","required":true}}}]}"#;

/// An open connection that asks with one key.
struct Client {
    stream: BufReader<TcpStream>,
    key: String,
}

impl Client {
    fn post(&mut self, path: &str, session: &str, body: &str) -> serde_json::Value {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             ancile-session: {session}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.key,
            body.len()
        );
        let stream = self.stream.get_mut();
        stream.write_all(request.as_bytes()).expect("an open line");
        let mut length = 0_usize;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("a head");
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(digits) = line.strip_prefix("content-length: ") {
                length = digits.parse().expect("a length");
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).expect("a body");
        serde_json::from_slice(&answer).expect("JSON")
    }
}

fn token(home: &Path, role: &str) -> String {
    let file = home.join("keys").join(format!("{role}.key"));
    let token = std::fs::read_to_string(file).expect("a key of the first run");
    token.trim().to_owned()
}

/// The middle time of calls in a session that was shown its user's words alone.
fn calls(home: &Path) -> Duration {
    let (engine, _) = Engine::open(EngineConfig::new(home)).expect("a store that opens");
    let address = "127.0.0.1:0".parse().expect("an address");
    let server = ServerHandle::spawn_with(engine.clone(), address, Limits::default());
    let server = server.expect("a server");
    let stream = TcpStream::connect(server.address()).expect("a server that listens");
    stream.set_nodelay(true).expect("a socket option");
    let mut client = Client {
        stream: BufReader::new(stream),
        key: token(home, "host"),
    };
    let opened = client.post(
        "/v1/sessions",
        "",
        r#"{"agent":"assistant","user":"alice","namespace":"main","mode":"headless",
            "observed":true}"#,
    );
    let text = |name: &str| opened[name].as_str().expect("a text").to_owned();
    let (path, session) = (format!("/v1/sessions/{}", text("id")), text("token"));
    let turn = r#"{"ops":[{"op":"expose","kind":"user_turn",
        "text":"Pay the rent of 900 to DE89 3704 0044 0532 0130 00."}]}"#;
    client.post(&format!("{path}/step"), &session, turn);
    let body = r#"{"tool":"pay","args":{"to":"DE89370400440532013000","amount":900}}"#;
    let act = format!("{path}/act");
    let one = |_| {
        let began = Instant::now();
        let answer = client.post(&act, &session, body);
        let took = began.elapsed();
        let permit = answer["permit"]["id"]
            .as_str()
            .or(answer["permit"].as_str());
        let permit = permit.expect("a permit").to_owned();
        // An outstanding result would make the session class 4.
        let told = format!(r#"{{"ops":[{{"op":"result","permit":"{permit}","not_shown":true}}]}}"#);
        client.post(&format!("{path}/step"), &session, &told);
        took
    };
    let took = median((0..EACH).map(one).collect());
    drop(client);
    server.stop().expect("a server that stops");
    engine.close();
    took
}

/// The decisions that were logged, appended and committed one by one with nothing around, and what
/// was logged between them too; how long the middle one of the decisions took.
fn commits(home: &Path, copied: &Path, before: u64) -> Duration {
    let (store, appended, _) = leaves(home, before);
    drop(store);
    let (mut store, ..) = leaves(copied, u64::MAX);
    let tenant = tenant();
    let decided = |leaf: &Leaf| leaf.body.windows(9).any(|part| part == b"\"decided\"");
    let mut took = Vec::new();
    for some in appended.chunk_by(|a, b| !decided(a) && !decided(b)) {
        let began = Instant::now();
        commit(&mut store, &tenant, some);
        if some.iter().any(decided) {
            took.push(began.elapsed());
        }
    }
    assert_eq!(took.len(), EACH, "one decision a call");
    median(took)
}

fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (home, copied) = (dir.path().join("home"), dir.path().join("copy"));
    Engine::init(&home).expect("a first run");
    let (engine, _) = Engine::open(EngineConfig::new(&home)).expect("a store that opens");
    let set = engine.set_manifest(&caller(&engine, &home, "operator"), MANIFEST);
    set.expect("a manifest in form");
    engine.close();
    copy(&home, &copied);
    let (mut ours, mut floor, mut above) = (vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let (store, _, before) = leaves(&home, u64::MAX);
        drop(store);
        let (call, commit) = (calls(&home), commits(&home, &copied, before));
        ours.push(call);
        floor.push(commit);
        above.push(call.saturating_sub(commit));
    }
    let (ours, floor) = (median(ours), median(floor));
    println!("p50: act over HTTP = {ours:.2?}, bare commit = {floor:.2?}");
    println!(
        "cost above one commit, p50 of the rounds = {:.2?}",
        median(above)
    );
}
