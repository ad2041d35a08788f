// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every route under every role, without a key, with a bad one, and with those of another tenant.

use crate::world::{Asked, MANIFEST, World};
use ancile_server::{Access, ROUTES, Verb};
use serde_json::json;
use std::collections::BTreeSet;

/// The status that operator, user, host and agent get.
pub type Statuses = [u16; 4];
/// Makes what the request needs, and the request.
pub type Make = fn(&World) -> Asked;

/// A route, what each role gets from it, and a request to it.
pub type Row = (Verb, &'static str, Statuses, Make);

const NOBODY: &str = "01989d8e-7a00-7abc-8def-0123456789ab";

/// One row for each route of the server.
pub const ROWS: &[Row] = &[
    (Verb::Get, "/healthz", [200, 200, 200, 200], |_| {
        Asked::get("/healthz")
    }),
    (Verb::Post, "/v1/sessions", [403, 403, 201, 201], |_| {
        let body = json!({"agent": "assistant", "user": "alice", "namespace": "main"});
        Asked::post("/v1/sessions", &body)
    }),
    (Verb::Get, "/v1/sessions", [200, 200, 200, 200], |_| {
        Asked::get("/v1/sessions")
    }),
    (Verb::Get, "/v1/sessions/{id}", [200, 200, 200, 404], |w| {
        Asked::get(format!("/v1/sessions/{}", w.session().id))
    }),
    (
        Verb::Post,
        "/v1/sessions/{id}/step",
        [404, 404, 200, 404],
        |w| {
            let session = w.session();
            let ops = json!({"ops": [{"op": "expose", "kind": "user_turn", "text": "hi"}]});
            Asked::post(session.path("step"), &ops).within(&session.token)
        },
    ),
    (
        Verb::Post,
        "/v1/sessions/{id}/act",
        [404, 404, 200, 404],
        |w| {
            let session = w.session();
            let call = json!({"tool": "search", "args": {"query": "x"}});
            Asked::post(session.path("act"), &call).within(&session.token)
        },
    ),
    (
        Verb::Post,
        "/v1/sessions/{id}/recall",
        [404, 404, 200, 404],
        |w| {
            let session = w.session();
            Asked::post(session.path("recall"), &json!({"query": "x"})).within(&session.token)
        },
    ),
    (
        Verb::Post,
        "/v1/sessions/{id}/reply",
        [404, 404, 200, 404],
        |w| {
            let session = w.session();
            let reply = json!({"text": "see https://evil.example"});
            Asked::post(session.path("reply"), &reply).within(&session.token)
        },
    ),
    (
        Verb::Post,
        "/v1/sessions/{id}/messages",
        [404, 404, 201, 404],
        |w| {
            let session = w.session();
            let body = json!({"messages": [{"role": "user", "content": "I moved to Bonn."}],
                "facts": [{"message": 0, "text": "The user lives in Bonn."}]});
            Asked::post(session.path("messages"), &body).within(&session.token)
        },
    ),
    (
        Verb::Post,
        "/v1/sessions/{id}/close",
        [404, 404, 204, 404],
        |w| {
            let session = w.session();
            Asked::post(session.path("close"), &json!({})).within(&session.token)
        },
    ),
    (Verb::Post, "/v1/entries", [403, 201, 201, 201], |_| {
        let body = json!({"kind": "memory", "namespace": "main", "text": "a note"});
        Asked::post("/v1/entries", &body)
    }),
    (
        Verb::Post,
        "/v1/entries/batch",
        [403, 201, 201, 201],
        |_| {
            let entry = json!({"kind": "memory", "namespace": "main", "text": "a note"});
            Asked::post("/v1/entries/batch", &json!({"entries": [entry]}))
        },
    ),
    (Verb::Get, "/v1/entries", [403, 200, 200, 200], |_| {
        Asked::get("/v1/entries?namespace=main")
    }),
    (Verb::Get, "/v1/entries/{id}", [404, 200, 200, 200], |w| {
        Asked::get(format!("/v1/entries/{}", w.note("a note")))
    }),
    (
        Verb::Delete,
        "/v1/entries/{id}",
        [200, 200, 403, 403],
        |w| Asked::delete(format!("/v1/entries/{}", w.note("a note"))),
    ),
    (
        Verb::Post,
        "/v1/entries/{id}/endorse",
        [403, 201, 403, 403],
        |w| {
            let (id, hash) = w.page("The rent rises to 1200 in May.");
            let body = json!({"digest": hash, "values": ["1200"]});
            Asked::post(format!("/v1/entries/{id}/endorse"), &body)
        },
    ),
    (
        Verb::Get,
        "/v1/entries/{id}/lineage",
        [404, 200, 200, 200],
        |w| Asked::get(format!("/v1/entries/{}/lineage", w.note("a note"))),
    ),
    (
        Verb::Get,
        "/v1/entries/{id}/proof",
        [404, 200, 200, 200],
        |w| Asked::get(format!("/v1/entries/{}/proof", w.note("a note"))),
    ),
    (Verb::Get, "/v1/export", [403, 200, 403, 403], |_| {
        Asked::get("/v1/export?namespace=main")
    }),
    (Verb::Post, "/v1/import", [403, 201, 201, 403], |_| {
        let entry = json!({"kind": "memory", "text": "a note"});
        let body = json!({"namespace": "main", "entries": [entry]});
        Asked::post("/v1/import", &body)
    }),
    (Verb::Post, "/v1/recall", [403, 200, 403, 403], |_| {
        Asked::post("/v1/recall", &json!({"namespace": "main", "query": "note"}))
    }),
    (Verb::Get, "/v1/tasks", [403, 200, 200, 200], |_| {
        Asked::get("/v1/tasks?namespace=main")
    }),
    (
        Verb::Post,
        "/v1/tasks/{id}/fire",
        [403, 403, 200, 403],
        |w| {
            let id = w.due_task(&json!(null));
            let body = json!({"agent": "assistant", "user": "alice"});
            Asked::post(format!("/v1/tasks/{id}/fire"), &body)
        },
    ),
    (
        Verb::Post,
        "/v1/tasks/{id}/cancel",
        [404, 204, 403, 403],
        |w| {
            let id = w.due_task(&json!(null));
            Asked::post(format!("/v1/tasks/{id}/cancel"), &json!({}))
        },
    ),
    (Verb::Get, "/v1/manifest", [200, 200, 200, 200], |_| {
        Asked::get("/v1/manifest")
    }),
    (Verb::Put, "/v1/manifest", [200, 403, 403, 403], |_| {
        Asked::put("/v1/manifest", MANIFEST)
    }),
    (Verb::Get, "/v1/tools", [200, 200, 200, 200], |_| {
        Asked::get("/v1/tools")
    }),
    (
        Verb::Put,
        "/v1/tools/{name}/mode",
        [204, 403, 403, 403],
        |w| {
            // The same manifest, with a tool that no other tenant has.
            let tool = format!("t-{}", w.session().id);
            let manifest = format!(
                "{},{{\"name\":\"{tool}\",\"effect\":\"external\",\"args\":{{}}}}]}}",
                MANIFEST.strip_suffix("]}").unwrap()
            );
            let put = Asked::put("/v1/manifest", &manifest);
            w.send(Some(&w.operator), &put).of(200);
            let body = json!({"mode": "enforce"});
            Asked::put(format!("/v1/tools/{tool}/mode"), &body.to_string())
        },
    ),
    (
        Verb::Get,
        "/v1/report/refusals",
        [200, 403, 403, 403],
        |_| Asked::get("/v1/report/refusals"),
    ),
    (Verb::Post, "/v1/mandates", [403, 201, 403, 403], |_| {
        mandate("/v1/mandates")
    }),
    (Verb::Get, "/v1/mandates", [200, 200, 403, 403], |_| {
        Asked::get("/v1/mandates")
    }),
    (
        Verb::Post,
        "/v1/mandates/draft",
        [403, 200, 403, 403],
        |_| mandate("/v1/mandates/draft"),
    ),
    (
        Verb::Post,
        "/v1/mandates/{id}/revoke",
        [204, 204, 403, 403],
        |w| {
            let granted = w.send(Some(&w.user), &mandate("/v1/mandates")).of(201);
            let id = granted["id"].as_str().unwrap();
            Asked::post(format!("/v1/mandates/{id}/revoke"), &json!({}))
        },
    ),
    (Verb::Get, "/v1/approvals", [200, 200, 200, 200], |_| {
        Asked::get("/v1/approvals")
    }),
    (Verb::Get, "/v1/approvals/{id}", [200, 200, 200, 404], |w| {
        Asked::get(format!("/v1/approvals/{}", w.ask("1").1))
    }),
    (
        Verb::Post,
        "/v1/approvals/{id}/approve",
        [403, 200, 403, 403],
        |w| {
            let (_, id, digest) = w.ask("2");
            Asked::post(
                format!("/v1/approvals/{id}/approve"),
                &json!({"digest": digest}),
            )
        },
    ),
    (
        Verb::Post,
        "/v1/approvals/{id}/deny",
        [403, 200, 403, 403],
        |w| Asked::post(format!("/v1/approvals/{}/deny", w.ask("3").1), &json!({})),
    ),
    (Verb::Get, "/v1/sources", [200, 200, 403, 403], |_| {
        Asked::get("/v1/sources")
    }),
    (Verb::Post, "/v1/sources", [204, 204, 403, 403], |w| {
        let name = format!("shop-{}", w.session().id);
        Asked::post("/v1/sources", &json!({"name": name, "tools": []}))
    }),
    (
        Verb::Post,
        "/v1/sources/{name}/approve",
        [204, 204, 403, 403],
        |w| {
            source(w);
            let body = json!({"tool": "rates", "field": "rate", "grade": "evidence"});
            Asked::post("/v1/sources/bank/approve", &body)
        },
    ),
    (
        Verb::Post,
        "/v1/sources/{name}/revoke",
        [204, 204, 403, 403],
        |w| {
            source(w);
            Asked::post(
                "/v1/sources/bank/revoke",
                &json!({"tool": "rates", "field": "rate"}),
            )
        },
    ),
    (Verb::Get, "/v1/quarantine", [403, 200, 403, 403], |_| {
        Asked::get("/v1/quarantine?namespace=main")
    }),
    (
        Verb::Post,
        "/v1/quarantine/{id}/release",
        [404, 200, 403, 403],
        |w| {
            let (id, hash) = w.shelved();
            let body = json!({"digest": hash, "reason": "read and found harmless"});
            Asked::post(format!("/v1/quarantine/{id}/release"), &body)
        },
    ),
    (
        Verb::Post,
        "/v1/quarantine/{id}/discard",
        [404, 204, 403, 403],
        |w| {
            let (id, hash) = w.shelved();
            Asked::post(
                format!("/v1/quarantine/{id}/discard"),
                &json!({"digest": hash}),
            )
        },
    ),
    (Verb::Post, "/v1/keys", [201, 403, 403, 403], |_| key()),
    (Verb::Get, "/v1/keys", [200, 403, 403, 403], |_| {
        Asked::get("/v1/keys")
    }),
    (
        Verb::Post,
        "/v1/keys/{id}/revoke",
        [204, 403, 403, 403],
        |w| {
            let made = w.send(Some(&w.operator), &key()).of(201);
            let id = made["id"].as_str().unwrap();
            Asked::post(format!("/v1/keys/{id}/revoke"), &json!({}))
        },
    ),
    (
        Verb::Post,
        "/v1/keys/{id}/rotate",
        [201, 403, 403, 403],
        |w| {
            let made = w.send(Some(&w.operator), &key()).of(201);
            let id = made["id"].as_str().unwrap();
            let body = json!({"overlap_seconds": 60});
            Asked::post(format!("/v1/keys/{id}/rotate"), &body)
        },
    ),
    (Verb::Get, "/v1/principals", [200, 403, 403, 403], |_| {
        Asked::get("/v1/principals")
    }),
    (Verb::Get, "/v1/tenants", [200, 403, 403, 403], |_| {
        Asked::get("/v1/tenants")
    }),
    (Verb::Post, "/v1/tenants", [201, 403, 403, 403], |w| {
        let name = format!("t-{}", w.session().id);
        Asked::post("/v1/tenants", &json!({"name": name, "operator": "root"}))
    }),
    (Verb::Post, "/v1/namespaces", [204, 403, 403, 403], |w| {
        let body = json!({"name": format!("n-{}", w.session().id), "readers": [], "writers": []});
        Asked::post("/v1/namespaces", &body)
    }),
    (Verb::Get, "/v1/namespaces", [200, 200, 200, 200], |_| {
        Asked::get("/v1/namespaces")
    }),
    (
        Verb::Put,
        "/v1/namespaces/{name}",
        [204, 403, 403, 403],
        |w| {
            let name = format!("n-{}", w.session().id);
            let body = json!({"name": name, "readers": [], "writers": []});
            assert_eq!(w.post(&w.operator, "/v1/namespaces", &body).status, 204);
            let body = json!({"readers": ["alice"], "writers": []});
            Asked::put(format!("/v1/namespaces/{name}"), &body.to_string())
        },
    ),
    (Verb::Get, "/v1/quotas", [200, 403, 403, 403], |_| {
        Asked::get("/v1/quotas")
    }),
    (Verb::Put, "/v1/quotas", [204, 403, 403, 403], |_| {
        let body = json!({"namespace": "main", "entries": 1_000_000});
        Asked::put("/v1/quotas", &body.to_string())
    }),
    (Verb::Get, "/v1/integrity", [200, 403, 403, 403], |_| {
        Asked::get("/v1/integrity")
    }),
    (Verb::Get, "/v1/index", [200, 403, 403, 403], |_| {
        Asked::get("/v1/index")
    }),
    (
        Verb::Post,
        "/v1/index/rebuild",
        [200, 403, 403, 403],
        |_| Asked::post("/v1/index/rebuild", &json!({})),
    ),
    (Verb::Get, "/v1/consistency", [200, 200, 200, 200], |_| {
        Asked::get("/v1/consistency?size=1")
    }),
    (Verb::Get, "/v1/checkpoint", [200, 200, 200, 200], |_| {
        Asked::get("/v1/checkpoint")
    }),
];

pub fn mandate(path: &str) -> Asked {
    let body = json!({"agent": "assistant", "tool": "pay", "not_before": 0,
        "not_after": 4_102_444_800_000_000_i64,
        "fixed": {"to": ["DE02120300000000202051"]}});
    Asked::post(path, &body)
}

fn key() -> Asked {
    let body = json!({"principal": "carol", "role": "user", "namespaces": ["main"]});
    Asked::post("/v1/keys", &body)
}

fn source(w: &World) {
    let body = json!({"name": "bank", "tools": ["rates"]});
    let status = w.post(&w.operator, "/v1/sources", &body).status;
    assert!(matches!(status, 204 | 409), "{status}");
}

#[test]
fn every_route_has_a_row_and_every_row_a_route() {
    let routes: BTreeSet<_> = ROUTES.iter().map(|r| (r.verb, r.path)).collect();
    let rows: BTreeSet<_> = ROWS.iter().map(|(verb, path, ..)| (*verb, *path)).collect();
    assert_eq!(routes, rows);
    assert_eq!(
        (ROUTES.len(), ROWS.len()),
        (routes.len(), rows.len()),
        "each once"
    );
}

/// Who may ask a route.
pub fn access(verb: Verb, path: &str) -> Access {
    ROUTES
        .iter()
        .find(|r| r.verb == verb && r.path == path)
        .unwrap()
        .access
}

#[test]
fn every_role_gets_what_it_may() {
    let w = World::new();
    let keys = [&w.operator, &w.user, &w.host, &w.model];
    for (verb, path, statuses, make) in ROWS {
        for (key, expected) in keys.iter().zip(statuses) {
            let answer = w.send(Some(key), &make(&w));
            assert_eq!(answer.status, *expected, "{verb:?} {path} {}", answer.text);
            if answer.status >= 400 {
                assert!(matches!(answer.code().as_str(), "forbidden" | "not_found"));
            }
        }
    }
}

#[test]
fn nobody_gets_anything_without_a_good_key() {
    let w = World::new();
    for (verb, path, _, make) in ROWS {
        let asked = make(&w);
        let answers = [
            (w.send(None, &asked), "key_missing"),
            (w.send(Some("ank_user_0000"), &asked), "key_refused"),
        ];
        for (answer, code) in answers {
            if access(*verb, path) == Access::Open {
                assert_eq!(answer.status, 200);
                continue;
            }
            assert_eq!(answer.status, 401, "{verb:?} {path}");
            assert_eq!(answer.code(), code, "{verb:?} {path}");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
        }
    }
}

#[test]
fn a_session_needs_its_own_token() {
    let w = World::new();
    for (verb, path, _, make) in ROWS {
        if access(*verb, path) != Access::Session {
            continue;
        }
        let mut asked = make(&w);
        asked.session = None;
        let answer = w.send(Some(&w.host), &asked);
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "session_token_missing")
        );
        let other = w.session().token;
        let answer = w.send(Some(&w.host), &asked.within(&other));
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (404, "not_found"),
            "{path}"
        );
    }
}

#[test]
fn an_id_of_nothing_is_not_found() {
    let w = World::new();
    for path in ["entries", "sessions", "approvals"] {
        let answer = w.get(&w.user, &format!("/v1/{path}/{NOBODY}"));
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (404, "not_found"),
            "{path}"
        );
    }
}
