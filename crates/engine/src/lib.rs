// SPDX-License-Identifier: MIT OR Apache-2.0
//! The write, recall, act and fire gates, in order.
//!
//! The core decides, this crate orders the steps. Everything that happens is an event or a record
//! in a tenant's log; the state is what follows from the log; one writer thread runs the jobs of
//! all callers in groups, commits, and only then answers.

#[cfg(test)]
extern crate self as ancile_engine;

mod act;
mod admin;
pub mod api;
mod audit;
mod backup;
mod before;
mod caller;
mod config;
mod content;
mod core;
pub mod counts;
mod embedding;
mod endorse;
mod erase;
mod event;
mod fire;
mod first;
mod further;
mod home;
mod index;
mod judging;
mod lists;
mod look;
mod messages;
mod migrate;
mod once;
mod portable;
mod prints;
mod quota;
mod read;
mod readers;
mod recall;
mod refusal;
mod reply;
mod report;
mod restore;
mod result;
mod review;
mod screened;
mod session;
mod state;
mod step;
mod text;
mod turn;
mod upkeep;
mod value_json;
mod write;
mod writer;

pub use ancile_screen::{
    ESCALATE_FROM, FLAG_FROM, FilteredReply, Judge, JudgeError, JudgeId, JudgeInput,
    JudgeThresholds, RemovedLink, Score, ScreenPolicy, ScreenPolicyError, Verdict,
};
pub use api::Gates;
pub use audit::{AuditSummary, audit, new_witness_epoch};
pub use backup::{Backup, BackupOptions, backup};
pub use caller::Caller;
pub use config::{
    EngineConfig, IndexConfig, JUDGE_THREADS, JUDGE_TIME_LIMIT_MS, JudgeConfig, JudgeFailure,
    Model, PENDING_MAX, SEAL_RECORDS,
};
pub use fire::FireSpec;
pub use look::{
    HomePart, PartKind, StoreFormat, home_parts, key_file, lock_holder, store_format,
    witnessed_groups,
};
pub use migrate::{Migrated, migrate};
pub use once::{ONCE_KEY_BYTES_MAX, Once, OnceAnswer};
pub use refusal::{Fault, Refusal};
pub use restore::{Kept, Loss, Present, Restored, restore, restore_pending};

use crate::core::{Core, KeyTable};
use crate::counts::Counts;
use crate::home::Home;
use ancile_core::{
    ApprovalId, ArgKind, CanonicalValue, Digest, EntryId, FieldName, MandateId, NamespaceName,
    PrincipalName, SessionId, SourceField, SourceName, SourceState, TenantName, ToolName,
};
use ancile_policy::Canonicalise;
use api::{
    ApprovalView, ContextPack, EntryView, FireAnswer, Health, LineageView, MandateSpec,
    MandateView, Page, PageSpec, QuarantineView, Recall, SessionOpened, SessionSpec, SessionView,
    SourceView, TaskFilter, TaskView, Write, Written,
};
use state::Key;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use turn::{Turn, clock, unauthenticated};
use writer::Writer;

/// The one canonicaliser, as policy takes it.
pub(crate) struct Canon;

impl Canonicalise for Canon {
    fn canonical(&self, kind: ArgKind, text: &str) -> Option<CanonicalValue> {
        ancile_screen::canonical(kind, text)
    }
}

/// What was found at open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReport {
    /// The witness was one group behind: the last process died between commit and answer.
    pub witness_behind: bool,
    /// Entries that were edited or removed behind the store's back; each is refused.
    pub damage: Vec<String>,
}

/// The keys of a first run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstKeys {
    /// The tenant.
    pub tenant: TenantName,
    /// Role, principal, and the file its token lies in.
    pub entries: Vec<(&'static str, PrincipalName, PathBuf)>,
}

/// The handle on an open store; clones share it. Calls block until their group is committed.
#[derive(Clone)]
pub struct Engine {
    writer: Writer,
    keys: KeyTable,
    counts: Arc<Counts>,
    before: before::Before,
    gates: Gates,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
    /// None where what is held is left as it is.
    judges: Option<Arc<judging::Judges>>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

fn name<T>(made: Result<T, ancile_core::NameError>) -> Result<T, Refusal> {
    made.map_err(|e| turn::internal(&e))
}

impl Engine {
    /// Whether a first run was made in this home.
    #[must_use]
    pub fn is_initialised(home: &Path) -> bool {
        Home::new(home).is_initialised()
    }

    /// The address at which a running process serves this home, if one said so by
    /// [`Engine::set_address`] and still runs.
    #[must_use]
    pub fn served_at(home: &Path) -> Option<String> {
        Home::new(home).served_at()
    }

    /// Makes a home: data, keys, witness, tenant `default` with namespace `main`, and a key each
    /// for operator, user, host and agent.
    ///
    /// # Errors
    /// [`Refusal`] when the home holds a store already, or cannot be written.
    pub fn init(home: &Path) -> Result<FirstKeys, Refusal> {
        let place = Home::new(home);
        place.make()?;
        let store = ancile_store::Store::create(place.store_config()?)
            .map_err(|e| Refusal::new(Fault::Unavailable, "store_refused", e.to_string()))?;
        drop(store);
        let config = EngineConfig {
            home: home.to_owned(),
            gates: Gates::Enforce,
            screening: false,
            screen_policy: ScreenPolicy::default(),
            index: IndexConfig {
                model: Model::None,
                ..IndexConfig::default()
            },
            judging: JudgeConfig::default(),
        };
        let (engine, _) = Self::open(config)?;
        let made = engine.writer.submit(first::keys)?;
        engine.close();
        let mut entries = Vec::new();
        for (role, principal, token) in made {
            entries.push((role, principal, place.write_token(role, &token)?));
        }
        Ok(FirstKeys {
            tenant: name(TenantName::new("default"))?,
            entries,
        })
    }

    /// Opens a store, verifying it against its log, checkpoint and witness.
    ///
    /// # Errors
    /// [`Refusal`] naming what does not hold and the next step.
    pub fn open(config: EngineConfig) -> Result<(Self, OpenReport), Refusal> {
        let judging = config.judging.clone();
        let (mut engine, report) = Self::open_unjudged(config)?;
        engine.judges = Some(Arc::new(judging::Judges::start(&engine.writer, &judging)?));
        Ok((engine, report))
    }

    /// The same, and leaves held what is held for a judge.
    pub(crate) fn open_unjudged(config: EngineConfig) -> Result<(Self, OpenReport), Refusal> {
        let before = before::Before::open(&config)?;
        let core = Core::open(&config, before.clone())?;
        let report = OpenReport {
            witness_behind: core.report.witness == ancile_ledger::WitnessState::OneBehind,
            damage: core.problems_found(),
        };
        let keys = Arc::clone(&core.keys);
        let counts = Arc::clone(&core.counts);
        let (writer, thread) = Writer::start(core).map_err(|e| turn::internal(&e))?;
        let thread = Arc::new(Mutex::new(Some(thread)));
        Ok((
            Self {
                writer,
                keys,
                counts,
                before,
                gates: config.gates,
                thread,
                judges: None,
            },
            report,
        ))
    }

    /// Says the server's address: in the home, for commands to find by [`Engine::served_at`], and
    /// in the lock file, for people.
    ///
    /// # Errors
    /// [`Refusal`] when either file cannot be written.
    pub fn set_address(&self, address: &str) -> Result<(), Refusal> {
        let address = address.to_owned();
        self.writer.submit(move |t| {
            t.core.announced = None;
            t.core.announced = Some(t.core.home.announce(&address)?);
            t.core.address = Some(address.clone());
            t.core
                .store()?
                .set_address(&address)
                .map_err(|e| turn::internal(&e))
        })
    }

    /// How decisions bind.
    #[must_use]
    pub fn gates(&self) -> Gates {
        self.gates
    }

    /// What happened since the store was opened; read without the writer.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Ends the writer after the jobs before this, and waits until the store is closed.
    pub fn close(self) {
        if let Some(judges) = &self.judges {
            judges.stop();
        }
        self.writer.stop();
        let handle = match self.thread.lock() {
            Ok(mut thread) => thread.take(),
            Err(poisoned) => poisoned.into_inner().take(),
        };
        if let Some(handle) = handle
            && handle.join().is_err()
        {
            tracing::error!("writer thread ended by a panic");
        }
    }

    /// Checks a token.
    ///
    /// # Errors
    /// [`Fault::Unauthenticated`] for an unknown, expired or revoked key; nothing tells which.
    pub fn authenticate(&self, token: &str) -> Result<Caller, Refusal> {
        let hash = Digest::sha256(token.as_bytes());
        let table = match self.keys.read() {
            Ok(table) => table,
            Err(poisoned) => poisoned.into_inner(),
        };
        let key = table.get(&hash).ok_or_else(unauthenticated)?;
        if !key.works_at(clock()) {
            return Err(unauthenticated());
        }
        Ok(Caller {
            hash,
            tenant: key.tenant.clone(),
            spec: key.spec.clone(),
            secret: caller::Secret::of(token),
        })
    }

    fn with<T: Send + 'static>(
        &self,
        caller: &Caller,
        f: impl FnOnce(&mut Turn<'_>, &Key) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let caller = caller.clone();
        self.writer.submit(move |turn| {
            let key = turn.check(&caller)?;
            f(turn, &key)
        })
    }
}

/// Each call checks the key once more on the writer thread, and answers a [`Refusal`] where the
/// key may not, the thing is not there, or a limit is passed.
#[allow(
    clippy::missing_errors_doc,
    reason = "said once for all of them, above"
)]
impl Engine {
    /// Opens a session.
    pub fn open_session(&self, by: &Caller, spec: SessionSpec) -> Result<SessionOpened, Refusal> {
        self.with(by, move |t, k| step::open(t, k, spec, None))
    }

    /// Shows a session.
    pub fn session(&self, by: &Caller, id: SessionId) -> Result<SessionView, Refusal> {
        self.look(by, move |t, k| step::show(t, k, &id))
    }

    /// Closes a session.
    pub fn close_session(&self, by: &Caller, id: SessionId, token: &str) -> Result<(), Refusal> {
        let token = token.to_owned();
        self.with(by, move |t, k| step::close(t, k, &id, &token))
    }

    /// Writes an entry outside a session.
    pub fn write(&self, by: &Caller, op: Write) -> Result<Written, Refusal> {
        self.before.texts([op.text.as_str()]);
        self.with(by, move |t, k| write::write(t, k, None, op))
    }

    /// Recalls for a user or an operator, outside a session.
    pub fn recall(
        &self,
        by: &Caller,
        namespace: NamespaceName,
        op: Recall,
    ) -> Result<ContextPack, Refusal> {
        self.before.embedding.warm([op.query.as_str()]);
        self.look(by, move |t, k| recall::for_person(t, k, &namespace, &op))
    }

    /// Reads an entry.
    pub fn entry(&self, by: &Caller, id: EntryId) -> Result<EntryView, Refusal> {
        self.look(by, move |t, k| read::entry(t, k, &id))
    }

    /// Lists entries, newest first.
    pub fn entries(
        &self,
        by: &Caller,
        namespace: NamespaceName,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<EntryView>, Refusal> {
        let cursor = cursor.map(str::to_owned);
        self.look(by, move |t, k| {
            read::entries(t, k, &namespace, cursor.as_deref(), limit)
        })
    }

    /// Says where an entry came from.
    pub fn lineage(&self, by: &Caller, id: EntryId) -> Result<LineageView, Refusal> {
        self.look(by, move |t, k| read::lineage(t, k, &id))
    }

    /// Proves that an entry is in the signed log, as JSON text.
    pub fn proof(&self, by: &Caller, id: EntryId) -> Result<String, Refusal> {
        self.with(by, move |t, k| audit::proof(t, k, &id))
    }

    /// Lists tasks, newest first.
    pub fn tasks(
        &self,
        by: &Caller,
        filter: TaskFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<TaskView>, Refusal> {
        let cursor = cursor.map(str::to_owned);
        self.look(by, move |t, k| {
            read::tasks(t, k, &filter, cursor.as_deref(), limit)
        })
    }

    /// Fires a due task.
    pub fn fire(&self, by: &Caller, id: EntryId, spec: FireSpec) -> Result<FireAnswer, Refusal> {
        self.with(by, move |t, k| fire::fire(t, k, &id, &spec))
    }

    /// The tool manifest.
    pub fn manifest(&self, by: &Caller) -> Result<String, Refusal> {
        self.look(by, |t, k| admin::manifest(t, k))
    }

    /// Sets the tool manifest.
    pub fn set_manifest(&self, by: &Caller, json: &str) -> Result<Digest, Refusal> {
        let json = json.to_owned();
        self.with(by, move |t, k| admin::set_manifest(t, k, &json))
    }

    /// The Cedar text that a grant would store.
    pub fn draft_mandate(&self, by: &Caller, spec: MandateSpec) -> Result<String, Refusal> {
        self.look(by, move |t, k| admin::draft_mandate(t, k, &spec))
    }

    /// Grants a mandate.
    pub fn grant_mandate(&self, by: &Caller, spec: MandateSpec) -> Result<MandateView, Refusal> {
        self.with(by, move |t, k| admin::grant_mandate(t, k, &spec))
    }

    /// Lists mandates, newest first.
    pub fn mandates(
        &self,
        by: &Caller,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<MandateView>, Refusal> {
        let cursor = cursor.map(str::to_owned);
        self.look(by, move |t, k| {
            admin::mandates(t, k, cursor.as_deref(), limit)
        })
    }

    /// Revokes a mandate.
    pub fn revoke_mandate(&self, by: &Caller, id: MandateId) -> Result<(), Refusal> {
        self.with(by, move |t, k| admin::revoke_mandate(t, k, id))
    }

    /// Lists asks, newest first.
    pub fn approvals(
        &self,
        by: &Caller,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<ApprovalView>, Refusal> {
        let cursor = cursor.map(str::to_owned);
        self.look(by, move |t, k| {
            review::approvals(t, k, cursor.as_deref(), limit)
        })
    }

    /// Shows an ask.
    pub fn approval(&self, by: &Caller, id: ApprovalId) -> Result<ApprovalView, Refusal> {
        self.look(by, move |t, k| review::approval(t, k, &id))
    }

    /// Approves exactly this call digest, once.
    pub fn approve_once(
        &self,
        by: &Caller,
        id: ApprovalId,
        digest: Digest,
    ) -> Result<ApprovalView, Refusal> {
        self.with(by, move |t, k| review::answer(t, k, &id, Some(digest)))
    }

    /// Denies an ask.
    pub fn deny(&self, by: &Caller, id: ApprovalId) -> Result<ApprovalView, Refusal> {
        self.with(by, move |t, k| review::answer(t, k, &id, None))
    }

    /// Registers a source.
    pub fn register_source(
        &self,
        by: &Caller,
        name: SourceName,
        tools: Vec<ToolName>,
    ) -> Result<(), Refusal> {
        self.with(by, move |t, k| admin::register_source(t, k, name, tools))
    }

    /// Approves a source's field with a grade.
    pub fn approve_source(
        &self,
        by: &Caller,
        field: SourceField,
        grade: SourceState,
    ) -> Result<(), Refusal> {
        self.with(by, move |t, k| admin::approve_source(t, k, field, grade))
    }

    /// Withdraws approval from one field of a source, or from all.
    pub fn revoke_source(
        &self,
        by: &Caller,
        name: SourceName,
        field: Option<(ToolName, FieldName)>,
    ) -> Result<(), Refusal> {
        self.with(by, move |t, k| admin::revoke_source(t, k, &name, field))
    }

    /// Lists sources in order of name.
    pub fn sources(&self, by: &Caller, page: PageSpec<'_>) -> Result<Page<SourceView>, Refusal> {
        let (cursor, limit) = (page.cursor.map(str::to_owned), page.limit);
        self.look(by, move |t, k| {
            admin::sources(t, k, cursor.as_deref(), limit)
        })
    }

    /// Lists the quarantine shelf, newest first.
    pub fn quarantine(
        &self,
        by: &Caller,
        namespace: NamespaceName,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<QuarantineView>, Refusal> {
        let cursor = cursor.map(str::to_owned);
        self.look(by, move |t, k| {
            review::quarantine(t, k, &namespace, cursor.as_deref(), limit)
        })
    }

    /// Takes an entry with exactly this digest off the shelf.
    pub fn release(
        &self,
        by: &Caller,
        id: EntryId,
        digest: Digest,
        reason: &str,
    ) -> Result<EntryView, Refusal> {
        let reason = reason.to_owned();
        self.with(by, move |t, k| review::release(t, k, &id, &digest, &reason))
    }

    /// Takes an entry with exactly this digest off the shelf for good.
    pub fn discard(&self, by: &Caller, id: EntryId, digest: Digest) -> Result<(), Refusal> {
        self.with(by, move |t, k| review::discard(t, k, &id, &digest))
    }

    /// The signed checkpoint.
    pub fn checkpoint(&self) -> Result<String, Refusal> {
        self.writer
            .submit(|t| Ok(t.core.store()?.checkpoint().text().to_owned()))
    }

    /// How the store stands. Never refuses: a store that cannot answer is `down`.
    #[must_use]
    pub fn health(&self) -> Health {
        self.writer
            .submit(audit::health)
            .unwrap_or_else(|refusal| Health {
                integrity: "down",
                problems: vec![refusal.outside],
                groups: 0,
                tenants: 0,
                entries: 0,
                gates: Gates::Enforce,
                witness_was_behind: false,
                slow_commit: self.counts.slow_commit(),
            })
    }
}
