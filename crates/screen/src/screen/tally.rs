// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings as they come in, bounded, and the verdict over all of them.

use super::FINDINGS_MAX;
use super::matcher::Matcher;
use super::structure::Scan;
use super::table::Effect;
use super::types::{Finding, Screening, Stage, Verdict};
use ancile_core::Channel;
use core::ops::Range;

/// Most secrets listed; the last one's span then reaches to the end of the last secret found, so
/// that taking the listed spans out takes every secret out.
const SECRETS_MAX: usize = FINDINGS_MAX / 2;

/// The findings so far.
pub(crate) struct Tally<'m> {
    matcher: &'m Matcher,
    /// The spans by the place of their rule in the table, at most [`FINDINGS_MAX`] each.
    found: Vec<Vec<Range<usize>>>,
    cut: bool,
}

impl<'m> Tally<'m> {
    pub fn new(matcher: &'m Matcher) -> Self {
        Self {
            matcher,
            found: vec![Vec::new(); matcher.rules.len()],
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

    /// Whether a finding of this rule quarantines.
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
        let redacts = self.effect(rule) == Effect::Redact;
        let Some(spans) = self.found.get_mut(rule) else {
            return false;
        };
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
        for span in self.found.iter_mut().flatten() {
            *span = place(span.start)..place(span.end);
        }
    }

    /// The screening of these findings. A text that was not read counts as an instruction.
    pub fn close(self, channel: Channel, version: u32, rejected: bool) -> Screening {
        let hit = (0..)
            .zip(&self.found)
            .filter(|(_, spans)| !spans.is_empty());
        let hit: Vec<usize> = hit.map(|(rule, _)| rule).collect();
        let any = |fits: &dyn Fn(usize) -> bool| hit.iter().any(|rule| fits(*rule));
        let instructs = any(&|r| self.stage(r) == Stage::Injection && self.quarantines(r));
        let trusted = matches!(channel, Channel::User | Channel::Agent);
        let verdict = match () {
            () if rejected => Verdict::Reject,
            () if !trusted && any(&|r| self.quarantines(r)) => Verdict::Quarantine,
            () if any(&|r| self.effect(r) == Effect::Redact) => Verdict::Redact,
            () if !hit.is_empty() => Verdict::Flag,
            () => Verdict::Allow,
        };
        let (findings, findings_cut) = self.listed();
        Screening {
            findings,
            verdict,
            instruction_like: instructs || rejected,
            version,
            findings_cut,
        }
    }

    /// The findings to be listed: secrets first, then what quarantines, then the rest, up to the
    /// limit; in the order of stages, rules and places. Also whether there were more.
    fn listed(self) -> (Vec<Finding>, bool) {
        let mut cut = self.cut;
        let spans = (0..).zip(&self.found);
        let found = spans.flat_map(|(rule, spans)| spans.iter().map(move |s| (rule, s.clone())));
        let (mut secrets, mut others): (Vec<_>, Vec<_>) =
            found.partition(|(rule, _)| self.effect(*rule) == Effect::Redact);
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
            })
        };
        (others.into_iter().filter_map(finding).collect(), cut)
    }
}
