// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings as they come in, bounded, and the verdict over all of them.

use super::FINDINGS_MAX;
use super::matcher::Matcher;
use super::structure::Scan;
use super::table::Effect;
use super::types::{Finding, Screening, Stage, Verdict};
use core::ops::Range;
use std::collections::BTreeMap;

/// Most secrets listed; the last one's span then reaches to the end of the last secret found, so
/// that taking the listed spans out takes every secret out.
const SECRETS_MAX: usize = FINDINGS_MAX / 2;

/// The findings so far.
pub(crate) struct Tally<'m> {
    matcher: &'m Matcher,
    /// What follows from a finding, by the place of its rule in the table.
    verdicts: &'m [Verdict],
    /// The spans by the place of their rule in the table, at most [`FINDINGS_MAX`] each.
    found: BTreeMap<usize, Vec<Range<usize>>>,
    cut: bool,
}

impl<'m> Tally<'m> {
    pub fn new(matcher: &'m Matcher, verdicts: &'m [Verdict]) -> Self {
        Self {
            matcher,
            verdicts,
            found: BTreeMap::new(),
            cut: false,
        }
    }

    fn effect(&self, rule: usize) -> Effect {
        let compiled = self.matcher.rules.get(rule);
        compiled.map_or(Effect::Flag, |compiled| compiled.rule.effect)
    }

    fn stage(&self, rule: usize) -> Stage {
        let compiled = self.matcher.rules.get(rule);
        compiled.map_or(Stage::Injection, |compiled| compiled.rule.stage)
    }

    /// What follows from a finding of this rule; the strictest where the policy does not say.
    fn verdict(&self, rule: usize) -> Verdict {
        self.verdicts.get(rule).copied().unwrap_or(Verdict::Reject)
    }

    /// Whether a finding of this rule has to be listed, so that its span can be marked.
    fn redacts(&self, rule: usize) -> bool {
        self.effect(rule) == Effect::Redact || self.verdict(rule) == Verdict::Redact
    }

    /// Whether a finding of this rule asks for quarantine.
    pub fn quarantines(&self, rule: usize) -> bool {
        self.effect(rule) == Effect::Quarantine
    }

    /// Takes what a scan saw.
    pub fn scanned(&mut self, scan: Scan, span: Range<usize>) {
        if let Some(rule) = self.matcher.scanned_by(scan) {
            self.add(rule, span);
        }
    }

    /// Takes a finding; answers whether more of this rule are wanted.
    pub fn add(&mut self, rule: usize, span: Range<usize>) -> bool {
        let redacts = self.redacts(rule);
        let spans = self.found.entry(rule).or_default();
        if spans.contains(&span) {
            return true;
        }
        if spans.len() < FINDINGS_MAX {
            spans.push(span);
            return true;
        }
        self.cut = true;
        if redacts && let Some(last) = spans.last_mut() {
            last.end = last.end.max(span.end);
        }
        redacts
    }

    /// Moves every span by a map that never turns order round.
    pub fn move_spans(&mut self, place: impl Fn(usize) -> usize) {
        for span in self.found.values_mut().flatten() {
            *span = place(span.start)..place(span.end);
        }
    }

    /// The screening of these findings. A text that was not read counts as an instruction.
    pub fn close(self, version: u32) -> Screening {
        let (mut verdict, mut instruction_like) = (Verdict::Allow, false);
        for rule in self.found.keys().copied() {
            verdict = verdict.max(self.verdict(rule));
            let unread = self
                .matcher
                .rules
                .get(rule)
                .is_none_or(|c| c.rule.rejects());
            let instructs = self.stage(rule) == Stage::Injection && self.quarantines(rule);
            instruction_like |= unread || instructs;
        }
        let (findings, findings_cut) = self.listed();
        Screening {
            findings,
            verdict,
            instruction_like,
            version,
            findings_cut,
        }
    }

    /// The findings to be listed: secrets first, then what quarantines, then the rest, up to the
    /// limit; in the order of stages, rules and places. Also whether there were more.
    fn listed(self) -> (Vec<Finding>, bool) {
        let mut cut = self.cut;
        let spans = self.found.iter();
        let found = spans.flat_map(|(rule, spans)| spans.iter().map(move |s| (*rule, s.clone())));
        let (mut secrets, mut others): (Vec<_>, Vec<_>) =
            found.partition(|(rule, _)| self.redacts(*rule));
        secrets.sort_by_key(|(_, span)| (span.start, span.end));
        if secrets.len() > SECRETS_MAX {
            cut = true;
            let end = secrets.iter().map(|(_, span)| span.end).max();
            secrets.truncate(SECRETS_MAX);
            if let (Some((_, last)), Some(end)) = (secrets.last_mut(), end) {
                last.end = end;
            }
        }
        others.sort_by_key(|(rule, span)| (!self.quarantines(*rule), *rule, span.start, span.end));
        let room = FINDINGS_MAX - secrets.len();
        cut |= others.len() > room;
        others.truncate(room);
        others.append(&mut secrets);
        others.sort_by_key(|(rule, span)| (self.stage(*rule), *rule, span.start, span.end));
        let finding = |(rule, span): (usize, Range<usize>)| {
            let compiled = self.matcher.rules.get(rule)?;
            Some(Finding {
                stage: compiled.rule.stage,
                rule: compiled.rule.id,
                span,
                verdict: self.verdict(rule),
            })
        };
        (others.into_iter().filter_map(finding).collect(), cut)
    }
}
