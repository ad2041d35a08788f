// SPDX-License-Identifier: MIT OR Apache-2.0
//! Documents: links lead somewhere, headings nest, one sentence a line, the README stays short.

use crate::tree::{File, files, no_faults};

/// Most lines of the README.
const README_LINES_MAX: usize = 150;

/// Lines outside fenced code, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push((at + 1, line));
        }
    }
    lines
}

/// Headings with line, depth and text.
fn headings(text: &str) -> Vec<(usize, usize, &str)> {
    let heading = |(at, line): (usize, &'_ str)| {
        let depth = line.len() - line.trim_start_matches('#').len();
        (depth > 0 && line[depth..].starts_with(' ')).then_some((at, depth))
    };
    prose(text)
        .into_iter()
        .filter_map(|(at, line)| {
            heading((at, line)).map(|(at, depth)| (at, depth, line[depth..].trim()))
        })
        .collect()
}

/// The name under which a heading can be linked to.
fn anchor(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Targets of links, with their lines. Code spans are left out.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in prose(text) {
        let plain: String = line.split('`').step_by(2).collect();
        for (start, _) in plain.match_indices("](") {
            if let Some(end) = plain[start + 2..].find(')') {
                found.push((at, plain[start + 2..start + 2 + end].to_owned()));
            }
        }
    }
    found
}

/// The path that a relative link means.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn broken_links(file: &File, all: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, link) in links(&file.text) {
        if link.starts_with("https://") || link.starts_with("http://") {
            continue;
        }
        let (target, heading) = link.split_once('#').unwrap_or((&link, ""));
        let path = if target.is_empty() {
            file.path.clone()
        } else {
            resolve(&file.path, target)
        };
        let found = all.iter().find(|f| f.path == path);
        let folder = format!("{path}/");
        let there = found.is_some() || all.iter().any(|f| f.path.starts_with(&folder));
        let named = heading.is_empty()
            || found.is_some_and(|f| headings(&f.text).iter().any(|h| anchor(h.2) == heading));
        if target.starts_with('/') || !(there && named) {
            faults.push(format!("{}:{at}: `{link}` leads nowhere", file.path));
        }
    }
    faults
}

fn broken_headings(file: &File) -> Vec<String> {
    let headings = headings(&file.text);
    let mut faults = Vec::new();
    let titles = headings.iter().filter(|h| h.1 == 1).count();
    if titles != 1 || headings.first().is_none_or(|h| h.1 != 1) {
        faults.push(format!("{}: {titles} titles; one, and first", file.path));
    }
    for (before, after) in headings.iter().zip(headings.iter().skip(1)) {
        if after.1 > before.1 + 1 {
            faults.push(format!("{}:{}: heading skips a level", file.path, after.0));
        }
    }
    faults
}

/// Lines on which a second sentence begins. Tables and quotes may hold more than one.
fn run_on(file: &File) -> Vec<String> {
    let ends = |line: &str| {
        let plain: String = line.split('`').step_by(2).collect();
        ["! ", "? ", ". "].iter().any(|stop| {
            plain.match_indices(stop).any(|(at, _)| {
                let before = plain[..at].chars().next_back();
                let after = plain[at + 2..].chars().next();
                before.is_some_and(char::is_lowercase) && after.is_some_and(char::is_uppercase)
            })
        })
    };
    prose(&file.text)
        .into_iter()
        .filter(|(_, line)| !line.starts_with(['|', '>']) && ends(line))
        .map(|(at, _)| format!("{}:{at}: more than one sentence", file.path))
        .collect()
}

/// Documents, without licence texts and recorded data.
fn documents() -> impl Iterator<Item = &'static File> {
    let ours = |f: &&File| f.is_markdown() && !f.is_test() && !f.path.contains("/assets/");
    files().iter().filter(ours)
}

#[test]
fn links_lead_somewhere() {
    let all = [
        File::new("docs/a.md", "# One two: `x`\n"),
        File::new("src/b.rs", ""),
    ];
    let check = |text: &str, faults: usize| {
        let file = File::new("docs/c.md", text);
        assert_eq!(broken_links(&file, &all).len(), faults, "{text}");
    };
    check("[a](a.md) [b](../src/b.rs) [s](../src) [w](https://x.y)", 0);
    check("[a](a.md#one-two-x)", 0);
    check("[a](a.md#three)", 1);
    check("[a](missing.md) [b](/a.md)", 2);
    check("`[a](missing.md)`", 0);
    check("```\n[a](missing.md)\n```", 0);

    let faults: Vec<_> = documents().flat_map(|f| broken_links(f, files())).collect();
    no_faults(&faults);
}

#[test]
fn headings_nest_under_one_title() {
    let check = |text: &str, faults: usize| {
        assert_eq!(
            broken_headings(&File::new("a.md", text)).len(),
            faults,
            "{text}"
        );
    };
    check("# A\n## B\n### C\n## D\n", 0);
    check("# A\n```\n# comment\n```\n", 0);
    check("## A\n", 1);
    check("# A\n# B\n", 1);
    check("# A\n### B\n", 1);

    let faults: Vec<_> = documents().flat_map(broken_headings).collect();
    no_faults(&faults);
}

#[test]
fn one_sentence_a_line() {
    let check = |text: &str, faults: usize| {
        assert_eq!(run_on(&File::new("a.md", text)).len(), faults, "{text}");
    };
    check("One sentence.\nAnother, e.g. this one.\n", 0);
    check("`a. B` is code.\n", 0);
    check("| One. Two. |\n", 0);
    check("One here. Another there.\n", 1);

    let faults: Vec<_> = documents().flat_map(run_on).collect();
    no_faults(&faults);
}

#[test]
fn the_readme_stays_short_and_has_two_commands() {
    let readme = files().iter().find(|f| f.path == "README.md");
    let readme = &readme.expect("there is a README").text;
    let lines = readme.lines().count();
    assert!(lines <= README_LINES_MAX, "README.md has {lines} lines");

    let set_up = readme
        .split("\n## ")
        .find(|section| section.starts_with("Set up"));
    let set_up = set_up.expect("README.md has a section `Set up`");
    let commands: Vec<&str> = set_up
        .split("```sh\n")
        .skip(1)
        .flat_map(|block| block.split("```").next().unwrap_or("").lines())
        .collect();
    assert_eq!(commands, ["cargo run --release -- serve", "scripts/test"]);
}
