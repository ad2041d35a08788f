// SPDX-License-Identifier: MIT OR Apache-2.0
//! What waits for a judge, and what each of its threads is at. Only ids: the contents stay in the
//! store, and how many ids there can be is bounded where entries are held.

use ancile_core::{EntryId, TenantName};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// An entry that is held.
pub(crate) type Held = (TenantName, EntryId);

/// The queue; the writer fills it, the threads empty it.
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    bell: Condvar,
}

struct Inner {
    /// What waits, by tenant, each with the moment since when.
    waiting: BTreeMap<TenantName, VecDeque<(EntryId, Instant)>>,
    /// The tenants that have something waiting, in the order in which they come next, so that one
    /// that writes much does not keep the others waiting.
    turns: VecDeque<TenantName>,
    /// All that waits or is being asked about.
    known: HashSet<Held>,
    /// What each thread asks about.
    threads: Vec<Option<Asking>>,
    /// How often the bell rang, so that the watch misses none.
    rung: u64,
    stopped: bool,
}

/// When the watch is to look again.
pub(super) struct Look {
    next: Option<Instant>,
    rung: u64,
}

struct Asking {
    held: Held,
    /// When the judge was asked; not yet where the content is still being read.
    since: Option<Instant>,
    /// The time limit was over, and the entry was dealt with without this answer.
    overdue: bool,
}

impl Queue {
    pub(crate) fn new(threads: u8) -> Self {
        Self {
            inner: Mutex::new(Inner {
                waiting: BTreeMap::new(),
                turns: VecDeque::new(),
                known: HashSet::new(),
                threads: (0..threads).map(|_| None).collect(),
                rung: 0,
                stopped: false,
            }),
            bell: Condvar::new(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        match self.inner.lock() {
            Ok(inner) => inner,
            Err(poisoned) => poisoned.into_inner(),
        }
    }

    /// Has entries wait; one that waits or is being asked about does already.
    pub(crate) fn push(&self, all: impl IntoIterator<Item = Held>) {
        let mut inner = self.inner();
        let mut some = false;
        for held in all {
            if inner.known.insert(held.clone()) {
                inner.enter(held);
                some = true;
            }
        }
        if some {
            self.ring(&mut inner);
        }
    }

    /// The next entry for a thread, once there is one; none when it is to end.
    pub(super) fn take(&self, thread: usize) -> Option<Held> {
        let mut inner = self.inner();
        loop {
            if inner.stopped {
                return None;
            }
            if let Some(held) = inner.next() {
                let asking = Asking {
                    held: held.clone(),
                    since: None,
                    overdue: false,
                };
                inner.set(thread, Some(asking));
                return Some(held);
            }
            inner.set(thread, None);
            inner = self.wait(inner, None);
        }
    }

    /// A thread asks the judge now.
    pub(super) fn asks(&self, thread: usize) {
        let mut inner = self.inner();
        if let Some(Some(asking)) = inner.threads.get_mut(thread) {
            asking.since = Some(Instant::now());
        }
        // The watch has a nearer moment to look at.
        self.ring(&mut inner);
    }

    /// The judge answered a thread; says whether its answer still counts: not where its time was
    /// over, and not at the end, when judges may be cut short.
    pub(super) fn answered(&self, thread: usize) -> bool {
        let mut inner = self.inner();
        let asking = inner.threads.get_mut(thread).and_then(Option::take);
        asking.is_some_and(|asking| !asking.overdue) && !inner.stopped
    }

    /// An entry is held no more.
    pub(super) fn done(&self, held: &Held) {
        self.inner().known.remove(held);
    }

    /// An entry waits again: its verdict could not be written.
    pub(super) fn again(&self, held: Held) {
        let mut inner = self.inner();
        inner.known.insert(held.clone());
        inner.enter(held);
        self.ring(&mut inner);
    }

    /// The entries whose time is over: those that the judge was asked about longer ago than the
    /// limit, and, where every thread hangs on such a one, those that waited as long. Says also
    /// when to look again, if there is anything to look at.
    pub(super) fn overdue(&self, limit: Duration) -> (Vec<Held>, Look) {
        let now = Instant::now();
        let mut inner = self.inner();
        let mut over = Vec::new();
        let mut next: Option<Instant> = None;
        let mut ends = |since: Instant| match since.checked_add(limit) {
            Some(end) if end > now => {
                next = Some(next.map_or(end, |next| next.min(end)));
                false
            }
            Some(_) => true,
            None => false,
        };
        for asking in inner.threads.iter_mut().flatten() {
            if !asking.overdue && asking.since.is_some_and(&mut ends) {
                asking.overdue = true;
                over.push(asking.held.clone());
            }
        }
        if inner.hangs() {
            for (tenant, ids) in &mut inner.waiting {
                while ids.front().is_some_and(|(_, since)| ends(*since)) {
                    over.extend(ids.pop_front().map(|(id, _)| (tenant.clone(), id)));
                }
            }
            inner.forget_empty();
        }
        let rung = inner.rung;
        (over, Look { next, rung })
    }

    /// Waits until there is something new since a look, or its moment has come; says whether to
    /// go on.
    pub(super) fn watch(&self, look: &Look) -> bool {
        let mut inner = self.inner();
        while inner.rung == look.rung && !inner.stopped {
            let left = look
                .next
                .map(|next| next.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            inner = self.wait(inner, left);
        }
        !inner.stopped
    }

    /// Waits so long, or until all is to end; says whether to go on.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let end = Instant::now().checked_add(time);
        let mut inner = self.inner();
        while !inner.stopped {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            match left {
                Some(left) if left.is_zero() => return true,
                left => inner = self.wait(inner, left),
            }
        }
        false
    }

    /// Has the threads end that are not in the judge.
    pub(super) fn stop(&self) {
        let mut inner = self.inner();
        inner.stopped = true;
        self.ring(&mut inner);
    }

    fn ring(&self, inner: &mut Inner) {
        inner.rung = inner.rung.wrapping_add(1);
        self.bell.notify_all();
    }

    fn wait<'a>(
        &self,
        inner: MutexGuard<'a, Inner>,
        limit: Option<Duration>,
    ) -> MutexGuard<'a, Inner> {
        match limit {
            None => match self.bell.wait(inner) {
                Ok(inner) => inner,
                Err(poisoned) => poisoned.into_inner(),
            },
            Some(limit) => match self.bell.wait_timeout(inner, limit) {
                Ok((inner, _)) => inner,
                Err(poisoned) => poisoned.into_inner().0,
            },
        }
    }
}

impl Inner {
    fn set(&mut self, thread: usize, to: Option<Asking>) {
        if let Some(slot) = self.threads.get_mut(thread) {
            *slot = to;
        }
    }

    fn enter(&mut self, (tenant, id): Held) {
        let ids = self.waiting.entry(tenant.clone()).or_default();
        if ids.is_empty() {
            self.turns.push_back(tenant);
        }
        ids.push_back((id, Instant::now()));
    }

    fn next(&mut self) -> Option<Held> {
        let tenant = self.turns.pop_front()?;
        let ids = self.waiting.get_mut(&tenant)?;
        let (id, _) = ids.pop_front()?;
        if ids.is_empty() {
            self.waiting.remove(&tenant);
        } else {
            self.turns.push_back(tenant.clone());
        }
        Some((tenant, id))
    }

    /// Whether every thread is in the judge beyond the time limit.
    fn hangs(&self) -> bool {
        let hangs = |slot: &Option<Asking>| slot.as_ref().is_some_and(|asking| asking.overdue);
        self.threads.iter().all(hangs)
    }

    fn forget_empty(&mut self) {
        self.waiting.retain(|_, ids| !ids.is_empty());
        let waiting = &self.waiting;
        self.turns.retain(|tenant| waiting.contains_key(tenant));
    }
}

#[cfg(test)]
mod tests;
