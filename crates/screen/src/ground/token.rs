// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole tokens.

use core::ops::Range;

/// The tokens of a text: what stands between spaces, brackets, double quotes, bars, semicolons and
/// commas (a comma between two digits does not part), without quotes and stars around, without a
/// `label:` or `label=` in front, and without punctuation behind.
pub(crate) fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut last = ' ';
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let grouping = c == ',' && digit(Some(last)) && digit(chars.peek().map(|(_, c)| *c));
        if !grouping && parts(c) {
            out.extend(trimmed(text, start..at));
            start = at + c.len_utf8();
        }
        last = c;
    }
    out.extend(trimmed(text, start..text.len()));
    out
}

/// Whether a character parts tokens.
pub(crate) fn parts(c: char) -> bool {
    match c {
        '<' | '>' | '"' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | ',' | ';' | '`' => true,
        c if c.is_ascii() => c.is_ascii_whitespace() || c == '\u{b}',
        c => c.is_whitespace() || is_quote(c),
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '\u{ab}' | '\u{bb}' | '\u{201c}'..='\u{201f}' | '\u{3001}' | '\u{3002}'
        | '\u{3008}'..='\u{3011}' | '\u{ff01}' | '\u{ff0c}' | '\u{ff1b}')
}

fn trimmed(text: &str, token: Range<usize>) -> Option<Range<usize>> {
    let part = text.get(token.clone())?;
    let head = part.trim_start_matches(['\'', '*', '#', '\u{2018}']);
    let head = head.get(label_len(head)..)?;
    let body = head.trim_end_matches(['\'', '*', '.', ':', '!', '?', '\u{2019}']);
    let body = body.strip_suffix("'s").unwrap_or(body);
    let start = token.start + (part.len() - head.len());
    (!body.is_empty()).then(|| start..start + body.len())
}

/// Length of a `label:` or `label=` at the start: two or more letters. What follows `:` must not
/// be `/`, so that a scheme is none.
fn label_len(text: &str) -> usize {
    let letters = text
        .find(|c: char| !c.is_ascii_alphabetic() && c != '_')
        .unwrap_or(0);
    let mut rest = text.get(letters..).unwrap_or_default().chars();
    match (letters, rest.next(), rest.next()) {
        (2.., Some('='), Some(_)) => letters + 1,
        (2.., Some(':'), Some(next)) if next != '/' => letters + 1,
        _ => 0,
    }
}

/// Whether `text` holds `wanted` as a whole token, that is between spaces, quotes, brackets or
/// the ends; behind it there may also be punctuation that closes a clause, or `'s`.
pub(crate) fn holds(text: &str, wanted: &str) -> bool {
    !wanted.is_empty()
        && text.match_indices(wanted).any(|(at, found)| {
            let before = text.get(..at).unwrap_or_default();
            let after = text.get(at + found.len()..).unwrap_or_default();
            opens(before) && closes(after)
        })
}

fn opens(before: &str) -> bool {
    let mut chars = before.chars().rev();
    match (chars.next(), chars.next()) {
        (None, _) => true,
        (Some('\'' | ',' | ';' | '\u{2018}'), second) => {
            second.is_none_or(|c| !c.is_alphanumeric())
        }
        (Some(c), _) => parts(c) || c == '=',
    }
}

fn closes(after: &str) -> bool {
    let mut chars = after.chars();
    let free = |c: Option<char>| c.is_none_or(|c| parts(c) || "'\u{2019}.!?:".contains(c));
    match (chars.next(), chars.next()) {
        (None, _) => true,
        (Some('\'' | '\u{2019}'), Some('s')) => free(chars.next()),
        (Some('.' | '!' | '?' | ':' | ',' | ';' | '\'' | '\u{2019}'), second) => free(second),
        (Some(c), _) => parts(c),
    }
}
