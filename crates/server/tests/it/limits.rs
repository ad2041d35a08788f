// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits on what one caller may take, at the limit and beyond it.

use crate::world::{Asked, Session, World, read_all};
use ancile_server::Limits;
use ancile_server::limits::{BODY_BYTES_MAX, HEAD_BYTES_MAX};
use serde_json::json;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// A body of the routes that recall, of this length.
fn body_of(bytes: usize) -> String {
    let frame = json!({"namespace": "main", "query": ""}).to_string().len();
    json!({"namespace": "main", "query": "x".repeat(bytes - frame)}).to_string()
}

fn recall(w: &World, body: String) -> (u16, String) {
    let asked = Asked {
        body: Some(body),
        ..Asked::post("/v1/recall", &json!({}))
    };
    let answer = w.send(Some(&w.user), &asked);
    (answer.status, answer.code())
}

#[test]
fn a_body_has_a_limit() {
    let w = World::new();
    // Below and at the limit it is the query that is too long.
    assert_eq!(
        recall(&w, body_of(BODY_BYTES_MAX - 1)),
        (413, "too_long".to_owned())
    );
    assert_eq!(
        recall(&w, body_of(BODY_BYTES_MAX)),
        (413, "too_long".to_owned())
    );
    assert_eq!(
        recall(&w, body_of(BODY_BYTES_MAX + 1)),
        (413, "body_too_large".to_owned())
    );
}

/// Sends a head, then zeros until the server stops reading; gives the answer and how many went.
fn flood(w: &World, head: &str, chunk: &[u8], times: usize) -> (String, usize) {
    let mut stream = w.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let mut sent = 0;
    for _ in 0..times {
        match stream.write(chunk) {
            Ok(n) => sent += n,
            Err(_) => break,
        }
    }
    (read_all(&mut stream), sent)
}

#[test]
fn a_hundred_megabytes_are_refused_and_not_read() {
    let w = World::new();
    let head = format!(
        "POST /v1/entries HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 100000000\r\n\r\n",
        w.user
    );
    let (said, sent) = flood(&w, &head, &[b' '; 65_536], 1_526);
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
    assert!(
        said.contains("the body is longer than 1048576 bytes; split it"),
        "{said}"
    );
    assert!(sent < 50_000_000, "{sent} bytes were taken");
}

#[test]
fn a_body_of_unsaid_length_is_refused_where_it_gets_too_long() {
    let w = World::new();
    let head = format!(
        "POST /v1/entries HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        w.user
    );
    let chunk = [b"10000\r\n".as_slice(), &[b' '; 65_536], b"\r\n"].concat();
    let (said, sent) = flood(&w, &head, &chunk, 1_526);
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
    assert!(sent < 50_000_000, "{sent} bytes were taken");
}

#[test]
fn a_client_that_waits_for_leave_to_send_is_refused_before_it_sends() {
    let w = World::new();
    let head = format!(
        "POST /v1/entries HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         expect: 100-continue\r\n\
         content-type: application/json\r\ncontent-length: 100000000\r\n\r\n",
        w.user
    );
    let mut stream = w.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let said = read_all(&mut stream);
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
}

#[test]
fn a_body_without_a_key_is_not_read() {
    let w = World::new();
    let head = "POST /v1/entries HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n\
                content-length: 100000\r\nconnection: close\r\n\r\n";
    let mut stream = w.connect();
    stream.write_all(head.as_bytes()).unwrap();
    assert!(read_all(&mut stream).starts_with("HTTP/1.1 401 "));
}

#[test]
fn a_head_that_does_not_arrive_ends_the_connection() {
    let w = World::with(Limits {
        head: Duration::from_millis(300),
        ..Limits::default()
    });
    let started = Instant::now();
    let mut stream = w.connect();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost:").unwrap();
    let said = read_all(&mut stream);
    assert!(!said.starts_with("HTTP/1.1 200"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(w.send(None, &Asked::get("/healthz")).status, 200);
}

#[test]
fn a_body_that_does_not_arrive_is_answered() {
    let w = World::with(Limits {
        body: Duration::from_millis(300),
        ..Limits::default()
    });
    let head = format!(
        "POST /v1/entries HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 10\r\n\r\n{{",
        w.user
    );
    let said = w.raw(head.as_bytes());
    assert!(
        said.starts_with("HTTP/1.1 408 ") && said.contains("body_timeout"),
        "{said}"
    );
}

#[test]
fn a_head_has_a_limit() {
    let w = World::new();
    let with = |bytes: usize| {
        let long = "a".repeat(bytes);
        let head = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: ";
        w.raw(format!("{head}{long}\r\n\r\n").as_bytes())
    };
    assert!(with(HEAD_BYTES_MAX - 1_024).starts_with("HTTP/1.1 200 "));
    let said = with(4 * HEAD_BYTES_MAX);
    assert!(said.starts_with("HTTP/1.1 431 "), "{said}");
}

/// Opens a request whose body does not arrive.
fn hold(w: &World) -> std::net::TcpStream {
    let head = format!(
        "POST /v1/entries HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         expect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n",
        w.model
    );
    let mut stream = w.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let mut line = [0; 12];
    // The server asks for the body once the key is checked.
    std::io::Read::read_exact(&mut stream, &mut line).unwrap();
    assert_eq!(&line, b"HTTP/1.1 100");
    stream
}

fn with_places(requests: usize) -> World {
    World::with(Limits {
        requests,
        ..Limits::default()
    })
}

#[test]
fn requests_beyond_the_limit_are_told_to_come_back() {
    let w = with_places(0);
    let refused = w.get(&w.user, "/v1/manifest");
    assert_eq!((refused.status, refused.code().as_str()), (503, "busy"));
    assert_eq!(refused.header("retry-after"), "1");
    let health = w.send(None, &Asked::get("/healthz"));
    assert_eq!(health.status, 200, "health is still told");
    let w = with_places(1);
    for _ in 0..3 {
        w.get(&w.user, "/v1/manifest").of(200);
    }
}

/// A step whose body has so many bytes.
fn step_of(session: &Session, bytes: usize) -> Asked {
    let body = |text: &str| {
        let turn = json!({"op": "expose", "kind": "user_turn", "text": text});
        let call = json!({"op": "call", "tool": "search", "args": {"query": "x"}});
        json!({"ops": [turn, call]})
    };
    let text = "a".repeat(bytes - body("").to_string().len());
    let asked = Asked::post(session.path("step"), &body(&text));
    assert_eq!(asked.body.as_ref().unwrap().len(), bytes);
    asked.within(&session.token)
}

#[test]
fn a_request_that_waits_holds_its_place_until_it_is_answered() {
    let w = with_places(1);
    let session = w.session();
    let write = json!({"kind": "memory", "namespace": "main", "text": "a note"});
    // One that a thread waits for, one that none does, and one that is too long for that.
    for (key, asked) in [
        (&w.user, Asked::post("/v1/entries", &write)),
        (&w.host, step_of(&session, 1_000)),
        (&w.host, step_of(&session, 20_000)),
    ] {
        let held = w.hold_database();
        std::thread::scope(|threads| {
            let waiting = threads.spawn(|| w.send(Some(key), &asked));
            w.until_one_waits();
            let refused = w.get(&w.user, "/v1/manifest");
            assert_eq!((refused.status, refused.code().as_str()), (503, "busy"));
            drop(held);
            let answer = waiting.join().unwrap();
            assert!(answer.status < 300, "{answer:?}");
        });
        w.get(&w.user, "/v1/manifest").of(200);
    }
}

#[test]
fn a_long_step_is_answered_as_a_short_one() {
    let w = World::new();
    for bytes in [16_383, 16_384, 16_385] {
        let session = w.session();
        let answer = w.send(Some(&w.host), &step_of(&session, bytes)).of(200);
        assert_eq!(answer["results"][0]["class"], "user_authored", "{bytes}");
        assert_eq!(answer["results"][1]["decision"], "permit", "{bytes}");
        let refused = Asked {
            session: Some("of nobody".to_owned()),
            ..step_of(&session, bytes)
        };
        assert_eq!(w.send(Some(&w.host), &refused).status, 404, "{bytes}");
    }
}

#[test]
fn bodies_that_do_not_arrive_lock_nobody_out() {
    let w = with_places(1);
    let held: Vec<_> = (0..8).map(|_| hold(&w)).collect();
    w.get(&w.operator, "/v1/keys").of(200);
    drop(held);
}

#[test]
fn bodies_share_their_room_and_give_it_back() {
    let write = json!({"kind": "memory", "namespace": "main", "text": "a note"});
    let length = write.to_string().len();
    for (room, status) in [(length - 1, 503), (length, 201), (length + 1, 201)] {
        let w = World::with(Limits {
            bodies_bytes: room,
            ..Limits::default()
        });
        for _ in 0..3 {
            let answer = w.post(&w.user, "/v1/entries", &write);
            assert_eq!(answer.status, status, "{room} {}", answer.text);
        }
        assert_eq!(w.get(&w.user, "/v1/manifest").status, 200);
    }
}

#[test]
fn connections_beyond_the_limit_wait() {
    let w = World::with(Limits {
        connections: 1,
        ..Limits::default()
    });
    let idle = w.connect();
    let mut waiting = w.connect();
    let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    waiting.write_all(request).unwrap();
    waiting
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut byte = [0];
    assert!(
        std::io::Read::read(&mut waiting, &mut byte).is_err(),
        "it is not served yet"
    );
    drop(idle);
    waiting
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    assert!(read_all(&mut waiting).starts_with("HTTP/1.1 200"));
}

#[test]
fn stopping_lets_a_request_end_and_frees_the_port() {
    let w = World::with(Limits {
        stop: Duration::from_secs(5),
        ..Limits::default()
    });
    let address = w.address();
    let mut held = hold(&w);
    let port = address.clone();
    let answer = std::thread::spawn(move || {
        // Once the port is closed the server is stopping.
        while std::net::TcpStream::connect(&port).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        held.write_all(b"{\"kind\":7}").unwrap();
        read_all(&mut held)
    });
    w.stop();
    assert!(
        answer.join().unwrap().contains("HTTP/1.1 400"),
        "the request was answered"
    );
    std::net::TcpListener::bind(address).unwrap();
}

#[test]
fn stopping_cuts_off_a_request_that_does_not_end() {
    let w = World::with(Limits {
        stop: Duration::from_millis(100),
        ..Limits::default()
    });
    let mut held = hold(&w);
    let begun = Instant::now();
    w.stop();
    // Its body may take 20 seconds to come.
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(read_all(&mut held).matches("HTTP/1.1").count(), 0);
}
