// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened since the store was opened, in numbers that are read without the writer: a disk
//! that stands still must not hide that it does.

use crate::event::{Decided, Event};
use ancile_core::{AuthorityClass, Decision, TenantName};
use ancile_screen::Verdict;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A thing that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// A call was decided upon.
    Call(Decision),
    /// A due task was decided upon.
    Fire(Decision),
    /// A decision would have been another one, had the gates been enforced.
    NotEnforced,
    /// A call was parked until a person answers.
    Asked,
    /// A permit was used up.
    Redeemed,
    /// An entry of this class was written.
    Written(AuthorityClass),
    /// An entry was shelved, at its write or later.
    Quarantined,
    /// An entry of this class, as its viewer sees it, was returned.
    Recalled(AuthorityClass),
    /// An entry was found, and withheld.
    Withheld,
    /// An entry was written that is held until it is judged.
    Held,
    /// This verdict followed for one that was held.
    Judged(Verdict),
    /// It followed though there was no score.
    JudgeFailed,
}

impl Total {
    const fn place(self) -> usize {
        match self {
            Self::Call(decision) => decision as usize,
            Self::Fire(decision) => 4 + decision as usize,
            Self::Written(class) => 8 + class as usize,
            Self::Recalled(class) => 12 + class as usize,
            Self::NotEnforced => 16,
            Self::Asked => 17,
            Self::Redeemed => 18,
            Self::Quarantined => 19,
            Self::Withheld => 20,
            Self::Held => 21,
            Self::JudgeFailed => 22,
            Self::Judged(verdict) => 23 + verdict as usize,
        }
    }
}

/// Places of [`Total`].
const TOTALS: usize = 28;

/// Totals of each thing that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals([u64; TOTALS]);

impl Totals {
    pub(crate) const NONE: Self = Self([0; TOTALS]);

    /// How often it happened.
    #[must_use]
    pub fn of(&self, total: Total) -> u64 {
        self.0.get(total.place()).copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, total: Total, more: u64) {
        if let Some(count) = self.0.get_mut(total.place()) {
            *count = count.saturating_add(more);
        }
    }

    /// Counts what an event says.
    pub(crate) fn event(&mut self, event: &Event) {
        let mut decided = |total, would_be: &Option<Decision>| {
            self.add(total, 1);
            self.add(Total::NotEnforced, u64::from(would_be.is_some()));
        };
        match event {
            Event::Decided(Decided {
                decision, would_be, ..
            }) => decided(Total::Call(*decision), would_be),
            Event::Fired {
                decision, would_be, ..
            } => decided(Total::Fire(*decision), would_be),
            Event::Parked(_) => self.add(Total::Asked, 1),
            Event::Redeemed { .. } => self.add(Total::Redeemed, 1),
            Event::Quarantined { .. } => self.add(Total::Quarantined, 1),
            Event::Pending { .. } => self.add(Total::Held, 1),
            Event::Judged {
                verdict, failure, ..
            } => {
                self.add(Total::Judged(*verdict), 1);
                self.add(Total::JudgeFailed, u64::from(failure.is_some()));
                let shelved = *verdict == Verdict::Quarantine;
                self.add(Total::Quarantined, u64::from(shelved));
            }
            _ => {}
        }
    }
}

/// How many measurements fell into each bucket.
#[derive(Debug)]
struct Histogram {
    bounds: &'static [u64],
    /// One for each bound, and one beyond the last.
    buckets: Vec<AtomicU64>,
    sum: AtomicU64,
}

/// A histogram as it stood at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buckets {
    /// Upper bound of each bucket, inclusive, and what fell into it; the last has no bound.
    pub counts: Vec<(Option<u64>, u64)>,
    /// The sum of all measurements.
    pub sum: u64,
}

impl Histogram {
    fn new(bounds: &'static [u64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self {
            bounds,
            buckets,
            sum: AtomicU64::new(0),
        }
    }

    fn take(&self, measured: u64) {
        let at = self.bounds.partition_point(|bound| *bound < measured);
        if let Some(bucket) = self.buckets.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(measured, Ordering::Relaxed);
    }

    fn read(&self) -> Buckets {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        let counts = self.buckets.iter().map(|b| b.load(Ordering::Relaxed));
        Buckets {
            counts: bounds.zip(counts).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// Whether what was verified still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// Every check so far held.
    Verified,
    /// Something was edited or removed behind the store's back.
    Damaged,
    /// The store cannot answer.
    Down,
    /// Not all rows were compared with the log yet.
    Pending,
}

impl Integrity {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Verified, Self::Damaged, Self::Down, Self::Pending];

    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Damaged => "damaged",
            Self::Down => "down",
            Self::Pending => "pending",
        }
    }
}

/// A commit that took longer than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowCommit {
    /// How long it took, or takes so far.
    pub took: Duration,
    /// How long it may take.
    pub limit: Duration,
    /// Whether it has not ended.
    pub under_way: bool,
}

/// The numbers of one open store.
#[derive(Debug)]
pub struct Counts {
    totals: [AtomicU64; TOTALS],
    commit: Histogram,
    step: Histogram,
    group: Histogram,
    integrity: AtomicU8,
    pending: AtomicU64,
    /// The tenant whose operator may read what is of all tenants.
    first: OnceLock<TenantName>,
    started: Instant,
    /// When the commit under way began, in microseconds since `started` and one; 0 without one.
    begun: AtomicU64,
    limit: AtomicU64,
    /// How long the last slow commit took, and the commits since.
    slow: AtomicU64,
    since: AtomicU64,
    slow_total: AtomicU64,
    /// Added to each measurement.
    #[cfg(test)]
    pub(crate) delay: AtomicU64,
}

impl Counts {
    pub(crate) fn new() -> Self {
        Self {
            totals: std::array::from_fn(|_| AtomicU64::new(0)),
            commit: Histogram::new(LATENCY_BOUNDS),
            step: Histogram::new(LATENCY_BOUNDS),
            group: Histogram::new(GROUP_BOUNDS),
            integrity: AtomicU8::new(Integrity::Verified as u8),
            pending: AtomicU64::new(0),
            first: OnceLock::new(),
            started: Instant::now(),
            begun: AtomicU64::new(0),
            limit: AtomicU64::new(micros(SLOW_COMMIT)),
            slow: AtomicU64::new(0),
            since: AtomicU64::new(0),
            slow_total: AtomicU64::new(0),
            #[cfg(test)]
            delay: AtomicU64::new(0),
        }
    }

    /// How often each thing happened and was committed.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::NONE;
        for (to, from) in totals.0.iter_mut().zip(&self.totals) {
            *to = from.load(Ordering::Relaxed);
        }
        totals
    }

    /// How long commits took, witness included, in microseconds.
    #[must_use]
    pub fn commit_micros(&self) -> Buckets {
        self.commit.read()
    }

    /// How long steps took from being asked to being answered, in microseconds.
    #[must_use]
    pub fn step_micros(&self) -> Buckets {
        self.step.read()
    }

    /// How many requests each group held.
    #[must_use]
    pub fn group_requests(&self) -> Buckets {
        self.group.read()
    }

    /// Whether what was verified still holds.
    #[must_use]
    pub fn integrity(&self) -> Integrity {
        let is = self.integrity.load(Ordering::Relaxed);
        let found = Integrity::ALL.into_iter().find(|i| *i as u8 == is);
        found.unwrap_or(Integrity::Down)
    }

    /// How many entries are held until they are judged.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed)
    }

    pub(crate) fn set_pending(&self, pending: u64) {
        self.pending.store(pending, Ordering::Relaxed);
    }

    /// Commits above the limit, and waits above it for another program that held the database.
    #[must_use]
    pub fn slow_commits(&self) -> u64 {
        self.slow_total.load(Ordering::Relaxed)
    }

    /// The commit under way if it is above the limit; else the last that was, until
    /// [`SLOW_CLEARS_AFTER`] commits in a row were not.
    #[must_use]
    pub fn slow_commit(&self) -> Option<SlowCommit> {
        let limit = self.limit.load(Ordering::Relaxed);
        let slow = |took, under_way| SlowCommit {
            took: Duration::from_micros(took),
            limit: Duration::from_micros(limit),
            under_way,
        };
        let begun = self.begun.load(Ordering::Relaxed);
        let so_far = micros(self.started.elapsed()).saturating_sub(begun.saturating_sub(1));
        if begun > 0 && so_far > limit {
            return Some(slow(so_far, true));
        }
        let last = self.slow.load(Ordering::Relaxed);
        (last > 0 && self.since.load(Ordering::Relaxed) < SLOW_CLEARS_AFTER)
            .then(|| slow(last, false))
    }

    /// Sets how long a commit may take before the store counts as degraded; without,
    /// [`SLOW_COMMIT`].
    pub fn set_slow_commit(&self, limit: Duration) {
        self.limit.store(micros(limit), Ordering::Relaxed);
    }

    /// Whether this is the first tenant, whose operator looks after the whole store.
    #[must_use]
    pub fn is_first(&self, tenant: &TenantName) -> bool {
        self.first.get() == Some(tenant)
    }

    pub(crate) fn set_first(&self, tenant: &TenantName) {
        // It never changes: a second name is the same one.
        _ = self.first.set(tenant.clone());
    }

    pub(crate) fn set_integrity(&self, integrity: Integrity) {
        self.integrity.store(integrity as u8, Ordering::Relaxed);
    }

    pub(crate) fn step_took(&self, took: Duration) {
        self.step.take(micros(took));
    }

    /// Says that a commit begins.
    pub(crate) fn commit_begins(&self) {
        let now = micros(self.started.elapsed()).saturating_add(1);
        self.begun.store(now, Ordering::Relaxed);
    }

    /// Says that what was waited for before a commit, the database itself, was there.
    pub(crate) fn waited(&self) {
        let begun = self.begun.swap(0, Ordering::Relaxed).saturating_sub(1);
        let took = micros(self.started.elapsed()).saturating_sub(begun);
        if took > self.limit.load(Ordering::Relaxed) {
            self.was_slow(took);
        }
    }

    /// Says that it ended; with the requests of its group where it held anything.
    pub(crate) fn commit_ended(&self, requests: Option<usize>) {
        let begun = self.begun.swap(0, Ordering::Relaxed).saturating_sub(1);
        let Some(requests) = requests else {
            return;
        };
        let took = micros(self.started.elapsed()).saturating_sub(begun);
        #[cfg(test)]
        let took = took.saturating_add(self.delay.load(Ordering::Relaxed));
        self.commit.take(took);
        self.group.take(u64::try_from(requests).unwrap_or(u64::MAX));
        if took <= self.limit.load(Ordering::Relaxed) {
            self.since.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.was_slow(took);
    }

    fn was_slow(&self, took: u64) {
        let limit = self.limit.load(Ordering::Relaxed);
        self.slow.store(took, Ordering::Relaxed);
        self.since.store(0, Ordering::Relaxed);
        self.slow_total.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            took_us = took,
            limit_us = limit,
            "a commit was slow, or waited for another program that held the database; look at the \
             disk under data and witness, or raise the limit"
        );
    }

    /// Adds what a group did, once it is committed.
    pub(crate) fn add(&self, group: &Totals) {
        for (to, more) in self.totals.iter().zip(group.0) {
            to.fetch_add(more, Ordering::Relaxed);
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// How long a commit may take where nobody says anything.
pub const SLOW_COMMIT: Duration = Duration::from_millis(1_000);
/// Commits within the limit after which a slow one is forgiven.
pub const SLOW_CLEARS_AFTER: u64 = 32;
/// Bounds of latencies, in microseconds: from a medium without moving parts to one that fails.
const LATENCY_BOUNDS: &[u64] = &[
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];
/// Bounds of requests in a group; the last is the most that a group holds.
const GROUP_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256];

#[cfg(test)]
mod tests;
