// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the index needs beside the requests: sealing what is in memory, merging segments,
//! rebuilding them, and comparing the rows that opening did not read.
//!
//! The work is done on a thread of its own, which only reads. The writer takes what it made
//! between two groups, a few pieces at a time, so that no request waits for more than a commit.
//! A segment counts once its event is in the log; until then a crash leaves pieces that nobody
//! names, and they are swept.

mod build;
mod install;
mod sessions;
#[cfg(test)]
mod tests;
mod work;

use crate::core::{Core, down};
use crate::event::{Event, SealedSegment};
use crate::index::{Partition, Place};
use crate::refusal::Refusal;
use crate::state::Tenant;
use crate::turn::{clock, internal};
use ancile_core::{Digest, EntryId, Micros, TenantName};
use ancile_ledger::NodeHash;
use build::{Late, Sealing};
use install::{Install, Kind, sealed_events, segment_of};
pub(crate) use sessions::LOOKED_EVERY_SECONDS;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::TryRecvError;
use work::{Compared, Done, Job, Worker};

/// Segments of one place and tier that are merged into one.
const MERGED_SEGMENTS: usize = 8;
/// Most entries of a merged segment.
const MERGED_ROWS_MAX: u64 = 131_072;
/// Entries below which a segment is of the lowest tier; each tier holds eight times as many.
const TIER_ROWS: u32 = 8_192;
/// Pieces written or swept in one commit: 1 MiB.
const PIECES_PER_COMMIT: u32 = 16;
/// Leaves compared in one piece of work.
const COMPARED_AT_ONCE: u64 = 65_536;

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing.
    Idle,
    /// Wait for the worker.
    Wait,
    /// Try again after a while: another program holds the database, or the like.
    Later,
    /// Go on at once.
    More,
}

/// Leaves that were not compared yet.
#[derive(Debug, Clone)]
struct Uncompared {
    tenant: TenantName,
    from: u64,
    to: u64,
}

/// The state of the upkeep.
#[derive(Default)]
pub(crate) struct Upkeep {
    worker: Option<Worker>,
    busy: bool,
    install: Option<Install>,
    uncompared: VecDeque<Uncompared>,
    sweep: VecDeque<(TenantName, Digest)>,
    /// Erased entries of which a segment may have words.
    purge: BTreeSet<(TenantName, EntryId)>,
    /// Tenants whose segments are to be made anew.
    rebuild: BTreeSet<TenantName>,
    /// Segments of the rebuild so far.
    rebuilt: Vec<SealedSegment>,
    /// Rows of the rebuild so far, and in all.
    pub progress: Option<(u64, u64)>,
    /// Whether there are other segments than when a merge was last looked for.
    installed: bool,
    /// Tenants where the last try failed; not tried again until the store is opened anew.
    failed: BTreeSet<TenantName>,
    /// When sessions are looked through again; none before the first time.
    sessions_due: Option<Micros>,
}

impl Upkeep {
    /// Whether all rows were compared with the log since the store was opened.
    pub(crate) fn compared(&self) -> bool {
        self.uncompared.is_empty()
    }

    /// Whether there is nothing left to do.
    pub(crate) fn is_idle(&self) -> bool {
        let queues = self.uncompared.is_empty() && self.sweep.is_empty() && self.rebuild.is_empty();
        queues && !self.busy && self.install.is_none()
    }

    /// Has the words of an erased entry removed from the segment that has them.
    pub(crate) fn purge(&mut self, tenant: &TenantName, id: EntryId) {
        self.purge.insert((tenant.clone(), id));
    }

    /// Starts over with a store that was opened anew.
    pub(crate) fn restart(&mut self, core_tenants: &[(TenantName, u64)]) {
        let uncompared = core_tenants.iter().filter(|(_, sealed)| *sealed > 0);
        *self = Self {
            uncompared: uncompared
                .map(|(tenant, sealed)| Uncompared {
                    tenant: tenant.clone(),
                    from: 0,
                    to: *sealed,
                })
                .collect(),
            installed: true,
            ..Self::default()
        };
    }
}

impl Core {
    /// Does a little of what is to be done, in a commit of its own.
    pub(crate) fn upkeep(&mut self) -> Next {
        if !self.is_open() {
            return Next::Idle;
        }
        let step = self.upkeep_step();
        match step {
            Ok(next) => next,
            Err(refusal) => {
                let inside = &refusal.inside;
                tracing::error!(code = refusal.code, inside, "index upkeep failed");
                if self.is_open() {
                    Next::Later
                } else {
                    Next::Idle
                }
            }
        }
    }

    fn upkeep_step(&mut self) -> Result<Next, Refusal> {
        match self.upkeep.worker.as_ref().map(Worker::take) {
            Some(Ok(done)) => {
                self.upkeep.busy = false;
                self.take_done(done);
            }
            Some(Err(TryRecvError::Disconnected)) => {
                self.upkeep.worker = None;
                self.upkeep.busy = false;
                self.give_up("its thread ended; open the store anew");
            }
            Some(Err(TryRecvError::Empty)) | None => {}
        }
        if self.upkeep.install.is_some() {
            self.install_some()?;
            return Ok(Next::More);
        }
        if self.close_old_sessions(clock())? {
            return Ok(Next::More);
        }
        if self.upkeep.busy {
            return Ok(Next::Wait);
        }
        if let Some((tenant, digest)) = self.upkeep.sweep.front().cloned() {
            let removed = self
                .store()?
                .remove_pieces(&tenant, &digest, PIECES_PER_COMMIT);
            let removed = removed.map_err(|e| internal(&e))?;
            if removed < PIECES_PER_COMMIT as usize {
                self.upkeep.sweep.pop_front();
                // Old pages may have words of what was erased.
                self.scrub_due |= !self.state.erased.is_empty();
            }
            self.commit(0)?;
            return Ok(Next::More);
        }
        let Some(job) = self.next_job()? else {
            return Ok(Next::Idle);
        };
        let dir = self.home.data().to_owned();
        let worker = match self.upkeep.worker.take() {
            Some(worker) => worker,
            None => Worker::start(dir).map_err(|e| internal(&e))?,
        };
        worker.give(job);
        self.upkeep.worker = Some(worker);
        self.upkeep.busy = true;
        Ok(Next::Wait)
    }

    /// Ends the upkeep of all tenants until the store is opened anew.
    fn give_up(&mut self, why: &str) {
        tracing::error!(why, "index upkeep ended");
        self.note_problem(format!("index: {why}"));
        self.upkeep.failed = self.state.tenants.keys().cloned().collect();
        self.upkeep.uncompared.clear();
        self.upkeep.rebuild.clear();
        self.upkeep.progress = None;
    }

    /// Whether nothing is left to be sealed, merged, made anew, swept or compared.
    pub(crate) fn is_settled(&self) -> bool {
        let sealed = |(name, id): &(TenantName, EntryId)| {
            let tenant = self.state.tenants.get(name);
            tenant.is_some_and(|tenant| !tenant.by_id.contains_key(id))
        };
        self.upkeep.is_idle()
            && self.full_tenant().is_none()
            && self.merge_wanted().is_none()
            && !self.upkeep.purge.iter().any(sealed)
    }

    /// Logs how many entries of a tenant wait for a rebuild to be found by meaning.
    pub(crate) fn warn_of_vectors(&self, name: &TenantName) {
        let tenant = self.state.tenants.get(name);
        let all = self.store.as_ref().zip(tenant).zip(self.embedding.model());
        let Some(((store, tenant), model)) = all else {
            return;
        };
        let entries = self.index.without_vectors(store, tenant, model);
        if entries > 0 {
            tracing::warn!(
                tenant = %name, entries, %model,
                "entries have no vectors of this model and are found by their words; \
                 run `ancile reindex`"
            );
        }
    }

    fn tenants_kept_up(&self) -> impl Iterator<Item = (&TenantName, &Arc<Tenant>)> {
        let failed = &self.upkeep.failed;
        let tenants = self.state.tenants.iter();
        tenants.filter(|(name, _)| !failed.contains(*name))
    }

    /// A tenant that has enough in memory to be sealed.
    fn full_tenant(&self) -> Option<TenantName> {
        let full = |tenant: &Tenant| tenant.entries.size() >= self.seal_records as usize;
        let mut tenants = self.tenants_kept_up();
        tenants.find_map(|(name, tenant)| full(tenant).then(|| name.clone()))
    }

    /// A segment that has words of erased entries, made anew without them. Erased entries of which
    /// nothing is left are forgotten; those on their way into a segment wait until they are in it.
    fn purge_job(&mut self) -> Result<Option<Job>, Refusal> {
        let store = self.store.as_ref().ok_or_else(down)?;
        let mut job: Option<(Place, Digest, BTreeSet<u64>)> = None;
        let mut done = Vec::new();
        for (name, id) in &self.upkeep.purge {
            let Some(tenant) = self
                .state
                .tenants
                .get(name)
                .filter(|t| !t.by_id.contains_key(id))
            else {
                continue;
            };
            let found = self.index.remnant(store, tenant, id);
            match (found.map_err(|fault| internal(&fault))?, &mut job) {
                (None, _) => done.push((name.clone(), *id)),
                (Some((digest, seq)), Some((place, of, seqs))) => {
                    if place.0 == *name && *of == digest {
                        seqs.insert(seq);
                    }
                }
                (Some((digest, seq)), job) => {
                    let sealed = tenant.segments.iter().find(|s| s.digest == digest);
                    *job = sealed.map(|s| {
                        let place = (name.clone(), s.namespace.clone(), s.side);
                        (place, digest, BTreeSet::from([seq]))
                    });
                }
            }
        }
        for one in done {
            self.upkeep.purge.remove(&one);
        }
        Ok(job.map(|(place, digest, erased)| Job::Merge {
            tenant: place.0.clone(),
            place,
            of: vec![digest],
            erased,
        }))
    }

    fn merge_wanted(&self) -> Option<Job> {
        self.tenants_kept_up().find_map(|(name, tenant)| {
            let (place, of) = merge_of(tenant)?;
            let tenant = name.clone();
            Some(Job::Merge {
                tenant,
                place,
                of,
                erased: BTreeSet::new(),
            })
        })
    }

    /// What the worker should do next.
    fn next_job(&mut self) -> Result<Option<Job>, Refusal> {
        if let Some(tenant) = self.full_tenant() {
            return self.seal_job(&tenant).map(Some);
        }
        if let Some(purge) = self.purge_job()? {
            return Ok(Some(purge));
        }
        if std::mem::take(&mut self.upkeep.installed)
            && let Some(merge) = self.merge_wanted()
        {
            return Ok(Some(merge));
        }
        if let Some(tenant) = self.upkeep.rebuild.pop_first() {
            return self.rebuild_job(tenant).map(Some);
        }
        let Some(Uncompared { tenant, from, to }) = self.upkeep.uncompared.front().cloned() else {
            return Ok(None);
        };
        let until = to.min(from.saturating_add(COMPARED_AT_ONCE));
        let leaves = self.leaves(&tenant, (from, until))?;
        Ok(Some(Job::Compare {
            tenant,
            from,
            leaves,
        }))
    }

    fn leaves(&mut self, tenant: &TenantName, range: (u64, u64)) -> Result<Vec<NodeHash>, Refusal> {
        Ok(self.store()?.leaves(tenant, range).collect())
    }

    fn seal_job(&mut self, name: &TenantName) -> Result<Job, Refusal> {
        let upto = self.store()?.size(name);
        let tenant = self.state.tenants.get(name);
        let tenant = tenant.ok_or_else(|| internal(&"no such tenant"))?;
        let mut entries: BTreeMap<Place, Vec<_>> = BTreeMap::new();
        for (_, entry) in &tenant.entries {
            let record = &entry.record;
            let place = (
                name.clone(),
                record.namespace.clone(),
                Partition::of(record.class),
            );
            entries.entry(place).or_default().push(Arc::clone(entry));
        }
        let mut tails = self.index.freeze(name);
        let parts: Vec<Sealing> = entries
            .into_iter()
            .map(|(place, entries)| {
                let tail = tails.remove(&place).unwrap_or_default();
                (place, entries, tail)
            })
            .collect();
        let late = self.unmade(name, &parts)?;
        Ok(Job::Seal {
            tenant: name.clone(),
            upto,
            parts,
            late,
            embedding: self.embedding.clone(),
        })
    }

    /// Texts that are to be sealed and on which the model failed: it gets another try.
    fn unmade(&mut self, name: &TenantName, parts: &[Sealing]) -> Result<Late, Refusal> {
        let tails = parts.iter().flat_map(|(_, _, tails)| tails.iter());
        let mut late = Late::new();
        for seq in tails.flat_map(|tail| tail.unmade.iter().copied()) {
            let leaves = self.leaves(name, (seq, seq.saturating_add(1)))?;
            late.extend(leaves.first().map(|leaf| (seq, *leaf)));
        }
        Ok(late)
    }

    fn rebuild_job(&mut self, tenant: TenantName) -> Result<Job, Refusal> {
        let upto = self.state.tenants.get(&tenant).map_or(0, |t| t.sealed);
        let leaves = self.leaves(&tenant, (0, upto))?;
        self.upkeep.progress = Some((0, upto));
        Ok(Job::Rebuild {
            tenant,
            leaves,
            embedding: self.embedding.clone(),
        })
    }

    /// Takes what the worker did.
    fn take_done(&mut self, done: Done) {
        match done {
            Done::Sealed { tenant, upto, made } => {
                let segments: Vec<SealedSegment> = made.iter().map(segment_of).collect();
                self.upkeep.install = Some(Install {
                    events: sealed_events(&segments, upto, false),
                    kind: Kind::Seal,
                    ..Install::new(tenant, &made)
                });
            }
            Done::Merged { tenant, of, made } => {
                let into = segment_of(&made);
                self.upkeep.install = Some(Install {
                    events: vec![Event::SegmentsMerged {
                        of: of.clone(),
                        into,
                    }],
                    gone: of,
                    ..Install::new(tenant, &[made])
                });
            }
            Done::Rebuilt {
                tenant,
                made,
                upto,
                last,
            } => {
                self.upkeep.busy = !last;
                self.upkeep.progress = Some((upto, self.rebuilt_rows(&tenant)));
                let segments = made.iter().map(segment_of);
                self.upkeep.rebuilt.extend(segments);
                let mut install = Install::new(tenant, &made);
                if last {
                    let segments = std::mem::take(&mut self.upkeep.rebuilt);
                    install.gone = self.segments_but(&install.tenant, &segments);
                    install.events = sealed_events(&segments, upto, true);
                    install.kind = Kind::Rebuild;
                    self.upkeep.progress = None;
                }
                self.upkeep.install = Some(install);
            }
            Done::Rebuilding { tenant, upto } => {
                self.upkeep.busy = true;
                self.upkeep.progress = Some((upto, self.rebuilt_rows(&tenant)));
            }
            Done::Compared { tenant, found, to } => {
                for (seq, what) in found {
                    self.note_place(&tenant, seq, &what);
                }
                if let Some(front) = self.upkeep.uncompared.front_mut() {
                    front.from = to;
                    if front.from >= front.to {
                        self.upkeep.uncompared.pop_front();
                    }
                }
                if self.upkeep.uncompared.is_empty() {
                    tracing::info!(%tenant, "all rows were compared with the log");
                    self.count_integrity();
                }
            }
            Done::Failed { tenant, fault } => {
                tracing::error!(%tenant, fault, "index upkeep failed; run `ancile reindex`");
                self.note_problem(format!("tenant `{tenant}`: index: {fault}"));
                self.upkeep.uncompared.retain(|one| one.tenant != tenant);
                self.upkeep.failed.insert(tenant);
                self.upkeep.progress = None;
            }
        }
    }

    /// Notes that a place of a log is not as it was written. A record without content is right
    /// where it was erased.
    fn note_place(&mut self, tenant: &TenantName, seq: u64, what: &Compared) {
        let what = match what {
            Compared::Damaged(what) => what.to_string(),
            Compared::Bare => match self.sealed_entry(tenant, seq) {
                Ok(Some(entry)) if entry.damaged.is_none() => return,
                _ => "its content was removed".to_owned(),
            },
        };
        self.note_problem(format!("tenant `{tenant}`: leaf {seq}: {what}"));
    }

    /// Records of a tenant that a rebuild goes through.
    fn rebuilt_rows(&self, tenant: &TenantName) -> u64 {
        self.state.tenants.get(tenant).map_or(0, |t| t.sealed)
    }

    /// The segments of a tenant that are not among these.
    fn segments_but(&self, tenant: &TenantName, kept: &[SealedSegment]) -> Vec<Digest> {
        let kept: BTreeSet<Digest> = kept.iter().map(|s| s.digest).collect();
        let known = self.state.tenants.get(tenant);
        let all = known.into_iter().flat_map(|t| t.segments.iter());
        all.map(|s| s.digest)
            .filter(|digest| !kept.contains(digest))
            .collect()
    }

    /// Makes all segments of a tenant anew, from the log, with today's model.
    pub(crate) fn reindex(&mut self, tenant: &TenantName) {
        self.upkeep.failed.remove(tenant);
        self.upkeep.rebuild.insert(tenant.clone());
        self.upkeep.progress = Some((0, self.rebuilt_rows(tenant)));
    }

    /// Sweeps pieces that no event names: left by a crash.
    pub(crate) fn sweep_unnamed(&mut self) -> Result<(), Refusal> {
        let tenants: Vec<(TenantName, Arc<Tenant>)> = {
            let all = self.state.tenants.iter();
            all.map(|(name, tenant)| (name.clone(), Arc::clone(tenant)))
                .collect()
        };
        for (name, tenant) in tenants {
            let named: BTreeSet<Digest> = tenant.segments.iter().map(|s| s.digest).collect();
            let stored = self
                .store()?
                .segments_stored(&name)
                .map_err(|e| internal(&e))?;
            let unnamed = stored.into_iter().filter(|digest| !named.contains(digest));
            self.upkeep
                .sweep
                .extend(unnamed.map(|digest| (name.clone(), digest)));
        }
        Ok(())
    }
}

/// Segments next to each other in one place, of one tier, that are to be merged.
fn merge_of(tenant: &Tenant) -> Option<(Place, Vec<Digest>)> {
    let tier = |rows: u32| {
        rows.checked_div(TIER_ROWS)
            .map_or(0, |n| n.checked_ilog(8).map_or(0, |l| l + 1))
    };
    let mut runs: BTreeMap<Place, Vec<&crate::state::Sealed>> = BTreeMap::new();
    for sealed in tenant.segments.iter() {
        let place = (tenant.name.clone(), sealed.namespace.clone(), sealed.side);
        let run = runs.entry(place.clone()).or_default();
        if run
            .last()
            .is_some_and(|last| tier(last.rows) != tier(sealed.rows))
        {
            run.clear();
        }
        run.push(sealed);
        let rows: u64 = run.iter().map(|s| u64::from(s.rows)).sum();
        if run.len() == MERGED_SEGMENTS && rows <= MERGED_ROWS_MAX {
            return Some((place, run.iter().map(|s| s.digest).collect()));
        }
        if run.len() == MERGED_SEGMENTS {
            run.clear();
        }
    }
    None
}
