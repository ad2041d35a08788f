// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every way to send nonsense, and the problem that answers it.

use crate::world::{Answer, Asked, World};
use ancile_engine::api::STEP_OPS_MAX;
use ancile_server::Verb;
use serde_json::{Value, json};

/// A request of the user's and what answers it: verb, path, body, status, code.
type Row = (Verb, &'static str, &'static str, u16, &'static str);

const ROWS: &[Row] = &[
    (Verb::Get, "/", "", 404, "unknown_route"),
    (Verb::Get, "/v1/entrees", "", 404, "unknown_route"),
    (Verb::Get, "/v1/entries/", "", 404, "unknown_route"),
    (Verb::Get, "/v1/recall", "", 405, "wrong_method"),
    (Verb::Put, "/v1/entries", "{}", 405, "wrong_method"),
    (Verb::Get, "/v1/entries/7", "", 400, "bad_path"),
    (Verb::Get, "/v1/entries/%ff", "", 400, "bad_path"),
    (Verb::Get, "/v1/entries", "", 400, "invalid_query"),
    (
        Verb::Get,
        "/v1/entries?namespace=main&color=red",
        "",
        400,
        "invalid_query",
    ),
    (
        Verb::Get,
        "/v1/entries?namespace=main&namespace=main",
        "",
        400,
        "invalid_query",
    ),
    (
        Verb::Get,
        "/v1/entries?namespace=no%20name",
        "",
        400,
        "invalid_query",
    ),
    (
        Verb::Get,
        "/v1/entries?namespace=main&limit=0",
        "",
        400,
        "limit_out_of_range",
    ),
    (
        Verb::Get,
        "/v1/entries?namespace=main&limit=201",
        "",
        400,
        "limit_out_of_range",
    ),
    (
        Verb::Get,
        "/v1/entries?namespace=main&limit=-1",
        "",
        400,
        "limit_out_of_range",
    ),
    (
        Verb::Get,
        "/v1/entries?namespace=main&limit=ten",
        "",
        400,
        "invalid_query",
    ),
    (
        Verb::Get,
        "/v1/entries?namespace=main&cursor=x",
        "",
        400,
        "bad_cursor",
    ),
    (
        Verb::Get,
        "/v1/entries?namespace=elsewhere",
        "",
        403,
        "forbidden",
    ),
    (Verb::Post, "/v1/recall", "", 400, "body_missing"),
    (
        Verb::Post,
        "/v1/recall",
        "{\"query\":",
        400,
        "json_truncated",
    ),
    (
        Verb::Post,
        "/v1/recall",
        "{\"query\":\"rent",
        400,
        "json_truncated",
    ),
    (
        Verb::Post,
        "/v1/recall",
        "query=rent",
        400,
        "json_malformed",
    ),
    (
        Verb::Post,
        "/v1/recall",
        "{\"query\":\"a\"}{}",
        400,
        "json_malformed",
    ),
    (Verb::Post, "/v1/recall", "[\"a\"]", 400, "invalid_field"),
    (
        Verb::Post,
        "/v1/recall",
        "{\"query\":\"a\"}",
        400,
        "missing_field",
    ),
    (
        Verb::Post,
        "/v1/recall",
        "{\"query\":\"a\",\"query\":\"b\"}",
        400,
        "duplicate_field",
    ),
    (
        Verb::Post,
        "/v1/recall",
        "{\"query\":\"a\",\"colour\":1}",
        400,
        "unknown_field",
    ),
    (
        Verb::Post,
        "/v1/recall",
        "{\"query\":\"\\ud800\",\"namespace\":\"main\"}",
        400,
        "lone_surrogate",
    ),
    (
        Verb::Post,
        "/v1/recall",
        "{\"query\":\"a\",\"namespace\":\"main\",\"k\":-1}",
        400,
        "count_out_of_range",
    ),
    (
        Verb::Post,
        "/v1/recall",
        "{\"query\":\"a\",\"namespace\":\"main\",\"k\":257}",
        400,
        "count_out_of_range",
    ),
    (
        Verb::Post,
        "/v1/recall",
        "{\"query\":\"a\",\"namespace\":\"main\",\"k\":1.5}",
        400,
        "invalid_field",
    ),
    (
        Verb::Post,
        "/v1/recall",
        "{\"query\":\"a\",\"namespace\":\"main\",\"max_class\":\"4\"}",
        400,
        "invalid_field",
    ),
    (
        Verb::Post,
        "/v1/recall",
        "{\"op\":\"write\",\"query\":\"a\",\"namespace\":\"main\"}",
        400,
        "unknown_field",
    ),
    (
        Verb::Post,
        "/v1/entries",
        "{\"kind\":\"note\",\"text\":\"a\"}",
        400,
        "invalid_field",
    ),
    (
        Verb::Post,
        "/v1/mandates/draft",
        "{\"uses_max\":-3,\"agent\":\"a\",\"tool\":\"pay\",\"not_before\":0,\"not_after\":1}",
        400,
        "count_out_of_range",
    ),
    (
        Verb::Post,
        "/v1/approvals/01989d8e-7a00-7abc-8def-0123456789ab/approve",
        "{\"digest\":\"abc\"}",
        400,
        "invalid_field",
    ),
    (
        Verb::Post,
        "/v1/approvals/01989d8e-7a00-7abc-8def-0123456789ab/deny",
        "{\"why\":1}",
        400,
        "unknown_field",
    ),
    (
        Verb::Post,
        "/v1/sources/bank/revoke",
        "{\"tool\":\"rates\"}",
        400,
        "missing_field",
    ),
];

#[test]
fn each_way_to_be_wrong_gets_its_own_problem() {
    let w = World::new();
    for (verb, path, body, status, code) in ROWS {
        let body = (!body.is_empty()).then(|| (*body).to_owned());
        let asked = Asked {
            verb: *verb,
            path: (*path).to_owned(),
            body,
            session: None,
            once: None,
        };
        let answer = w.send(Some(&w.user), &asked);
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (*status, *code),
            "{asked:?} {answer:?}"
        );
        is_problem(&answer);
    }
}

/// Checks the members of RFC 9457 and the headers.
fn is_problem(answer: &Answer) {
    let body = answer.json();
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(body["status"], json!(answer.status));
    assert_eq!(
        body["type"],
        json!(format!("urn:ancile:problem:{}", answer.code()))
    );
    assert_eq!(body["title"], json!(answer.code().replace('_', " ")));
    assert_eq!(
        body["request_id"].as_str().unwrap(),
        answer.header("x-request-id")
    );
    let detail = body["detail"].as_str().unwrap();
    assert!(!detail.is_empty() && !detail.ends_with('.'), "{detail}");
    assert_eq!(body.as_object().unwrap().len(), 6, "{body}");
}

#[test]
fn a_wrong_method_lists_the_right_ones() {
    let w = World::new();
    let answer = w.send(Some(&w.user), &Asked::put("/v1/entries", "{}"));
    let mut allowed: Vec<&str> = answer.header("allow").split(',').collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["GET", "HEAD", "POST"]);
}

#[test]
fn a_problem_names_the_limit_and_the_next_step() {
    let w = World::new();
    let detail = |body: &Value| {
        let said = w.post(&w.user, "/v1/recall", body).json();
        said["detail"].as_str().unwrap().to_owned()
    };
    let negative = json!({"query": "a", "namespace": "main", "k": -1});
    assert_eq!(
        detail(&negative),
        "`k` is -1; give a whole number from 1 to 256"
    );
    let unknown = detail(&json!({"query": "a", "limit": 1}));
    assert!(unknown.starts_with("unknown field `limit`, expected one of `namespace`"));
    assert!(unknown.ends_with("; leave it out"), "{unknown}");
    let kind = json!({"kind": "note", "text": "a"});
    let said = w.post(&w.user, "/v1/entries", &kind).json();
    let said = said["detail"].as_str().unwrap();
    assert!(
        said.starts_with(
            "`kind`: `note` is no kind of entry; give one of memory, task, context_file"
        )
    );
}

#[test]
fn a_query_is_told_which_parameter_is_wrong_and_what_would_do() {
    let w = World::new();
    let detail = |path: &str| {
        let said = w.get(&w.user, path).json();
        said["detail"].as_str().unwrap().to_owned()
    };
    let entries = |query: &str| detail(&format!("/v1/entries?{query}"));
    assert_eq!(
        entries("namespace=main&color=red"),
        "query parameter `color` is not known here; those allowed are namespace, cursor, limit; \
         leave it out"
    );
    assert_eq!(
        detail("/v1/manifest?limit=1"),
        "query parameter `limit` is not known here; this path takes none; leave it out"
    );
    assert_eq!(
        entries("namespace=main&namespace=main"),
        "query parameter `namespace` comes twice; give it once"
    );
    assert_eq!(
        entries(""),
        "query parameter `namespace` is missing; add the one to list: ?namespace=main"
    );
    for (given, echoed) in [("0", "0"), ("201", "201"), ("ten", "`ten`")] {
        assert_eq!(
            entries(&format!("namespace=main&limit={given}")),
            format!("query parameter `limit` is {echoed}; give 1 to 200 and follow `next`")
        );
    }
    assert_eq!(
        detail("/v1/tasks?namespace=main&due=yes"),
        "query parameter `due` is `yes`; give true or false"
    );
}

fn step_code(w: &World, ops: &Value) -> (u16, String) {
    let session = w.session();
    let asked = Asked::post(session.path("step"), &json!({"ops": ops})).within(&session.token);
    let answer = w.send(Some(&w.host), &asked);
    (answer.status, answer.code())
}

#[test]
fn a_step_says_which_operation_is_wrong_and_does_none() {
    let w = World::new();
    let session = w.session();
    let good = json!({"op": "expose", "kind": "user_turn", "text": "hi"});
    for (bad, status, code) in [
        (json!({"op": "sing"}), 400, "unknown_op"),
        (
            json!({"op": "recall", "query": "a", "k": -1}),
            400,
            "count_out_of_range",
        ),
        (
            json!({"op": "write", "kind": "memory", "text": "x".repeat(65_537)}),
            413,
            "too_long",
        ),
    ] {
        let body = json!({"ops": [good, bad]});
        let asked = Asked::post(session.path("step"), &body).within(&session.token);
        let answer = w.send(Some(&w.host), &asked);
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{}",
            answer.text
        );
        assert!(
            answer.json()["detail"]
                .as_str()
                .unwrap()
                .starts_with("operation 1: ")
        );
    }
    let view = w
        .get(&w.host, &format!("/v1/sessions/{}", session.id))
        .of(200);
    assert_eq!(
        view["exposure_len"],
        json!(0),
        "a refused step leaves nothing"
    );
}

#[test]
fn a_step_is_limited_in_operations() {
    let w = World::new();
    let ops = |n: usize| json!(vec![json!({"op": "recall", "query": "a"}); n]);
    assert_eq!(
        step_code(&w, &ops(STEP_OPS_MAX + 1)),
        (400, "too_many_ops".to_owned())
    );
}

fn raw(w: &World, headers: &str, body: &[u8]) -> (u16, String) {
    let head = format!(
        "POST /v1/recall HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         content-length: {}\r\n{headers}\r\n",
        w.user,
        body.len()
    );
    let said = w.raw(&[head.as_bytes(), body].concat());
    let status = said.split(' ').nth(1).unwrap().parse().unwrap();
    let body: Value = serde_json::from_str(said.split_once("\r\n\r\n").unwrap().1).unwrap();
    (status, body["code"].as_str().unwrap().to_owned())
}

#[test]
fn bytes_that_are_no_text_and_types_that_are_no_json_are_refused() {
    let w = World::new();
    let json = "content-type: application/json\r\n";
    assert_eq!(
        raw(&w, json, b"{\"query\":\"\xff\"}"),
        (400, "not_utf8".to_owned())
    );
    let body = b"{\"query\":\"a\"}";
    let wrong = (415, "wrong_content_type".to_owned());
    assert_eq!(raw(&w, "", body), wrong);
    assert_eq!(raw(&w, "content-type: text/plain\r\n", body), wrong);
    assert_eq!(raw(&w, "content-type: application/jsonp\r\n", body), wrong);
    let with_charset = "content-type: Application/JSON; charset=utf-8\r\n";
    assert_eq!(
        raw(&w, with_charset, body),
        (400, "missing_field".to_owned())
    );
}

#[test]
fn a_key_is_shown_in_one_way() {
    let w = World::new();
    for shown in ["", "Bearer", "Bearer  ", "Basic abc", "Bearer \u{fc}\u{fc}"] {
        let head = format!(
            "GET /v1/manifest HTTP/1.1\r\nhost: x\r\nauthorization: {shown}\r\n\
             connection: close\r\n\r\n"
        );
        let said = w.raw(head.as_bytes());
        assert!(
            said.starts_with("HTTP/1.1 401 ") && said.contains("key_missing"),
            "{said}"
        );
    }
    let head = format!(
        "GET /v1/manifest HTTP/1.1\r\nhost: x\r\nauthorization: bearer  {}\r\n\
         connection: close\r\n\r\n",
        w.user
    );
    assert!(w.raw(head.as_bytes()).starts_with("HTTP/1.1 200 "));
}

#[test]
fn two_keys_are_no_key() {
    let w = World::new();
    let twice = format!("authorization: Bearer {}\r\n", w.user);
    assert_eq!(raw(&w, &twice, b"{}"), (401, "key_missing".to_owned()));
}

#[test]
fn a_request_id_of_the_callers_own_is_not_taken() {
    let w = World::new();
    let head =
        "GET /healthz HTTP/1.1\r\nhost: x\r\nx-request-id: mine\r\nconnection: close\r\n\r\n";
    assert!(!w.raw(head.as_bytes()).contains("mine"));
}
