// SPDX-License-Identifier: MIT OR Apache-2.0
//! Licences and number of third-party crates.

use crate::tree::{files, metadata, no_faults};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Licences that ask for no more than their text to be passed on. MPL-2.0 is left out: no crate
/// needs it, and it asks for changed files to be published.
const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Most third-party crates under each of ours, on Linux, macros included. A number may fall; each
/// crate added is code that stands between an attacker and a decision.
const BUDGET: [(&str, usize); 7] = [
    ("ancile-core", 8),
    ("ancile-ledger", 25),
    ("ancile-store", 40),
    ("ancile-screen", 60),
    ("ancile-policy", 100),
    ("ancile-engine", 162),
    ("ancile-server", 197),
];

/// Whether a licence expression can be met by allowed licences: one of each `OR`, all of each
/// `AND`; the old `/` means `OR`.
fn allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ");
    let words: Vec<&str> = spaced
        .split_inclusive(['(', ')'])
        .flat_map(|part| {
            let (text, bracket) = part.split_at(part.trim_end_matches(['(', ')']).len());
            text.split_whitespace()
                .chain(Some(bracket))
                .collect::<Vec<_>>()
        })
        .filter(|word| !word.is_empty())
        .collect();
    let mut at = 0;
    let met = any(&words, &mut at);
    met && at == words.len()
}

fn any(words: &[&str], at: &mut usize) -> bool {
    let mut met = all(words, at);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all(words, at);
    }
    met
}

fn all(words: &[&str], at: &mut usize) -> bool {
    let mut met = one(words, at);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at);
    }
    met
}

fn one(words: &[&str], at: &mut usize) -> bool {
    let Some(word) = words.get(*at) else {
        return false;
    };
    *at += 1;
    if *word == "(" {
        let met = any(words, at);
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return met && closed;
    }
    let mut name = (*word).to_owned();
    if words.get(*at) == Some(&"WITH") {
        name = format!("{name} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
    }
    ALLOWED.contains(&name.as_str())
}

fn packages() -> impl Iterator<Item = &'static Value> {
    metadata()["packages"].as_array().into_iter().flatten()
}

/// For each of our crates, how many third-party crates it is built with.
fn third_party() -> BTreeMap<String, usize> {
    let foreign: BTreeSet<&str> = packages()
        .filter(|p| !p["source"].is_null())
        .filter_map(|p| p["id"].as_str())
        .collect();
    let uses = |id: &str| -> Vec<&str> {
        let nodes = metadata()["resolve"]["nodes"].as_array();
        let node = nodes.into_iter().flatten().find(|n| n["id"] == id);
        let deps = node
            .and_then(|n| n["deps"].as_array())
            .into_iter()
            .flatten();
        deps.filter(|d| is_built_in(d))
            .filter_map(|d| d["pkg"].as_str())
            .collect()
    };
    let mut counts = BTreeMap::new();
    for package in packages().filter(|p| p["source"].is_null()) {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = package["id"].as_str().into_iter().collect();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(uses(id));
            }
        }
        let name = package["name"].as_str().unwrap_or("").to_owned();
        counts.insert(name, seen.intersection(&foreign).count());
    }
    counts
}

/// Whether a dependency is there outside tests and build scripts.
fn is_built_in(dep: &Value) -> bool {
    let kinds = dep["dep_kinds"].as_array();
    kinds
        .into_iter()
        .flatten()
        .any(|kind| kind["kind"].is_null())
}

fn over_budget(counts: &BTreeMap<String, usize>, budget: &[(&str, usize)]) -> Vec<String> {
    let over = |(name, most): &&(&str, usize)| counts.get(*name).is_none_or(|n| n > most);
    let fault = |(name, most): &(&str, usize)| {
        let n = counts.get(*name).copied().unwrap_or(0);
        format!("{name}: {n} third-party crates; budget is {most}")
    };
    budget.iter().filter(over).map(fault).collect()
}

#[test]
fn licences_of_third_party_crates_are_allowed() {
    for good in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0 OR MIT",
        "(MIT OR GPL-3.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(allowed(good), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "MPL-2.0",
        "(MIT",
        "MIT Zlib",
    ] {
        assert!(!allowed(bad), "{bad}");
    }

    let fault = |p: &Value| {
        let licence = p["license"].as_str().unwrap_or("");
        let name = format!("{} {}", p["name"], p["version"]);
        (!allowed(licence)).then(|| format!("{name}: licence `{licence}` is not in the list"))
    };
    let faults: Vec<_> = packages()
        .filter(|p| !p["source"].is_null())
        .filter_map(fault)
        .collect();
    no_faults(&faults);
}

#[test]
fn third_party_crates_stay_within_budget() {
    let counts = BTreeMap::from([("a".to_owned(), 3)]);
    assert!(over_budget(&counts, &[("a", 3)]).is_empty());
    assert_eq!(over_budget(&counts, &[("a", 2)]).len(), 1);
    assert_eq!(over_budget(&counts, &[("b", 2)]).len(), 1);

    no_faults(&over_budget(&third_party(), &BUDGET));
}

/// Third-party crates that our own crates ask for by name.
fn asked_for() -> BTreeSet<&'static str> {
    packages()
        .filter(|p| p["source"].is_null())
        .flat_map(|p| p["dependencies"].as_array().into_iter().flatten())
        .filter(|d| !d["source"].is_null())
        .filter_map(|d| d["name"].as_str())
        .collect()
}

#[test]
fn each_crate_that_we_ask_for_has_its_reason() {
    const PATH: &str = "docs/decisions/0001-dependencies.md";
    let file = files().iter().find(|f| f.path == PATH);
    let text = file.map_or("", |f| f.text.as_str());
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let names: BTreeSet<&str> = rows
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    let asked = asked_for();
    let lacking = asked.difference(&names);
    let stale = names.difference(&asked);
    let faults: Vec<String> = lacking
        .map(|name| format!("{PATH}: `{name}` has no row"))
        .chain(stale.map(|name| format!("{PATH}: no crate asks for `{name}`")))
        .collect();
    no_faults(&faults);
}
