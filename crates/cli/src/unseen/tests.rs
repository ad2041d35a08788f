// SPDX-License-Identifier: MIT OR Apache-2.0
use super::{HIDDEN, hint, said};
use serde_json::json;

#[test]
fn a_text_that_is_there_and_not_shown_says_so() {
    for (state, text) in [
        ("current", json!(HIDDEN)),
        ("quarantined", json!(HIDDEN)),
        ("broken", json!(null)),
        ("discarded", json!(null)),
    ] {
        let entry = json!({ "state": state, "text": null });
        for value in [json!({ "items": [{ "entry": entry }] }), entry.clone()] {
            let shown = said(&value, false);
            let at = shown.pointer("/items/0/entry").unwrap_or(&shown);
            assert_eq!(at["text"], text, "{state}");
            assert_eq!(hint(&value).is_empty(), text.is_null(), "{state}");
        }
    }
    let shown = json!({ "state": "current", "text": "tea" });
    assert_eq!((said(&shown, true), hint(&shown)), (shown, String::new()));
}

#[test]
fn rules_are_none_only_for_a_key_that_sees_them() {
    let written = json!({ "results": [{ "quarantined": false, "rules": [] }] });
    assert_eq!(said(&written, true), written);
    assert_eq!(said(&written, false)["results"][0]["rules"], HIDDEN);
    let fired = json!({ "quarantined": false });
    assert_eq!(said(&fired, false), fired);
}
