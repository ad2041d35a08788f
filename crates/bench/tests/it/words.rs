// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words: the licence line, banned words, unowned notes to self, ASCII in sources.

use crate::tree::{File, files, no_faults};

/// First line of each source file.
const LICENCE_LINE: &str = "// SPDX-License-Identifier: MIT OR Apache-2.0";
/// Words that say nothing about what a thing does, as parts of names and texts alike.
const BANNED_WORDS: [&str; 4] = ["manager", "handler", "helper", "util"];
/// Phrases that mean what Ancile does not do.
const BANNED_PHRASES: [&str; 3] = ["trust score", "safe content", "unsafe content"];
/// Names of other people's crates and features.
const FOREIGN_NAMES: [&str; 3] = ["hyper_util", "hyper-util", "\"util\""];
/// Files whose subject is the banned words.
const ABOUT_WORDS: [&str; 2] = ["crates/bench/tests/it/words.rs", "docs/vocabulary.md"];

fn licence_line(file: &File) -> Option<String> {
    (file.text.lines().next() != Some(LICENCE_LINE))
        .then(|| format!("{}: first line is not `{LICENCE_LINE}`", file.path))
}

/// The words of a line, with `snake_case` and `CamelCase` taken apart, in lower case.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in line.chars() {
        let starts = c.is_uppercase() && was_lower;
        if starts || !c.is_alphabetic() {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words
                .last_mut()
                .expect("never empty")
                .extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

fn banned(file: &File) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        let line = FOREIGN_NAMES
            .iter()
            .fold(line.to_owned(), |line, name| line.replace(name, ""));
        let words = words(&line);
        let text = words.join(" ");
        let singular = |word: &String| word.strip_suffix('s').unwrap_or(word).to_owned();
        let word = words
            .iter()
            .map(singular)
            .find(|w| BANNED_WORDS.contains(&w.as_str()));
        let phrase = BANNED_PHRASES.iter().find(|p| text.contains(**p));
        if let Some(hit) = word.or(phrase.map(|p| (*p).to_owned())) {
            let place = format!("{}:{}", file.path, at + 1);
            faults.push(format!(
                "{place}: `{hit}` is not used here; say what it does"
            ));
        }
    }
    faults
}

/// A crate that weighs content has verdicts, one that weighs actions has decisions.
fn misplaced(file: &File) -> Vec<String> {
    let word = match file.path.as_str() {
        p if p.starts_with("crates/core/src/") || p.starts_with("crates/policy/src/") => "verdict",
        p if p.starts_with("crates/screen/src/") => "decision",
        _ => return Vec::new(),
    };
    let hit = |line: &str| {
        words(line)
            .iter()
            .any(|w| w.strip_suffix('s').unwrap_or(w) == word)
    };
    file.text
        .lines()
        .enumerate()
        .filter(|(_, line)| hit(line))
        .map(|(at, _)| format!("{}:{}: `{word}` means another thing", file.path, at + 1))
        .collect()
}

fn unowned(file: &File) -> Vec<String> {
    let marks = ["TODO", "FIXME", "XXX", "HACK"];
    let hit = |line: &str| {
        marks.iter().any(|mark| {
            line.match_indices(mark)
                .any(|(at, _)| !line[at + mark.len()..].starts_with('('))
        })
    };
    file.text
        .lines()
        .enumerate()
        .filter(|(_, line)| hit(line))
        .map(|(at, _)| format!("{}:{}: a note to self without owner", file.path, at + 1))
        .collect()
}

fn not_ascii(file: &File) -> Vec<String> {
    file.text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_ascii())
        .map(|(at, _)| format!("{}:{}: not ASCII; escape it", file.path, at + 1))
        .collect()
}

fn sources() -> impl Iterator<Item = &'static File> {
    let ours = |f: &&File| !ABOUT_WORDS.contains(&f.path.as_str());
    files().iter().filter(ours)
}

#[test]
fn each_source_begins_with_its_licence() {
    assert!(licence_line(&File::new("a.rs", &format!("{LICENCE_LINE}\nfn"))).is_none());
    assert!(licence_line(&File::new("a.rs", "fn f() {}")).is_some());

    let faults: Vec<_> = files()
        .iter()
        .filter(|f| f.is_rust())
        .filter_map(licence_line)
        .collect();
    no_faults(&faults);
}

#[test]
fn banned_words_are_not_used() {
    let check = |line: &str, faults: usize| {
        assert_eq!(banned(&File::new("a.rs", line)).len(), faults, "{line}");
    };
    check("struct KeyManager;", 1);
    check("mod test_helpers;", 1);
    check("a high trust score", 1);
    check("detect unsafe content", 1);
    check("use hyper_util::rt;", 0);
    check("utility manages handled", 0);
    check("the unsafe keyword; content", 0);

    let text = |f: &&File| f.is_rust() || f.is_markdown() || f.path.ends_with(".toml");
    let faults: Vec<_> = sources().filter(text).flat_map(banned).collect();
    no_faults(&faults);
}

#[test]
fn verdicts_are_about_content_and_decisions_about_actions() {
    let check = |path: &str, line: &str, faults: usize| {
        assert_eq!(misplaced(&File::new(path, line)).len(), faults, "{line}");
    };
    check("crates/core/src/a.rs", "struct Verdict;", 1);
    check("crates/core/src/a.rs", "struct Decision;", 0);
    check("crates/screen/src/a.rs", "let last_decision = 1;", 1);
    check("crates/screen/src/a.rs", "let verdict = 1;", 0);
    check("crates/engine/src/a.rs", "verdict and decision", 0);

    let faults: Vec<_> = sources()
        .filter(|f| f.is_rust())
        .flat_map(misplaced)
        .collect();
    no_faults(&faults);
}

#[test]
fn notes_to_self_have_an_owner() {
    assert_eq!(unowned(&File::new("a.rs", "// TODO later")).len(), 1);
    assert_eq!(unowned(&File::new("a.rs", "// TODO(ada): later")).len(), 0);

    let text = |f: &&File| f.is_rust() || f.is_markdown() || f.path.starts_with("scripts/");
    let faults: Vec<_> = sources().filter(text).flat_map(unowned).collect();
    no_faults(&faults);
}

#[test]
fn sources_are_ascii() {
    assert_eq!(
        not_ascii(&File::new("a.rs", "let x = \"\u{e9}\";")).len(),
        1
    );
    assert_eq!(
        not_ascii(&File::new("a.rs", "let x = \"\\u{e9}\";")).len(),
        0
    );

    let source = |f: &&File| f.is_rust() && !f.is_test();
    let faults: Vec<_> = sources().filter(source).flat_map(not_ascii).collect();
    no_faults(&faults);
}
