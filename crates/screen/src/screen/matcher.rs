// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiled rules, and running them over a text.

use super::pattern::{compile, key};
use super::structure::Scan;
use super::table::{Rule, RuleTableError, Table};
use super::types::Stage;
use crate::mapped::Mapped;
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use core::ops::Range;
use regex::bytes::Regex;
use std::collections::BTreeMap;

/// How far before a match a negation is looked for, in bytes.
const NEGATION_BYTES: usize = 48;
/// A negation with at most two words between it and the end.
const NEGATION: &str = r"(?x)
    (?: \b(?:never|not|cannot|avoid|refuse\x20to|rather\x20than|instead\x20of)
        | n(?:'|\xe2\x80\x99)t )
    (?: [^a-z0-9.!?;\n]+ [a-z0-9'-]+ ){0,2}
    [^a-z0-9.!?;\n]+ $";
/// What turns a negation round, as in `do not hesitate to`.
const NO_NEGATION: &str = r"\b(?:hesitate|forget|fail|worry|only|just)\b";

/// A set of word lists, a bit each.
type Lists = [u64; 4];
/// Most word lists.
const LISTS_MAX: usize = 256;

/// A property of a text without which a pattern cannot match, cheaper to see than to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Blanks and the like stand two apart at least ten times.
    Spaced,
    /// Two letters with two digits behind them.
    CountryDigits,
}

impl Shape {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "spaced" => Some(Self::Spaced),
            "country_digits" => Some(Self::CountryDigits),
            _ => None,
        }
    }

    fn is_in(self, text: &[u8]) -> bool {
        let from = |at: usize| text.get(at..).unwrap_or_default().iter();
        match self {
            Self::Spaced => {
                let parts = |b: &u8| matches!(b, b' ' | b'.' | b'_' | b'-');
                let pairs = from(0).zip(from(2));
                let pairs = pairs.map(|(a, b)| u32::from(parts(a) & parts(b)));
                pairs.fold(0, u32::wrapping_add) >= 10
            }
            Self::CountryDigits => {
                let letters = from(0).zip(from(1));
                let digits = from(2).zip(from(3));
                let found = letters.zip(digits).map(|((a, b), (c, d))| {
                    let letters = a.is_ascii_alphabetic() & b.is_ascii_alphabetic();
                    letters & c.is_ascii_digit() & d.is_ascii_digit()
                });
                found.fold(false, |a, b| a | b)
            }
        }
    }
}

/// A rule of the table.
#[derive(Debug, Clone)]
pub(crate) struct Compiled {
    pub rule: Rule,
}

/// A pattern with what has to be there for it to match.
#[derive(Debug, Clone)]
struct Ready {
    /// The place of its rule in the table.
    rule: usize,
    regex: Regex,
    needs: Lists,
    digits: usize,
    shape: Option<Shape>,
}

impl Ready {
    fn may_match(&self, present: &Present) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.needs, present.lists);
        let missing = a & !e | b & !f | c & !g | d & !h;
        missing == 0 && present.digits >= self.digits
    }
}

/// All rules, behind one search for the words without which their patterns cannot match.
#[derive(Debug, Clone)]
pub(crate) struct Matcher {
    /// Version of the table.
    pub version: u32,
    pub rules: Vec<Compiled>,
    /// The patterns of each stage, in table order.
    ready: [Vec<Ready>; 3],
    words: AhoCorasick,
    /// For each word, the lists that have it.
    lists_of: Vec<Lists>,
    negation: Regex,
    no_negation: Regex,
}

/// The word lists that a text has a word of, and how many decimal digits it has.
pub(crate) struct Present {
    lists: Lists,
    digits: usize,
    /// Whether shapes are taken to be there unseen.
    any_shape: bool,
}

#[cfg(test)]
impl Present {
    /// As if a text had words of all lists, and all shapes.
    pub fn all() -> Self {
        Self {
            lists: [u64::MAX; 4],
            digits: usize::MAX,
            any_shape: true,
        }
    }
}

fn add(lists: &mut Lists, list: usize) {
    if let Some(word) = lists.get_mut(list / 64) {
        *word |= 1 << (list % 64);
    }
}

const fn at(stage: Stage) -> usize {
    match stage {
        Stage::Structure => 0,
        Stage::Sensitive => 1,
        Stage::Injection => 2,
    }
}

impl Matcher {
    pub fn new(table: Table) -> Result<Self, RuleTableError> {
        let names: BTreeMap<&str, usize> = table.lists.keys().copied().zip(0..).collect();
        let mut lists_of: BTreeMap<String, Lists> = BTreeMap::new();
        for (list, (name, words)) in table.lists.iter().enumerate() {
            let literal = table.literals.contains(name);
            for word in words {
                let sought = if literal { word } else { key(word) };
                add(lists_of.entry(sought.to_owned()).or_default(), list);
            }
        }
        let mut ready: [Vec<Ready>; 3] = Default::default();
        let mut lists = names.len();
        for (place, rule) in table.rules.iter().enumerate() {
            for pattern in compile(rule, &table)? {
                let mut needs = Lists::default();
                let named = pattern.needs.iter().filter_map(|list| names.get(list));
                named.for_each(|list| add(&mut needs, *list));
                if !pattern.beginnings.is_empty() {
                    for text in pattern.beginnings {
                        add(lists_of.entry(text).or_default(), lists);
                    }
                    add(&mut needs, lists);
                    lists += 1;
                }
                let pattern = Ready {
                    rule: place,
                    regex: pattern.regex,
                    needs,
                    digits: rule.digits,
                    shape: rule.shape,
                };
                if let Some(of_stage) = ready.get_mut(at(rule.stage)) {
                    of_stage.push(pattern);
                }
            }
        }
        if lists > LISTS_MAX {
            return Err(RuleTableError::TooManyLists {
                lists,
                limit: LISTS_MAX,
            });
        }
        let words = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .build(lists_of.keys())
            .map_err(|source| RuleTableError::Words {
                source: Box::new(source),
            })?;
        let fixed = |text| {
            regex::bytes::RegexBuilder::new(text)
                .unicode(false)
                .build()
                .map_err(|source| RuleTableError::Pattern {
                    rule: "negation",
                    source: Box::new(source),
                })
        };
        Ok(Self {
            version: table.version,
            rules: table
                .rules
                .into_iter()
                .map(|rule| Compiled { rule })
                .collect(),
            ready,
            words,
            lists_of: lists_of.into_values().collect(),
            negation: fixed(NEGATION)?,
            no_negation: fixed(NO_NEGATION)?,
        })
    }

    /// Looks which word lists a folded text has words of.
    pub fn present(&self, folded: &str) -> Present {
        let mut lists = Lists::default();
        for found in self.words.find_overlapping_iter(folded) {
            let of = self.lists_of.get(found.pattern().as_usize());
            for (there, list) in lists.iter_mut().zip(of.into_iter().flatten()) {
                *there |= list;
            }
        }
        Present {
            lists,
            digits: folded.bytes().filter(u8::is_ascii_digit).count(),
            any_shape: false,
        }
    }

    fn ready(&self, stage: Stage) -> &[Ready] {
        self.ready.get(at(stage)).map_or(&[], Vec::as_slice)
    }

    /// Whether any pattern of a stage can match.
    pub fn may_match(&self, stage: Stage, present: &Present) -> bool {
        self.ready(stage)
            .iter()
            .any(|pattern| pattern.may_match(present))
    }

    /// Runs the patterns of one stage, and reports each match by the place of its rule and where
    /// it stands in the original. Reporting `false` moves on to the next pattern.
    pub fn run(
        &self,
        stage: Stage,
        text: &Mapped<'_>,
        present: &Present,
        report: &mut dyn FnMut(usize, Range<usize>) -> bool,
    ) {
        let bytes = text.text.as_bytes();
        let shaped = |shape: Shape| present.any_shape || shape.is_in(bytes);
        for pattern in self.ready(stage) {
            if !pattern.may_match(present) || !pattern.shape.is_none_or(shaped) {
                continue;
            }
            let Some(compiled) = self.rules.get(pattern.rule) else {
                continue;
            };
            for found in pattern.regex.find_iter(bytes) {
                let held = self.holds(&compiled.rule, &text.text, found.range());
                if held.is_some_and(|span| !report(pattern.rule, text.original(&span))) {
                    break;
                }
            }
        }
    }

    /// The span of a match that passes what its rule asks beyond the pattern.
    fn holds(&self, rule: &Rule, text: &str, span: Range<usize>) -> Option<Range<usize>> {
        if rule.unless_negated && self.negated(text, span.start) {
            return None;
        }
        let Some(check) = rule.check else {
            return Some(span);
        };
        let matched = text.get(span.clone()).filter(|m| check.passes(m))?;
        let part = check.part(matched);
        Some(span.start + part.start..span.start + part.end)
    }

    fn negated(&self, text: &str, at: usize) -> bool {
        let from = at.saturating_sub(NEGATION_BYTES);
        let before = text.as_bytes().get(from..at).unwrap_or_default();
        self.negation.is_match(before) && !self.no_negation.is_match(before)
    }

    /// The place of the rule behind a scan.
    pub fn scanned_by(&self, scan: Scan) -> Option<usize> {
        self.rules.iter().position(|c| c.rule.scan == Some(scan))
    }
}
