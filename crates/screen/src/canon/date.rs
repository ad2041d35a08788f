// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dates, with or without a year or a time.

use core::fmt::Write as _;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A date read from the first words of a text.
pub(crate) struct Dated {
    /// How many words it took.
    pub words: usize,
    /// The day: `2026-03-05`, `--03-05` without a year, or `05/03/2026` when day and month cannot
    /// be told apart.
    pub day: String,
    /// The day and the time, when one was given: `2026-03-05T10:00`, with seconds unless zero and
    /// with the offset as written.
    pub moment: Option<String>,
}

/// The canonical form of a text that is a date and nothing else.
pub(crate) fn date(clean: &str) -> Option<String> {
    let words: Vec<&str> = clean.split(' ').collect();
    let dated = read(&words)?;
    (dated.words == words.len()).then(|| dated.moment.unwrap_or(dated.day))
}

/// Reads a date at the start of `words`. A comma may close a word inside a date.
pub(crate) fn read(words: &[&str]) -> Option<Dated> {
    let first = *words.first()?;
    if !may_start(first) {
        return None;
    }
    numeric(first, words.get(1).copied()).or_else(|| worded(words))
}

/// Whether a date can start with this word.
pub(crate) fn may_start(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || month(word).is_some()
}

/// `2026-03-05`, `2026/3/5`, `5.3.2026`, `05/03/2026`, with a time after `T` or in the next word.
fn numeric(word: &str, next: Option<&str>) -> Option<Dated> {
    let (day, time) = match word.split_once(['T', 't']) {
        Some((day, time)) => (day, Some(clock(time)?)),
        None => (word, None),
    };
    let mark = day.chars().find(|c| !c.is_ascii_digit())?;
    let mut parts = day.split(mark);
    let (a, b, c) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || !matches!(mark, '-' | '/' | '.') {
        return None;
    }
    let day = match (a.len(), c.len()) {
        (4, 1..=2) => iso(Some(num(a)?), num(b)?, num(c)?)?,
        (1..=2, 4) => day_first(mark, num(a)?, num(b)?, num(c)?)?,
        _ => return None,
    };
    let (words, time) = match time {
        Some(time) => (1, Some(time)),
        None => match next.and_then(clock) {
            Some(time) => (2, Some(time)),
            None => (1, None),
        },
    };
    let moment = time.map(|time| format!("{day}T{time}"));
    Some(Dated { words, day, moment })
}

/// With dots the day comes first. With slashes or hyphens it is whichever number can be no month;
/// when both can, the writing itself is the value.
fn day_first(mark: char, a: u32, b: u32, year: u32) -> Option<String> {
    match mark {
        '.' => iso(Some(year), b, a),
        _ if a == b || b <= 12 && a > 12 => iso(Some(year), b, a),
        _ if a <= 12 && b > 12 => iso(Some(year), a, b),
        _ if a <= 12 && b <= 12 && a > 0 && b > 0 => Some(format!("{a:02}/{b:02}/{year:04}")),
        _ => None,
    }
}

/// `5 March 2026`, `5th of March`, `March 5, 2026`.
fn worded(words: &[&str]) -> Option<Dated> {
    let word = |at: usize| words.get(at).map(|word| word.trim_end_matches(','));
    let of = usize::from(word(1) == Some("of"));
    let (month, day, at) = match month(word(0)?) {
        Some(month) => (month, ordinal(word(1)?)?, 2),
        None => (month(word(1 + of)?)?, ordinal(word(0)?)?, 2 + of),
    };
    let year = word(at)
        .filter(|year| year.len() == 4)
        .and_then(num)
        .filter(|year| (1000..=9999).contains(year));
    Some(Dated {
        words: at + usize::from(year.is_some()),
        day: iso(year, month, day)?,
        moment: None,
    })
}

fn month(word: &str) -> Option<u32> {
    let word = word.trim_end_matches(['.', ',']);
    let same = |name: &str| word.eq_ignore_ascii_case(name);
    let short = |month: &str| same(month.get(..3).unwrap_or(month));
    let found = MONTHS
        .iter()
        .position(|month| same(month) || short(month) || (*month == "september" && same("sept")))?;
    u32::try_from(found + 1).ok()
}

fn ordinal(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let tail = word.get(digits.len()..)?;
    let fits = matches!(tail, "" | "st" | "nd" | "rd" | "th") && digits.len() <= 2;
    num(digits.trim_end_matches('.')).filter(|_| fits)
}

fn num(text: &str) -> Option<u32> {
    let fits = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

/// The ISO 8601 form; `None` for a day that its month does not have. Without a year, 29 February
/// is a day.
fn iso(year: Option<u32>, month: u32, day: u32) -> Option<String> {
    let leap = year.is_none_or(|y| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let fits = (1..=days).contains(&day);
    fits.then(|| match year {
        Some(year) => format!("{year:04}-{month:02}-{day:02}"),
        None => format!("--{month:02}-{day:02}"),
    })
}

/// A time of day: `10:00`, `10:00:30`, `10:00Z`, `10:00+01:00`.
fn clock(text: &str) -> Option<String> {
    let end = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
    let (time, offset) = text.split_at_checked(end)?;
    let mut parts = time.split(':');
    let part = |text: Option<&str>, max: u32| {
        text.filter(|text| text.len() == 2)
            .and_then(num)
            .filter(|n| *n <= max)
    };
    let (hour, minute) = (part(parts.next(), 23)?, part(parts.next(), 59)?);
    let second = match parts.next() {
        None => 0,
        some => part(some, 59)?,
    };
    let known = |c: char| c.is_ascii_digit() || "Zz+-:".contains(c);
    if parts.next().is_some() || !offset.chars().all(known) || offset.len() > 6 {
        return None;
    }
    let mut out = format!("{hour:02}:{minute:02}");
    if second != 0 {
        write!(out, ":{second:02}").ok()?;
    }
    out.push_str(&offset.to_ascii_uppercase());
    Some(out)
}
