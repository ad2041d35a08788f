// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rewritten text that knows, for each of its bytes, where it came from.

use core::ops::Range;
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, is_combining_mark};
use unicode_normalization::{IsNormalized, is_nfc_quick};

/// A way to rewrite a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// NFC and nothing else.
    Exact,
    /// Invisible characters removed, then NFKC.
    Clean,
    /// Invisible characters and combining marks removed, NFKD, lower case.
    Folded,
}

/// A rewritten text and the way back to the original.
#[derive(Debug, Clone)]
pub(crate) struct Mapped<'a> {
    /// The rewritten text.
    pub text: Cow<'a, str>,
    /// For each byte of `text`, and one past its end, the original byte where its source segment
    /// starts; `None` when the two texts have equal lengths and places.
    starts: Option<Vec<usize>>,
}

impl<'a> Mapped<'a> {
    /// Rewrites `original`.
    pub fn new(original: &'a str, form: Form) -> Self {
        if original.is_ascii() {
            let text = match form {
                Form::Folded => Cow::Owned(original.to_ascii_lowercase()),
                Form::Exact | Form::Clean => Cow::Borrowed(original),
            };
            return Self { text, starts: None };
        }
        let mut out = Rewriter::new(original.len());
        let mut segment = String::new();
        let mut segment_at = 0;
        for (at, c) in original.char_indices() {
            if form != Form::Exact && is_invisible(c) {
                continue;
            }
            if starts_segment(c) {
                out.put(&segment, segment_at, form);
                segment.clear();
                segment_at = at;
            }
            segment.push(c);
        }
        out.put(&segment, segment_at, form);
        out.starts.push(original.len());
        Self {
            text: Cow::Owned(out.text),
            starts: Some(out.starts),
        }
    }

    /// The same places with another text, made byte for byte from this one's characters by `f`.
    pub fn map_chars(&self, mut f: impl FnMut(char) -> char) -> Mapped<'static> {
        let mut out = Rewriter::new(self.text.len());
        for (at, c) in self.text.char_indices() {
            out.text.push(f(c));
            let start = self.start(at);
            out.starts.resize(out.text.len(), start);
        }
        out.starts.push(self.start(self.text.len()));
        Mapped {
            text: Cow::Owned(out.text),
            starts: Some(out.starts),
        }
    }

    fn start(&self, at: usize) -> usize {
        match &self.starts {
            None => at,
            Some(starts) => starts.get(at).or(starts.last()).copied().unwrap_or(0),
        }
    }

    /// The bytes of the original that `span` of the rewritten text came from. Both ends lie on
    /// character boundaries when `span` does, and also when it cuts a character of the rewritten
    /// text.
    pub fn original(&self, span: &Range<usize>) -> Range<usize> {
        let Some(starts) = &self.starts else {
            return span.clone();
        };
        let start = self.start(span.start);
        let mut end = span.end;
        while end < starts.len() && end > 0 && self.start(end) == self.start(end - 1) {
            end += 1;
        }
        start..self.start(end).max(start)
    }
}

struct Rewriter {
    text: String,
    starts: Vec<usize>,
}

impl Rewriter {
    fn new(len: usize) -> Self {
        Self {
            text: String::with_capacity(len),
            starts: Vec::with_capacity(len + 1),
        }
    }

    fn put(&mut self, segment: &str, at: usize, form: Form) {
        let mut chars = segment.chars();
        let alone = chars
            .next()
            .filter(|c| is_settled(*c) && chars.next().is_none());
        if let Some(c) = alone {
            match form {
                Form::Folded => self.text.extend(c.to_lowercase()),
                Form::Exact | Form::Clean => self.text.push(c),
            }
        } else if segment.is_ascii() {
            self.text.push_str(segment);
            if form == Form::Folded
                && let Some(tail) = self.text.get_mut(self.starts.len()..)
            {
                tail.make_ascii_lowercase();
            }
        } else {
            match form {
                Form::Exact => self.text.extend(segment.nfc()),
                Form::Clean => self.text.extend(segment.nfkc()),
                Form::Folded => self.text.extend(
                    segment
                        .nfkd()
                        .flat_map(char::to_lowercase)
                        .filter(|c| !is_combining_mark(*c)),
                ),
            }
        }
        self.starts.resize(self.text.len(), at);
    }
}

/// Whether a character outside ASCII is sure to be the same in every normal form, to combine with
/// nothing before it, and to keep so in lower case: ideographs, kana without a mark, and Russian
/// letters. Others are looked up.
pub(crate) const fn is_settled(c: char) -> bool {
    match c {
        '\u{4e00}'..='\u{9fff}' => true,
        '\u{410}'..='\u{44f}' => !matches!(c, '\u{419}' | '\u{439}'),
        '\u{3042}'..='\u{304a}' | '\u{306a}'..='\u{306e}' | '\u{307e}'..='\u{3093}' => true,
        '\u{30a2}'..='\u{30aa}' | '\u{30ca}'..='\u{30ce}' | '\u{30de}'..='\u{30f3}' => true,
        _ => false,
    }
}

/// Whether nothing before `c` can compose or reorder with it.
fn starts_segment(c: char) -> bool {
    if c.is_ascii() || is_settled(c) {
        return true;
    }
    let first = core::iter::once(c).nfkd().next().unwrap_or(c);
    canonical_combining_class(first) == 0
        && is_nfc_quick(core::iter::once(first)) != IsNormalized::Maybe
}

/// Whether a character shows nothing: default ignorable code points (Unicode DerivedCoreProperties)
/// and fillers, variation selectors included.
pub(crate) const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
