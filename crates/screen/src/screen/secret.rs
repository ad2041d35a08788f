// SPDX-License-Identifier: MIT OR Apache-2.0
//! Secrets: checksums where a format has one, and telling a value that was drawn from one that
//! was written to stand for it.

use super::check::from_base64;
use core::ops::{Range, RangeInclusive};

/// Characters of the checksum of a token of GitHub or npm.
const CRC_CHARS: usize = 6;
/// Digits of base 62, as these tokens count them.
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Digits of the version of a routable token of GitLab.
const VERSION_CHARS: usize = 2;
/// Digits of the length of its payload.
const LENGTH_CHARS: usize = 2;
/// Digits of its checksum.
const SUM_CHARS: usize = 7;
/// Characters of its payload.
const PAYLOAD_CHARS: RangeInclusive<usize> = 27..=300;
/// Fewest different characters in the longest run of letters and digits of a token.
const TOKEN_VARIETY_MIN: usize = 6;
/// Most different characters that are asked of an assigned value.
const VALUE_VARIETY_MAX: usize = 8;
/// Shortest assigned value, in bytes.
const VALUE_BYTES_MIN: usize = 8;
/// Words of which a placeholder has one.
const PLACEHOLDERS: [&str; 22] = [
    "example",
    "your",
    "xxxx",
    "redacted",
    "placeholder",
    "change",
    "...",
    "***",
    "dummy",
    "sample",
    "insert",
    "replace",
    "todo",
    "secret_key",
    "secret-key",
    "api_key",
    "api-key",
    "apikey",
    "password",
    "passwd",
    "_here",
    "-here",
];
/// Characters of code, templates and references, which no secret is.
const CODE: [char; 12] = ['<', '>', '$', '{', '}', '(', ')', '[', ']', '%', '\\', '|'];

/// Whether the last six characters of a token are the CRC-32 of what stands between them and the
/// prefix, in base 62.
pub(crate) fn base62_crc(matched: &str) -> bool {
    let body = matched.split_once('_').map_or(matched, |(_, body)| body);
    let Some((random, sum)) = body
        .len()
        .checked_sub(CRC_CHARS)
        .and_then(|at| body.split_at_checked(at))
    else {
        return false;
    };
    let mut rest = crc32(random.as_bytes());
    sum.bytes().rev().all(|have| {
        let want = usize::try_from(rest % 62)
            .ok()
            .and_then(|digit| BASE62.get(digit));
        rest /= 62;
        want == Some(&have)
    })
}

/// CRC-32 as zlib has it (ISO 3309, reflected, polynomial 0xedb88320).
fn crc32(bytes: &[u8]) -> u32 {
    let step = |rest: u32, _| match rest & 1 {
        1 => rest >> 1 ^ 0xedb8_8320,
        _ => rest >> 1,
    };
    !bytes.iter().fold(u32::MAX, |rest, byte| {
        (0..8).fold(rest ^ u32::from(*byte), step)
    })
}

/// What a routable token of GitLab says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Routable {
    /// It is none: another form, or its length is not the one it names.
    No,
    /// Its checksum holds.
    Holds,
    /// Its checksum does not hold.
    Fails,
}

/// Reads a match as a routable token: `<prefix><payload>.<length><sum>`, and since 2025
/// `<prefix><payload>.<version>.<length><sum>`, where the length of the payload, two digits, and
/// the CRC-32 of all before it, seven digits, are in base 36. A runner's prefix goes on after its
/// hyphen (`glrt-t1_`). Source: GitLab's design document on routable tokens and its generator.
pub(crate) fn routable(matched: &str) -> Routable {
    let Some((head, tail)) = matched.split_once('.') else {
        return Routable::No;
    };
    let digits = |text: &str| text.bytes().all(is_base36);
    let after = match tail.split_once('.') {
        Some((version, after)) if version.len() == VERSION_CHARS && digits(version) => after,
        _ => tail,
    };
    let (Some(length), Some(sum)) = (
        after.get(..LENGTH_CHARS),
        after.get(LENGTH_CHARS..LENGTH_CHARS + SUM_CHARS),
    ) else {
        return Routable::No;
    };
    let rest = after.get(LENGTH_CHARS + SUM_CHARS..).unwrap_or_default();
    let ends = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_-".contains(c));
    let body = head.split_once('-').map_or(head, |(_, body)| body);
    let named = usize::from_str_radix(length, 36).unwrap_or_default();
    let fits = |text: &str| text.len() == named && PAYLOAD_CHARS.contains(&named);
    let whole = fits(body) || body.split_once('_').is_some_and(|(_, text)| fits(text));
    if !ends || !whole || !digits(length) || !digits(sum) {
        return Routable::No;
    }
    let covered = matched.len() - rest.len() - SUM_CHARS;
    let have = crc32(matched.get(..covered).unwrap_or_default().as_bytes());
    match u64::from_str_radix(sum, 36) {
        Ok(want) if want == u64::from(have) => Routable::Holds,
        _ => Routable::Fails,
    }
}

const fn is_base36(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'z')
}

/// Whether a token of GitLab is no placeholder, and its checksum holds where it has one.
pub(crate) fn gitlab(matched: &str) -> bool {
    varied(matched) && routable(matched) != Routable::Fails
}

/// Whether the head of a web token decodes to a JSON object that names an algorithm.
pub(crate) fn jwt(matched: &str) -> bool {
    let head = from_base64(matched.split('.').next().unwrap_or_default());
    let head = String::from_utf8_lossy(&head);
    head.starts_with('{') && head.trim_end().ends_with('}') && head.contains("\"alg\"")
}

/// Where the password stands in `scheme://user:password@`.
pub(crate) fn password(matched: &str) -> Range<usize> {
    let end = matched.trim_end_matches('@').len();
    let user = matched.find("://").map_or(0, |at| at + 3);
    let colon = matched.get(user..end).and_then(|login| login.find(':'));
    colon.map_or(user, |at| user + at + 1)..end
}

/// Whether the password of a URL is neither a placeholder nor the name of the user.
pub(crate) fn login(matched: &str) -> bool {
    let at = password(matched);
    let user = matched
        .get(..at.start.saturating_sub(1))
        .unwrap_or_default();
    let user = user.rsplit('/').next().unwrap_or_default();
    let password = matched.get(at).unwrap_or_default();
    let plain = ["pass", "pw", "pwd", "secret", "admin", "root", "test"];
    !placeholder(password)
        && !user.eq_ignore_ascii_case(password)
        && !plain.iter().any(|word| password.eq_ignore_ascii_case(word))
}

/// Whether a token is no placeholder: it names none, and its longest run of letters and digits has
/// several different characters.
pub(crate) fn varied(matched: &str) -> bool {
    let value = value_of(matched);
    let runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    let run = runs.max_by_key(|run| run.len()).unwrap_or_default();
    !placeholder(value) && variety(run) >= TOKEN_VARIETY_MIN
}

/// Where the value of an assignment stands: after the last `=`, `:`, blank or quote.
pub(crate) fn value(assignment: &str) -> Range<usize> {
    let quotes = ['"', '\'', '`', '=', ':', ' ', '\t'];
    let end = assignment
        .trim_end_matches(['"', '\'', '`', '=', '.'])
        .len();
    let before = assignment.get(..end).and_then(|text| text.rfind(quotes));
    before.map_or(0, |at| at + 1)..end
}

fn value_of(assignment: &str) -> &str {
    assignment.get(value(assignment)).unwrap_or_default()
}

/// Whether the value of an assignment is likely a real secret.
pub(crate) fn drawn(assignment: &str) -> bool {
    let value = value_of(assignment);
    let has = |fits: fn(&u8) -> bool| value.bytes().any(|b| fits(&b));
    let wanted = (value.len() / 2).min(VALUE_VARIETY_MAX);
    value.len() >= VALUE_BYTES_MIN
        && !value.contains(CODE)
        && !value.starts_with(['/', '~', '.', '@', '#'])
        && !placeholder(value)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !is_moment(value)
        && !is_name(value)
        && variety(value) >= wanted
        && steps(value) * 2 < value.len()
}

/// Whether a text has a word of a placeholder.
fn placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    PLACEHOLDERS.iter().any(|word| lower.contains(word))
}

/// How many different characters a text has.
fn variety(text: &str) -> usize {
    let mut seen = [false; 256];
    for byte in text.bytes() {
        if let Some(seen) = seen.get_mut(usize::from(byte)) {
            *seen = true;
        }
    }
    seen.iter().filter(|seen| **seen).count()
}

/// How often the next character is the same or the one that follows: `aaaa`, `1234`, `abcd`.
fn steps(text: &str) -> usize {
    let bytes = text.as_bytes().windows(2);
    bytes
        .filter(|pair| matches!(pair, [a, b] if b.checked_sub(*a).is_some_and(|step| step < 2)))
        .count()
}

/// Whether a text begins as a date does: `2026-03-05`.
fn is_moment(text: &str) -> bool {
    let form = |(at, b): (usize, u8)| match at {
        4 | 7 => b == b'-',
        _ => b.is_ascii_digit(),
    };
    text.len() >= 10 && text.bytes().take(10).enumerate().all(form)
}

/// Whether a text is a name in code: words of letters, at most one digit in a row.
fn is_name(text: &str) -> bool {
    let word = |part: &str| {
        let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
        part.is_empty()
            || letters + 1 >= part.len() && part.starts_with(|c: char| c.is_ascii_alphabetic())
    };
    text.split(['_', '-', '.', '/']).all(word)
}

#[cfg(test)]
mod tests;
