// SPDX-License-Identifier: MIT OR Apache-2.0
//! Canonical values taken apart, which is what policies see: `like "*@example.com"` must never
//! meet `a@evil.com,b@example.com`, nor `/v1/*` meet `/v1/../admin`.

use ancile_core::{ArgKind, CanonicalValue};

/// A canonical value taken apart. Texts are canonical texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// One address.
    Email {
        text: String,
        local: String,
        domain: String,
    },
    /// A URL with an authority, without user information and without dot segments.
    Url(Box<Url>),
    /// A decimal number in the form Cedar reads, and a currency, which may be empty.
    Amount { value: String, currency: String },
    /// Anything else.
    Text(String),
}

/// The parts of a URL (RFC 3986 section 3); absent ones are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) text: String,
    pub(crate) scheme: String,
    pub(crate) host: String,
    pub(crate) port: String,
    pub(crate) path: String,
    pub(crate) query: String,
}

impl Parsed {
    /// Takes a canonical value apart; `None` where it does not come apart cleanly.
    pub(crate) fn new(value: &CanonicalValue) -> Option<Self> {
        let text = std::str::from_utf8(&value.bytes).ok()?;
        match value.kind {
            ArgKind::Email => email(text),
            ArgKind::Url => url(text).map(|url| Self::Url(Box::new(url))),
            ArgKind::Amount => amount(text),
            ArgKind::Host => is_host(text).then(|| Self::Text(text.to_owned())),
            ArgKind::Path => is_plain_path(text).then(|| Self::Text(text.to_owned())),
            _ => Some(Self::Text(text.to_owned())),
        }
    }

    /// An empty free text: it names nothing, and so has no canonical form, yet can be seen.
    pub(crate) fn blank(kind: ArgKind, text: &str) -> Option<Self> {
        (kind == ArgKind::Free && text.is_empty()).then(|| Self::Text(String::new()))
    }
}

/// One address: a local part and a domain around one `@`, with nothing that separates, quotes or
/// comments in either. Quoted local parts (RFC 5322 section 3.4.1) do not come apart.
fn email(text: &str) -> Option<Parsed> {
    let (local, domain) = text.split_once('@')?;
    let foreign = |c: char| c.is_whitespace() || c.is_control() || "@,;:<>()[]\\\"".contains(c);
    if local.is_empty() || local.contains(foreign) || !is_host(domain) {
        return None;
    }
    Some(Parsed::Email {
        text: text.to_owned(),
        local: local.to_owned(),
        domain: domain.to_owned(),
    })
}

/// A host name or address without anything that could end it early.
fn is_host(text: &str) -> bool {
    let foreign = |c: char| c.is_whitespace() || c.is_control() || "@,;<>()\\\"/?#%*".contains(c);
    !text.is_empty() && !text.starts_with('.') && !text.contains("..") && !text.contains(foreign)
}

/// A path none of whose segments climbs.
fn is_plain_path(text: &str) -> bool {
    !text.is_empty()
        && !text.contains(char::is_control)
        && text.split(['/', '\\']).all(|segment| segment != "..")
}

fn url(text: &str) -> Option<Url> {
    if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return None;
    }
    let (scheme, rest) = text.split_once("://")?;
    let scheme_fits = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if scheme.is_empty() || !scheme.chars().all(scheme_fits) {
        return None;
    }
    let (rest, _fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at_checked(at)?,
        None => (rest, "/"),
    };
    let (host, port) = host_and_port(authority)?;
    if !is_host(host) || has_dot_segment(path) {
        return None;
    }
    Some(Url {
        text: text.to_owned(),
        scheme: scheme.to_owned(),
        host: host.to_owned(),
        port: port.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
    })
}

/// Splits an authority; a bracketed address keeps its brackets.
fn host_and_port(authority: &str) -> Option<(&str, &str)> {
    let split = match authority.rfind(']') {
        Some(end) => authority.split_at_checked(end.checked_add(1)?)?,
        None => authority.split_at_checked(authority.find(':').unwrap_or(authority.len()))?,
    };
    match split {
        (host, "") => Some((host, "")),
        (host, port) => {
            let port = port.strip_prefix(':')?;
            let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
            digits.then_some((host, port))
        }
    }
}

/// Whether a path has a `.` or `..` segment once its dots and slashes are decoded, as some servers
/// do before they look for such segments.
fn has_dot_segment(path: &str) -> bool {
    path.to_ascii_lowercase()
        .replace("%2e", ".")
        .replace("%2f", "/")
        .replace("%5c", "/")
        .split('/')
        .any(|segment| matches!(segment, "." | ".."))
}

/// A number, and a currency before or after it.
fn amount(text: &str) -> Option<Parsed> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let (number, currency) = if text.starts_with(is_number) {
        let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
        text.split_at_checked(end)?
    } else {
        let start = text.find(is_number)?;
        let (currency, number) = text.split_at_checked(start)?;
        (number, currency)
    };
    let currency = currency.trim();
    if !currency
        .chars()
        .all(|c| c.is_alphabetic() || is_unit_sign(c))
    {
        return None;
    }
    Some(Parsed::Amount {
        value: decimal(number)?,
        currency: currency.to_owned(),
    })
}

/// Whether a character is a per cent sign or one of the common currency signs (Unicode general
/// category Sc).
const fn is_unit_sign(c: char) -> bool {
    matches!(c, '$' | '%' | '\u{a2}'..='\u{a5}' | '\u{20a0}'..='\u{20cf}')
}

/// A decimal number in the form Cedar reads: an optional sign, digits, a point, one to four digits.
/// More than four digits that matter are not representable. The range is Cedar's to check.
pub(crate) fn decimal(number: &str) -> Option<String> {
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > FRACTION_DIGITS_MAX {
        return None;
    }
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    Some(format!("{sign}{whole}.{fraction}"))
}

/// Most digits after the point that a Cedar decimal holds.
const FRACTION_DIGITS_MAX: usize = 4;
