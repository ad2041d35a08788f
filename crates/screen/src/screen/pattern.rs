// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pattern language of the rule table, written out as regular expressions.

use super::table::{Rule, RuleTableError, Table};
use super::types::Stage;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::Extractor;
use std::collections::BTreeSet;

/// Largest compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 21;
/// Most beginnings of a pattern that are sought.
const BEGINNINGS_MAX: usize = 64;
/// Shortest of them, in bytes.
const BEGINNING_BYTES_MIN: usize = 2;
/// A space: blanks with at most one line break, and what quotes a line in mail or Markdown.
const SPACE: &str = r"(?:[ \t\r]+|[ \t\r]*\n[ \t\r>*#-]*)";
/// An address on the web.
const URL: &str = r"(?:https?://|www\.)[^\s]+";
/// A mail address.
const MAIL: &str = r"[^\s@]+@[a-z0-9-]+\.[a-z][^\s]*";

/// A compiled pattern and the word lists without which it cannot match.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub regex: Regex,
    pub needs: BTreeSet<&'static str>,
    /// Texts one of which each match begins with; none where that is not known.
    pub beginnings: Vec<String>,
}

/// Compiles the patterns of a rule.
pub(crate) fn compile(rule: &Rule, table: &Table) -> Result<Vec<Pattern>, RuleTableError> {
    let mut out = Vec::new();
    for source in &rule.patterns {
        let mut needs: BTreeSet<&'static str> = rule.needs.iter().copied().collect();
        let text = match rule.stage {
            Stage::Injection => expand(rule, source, table, &mut needs)?,
            Stage::Structure | Stage::Sensitive => (*source).to_owned(),
        };
        if let Some(list) = needs.iter().find(|list| !table.lists.contains_key(*list)) {
            let list = (*list).to_owned();
            return Err(RuleTableError::UnknownList {
                rule: rule.id.as_str(),
                list,
            });
        }
        let regex = RegexBuilder::new(&text)
            .unicode(false)
            .multi_line(true)
            .size_limit(PATTERN_BYTES_MAX)
            .build()
            .map_err(|source| RuleTableError::Pattern {
                rule: rule.id.as_str(),
                source: Box::new(source),
            })?;
        // Only these run over the very text in which words are sought.
        let beginnings = match rule.stage {
            Stage::Injection if needs.is_empty() => beginnings(&text),
            _ => Vec::new(),
        };
        out.push(Pattern {
            regex,
            needs,
            beginnings,
        });
    }
    Ok(out)
}

/// The texts one of which each match of a regular expression begins with, where they are few and
/// each is long enough to be rare.
fn beginnings(regex: &str) -> Vec<String> {
    let parsed = ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .multi_line(true)
        .build()
        .parse(regex);
    let Ok(parsed) = parsed else {
        return Vec::new();
    };
    let found = Extractor::new().extract(&parsed);
    let texts = found.literals().unwrap_or_default().iter().map(|literal| {
        let text = str::from_utf8(literal.as_bytes()).ok()?;
        (text.len() >= BEGINNING_BYTES_MIN).then(|| text.to_owned())
    });
    let texts: Option<Vec<String>> = texts.collect();
    texts
        .filter(|texts| texts.len() <= BEGINNINGS_MAX)
        .unwrap_or_default()
}

fn expand(
    rule: &Rule,
    source: &'static str,
    table: &Table,
    needs: &mut BTreeSet<&'static str>,
) -> Result<String, RuleTableError> {
    let mut out = String::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let tail = rest.get(c.len_utf8()..).unwrap_or_default();
        if let Some((name, after)) = list_name(rest) {
            let (name, required) = match name.strip_prefix('?') {
                Some(name) => (name, false),
                None => (name, !matches!(name, "url" | "mail")),
            };
            if required {
                needs.insert(name);
            }
            out.push_str(&list(rule, name, table)?);
            rest = after;
        } else if let Some((words, after)) = gap(rest) {
            out.push_str(&format!(
                r"[^a-z0-9\s.!?;]*{SPACE}(?:[^\s]*[^\s.!?;]{SPACE}){{0,{words}}}[^a-z0-9\s]{{0,4}}"
            ));
            rest = after;
        } else if let Some((class, after)) = class(rest) {
            out.push_str(class);
            rest = after;
        } else {
            match c {
                ' ' => out.push_str(SPACE),
                '\'' => out.push_str("(?:'|\u{2019})?"),
                '\\' => {
                    let (escaped, after) = escape(tail);
                    out.push_str(&escaped);
                    rest = after;
                    continue;
                }
                _ => out.push(c),
            }
            rest = tail;
        }
    }
    Ok(out)
}

/// `{name}` or `{?name}` at the start; a repetition such as `{0,3}` is none.
fn list_name(text: &'static str) -> Option<(&'static str, &'static str)> {
    let (name, after) = text.strip_prefix('{')?.split_once('}')?;
    name.starts_with(|c: char| c.is_ascii_lowercase() || c == '?')
        .then_some((name, after))
}

/// `<n>` at the start: a gap of up to `n` words.
fn gap(text: &'static str) -> Option<(&'static str, &'static str)> {
    let (words, after) = text.strip_prefix('<')?.split_once('>')?;
    let fits = !words.is_empty() && words.bytes().all(|b| b.is_ascii_digit());
    fits.then_some((words, after))
}

/// A character class at the start, which stays as it is.
fn class(text: &'static str) -> Option<(&'static str, &'static str)> {
    let body = text.strip_prefix('[')?;
    let mut escaped = false;
    let end = body.char_indices().skip(1).find(|(_, c)| {
        let closes = *c == ']' && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    });
    text.split_at_checked(end?.0 + 2)
}

/// What follows a backslash: `u{..}` is that character, anything else stays as it is.
fn escape(tail: &'static str) -> (String, &'static str) {
    let coded = tail
        .strip_prefix("u{")
        .and_then(|rest| rest.split_once('}'));
    if let Some((code, after)) = coded {
        let c = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
        return (c.map(String::from).unwrap_or_default(), after);
    }
    let len = tail.chars().next().map_or(0, char::len_utf8);
    let (kept, after) = tail.split_at_checked(len).unwrap_or((tail, ""));
    (format!("\\{kept}"), after)
}

fn list(rule: &Rule, name: &str, table: &Table) -> Result<String, RuleTableError> {
    match name {
        "url" => return Ok(URL.to_owned()),
        "mail" => return Ok(MAIL.to_owned()),
        _ => {}
    }
    let words = table
        .lists
        .get(name)
        .filter(|_| !table.literals.contains(name))
        .ok_or_else(|| RuleTableError::UnknownList {
            rule: rule.id.as_str(),
            list: name.to_owned(),
        })?;
    let words: Vec<String> = words.iter().map(|word| expand_word(word)).collect();
    Ok(format!("(?:{})", words.join("|")))
}

/// A word of a list, whole: `_` is a space, `*` any ending, `-` and `'` may be missing.
fn expand_word(word: &str) -> String {
    let edge = |c: char| if c.is_ascii_alphanumeric() { r"\b" } else { "" };
    let mut out = word.chars().next().map_or("", edge).to_owned();
    for c in word.chars() {
        match c {
            '_' => out.push_str(SPACE),
            '*' => out.push_str("[a-z]*"),
            '-' => out.push_str("[ -]?"),
            '\'' => out.push_str("(?:'|\u{2019})?"),
            c => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out.push_str(
        word.trim_end_matches('*')
            .chars()
            .next_back()
            .map_or("", edge),
    );
    out
}

/// The longest part of a word of a list that every text with that word must hold.
pub(crate) fn key(word: &str) -> &str {
    word.split(['_', '*', '-', '\''])
        .max_by_key(|part| part.len())
        .unwrap_or(word)
}
