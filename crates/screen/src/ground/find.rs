// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding typed values in a prepared text. Each search reads the text once.

use super::token::{parts, tokens};
use super::{FoundValue, VALUES_MAX};
use crate::canon::{date, number, place};
use crate::mapped::Mapped;
use ancile_core::{ArgKind, CanonicalValue};
use core::cmp::Reverse;
use core::ops::Range;

/// Most tokens that a number, an account or a date is read from.
const WINDOW: usize = 10;

struct Finder<'a, 'b> {
    text: &'a Mapped<'a>,
    out: &'b mut Vec<FoundValue>,
    limit: usize,
}

impl Finder<'_, '_> {
    fn put(&mut self, kind: ArgKind, canonical: String, span: &Range<usize>) {
        if self.out.len() < self.limit {
            let bytes = canonical.into_bytes().into();
            let span = self.text.original(span);
            let value = CanonicalValue { kind, bytes };
            self.out.push(FoundValue { value, span });
        }
    }
}

/// Accounts, amounts, dates, e-mail addresses and telephone numbers, in text made clean.
pub(crate) fn typed(text: &Mapped<'_>, out: &mut Vec<FoundValue>) {
    emails(&mut finder(text, out));
    phones(&mut finder(text, out));
    let tokens = tokens(&text.text);
    accounts(&tokens, &mut finder(text, out));
    amounts(&tokens, &mut finder(text, out));
    dates(&tokens, &mut finder(text, out));
    drop_parts(out);
}

/// Drops amounts, accounts and telephone numbers that are only a part of a longer account,
/// telephone number or date.
fn drop_parts(found: &mut Vec<FoundValue>) {
    found.sort_by_key(|f| (f.span.start, Reverse(f.span.end)));
    let mut longest = 0..0;
    found.retain(|f| {
        let whole = matches!(
            f.value.kind,
            ArgKind::Account | ArgKind::Phone | ArgKind::Date
        );
        let part = matches!(
            f.value.kind,
            ArgKind::Account | ArgKind::Phone | ArgKind::Amount
        );
        let inside =
            longest.end > f.span.end || longest.end == f.span.end && longest.start < f.span.start;
        if whole && f.span.end > longest.end {
            longest = f.span.clone();
        }
        !(part && inside)
    });
}

/// Each search has room of its own, so that none can starve another.
fn finder<'a, 'b>(text: &'a Mapped<'a>, out: &'b mut Vec<FoundValue>) -> Finder<'a, 'b> {
    let limit = out.len() + VALUES_MAX;
    Finder { text, out, limit }
}

fn emails(f: &mut Finder<'_, '_>) {
    let text = f.text.text.as_ref();
    for (at, _) in text.match_indices('@') {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + 1..).unwrap_or_default();
        let local = before
            .char_indices()
            .rev()
            .take_while(|(_, c)| place::is_local(*c))
            .last()
            .map_or(at, |(start, _)| start);
        let domain = after
            .find(|c: char| !c.is_alphanumeric() && c != '.' && c != '-')
            .unwrap_or(after.len());
        let whole = text.get(local..at).unwrap_or_default();
        let start = local + (whole.len() - whole.trim_start_matches(['\'', '*', '`', '|']).len());
        let host = after
            .get(..domain)
            .unwrap_or_default()
            .trim_end_matches(['.', '-']);
        let end = at + 1 + host.len();
        let head = text.get(..start).unwrap_or_default();
        let tail = after.get(domain..).unwrap_or_default();
        let label = head.len().checked_sub("mailto:".len());
        let linked = label
            .and_then(|label| head.get(label..))
            .is_some_and(|label| label.eq_ignore_ascii_case("mailto:"));
        if !host.contains('.') || head.ends_with(['@', '\\', '/']) || !closes_address(tail, linked)
        {
            continue;
        }
        let span = start..end;
        if let Some(address) = text.get(span.clone()).and_then(place::email) {
            f.put(ArgKind::Email, address, &span);
        }
    }
}

/// Whether what follows a domain ends the address there.
fn closes_address(tail: &str, linked: bool) -> bool {
    let mut chars = tail.chars();
    match (chars.next(), chars.next()) {
        (None, _) => true,
        (Some('?' | '&'), _) if linked => true,
        (Some('\'' | '\u{2019}'), Some('s')) => chars.next().is_none_or(|c| !c.is_alphanumeric()),
        (Some('!' | '?' | '*' | '\'' | '\u{2019}' | ':'), second) => {
            second.is_none_or(|c| !c.is_alphanumeric() && !"/@\\".contains(c))
        }
        (Some(c), _) => parts(c),
    }
}

fn phones(f: &mut Finder<'_, '_>) {
    let text = f.text.text.as_ref();
    let inside = |b: u8| b.is_ascii_digit() || b" -()./".contains(&b);
    let mut at = 0;
    while let Some(start) = text
        .get(at..)
        .and_then(|rest| rest.find(|c: char| c.is_ascii_digit() || c == '+' || c == '('))
        .map(|found| at + found)
    {
        let rest = text.get(start + 1..).unwrap_or_default();
        let run = rest.bytes().take_while(|b| inside(*b)).count();
        at = start + 1 + run;
        let whole = text.get(start..at).unwrap_or_default();
        let body = whole.trim_end_matches(|c: char| !c.is_ascii_digit());
        let span = start..start + body.len();
        let before = text.get(..start).unwrap_or_default();
        let after = text.get(at..).unwrap_or_default();
        if !opens_number(before) || !closes_number(after, whole.len() == body.len()) {
            continue;
        }
        if looks_like_phone(body)
            && let Some(canonical) = number::phone(body)
        {
            f.put(ArgKind::Phone, canonical, &span);
        }
    }
}

fn opens_number(before: &str) -> bool {
    let mut chars = before.chars().rev();
    match (chars.next(), chars.next()) {
        (Some('.' | ',' | ':' | '\''), Some(second)) => !second.is_ascii_digit(),
        (Some(c), _) => !c.is_alphanumeric() && !"_@#%&+-/\\$~^".contains(c),
        (None, _) => true,
    }
}

fn closes_number(after: &str, tight: bool) -> bool {
    let mut chars = after.chars();
    match (chars.next(), chars.next()) {
        (Some(',' | ':' | '\''), second) => second.is_none_or(|c| !c.is_ascii_digit()),
        (Some(c), _) if tight => !c.is_alphanumeric() && !"_@%&+\\$~^".contains(c),
        _ => true,
    }
}

/// Whether a run of digits and separators is written like a telephone number, and not like a
/// date, an IP address, a decimal number or a row of single digits.
fn looks_like_phone(run: &str) -> bool {
    let groups: Vec<&str> = run
        .split(|c: char| !c.is_ascii_digit())
        .filter(|group| !group.is_empty())
        .collect();
    let single = groups.iter().filter(|group| group.len() == 1).count();
    let words: Vec<&str> = run.split(' ').collect();
    let dated = words.iter().any(|word| date::read(&[word]).is_some());
    let address = run.parse::<std::net::Ipv4Addr>().is_ok();
    let decimal = groups.len() == 2 && run.contains('.');
    single <= 2 && !run.contains("  ") && !dated && !address && !decimal
}

fn accounts(tokens: &[Range<usize>], f: &mut Finder<'_, '_>) {
    let text = f.text.text.as_ref();
    let get = |token: &Range<usize>| text.get(token.clone()).unwrap_or_default();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if !has_digit(get(token)) {
            at += 1;
            continue;
        }
        let window = adjacent(text, tokens, at);
        if let Some((taken, canonical)) = grouped_iban(text, window) {
            let end = window.get(taken - 1).map_or(token.end, |last| last.end);
            f.put(ArgKind::Account, canonical, &(token.start..end));
            at += taken;
            continue;
        }
        let grouped = window
            .iter()
            .take_while(|t| is_digits(get(t)) && (2..=5).contains(&t.len()))
            .count();
        let taken = grouped.max(1);
        let end = window.get(taken - 1).map_or(token.end, |last| last.end);
        let whole = text.get(token.start..end).unwrap_or_default();
        let open = edge_ok(text, &(token.start..end));
        if open
            && date::date(whole).is_none()
            && let Some(canonical) = number::account(whole)
        {
            f.put(ArgKind::Account, canonical, &(token.start..end));
        }
        at += taken;
    }
}

/// Whether the token is not glued to a sign that makes it part of something else.
fn edge_ok(text: &str, span: &Range<usize>) -> bool {
    let before = text
        .get(..span.start)
        .unwrap_or_default()
        .chars()
        .next_back();
    let after = text.get(span.end..).unwrap_or_default();
    let glued = after.starts_with(['@', '%', '+', '$', '\u{20ac}', '\u{a3}']);
    !glued && before.is_none_or(|c| !"@%+$&\u{20ac}\u{a3}".contains(c))
}

/// The tokens from `at` on that are parted by single spaces alone, at most [`WINDOW`].
fn adjacent<'t>(text: &str, tokens: &'t [Range<usize>], at: usize) -> &'t [Range<usize>] {
    let rest = tokens.get(at..).unwrap_or_default();
    let joined = rest
        .iter()
        .zip(rest.iter().skip(1))
        .take(WINDOW - 1)
        .take_while(|(a, b)| text.get(a.end..b.start) == Some(" "))
        .count();
    rest.get(..=joined).unwrap_or_default()
}

/// An IBAN at the start of the window, and how many tokens it takes.
fn grouped_iban(text: &str, window: &[Range<usize>]) -> Option<(usize, String)> {
    let first = text.get(window.first()?.clone())?;
    let coded = first.as_bytes().get(2).is_some_and(u8::is_ascii_digit);
    let length = number::iban_length(first).filter(|_| coded)?;
    let mut compact = String::new();
    for (taken, token) in window.iter().enumerate() {
        let part = text.get(token.clone())?;
        compact.extend(
            part.chars()
                .filter(|c| *c != '-')
                .map(|c| c.to_ascii_uppercase()),
        );
        if compact.len() >= length {
            let span = window.first()?.start..token.end;
            return (number::is_iban(&compact) && edge_ok(text, &span))
                .then_some((taken + 1, compact));
        }
    }
    None
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn amounts(tokens: &[Range<usize>], f: &mut Finder<'_, '_>) {
    let text = f.text.text.as_ref();
    let get = |token: &Range<usize>| text.get(token.clone()).unwrap_or_default();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if !has_digit(get(token)) {
            at += 1;
            continue;
        }
        let window = adjacent(text, tokens, at);
        let taken = thousands(text, window).max(1);
        let end = window.get(taken - 1).map_or(token.end, |last| last.end);
        let span = token.start..end;
        let scaled = window.get(taken).is_some_and(|t| number::is_scale(get(t)));
        let next = window.get(taken).and_then(|t| number::currency(get(t)));
        let before = at.checked_sub(1).and_then(|i| tokens.get(i));
        let previous = before
            .filter(|t| text.get(t.end..token.start) == Some(" "))
            .and_then(|t| number::currency(get(t)));
        at += taken;
        if scaled || !amount_edges(text, &span) {
            continue;
        }
        let whole = text.get(span.clone()).unwrap_or_default();
        let Some((head, digits, tail)) = number::split_amount(whole) else {
            continue;
        };
        let unit = match (head, tail) {
            ("", "") => previous.xor(next),
            ("", mark) | (mark, "") => match number::currency(mark) {
                Some(unit) => Some(unit),
                None => continue,
            },
            _ => continue,
        };
        let Some(canonical) = number::decimal(digits, unit) else {
            continue;
        };
        if let Some(unit) = unit {
            f.put(
                ArgKind::Amount,
                number::with_unit(&canonical, Some(unit)),
                &span,
            );
        }
        if unit != Some("%") {
            f.put(ArgKind::Amount, canonical, &span);
        }
    }
}

/// Whether nothing glued to the token says that it is part of a larger thing.
fn amount_edges(text: &str, span: &Range<usize>) -> bool {
    let before = text
        .get(..span.start)
        .unwrap_or_default()
        .chars()
        .next_back();
    let after = text.get(span.end..).unwrap_or_default().chars().next();
    before.is_none_or(|c| parts(c) || "='*:\u{2018}".contains(c))
        && after.is_none_or(|c| parts(c) || "'*.:!?\u{2019}".contains(c))
}

/// How many tokens of the window are one number with spaces between thousands.
fn thousands(text: &str, window: &[Range<usize>]) -> usize {
    let get = |token: &Range<usize>| text.get(token.clone()).unwrap_or_default();
    let Some(first) = window.first().map(get) else {
        return 0;
    };
    let head = first.trim_start_matches(|c: char| !c.is_ascii_digit());
    if !is_digits(head) || head.len() > 3 || head.starts_with('0') {
        return 0;
    }
    let rest = window.get(1..).unwrap_or_default();
    let plain = rest
        .iter()
        .take_while(|t| t.len() == 3 && is_digits(get(t)))
        .count();
    let closing = rest
        .get(plain)
        .map(get)
        .and_then(|part| part.split_at_checked(3));
    let decimals = closing.is_some_and(|(whole, tail)| {
        is_digits(whole) && tail.starts_with([',', '.', '\u{20ac}', '\u{a3}', '$'])
    });
    1 + plain + usize::from(decimals)
}

fn dates(tokens: &[Range<usize>], f: &mut Finder<'_, '_>) {
    let text = f.text.text.as_ref();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if !date::may_start(text.get(token.clone()).unwrap_or_default()) {
            at += 1;
            continue;
        }
        let window = tokens.get(at..tokens.len().min(at + 5)).unwrap_or_default();
        let joined = window
            .iter()
            .zip(window.iter().skip(1))
            .take_while(|(a, b)| matches!(text.get(a.end..b.start), Some(" " | ", " | ". ")))
            .count();
        let words: Vec<&str> = window
            .iter()
            .take(joined + 1)
            .map(|t| text.get(t.clone()).unwrap_or_default())
            .collect();
        let Some(dated) = date::read(&words).filter(|_| amount_edges(text, token)) else {
            at += 1;
            continue;
        };
        let end = window
            .get(dated.words - 1)
            .map_or(token.end, |last| last.end);
        let span = token.start..end;
        if let Some(moment) = dated.moment {
            f.put(ArgKind::Date, moment, &span);
        }
        f.put(ArgKind::Date, dated.day, &span);
        at += dated.words;
    }
}

/// URLs, hosts and paths, in text that is NFC and nothing else.
pub(crate) fn places(text: &Mapped<'_>, out: &mut Vec<FoundValue>) {
    let urls = urls(&mut finder(text, out));
    let mut f = finder(text, out);
    let text = text.text.as_ref();
    let mut urls = urls.into_iter().peekable();
    for token in tokens(text) {
        while urls.next_if(|url| url.end <= token.start).is_some() {}
        if urls.peek().is_some_and(|url| url.start < token.end) {
            continue;
        }
        let whole = text.get(token.clone()).unwrap_or_default();
        if is_bare_place(whole) {
            bare_place(whole, &token, &mut f);
        }
        if whole.contains(['/', '\\']) && whole.len() > 1 && path_edges(text, &token) {
            f.put(ArgKind::Path, whole.to_owned(), &token);
        }
    }
}

fn path_edges(text: &str, span: &Range<usize>) -> bool {
    let before = text
        .get(..span.start)
        .unwrap_or_default()
        .chars()
        .next_back();
    before.is_none_or(|c| parts(c) || "='*:\u{2018}".contains(c))
}

/// Finds URLs with a scheme; answers where tokens with one stand, whether or not they are URLs.
fn urls(f: &mut Finder<'_, '_>) -> Vec<Range<usize>> {
    let text = f.text.text.as_ref();
    let mut taken: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.match_indices("://") {
        if taken.last().is_some_and(|last| at < last.end) {
            continue;
        }
        let before = text.get(..at).unwrap_or_default();
        let scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let start = before.trim_end_matches(scheme).len();
        let opening = before.get(..start).unwrap_or_default().chars().next_back();
        let rest = text.get(start..).unwrap_or_default();
        let run = rest.find(|c: char| c.is_whitespace() || "<>\"`".contains(c) || is_closing(c));
        let run = rest.get(..run.unwrap_or(rest.len())).unwrap_or_default();
        taken.push(start..start + run.len());
        if opening.is_some_and(|c| !parts(c) && !"'*=:\u{2018}".contains(c)) {
            continue;
        }
        let whole = trim_url(enclosed(run, opening));
        if let Some(url) = place::url(whole) {
            let span = start..start + whole.len();
            f.put(ArgKind::Host, url.host, &span);
            f.put(ArgKind::Url, url.text, &span);
        }
    }
    taken
}

/// The run up to the bracket or quote that closes the one in front of it.
fn enclosed(run: &str, opening: Option<char>) -> &str {
    let (open, close) = match opening {
        Some('(') => ('(', ')'),
        Some('[') => ('[', ']'),
        Some('\'') => ('\0', '\''),
        _ => return run,
    };
    let mut depth = 0_usize;
    for (at, c) in run.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            let Some(outer) = depth.checked_sub(1) else {
                return run.get(..at).unwrap_or_default();
            };
            depth = outer;
        }
    }
    run
}

fn is_closing(c: char) -> bool {
    !c.is_ascii() && parts(c)
}

/// A URL without the punctuation of the sentence around it; a bracket that it opens itself stays.
fn trim_url(url: &str) -> &str {
    let count = |c: char| url.matches(c).count();
    let mut spare = [
        count(')').saturating_sub(count('(')),
        count(']').saturating_sub(count('[')),
    ];
    url.trim_end_matches(|c: char| {
        let [round, square] = &mut spare;
        let spare = match c {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' => return true,
            ')' => round,
            ']' => square,
            _ => return false,
        };
        let trim = *spare > 0;
        *spare = spare.saturating_sub(1);
        trim
    })
}

/// Whether a token without a scheme looks like a host, alone or with a path.
fn is_bare_place(token: &str) -> bool {
    let end = token.find(['/', '?', '#', ':']).unwrap_or(token.len());
    let name = token.get(..end).unwrap_or_default();
    let Some((head, last)) = name.rsplit_once('.') else {
        return false;
    };
    let letters = last.chars().count() >= 2 && last.chars().all(|c| c.is_alphabetic() || c == '-');
    let coded = last.starts_with("xn--");
    let ipv4 = head.matches('.').count() == 2 && is_digits(last);
    !head.is_empty() && !token.contains(['@', '\\', '\'']) && (letters || coded || ipv4)
}

fn bare_place(token: &str, span: &Range<usize>, f: &mut Finder<'_, '_>) {
    if let Some(url) = place::url(token) {
        f.put(ArgKind::Url, format!("https:{}", url.text), span);
        f.put(ArgKind::Url, url.text, span);
        if !token.contains(':') {
            f.put(ArgKind::Host, url.host, span);
        }
    }
}
