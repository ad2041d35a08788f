// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a text to rows of the table: the uncased BERT tokenizer.
//!
//! Wu et al., "Google's Neural Machine Translation System", 2016, section 4.1, and Devlin et al.,
//! "BERT", 2019; rule by rule as the `tokenizers` package does it, with three differences. Names
//! of special tokens in a text, such as `[CLS]`, are plain text. Unknown words give nothing. The
//! general categories are of a later version of Unicode.

use crate::fault::LoadError;
use std::collections::HashMap;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

#[cfg(test)]
mod tests;

/// Most characters of a word that is looked up; a longer one is unknown.
pub const WORD_CHARS_MAX: usize = 100;
/// What a token begins with that goes on with a word.
const CONTINUES: &str = "##";

/// A vocabulary. A token is known by its place.
#[derive(Debug)]
pub(crate) struct WordPiece {
    /// Tokens that begin a word.
    first: HashMap<Box<str>, usize>,
    /// Tokens that go on with one, without their mark.
    rest: HashMap<Box<str>, usize>,
    /// Characters of the longest of either.
    longest: usize,
}

impl WordPiece {
    /// Takes tokens in order.
    pub fn new(tokens: &[&str]) -> Result<Self, LoadError> {
        let mut made = Self {
            first: HashMap::with_capacity(tokens.len()),
            rest: HashMap::new(),
            longest: 0,
        };
        for (at, token) in tokens.iter().enumerate() {
            // A lone mark is a token of its own characters.
            let continues = token.strip_prefix(CONTINUES).filter(|t| !t.is_empty());
            let part = continues.unwrap_or(token);
            let map = match continues {
                Some(_) => &mut made.rest,
                None => &mut made.first,
            };
            if part.is_empty() || map.insert(part.into(), at).is_some() {
                return Err(LoadError::Token((*token).to_owned()));
            }
            made.longest = made.longest.max(part.chars().count());
        }
        Ok(made)
    }

    /// Calls `each` with the row of each token of a text, in order.
    ///
    /// Takes time linear in the text: each character is looked at once for each length of token
    /// at most, and the longest has [`WordPiece::longest`].
    pub fn each_row(&self, text: &str, mut each: impl FnMut(usize)) {
        let text = canonical(text);
        let mut rows = Vec::new();
        for word in words(&text) {
            rows.clear();
            if self.split(word, &mut rows).is_some() {
                rows.iter().copied().for_each(&mut each);
            }
        }
    }

    /// The longest token that a word begins with, then the longest that goes on, to its end;
    /// nothing when one is missing.
    fn split(&self, word: &str, rows: &mut Vec<usize>) -> Option<()> {
        if word.chars().nth(WORD_CHARS_MAX).is_some() {
            return None;
        }
        let (mut tokens, mut open) = (&self.first, word);
        while !open.is_empty() {
            let end = open.char_indices().nth(self.longest);
            let end = end.map_or(open.len(), |(at, _)| at);
            let mut part = open.get(..end)?.chars();
            let row = loop {
                if let Some(row) = tokens.get(part.as_str()) {
                    break *row;
                }
                part.next_back()?;
            };
            rows.push(row);
            open = open.get(part.as_str().len()..)?;
            tokens = &self.rest;
        }
        Some(())
    }
}

/// Without control characters and accents, in lower case, spaces around ideographs.
fn canonical(text: &str) -> String {
    text.chars()
        .filter(|c| !is_dropped(*c))
        .flat_map(spaced)
        .nfd()
        .filter(|c| !is_accent(*c))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Words of a canonical text; each punctuation mark is one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = |chunk| str::split_inclusive(chunk, is_punctuation);
    let mark = |part: &'_ str| part.char_indices().next_back();
    text.split(char::is_whitespace)
        .flat_map(parts)
        .flat_map(move |part| match mark(part) {
            Some((at, c)) if is_punctuation(c) => part.split_at_checked(at),
            _ => Some((part, "")),
        })
        .flat_map(|(word, mark)| [word, mark])
        .filter(|word| !word.is_empty())
}

/// Control, format and private characters, but for the white space among them.
fn is_dropped(c: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse};
    match c {
        '\t' | '\n' | '\r' => false,
        '\u{fffd}' => true,
        c if c.is_ascii() => c.is_ascii_control(),
        c => matches!(c.general_category(), Control | Format | PrivateUse),
    }
}

fn is_accent(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::NonspacingMark
}

fn is_punctuation(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_punctuation(),
        false => c.general_category_group() == GeneralCategoryGroup::Punctuation,
    }
}

/// An ideograph between spaces, white space as a space, any other character as it is.
fn spaced(c: char) -> impl Iterator<Item = char> {
    let space = is_ideograph(c).then_some(' ');
    let c = if c.is_whitespace() { ' ' } else { c };
    [space, Some(c), space].into_iter().flatten()
}

/// The blocks that BERT's authors took for Chinese.
fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}' | '\u{2b740}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}
