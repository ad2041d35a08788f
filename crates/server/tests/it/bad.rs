// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hundred and more ways to send nonsense, byte by byte, with the exact answer to each.

use crate::world::World;
use serde_json::Value;

const JSON: &str = "application/json";
const NOBODY: &str = "01989d8e-7a00-7abc-8def-0123456789ab";

/// Method, path, content type, body, status and code. In a path `@` is an id of nothing.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static [u8],
    u16,
    &'static str,
);

/// Of the user's.
const ROWS: &[Row] = &[
    // No such path, or not this way.
    ("GET", "/", "", b"", 404, "unknown_route"),
    ("GET", "/v1", "", b"", 404, "unknown_route"),
    ("GET", "/v1/", "", b"", 404, "unknown_route"),
    ("GET", "/v2/entries", "", b"", 404, "unknown_route"),
    ("GET", "/V1/entries", "", b"", 404, "unknown_route"),
    ("GET", "/v1/entries/@/", "", b"", 404, "unknown_route"),
    ("GET", "/v1/entries/@/@", "", b"", 404, "unknown_route"),
    ("GET", "/v1//entries", "", b"", 404, "unknown_route"),
    ("GET", "/v1/entries/..", "", b"", 400, "bad_path"),
    ("GET", "/v1/%65ntries", "", b"", 404, "unknown_route"),
    ("PATCH", "/v1/entries", JSON, b"{}", 405, "wrong_method"),
    ("OPTIONS", "/v1/entries", "", b"", 405, "wrong_method"),
    ("TRACE", "/v1/entries", "", b"", 405, "wrong_method"),
    ("BREW", "/v1/entries", "", b"", 405, "wrong_method"),
    ("get", "/v1/entries", "", b"", 405, "wrong_method"),
    ("DELETE", "/v1/entries", "", b"", 405, "wrong_method"),
    ("POST", "/v1/manifest", JSON, b"{}", 405, "wrong_method"),
    ("PUT", "/v1/keys", JSON, b"{}", 405, "wrong_method"),
    ("GET", "/v1/entries/batch", "", b"", 405, "wrong_method"),
    ("GET", "/v1/import", "", b"", 405, "wrong_method"),
    ("DELETE", "/healthz", "", b"", 405, "wrong_method"),
    // Ids and names in paths.
    ("GET", "/v1/entries/7", "", b"", 400, "bad_path"),
    ("GET", "/v1/entries/%00", "", b"", 400, "bad_path"),
    ("GET", "/v1/entries/%ff", "", b"", 400, "bad_path"),
    ("GET", "/v1/entries/%e2%80%ae", "", b"", 400, "bad_path"),
    ("GET", "/v1/entries/%2e%2e%2f", "", b"", 400, "bad_path"),
    (
        "GET",
        "/v1/entries/01989d8e7a007abc8def0123456789ab",
        "",
        b"",
        400,
        "bad_path",
    ),
    (
        "GET",
        "/v1/entries/{01989d8e-7a00-7abc-8def-0123456789ab}",
        "",
        b"",
        400,
        "bad_path",
    ),
    ("DELETE", "/v1/entries/x", "", b"", 400, "bad_path"),
    ("GET", "/v1/sessions/x", "", b"", 400, "bad_path"),
    ("POST", "/v1/tasks/x/cancel", "", b"", 400, "bad_path"),
    ("POST", "/v1/approvals/x/deny", "", b"", 400, "bad_path"),
    ("POST", "/v1/sources/a%20b/revoke", "", b"", 400, "bad_path"),
    ("GET", "/v1/entries/@", "", b"", 404, "not_found"),
    ("GET", "/v1/entries/@/proof", "", b"", 404, "not_found"),
    ("DELETE", "/v1/entries/@", "", b"", 404, "not_found"),
    ("POST", "/v1/tasks/@/cancel", "", b"", 404, "not_found"),
    // Queries.
    ("GET", "/v1/entries", "", b"", 400, "invalid_query"),
    (
        "GET",
        "/v1/entries?namespace=",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/entries?namespace=a%00b",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/entries?namespace=%ff",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/entries?namespace=main&x",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/entries?namespace=main&limit=",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/entries?namespace=main&limit=1e2",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/entries?namespace=main&limit=+5x",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/entries?namespace=main&limit=0",
        "",
        b"",
        400,
        "limit_out_of_range",
    ),
    (
        "GET",
        "/v1/entries?namespace=main&limit=201",
        "",
        b"",
        400,
        "limit_out_of_range",
    ),
    (
        "GET",
        "/v1/entries?namespace=main&limit=99999999999999999999",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/entries?namespace=main&cursor=",
        "",
        b"",
        400,
        "bad_cursor",
    ),
    (
        "GET",
        "/v1/entries?namespace=main&cursor=-1",
        "",
        b"",
        400,
        "bad_cursor",
    ),
    (
        "GET",
        "/v1/entries?namespace=main&cursor=18446744073709551616",
        "",
        b"",
        400,
        "bad_cursor",
    ),
    ("GET", "/v1/mandates?cursor=1", "", b"", 400, "bad_cursor"),
    ("GET", "/v1/sessions?cursor=x", "", b"", 400, "bad_cursor"),
    (
        "GET",
        "/v1/namespaces?cursor=a/b",
        "",
        b"",
        400,
        "bad_cursor",
    ),
    ("GET", "/v1/sources?cursor=%20", "", b"", 400, "bad_cursor"),
    ("GET", "/v1/tools?cursor=%0a", "", b"", 400, "bad_cursor"),
    ("GET", "/v1/consistency", "", b"", 400, "invalid_query"),
    (
        "GET",
        "/v1/consistency?size=x",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/consistency?size=-1",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/consistency?size=0",
        "",
        b"",
        400,
        "count_out_of_range",
    ),
    (
        "GET",
        "/v1/consistency?size=99999999",
        "",
        b"",
        400,
        "count_out_of_range",
    ),
    (
        "GET",
        "/v1/consistency?size=1&log=all",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/tasks?namespace=main&due=1",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/report/refusals?from=now",
        "",
        b"",
        400,
        "invalid_query",
    ),
    (
        "GET",
        "/v1/report/refusals?tool=a%20b",
        "",
        b"",
        400,
        "invalid_query",
    ),
    ("GET", "/v1/manifest?x=1", "", b"", 400, "invalid_query"),
    (
        "GET",
        "/v1/entries?namespace=elsewhere",
        "",
        b"",
        403,
        "forbidden",
    ),
    (
        "GET",
        "/v1/export?namespace=elsewhere",
        "",
        b"",
        403,
        "forbidden",
    ),
    // What a body says it is.
    ("POST", "/v1/entries", "", b"{}", 415, "wrong_content_type"),
    (
        "POST",
        "/v1/entries",
        "text/plain",
        b"{}",
        415,
        "wrong_content_type",
    ),
    (
        "POST",
        "/v1/entries",
        "application/jsonp",
        b"{}",
        415,
        "wrong_content_type",
    ),
    (
        "POST",
        "/v1/entries",
        "application/x-www-form-urlencoded",
        b"a=b",
        415,
        "wrong_content_type",
    ),
    (
        "POST",
        "/v1/entries",
        "multipart/form-data; boundary=x",
        b"--x--",
        415,
        "wrong_content_type",
    ),
    (
        "POST",
        "/v1/entries",
        "application/problem+json",
        b"{}",
        415,
        "wrong_content_type",
    ),
    ("POST", "/v1/entries", JSON, b"", 400, "body_missing"),
    // Bytes that are no JSON.
    ("POST", "/v1/entries", JSON, b"\xff\xfe", 400, "not_utf8"),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"text\":\"\xc3\x28\"}",
        400,
        "not_utf8",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"text\":\"\xed\xa0\x80\"}",
        400,
        "not_utf8",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"\xef\xbb\xbf{}",
        400,
        "json_malformed",
    ),
    ("POST", "/v1/entries", JSON, b"\0", 400, "json_malformed"),
    ("POST", "/v1/entries", JSON, b" ", 400, "json_truncated"),
    ("POST", "/v1/entries", JSON, b"{", 400, "json_truncated"),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"text\"",
        400,
        "json_truncated",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"text\":\"a",
        400,
        "json_truncated",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{'text':'a'}",
        400,
        "json_malformed",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{text:\"a\"}",
        400,
        "json_malformed",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"text\":\"a\",}",
        400,
        "json_malformed",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"text\":\"a\nb\"}",
        400,
        "json_malformed",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"text\":\"a\0b\"}",
        400,
        "json_malformed",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"text\":\"\\x41\"}",
        400,
        "json_malformed",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"text\":\"\\ud800\"}",
        400,
        "lone_surrogate",
    ),
    ("POST", "/v1/entries", JSON, b"{} {}", 400, "missing_field"),
    ("POST", "/v1/entries", JSON, b"NaN", 400, "json_malformed"),
    // JSON of another shape.
    ("POST", "/v1/entries", JSON, b"null", 400, "invalid_field"),
    ("POST", "/v1/entries", JSON, b"true", 400, "invalid_field"),
    ("POST", "/v1/entries", JSON, b"7", 400, "invalid_field"),
    ("POST", "/v1/entries", JSON, b"[]", 400, "invalid_field"),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"\"text\"",
        400,
        "invalid_field",
    ),
    ("POST", "/v1/entries", JSON, b"{}", 400, "missing_field"),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\"}",
        400,
        "missing_field",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":null,\"text\":\"a\"}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":7}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":[\"a\"]}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"MEMORY\",\"text\":\"a\"}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\"a\",\"class\":\"user_authored\"}",
        400,
        "unknown_field",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\"a\",\"t\\u0065xt\":\"b\"}",
        400,
        "duplicate_field",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\"\"}",
        400,
        "empty_text",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\" \\n\"}",
        400,
        "empty_text",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"task\",\"text\":\"a\"}",
        400,
        "task_fields",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\"a\",\"task\":[1]}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\"a\",\"valid_until\":1e400}",
        400,
        "json_malformed",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\"a\",\"valid_until\":9223372036854775808}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\"a\",\"valid_until\":-1}",
        400,
        "validity_past",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\"a\",\"locator\":\"a\\u0000b\"}",
        400,
        "locator_not_plain",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\"a\",\"namespace\":\"a b\"}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\"a\",\"namespace\":\"elsewhere\"}",
        403,
        "forbidden",
    ),
    (
        "POST",
        "/v1/entries",
        JSON,
        b"{\"kind\":\"memory\",\"text\":\"a\",\"parents\":[\"zz\"]}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/entries/batch",
        JSON,
        b"{\"entries\":[]}",
        400,
        "count_out_of_range",
    ),
    (
        "POST",
        "/v1/entries/batch",
        JSON,
        b"{\"entries\":{}}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/entries/batch",
        JSON,
        b"{\"entries\":[7]}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/import",
        JSON,
        b"{\"entries\":[]}",
        400,
        "missing_field",
    ),
    (
        "POST",
        "/v1/import",
        JSON,
        b"{\"namespace\":\"main\",\"entries\":[]}",
        400,
        "count_out_of_range",
    ),
    (
        "POST",
        "/v1/recall",
        JSON,
        b"{\"namespace\":\"main\",\"query\":\"\"}",
        400,
        "empty_query",
    ),
    (
        "POST",
        "/v1/recall",
        JSON,
        b"{\"namespace\":\"main\",\"query\":\"a\",\"k\":0}",
        400,
        "count_out_of_range",
    ),
    (
        "POST",
        "/v1/recall",
        JSON,
        b"{\"namespace\":\"main\",\"query\":\"a\",\"tokens\":4294967296}",
        400,
        "count_out_of_range",
    ),
    (
        "POST",
        "/v1/approvals/@/approve",
        JSON,
        b"{\"digest\":\"\"}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/approvals/@/deny",
        JSON,
        b"[]",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/quarantine/@/release",
        JSON,
        b"{}",
        400,
        "missing_field",
    ),
    (
        "PUT",
        "/v1/quotas",
        JSON,
        b"{\"entries\":-1}",
        400,
        "count_out_of_range",
    ),
    (
        "PUT",
        "/v1/quotas",
        JSON,
        b"{\"entries\":9007199254740992}",
        400,
        "count_out_of_range",
    ),
    (
        "PUT",
        "/v1/quotas",
        JSON,
        b"{\"entries\":1.5}",
        400,
        "invalid_field",
    ),
    (
        "PUT",
        "/v1/tools/pay/mode",
        JSON,
        b"{\"mode\":\"off\"}",
        400,
        "invalid_field",
    ),
    (
        "PUT",
        "/v1/namespaces/main",
        JSON,
        b"{\"readers\":[]}",
        400,
        "missing_field",
    ),
    (
        "POST",
        "/v1/keys/x/rotate",
        JSON,
        b"{\"overlap_seconds\":-1}",
        400,
        "count_out_of_range",
    ),
    (
        "POST",
        "/v1/keys/x/rotate",
        JSON,
        b"{\"overlap_seconds\":604801}",
        400,
        "count_out_of_range",
    ),
    (
        "POST",
        "/v1/keys",
        JSON,
        b"{\"principal\":\"\"}",
        400,
        "invalid_field",
    ),
    (
        "POST",
        "/v1/tenants",
        JSON,
        b"{\"name\":\"a/b\",\"operator\":\"o\"}",
        400,
        "invalid_field",
    ),
];

/// Sends a request byte by byte; gives status and code.
fn send(w: &World, (method, path, kind): (&str, &str, &str), body: &[u8]) -> (u16, String) {
    let mut head = format!(
        "{method} {} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nconnection: close\r\n",
        path.replace('@', NOBODY),
        w.user
    );
    if !kind.is_empty() {
        head += &format!("content-type: {kind}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    let said = w.raw(&[head.as_bytes(), body].concat());
    let status = said.get(9..12).unwrap_or_default().parse().unwrap_or(0);
    let text = said.split_once("\r\n\r\n").map_or("", |(_, text)| text);
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let code = json["code"].as_str().unwrap_or_default();
    assert!(
        said.contains("content-type: application/problem+json"),
        "{method} {path}: {said}"
    );
    (status, code.to_owned())
}

#[test]
fn each_of_a_hundred_bad_inputs_gets_its_exact_answer() {
    let w = World::new();
    assert!(ROWS.len() >= 100, "{}", ROWS.len());
    let mut wrong = Vec::new();
    for (method, path, kind, body, status, code) in ROWS {
        let answer = send(&w, (method, path, kind), body);
        if answer != (*status, (*code).to_owned()) {
            let body = String::from_utf8_lossy(body);
            wrong.push(format!("{method} {path} {kind} {body}: {answer:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    // Nothing of all that was kept.
    let listed = w.get(&w.user, "/v1/entries?namespace=main").of(200);
    assert_eq!(listed["items"], serde_json::json!([]));
}

#[test]
fn what_is_too_long_or_too_deep_is_refused_at_its_edge() {
    let w = World::new();
    let write = |text: &str, locator: &str| {
        let body = serde_json::json!({"kind": "memory", "text": text, "locator": locator});
        send_ok(&w, "/v1/entries", &body.to_string())
    };
    for (len, status) in [(65_535, 201), (65_536, 201), (65_537, 413)] {
        assert_eq!(write(&"a ".repeat(len)[..len], ""), status, "text {len}");
    }
    for (len, status) in [(2_047, 201), (2_048, 201), (2_049, 413)] {
        assert_eq!(write("a", &"l".repeat(len)), status, "locator {len}");
    }
    for (len, status) in [(4_095, 200), (4_096, 200), (4_097, 413)] {
        let query = "q".repeat(len);
        let body = serde_json::json!({"namespace": "main", "query": query});
        assert_eq!(
            send_ok(&w, "/v1/recall", &body.to_string()),
            status,
            "{len}"
        );
    }
    for depth in [100, 127, 128, 129, 10_000, 400_000] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let body = format!("{{\"kind\":\"memory\",\"text\":{nested}}}");
        assert_eq!(send_ok(&w, "/v1/entries", &body), 400, "{depth}");
        let body = format!("{{\"version\":1,\"tools\":{nested}}}");
        let put = crate::world::Asked::put("/v1/manifest", &body);
        assert_eq!(w.send(Some(&w.operator), &put).status, 400, "{depth}");
    }
    let many = format!("{{{}\"text\":\"a\"}}", "\"text\":\"a\",".repeat(50_000));
    assert_eq!(send_ok(&w, "/v1/entries", &many), 400);
    let digits = format!(
        "{{\"kind\":\"memory\",\"valid_from\":{}}}",
        "9".repeat(500_000)
    );
    assert_eq!(send_ok(&w, "/v1/entries", &digits), 400);
}

fn send_ok(w: &World, path: &str, body: &str) -> u16 {
    let asked = crate::world::Asked {
        body: Some(body.to_owned()),
        ..crate::world::Asked::post(path, &serde_json::json!({}))
    };
    w.send(Some(&w.user), &asked).status
}
