// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cuts text into the terms of the lexical index.
//!
//! The same cut is made for a stored text and for a query. In order:
//!
//! 1. Invisible characters (soft hyphen, joiners, variation selectors, skin tones) are dropped,
//!    then the text is put in NFKC (Unicode Standard Annex 15) and in lower case, character by
//!    character.
//! 2. A run of characters of a script written without spaces (Han, kana, Hangul, Thai, Lao,
//!    Myanmar, Khmer) becomes its overlapping pairs; a run of one becomes that one. A word of
//!    two characters is so found inside any longer run.
//! 3. An emoji is a term.
//! 4. Everything else is cut into words (Unicode Standard Annex 29). An apostrophe, a point, a
//!    colon and an underscore cut too, except that a number keeps its points and commas:
//!    `12.50` is one term.
//! 5. Words joined by one of `@ - . _ + / :` (an e-mail address, an order number, a path) are
//!    also indexed whole. A word in the form of an IBAN is also indexed by its groups of four,
//!    as it is printed on paper.
//! 6. A word of ASCII letters is reduced to its stem (M. F. Porter, "An algorithm for suffix
//!    stripping", Program 14(3), 1980), so that `researched` finds `researching`.
//!
//! The time is linear in the length of the text, and any text is allowed.

mod porter;
#[cfg(test)]
mod tests;

use std::ops::Range;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Gives `visit` the terms of `text` in order of their end, as often as they occur.
///
/// No term is empty or longer than [`TERM_BYTES_MAX`] bytes.
pub fn each_term(text: &str, visit: &mut dyn FnMut(&str)) {
    let normal = normalise(text);
    let mut rest = normal.as_str();
    while let Some(first) = rest.chars().next() {
        let kind = Kind::of(first);
        let end = rest
            .char_indices()
            .find(|(_, next)| Kind::of(*next) != kind)
            .map_or(rest.len(), |(at, _)| at);
        let (run, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        match kind {
            Kind::Spaced => words(run, visit),
            Kind::Unspaced => pairs(run, visit),
            Kind::Emoji => run.split_inclusive(|_| true).for_each(&mut *visit),
        }
        rest = after;
    }
}

/// Lists the terms of `text`; see [`each_term`].
#[must_use]
pub fn terms(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_term(text, &mut |term| all.push(term.to_owned()));
    all
}

fn normalise(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // The stream-safe form bounds a run of combining marks, whose sorting is not linear.
    text.chars()
        .filter(|c| !is_invisible(*c))
        .stream_safe()
        .nfkc()
        .flat_map(char::to_lowercase)
        .filter(|c| !is_invisible(*c))
        .collect()
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{200c}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e01ef}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// How a character is cut from its neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Spaced,
    Unspaced,
    Emoji,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            '\0'..='\u{dff}' => Self::Spaced,
            // Thai and Lao, Myanmar, Hangul letters, Khmer.
            '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
            | '\u{1780}'..='\u{17ff}'
            // Radicals, iteration marks and numerals of Han, kana without the middle dot.
            | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
            | '\u{3038}'..='\u{303b}' | '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}'
            | '\u{30fc}'..='\u{30ff}' | '\u{3105}'..='\u{312f}' | '\u{3131}'..='\u{318e}'
            | '\u{31f0}'..='\u{31ff}'
            // Han, Hangul syllables, compatibility Han, rare kana, supplementary Han.
            | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}'
            | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{1b000}'..='\u{1b16f}'
            | '\u{20000}'..='\u{3ffff}' => Self::Unspaced,
            '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' => {
                Self::Emoji
            }
            _ => Self::Spaced,
        }
    }
}

/// Overlapping pairs of characters; the run itself when it has one character.
fn pairs(run: &str, visit: &mut dyn FnMut(&str)) {
    let starts = run.char_indices().map(|(at, _)| at);
    let ends = run.char_indices().map(|(at, c)| at + c.len_utf8()).skip(1);
    let mut paired = false;
    for (start, end) in starts.zip(ends) {
        paired = true;
        visit(run.get(start..end).unwrap_or_default());
    }
    if !paired {
        visit(run);
    }
}

/// The words of a run, and the chains of words joined by single joiners.
fn words(run: &str, visit: &mut dyn FnMut(&str)) {
    let mut chain = Chain::default();
    for (at, word) in run.unicode_word_indices() {
        let is_number = !word.chars().any(char::is_alphabetic);
        // A compatibility form may put a space under a mark, and in one word with it.
        let cuts = |c: char| match is_number {
            true => c == '_' || c.is_whitespace(),
            false => CUTS.contains(&c) || c.is_whitespace(),
        };
        let mut start = at;
        for piece in word.split_inclusive(cuts) {
            let part = piece.trim_end_matches(cuts);
            if !part.is_empty() {
                chain.join(run, start..start + part.len(), visit);
                atom(part, visit);
            }
            start += piece.len();
        }
    }
    chain.close(run, visit);
}

/// Neighbouring words with one joiner between each two.
#[derive(Default)]
struct Chain {
    span: Range<usize>,
    words: usize,
}

impl Chain {
    fn join(&mut self, run: &str, word: Range<usize>, visit: &mut dyn FnMut(&str)) {
        let gap = run.get(self.span.end..word.start).unwrap_or_default();
        let mut between = gap.chars();
        let joined =
            between.next().is_some_and(|c| JOINERS.contains(&c)) && between.next().is_none();
        if joined && self.words > 0 {
            self.span.end = word.end;
            self.words += 1;
        } else {
            self.close(run, visit);
            *self = Self {
                span: word,
                words: 1,
            };
        }
    }

    fn close(&self, run: &str, visit: &mut dyn FnMut(&str)) {
        let whole = run.get(self.span.clone()).unwrap_or_default();
        if self.words > 1 && whole.len() <= TERM_BYTES_MAX {
            visit(whole);
        }
    }
}

fn atom(word: &str, visit: &mut dyn FnMut(&str)) {
    if word.len() > TERM_BYTES_MAX {
        let end = word.floor_char_boundary(TERM_BYTES_MAX);
        return visit(word.get(..end).unwrap_or_default());
    }
    if word.bytes().all(|b| b.is_ascii_lowercase()) {
        return visit(&porter::stem(word));
    }
    visit(word);
    if is_iban_like(word) {
        let mut rest = word;
        while !rest.is_empty() {
            let (group, after) = rest.split_at_checked(4).unwrap_or((rest, ""));
            visit(group);
            rest = after;
        }
    }
}

/// Two letters, two digits, 11 to 30 letters or digits (ISO 13616), in lower case.
fn is_iban_like(word: &str) -> bool {
    let bytes = word.as_bytes();
    let tail_is_plain = bytes.iter().all(u8::is_ascii_alphanumeric);
    let head_fits = matches!(bytes, [a, b, c, d, ..] if a.is_ascii_alphabetic()
        && b.is_ascii_alphabetic() && c.is_ascii_digit() && d.is_ascii_digit());
    head_fits && tail_is_plain && (15..=34).contains(&bytes.len())
}

/// Longest term, in bytes of UTF-8: a longer word is cut to it, a longer chain is not indexed
/// whole. Twice a SHA-256 in hexadecimal.
pub const TERM_BYTES_MAX: usize = 128;

/// Characters inside a Unicode word that end a term, in a word that has a letter.
const CUTS: [char; 7] = ['\'', '\u{2019}', '.', ':', '_', ',', ';'];

/// Characters that join two words into an address, a number or a path.
const JOINERS: [char; 7] = ['@', '-', '.', '_', '+', '/', ':'];
