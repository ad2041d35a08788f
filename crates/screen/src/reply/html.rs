// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tags of HTML, anywhere in a text.

use super::target::{Asked, unescaped};
use super::{Edit, LinkKind, LinkReason, RemovedLink, removal, short};
use core::ops::Range;

/// Elements that load, run or restyle something by their presence.
const ACTIVE: [&str; 24] = [
    "applet", "audio", "base", "body", "button", "embed", "form", "frame", "frameset", "head",
    "html", "iframe", "input", "link", "math", "meta", "object", "portal", "script", "source",
    "style", "svg", "template", "video",
];
/// Attributes with a value that neither load nor run anything.
const QUIET: [&str; 27] = [
    "abbr",
    "align",
    "alt",
    "border",
    "cellpadding",
    "cellspacing",
    "class",
    "colspan",
    "datetime",
    "dir",
    "headers",
    "height",
    "id",
    "lang",
    "loading",
    "name",
    "open",
    "rel",
    "role",
    "rowspan",
    "scope",
    "start",
    "target",
    "title",
    "type",
    "valign",
    "width",
];
/// Attributes whose value is an address.
const ADDRESSES: [&str; 4] = ["cite", "href", "longdesc", "src"];
/// Elements that show a picture.
const PICTURES: [&str; 3] = ["image", "img", "picture"];

/// Longest tag that is read, in bytes, and most attributes of one, and longest name. One that is
/// longer counts as one that does not end.
const TAG_BYTES_MAX: usize = 4_096;
const ATTRIBUTES_MAX: usize = 32;
const NAME_BYTES_MAX: usize = 64;

/// One tag.
struct Found<'t> {
    span: Range<usize>,
    name: &'t str,
    attributes: Vec<(&'t str, Option<&'t str>)>,
    /// Whether it ends with `>`.
    whole: bool,
    /// Whether it is longer than is read.
    long: bool,
}

pub(super) fn edits(text: &str, asked: &Asked<'_>) -> Vec<(Range<usize>, Edit)> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(start) = text
        .get(at..)
        .and_then(|rest| rest.find('<'))
        .map(|s| at + s)
    {
        at = start + 1;
        let Some(tag) = read(text, start) else {
            continue;
        };
        let Some((reason, target)) = fault(&tag, asked) else {
            // What stands in a value of a harmless tag is looked at as well.
            continue;
        };
        let name = tag.name.to_ascii_lowercase();
        let (span, put) = match () {
            () if !tag.whole => (start..start + 1, "&lt;"),
            () if PICTURES.contains(&name.as_str()) => (tag.span, "(image removed)"),
            () if name == "a" => (tag.span, "(link removed) "),
            () => (tag.span, "(element removed)"),
        };
        at = at.max(span.end);
        let bad = RemovedLink {
            span: span.clone(),
            kind: LinkKind::Tag,
            target: short(&target),
            reason,
        };
        out.push(removal(span, put, bad));
    }
    out
}

/// What is wrong with a tag, and where it leads.
fn fault(tag: &Found<'_>, asked: &Asked<'_>) -> Option<(LinkReason, String)> {
    let name = tag.name.to_ascii_lowercase();
    if ACTIVE.contains(&name.as_str()) {
        return Some((LinkReason::Element, name));
    }
    if tag.long {
        return Some((LinkReason::Unreadable, name));
    }
    // `<https://host/?a=b>` is a link in angle brackets to Markdown; to HTML it is an element with
    // odd attributes.
    let brackets = name.ends_with(':');
    for (attribute, value) in &tag.attributes {
        let attribute = attribute.to_ascii_lowercase();
        let Some(value) = value else {
            continue;
        };
        if ADDRESSES.contains(&attribute.as_str()) {
            let read = unescaped(value);
            let reason = match &read {
                None => Some(LinkReason::Unreadable),
                Some(read) => asked.fault(read),
            };
            if let Some(reason) = reason {
                return Some((reason, read.unwrap_or_else(|| (*value).to_owned())));
            }
            continue;
        }
        let aria = attribute.starts_with("aria-");
        let runs = attribute.starts_with("on") || attribute == "style";
        let odd = !QUIET.contains(&attribute.as_str()) && !aria;
        if runs || odd && !brackets {
            return Some((LinkReason::Attribute, attribute));
        }
    }
    None
}

/// Reads a tag as browsers do (WHATWG HTML, tokenisation).
fn read(text: &str, start: usize) -> Option<Found<'_>> {
    let end = text.ceil_char_boundary(start + TAG_BYTES_MAX);
    let long = end < text.len();
    let text = text.get(..end)?;
    let mut rest = text.get(start + 1..)?;
    rest = rest.strip_prefix('/').unwrap_or(rest);
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let window = rest.get(..rest.ceil_char_boundary(NAME_BYTES_MAX + 1))?;
    let (name, _) = split(window, |c| blank(c) || matches!(c, '/' | '>'));
    let mut rest = rest.get(name.len()..)?;
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c| blank(c) || c == '/');
        let many = attributes.len() >= ATTRIBUTES_MAX || name.len() > NAME_BYTES_MAX;
        if many || rest.is_empty() || rest.starts_with('>') {
            let whole = rest.starts_with('>');
            let span = start..text.len() - rest.len() + usize::from(whole);
            return Some(Found {
                span,
                name,
                attributes,
                whole,
                long: (long || many) && !whole,
            });
        }
        // An equals sign in front belongs to the name.
        let skip = usize::from(rest.starts_with('='));
        let tail = rest.get(skip..)?;
        let (_, after) = split(tail, |c| blank(c) || matches!(c, '/' | '>' | '='));
        let attribute = rest.get(..rest.len() - after.len())?;
        let (value, after) = value(after);
        attributes.push((attribute, value));
        rest = after;
    }
}

/// The value behind an attribute's name, if it has one, and what follows.
fn value(after: &str) -> (Option<&str>, &str) {
    let Some(rest) = after.trim_start_matches(blank).strip_prefix('=') else {
        return (None, after);
    };
    let rest = rest.trim_start_matches(blank);
    for quote in ['"', '\''] {
        if let Some(quoted) = rest.strip_prefix(quote) {
            let (value, after) = split(quoted, |c| c == quote);
            return (Some(value), after.strip_prefix(quote).unwrap_or(after));
        }
    }
    let (value, after) = split(rest, |c| blank(c) || c == '>');
    (Some(value), after)
}

fn split(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(stop).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

const fn blank(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\x0c' | '\r' | ' ')
}
