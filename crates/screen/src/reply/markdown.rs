// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links and images of Markdown (CommonMark 0.31, with tables and footnotes), and what looks like
//! them to another reader.

use super::target::{Asked, unescaped};
use super::{ADDRESS_BYTES_MAX, Edit, LinkKind, LinkReason, RemovedLink, removal, short};
use core::ops::Range;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

const LINK_MARK: &str = " (link removed)";
const IMAGE_MARK: &str = "(image removed)";
/// A destination that leads nowhere.
const NOWHERE: &str = "#removed";

/// A link or image that is open while its content is read.
struct Open {
    whole: Range<usize>,
    inner: Option<Range<usize>>,
    /// Its words are its address, in angle brackets.
    address: bool,
    bad: Option<RemovedLink>,
}

pub(super) fn edits(text: &str, asked: &Asked<'_>) -> Vec<(Range<usize>, Edit)> {
    let mut out = parsed(text, asked);
    out.extend(brackets(text, asked));
    out
}

fn parsed(text: &str, asked: &Asked<'_>) -> Vec<(Range<usize>, Edit)> {
    let mut out = Vec::new();
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_TASKLISTS;
    let parser = Parser::new_ext(text, options);
    for (_, definition) in parser.reference_definitions().iter() {
        let (span, to) = (definition.span.clone(), definition.dest.as_ref());
        if let Some(reason) = asked.fault(to) {
            let bad = bad(&span, LinkKind::Definition, to, reason);
            out.push(removal(span, "", bad));
        }
    }
    let mut open: Vec<Open> = Vec::new();
    for (event, span) in parser.into_offset_iter() {
        match event {
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) => {
                touch(&mut open, &span);
                let to = match link_type {
                    LinkType::Email => format!("mailto:{dest_url}"),
                    _ => dest_url.to_string(),
                };
                let address = matches!(link_type, LinkType::Autolink | LinkType::Email);
                let link = opened(span, LinkKind::Link, &to, asked);
                open.push(Open { address, ..link });
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                touch(&mut open, &span);
                open.push(opened(span, LinkKind::Image, &dest_url, asked));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(done) = open.pop() {
                    closed(done, &mut out);
                }
            }
            _ => touch(&mut open, &span),
        }
    }
    out
}

/// Widens what is known of the content of the open links and images.
fn touch(open: &mut [Open], span: &Range<usize>) {
    if let Some(last) = open.last_mut() {
        last.inner = Some(match &last.inner {
            None => span.clone(),
            Some(inner) => inner.start.min(span.start)..inner.end.max(span.end),
        });
    }
}

fn opened(whole: Range<usize>, kind: LinkKind, to: &str, asked: &Asked<'_>) -> Open {
    let bad = asked.fault(to).map(|reason| bad(&whole, kind, to, reason));
    Open {
        whole,
        inner: None,
        address: false,
        bad,
    }
}

/// An image goes as a whole; of a link the words stay.
fn closed(done: Open, out: &mut Vec<(Range<usize>, Edit)>) {
    let Some(bad) = done.bad else {
        return;
    };
    let whole = done.whole;
    match done.inner {
        _ if bad.kind == LinkKind::Image => out.push(removal(whole, IMAGE_MARK, bad)),
        Some(inner) if !done.address => {
            let (start, end) = (whole.start..inner.start, inner.end..whole.end);
            let first = Edit {
                end: start.end,
                put: "",
                bad: None,
            };
            if !start.is_empty() {
                out.push((start, first));
            }
            out.push(removal(end, LINK_MARK, bad));
        }
        _ => out.push(removal(whole, LINK_MARK.trim_start(), bad)),
    }
}

/// Destinations behind `](` and `]:`, whatever the parser takes them for: another one may take
/// them for links.
fn brackets(text: &str, asked: &Asked<'_>) -> Vec<(Range<usize>, Edit)> {
    let mut out = Vec::new();
    let mut next = 0;
    for (at, _) in text.match_indices(']') {
        let Some((start, to)) = destination(text, at).filter(|_| at >= next) else {
            continue;
        };
        let reason = match to.len() > ADDRESS_BYTES_MAX {
            true => Some(LinkReason::Unreadable),
            false => match unescaped(&to.replace('\\', "")) {
                None => Some(LinkReason::Unreadable),
                Some(read) => asked
                    .fault_of_text(to)
                    .or_else(|| asked.fault_of_text(&read)),
            },
        };
        if let Some(reason) = reason {
            let span = start..start + to.len();
            next = span.end;
            let bad = bad(&span, LinkKind::Link, to, reason);
            out.push(removal(span, NOWHERE, bad));
        }
    }
    out
}

/// Where a destination behind the bracket at `at` begins, and as much of it as is read.
fn destination(text: &str, at: usize) -> Option<(usize, &str)> {
    let inner = text.get(at + 1..)?.strip_prefix(['(', ':'])?.trim_start();
    let inner = inner.strip_prefix('<').unwrap_or(inner);
    let start = text.len() - inner.len();
    let window = inner.get(..inner.ceil_char_boundary(ADDRESS_BYTES_MAX + 1))?;
    let stop = |c: char| c.is_whitespace() || matches!(c, ')' | '>');
    let to = window.get(..window.find(stop).unwrap_or(window.len()))?;
    (!to.is_empty()).then_some((start, to))
}

fn bad(span: &Range<usize>, kind: LinkKind, to: &str, reason: LinkReason) -> RemovedLink {
    RemovedLink {
        span: span.clone(),
        kind,
        target: short(to),
        reason,
    }
}
