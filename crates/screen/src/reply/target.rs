// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a link leads, as a browser reads it, and whether that was named.

use super::LinkReason;
use super::bare::with_path;
use crate::canon::canonical;
use ancile_core::{ArgKind, CanonicalValue};
use std::cell::RefCell;
use std::collections::BTreeMap;
use url::Url;

/// Most different values that are asked for; no further one counts as named.
const ASKED_MAX: usize = 4_096;
/// A host that no address of a reply has, to see whether one has a host of its own.
const PLAIN: &str = "http://reply.invalid/";
const SECURE: &str = "https://reply.invalid/";
const BASE_HOST: &str = "reply.invalid";

/// The question whether a value was named, asked once for each value.
pub(super) struct Asked<'a> {
    named: &'a dyn Fn(&CanonicalValue) -> bool,
    known: RefCell<BTreeMap<CanonicalValue, bool>>,
}

impl<'a> Asked<'a> {
    pub fn new(named: &'a dyn Fn(&CanonicalValue) -> bool) -> Self {
        Self {
            named,
            known: RefCell::default(),
        }
    }

    fn named(&self, kind: ArgKind, text: &str) -> bool {
        let Some(value) = canonical(kind, text) else {
            return false;
        };
        if let Some(known) = self.known.borrow().get(&value) {
            return *known;
        }
        if self.known.borrow().len() >= ASKED_MAX {
            return false;
        }
        let named = (self.named)(&value);
        self.known.borrow_mut().insert(value, named);
        named
    }

    /// What is wrong with a destination. One that does not name a host of its own is fine.
    pub fn fault(&self, destination: &str) -> Option<LinkReason> {
        let bases = [PLAIN, SECURE];
        let fault = bases
            .iter()
            .find_map(|base| self.fault_at(base, destination));
        // Some programs put a scheme in front of what looks like a host.
        let bare = destination.trim_start();
        let host = with_path(&bare.to_ascii_lowercase()) == Some(0);
        fault.or_else(|| self.fault_at(SECURE, &host.then(|| format!("https://{bare}"))?))
    }

    /// What is wrong with a destination in a text that may not be a link at all: schemes that no
    /// browser follows or runs do not count.
    pub fn fault_of_text(&self, destination: &str) -> Option<LinkReason> {
        let fault = self.fault(destination)?;
        let scheme = destination.split(':').next().unwrap_or_default();
        let scheme: String = scheme.chars().filter(|c| !c.is_whitespace()).collect();
        let scheme = scheme
            .trim_start_matches(|c: char| c.is_control())
            .to_ascii_lowercase();
        let runs = [
            "javascript",
            "data",
            "vbscript",
            "file",
            "blob",
            "view-source",
        ];
        (fault != LinkReason::Scheme || runs.contains(&scheme.as_str())).then_some(fault)
    }

    fn fault_at(&self, base: &str, destination: &str) -> Option<LinkReason> {
        let url = Url::parse(base).and_then(|base| base.join(destination));
        let Ok(url) = url else {
            return Some(LinkReason::Unreadable);
        };
        let named = match url.scheme() {
            "http" | "https" | "ftp" | "ws" | "wss" => {
                let host = url.host_str().unwrap_or_default();
                host == BASE_HOST
                    || self.named(ArgKind::Host, host)
                    || self.named(ArgKind::Url, url.as_str())
            }
            "mailto" => self.mail(&url),
            "tel" => self.named(ArgKind::Phone, &decoded(url.path())),
            _ => return Some(LinkReason::Scheme),
        };
        (!named).then_some(LinkReason::NotNamed)
    }

    /// Whether every recipient of a `mailto:` link was named.
    fn mail(&self, url: &Url) -> bool {
        let more = url.query_pairs().filter(|(name, _)| {
            let recipients = ["to", "cc", "bcc"];
            recipients
                .iter()
                .any(|field| name.eq_ignore_ascii_case(field))
        });
        let lists = core::iter::once(decoded(url.path()));
        let lists = lists.chain(more.map(|(_, list)| list.into_owned()));
        let all: Vec<String> = lists
            .flat_map(|list| {
                list.split([',', ';'])
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .filter(|address| !address.trim().is_empty())
            .collect();
        all.iter()
            .all(|address| self.named(ArgKind::Email, address))
    }
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text)
        .decode_utf8_lossy()
        .into_owned()
}

/// A text without its character references, as HTML and Markdown write them; `None` where one is
/// left that is not known here.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, tail)) = rest.split_once('&') {
        out.push_str(plain);
        let end = tail.find(|c: char| !c.is_ascii_alphanumeric() && c != '#');
        let (name, after) = tail.split_at_checked(end.unwrap_or(tail.len()))?;
        match (reference(name), after.strip_prefix(';')) {
            (Some(c), after_mark) => {
                out.push(c);
                rest = after_mark.unwrap_or(after);
            }
            // `&name=` is a parameter of a query, `&name;` a reference of one kind or another.
            (None, Some(_)) if !name.is_empty() => return None,
            (None, _) => {
                out.push('&');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    Some(out)
}

/// The character behind `#65`, `#x41` or a name.
fn reference(name: &str) -> Option<char> {
    const NAMES: [(&str, char); 21] = [
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("colon", ':'),
        ("sol", '/'),
        ("bsol", '\\'),
        ("period", '.'),
        ("Tab", '\t'),
        ("NewLine", '\n'),
        ("nbsp", '\u{a0}'),
        ("commat", '@'),
        ("quest", '?'),
        ("num", '#'),
        ("equals", '='),
        ("percnt", '%'),
        ("lowbar", '_'),
        ("hyphen", '\u{2010}'),
        ("lpar", '('),
        ("rpar", ')'),
    ];
    let Some(number) = name.strip_prefix('#') else {
        return NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, c)| *c);
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    code.ok().and_then(char::from_u32)
}
