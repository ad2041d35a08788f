// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured, as families of points: the one place that both `/metrics` and exporters are
//! made from.

use ancile_core::{AuthorityClass, Decision};
use ancile_engine::Verdict;
use ancile_engine::counts::{Buckets, Counts, Integrity, Total};

/// Points of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Its name, without unit.
    pub name: &'static str,
    /// What it is of, in a few words.
    pub help: &'static str,
    /// What its points are.
    pub kind: FamilyKind,
    /// The points.
    pub points: Vec<Point>,
}

/// What the points of a family are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    /// Counts that only rise while the server runs.
    Counter,
    /// Values that rise and fall.
    Gauge,
    /// How many measurements fell into each bucket, in seconds.
    Seconds,
    /// How many measurements fell into each bucket, in nothing but numbers.
    Numbers,
}

/// One value with its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Name and value of each label.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: PointValue,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum PointValue {
    /// A count, or a gauge.
    Whole(u64),
    /// A histogram.
    Buckets {
        /// The upper bound of each bucket but the last, inclusive.
        bounds: Vec<f64>,
        /// What fell into each bucket; one more than there are bounds.
        counts: Vec<u64>,
        /// The sum of all measurements.
        sum: f64,
    },
}

impl Point {
    /// A number with labels.
    pub(crate) fn whole(labels: &[(&'static str, &str)], value: u64) -> Self {
        let label = |(name, value): &(&'static str, &str)| (*name, (*value).to_owned());
        Self {
            labels: labels.iter().map(label).collect(),
            value: PointValue::Whole(value),
        }
    }
}

/// A name, and what it is of.
type Described = (&'static str, &'static str);

pub(crate) fn counter((name, help): Described, points: Vec<Point>) -> Family {
    let kind = FamilyKind::Counter;
    Family {
        name,
        help,
        kind,
        points,
    }
}

/// The families of the engine.
pub(crate) fn of_engine(counts: &Counts) -> Vec<Family> {
    let totals = counts.totals();
    let one = |total| vec![Point::whole(&[], totals.of(total))];
    let class = |of: fn(AuthorityClass) -> Total| {
        let point = |c: AuthorityClass| Point::whole(&[("class", c.name())], totals.of(of(c)));
        AuthorityClass::ALL.into_iter().map(point).collect()
    };
    let decided = Decision::ALL.into_iter().flat_map(|decision| {
        let of = |what, total| {
            let labels = [("of", what), ("decision", decision.name())];
            Point::whole(&labels, totals.of(total))
        };
        [
            of("call", Total::Call(decision)),
            of("fire", Total::Fire(decision)),
        ]
    });
    vec![
        counter(DECISIONS, decided.collect()),
        counter(NOT_ENFORCED, one(Total::NotEnforced)),
        counter(ASKS, one(Total::Asked)),
        counter(REDEEMED, one(Total::Redeemed)),
        counter(WRITTEN, class(Total::Written)),
        counter(RECALLED, class(Total::Recalled)),
        counter(QUARANTINED, one(Total::Quarantined)),
        counter(WITHHELD, one(Total::Withheld)),
        gauge(PENDING, vec![Point::whole(&[], counts.pending())]),
        counter(HELD, one(Total::Held)),
        counter(JUDGED, judged(|verdict| totals.of(Total::Judged(verdict)))),
        counter(JUDGE_FAILURES, one(Total::JudgeFailed)),
        counter(SLOW, vec![Point::whole(&[], counts.slow_commits())]),
        histogram(COMMIT, FamilyKind::Seconds, &counts.commit_micros()),
        histogram(STEP, FamilyKind::Seconds, &counts.step_micros()),
        histogram(GROUP, FamilyKind::Numbers, &counts.group_requests()),
        integrity(counts.integrity()),
        build(),
    ]
}

fn gauge((name, help): Described, points: Vec<Point>) -> Family {
    let kind = FamilyKind::Gauge;
    Family {
        name,
        help,
        kind,
        points,
    }
}

/// A point for each verdict that follows from a judge.
fn judged(of: impl Fn(Verdict) -> u64) -> Vec<Point> {
    let all = [Verdict::Allow, Verdict::Flag, Verdict::Quarantine];
    let point = |verdict: Verdict| Point::whole(&[("verdict", verdict.name())], of(verdict));
    all.map(point).to_vec()
}

fn histogram((name, help): Described, kind: FamilyKind, of: &Buckets) -> Family {
    let per_unit = match kind {
        FamilyKind::Seconds => MICROS_PER_SECOND,
        _ => 1.0,
    };
    let bounds = of.counts.iter().filter_map(|(bound, _)| *bound);
    let value = PointValue::Buckets {
        bounds: bounds.map(|bound| bound as f64 / per_unit).collect(),
        counts: of.counts.iter().map(|(_, count)| *count).collect(),
        sum: of.sum as f64 / per_unit,
    };
    Family {
        name,
        help,
        kind,
        points: vec![Point {
            labels: Vec::new(),
            value,
        }],
    }
}

fn integrity(is: Integrity) -> Family {
    let point = |state: Integrity| {
        let labels = [("state", state.name())];
        Point::whole(&labels, u64::from(state == is))
    };
    gauge(INTEGRITY, Integrity::ALL.into_iter().map(point).collect())
}

fn build() -> Family {
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    gauge(BUILD, vec![Point::whole(&version, 1)])
}

const MICROS_PER_SECOND: f64 = 1e6;

const DECISIONS: Described = (
    "decisions",
    "Decisions on calls of sessions and on tasks that fired",
);
const NOT_ENFORCED: Described = (
    "decisions_not_enforced",
    "Decisions that would have been others, had the gates been enforced",
);
const ASKS: Described = ("asks", "Calls that were parked until a person answers");
const REDEEMED: Described = ("permits_redeemed", "Permits that were used up");
const WRITTEN: Described = ("entries_written", "Entries written, by class at write");
const RECALLED: Described = (
    "entries_recalled",
    "Entries returned by recall, by class as their viewer sees them",
);
const QUARANTINED: Described = ("entries_quarantined", "Entries that were shelved");
const WITHHELD: Described = ("entries_withheld", "Entries that recall found and withheld");
const PENDING: Described = (
    "entries_pending",
    "Entries that are held until they are judged",
);
const HELD: Described = (
    "entries_held",
    "Entries that were held until they are judged",
);
const JUDGED: Described = (
    "entries_judged",
    "Entries that were held and are no more, by the verdict that followed",
);
const JUDGE_FAILURES: Described = (
    "judge_failures",
    "Verdicts that followed though the judge gave no score",
);
const INTEGRITY: Described = ("integrity", "1 for the state that the store is in");
const BUILD: Described = ("build", "Always 1; the version is a label");
const SLOW: Described = ("slow_commits", "Commits that took longer than they may");
const COMMIT: Described = ("commit", "Time of a commit, its witness included");
const STEP: Described = ("step", "Time of a step from being asked to being answered");
const GROUP: Described = ("group_requests", "Requests that one commit held");
