// SPDX-License-Identifier: MIT OR Apache-2.0
//! What reaches the terminal. Memory text may be an attacker's: nothing that moves the cursor,
//! hides or reorders is ever printed as it is.

use crate::failure::{Exit, Failure};
use crate::{unseen, when};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::Write as _;

/// What a command has to say.
pub struct Answer {
    /// For `--json`.
    pub value: Value,
    /// For people; already escaped.
    pub text: String,
    /// How the command ends.
    pub exit: Exit,
}

impl Answer {
    /// An answer whose text is the plain form of its value.
    pub fn plain(value: Value) -> Self {
        Self {
            text: block(&value, 0),
            value,
            exit: Exit::Done,
        }
    }

    /// An answer with a text of its own.
    pub fn with(value: Value, text: impl Into<String>) -> Self {
        Self {
            value,
            text: text.into(),
            exit: Exit::Done,
        }
    }

    /// An answer in its plain form, in which what the key is not shown says so.
    pub fn seen(value: Value, person: bool) -> Self {
        Self {
            text: block(&unseen::said(&value, person), 0) + &unseen::hint(&value),
            value,
            exit: Exit::Done,
        }
    }

    /// A page of a list: one line an item, these columns. A column `a.b` is a field of a field, and
    /// `a as b` is named `b`.
    pub fn page(value: Value, columns: &[&str]) -> Self {
        let shown = unseen::said(&value, true);
        let mut text = table(shown.get("items").unwrap_or(&shown), columns);
        text.push_str(&unseen::hint(&value));
        if let Some(next) = value.get("next").and_then(Value::as_str) {
            _ = writeln!(text, "more: --cursor {}", line(next));
        }
        Self::with(value, text)
    }

    /// Adds a line for people, where the page has items.
    pub fn note(mut self, note: &str) -> Self {
        let items = self.value.get("items").and_then(Value::as_array);
        if items.is_some_and(|items| !items.is_empty()) {
            _ = writeln!(self.text, "{note}");
        }
        self
    }

    /// Prints it.
    pub fn print(&self, json: bool) {
        if json {
            out(&one_line_json(&self.value));
        } else {
            out(self.text.trim_end_matches('\n'));
        }
    }
}

/// Prints a failure on standard error; with `--json` as an object.
pub fn failure(failure: &Failure, json: bool) {
    let text = if json {
        let Failure { code, text, .. } = failure;
        one_line_json(&json!({ "error": { "code": code, "text": text } }))
    } else {
        format!("ancile: {} ({})", line(&failure.text), line(&failure.code))
    };
    err(&text);
}

/// Writes a line to standard output. A reader that went away is no fault of ours.
pub fn out(text: &str) {
    let mut to = std::io::stdout().lock();
    _ = writeln!(to, "{text}").and_then(|()| to.flush());
}

/// Writes a line to standard error.
pub fn err(text: &str) {
    _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Whether a character may not reach a terminal as it is: control characters, line and paragraph
/// separators, marks that reorder or hide (Unicode bidirectional controls, zero width, tags).
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// A text on one line.
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A text as one word of a POSIX shell, on one line.
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let text = line(text);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A text with its own lines, each indented.
pub fn lines(text: &str, indent: usize) -> String {
    let mut out = String::new();
    for one in text.lines() {
        _ = writeln!(out, "{:indent$}{}", "", line(one));
    }
    out
}

/// A text on one line of at most so many characters.
pub fn short(text: &str, most: usize) -> String {
    let text = line(text);
    match text.char_indices().nth(most) {
        Some((cut, _)) => format!("{}...", text.get(..cut).unwrap_or_default()),
        None => text,
    }
}

/// JSON on one line. What a terminal would act upon is written as an escape, which JSON reads back
/// as the same text.
pub fn one_line_json(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        if hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// One value in a line: texts as they are, moments by date.
pub fn cell(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) if text.is_empty() => "-".to_owned(),
        Value::String(text) => line(text),
        Value::Number(number) => match number.as_i64() {
            Some(micros) if MOMENTS.contains(&name) => when::show(micros),
            _ => number.to_string(),
        },
        Value::Bool(yes) => yes.to_string(),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items)
            if items
                .iter()
                .all(|item| !item.is_object() && !item.is_array()) =>
        {
            items
                .iter()
                .map(|item| cell(name, item))
                .collect::<Vec<_>>()
                .join(", ")
        }
        other => one_line_json(other),
    }
}

/// A value in the plain form: a line for each field, nested ones indented.
pub fn block(value: &Value, indent: usize) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) => fields(&mut out, map, indent),
        Value::Array(items) => {
            for item in items {
                out.push_str(&block(item, indent));
                if item.is_object() {
                    out.push('\n');
                }
            }
        }
        other => _ = writeln!(out, "{:indent$}{}", "", cell("", other)),
    }
    out
}

fn fields(out: &mut String, map: &Map<String, Value>, indent: usize) {
    for (name, value) in map {
        let nested = match value {
            Value::Object(inner) => !inner.is_empty(),
            Value::Array(items) => items.iter().any(Value::is_object),
            Value::String(text) => text.contains('\n'),
            _ => false,
        };
        if value.is_null() {
            continue;
        }
        let label = line(name);
        match value {
            _ if !nested => _ = writeln!(out, "{:indent$}{label}: {}", "", cell(name, value)),
            Value::String(text) => {
                _ = write!(out, "{:indent$}{label}:\n{}", "", lines(text, indent + 2));
            }
            _ => _ = write!(out, "{:indent$}{label}:\n{}", "", block(value, indent + 2)),
        }
    }
}

/// A list as lines of aligned columns under their names.
pub fn table(items: &Value, columns: &[&str]) -> String {
    let Some(items) = items.as_array().filter(|items| !items.is_empty()) else {
        return "none\n".to_owned();
    };
    let columns: Vec<(&str, &str)> = columns.iter().map(|column| named(column)).collect();
    let mut rows = vec![columns.iter().map(|(_, name)| (*name).to_owned()).collect()];
    for item in items {
        let at = |(path, name): &(&str, &str)| {
            let pointer = format!("/{}", path.replace('.', "/"));
            let value = item.pointer(&pointer).unwrap_or(&Value::Null);
            short(&cell(name, value), CELL_CHARS_MAX)
        };
        rows.push(columns.iter().map(at).collect::<Vec<_>>());
    }
    let width = |i: usize| {
        let cells = rows.iter().filter_map(|row| row.get(i));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let padded = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        _ = writeln!(out, "{}", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
    out
}

/// The path and the name of a column.
fn named(column: &str) -> (&str, &str) {
    let last = || column.rsplit('.').next().unwrap_or(column);
    column
        .split_once(" as ")
        .unwrap_or_else(|| (column, last()))
}

/// Fields that hold moments, in microseconds.
const MOMENTS: [&str; 12] = [
    "at",
    "created",
    "due",
    "next_due",
    "expires",
    "permit_expires",
    "not_before",
    "not_after",
    "asked",
    "since",
    "valid_from",
    "valid_until",
];

/// Widest cell of a table, in characters: a digest in hexadecimal fits.
const CELL_CHARS_MAX: usize = 64;

#[cfg(test)]
mod tests;
