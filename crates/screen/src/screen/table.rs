// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading the rule table, `rules.txt`, whose head says how it is written.

use super::check::Check;
use super::matcher::Shape;
use super::structure::Scan;
use super::types::{RuleId, Stage};
use std::collections::{BTreeMap, BTreeSet};

/// Longest rule id, in bytes; the same as in a derivation record.
const RULE_BYTES_MAX: usize = ancile_core::RULE_BYTES_MAX;

/// Why the built-in rule table does not load.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleTableError {
    /// A line that breaks the form of the table.
    #[error("rule table line {line}: {fault}; see the head of the table for its form")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A pattern names a word list that the table does not have.
    #[error("rule `{rule}` names the word list `{list}`, which is not there; add it")]
    UnknownList {
        /// The rule.
        rule: &'static str,
        /// The list.
        list: String,
    },
    /// A pattern that does not compile.
    #[error("rule `{rule}` has a pattern that does not compile; mend it")]
    Pattern {
        /// The rule.
        rule: &'static str,
        /// What the compiler says.
        #[source]
        source: Box<regex::Error>,
    },
    /// More word lists than there is room for.
    #[error("the rule table has {lists} word lists; limit is {limit}; join some")]
    TooManyLists {
        /// How many there are.
        lists: usize,
        /// How many there may be.
        limit: usize,
    },
    /// The word lists do not compile.
    #[error("the word lists of the rule table do not compile; shorten them")]
    Words {
        /// What the compiler says.
        #[source]
        source: Box<aho_corasick::BuildError>,
    },
}

/// What a finding of a rule asks for; mildest first. What follows is for the
/// [policy](crate::ScreenPolicy) to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Show it.
    Flag,
    /// Mark the span where the text is shown.
    Redact,
    /// Hold the text.
    Quarantine,
}

/// One rule as the table has it.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its id, `family.name`.
    pub id: RuleId,
    /// Its stage.
    pub stage: Stage,
    /// What its findings ask for.
    pub effect: Effect,
    /// What it looks for, in a sentence.
    pub means: &'static str,
    /// Texts it must find something in.
    pub examples: Vec<String>,
    /// Harmless texts close to the examples, which it must leave alone.
    pub twins: Vec<String>,
    pub(crate) patterns: Vec<&'static str>,
    pub(crate) needs: Vec<&'static str>,
    /// Fewest decimal digits of a text in which a pattern can match.
    pub(crate) digits: usize,
    pub(crate) shape: Option<Shape>,
    pub(crate) scan: Option<Scan>,
    pub(crate) check: Option<Check>,
    pub(crate) unless_negated: bool,
}

impl Rule {
    /// Whether its findings reject a text whatever a policy says.
    pub(crate) fn rejects(&self) -> bool {
        self.scan == Some(Scan::TooLong)
    }
}

/// The whole table.
pub(crate) struct Table {
    pub version: u32,
    pub lists: BTreeMap<&'static str, Vec<&'static str>>,
    /// The lists whose words are taken as they are.
    pub literals: BTreeSet<&'static str>,
    pub rules: Vec<Rule>,
}

impl Table {
    /// Reads a table.
    pub fn read(text: &'static str) -> Result<Self, RuleTableError> {
        let mut table = Self {
            version: 0,
            lists: BTreeMap::new(),
            literals: BTreeSet::new(),
            rules: Vec::new(),
        };
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
                let fault = |fault| RuleTableError::Line {
                    line: at + 1,
                    fault,
                };
                table.line(key, rest.trim()).map_err(fault)?;
            }
        }
        Ok(table)
    }

    fn line(&mut self, key: &'static str, rest: &'static str) -> Result<(), &'static str> {
        match key {
            "version" => self.version = rest.parse().map_err(|_| "version is no number")?,
            "words" | "literals" => {
                let (name, words) = rest.split_once(' ').ok_or("a list without words")?;
                let literal = key == "literals";
                if self.lists.contains_key(name) && self.literals.contains(name) != literal {
                    return Err("a list of both words and literals");
                }
                if literal {
                    self.literals.insert(name);
                }
                let list = self.lists.entry(name).or_default();
                list.extend(words.split_ascii_whitespace());
            }
            "rule" => self.rules.push(new_rule(rest)?),
            _ => {
                let rule = self
                    .rules
                    .last_mut()
                    .ok_or("a line before the first rule")?;
                rule_line(rule, key, rest)?;
            }
        }
        Ok(())
    }
}

fn new_rule(id: &'static str) -> Result<Rule, &'static str> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.');
    if id.len() > RULE_BYTES_MAX || id.matches('.').count() != 1 || !id.bytes().all(fits) {
        return Err("an id that is not `family.name`");
    }
    Ok(Rule {
        id: RuleId(id),
        stage: Stage::Injection,
        effect: Effect::Quarantine,
        means: "",
        examples: Vec::new(),
        twins: Vec::new(),
        patterns: Vec::new(),
        needs: Vec::new(),
        digits: 0,
        shape: None,
        scan: None,
        check: None,
        unless_negated: false,
    })
}

fn rule_line(rule: &mut Rule, key: &str, rest: &'static str) -> Result<(), &'static str> {
    match key {
        "stage" => {
            let stage = Stage::ALL.into_iter().find(|stage| stage.name() == rest);
            rule.stage = stage.ok_or("a stage that is none")?;
        }
        "effect" => {
            rule.effect = match rest {
                "flag" => Effect::Flag,
                "redact" => Effect::Redact,
                "quarantine" => Effect::Quarantine,
                _ => return Err("an effect that is none"),
            }
        }
        "means" => rule.means = rest,
        "match" => rule.patterns.push(rest),
        "need" => rule.needs.extend(rest.split_ascii_whitespace()),
        "digits" => rule.digits = rest.parse().map_err(|_| "digits is no number")?,
        "shape" => rule.shape = Some(Shape::parse(rest).ok_or("a shape that is none")?),
        "scan" => rule.scan = Some(Scan::parse(rest).ok_or("a scan that is none")?),
        "check" => rule.check = Some(Check::parse(rest).ok_or("a check that is none")?),
        "unless" if rest == "negated" => rule.unless_negated = true,
        "yes" => rule.examples.push(unescape(rest).ok_or("a wrong escape")?),
        "no" => rule.twins.push(unescape(rest).ok_or("a wrong escape")?),
        _ => return Err("a key that is none"),
    }
    Ok(())
}

/// Reads `\n`, `\\`, `\u{..}`, and `\x{COUNT*TEXT}`, which is a text many times over.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((plain, tail)) = rest.split_once('\\') {
        out.push_str(plain);
        if let Some(tail) = tail.strip_prefix("u{") {
            let (code, tail) = tail.split_once('}')?;
            out.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
            rest = tail;
        } else if let Some(tail) = tail.strip_prefix("x{") {
            let (body, tail) = tail.split_once('}')?;
            let (count, unit) = body.split_once('*')?;
            out.push_str(&unit.repeat(count.parse().ok()?));
            rest = tail;
        } else if let Some(tail) = tail.strip_prefix('n') {
            out.push('\n');
            rest = tail;
        } else {
            out.push('\\');
            rest = tail.strip_prefix('\\')?;
        }
    }
    out.push_str(rest);
    Some(out)
}
