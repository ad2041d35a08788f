// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts, e-mail addresses and URLs.

use idna::AsciiDenyList;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Longest host name, in bytes (RFC 1035 section 2.3.4, without the root).
const HOST_BYTES_MAX: usize = 253;
/// Longest local part of an address, in bytes (RFC 5321 section 4.5.3.1.1).
const LOCAL_BYTES_MAX: usize = 64;

/// A host in lower-case punycode (UTS 46, non-transitional, STD3 rules), or an IP address; an
/// IPv6 address without brackets. Number forms that some programs read as IPv4 are none.
pub(crate) fn host(text: &str) -> Option<String> {
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Ok(v6) = bare.unwrap_or(text).parse::<Ipv6Addr>() {
        return Some(v6.to_string());
    }
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > 4 * HOST_BYTES_MAX {
        return None;
    }
    let ascii = idna::domain_to_ascii_cow(text.as_bytes(), AsciiDenyList::STD3).ok()?;
    let fits = |label: &str| {
        !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-')
    };
    if ascii.len() > HOST_BYTES_MAX || !ascii.split('.').all(fits) {
        return None;
    }
    let last = ascii.rsplit('.').next()?;
    if last.starts_with(|c: char| c.is_ascii_digit()) {
        return ascii.parse::<Ipv4Addr>().ok().map(|v4| v4.to_string());
    }
    Some(ascii.into_owned())
}

/// An e-mail address, with or without `mailto:` or a display name, in lower case. Quoted local
/// parts and address literals are none.
pub(crate) fn email(text: &str) -> Option<String> {
    let text = match text.strip_suffix('>') {
        Some(rest) => {
            let (name, address) = rest.split_once('<')?;
            // A name with any of these could be a second recipient to another reader.
            if name.contains(['@', ',', ';', ':', '<', '>', '\\'])
                || name.contains(char::is_control)
            {
                return None;
            }
            address
        }
        None => strip_label(text, "mailto:"),
    };
    let (local, domain) = text.split_once('@')?;
    let dots = local.starts_with('.') || local.ends_with('.') || local.contains("..");
    if local.is_empty() || local.len() > LOCAL_BYTES_MAX || dots || !local.chars().all(is_local) {
        return None;
    }
    let domain = host(domain)?;
    if domain.parse::<Ipv4Addr>().is_ok() || domain.contains(':') {
        return None;
    }
    Some(format!("{}@{domain}", local.to_lowercase()))
}

/// Whether a character can stand in the local part of an address (RFC 5322 `atext` and the dot,
/// RFC 6531 letters).
pub(crate) fn is_local(c: char) -> bool {
    c.is_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-".contains(c)
}

/// `text` without a leading `label`, whatever its case.
pub(crate) fn strip_label<'a>(text: &'a str, label: &str) -> &'a str {
    match (text.get(..label.len()), text.get(label.len()..)) {
        (Some(head), Some(rest)) if head.eq_ignore_ascii_case(label) => rest,
        _ => text,
    }
}

/// A canonical URL and its host.
pub(crate) struct Url {
    /// The whole URL; without a scheme it starts with `//`.
    pub text: String,
    /// Its host; empty in `file:///`.
    pub host: String,
    /// Whether it has neither user, path, query nor fragment.
    pub is_host_alone: bool,
}

/// A URL with an authority (RFC 3986), with or without its scheme. Scheme and host in lower case,
/// the default port and an empty path made plain, percent-encoded unreserved characters decoded,
/// other encodings in upper case, letters outside ASCII encoded after NFC.
pub(crate) fn url(exact: &str) -> Option<Url> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "<>\"`{}|\\^".contains(c);
    if exact.contains(odd) {
        return None;
    }
    let (scheme, rest) = match exact.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
        _ => (String::new(), exact.strip_prefix("//").unwrap_or(exact)),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at_checked(end)?;
    let (user, place) = match authority.split_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, authority),
    };
    let (name, port) = split_port(place)?;
    let host = match name {
        "" if scheme == "file" => String::new(),
        name => host(name)?,
    };
    if scheme.is_empty() && !host.contains(['.', ':']) {
        return None;
    }
    let mut text = if scheme.is_empty() {
        "//".to_owned()
    } else {
        format!("{scheme}://")
    };
    if let Some(user) = user {
        percent(user, &mut text)?;
        text.push('@');
    }
    if host.contains(':') {
        text.extend(["[", &host, "]"]);
    } else {
        text.push_str(&host);
    }
    let default = matches!(
        (scheme.as_str(), port),
        ("http", Some(80)) | ("https", Some(443))
    );
    if let Some(port) = port.filter(|_| !default) {
        text.push_str(&format!(":{port}"));
    }
    if !tail.starts_with('/') {
        text.push('/');
    }
    percent(tail, &mut text)?;
    let is_host_alone = user.is_none() && matches!(tail, "" | "/");
    Some(Url {
        text,
        host,
        is_host_alone,
    })
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

/// Splits `host:port`; `None` for a port that is no number.
fn split_port(place: &str) -> Option<(&str, Option<u16>)> {
    let colon = match place.rfind(']') {
        Some(bracket) => place.get(bracket..)?.find(':').map(|at| bracket + at),
        None => place.rfind(':'),
    };
    let Some(colon) = colon else {
        return Some((place, None));
    };
    let (name, port) = place.split_at_checked(colon)?;
    match port.strip_prefix(':')? {
        "" => Some((name, None)),
        digits if digits.bytes().all(|b| b.is_ascii_digit()) => {
            Some((name, Some(digits.parse().ok()?)))
        }
        _ => None,
    }
}

/// Appends `text` with its percent-encoding made canonical (RFC 3986 section 6.2.2); `None` for a
/// `%` that encodes nothing.
fn percent(text: &str, out: &mut String) -> Option<()> {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let (value, encoded) = if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            (u8::try_from(high * 16 + low).ok()?, true)
        } else {
            (byte, !byte.is_ascii())
        };
        let unreserved = value.is_ascii_alphanumeric() || b"-._~".contains(&value);
        if encoded && !unreserved {
            out.push_str(percent_encoding::percent_encode_byte(value));
        } else {
            out.push(char::from(value));
        }
    }
    Some(())
}
