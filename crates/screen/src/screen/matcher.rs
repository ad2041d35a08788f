// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiled rules, and running them over a text.

use super::pattern::{Pattern, compile, key};
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

/// A compiled rule.
#[derive(Debug, Clone)]
pub(crate) struct Compiled {
    pub rule: Rule,
    patterns: Vec<(Regex, Vec<usize>)>,
}

/// All rules, behind one search for the words without which their patterns cannot match.
#[derive(Debug, Clone)]
pub(crate) struct Matcher {
    /// Version of the table.
    pub version: u32,
    pub rules: Vec<Compiled>,
    words: AhoCorasick,
    /// For each word, the lists that have it.
    lists_of: Vec<Vec<usize>>,
    lists: usize,
    negation: Regex,
    no_negation: Regex,
}

/// The word lists that a text has a word of, and how many decimal digits it has.
pub(crate) struct Present {
    lists: Vec<bool>,
    digits: usize,
}

#[cfg(test)]
impl Present {
    /// As if the text had words of all lists.
    pub fn all(matcher: &Matcher) -> Self {
        Self {
            lists: vec![true; matcher.lists],
            digits: usize::MAX,
        }
    }
}

impl Matcher {
    pub fn new(table: Table) -> Result<Self, RuleTableError> {
        let names: BTreeMap<&str, usize> = table.lists.keys().copied().zip(0..).collect();
        let mut lists_of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (list, (name, words)) in table.lists.iter().enumerate() {
            let literal = table.literals.contains(name);
            for word in words {
                let sought = if literal { word } else { key(word) };
                lists_of.entry(sought).or_default().push(list);
            }
        }
        let words = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .build(lists_of.keys())
            .map_err(|source| RuleTableError::Words {
                source: Box::new(source),
            })?;
        let index = |pattern: Pattern| {
            let needs = pattern
                .needs
                .iter()
                .filter_map(|list| names.get(list).copied());
            (pattern.regex, needs.collect())
        };
        let mut rules = Vec::new();
        for rule in &table.rules {
            let patterns = compile(rule, &table)?.into_iter().map(index).collect();
            let rule = rule.clone();
            rules.push(Compiled { rule, patterns });
        }
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
            rules,
            words,
            lists: names.len(),
            lists_of: lists_of.into_values().collect(),
            negation: fixed(NEGATION)?,
            no_negation: fixed(NO_NEGATION)?,
        })
    }

    /// Looks which word lists a folded text has words of.
    pub fn present(&self, folded: &str) -> Present {
        let mut seen = vec![false; self.lists];
        for found in self.words.find_overlapping_iter(folded) {
            let lists = self.lists_of.get(found.pattern().as_usize());
            for list in lists.into_iter().flatten() {
                if let Some(seen) = seen.get_mut(*list) {
                    *seen = true;
                }
            }
        }
        Present {
            lists: seen,
            digits: folded.bytes().filter(u8::is_ascii_digit).count(),
        }
    }

    /// Runs the patterns of one stage, and reports each match by the place of its rule and where
    /// it stands in the original. Reporting `false` moves on to the next rule.
    pub fn run(
        &self,
        stage: Stage,
        text: &Mapped<'_>,
        present: &Present,
        report: &mut dyn FnMut(usize, Range<usize>) -> bool,
    ) {
        let needed = |list: &usize| present.lists.get(*list).copied().unwrap_or(false);
        for (place, compiled) in self.rules.iter().enumerate() {
            if compiled.rule.stage != stage || present.digits < compiled.rule.digits {
                continue;
            }
            for (regex, needs) in &compiled.patterns {
                if !needs.iter().all(needed) {
                    continue;
                }
                for found in regex.find_iter(text.text.as_bytes()) {
                    let held = self.holds(&compiled.rule, &text.text, found.range());
                    if held.is_some_and(|span| !report(place, text.original(&span))) {
                        break;
                    }
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
