// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each invariant in ARCHITECTURE.md and each attack in docs/attacks.md names the tests that hold
//! it, and they exist.

use crate::tree::{File, files, no_faults};

/// The line under an invariant that names its tests.
const HELD_BY: &str = "Held by: ";
/// How many promises there are.
const PROMISES: usize = 9;

/// The section `Invariants`, as one text for each `###` heading.
fn invariants(architecture: &str) -> Vec<&str> {
    let section = architecture
        .split("\n## ")
        .find(|section| section.starts_with("Invariants"));
    section.unwrap_or("").split("\n### ").skip(1).collect()
}

/// Names in backticks.
fn named(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn unheld(architecture: &str, tests: &[&File]) -> Vec<String> {
    let mut faults = Vec::new();
    for invariant in invariants(architecture) {
        let title = invariant.lines().next().unwrap_or("");
        let held_by: Vec<&str> = invariant
            .lines()
            .filter_map(|line| line.strip_prefix(HELD_BY))
            .flat_map(named)
            .collect();
        if held_by.is_empty() {
            faults.push(format!("`{title}` names no test"));
        }
        for name in held_by {
            if !exists(tests, name) {
                faults.push(format!("`{title}` names `{name}`, which is nowhere"));
            }
        }
    }
    faults
}

/// Rows of a table whose last column names tests that do not exist, or nothing at all.
fn unshown(attacks: &str, tests: &[&File]) -> Vec<String> {
    let mut faults = Vec::new();
    let rows = attacks.lines().filter(|line| line.starts_with("| "));
    for row in rows.skip(1) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (attack, last) = (cells[0], cells[cells.len() - 1]);
        let names: Vec<&str> = named(last).collect();
        if names.is_empty() && !last.starts_with('[') {
            faults.push(format!("`{attack}` names no test"));
        }
        let gone = names
            .iter()
            .filter(|name| !exists(tests, name))
            .map(|name| format!("`{attack}` names `{name}`, which is nowhere"));
        faults.extend(gone);
    }
    faults
}

fn exists(tests: &[&File], name: &str) -> bool {
    let head = format!("fn {name}(");
    tests.iter().any(|file| file.text.contains(&head))
}

fn all_tests() -> Vec<&'static File> {
    let test = |f: &&File| f.is_rust() && f.is_test();
    files().iter().filter(test).collect()
}

#[test]
fn each_attack_names_its_tests() {
    let tests = File::new("crates/a/tests/it/b.rs", "#[test]\nfn holds() {}\n");
    let check = |last: &str, faults: usize| {
        let text = format!("| attack | ends | held by |\n|---|---|---|\n| a | b | {last} |\n");
        assert_eq!(unshown(&text, &[&tests]).len(), faults, "{last}");
    };
    check("`holds`", 0);
    check("`holds`, `gone`", 1);
    check("", 1);
    check("[why](a.md)", 0);

    let attacks = files().iter().find(|f| f.path == "docs/attacks.md");
    let attacks = &attacks.expect("there is a docs/attacks.md").text;
    no_faults(&unshown(attacks, &all_tests()));
}

#[test]
fn each_invariant_names_its_tests() {
    let tests = File::new("crates/a/tests/it/b.rs", "#[test]\nfn holds() {}\n");
    let check = |held: &str, faults: usize| {
        let text = format!("# A\n\n## Invariants\n\n### 1. One\n\nText.\n{held}\n\n## Next\n");
        assert_eq!(unheld(&text, &[&tests]).len(), faults, "{held}");
    };
    check("Held by: `holds`.", 0);
    check("Held by: `holds`, `gone`.", 1);
    check("Nothing holds it.", 1);

    let architecture = files().iter().find(|f| f.path == "ARCHITECTURE.md");
    let architecture = &architecture.expect("there is an ARCHITECTURE.md").text;
    assert!(invariants(architecture).len() >= PROMISES);
    no_faults(&unheld(architecture, &all_tests()));
}
