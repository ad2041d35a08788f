// SPDX-License-Identifier: MIT OR Apache-2.0
//! Says what a key is not shown, so that it does not read as none. Texts of entries, and the ids of
//! the screening rules that hit at a write, are shown to people only.

use serde_json::{Value, json};

/// What stands in the place of a hidden value.
pub const HIDDEN: &str = "hidden from this key";
/// Who sees a hidden text.
const WHO: &str = "text hidden: an agent's memory is read through recall, a task's through fire; \
                   --as user shows it to a person";

/// An answer for people, in which what is hidden says so. `person`: whether the key that asked is
/// a person's.
pub fn said(value: &Value, person: bool) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| said(item, person)).collect(),
        Value::Object(map) => {
            let mut out: serde_json::Map<String, Value> = map
                .iter()
                .map(|(name, part)| (name.clone(), said(part, person)))
                .collect();
            if text_is_hidden(value) {
                out.insert("text".to_owned(), json!(HIDDEN));
            }
            if !person && value.get("quarantined").is_some() && value.get("rules").is_some() {
                out.insert("rules".to_owned(), json!(HIDDEN));
            }
            Value::Object(out)
        }
        other => other.clone(),
    }
}

/// A line that says who sees what is hidden in an answer; empty where nothing is.
pub fn hint(value: &Value) -> String {
    if any_text_is_hidden(value) {
        format!("{WHO}\n")
    } else {
        String::new()
    }
}

/// Whether this is an entry that is there, and whose text is left out.
fn text_is_hidden(value: &Value) -> bool {
    let state = value.get("state").and_then(Value::as_str);
    value.get("text").is_some_and(Value::is_null)
        && state.is_some_and(|state| !matches!(state, "broken" | "discarded"))
}

fn any_text_is_hidden(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(any_text_is_hidden),
        Value::Object(map) => text_is_hidden(value) || map.values().any(any_text_is_hidden),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
