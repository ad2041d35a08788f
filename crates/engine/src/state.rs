// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state: what follows from the logs. It is rebuilt from them at open, changes only by
//! [`State::apply`] and [`State::add_record`], and its clone is cheap, so that a savepoint is a
//! clone.

mod answers;
mod apply;
mod held;
mod refusals;
mod usage;

pub(crate) use answers::Answers;
pub(crate) use refusals::Refusals;
pub(crate) use usage::{Most, Piece, Scope, Usage, whose};

use crate::api::{ApprovalState, KeySpec, TaskSpec, ToolMode};
use crate::endorse::Endorsement;
use crate::erase::ErasedLine;
use crate::event::{Decided, Event, Parked};
use crate::index::Partition;
use crate::judging::Judgement;
use crate::session::Session;
use ancile_core::{
    ApprovalId, AuthorityClass, Broken, DerivationRecord, Digest, EntryId, EntryKind, MandateId,
    Micros, NamespaceName, OriginKey, PermitId, PolicyView, PrincipalName, RootSet, SessionId,
    SourceField, SourceName, SourceState, TenantName, ToolName,
};
use ancile_policy::{MandateDraft, MandateSet, Manifest};
use ancile_screen::Fingerprint;
use ancile_store::segment::{QUARANTINED, Row, TASK};
use rpds::{HashTrieMapSync, HashTrieSetSync, RedBlackTreeMapSync, VectorSync};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Length of a key's id, in hexadecimal digits of its hash.
pub(crate) const KEY_ID_CHARS: usize = 16;

/// A key, under the hash of its token.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub hash: Digest,
    pub tenant: TenantName,
    pub spec: KeySpec,
    pub revoked: bool,
}

impl Key {
    /// Whether it can be used at a moment.
    pub(crate) fn works_at(&self, now: Micros) -> bool {
        !self.revoked && self.spec.expires.is_none_or(|at| now < at)
    }

    /// The id that lists and revocation use.
    pub(crate) fn id(&self) -> String {
        self.hash.to_string().chars().take(KEY_ID_CHARS).collect()
    }
}

/// Who may read and write a namespace; an empty list stands for every key that reaches it.
#[derive(Debug, Clone)]
pub(crate) struct Namespace {
    pub readers: Vec<PrincipalName>,
    pub writers: Vec<PrincipalName>,
}

/// A mandate with its count.
#[derive(Debug, Clone)]
pub(crate) struct MandateRow {
    pub draft: Arc<MandateDraft>,
    pub uses: u32,
    pub revoked: bool,
}

/// A registered source.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceRow {
    pub tools: Vec<ToolName>,
    pub fields: BTreeMap<SourceField, SourceState>,
}

/// How the reason begins for an entry whose lineage is broken.
pub(crate) const SHELF_LINEAGE: &str = "lineage:";

/// Why an entry is on the shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shelf {
    pub reason: String,
    pub rules: Vec<String>,
    pub at: Micros,
    /// The parts of the text that alone are on the shelf; all of it where there are none.
    pub parts: Vec<Range<usize>>,
}

impl Shelf {
    /// Why an entry is on the shelf that screening put there.
    fn at_write(record: &DerivationRecord) -> Self {
        Self {
            reason: "screening at write".to_owned(),
            rules: record
                .screening
                .rules
                .iter()
                .map(ToString::to_string)
                .collect(),
            at: record.created,
            parts: Vec::new(),
        }
    }
}

/// An entry that was written to stand in the place of another, as the log says.
#[derive(Debug, Clone)]
pub(crate) struct Replacement {
    pub by: EntryId,
    pub class: AuthorityClass,
    pub roots: RootSet,
    pub same_origin: bool,
}

/// What became of an entry after it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    /// Why a later event put all of it on the shelf.
    pub shelf: Option<Arc<Shelf>>,
    /// Why parts of its text are there, whatever becomes of the whole meanwhile.
    pub parts: Option<Arc<Shelf>>,
    pub discarded: bool,
    /// A person let it be recalled although it looks like an instruction.
    pub released: bool,
    /// How often a task ran.
    pub fired: u32,
    /// When a task last ran.
    pub last_fired: Option<Micros>,
    /// A person had a task fire no more.
    pub cancelled: bool,
    /// When its content was destroyed.
    pub erased: Option<Micros>,
    /// It went to make room under a quota, and nobody asked for that.
    pub evicted: bool,
    /// It was in use when it was erased: it still stands in the place of what it replaced.
    pub stood: bool,
    /// It is held until it is judged.
    pub pending: bool,
    /// What a judge said of it, where that was not to allow it.
    pub judged: Option<Arc<Judgement>>,
}

impl Fate {
    /// Whether someone took the entry off the shelf, for whatever reason.
    const fn left_the_shelf(&self) -> bool {
        self.released || self.discarded || self.erased.is_some()
    }
}

/// An entry as it was written. What became of it is its [`Fate`].
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub seq: u64,
    pub hash: Digest,
    pub record: Arc<DerivationRecord>,
    pub origin: OriginKey,
    pub fingerprint: Arc<Fingerprint>,
    pub tokens: u32,
    /// Length of its content.
    pub bytes: u32,
    pub damaged: Option<Broken>,
    pub task: Option<TaskSpec>,
}

impl Entry {
    /// When a task is due the first time, or again after it ran.
    pub(crate) fn next_due(&self, fate: &Fate) -> Option<Micros> {
        let spec = self.task.as_ref().filter(|_| !fate.cancelled)?;
        match fate.last_fired {
            None => Some(spec.due),
            Some(fired) => spec.next_due(fired),
        }
    }
}

/// A permitted call that was not reported yet, or whose echo matters.
#[derive(Debug, Clone)]
pub(crate) struct PermitRow {
    pub session: SessionId,
    pub decided: Arc<Decided>,
    pub redeemed: bool,
}

/// A parked ask.
#[derive(Debug, Clone)]
pub(crate) struct ApprovalRow {
    pub parked: Arc<Parked>,
    pub state: ApprovalState,
}

impl ApprovalRow {
    /// Where it stands at a moment, in its tenant.
    pub(crate) fn state_at(&self, tenant: &Tenant, now: Micros) -> ApprovalState {
        let open = matches!(self.state, ApprovalState::Waiting | ApprovalState::Approved);
        if open && now >= self.parked.expires {
            ApprovalState::Expired
        } else if open && !self.is_current(tenant) {
            ApprovalState::Outdated
        } else {
            self.state
        }
    }

    /// Whether manifest and policy are those that the ask was made under.
    pub(crate) fn is_current(&self, tenant: &Tenant) -> bool {
        self.parked.manifest == tenant.manifest.digest() && self.parked.epoch == tenant.epoch
    }
}

/// A segment that the log names.
#[derive(Debug, Clone)]
pub(crate) struct Sealed {
    pub namespace: NamespaceName,
    pub side: Partition,
    pub digest: Digest,
    pub rows: u32,
}

/// One tenant.
#[derive(Debug, Clone)]
pub(crate) struct Tenant {
    pub name: TenantName,
    /// Rises with every change of manifest, mandates or sources.
    pub epoch: u64,
    pub namespaces: RedBlackTreeMapSync<NamespaceName, Namespace>,
    pub manifest: Arc<Manifest>,
    pub mandates: Arc<MandateSet>,
    pub mandate_rows: RedBlackTreeMapSync<MandateId, MandateRow>,
    pub sources: RedBlackTreeMapSync<SourceName, SourceRow>,
    /// All records below this sequence number are in segments.
    pub sealed: u64,
    /// The segments, by ascending stretch of the log within each place.
    pub segments: Arc<Vec<Sealed>>,
    /// The entries that are not in segments yet.
    pub entries: RedBlackTreeMapSync<u64, Arc<Entry>>,
    pub by_id: HashTrieMapSync<EntryId, u64>,
    pub by_hash: HashTrieMapSync<Digest, u64>,
    pub replacements: HashTrieMapSync<EntryId, Vec<Replacement>>,
    /// The acts under the record hashes of the copies.
    pub endorsements: HashTrieMapSync<Digest, Arc<Endorsement>>,
    pub tasks: RedBlackTreeMapSync<u64, ()>,
    /// The entries on the quarantine shelf; ids are in order of time.
    pub shelf: RedBlackTreeMapSync<EntryId, ()>,
    /// The entries that are held until they are judged.
    pub pending: RedBlackTreeMapSync<EntryId, ()>,
    fates: HashTrieMapSync<EntryId, Fate>,
    pub sessions: RedBlackTreeMapSync<SessionId, Arc<Session>>,
    pub permits: HashTrieMapSync<PermitId, PermitRow>,
    pub approvals: RedBlackTreeMapSync<ApprovalId, ApprovalRow>,
    /// Keyed hashes of values that class 4 sessions wrote out: no source grounds them.
    pub wrote: HashTrieSetSync<Digest>,
    /// Answers kept for requests that are carried out once.
    pub answers: Answers,
    /// What was refused, or would have been.
    pub refusals: Refusals,
    /// Tools of the manifest whose decisions do not bind.
    pub log_only: HashTrieSetSync<ToolName>,
    /// What is kept, and the quotas over it.
    pub usage: Usage,
    /// How many entries of each namespace lost their content before the store was opened.
    pub lost: RedBlackTreeMapSync<NamespaceName, u32>,
}

impl Tenant {
    pub(crate) fn new(name: TenantName) -> Self {
        Self {
            name,
            epoch: 0,
            namespaces: RedBlackTreeMapSync::new_sync(),
            manifest: Arc::new(Manifest::empty()),
            mandates: Arc::new(MandateSet::new()),
            mandate_rows: RedBlackTreeMapSync::new_sync(),
            sources: RedBlackTreeMapSync::new_sync(),
            sealed: 0,
            segments: Arc::default(),
            entries: RedBlackTreeMapSync::new_sync(),
            by_id: HashTrieMapSync::new_sync(),
            by_hash: HashTrieMapSync::new_sync(),
            replacements: HashTrieMapSync::new_sync(),
            endorsements: HashTrieMapSync::new_sync(),
            tasks: RedBlackTreeMapSync::new_sync(),
            shelf: RedBlackTreeMapSync::new_sync(),
            pending: RedBlackTreeMapSync::new_sync(),
            fates: HashTrieMapSync::new_sync(),
            lost: RedBlackTreeMapSync::new_sync(),
            sessions: RedBlackTreeMapSync::new_sync(),
            permits: HashTrieMapSync::new_sync(),
            approvals: RedBlackTreeMapSync::new_sync(),
            wrote: HashTrieSetSync::new_sync(),
            answers: Answers::new(),
            refusals: Refusals::new(),
            log_only: HashTrieSetSync::new_sync(),
            usage: Usage::new(),
        }
    }

    /// The class of an entry today, as `viewer` sees it.
    pub(crate) fn class_today(&self, entry: &Entry, viewer: &PrincipalName) -> AuthorityClass {
        if entry.damaged.is_some() {
            return AuthorityClass::Untrusted;
        }
        entry
            .record
            .class
            .meet(entry.record.roots.class(self, viewer))
    }

    /// How many entries there are.
    pub(crate) fn count(&self) -> u64 {
        let sealed: u64 = self.segments.iter().map(|s| u64::from(s.rows)).sum();
        sealed.saturating_add(self.entries.size() as u64)
    }

    /// Takes what a segment lists of an entry.
    pub(crate) fn list(&mut self, row: &Row) {
        if row.flags & TASK != 0 {
            self.tasks.insert_mut(row.seq, ());
        }
        let fate = self.fate(&row.id);
        if row.flags & QUARANTINED != 0 && !fate.released && !fate.discarded {
            self.shelf.insert_mut(row.id, ());
        }
    }

    /// Whether decisions on a tool's calls bind: a tool that no manifest lists is enforced.
    pub(crate) fn tool_mode(&self, tool: &ToolName) -> ToolMode {
        if self.log_only.contains(tool) && self.manifest.tool(tool).is_some() {
            ToolMode::LogOnly
        } else {
            ToolMode::Enforce
        }
    }

    /// What became of an entry.
    pub(crate) fn fate(&self, id: &EntryId) -> Fate {
        self.fates.get(id).cloned().unwrap_or_default()
    }

    /// Why an entry is on the shelf, if it is; for all of it rather than for parts.
    pub(crate) fn shelf_of(&self, entry: &Entry) -> Option<Arc<Shelf>> {
        let fate = self.fate(&entry.record.id);
        let at_write = entry.record.screening.quarantined && !fate.left_the_shelf();
        let at_write = at_write.then(|| Arc::new(Shelf::at_write(&entry.record)));
        fate.shelf.or(at_write).or(fate.parts)
    }

    /// The parts of an entry's text that are on the shelf by themselves, and in nothing that a
    /// model or a judge is shown.
    pub(crate) fn withheld_parts(&self, id: &EntryId) -> &[Range<usize>] {
        let shelf = self.fates.get(id).and_then(|fate| fate.parts.as_ref());
        shelf.map_or(&[], |shelf| shelf.parts.as_slice())
    }

    /// Whether the entry is in use: it is not held until it is judged, whole on the shelf,
    /// discarded or erased. Whether screening put it there when it was written is known from its
    /// record or its row.
    pub(crate) fn in_use(&self, id: &EntryId, quarantined_at_write: bool) -> bool {
        let Some(fate) = self.fates.get(id) else {
            return !quarantined_at_write;
        };
        if fate.discarded || fate.pending || fate.erased.is_some() || fate.shelf.is_some() {
            return false;
        }
        // Where screening withheld parts, it did not put the whole on the shelf.
        fate.parts.is_some() || fate.released || !quarantined_at_write
    }

    /// The same of an entry that was read.
    pub(crate) fn entry_in_use(&self, entry: &Entry) -> bool {
        self.in_use(&entry.record.id, entry.record.screening.quarantined)
    }

    /// Whether another entry stands in its place today, as `viewer` sees it.
    pub(crate) fn superseded(&self, entry: &Entry, viewer: &PrincipalName) -> bool {
        self.replaced(
            &entry.record.id,
            self.class_today(entry, viewer),
            viewer,
            None,
        )
    }

    /// Whether an entry of this id and class today is superseded: by one of equal or stronger
    /// class that is in use, and in classes 3 and 4 of the same origin key. A superseder whose
    /// lineage is broken still stands: who can edit it must not bring back what it replaced. So
    /// does one that was erased. With a moment in milliseconds, only by what was made until then.
    pub(crate) fn replaced(
        &self,
        id: &EntryId,
        class: AuthorityClass,
        viewer: &PrincipalName,
        made_by: Option<u64>,
    ) -> bool {
        let broken = |id: &EntryId| {
            let shelf = self.fates.get(id).and_then(|fate| fate.shelf.as_ref());
            shelf.is_some_and(|shelf| shelf.reason.starts_with(SHELF_LINEAGE))
        };
        let stood = |id: &EntryId| self.fates.get(id).is_some_and(|fate| fate.stood);
        let list = self.replacements.get(id).into_iter().flatten();
        let mut list = list.filter(|r| made_by.is_none_or(|by| r.by.unix_ms() <= by));
        list.any(|r| {
            let by_class = r.class.meet(r.roots.class(self, viewer));
            let alike = class.covers(AuthorityClass::ApprovedSource) || r.same_origin;
            let used = self.in_use(&r.by, self.shelf.contains_key(&r.by));
            by_class.covers(class) && alike && (used || broken(&r.by) || stood(&r.by))
        })
    }

    /// The content of an entry was destroyed: it is not damaged, though its content is gone.
    fn erase(&mut self, id: &EntryId, at: Micros, stood: bool) {
        self.edit_fate(id, |fate| {
            fate.shelf = None;
            fate.parts = None;
            fate.erased = Some(at);
            fate.stood |= stood;
        });
        self.shelf.remove_mut(id);
        self.let_go(id);
        let Some(entry) = self.by_id.get(id).and_then(|seq| self.entries.get_mut(seq)) else {
            return;
        };
        if entry.damaged.is_some() {
            Arc::make_mut(entry).damaged = None;
            if let Some(lost) = self.lost.get_mut(&entry.record.namespace) {
                *lost = lost.saturating_sub(1);
            }
        }
    }

    /// The entries whose content was destroyed.
    pub(crate) fn gone(&self) -> Vec<EntryId> {
        let gone = self.fates.iter().filter(|(_, fate)| fate.erased.is_some());
        gone.map(|(id, _)| *id).collect()
    }

    fn edit_fate(&mut self, id: &EntryId, edit: impl FnOnce(&mut Fate)) {
        let mut fate = self.fate(id);
        edit(&mut fate);
        self.fates.insert_mut(*id, fate);
    }

    fn session_mut(&mut self, id: &SessionId) -> Result<&mut Session, String> {
        let session = self
            .sessions
            .get_mut(id)
            .ok_or_else(|| format!("no session {id}"))?;
        Ok(Arc::make_mut(session))
    }
}

impl PolicyView for Tenant {
    fn source(&self, field: &SourceField) -> SourceState {
        self.sources
            .get(&field.source)
            .and_then(|row| row.fields.get(field).copied())
            .unwrap_or(SourceState::None)
    }

    fn other_user(&self, _user: &PrincipalName) -> SourceState {
        SourceState::None
    }
}

/// Everything, as the logs left it.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub tenants: RedBlackTreeMapSync<TenantName, Arc<Tenant>>,
    pub keys: HashTrieMapSync<Digest, Key>,
    /// The tenant whose operator may make tenants.
    pub first: Option<TenantName>,
    /// All erasures.
    pub erased: VectorSync<ErasedLine>,
    /// How many entries are held until they are judged.
    pub held: u64,
}

impl State {
    pub(crate) fn new() -> Self {
        Self {
            tenants: RedBlackTreeMapSync::new_sync(),
            keys: HashTrieMapSync::new_sync(),
            first: None,
            erased: VectorSync::new_sync(),
            held: 0,
        }
    }

    pub(crate) fn tenant_mut(&mut self, name: &TenantName) -> Result<&mut Tenant, String> {
        let tenant = self
            .tenants
            .get_mut(name)
            .ok_or_else(|| format!("no tenant {name}"))?;
        Ok(Arc::make_mut(tenant))
    }

    /// Takes a record into the state.
    pub(crate) fn add_record(
        &mut self,
        tenant: &TenantName,
        mut entry: Entry,
    ) -> Result<(), String> {
        let tenant = self.tenant_mut(tenant)?;
        let (seq, hash, id) = (entry.seq, entry.hash, entry.record.id);
        if tenant.by_id.contains_key(&id) {
            return Err(format!("entry {id} is there twice"));
        }
        tenant.by_id.insert_mut(id, seq);
        tenant.by_hash.insert_mut(hash, seq);
        if entry.record.kind == EntryKind::Task {
            tenant.tasks.insert_mut(seq, ());
        }
        let fate = tenant.fate(&id);
        if entry.record.screening.quarantined && !fate.left_the_shelf() {
            tenant.shelf.insert_mut(id, ());
        }
        if fate.erased.is_some() {
            entry.damaged = None;
        }
        if entry.damaged.is_some() {
            let namespace = entry.record.namespace.clone();
            let lost = tenant.lost.get(&namespace).copied().unwrap_or_default();
            tenant.lost.insert_mut(namespace, lost.saturating_add(1));
        }
        tenant.entries.insert_mut(seq, Arc::new(entry));
        Ok(())
    }

    /// Takes an event into the state. `texts` are the contents of an exposure, by item.
    pub(crate) fn apply(
        &mut self,
        name: &TenantName,
        seq: u64,
        event: &Event,
        texts: &BTreeMap<usize, String>,
    ) -> Result<(), String> {
        match event {
            Event::TenantMade { .. } => {
                if self.tenants.contains_key(name) {
                    return Err(format!("tenant {name} is there twice"));
                }
                self.first.get_or_insert_with(|| name.clone());
                self.tenants
                    .insert_mut(name.clone(), Arc::new(Tenant::new(name.clone())));
                Ok(())
            }
            Event::KeyMade { hash, .. } => {
                let spec = apply::key_spec(event).ok_or("not a key")?;
                let key = Key {
                    hash: *hash,
                    tenant: name.clone(),
                    spec,
                    revoked: false,
                };
                self.keys.insert_mut(*hash, key);
                Ok(())
            }
            Event::KeyRevoked { hash } => {
                let key = self.keys.get_mut(hash).ok_or("no such key")?;
                key.revoked = true;
                Ok(())
            }
            Event::KeyEnds { hash, at } => {
                let key = self.keys.get_mut(hash).ok_or("no such key")?;
                key.spec.expires = Some(key.spec.expires.map_or(*at, |old| old.min(*at)));
                Ok(())
            }
            Event::Erased {
                entry, hash, by, ..
            } => {
                self.erased.push_back_mut(ErasedLine {
                    tenant: name.clone(),
                    entry: *entry,
                    hash: *hash,
                    by: by.clone(),
                });
                self.apply_in(name, seq, event, texts)
            }
            _ => self.apply_in(name, seq, event, texts),
        }
    }
}
