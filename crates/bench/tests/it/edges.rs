// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which crate may use which. A crate exists because it is forbidden something; this table is what.

use crate::tree::{metadata, no_faults};
use serde_json::Value;
use std::collections::BTreeSet;

/// Our crates, and what each may use of ours outside its tests.
const EDGES: [(&str, &[&str]); 11] = [
    ("core", &[]),
    ("ledger", &[]),
    ("screen", &["core"]),
    ("policy", &["core"]),
    ("kernel", &[]),
    ("models", &[]),
    ("store", &["core", "ledger"]),
    (
        "engine",
        &[
            "core", "ledger", "policy", "screen", "kernel", "models", "store",
        ],
    ),
    ("server", &["core", "engine"]),
    ("cli", &["core", "engine", "ledger", "models", "server"]),
    (
        "bench",
        &[
            "core", "ledger", "policy", "screen", "kernel", "models", "store", "engine", "server",
        ],
    ),
];

/// The only third-party crates of a crate, where it is audited by itself.
const ONLY: [(&str, &[&str]); 1] = [("core", &["sha2"])];

/// Who alone may use a third-party crate.
const ONLY_IN: [(&str, &[&str]); 27] = [
    ("anyhow", &["cli", "bench"]),
    ("rusqlite", &["store"]),
    ("cedar-policy", &["policy"]),
    ("ed25519-dalek", &["ledger"]),
    ("regex", &["screen"]),
    ("regex-syntax", &["screen"]),
    ("tokio", &["server", "cli"]),
    ("axum", &["server"]),
    ("hyper", &["server"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("prometheus-client", &["server"]),
    ("opentelemetry", &["cli"]),
    ("opentelemetry_sdk", &["cli"]),
    ("tracing-opentelemetry", &["cli"]),
    ("rustix", &["cli"]),
    ("toml", &["cli"]),
    ("strsim", &["cli"]),
    ("ureq", &["cli"]),
    ("rustls", &["cli"]),
    ("zip", &["cli"]),
    ("candle-core", &["models"]),
    ("ort", &["models"]),
    ("rayon", &["models"]),
    ("tokenizers", &["models"]),
    ("serde", &["policy", "engine", "server", "cli", "bench"]),
];

/// A dependency outside tests: user and used, without the prefix of ours.
type Edge = (String, String);

/// Edges among ours, and from ours to third parties.
fn edges(packages: &[Value]) -> (Vec<Edge>, Vec<Edge>) {
    let short = |name: &str| name.trim_start_matches("ancile-").to_owned();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for package in packages.iter().filter(|p| p["source"].is_null()) {
        let user = short(package["name"].as_str().unwrap_or(""));
        let deps = package["dependencies"].as_array().into_iter().flatten();
        for dep in deps.filter(|d| d["kind"] != "dev") {
            let name = dep["name"].as_str().unwrap_or("");
            let edge = (user.clone(), short(name));
            if name.starts_with("ancile-") {
                ours.push(edge);
            } else {
                theirs.push(edge);
            }
        }
    }
    (ours, theirs)
}

fn unlisted(packages: &[Value]) -> Vec<String> {
    let (ours, theirs) = edges(packages);
    let allowed = |user: &str| EDGES.iter().find(|(name, _)| *name == user).map(|e| e.1);
    let mut faults = Vec::new();
    for (user, used) in &ours {
        if !allowed(user).is_some_and(|list| list.contains(&used.as_str())) {
            faults.push(format!("{user} may not use {used}"));
        }
    }
    for (user, used) in &theirs {
        let only = ONLY.iter().find(|(name, _)| name == user);
        let alone = ONLY_IN.iter().find(|(name, _)| name == used);
        if only.is_some_and(|(_, list)| !list.contains(&used.as_str()))
            || alone.is_some_and(|(_, users)| !users.contains(&user.as_str()))
        {
            faults.push(format!("{user} may not use the third-party crate {used}"));
        }
    }
    faults
}

#[test]
fn crates_use_only_what_the_table_allows() {
    let package = |name: &str, used: &str, kind: Option<&str>| {
        serde_json::json!({
            "name": name, "source": null, "dependencies": [{ "name": used, "kind": kind }],
        })
    };
    let check = |name: &str, used: &str, kind: Option<&str>, faults: usize| {
        let found = unlisted(&[package(name, used, kind)]);
        assert_eq!(found.len(), faults, "{name} uses {used}: {found:?}");
    };
    check("ancile-store", "ancile-core", None, 0);
    check("ancile-core", "ancile-store", None, 1);
    check("ancile-core", "ancile-store", Some("dev"), 0);
    check("ancile-core", "sha2", None, 0);
    check("ancile-core", "serde", None, 1);
    check("ancile-store", "rusqlite", None, 0);
    check("ancile-engine", "rusqlite", None, 1);
    check("ancile-engine", "tokio", None, 1);
    check("ancile-new", "ancile-core", None, 1);

    let packages = metadata()["packages"]
        .as_array()
        .expect("packages are listed");
    no_faults(&unlisted(packages));
}

#[test]
fn every_crate_is_in_the_table() {
    let packages = metadata()["packages"]
        .as_array()
        .expect("packages are listed");
    let there: BTreeSet<&str> = packages
        .iter()
        .filter(|p| p["source"].is_null())
        .filter_map(|p| p["name"].as_str()?.strip_prefix("ancile-"))
        .collect();
    let listed: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(there, listed);
}
