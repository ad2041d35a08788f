// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was refused, or would have been: counted by hour, tool, class, rule and decision.

use crate::event::Decided;
use ancile_core::{AuthorityClass, Decision, Micros, ToolName};
use rpds::RedBlackTreeMapSync;
use std::collections::{BTreeMap, BTreeSet};

/// Most rows that are kept of a tenant; the oldest hours go first.
const ROWS_MAX: usize = 50_000;
/// Microseconds of an hour.
pub(crate) const HOUR: i64 = 3_600_000_000;

/// What one count is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Refused {
    pub tool: ToolName,
    pub class: AuthorityClass,
    /// The rule; `None` counts the decision itself, once whatever its rules.
    pub rule: Option<String>,
    /// What the tables say.
    pub decision: Decision,
    /// Whether it bound.
    pub enforced: bool,
}

/// The counts of a tenant.
#[derive(Debug, Clone)]
pub(crate) struct Refusals(RedBlackTreeMapSync<(i64, Refused), u64>);

impl Refusals {
    pub(super) fn new() -> Self {
        Self(RedBlackTreeMapSync::new_sync())
    }

    /// Counts a decision, where it refuses or would have. One of a log without moments counts as
    /// of the first hour.
    pub(super) fn count(&mut self, decided: &Decided) {
        let table = decided.would_be.unwrap_or(decided.decision);
        if table.permits() {
            return;
        }
        let hour = decided.at.map_or(0, |at| at.0.div_euclid(HOUR));
        let rules: BTreeSet<&String> = decided.rules.iter().collect();
        let rules = rules.into_iter().map(|rule| Some(rule.clone()));
        for rule in rules.chain([None]) {
            let refused = Refused {
                tool: decided.tool.clone(),
                class: decided.class,
                rule,
                decision: table,
                enforced: decided.would_be.is_none(),
            };
            let place = (hour, refused);
            let count = self.0.get(&place).copied().unwrap_or_default();
            self.0.insert_mut(place, count.saturating_add(1));
        }
        while self.0.size() > ROWS_MAX {
            let Some(first) = self.0.keys().next().cloned() else {
                return;
            };
            self.0.remove_mut(&first);
        }
    }

    /// The sums over the hours from one to another, the last not included.
    pub(crate) fn between(&self, from: Micros, until: Micros) -> BTreeMap<Refused, u64> {
        let mut sums = BTreeMap::new();
        let within = |hour: i64| {
            let starts = hour.saturating_mul(HOUR);
            starts.saturating_add(HOUR) > from.0 && starts < until.0
        };
        for ((hour, refused), count) in self.0.iter().filter(|((hour, _), _)| within(*hour)) {
            let _hour = hour;
            let sum: &mut u64 = sums.entry(refused.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
        sums
    }
}

#[cfg(test)]
mod tests;
