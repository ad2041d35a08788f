// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state: what follows from the logs. It is rebuilt from them at open, changes only by
//! [`State::apply`] and [`State::add_record`], and its clone is cheap, so that a savepoint is a
//! clone.

use crate::api::{ApprovalState, KeySpec, SessionSpec, TaskSpec};
use crate::event::{Decided, Event, Parked, Shown};
use crate::session::Session;
use ancile_core::{
    ApprovalId, AuthorityClass, Broken, Decision, DerivationRecord, Digest, EntryId, EntryKind,
    MandateId, Micros, NamespaceName, OriginKey, PermitId, PolicyView, PrincipalName, SessionId,
    SessionMode, SourceField, SourceName, SourceState, TenantName, ToolName,
};
use ancile_policy::{Mandate, MandateDraft, MandateSet, Manifest};
use ancile_screen::Fingerprint;
use rpds::{HashTrieMapSync, HashTrieSetSync, RedBlackTreeMapSync};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A key, under the hash of its token.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub hash: Digest,
    pub tenant: TenantName,
    pub spec: KeySpec,
    pub revoked: bool,
}

impl Key {
    /// The id that lists and revocation use.
    pub(crate) fn id(&self) -> String {
        self.hash.to_string().chars().take(16).collect()
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
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    pub reason: String,
    pub rules: Vec<String>,
    pub at: Micros,
}

/// A task's clock.
#[derive(Debug, Clone)]
pub(crate) struct TaskRow {
    pub spec: TaskSpec,
    pub fired: u32,
    pub next_due: Option<Micros>,
}

/// An entry, as its record and later events left it.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub seq: u64,
    pub hash: Digest,
    pub record: Arc<DerivationRecord>,
    pub origin: OriginKey,
    pub fingerprint: Arc<Fingerprint>,
    pub tokens: u32,
    pub shelf: Option<Arc<Shelf>>,
    pub discarded: bool,
    pub damaged: Option<Broken>,
    pub task: Option<TaskRow>,
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
    /// Where it stands at a moment.
    pub(crate) fn state_at(&self, now: Micros) -> ApprovalState {
        match self.state {
            ApprovalState::Waiting | ApprovalState::Approved if now >= self.parked.expires => {
                ApprovalState::Expired
            }
            state => state,
        }
    }
}

/// One tenant.
#[derive(Debug, Clone)]
pub(crate) struct Tenant {
    /// Rises with every change of manifest, mandates or sources.
    pub epoch: u64,
    pub namespaces: RedBlackTreeMapSync<NamespaceName, Namespace>,
    pub manifest: Arc<Manifest>,
    pub mandates: Arc<MandateSet>,
    pub mandate_rows: RedBlackTreeMapSync<MandateId, MandateRow>,
    pub sources: RedBlackTreeMapSync<SourceName, SourceRow>,
    pub entries: RedBlackTreeMapSync<u64, Arc<Entry>>,
    pub by_id: HashTrieMapSync<EntryId, u64>,
    pub by_hash: HashTrieMapSync<Digest, u64>,
    pub superseders: HashTrieMapSync<Digest, Vec<u64>>,
    pub tasks: RedBlackTreeMapSync<u64, ()>,
    pub shelf: RedBlackTreeMapSync<u64, ()>,
    pub sessions: HashTrieMapSync<SessionId, Arc<Session>>,
    pub permits: HashTrieMapSync<PermitId, PermitRow>,
    pub approvals: RedBlackTreeMapSync<ApprovalId, ApprovalRow>,
    /// Keyed hashes of values that class 4 sessions wrote out: no source grounds them.
    pub wrote: HashTrieSetSync<Digest>,
    /// Records whose rows are gone, or are not what was written: their entries are not known.
    lost_records: u64,
}

impl Tenant {
    fn new() -> Self {
        Self {
            epoch: 0,
            namespaces: RedBlackTreeMapSync::new_sync(),
            manifest: Arc::new(Manifest::empty()),
            mandates: Arc::new(MandateSet::new()),
            mandate_rows: RedBlackTreeMapSync::new_sync(),
            sources: RedBlackTreeMapSync::new_sync(),
            entries: RedBlackTreeMapSync::new_sync(),
            by_id: HashTrieMapSync::new_sync(),
            by_hash: HashTrieMapSync::new_sync(),
            superseders: HashTrieMapSync::new_sync(),
            tasks: RedBlackTreeMapSync::new_sync(),
            shelf: RedBlackTreeMapSync::new_sync(),
            sessions: HashTrieMapSync::new_sync(),
            permits: HashTrieMapSync::new_sync(),
            approvals: RedBlackTreeMapSync::new_sync(),
            wrote: HashTrieSetSync::new_sync(),
            lost_records: 0,
        }
    }

    pub(crate) fn entry(&self, id: &EntryId) -> Option<&Arc<Entry>> {
        self.by_id.get(id).and_then(|seq| self.entries.get(seq))
    }

    pub(crate) fn entry_by_hash(&self, hash: &Digest) -> Option<&Arc<Entry>> {
        self.by_hash.get(hash).and_then(|seq| self.entries.get(seq))
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

    /// Whether another entry stands in its place today, as `viewer` sees it: one of equal or
    /// stronger class that can itself be recalled, and in classes 3 and 4 of the same origin key.
    pub(crate) fn superseded(&self, entry: &Entry, viewer: &PrincipalName) -> bool {
        let Some(superseders) = self.superseders.get(&entry.hash) else {
            return false;
        };
        let class = self.class_today(entry, viewer);
        superseders
            .iter()
            .filter_map(|seq| self.entries.get(seq))
            .any(|by| {
                // A broken superseder still stands: who can edit it must not bring back what it
                // replaced.
                let broken = by.damaged.is_some()
                    || by
                        .shelf
                        .as_ref()
                        .is_some_and(|s| s.reason.starts_with(SHELF_LINEAGE));
                let stands = broken || (by.shelf.is_none() && !by.discarded);
                let by_class = by.record.class.meet(by.record.roots.class(self, viewer));
                let alike =
                    class.covers(AuthorityClass::ApprovedSource) || by.origin == entry.origin;
                stands && by_class.covers(class) && alike
            })
    }

    fn edit_entry(&mut self, id: &EntryId, edit: impl FnOnce(&mut Entry)) -> Result<u64, String> {
        let seq = *self.by_id.get(id).ok_or_else(|| format!("no entry {id}"))?;
        let entry = self
            .entries
            .get_mut(&seq)
            .ok_or_else(|| format!("no entry {id}"))?;
        edit(Arc::make_mut(entry));
        Ok(seq)
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
}

impl State {
    pub(crate) fn new() -> Self {
        Self {
            tenants: RedBlackTreeMapSync::new_sync(),
            keys: HashTrieMapSync::new_sync(),
            first: None,
        }
    }

    fn tenant_mut(&mut self, name: &TenantName) -> Result<&mut Tenant, String> {
        let tenant = self
            .tenants
            .get_mut(name)
            .ok_or_else(|| format!("no tenant {name}"))?;
        Ok(Arc::make_mut(tenant))
    }

    /// Notes a leaf that is gone or not what was written. Of control leaves there is none: the
    /// store does not open then.
    pub(crate) fn lose_record(&mut self, tenant: &TenantName) {
        if let Ok(tenant) = self.tenant_mut(tenant) {
            tenant.lost_records = tenant.lost_records.saturating_add(1);
        }
    }

    /// Takes a record into the state.
    pub(crate) fn add_record(&mut self, tenant: &TenantName, entry: Entry) -> Result<(), String> {
        let tenant = self.tenant_mut(tenant)?;
        let (seq, hash, id) = (entry.seq, entry.hash, entry.record.id);
        if tenant.by_id.contains_key(&id) {
            return Err(format!("entry {id} is there twice"));
        }
        tenant.by_id.insert_mut(id, seq);
        tenant.by_hash.insert_mut(hash, seq);
        if let Some(old) = entry.record.supersedes {
            let mut list = tenant.superseders.get(&old).cloned().unwrap_or_default();
            list.push(seq);
            tenant.superseders.insert_mut(old, list);
        }
        if entry.record.kind == EntryKind::Task {
            tenant.tasks.insert_mut(seq, ());
        }
        if entry.shelf.is_some() {
            tenant.shelf.insert_mut(seq, ());
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
                    .insert_mut(name.clone(), Arc::new(Tenant::new()));
                Ok(())
            }
            Event::KeyMade { hash, .. } => {
                let spec = key_spec(event).ok_or("not a key")?;
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
            _ => self.tenant_mut(name)?.apply(seq, event, texts),
        }
    }
}

fn key_spec(event: &Event) -> Option<KeySpec> {
    let Event::KeyMade {
        principal,
        role,
        namespaces,
        channels,
        agent,
        relays_user,
        expires,
        ..
    } = event
    else {
        return None;
    };
    Some(KeySpec {
        principal: principal.clone(),
        role: *role,
        namespaces: namespaces.clone(),
        channels: channels.clone(),
        agent: agent.clone(),
        relays_user: *relays_user,
        expires: *expires,
    })
}

impl Tenant {
    fn apply(
        &mut self,
        seq: u64,
        event: &Event,
        texts: &BTreeMap<usize, String>,
    ) -> Result<(), String> {
        match event {
            Event::TenantMade { .. } | Event::KeyMade { .. } | Event::KeyRevoked { .. } => {
                Err("event belongs to the whole store".to_owned())
            }
            Event::NamespaceMade {
                name,
                readers,
                writers,
            } => {
                let namespace = Namespace {
                    readers: readers.clone(),
                    writers: writers.clone(),
                };
                self.namespaces.insert_mut(name.clone(), namespace);
                Ok(())
            }
            Event::ManifestSet { .. }
            | Event::MandateGranted { .. }
            | Event::MandateRevoked { .. }
            | Event::SourceRegistered { .. }
            | Event::SourceGraded { .. } => self.apply_policy(event),
            Event::SessionOpened { .. }
            | Event::SessionClosed { .. }
            | Event::Exposed { .. }
            | Event::NotShown { .. } => self.apply_session(seq, event, texts),
            Event::Decided(decided) => self.apply_decided(decided),
            Event::Redeemed { permit } => {
                let row = self.permits.get_mut(permit).ok_or("no such permit")?;
                row.redeemed = true;
                Ok(())
            }
            Event::Parked(parked) => {
                self.session_mut(&parked.session)?.asks.push(parked.id);
                let row = ApprovalRow {
                    parked: Arc::new(parked.clone()),
                    state: ApprovalState::Waiting,
                };
                self.approvals.insert_mut(parked.id, row);
                Ok(())
            }
            Event::ApprovalAnswered { id, approved, .. } => {
                let row = self.approvals.get_mut(id).ok_or("no such approval")?;
                row.state = if *approved {
                    ApprovalState::Approved
                } else {
                    ApprovalState::Denied
                };
                Ok(())
            }
            Event::Quarantined { .. }
            | Event::Released { .. }
            | Event::Discarded { .. }
            | Event::Fired { .. } => self.apply_entry(event),
        }
    }

    fn apply_policy(&mut self, event: &Event) -> Result<(), String> {
        // One more mandate weakens nothing, so that permits and asks stand.
        if !matches!(
            event,
            Event::MandateGranted { .. } | Event::SourceRegistered { .. }
        ) {
            self.epoch = self.epoch.saturating_add(1);
        }
        match event {
            Event::ManifestSet { json, .. } => {
                self.manifest = Arc::new(Manifest::parse(json).map_err(|e| e.to_string())?);
            }
            Event::MandateGranted { draft, manifest } => {
                let draft = MandateDraft::from_json(draft).map_err(|e| e.to_string())?;
                let row = MandateRow {
                    draft: Arc::new(draft.clone()),
                    uses: 0,
                    revoked: false,
                };
                self.mandate_rows.insert_mut(draft.id, row);
                if *manifest != self.manifest.digest() {
                    return Err("mandate was made for another manifest".to_owned());
                }
                let mandate = Mandate::parse(draft, &self.manifest, &crate::Canon)
                    .map_err(|e| e.to_string())?;
                Arc::make_mut(&mut self.mandates)
                    .insert(mandate)
                    .map_err(|e| e.to_string())?;
            }
            Event::MandateRevoked { id, .. } => {
                let row = self.mandate_rows.get_mut(id).ok_or("no such mandate")?;
                row.revoked = true;
                Arc::make_mut(&mut self.mandates).remove(*id);
            }
            Event::SourceRegistered { name, tools } => {
                let mut row = self.sources.get(name).cloned().unwrap_or_default();
                row.tools.extend(tools.iter().cloned());
                self.sources.insert_mut(name.clone(), row);
            }
            Event::SourceGraded { field, state, .. } => {
                let row = self
                    .sources
                    .get_mut(&field.source)
                    .ok_or("no such source")?;
                row.fields.insert(field.clone(), *state);
            }
            _ => return Err("not a policy event".to_owned()),
        }
        Ok(())
    }

    fn apply_session(
        &mut self,
        seq: u64,
        event: &Event,
        texts: &BTreeMap<usize, String>,
    ) -> Result<(), String> {
        match event {
            Event::SessionOpened {
                id,
                token,
                host,
                agent,
                user,
                namespace,
                interactive,
                observed,
                task,
            } => {
                let mode = if *interactive {
                    SessionMode::Interactive
                } else {
                    SessionMode::Headless
                };
                let spec = SessionSpec {
                    agent: agent.clone(),
                    user: user.clone(),
                    namespace: namespace.clone(),
                    mode,
                    observed: *observed,
                };
                let session = Session::new(*id, spec, host.clone(), *token, *task);
                self.sessions.insert_mut(*id, Arc::new(session));
            }
            Event::SessionClosed { id } => self.session_mut(id)?.closed = true,
            Event::Exposed {
                session,
                items,
                result_of,
                ..
            } => {
                let session = self.session_mut(session)?;
                if let Some(permit) = result_of {
                    session.outstanding.remove(permit);
                }
                if !texts.is_empty() {
                    session.text_leaves.push(seq);
                }
                for (at, item) in items.iter().enumerate() {
                    session.expose(item, texts.get(&at).map(String::as_str))?;
                }
            }
            Event::NotShown { session, permit } => {
                self.session_mut(session)?.outstanding.remove(permit);
            }
            _ => return Err("not a session event".to_owned()),
        }
        Ok(())
    }

    fn apply_decided(&mut self, decided: &Decided) -> Result<(), String> {
        if let Some(permit) = decided.permit {
            self.session_mut(&decided.session)?
                .outstanding
                .insert(permit);
            let row = PermitRow {
                session: decided.session,
                decided: Arc::new(decided.clone()),
                redeemed: false,
            };
            self.permits.insert_mut(permit, row);
            decided
                .wrote
                .iter()
                .for_each(|value| self.wrote.insert_mut(*value));
        }
        if let (Some(mandate), Some(_)) = (decided.mandate, decided.permit) {
            let row = self
                .mandate_rows
                .get_mut(&mandate)
                .ok_or("no such mandate")?;
            row.uses = row.uses.saturating_add(1);
        }
        if let Some(approval) = decided.approval {
            let row = self
                .approvals
                .get_mut(&approval)
                .ok_or("no such approval")?;
            row.state = ApprovalState::Used;
        }
        Ok(())
    }

    /// An event about an entry whose record is lost has nothing left to change.
    fn apply_entry(&mut self, event: &Event) -> Result<(), String> {
        let (Event::Quarantined { entry: id, .. }
        | Event::Released { entry: id, .. }
        | Event::Discarded { entry: id, .. }
        | Event::Fired { task: id, .. }) = event
        else {
            return Err("not an entry event".to_owned());
        };
        if self.lost_records > 0 && !self.by_id.contains_key(id) {
            return Ok(());
        }
        match event {
            Event::Quarantined {
                entry,
                reason,
                rules,
                at,
            } => {
                let shelf = Shelf {
                    reason: reason.clone(),
                    rules: rules.clone(),
                    at: *at,
                };
                let seq = self.edit_entry(entry, |e| e.shelf = Some(Arc::new(shelf)))?;
                self.shelf.insert_mut(seq, ());
            }
            Event::Released { entry, .. } => {
                let seq = self.edit_entry(entry, |e| e.shelf = None)?;
                self.shelf.remove_mut(&seq);
            }
            Event::Discarded { entry, .. } => {
                let seq = self.edit_entry(entry, |e| {
                    e.discarded = true;
                    e.shelf = None;
                })?;
                self.shelf.remove_mut(&seq);
            }
            Event::Fired {
                task, at, decision, ..
            } => {
                let ran = *decision != Decision::Deny;
                self.edit_entry(task, |e| {
                    if let Some(task) = e.task.as_mut().filter(|_| ran) {
                        task.fired = task.fired.saturating_add(1);
                        task.next_due = next_due(&task.spec, *at);
                    }
                })?;
            }
            _ => return Err("not an entry event".to_owned()),
        }
        Ok(())
    }
}

/// When a task comes due again after it fired at a moment: the first multiple of its interval
/// that lies later; missed runs are not made up for.
fn next_due(spec: &TaskSpec, fired: Micros) -> Option<Micros> {
    let every = i64::from(spec.every_seconds?)
        .checked_mul(1_000_000)
        .filter(|e| *e > 0)?;
    let behind = fired.0.saturating_sub(spec.due.0).max(0);
    let runs = behind.checked_div(every)?.checked_add(1)?;
    spec.due.0.checked_add(runs.checked_mul(every)?).map(Micros)
}

/// The items of an exposure whose text is kept, for [`State::apply`].
pub(crate) fn texts_of(items: &[(Shown, Option<String>)]) -> BTreeMap<usize, String> {
    let texts = items.iter().enumerate();
    texts
        .filter_map(|(at, (_, text))| text.clone().map(|t| (at, t)))
        .collect()
}
