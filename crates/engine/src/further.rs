// SPDX-License-Identifier: MIT OR Apache-2.0
//! Further calls of the engine: batches, lists, the ends of keys and tasks, and proofs.

use crate::api::{
    Added, ChatMessage, Erasure, Exported, Fact, IndexState, Integrity, KeyMade, KeySpec, KeyView,
    NamespaceView, Page, PageSpec, PrincipalView, ProvenLog, QuotaSpec, QuotaView, RefusalReport,
    SessionView, StepAnswer, StepOp, TenantSpec, TenantView, ToolMode, ToolView, Write, Written,
};
use crate::caller::Caller;
use crate::refusal::Refusal;
use crate::state::Key;
use crate::turn::Turn;
use crate::{
    Engine, admin, audit, endorse, erase, lists, messages, portable, quota, report, review, step,
    write,
};
use ancile_core::{Digest, EntryId, Micros, NamespaceName, PrincipalName, SessionId, ToolName};
use std::sync::Arc;
use std::time::Instant;

/// Owned form of a [`PageSpec`], to cross to the writer's thread.
struct Part {
    cursor: Option<String>,
    limit: usize,
}

impl From<PageSpec<'_>> for Part {
    fn from(spec: PageSpec<'_>) -> Self {
        Self {
            cursor: spec.cursor.map(str::to_owned),
            limit: spec.limit,
        }
    }
}

impl Part {
    fn spec(&self) -> PageSpec<'_> {
        PageSpec {
            cursor: self.cursor.as_deref(),
            limit: self.limit,
        }
    }
}

impl Engine {
    /// Reads on the state of the last commit, beside what is being written.
    pub(crate) fn look<T: Send + 'static>(
        &self,
        caller: &Caller,
        f: impl Fn(&mut Turn<'_>, &Key) -> Result<T, Refusal> + Send + Sync + 'static,
    ) -> Result<T, Refusal> {
        let caller = caller.clone();
        self.writer.look(move |turn| {
            let key = turn.check(&caller)?;
            f(turn, &key)
        })
    }
}

/// As for the other calls: the key is checked once more on the writer thread, and a [`Refusal`]
/// says where it may not, the thing is not there, or a limit is passed.
#[allow(
    clippy::missing_errors_doc,
    reason = "said once for all of them, above"
)]
impl Engine {
    /// Runs operations in a session, in order, all or none.
    pub fn step(
        &self,
        by: &Caller,
        id: SessionId,
        token: &str,
        ops: Vec<StepOp>,
    ) -> Result<StepAnswer, Refusal> {
        let token = token.to_owned();
        let asked = Instant::now();
        let ops = self.before.step(by, ops);
        let answer = self.with(by, move |t, k| step::step(t, k, id, &token, ops));
        if answer.is_ok() {
            self.counts.step_took(asked.elapsed());
        }
        answer
    }

    /// The same without waiting: the writer's thread gives the answer to `done`, which must be
    /// quick. Refused at once when the most jobs wait that may.
    pub fn step_then(
        &self,
        by: &Caller,
        (id, token): (SessionId, &str),
        ops: Vec<StepOp>,
        done: impl FnOnce(Result<StepAnswer, Refusal>) + Send + 'static,
    ) -> Result<(), Refusal> {
        let (caller, token) = (by.clone(), token.to_owned());
        let (asked, counts) = (Instant::now(), Arc::clone(&self.counts));
        let ops = self.before.step(by, ops);
        let run = move |turn: &mut Turn<'_>| {
            let key = turn.check(&caller)?;
            step::step(turn, &key, id, &token, ops)
        };
        self.writer.submit_then(run, move |answer| {
            if answer.is_ok() {
                counts.step_took(asked.elapsed());
            }
            done(answer);
        })
    }

    /// Writes a copy that this user answers for, in the place of a class 4 memory with exactly this
    /// digest. `values` are parts of its text that the copy may ground, at most
    /// [`crate::api::ENDORSED_VALUES_MAX`].
    pub fn endorse(
        &self,
        by: &Caller,
        id: EntryId,
        digest: Digest,
        values: Vec<String>,
    ) -> Result<Written, Refusal> {
        self.with(by, move |t, k| {
            endorse::endorse(t, k, &id, &digest, &values)
        })
    }

    /// Writes up to [`crate::api::BATCH_ENTRIES_MAX`] entries outside a session, in order, all or
    /// none.
    pub fn write_batch(&self, by: &Caller, ops: Vec<Write>) -> Result<Vec<Written>, Refusal> {
        self.before.texts(ops.iter().map(|op| op.text.as_str()));
        self.with(by, move |t, k| write::batch(t, k, ops))
    }

    /// Makes a key.
    pub fn make_key(&self, by: &Caller, spec: KeySpec) -> Result<KeyMade, Refusal> {
        self.with(by, move |t, k| admin::new_key(t, k, spec))
    }

    /// Lists keys in order of id.
    pub fn keys(&self, by: &Caller, page: PageSpec<'_>) -> Result<Page<KeyView>, Refusal> {
        let (cursor, limit) = (page.cursor.map(str::to_owned), page.limit);
        self.look(by, move |t, k| admin::keys(t, k, cursor.as_deref(), limit))
    }

    /// Revokes a key by its id.
    pub fn revoke_key(&self, by: &Caller, id: &str) -> Result<(), Refusal> {
        let id = id.to_owned();
        self.with(by, move |t, k| admin::revoke_key(t, k, &id))
    }

    /// Makes a tenant.
    pub fn make_tenant(&self, by: &Caller, spec: TenantSpec) -> Result<KeyMade, Refusal> {
        self.with(by, move |t, k| admin::make_tenant(t, k, &spec))
    }

    /// Makes a namespace.
    pub fn make_namespace(
        &self,
        by: &Caller,
        name: NamespaceName,
        readers: Vec<PrincipalName>,
        writers: Vec<PrincipalName>,
    ) -> Result<(), Refusal> {
        self.with(by, move |t, k| {
            admin::make_namespace(t, k, name, readers, writers)
        })
    }

    /// How the tenant's index stands.
    pub fn index_state(&self, by: &Caller) -> Result<IndexState, Refusal> {
        self.look(by, |t, k| audit::index_state(t, k))
    }

    /// Makes the tenant's segments anew from the log, with today's model, beside the requests.
    pub fn reindex(&self, by: &Caller) -> Result<IndexState, Refusal> {
        self.with(by, audit::reindex)
    }

    /// Lists the sessions that the key sees, newest first.
    pub fn sessions(&self, by: &Caller, page: PageSpec<'_>) -> Result<Page<SessionView>, Refusal> {
        let part = Part::from(page);
        self.look(by, move |t, k| lists::sessions(t, k, part.spec()))
    }

    /// Lists namespaces in order of name: for an operator all, for others those of the key.
    pub fn namespaces(
        &self,
        by: &Caller,
        page: PageSpec<'_>,
    ) -> Result<Page<NamespaceView>, Refusal> {
        let part = Part::from(page);
        self.look(by, move |t, k| lists::namespaces(t, k, part.spec()))
    }

    /// Lists the principals that keys were made for, in order of name.
    pub fn principals(
        &self,
        by: &Caller,
        page: PageSpec<'_>,
    ) -> Result<Page<PrincipalView>, Refusal> {
        let part = Part::from(page);
        self.look(by, move |t, k| lists::principals(t, k, part.spec()))
    }

    /// Lists tenants in order of name.
    pub fn tenants(&self, by: &Caller, page: PageSpec<'_>) -> Result<Page<TenantView>, Refusal> {
        let part = Part::from(page);
        self.look(by, move |t, k| lists::tenants(t, k, part.spec()))
    }

    /// Gives a namespace other readers and writers; an empty list is every key that reaches it.
    pub fn change_namespace(
        &self,
        by: &Caller,
        name: NamespaceName,
        readers: Vec<PrincipalName>,
        writers: Vec<PrincipalName>,
    ) -> Result<(), Refusal> {
        self.with(by, move |t, k| {
            admin::change_namespace(t, k, name, readers, writers)
        })
    }

    /// Makes a key like another, which ends after `overlap` seconds, at most
    /// [`crate::api::OVERLAP_SECONDS_MAX`].
    pub fn rotate_key(&self, by: &Caller, id: &str, overlap: u32) -> Result<KeyMade, Refusal> {
        let id = id.to_owned();
        self.with(by, move |t, k| admin::rotate_key(t, k, &id, overlap))
    }

    /// Destroys the content of an entry, and says what was derived from it and is kept.
    pub fn erase(&self, by: &Caller, id: EntryId) -> Result<Erasure, Refusal> {
        self.with(by, move |t, k| erase::erase(t, k, &id))
    }

    /// Sets a quota; without a limit it is taken away.
    pub fn set_quota(&self, by: &Caller, spec: QuotaSpec) -> Result<(), Refusal> {
        self.with(by, move |t, k| quota::set(t, k, spec))
    }

    /// Lists quotas with what is kept under each, in order of namespace and principal.
    pub fn quotas(&self, by: &Caller, page: PageSpec<'_>) -> Result<Page<QuotaView>, Refusal> {
        let part = Part::from(page);
        self.look(by, move |t, k| quota::list(t, k, part.spec()))
    }

    /// Takes chat messages, and facts that were extracted from single user turns among them, into
    /// a session, in order, all or none.
    pub fn add_messages(
        &self,
        by: &Caller,
        (id, token): (SessionId, &str),
        messages: Vec<ChatMessage>,
        facts: Vec<Fact>,
    ) -> Result<Added, Refusal> {
        let kept = messages.iter().map(|message| message.content.as_str());
        let texts = kept.chain(facts.iter().map(|fact| fact.text.as_str()));
        self.before.texts(texts);
        let token = token.to_owned();
        self.with(by, move |t, k| {
            messages::add(t, k, (id, &token), (messages, facts))
        })
    }

    /// A page of a namespace's entries with their proofs, newest first, and the checkpoint.
    pub fn export(
        &self,
        by: &Caller,
        namespace: NamespaceName,
        page: PageSpec<'_>,
    ) -> Result<(Page<Exported>, String), Refusal> {
        let part = Part::from(page);
        self.look(by, move |t, k| {
            portable::export(t, k, &namespace, part.spec())
        })
    }

    /// Writes up to [`crate::api::BATCH_ENTRIES_MAX`] entries from elsewhere, in order, all or
    /// none: each is class 4 on channel `import`.
    pub fn import(&self, by: &Caller, ops: Vec<Write>) -> Result<Vec<Written>, Refusal> {
        self.before.texts(ops.iter().map(|op| op.text.as_str()));
        self.with(by, move |t, k| portable::import(t, k, ops))
    }

    /// Sets whether decisions on the calls of a tool of the manifest bind.
    pub fn set_tool_mode(
        &self,
        by: &Caller,
        tool: ToolName,
        mode: ToolMode,
    ) -> Result<(), Refusal> {
        self.with(by, move |t, k| report::set_mode(t, k, tool, mode))
    }

    /// Lists the tools of the manifest in order of name.
    pub fn tools(&self, by: &Caller, page: PageSpec<'_>) -> Result<Page<ToolView>, Refusal> {
        let part = Part::from(page);
        self.look(by, move |t, k| report::tools(t, k, part.spec()))
    }

    /// What was refused, or would have been, within the hours that touch a range of time.
    pub fn refusal_report(
        &self,
        by: &Caller,
        range: (Option<Micros>, Option<Micros>),
        tool: Option<ToolName>,
    ) -> Result<RefusalReport, Refusal> {
        self.look(by, move |t, k| report::refusals(t, k, range, tool.as_ref()))
    }

    /// Has a task fire no more.
    pub fn cancel_task(&self, by: &Caller, id: EntryId) -> Result<(), Refusal> {
        self.with(by, move |t, k| review::cancel(t, k, &id))
    }

    /// How the store stands, with what is wrong of the operator's own tenant; the first tenant's
    /// operator is told all.
    pub fn integrity(&self, by: &Caller) -> Result<Integrity, Refusal> {
        self.with(by, audit::integrity)
    }

    /// Proves that a log of `size` leaves is a prefix of the one under the current checkpoint, as
    /// JSON text.
    pub fn consistency(&self, by: &Caller, log: ProvenLog, size: u64) -> Result<String, Refusal> {
        self.with(by, move |t, k| audit::consistency(t, k, log, size))
    }
}
