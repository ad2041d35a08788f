// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted, and who may read it.

use crate::world::{Asked, INSTRUCTION, World};
use ancile_engine::counts::Integrity;
use ancile_server::{Limits, MetricsAccess};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

const DOCUMENT: &str = include_str!("../../../../docs/operations.md");

fn with(metrics: MetricsAccess) -> World {
    World::with(Limits {
        metrics,
        ..Limits::default()
    })
}

fn read(w: &World, key: Option<&str>) -> (u16, String) {
    let answer = w.send(key, &Asked::get("/metrics"));
    (answer.status, answer.text)
}

/// The value of a series.
fn value(text: &str, series: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    let value = line.unwrap_or_else(|| panic!("no {series} in {text}"));
    value.trim().parse().unwrap()
}

#[test]
fn only_the_first_operator_reads_them_unless_it_is_said() {
    let w = with(MetricsAccess::Operator);
    assert_eq!(read(&w, Some(&w.operator)).0, 200);
    for key in [&w.user, &w.host, &w.model] {
        assert_eq!(read(&w, Some(key)).0, 403);
    }
    assert_eq!(read(&w, None).0, 401);
    assert_eq!(read(&w, Some("anc_bad")).0, 401);
    let tenant = json!({"name": "other", "operator": "op"});
    let made = w.post(&w.operator, "/v1/tenants", &tenant).of(201);
    assert_eq!(read(&w, Some(made["token"].as_str().unwrap())).0, 403);

    let w = with(MetricsAccess::Loopback);
    assert_eq!(read(&w, None).0, 200);
    let w = with(MetricsAccess::Off);
    assert_eq!(read(&w, Some(&w.operator)).0, 404);
}

#[test]
fn what_happened_is_counted_by_kind_and_class() {
    let w = World::new();
    while w.counts().integrity() == Integrity::Pending {
        std::thread::yield_now();
    }
    w.note("the boiler man comes on Friday");
    w.shelved();
    let (session, ..) = w.ask("12.50");
    w.step(&session, &json!([{"op": "recall", "query": "boiler"}]));
    assert_eq!(w.get(&w.user, "/v1/entries/nope").status, 400);
    let (_, text) = read(&w, Some(&w.operator));
    let is = |series: &str, due: u64| assert_eq!(value(&text, series), due, "{series}");
    is("ancile_entries_written_total{class=\"user_authored\"}", 1);
    is("ancile_entries_written_total{class=\"untrusted\"}", 1);
    is("ancile_entries_quarantined_total", 1);
    is("ancile_entries_recalled_total{class=\"user_authored\"}", 1);
    is("ancile_entries_recalled_total{class=\"untrusted\"}", 0);
    is("ancile_decisions_total{of=\"call\",decision=\"ask\"}", 1);
    is("ancile_decisions_total{of=\"call\",decision=\"permit\"}", 0);
    is("ancile_decisions_total{of=\"fire\",decision=\"deny\"}", 0);
    is("ancile_asks_total", 1);
    is("ancile_integrity{state=\"verified\"}", 1);
    is("ancile_integrity{state=\"down\"}", 0);
    is("ancile_step_seconds_count", 2);
    let path = "path=\"/v1/entries/{id}\"";
    is(
        &format!("ancile_http_requests_total{{method=\"GET\",{path},status=\"400\"}}"),
        1,
    );
    is("ancile_http_refused_total{reason=\"bad_path\"}", 1);
    let commits = value(&text, "ancile_commit_seconds_count");
    assert!(commits > 0);
    is("ancile_commit_seconds_bucket{le=\"+Inf\"}", commits);
    is("ancile_group_requests_count", commits);
    for secret in ["boiler", INSTRUCTION, "alice", "default", "main"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[test]
fn the_document_lists_every_metric() {
    let w = World::new();
    assert_eq!(read(&w, None).0, 401);
    let answer = w.get(&w.operator, "/metrics");
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    assert_eq!(answer.header("content-type"), kind);
    let text = answer.text;
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let is: BTreeSet<&str> = types.filter_map(|line| line.split(' ').next()).collect();
    let rows = DOCUMENT
        .lines()
        .filter_map(|l| l.strip_prefix("| `ancile_"));
    let names = rows.filter_map(|row| row.split('`').next());
    let said: BTreeSet<String> = names.map(|name| format!("ancile_{name}")).collect();
    assert_eq!(said.iter().map(String::as_str).collect::<BTreeSet<_>>(), is);
    // One sample on each line, with a number.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn a_slow_disk_degrades_health_and_says_what_was_measured() {
    let w = World::new();
    let health = || w.send(None, &Asked::get("/healthz")).of(200);
    assert_eq!(health()["status"], "ok");
    assert_eq!(health().get("checks"), None);
    // Whatever a commit takes is too long.
    w.counts().set_slow_commit(Duration::ZERO);
    w.note("the boiler man comes on Friday");
    let said = health();
    assert_eq!(
        (&said["status"], &said["integrity"]),
        (&json!("degraded"), &json!("verified"))
    );
    let check = &said["checks"][0];
    assert_eq!(check["check"], "commit_latency");
    assert_eq!(
        (&check["status"], &check["limit_milliseconds"]),
        (&json!("degraded"), &json!(0))
    );
    assert!(check["measured_milliseconds"].is_u64());
    let next = check["next"].as_str().unwrap();
    assert!(next.contains("health.slow_commit_milliseconds"), "{next}");
    let (_, text) = read(&w, Some(&w.operator));
    assert!(value(&text, "ancile_slow_commits_total") > 0);
}

#[test]
fn a_write_that_stands_still_is_said_while_it_does_and_after() {
    let w = World::new();
    let limit = Duration::from_millis(50);
    w.counts().set_slow_commit(limit);
    let health = || w.send(None, &Asked::get("/healthz")).of(200);
    let held = w.hold_database();
    let under_way = std::thread::scope(|threads| {
        threads.spawn(|| w.note("the boiler man comes on Friday"));
        // While it stands still the answer comes all the same.
        let said = loop {
            if w.counts().slow_commit().is_some_and(|slow| slow.under_way) {
                break health();
            }
            std::thread::yield_now();
        };
        drop(held);
        said
    });
    for said in [under_way, health()] {
        assert_eq!(said["status"], "degraded", "{said}");
        let check = &said["checks"][0];
        assert_eq!(check["check"], "commit_latency");
        assert_eq!(check["limit_milliseconds"], 50);
        assert!(check["measured_milliseconds"].as_u64().unwrap() >= 50);
    }
    // It stood still once, and was written.
    let (_, text) = read(&w, Some(&w.operator));
    assert!(value(&text, "ancile_slow_commits_total") > 0);
    let found = json!({"namespace": "main", "query": "boiler"});
    let found = w.post(&w.user, "/v1/recall", &found).of(200);
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
}
