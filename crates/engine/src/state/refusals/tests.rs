// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts over hours.

use super::{HOUR, ROWS_MAX, Refusals};
use crate::event::Decided;
use ancile_core::{AuthorityClass, Decision, Digest, Micros, SessionId, ToolName};

fn decided(tool: &str, at: i64, decision: Decision, would_be: Option<Decision>) -> Decided {
    Decided {
        session: SessionId::from_bytes([1; 16]),
        call: Digest([2; 32]),
        tool: ToolName::new(tool).unwrap(),
        class: AuthorityClass::Untrusted,
        decision,
        would_be,
        at: Some(Micros(at)),
        permit: None,
        mandate: None,
        approval: None,
        rules: vec!["a".to_owned(), "b".to_owned(), "a".to_owned()],
        entries: vec![],
        screening: 0,
        echo: AuthorityClass::Untrusted,
        grounded: false,
        wrote: vec![],
        args: vec![],
    }
}

#[test]
fn refusals_are_counted_by_hour_and_each_rule_once() {
    let mut refusals = Refusals::new();
    refusals.count(&decided("pay", HOUR - 1, Decision::Deny, None));
    refusals.count(&decided("pay", HOUR, Decision::Deny, None));
    refusals.count(&decided("pay", HOUR, Decision::Permit, Some(Decision::Ask)));
    refusals.count(&decided("pay", HOUR, Decision::Permit, None));
    let sums = |from, until| {
        let sums = refusals.between(Micros(from), Micros(until));
        let mut out: Vec<_> = sums
            .into_iter()
            .map(|(r, n)| (r.rule.unwrap_or_default(), r.decision.name(), r.enforced, n))
            .collect();
        out.sort();
        out
    };
    let row = |rule: &str, decision, enforced, n| (rule.to_owned(), decision, enforced, n);
    let all = vec![
        row("", "ask", false, 1),
        row("", "deny", true, 2),
        row("a", "ask", false, 1),
        row("a", "deny", true, 2),
        row("b", "ask", false, 1),
        row("b", "deny", true, 2),
    ];
    assert_eq!(sums(i64::MIN, i64::MAX), all);
    assert_eq!(sums(0, HOUR).len(), 3, "the first hour");
    assert_eq!(sums(0, HOUR + 1), all, "both begin before");
    assert_eq!(sums(HOUR, 2 * HOUR).len(), 6, "the second");
    assert_eq!(sums(2 * HOUR, i64::MAX), vec![]);
    assert_eq!(sums(HOUR - 1, HOUR).len(), 3, "hours are whole");
}

#[test]
fn the_oldest_hours_go_first() {
    let mut refusals = Refusals::new();
    let hours = i64::try_from(ROWS_MAX / 3).unwrap() + 2;
    for hour in 0..hours {
        refusals.count(&decided("pay", hour * HOUR, Decision::Deny, None));
    }
    assert!(refusals.0.size() <= ROWS_MAX);
    assert!(refusals.between(Micros(0), Micros(HOUR)).is_empty());
    let last = refusals.between(Micros((hours - 1) * HOUR), Micros(i64::MAX));
    assert_eq!(last.len(), 3);
}
