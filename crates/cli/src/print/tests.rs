// SPDX-License-Identifier: MIT OR Apache-2.0
use super::{block, line, one_line_json, short, table};
use serde_json::{Value, json};

#[test]
fn nothing_a_terminal_acts_upon_gets_through() {
    let hostile = "a\u{1b}[2Jb\r\n\u{9b}31m\u{7f}\u{202e}c\u{200b}\u{e0041}\u{2028}";
    for shown in [
        line(hostile),
        one_line_json(&json!(hostile)),
        block(&json!({"t": hostile}), 0),
    ] {
        let bad = shown
            .chars()
            .find(|c| !(' '..='~').contains(c) && *c != '\n');
        assert_eq!(bad, None, "{shown:?}");
    }
    assert_eq!(line("\u{1b}[2J"), "\\u{1b}[2J");
    assert_eq!(
        line("Zo\u{eb} \u{4e2d}\u{6587}"),
        "Zo\u{eb} \u{4e2d}\u{6587}"
    );
}

#[test]
fn escaped_json_reads_back_as_the_same_value() {
    let value = json!({ "k\u{202e}": "a\u{1b}\u{9b}\u{e0041}\"\\" });
    let text = one_line_json(&value);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
}

#[test]
fn long_text_is_cut_between_characters() {
    assert_eq!(short("\u{4e2d}\u{6587}\u{5b57}", 2), "\u{4e2d}\u{6587}...");
    assert_eq!(short("ab", 2), "ab");
}

#[test]
fn a_table_aligns_and_names_its_columns() {
    let items = json!([
        { "id": "1", "entry": { "class": "untrusted" } },
        { "id": "22", "entry": { "class": null } },
    ]);
    let shown = table(&items, &["id", "entry.class", "gone"]);
    assert_eq!(
        shown,
        "id  class      gone\n1   untrusted  -\n22  -          -\n"
    );
    let renamed = table(&items, &["entry.class as weight"]);
    assert_eq!(renamed, "weight\nuntrusted\n-\n");
    let digest = "ab".repeat(32);
    assert!(table(&json!([{ "d": digest }]), &["d"]).contains(&digest));
    assert_eq!(table(&json!([]), &["id"]), "none\n");
}

#[test]
fn a_block_indents_and_shows_moments_by_date() {
    let value = json!({ "a": { "due": 0, "none": null }, "l": ["x", "y"], "t": "p\nq" });
    assert_eq!(
        block(&value, 0),
        "a:\n  due: 1970-01-01T00:00:00Z\nl: x, y\nt:\n  p\n  q\n"
    );
}
