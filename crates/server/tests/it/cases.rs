// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each operation of the OpenAPI document has its five cases: without a key, under a role that may
//! not, from another tenant, from outside the namespace, and allowed. What does not apply says
//! why, and that is tested too.

use crate::roles::{ROWS, Row, access, mandate};
use crate::world::{Asked, MANIFEST, World};
use ancile_server::{Access, Verb};
use serde_json::json;
use std::collections::BTreeMap;

/// What a key that was made for another namespace gets.
enum Outside {
    /// 403 or 404, whatever its role.
    Refused,
    /// 403 or 404, but for an operator, who may do it anywhere in the tenant.
    OperatorsMay,
    /// What a key of its role gets anyhow: the route is of no namespace, for this reason.
    Apart(&'static str),
}
use Outside::{Apart, OperatorsMay, Refused};

const SESSION: &str = "a session is seen and closed by who opened it and by its user";
const TENANT: &str = "keys, principals, namespaces, quotas and tenants belong to operators";
const POLICY: &str = "tools, mandates and sources belong to the tenant";
const ASKS: &str = "an ask is seen by the user, the host and the operators of its session";
const LOG: &str = "the log has leaves of all namespaces";
const HEALTH: &str = "health is told to anybody, and says nothing of contents";

/// One row for each route.
const OUTSIDE: &[(Verb, &str, Outside)] = &[
    (Verb::Get, "/healthz", Apart(HEALTH)),
    (Verb::Post, "/v1/sessions", Refused),
    (Verb::Get, "/v1/sessions", Apart(SESSION)),
    (Verb::Get, "/v1/sessions/{id}", Apart(SESSION)),
    (Verb::Post, "/v1/sessions/{id}/step", Refused),
    (Verb::Post, "/v1/sessions/{id}/act", Refused),
    (Verb::Post, "/v1/sessions/{id}/recall", Refused),
    (Verb::Post, "/v1/sessions/{id}/reply", Apart(SESSION)),
    (Verb::Post, "/v1/sessions/{id}/messages", Refused),
    (Verb::Post, "/v1/sessions/{id}/close", Apart(SESSION)),
    (Verb::Post, "/v1/entries", Refused),
    (Verb::Post, "/v1/entries/batch", Refused),
    (Verb::Get, "/v1/entries", Refused),
    (Verb::Get, "/v1/entries/{id}", Refused),
    (Verb::Delete, "/v1/entries/{id}", OperatorsMay),
    (Verb::Post, "/v1/entries/{id}/endorse", Refused),
    (Verb::Get, "/v1/entries/{id}/lineage", Refused),
    (Verb::Get, "/v1/entries/{id}/proof", Refused),
    (Verb::Get, "/v1/export", Refused),
    (Verb::Post, "/v1/import", Refused),
    (Verb::Post, "/v1/recall", Refused),
    (Verb::Get, "/v1/tasks", Refused),
    (Verb::Post, "/v1/tasks/{id}/fire", Refused),
    (Verb::Post, "/v1/tasks/{id}/cancel", Refused),
    (Verb::Get, "/v1/manifest", Apart(POLICY)),
    (Verb::Put, "/v1/manifest", Apart(POLICY)),
    (Verb::Get, "/v1/tools", Apart(POLICY)),
    (Verb::Put, "/v1/tools/{name}/mode", Apart(POLICY)),
    (Verb::Get, "/v1/report/refusals", Apart(POLICY)),
    (Verb::Post, "/v1/mandates", Apart(POLICY)),
    (Verb::Get, "/v1/mandates", Apart(POLICY)),
    (Verb::Post, "/v1/mandates/draft", Apart(POLICY)),
    (Verb::Post, "/v1/mandates/{id}/revoke", Apart(POLICY)),
    (Verb::Get, "/v1/approvals", Apart(ASKS)),
    (Verb::Get, "/v1/approvals/{id}", Apart(ASKS)),
    (Verb::Post, "/v1/approvals/{id}/approve", Apart(ASKS)),
    (Verb::Post, "/v1/approvals/{id}/deny", Apart(ASKS)),
    (Verb::Get, "/v1/sources", Apart(POLICY)),
    (Verb::Post, "/v1/sources", Apart(POLICY)),
    (Verb::Post, "/v1/sources/{name}/approve", Apart(POLICY)),
    (Verb::Post, "/v1/sources/{name}/revoke", Apart(POLICY)),
    (Verb::Get, "/v1/quarantine", Refused),
    (Verb::Post, "/v1/quarantine/{id}/release", Refused),
    (Verb::Post, "/v1/quarantine/{id}/discard", Refused),
    (Verb::Post, "/v1/keys", Apart(TENANT)),
    (Verb::Get, "/v1/keys", Apart(TENANT)),
    (Verb::Post, "/v1/keys/{id}/rotate", Apart(TENANT)),
    (Verb::Post, "/v1/keys/{id}/revoke", Apart(TENANT)),
    (Verb::Get, "/v1/principals", Apart(TENANT)),
    (Verb::Post, "/v1/tenants", Apart(TENANT)),
    (Verb::Get, "/v1/tenants", Apart(TENANT)),
    (Verb::Post, "/v1/namespaces", Apart(TENANT)),
    (Verb::Get, "/v1/namespaces", Apart(TENANT)),
    (Verb::Put, "/v1/namespaces/{name}", Apart(TENANT)),
    (Verb::Get, "/v1/quotas", Apart(TENANT)),
    (Verb::Put, "/v1/quotas", Apart(TENANT)),
    (Verb::Get, "/v1/integrity", Apart(LOG)),
    (Verb::Get, "/v1/index", Apart(LOG)),
    (Verb::Post, "/v1/index/rebuild", Apart(LOG)),
    (Verb::Get, "/v1/checkpoint", Apart(LOG)),
    (Verb::Get, "/v1/consistency", Apart(LOG)),
];

/// One of the five cases of an operation.
#[derive(Debug, PartialEq)]
enum Case {
    /// A request is sent and answered as it must be.
    Sent,
    /// There is no such case, for this reason; the requests are sent all the same.
    None(&'static str),
}

/// Keys of the four roles, for one tenant and one namespace.
struct Keys([String; 4]);

/// Makes keys of the four roles by an operator's.
fn keys(w: &World, operator: &str, namespace: &str) -> Keys {
    let made = json!({"name": namespace, "readers": [], "writers": []});
    assert_eq!(w.post(operator, "/v1/namespaces", &made).status, 204);
    let roles = [
        ("operator", "operator"),
        ("user", "alice"),
        ("host", "host"),
        ("agent", "assistant"),
    ];
    Keys(roles.map(|(role, principal)| {
        let agent = (role == "agent").then_some("assistant");
        let body = json!({"principal": principal, "role": role, "namespaces": [namespace],
            "channels": ["user", "web", "import"], "relays_user": role == "host",
            "agent": agent});
        let made = w.post(operator, "/v1/keys", &body).of(201);
        made["token"].as_str().unwrap().to_owned()
    }))
}

/// Without a key, and with one that is none.
fn unauthenticated(w: &World, (verb, path, _, make): &Row) -> Case {
    let asked = make(w);
    let answers = [w.send(None, &asked), w.send(Some("ank_user_0000"), &asked)];
    let open = access(*verb, path) == Access::Open;
    for answer in answers {
        assert_eq!(answer.status == 401, !open, "{verb:?} {path}");
    }
    match open {
        true => Case::None("the route is open to anybody"),
        false => Case::Sent,
    }
}

/// Under each role; gives the cases of one that may not and of one that may.
fn roles(w: &World, (verb, path, statuses, make): &Row) -> (Case, Case) {
    let keys = [&w.operator, &w.user, &w.host, &w.model];
    for (key, expected) in keys.into_iter().zip(statuses) {
        let answer = w.send(Some(key), &make(w));
        assert_eq!(answer.status, *expected, "{verb:?} {path} {}", answer.text);
    }
    let wrong = match statuses.iter().any(|status| *status >= 400) {
        true => Case::Sent,
        false => Case::None("every role may"),
    };
    let allowed = match statuses.iter().any(|status| *status < 400) {
        true => Case::Sent,
        false => Case::None("no role may"),
    };
    (wrong, allowed)
}

/// With the keys of another tenant: what a path names is not there, and no answer holds a mark of
/// ours.
fn other_tenant(w: &World, row: &Row, keys: &Keys, marks: &[Mark]) -> Case {
    let (verb, path, _, make) = row;
    mark_again(w);
    // What is in no answer to us proves nothing.
    for mark in marks {
        if let Some((list, key)) = &mark.listed
            && list.split('?').next() == Some(path)
        {
            let ours = w.get(key, list).text;
            assert!(ours.contains(&mark.text), "{list} lacks {}", mark.text);
        }
    }
    for key in &keys.0 {
        let answer = w.send(Some(key), &make(w));
        if access(*verb, path) == Access::Open {
            continue;
        }
        if path.contains('{') {
            let found = !matches!(answer.status, 403 | 404);
            assert!(!found, "{verb:?} {path} {}", answer.text);
        }
        let mut texts = marks.iter().map(|mark| &mark.text);
        let crossed = texts.find(|text| answer.text.contains(*text));
        assert_eq!(crossed, None, "{verb:?} {path} {}", answer.text);
    }
    match access(*verb, path) {
        Access::Open => Case::None("the route is open to anybody"),
        _ => Case::Sent,
    }
}

/// With keys of the same principals that were made for another namespace.
fn outside(w: &World, row: &Row, keys: &Keys, how: &Outside) -> Case {
    let (verb, path, statuses, make) = row;
    let expected: [Option<u16>; 4] = match how {
        Refused => [None; 4],
        OperatorsMay => [Some(statuses[0]), None, None, None],
        Apart(_) => statuses.map(Some),
    };
    for (key, expected) in keys.0.iter().zip(expected) {
        let answer = w.send(Some(key), &make(w));
        match expected {
            Some(status) => assert_eq!(answer.status, status, "{verb:?} {path} {}", answer.text),
            None => {
                let refused = matches!(answer.status, 403 | 404);
                assert!(refused, "{verb:?} {path} {} {}", answer.status, answer.text);
            }
        }
    }
    match how {
        Apart(reason) => Case::None(reason),
        Refused | OperatorsMay => Case::Sent,
    }
}

/// What must not be in an answer to another tenant.
struct Mark {
    text: String,
    /// Where it is listed for us, and by whose key.
    listed: Option<(&'static str, String)>,
}

/// Marks again what requests before may have put out of sight: the manifest has a tool that no
/// other tenant has, and the newest entry is one of ours.
fn mark_again(w: &World) {
    w.note("alice-was-here");
    let manifest = format!(
        "{},{{\"name\":\"tool-of-ours\",\"effect\":\"external\",\"args\":{{}}}}]}}",
        MANIFEST.strip_suffix("]}").unwrap()
    );
    w.send(Some(&w.operator), &Asked::put("/v1/manifest", &manifest))
        .of(200);
}

/// One thing of each kind that has a list, with a name or an id that nothing else has.
fn marks(w: &World) -> Vec<Mark> {
    let (operator, user) = (&w.operator, &w.user);
    let made = |status: u16, path: &str, body: serde_json::Value| {
        let answer = w.post(operator, path, &body);
        assert_eq!(answer.status, status, "{}", answer.text);
    };
    made(
        204,
        "/v1/sources",
        json!({"name": "source-of-ours", "tools": []}),
    );
    let namespace = json!({"name": "namespace-of-ours", "readers": [], "writers": []});
    made(204, "/v1/namespaces", namespace);
    let key = json!({"principal": "principal-of-ours", "role": "user", "namespaces": ["main"]});
    made(201, "/v1/keys", key);
    let quota = json!({"principal": "quota-of-ours", "entries": 1_000});
    let quota = Asked::put("/v1/quotas", &quota.to_string());
    assert_eq!(w.send(Some(operator), &quota).status, 204);
    let granted = w.send(Some(user), &mandate("/v1/mandates")).of(201);
    let (session, approval, _) = w.ask("4");
    w.step(
        &session,
        &json!([{"op": "call", "tool": "refused-of-ours", "args": {}}]),
    );
    let keys = w.get(operator, "/v1/keys").of(200);
    let keys = keys["items"].as_array().unwrap().iter();
    let id = |of: &serde_json::Value| of["id"].as_str().unwrap().to_owned();
    let mut marks: Vec<Mark> = keys
        .map(|key| (id(key), "/v1/keys", operator))
        .chain([
            (w.note("alice-was-here"), "/v1/entries?namespace=main", user),
            (
                "alice-was-here".to_owned(),
                "/v1/export?namespace=main",
                user,
            ),
            (w.due_task(&json!(null)), "/v1/tasks?namespace=main", user),
            (w.shelved().0, "/v1/quarantine?namespace=main", user),
            (session.id, "/v1/sessions", &w.host),
            (approval, "/v1/approvals", user),
            (id(&granted), "/v1/mandates", user),
            ("source-of-ours".to_owned(), "/v1/sources", user),
            ("tool-of-ours".to_owned(), "/v1/tools", user),
            ("tool-of-ours".to_owned(), "/v1/manifest", user),
            ("quota-of-ours".to_owned(), "/v1/quotas", operator),
            (
                "refused-of-ours".to_owned(),
                "/v1/report/refusals",
                operator,
            ),
            ("principal-of-ours".to_owned(), "/v1/principals", operator),
            ("namespace-of-ours".to_owned(), "/v1/namespaces", operator),
        ])
        .map(|(text, path, key)| Mark {
            text,
            listed: Some((path, key.clone())),
        })
        .collect();
    marks.push(Mark {
        text: "pay my bills".to_owned(),
        listed: None,
    });
    marks
}

#[test]
fn every_operation_of_the_document_has_its_five_cases() {
    let w = World::new();
    let marks = marks(&w);
    let made = json!({"name": "other", "operator": "root"});
    let made = w.post(&w.operator, "/v1/tenants", &made).of(201);
    let foreign = keys(&w, made["token"].as_str().unwrap(), "main");
    let elsewhere = keys(&w, &w.operator, "elsewhere");
    let rows: BTreeMap<(&str, &str), &Row> = ROWS.iter().map(|r| ((name(r.0), r.1), r)).collect();
    let how: BTreeMap<(&str, &str), &Outside> = OUTSIDE
        .iter()
        .map(|(verb, path, how)| ((name(*verb), *path), how))
        .collect();
    let mut operations = 0;
    let document = ancile_server::openapi();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let operation = (method.as_str(), path.as_str());
            let row = rows.get(&operation);
            let row = row.unwrap_or_else(|| panic!("{operation:?} has no row in roles.rs"));
            let how = how.get(&operation);
            let how = how.unwrap_or_else(|| panic!("{operation:?} has no row in cases.rs"));
            let (wrong_role, allowed) = roles(&w, row);
            let cases = [
                unauthenticated(&w, row),
                wrong_role,
                other_tenant(&w, row, &foreign, &marks),
                outside(&w, row, &elsewhere, how),
                allowed,
            ];
            let open = access(row.0, path) == Access::Open;
            let sent = cases.iter().filter(|case| **case == Case::Sent).count();
            assert!(open || sent >= 3, "{operation:?}: {cases:?}");
            assert_eq!(cases[4], Case::Sent, "{operation:?}: nobody may");
            operations += 1;
        }
    }
    assert_eq!(
        (operations, rows.len(), how.len()),
        (ROWS.len(), ROWS.len(), ROWS.len())
    );
}

/// A method as the document writes it.
const fn name(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "get",
        Verb::Post => "post",
        Verb::Put => "put",
        Verb::Delete => "delete",
    }
}

#[test]
fn a_tenants_operator_makes_no_tenants() {
    let w = World::new();
    let made = json!({"name": "other", "operator": "root"});
    let made = w.post(&w.operator, "/v1/tenants", &made).of(201);
    let made_by = made["token"].as_str().unwrap();
    let third = json!({"name": "third", "operator": "root"});
    assert_eq!(w.post(made_by, "/v1/tenants", &third).status, 403);
}
