// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses in plain text, as programs find them that make links of them.

use super::target::{Asked, unescaped};
use super::{ADDRESS_BYTES_MAX, Edit, LinkKind, LinkReason, RemovedLink, removal, short};
use crate::mapped::{Form, Mapped};
use core::ops::Range;

const MARK: &str = "(link removed)";
/// Most addresses that are read in one run of characters.
const ADDRESSES_MAX: usize = 4;

pub(super) fn edits(text: &str, asked: &Asked<'_>) -> Vec<(Range<usize>, Edit)> {
    let clean = Mapped::new(text, Form::Clean);
    let mut out = Vec::new();
    for run in runs(&clean.text) {
        let token = clean.text.get(run.clone()).unwrap_or_default();
        let Some((part, reason)) = fault(token, asked) else {
            continue;
        };
        let address = token.get(part.clone()).unwrap_or_default();
        let span = clean.original(&(run.start + part.start..run.start + part.end));
        let bad = RemovedLink {
            span: span.clone(),
            kind: LinkKind::Bare,
            target: short(address),
            reason,
        };
        out.push(removal(span, MARK, bad));
    }
    out
}

/// The runs of characters that an address can have, without the punctuation at their ends.
fn runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let stop = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '`');
    let mut at = 0;
    text.split(stop).filter_map(move |run| {
        let start = at + run.len() - run.trim_start_matches(OPENING).len();
        let end = at + trimmed(run).len();
        // What parts two runs is one character, of one to three bytes.
        at += run.len();
        at += text
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(0, char::len_utf8);
        (start < end).then_some(start..end)
    })
}

/// What may stand in front of an address.
const OPENING: [char; 9] = ['(', '[', '{', '\'', '*', '_', '~', '!', '|'];

fn trimmed(run: &str) -> &str {
    run.trim_end_matches([
        '.', ',', ';', ':', '!', '?', '\'', ')', ']', '}', '*', '_', '~', '|',
    ])
}

/// Where in a run the addresses stand of which one is bad, and what is wrong with it.
fn fault(token: &str, asked: &Asked<'_>) -> Option<(Range<usize>, LinkReason)> {
    let starts = starts(token);
    let Some((first, _)) = starts.first() else {
        // Written with escapes that a renderer takes out.
        let read = unescaped(&token.replace('\\', "")).filter(|read| read != token)?;
        let (_, reason) = fault(&read, asked)?;
        return Some((0..token.len(), reason));
    };
    let all = *first..token.len();
    if all.len() > ADDRESS_BYTES_MAX || starts.len() > ADDRESSES_MAX {
        return Some((all, LinkReason::Unreadable));
    }
    for (at, scheme) in &starts {
        let address = address(token.get(*at..).unwrap_or_default());
        let whole = if *scheme {
            address.to_owned()
        } else {
            format!("https://{address}")
        };
        if let Some(reason) = asked.fault(&whole) {
            return Some((*first..at + address.len(), reason));
        }
    }
    None
}

/// An address without what follows it in the same run: from a bracket that it did not open, or a
/// letter outside ASCII, where what follows cannot belong to its host.
fn address(run: &str) -> &str {
    let (mut round, mut square) = (0_i32, 0_i32);
    for (at, c) in run.char_indices() {
        match c {
            '(' => round += 1,
            ')' => round -= 1,
            '[' => square += 1,
            ']' => square -= 1,
            _ => {}
        }
        if round >= 0 && square >= 0 && c.is_ascii() {
            continue;
        }
        let (address, after) = run.split_at_checked(at).unwrap_or((run, ""));
        let path = address.split_once("//").map_or(address, |(_, rest)| rest);
        let in_path = path.contains(['/', '?', '#', '\\']);
        let host = after
            .split(['/', '?', '#', '\\'])
            .next()
            .unwrap_or_default();
        let host = host.trim_end_matches(|c: char| !c.is_alphanumeric());
        let more = host.contains(['.', '@', '%', '\u{3002}', '\u{ff0e}', '\u{ff61}']);
        return if in_path || !more { address } else { run };
    }
    run
}

/// Where addresses may begin in a run, and whether each has its scheme.
fn starts(token: &str) -> Vec<(usize, bool)> {
    let lower = token.to_ascii_lowercase();
    let mut out = Vec::new();
    for (colon, _) in lower.match_indices(':') {
        let after = lower.get(colon + 1..).unwrap_or_default();
        let slashes = after
            .bytes()
            .take_while(|b| matches!(b, b'/' | b'\\'))
            .count();
        let before = lower.get(..colon).unwrap_or_default();
        let web = ["https", "http", "ftp", "wss", "ws"];
        let scheme = web.iter().find(|scheme| before.ends_with(*scheme));
        if let Some(scheme) = scheme
            && slashes >= 2
        {
            out.push((colon - scheme.len(), true));
        }
    }
    if out.is_empty() {
        let www = lower.find("www.").filter(|at| boundary(&lower, *at));
        out.extend(www.or_else(|| with_path(&lower)).map(|at| (at, false)));
    }
    out
}

fn boundary(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '/' | '@' | ':'))
}

/// Where a host with a known public suffix begins that has a path or query behind it.
pub(super) fn with_path(run: &str) -> Option<usize> {
    let (before, _) = run.split_once(['/', '?'])?;
    let host = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-');
    let (name, port) = before.rsplit_once(':').unwrap_or((before, ""));
    let name = match port.bytes().all(|b| b.is_ascii_digit()) {
        true => name,
        false => before,
    };
    let at = name.len() - name.rsplit(|c| !host(c)).next()?.len();
    let name = name.get(at..)?;
    let suffix = psl::suffix(name.as_bytes()).filter(|suffix| suffix.is_known())?;
    let longer = suffix.as_bytes().len() < name.trim_start_matches('.').len();
    (longer && boundary(run, at)).then_some(at)
}
