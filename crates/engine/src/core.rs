// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the writer thread owns: the store, the state that follows from it, and the index.

mod cache;

use crate::api::Gates;
use crate::before::Before;
use crate::config::EngineConfig;
use crate::content::Content;
use crate::counts::{Counts, Integrity, Totals};
use crate::embedding::{Embedding, Made};
use crate::erase;
use crate::event::Event;
use crate::home::{Announced, Home};
use crate::index::{Index, Partition, Place};
use crate::judging::Judging;
use crate::prints::{Prints, print_of};
use crate::readers::Readers;
use crate::refusal::{Fault, Refusal, with_causes};
use crate::state::{Entry, Key, State, Tenant};
use crate::upkeep::Upkeep;
use ancile_core::{
    Broken, DerivationRecord, Digest, EntryId, IntactMemo, Micros, OriginKey, PermitId,
    PermittedCall, SessionId, TenantName, content_commitment, record_hash,
};
use ancile_ledger::LeafKind;
use ancile_screen::{Fingerprint, Screener, registrable_domain};
use ancile_store::{
    CommitError, Content as StoredPart, DamageKind, OpenError, OpenReport as StoreReport,
    ReadError, ReplayLeaf, ReplayRefusal, Store,
};
use cache::EntryCache;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

/// The keys as callers' threads see them; the writer checks again.
pub(crate) type KeyTable = Arc<RwLock<rpds::HashTrieMapSync<Digest, Key>>>;

/// The writer's belongings.
pub(crate) struct Core {
    pub(crate) store: Option<Store>,
    pub(crate) state: State,
    pub(crate) index: Index,
    pub(crate) embedding: Embedding,
    pub(crate) prints: Prints,
    pub(crate) upkeep: Upkeep,
    /// Records of a tenant in memory from which they are sealed.
    pub(crate) seal_records: u32,
    /// Sealed entries that were read last.
    read: EntryCache,
    pub(crate) screener: Option<Arc<Screener>>,
    pub(crate) judging: Judging,
    pub(crate) gates: Gates,
    pub(crate) home: Home,
    pub(crate) value_key: [u8; 32],
    /// Permits that can still be redeemed. They do not outlive the process.
    pub(crate) permits: BTreeMap<PermitId, PermittedCall>,
    pub(crate) memos: BTreeMap<TenantName, IntactMemo>,
    pub(crate) report: StoreReport,
    /// Texts of exposures that did not hold at open.
    pub(crate) problems: Vec<String>,
    pub(crate) keys: KeyTable,
    pub(crate) readers: Readers,
    pub(crate) counts: Arc<Counts>,
    /// What the open group did so far.
    pub(crate) tally: Totals,
    pub(crate) last: Micros,
    /// Millisecond and counter of the last identifier.
    pub(crate) last_id: Cell<(u64, u16)>,
    /// Changes when another connection writes to the database.
    pub(crate) data_version: i64,
    pub(crate) address: Option<String>,
    /// Held while an address is said.
    pub(crate) announced: Option<Announced>,
    /// How many erasures are on the list beside the witness.
    pub(crate) erased_listed: usize,
    /// The database's log may still hold what was erased.
    pub(crate) scrub_due: bool,
}

/// What replay builds.
struct Replay {
    embedding: Embedding,
    state: State,
    index: Index,
    problems: Vec<String>,
    /// Exposures without the texts that they commit to: right once the session is closed.
    bare: Vec<(TenantName, u64, SessionId)>,
    /// Records without content: right where they were erased.
    empty: Vec<(TenantName, u64)>,
}

impl Core {
    /// Opens the store under a home and rebuilds the state.
    pub(crate) fn open(config: &EngineConfig, before: Before) -> Result<Self, Refusal> {
        let Before {
            embedding,
            prints,
            screener,
        } = before;
        let home = Home::new(&config.home);
        let value_key = home.value_key()?;
        let (store, replay, report) = load(&home, &embedding)?;
        let keys = Arc::new(RwLock::new(replay.state.keys.clone()));
        let mut core = Self {
            store: Some(store),
            state: replay.state,
            index: replay.index,
            embedding,
            prints,
            upkeep: Upkeep::default(),
            seal_records: config.index.seal_records.get(),
            read: EntryCache::default(),
            screener,
            judging: Judging::new(&config.judging),
            gates: config.gates,
            home,
            value_key,
            permits: BTreeMap::new(),
            memos: BTreeMap::new(),
            report,
            problems: replay.problems,
            keys,
            readers: Readers::default(),
            counts: Arc::new(Counts::new()),
            tally: Totals::NONE,
            last: Micros(0),
            last_id: Cell::new((0, 0)),
            data_version: 0,
            address: None,
            announced: None,
            erased_listed: 0,
            scrub_due: false,
        };
        core.begin_upkeep()?;
        erase::reconcile(&mut core)?;
        core.count_integrity();
        Ok(core)
    }

    /// Reads what the segments list, and finds what is left to do.
    fn begin_upkeep(&mut self) -> Result<(), Refusal> {
        let tenants: Vec<(TenantName, Arc<Tenant>)> = {
            let all = self.state.tenants.iter();
            all.map(|(name, tenant)| (name.clone(), Arc::clone(tenant)))
                .collect()
        };
        for (name, _) in &tenants {
            self.list_segments(name)?;
            self.warn_of_vectors(name);
        }
        self.judging.refill(&self.state);
        let sealed: Vec<_> = tenants.iter().map(|(n, t)| (n.clone(), t.sealed)).collect();
        self.upkeep.restart(&sealed);
        for (name, tenant) in &tenants {
            for id in tenant.gone() {
                self.upkeep.purge(name, id);
            }
            if !tenant.usage.quotas.is_empty() {
                self.count_usage(name)?;
            }
        }
        self.sweep_unnamed()
    }

    /// Takes what the segments of a tenant list into the state.
    pub(crate) fn list_segments(&mut self, name: &TenantName) -> Result<(), Refusal> {
        let tenant = self.state.tenants.get(name);
        let segments = tenant.map(|t| Arc::clone(&t.segments)).unwrap_or_default();
        let mut listed = Vec::new();
        for sealed in segments.iter() {
            let store = self.store.as_ref().ok_or_else(down)?;
            match self.index.listed(store, name, &sealed.digest) {
                Ok(rows) => listed.extend(rows),
                // Recall says so; everything else goes on, and a rebuild makes it anew.
                Err(fault) => self.note_problem(format!("tenant `{name}`: {fault}")),
            }
        }
        let state = self.state.tenant_mut(name).map_err(|e| down().inside(e))?;
        listed.iter().for_each(|row| state.list(row));
        Ok(())
    }

    /// Says what was found not to hold.
    pub(crate) fn note_problem(&mut self, line: String) {
        if self.problems.len() < PROBLEMS_MAX && !self.problems.contains(&line) {
            tracing::error!(problem = line, "the store does not hold");
            self.counts.set_integrity(Integrity::Damaged);
            self.problems.push(line);
        }
    }

    /// The sealed entry at a place of the log: none if its row is gone or not what was written.
    pub(crate) fn sealed_entry(
        &self,
        tenant: &TenantName,
        seq: u64,
    ) -> Result<Option<Arc<Entry>>, Refusal> {
        if let Some(entry) = self.read.get(tenant, seq) {
            return Ok(Some(entry));
        }
        let store = self.store.as_ref().ok_or_else(down)?;
        let (body, content) = match store.read(tenant, seq) {
            Ok(leaf) if leaf.kind == LeafKind::Record => (leaf.body, leaf.content),
            Ok(_) | Err(ReadError::NoLeaf { .. }) => return Ok(None),
            Err(ReadError::Tampered {
                what: DamageKind::Content,
                ..
            }) => match store.read_body(tenant, seq) {
                Ok(body) => (body, None),
                Err(ReadError::Tampered { .. }) => return Ok(None),
                Err(fault) => return Err(down().inside(fault)),
            },
            Err(ReadError::Tampered { .. }) => return Ok(None),
            Err(fault) => return Err(down().inside(fault)),
        };
        let record = DerivationRecord::decode(&body).map_err(|e| down().inside(e))?;
        let kept = content.as_ref().map(|c| (&c.salt, c.bytes.as_slice()));
        let (mut entry, _) = entry_of((seq, record_hash(&body)), record, kept, &print_of);
        let known = self.state.tenants.get(tenant);
        if known.is_some_and(|t| t.fate(&entry.record.id).erased.is_some()) {
            entry.damaged = None;
        }
        let entry = Arc::new(entry);
        self.read.put(tenant, seq, &entry);
        Ok(Some(entry))
    }

    /// Forgets what was read of an entry that was erased, and has what the index knows removed.
    pub(crate) fn purge(&mut self, tenant: &TenantName, seq: u64, id: EntryId) {
        self.read.forget(tenant, seq);
        self.upkeep.purge(tenant, id);
    }

    /// Keeps a permit, and forgets those that can no longer be redeemed.
    pub(crate) fn keep_permit(&mut self, id: PermitId, permitted: PermittedCall, now: Micros) {
        // Identifiers come in order of time, and so do the ends of what they name.
        while let Some(oldest) = self.permits.first_entry()
            && oldest.get().expires() <= now
        {
            oldest.remove();
        }
        self.permits.insert(id, permitted);
    }

    /// The open store, for reading.
    pub(crate) fn reading(&self) -> Result<&Store, Refusal> {
        self.store.as_ref().ok_or_else(down)
    }

    /// How the open store stands.
    pub(crate) fn integrity(&self) -> Integrity {
        if !self.problems_found().is_empty() {
            Integrity::Damaged
        } else if self.upkeep.compared() {
            Integrity::Verified
        } else {
            Integrity::Pending
        }
    }

    /// Says in the counts how the open store stands, and whose it is.
    pub(crate) fn count_integrity(&self) {
        self.counts.set_integrity(self.integrity());
        self.counts.set_pending(self.state.held);
        if let Some(first) = &self.state.first {
            self.counts.set_first(first);
        }
    }

    /// The open store.
    pub(crate) fn store(&mut self) -> Result<&mut Store, Refusal> {
        self.store.as_mut().ok_or_else(down)
    }

    /// What was found edited or removed behind the store's back, a line each.
    pub(crate) fn problems_found(&self) -> Vec<String> {
        let damage = self.report.damage.iter().map(ToString::to_string);
        damage.chain(self.problems.iter().cloned()).collect()
    }

    /// Keeps in mind that an entry was found broken while the store was open.
    pub(crate) fn note_damage(&mut self, tenant: &TenantName, seq: u64, broken: Broken) {
        let line = format!(
            "tenant `{tenant}`: leaf {seq}: lineage is broken ({})",
            broken.name()
        );
        self.note_problem(line);
    }

    /// Whether the store can be used.
    pub(crate) fn is_open(&self) -> bool {
        self.store.is_some()
    }

    /// Opens the store anew after it was lost.
    pub(crate) fn ready(&mut self) -> Result<(), Refusal> {
        if self.store.is_some() {
            return Ok(());
        }
        let (mut store, replay, report) = load(&self.home, &self.embedding)?;
        if let Some(address) = &self.address {
            store.set_address(address).map_err(|e| down().inside(e))?;
        }
        self.store = Some(store);
        self.state = replay.state;
        self.index = replay.index;
        self.report = report;
        self.problems = replay.problems;
        self.permits.clear();
        self.memos.clear();
        self.read = EntryCache::default();
        self.begin_upkeep()?;
        erase::reconcile(self)?;
        self.publish();
        self.count_integrity();
        tracing::warn!("store was opened anew after a failed commit");
        Ok(())
    }

    /// Drops a store that can no longer be relied on.
    pub(crate) fn lost(&mut self, fault: &dyn std::fmt::Display) -> Refusal {
        self.store = None;
        self.tally = Totals::NONE;
        self.counts.set_integrity(Integrity::Down);
        tracing::error!(%fault, "store is lost until it opens again");
        down().inside(fault)
    }

    /// Commits the group of so many requests: log heads, checkpoint, then the witness.
    pub(crate) fn commit(&mut self, requests: usize) -> Result<(), Refusal> {
        let Some(store) = self.store.as_mut() else {
            return Err(down());
        };
        let before = store.group().group;
        self.counts.commit_begins();
        let committed = store.commit();
        let done = committed.as_ref().is_ok_and(|r| r.group() != before);
        self.counts.commit_ended(done.then_some(requests));
        match committed {
            Ok(_receipt) => {
                self.counts
                    .add(&std::mem::replace(&mut self.tally, Totals::NONE));
                if let Some(first) = &self.state.first {
                    self.counts.set_first(first);
                }
                self.index.settle();
                self.judging.committed();
                self.counts.set_pending(self.state.held);
                self.publish();
                self.list_erasures()
            }
            Err(fault) => {
                let outside = match fault {
                    CommitError::Witness { .. } => format!(
                        "the request was written but not witnessed, and does not count as done: \
                         {fault}; look whether it is there before sending it again"
                    ),
                    _ => format!("nothing of this request was kept: {fault}"),
                };
                let refusal = self.lost(&fault);
                Err(Refusal { outside, ..refusal })
            }
        }
    }

    /// Gives callers and readers what was committed.
    fn publish(&mut self) {
        self.readers.committed(&self.state);
        let mut table = match self.keys.write() {
            Ok(table) => table,
            Err(poisoned) => poisoned.into_inner(),
        };
        *table = self.state.keys.clone();
    }
}

/// Nothing can be written at this moment.
pub(crate) fn down() -> Refusal {
    Refusal::new(
        Fault::Unavailable,
        "store_unavailable",
        "the store cannot be written; nothing of this request was kept; see the log, then retry",
    )
}

fn load(home: &Home, embedding: &Embedding) -> Result<(Store, Replay, StoreReport), Refusal> {
    let mut replay = Replay {
        embedding: embedding.clone(),
        state: State::new(),
        index: Index::default(),
        problems: Vec::new(),
        bare: Vec::new(),
        empty: Vec::new(),
    };
    let (store, report) = Store::open(home.store_config()?, &mut replay).map_err(|fault| {
        let code = match fault {
            OpenError::Locked { .. } => "store_locked",
            OpenError::ReadOnly { .. } => "store_read_only",
            OpenError::Version { .. } => "store_version",
            _ => "store_refused",
        };
        Refusal::new(Fault::Unavailable, code, fault.to_string()).inside(with_causes(&fault))
    })?;
    replay.index.settle();
    replay.find_removed_texts();
    replay.find_removed_contents();
    Ok((store, replay, report))
}

impl ancile_store::Replay for Replay {
    fn sealed(&self, event: &[u8]) -> Option<u64> {
        Event::sealed_upto(event)
    }

    fn leaf(&mut self, leaf: ReplayLeaf<'_>) -> Result<(), ReplayRefusal> {
        match leaf {
            ReplayLeaf::Intact {
                tenant,
                seq,
                kind: LeafKind::Control,
                body,
                content,
                ..
            } => {
                let event = Event::decode(body).map_err(ReplayRefusal)?;
                let texts = match (&event, &content) {
                    (Event::Exposed { texts, .. }, Some(content)) => {
                        self.texts(tenant, seq, texts.as_ref(), content)
                    }
                    (
                        Event::Exposed {
                            texts: Some(_),
                            session,
                            ..
                        },
                        None,
                    ) => {
                        self.bare.push((tenant.clone(), seq, *session));
                        BTreeMap::new()
                    }
                    _ => BTreeMap::new(),
                };
                self.state
                    .apply(tenant, seq, &event, &texts)
                    .map_err(ReplayRefusal)
            }
            ReplayLeaf::Intact {
                tenant,
                seq,
                body,
                content,
                ..
            } => {
                if content.is_none() {
                    self.empty.push((tenant.clone(), seq));
                }
                self.record(tenant, seq, body, content)
            }
            ReplayLeaf::Damaged {
                tenant,
                seq,
                body: Some(body),
                ..
            } if body.first() == Some(&LEAF_RECORD) => self.record(tenant, seq, body, None),
            // What the leaf was is not known; whatever was derived from it is broken.
            ReplayLeaf::Damaged { .. } => Ok(()),
        }
    }
}

impl Replay {
    /// The texts of an exposure, if they are the ones its event commits to. Others ground nothing,
    /// which can only make decisions stricter.
    fn texts(
        &mut self,
        tenant: &TenantName,
        seq: u64,
        commitment: Option<&Digest>,
        content: &StoredPart<'_>,
    ) -> BTreeMap<usize, String> {
        let whole = commitment == Some(&content_commitment(&content.salt, content.bytes));
        match serde_json::from_slice(content.bytes) {
            Ok(texts) if whole => texts,
            _ => {
                let what = "the text of an exposure was edited; it grounds nothing";
                self.problems
                    .push(format!("tenant `{tenant}`: leaf {seq}: {what}"));
                BTreeMap::new()
            }
        }
    }

    /// Lists the exposures of open sessions whose texts are gone. They ground nothing.
    fn find_removed_texts(&mut self) {
        for (name, seq, session) in std::mem::take(&mut self.bare) {
            let tenant = self.state.tenants.get(&name);
            let open = tenant.and_then(|t| t.sessions.get(&session));
            if open.is_some_and(|s| !s.closed) {
                let what = "the text of an exposure was removed; it grounds nothing";
                self.problems
                    .push(format!("tenant `{name}`: leaf {seq}: {what}"));
            }
        }
    }

    /// Lists the records whose content is gone and that nobody erased.
    fn find_removed_contents(&mut self) {
        for (name, seq) in std::mem::take(&mut self.empty) {
            let tenant = self.state.tenants.get(&name);
            let erased = tenant.is_some_and(|t| {
                let entry = t.entries.get(&seq);
                entry.is_some_and(|e| t.fate(&e.record.id).erased.is_some())
            });
            if !erased {
                let what = "its content was removed";
                self.problems
                    .push(format!("tenant `{name}`: leaf {seq}: {what}"));
            }
        }
    }

    fn record(
        &mut self,
        tenant: &TenantName,
        seq: u64,
        body: &[u8],
        content: Option<StoredPart<'_>>,
    ) -> Result<(), ReplayRefusal> {
        let record = DerivationRecord::decode(body)
            .map_err(|e| ReplayRefusal(format!("record {seq}: {e}")))?;
        let bytes = content.as_ref().map(|c| (&c.salt, c.bytes));
        let (entry, text) = entry_of((seq, record_hash(body)), record, bytes, &print_of);
        if let Some(text) = text {
            let vector = self.embedding.vector(&text);
            index_entry(&mut self.index, &entry, &text, &vector);
        }
        self.state.add_record(tenant, entry).map_err(ReplayRefusal)
    }
}

/// Most broken entries kept in mind.
const PROBLEMS_MAX: usize = 100;
/// First byte of a record leaf.
const LEAF_RECORD: u8 = 1;

/// An entry from its place, its hash and its record; content that is gone or edited leaves it
/// damaged.
pub(crate) fn entry_of(
    (seq, hash): (u64, Digest),
    record: DerivationRecord,
    content: Option<(&ancile_core::Salt, &[u8])>,
    print: &dyn Fn(&str) -> Arc<Fingerprint>,
) -> (Entry, Option<String>) {
    let intact = content
        .filter(|(salt, bytes)| content_commitment(salt, bytes) == record.commitment)
        .and_then(|(_, bytes)| Content::decode(record.kind, bytes).ok());
    let damaged = intact.is_none().then_some(Broken::ContentEdited);
    let (text, task) = intact.map_or((None, None), |c| (Some(c.text), c.task));
    let part = registrable_domain(&record.origin.locator)
        .unwrap_or_else(|| record.origin.locator.to_string());
    let origin = OriginKey {
        channel: record.origin.channel,
        principal: record.origin.principal.clone(),
        part: part.into(),
    };
    let entry = Entry {
        seq,
        hash,
        origin,
        fingerprint: print(text.as_deref().unwrap_or_default()),
        tokens: crate::recall::tokens_of(text.as_deref().unwrap_or_default()),
        bytes: content.map_or(0, |(_, b)| u32::try_from(b.len()).unwrap_or(u32::MAX)),
        damaged,
        task,
        record: Arc::new(record),
    };
    (entry, text)
}

/// Puts an entry's text into its partition.
pub(crate) fn index_entry(index: &mut Index, entry: &Entry, text: &str, vector: &Made) {
    index.add(place_of(entry), entry.seq, text, vector);
}

/// The partition that an entry's text is in.
pub(crate) fn place_of(entry: &Entry) -> Place {
    let record = &entry.record;
    let side = Partition::of(record.class);
    (record.tenant.clone(), record.namespace.clone(), side)
}
