// SPDX-License-Identifier: MIT OR Apache-2.0
//! What callers ask of the engine and what it answers. Plain data: wire forms belong to the server.

mod chat;
mod lists;
mod report;
mod step;

pub use chat::{Added, ChatMessage, ChatRole, Exported, Fact, MESSAGES_MAX, MessageAdded};
pub use lists::{
    Descendant, Erasure, NamespaceView, PageSpec, PrincipalView, ProvenLog, QuotaSpec, QuotaView,
    TenantView,
};
pub use report::{REPORT_ROWS_MAX, RefusalCount, RefusalReport, ToolMode, ToolView};
pub use step::{
    BoundSpec, CallAnswer, ContextPack, Explained, Expose, ExposureKind, Filter, PackItem, Propose,
    Reason, Recall, ShownFinding, StepAnswer, StepOp, StepResult, TaskSpec, ToolResult, Write,
    Written,
};

use crate::counts::SlowCommit;
pub use crate::judging::Judgement;
use ancile_core::{
    ApprovalId, AuthorityClass, Channel, Decision, Digest, EntryId, EntryKind, FieldName,
    MandateId, Micros, NamespaceName, PermitId, PrincipalName, ProposedCall, Role, SessionId,
    SessionMode, SourceField, SourceName, SourceState, TenantName, ToolName,
};
use std::collections::BTreeMap;

/// Longest content of an entry or an exposure, in bytes.
pub const CONTENT_BYTES_MAX: usize = 65_536;
/// Longest query, in bytes.
pub const QUERY_BYTES_MAX: usize = 4_096;
/// Most operations in one step.
pub const STEP_OPS_MAX: usize = 64;
/// Most findings told of one text that was reported as shown.
pub const FINDINGS_TOLD_MAX: usize = 16;
/// Most entries of one batch.
pub const BATCH_ENTRIES_MAX: usize = 256;
/// Most values that one endorsement names.
pub const ENDORSED_VALUES_MAX: usize = 32;
/// Longest time for which a rotated key goes on working, in seconds.
pub const OVERLAP_SECONDS_MAX: u32 = 604_800;
/// How long the answer to a request that is carried out once is kept, in seconds.
pub const ANSWER_SECONDS: i64 = 86_400;
/// Longest such answer, in bytes.
pub const ANSWER_BYTES_MAX: usize = 262_144;
/// Most such answers of one credential; older ones go.
pub const ANSWERS_MAX: usize = 1_000;
/// Most entries that one write evicts to make room.
pub const EVICTIONS_MAX: usize = 256;
/// Most entries of one lineage.
pub const LINEAGE_NODES_MAX: usize = 1_000;
/// Most items on one page of a list.
pub const PAGE_MAX: usize = 200;
/// Most asks of one session that wait at the same time; further ones are denied.
pub const OPEN_ASKS_MAX: usize = 5;
/// How long an ask waits for a person, in seconds.
pub const APPROVAL_SECONDS: i64 = 86_400;
/// How long a session stays open, and the texts that it keeps stay, in seconds: 30 days.
pub const SESSION_SECONDS: i64 = 2_592_000;
/// Longest reason a person gives, in bytes.
pub const REASON_BYTES_MAX: usize = 1_024;

/// Whether decisions bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gates {
    /// Decisions bind.
    Enforce,
    /// Every decision is made and logged, loudly, and none binds.
    LogOnly,
    /// No gate is asked at all. For measurement.
    Off,
}

/// A credential as it is made for a principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySpec {
    /// Who it is for.
    pub principal: PrincipalName,
    /// What the principal is.
    pub role: Role,
    /// The namespaces it reaches.
    pub namespaces: Vec<NamespaceName>,
    /// The channels its holder may name.
    pub channels: Vec<Channel>,
    /// For an agent: the agent it is bound to.
    pub agent: Option<PrincipalName>,
    /// For a host: it relays its user's own turns, and its system prompts count as approved.
    pub relays_user: bool,
    /// When it stops working.
    pub expires: Option<Micros>,
}

/// A key just made. The token is shown once.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyMade {
    /// The key's id: the first 16 hexadecimal digits of its hash.
    pub id: String,
    /// The secret token.
    pub token: String,
}

/// A key as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyView {
    /// The key's id.
    pub id: String,
    /// What it was made for.
    pub spec: KeySpec,
    /// Whether it was revoked.
    pub revoked: bool,
}

/// A session to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSpec {
    /// The agent that runs in it.
    pub agent: PrincipalName,
    /// The user it runs for.
    pub user: PrincipalName,
    /// The namespace it reads and writes.
    pub namespace: NamespaceName,
    /// Whether the host can ask its user at once.
    pub mode: SessionMode,
    /// The host reports everything that is shown. Only a host can say so; a session that is not
    /// observed is class 4.
    pub observed: bool,
}

/// A session just opened.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionOpened {
    /// Its id.
    pub id: SessionId,
    /// The session token. The model never sees it.
    pub token: String,
    /// Its class now: `Untrusted` until a user turn or a task payload is shown.
    pub class: AuthorityClass,
    /// Why it has that class.
    pub why: String,
}

/// A session as its opener sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionView {
    /// Its id.
    pub id: SessionId,
    /// What it was opened as.
    pub spec: SessionSpec,
    /// The task that it runs, if one fired.
    pub task: Option<EntryId>,
    /// Whether it is closed.
    pub closed: bool,
    /// Its class now.
    pub class: AuthorityClass,
    /// Why it has that class.
    pub why: String,
    /// Root of its exposure log.
    pub exposure_root: Digest,
    /// Length of its exposure log.
    pub exposure_len: u64,
    /// Exposures in which screening found something.
    pub flagged: u64,
    /// Permitted calls whose result was not reported yet.
    pub outstanding: Vec<PermitId>,
}

/// An entry as it is read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryView {
    /// The entry.
    pub id: EntryId,
    /// Its record hash.
    pub hash: Digest,
    /// Its sequence number.
    pub seq: u64,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// What it is for.
    pub kind: EntryKind,
    /// Its version.
    pub version: u32,
    /// Its class today, as the caller sees it.
    pub class: AuthorityClass,
    /// Its class at write.
    pub class_at_write: AuthorityClass,
    /// The way it came in.
    pub channel: Channel,
    /// Who brought it.
    pub principal: PrincipalName,
    /// Who wrote it.
    pub author: PrincipalName,
    /// Where it came from.
    pub locator: String,
    /// When it was written.
    pub created: Micros,
    /// Its state.
    pub state: EntryState,
    /// The text; absent where it must not leave (broken, discarded, erased
    /// or evicted).
    pub text: Option<String>,
    /// For a task: when it is due and what it does.
    pub task: Option<TaskSpec>,
    /// What a judge said of it, where it did not just let it pass; for user and operator
    /// credentials only.
    pub judged: Option<Judgement>,
}

/// Where an entry stands today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryState {
    /// It can be recalled.
    Current,
    /// Another entry stands in its place.
    Superseded,
    /// Held until it is judged.
    Pending,
    /// On the quarantine shelf, with the reason.
    Quarantined(String),
    /// Taken off the shelf for good.
    Discarded,
    /// Its content was destroyed.
    Erased,
    /// Its content went to make room under a quota.
    Evicted,
    /// Its lineage is broken, with the reason.
    Broken(String),
}

/// One step on the way from an entry to what its authority rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineageNode {
    /// The record hash.
    pub hash: Digest,
    /// The entry.
    pub id: EntryId,
    /// The way it came in.
    pub channel: Channel,
    /// Who brought it.
    pub principal: PrincipalName,
    /// Where it came from.
    pub locator: String,
    /// Its class at write.
    pub class: AuthorityClass,
    /// The parents named explicitly, then the entries shown in its session before it was written.
    pub parents: Vec<Digest>,
}

/// Where an entry came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineageView {
    /// Whether it and all its ancestors are as they were written; the reason if not.
    pub broken: Option<&'static str>,
    /// Its class today.
    pub class: AuthorityClass,
    /// What its authority rests on, as text.
    pub roots: Vec<String>,
    /// The weakest things shown in the session it was written in, as text: origins without text.
    pub weakest: Vec<String>,
    /// The entry, then its ancestors, nearest first, each once.
    pub nodes: Vec<LineageNode>,
    /// Whether the list was cut off at [`LINEAGE_NODES_MAX`].
    pub more: bool,
}

/// Which tasks to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFilter {
    /// The namespace.
    pub namespace: NamespaceName,
    /// Only those that can fire now.
    pub due_only: bool,
}

/// A task in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskView {
    /// The entry.
    pub entry: EntryView,
    /// When it is due next; `None` when it is done.
    pub next_due: Option<Micros>,
    /// How often it fired.
    pub fired: u32,
}

/// What a fired task may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FireAnswer {
    /// What binds.
    pub decision: Decision,
    /// What the table says, where the gates do not enforce and it differs.
    pub would_be: Option<Decision>,
    /// Why.
    pub reasons: Vec<Reason>,
    /// Whether the task went to the quarantine shelf.
    pub quarantined: bool,
    /// The fresh session it runs in, when it may run.
    pub session: Option<SessionOpened>,
    /// The text to show to the agent, labelled where the decision says so.
    pub payload: Option<String>,
    /// The decision on the call it makes, when it makes one.
    pub call: Option<CallAnswer>,
    /// The call itself.
    pub proposed: Option<ProposedCall>,
}

/// An ask that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalView {
    /// Its id.
    pub id: ApprovalId,
    /// Where it stands.
    pub state: ApprovalState,
    /// The session that asked.
    pub session: SessionId,
    /// The agent that asked.
    pub agent: PrincipalName,
    /// The user who can answer.
    pub user: PrincipalName,
    /// The call digest: exactly this is approved.
    pub digest: Digest,
    /// The call.
    pub call: ProposedCall,
    /// The class it was judged at.
    pub class: AuthorityClass,
    /// Why a person must say.
    pub reasons: Vec<Reason>,
    /// When it was asked.
    pub asked: Micros,
    /// When it lapses.
    pub expires: Micros,
}

/// Where an ask stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalState {
    /// Nobody answered yet.
    Waiting,
    /// Approved, not used yet.
    Approved,
    /// Approved and used.
    Used,
    /// Denied.
    Denied,
    /// Its time is over.
    Expired,
    /// Tools or policy changed since; the call has to be proposed again.
    Outdated,
}

/// What a mandate is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MandateSpec {
    /// The agent it is for.
    pub agent: PrincipalName,
    /// The tool it is for.
    pub tool: ToolName,
    /// The weakest class of session it covers: `AgentDerived` or `Untrusted`.
    pub weakest: AuthorityClass,
    /// Not before.
    pub not_before: Micros,
    /// Not from here on.
    pub not_after: Micros,
    /// Most uses.
    pub uses_max: Option<u32>,
    /// Values fixed by equality or an enumerated set.
    pub fixed: BTreeMap<FieldName, Vec<String>>,
    /// Patterns that restrict arguments; `*` stands for any run of characters.
    pub allow: BTreeMap<FieldName, String>,
    /// Most of an amount, as decimal text.
    pub amount_max: BTreeMap<FieldName, String>,
    /// Cedar text in place of the one made from the flags.
    pub cedar: Option<String>,
}

/// A mandate as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MandateView {
    /// Its id.
    pub id: MandateId,
    /// The user who granted it.
    pub user: PrincipalName,
    /// The agent it is for.
    pub agent: PrincipalName,
    /// The tool it is for.
    pub tool: ToolName,
    /// The weakest class of session it covers.
    pub weakest: AuthorityClass,
    /// Not before.
    pub not_before: Micros,
    /// Not from here on.
    pub not_after: Micros,
    /// Most uses.
    pub uses_max: Option<u32>,
    /// Uses counted.
    pub uses: u32,
    /// Values it fixes.
    pub fixed: BTreeMap<FieldName, Vec<String>>,
    /// The Cedar text.
    pub cedar: String,
    /// Whether it was revoked.
    pub revoked: bool,
}

/// A source as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceView {
    /// Its name.
    pub name: SourceName,
    /// The tools whose results it gives.
    pub tools: Vec<ToolName>,
    /// What each field was approved as.
    pub fields: BTreeMap<SourceField, SourceState>,
}

/// An entry on the quarantine shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineView {
    /// The entry, with its text: it is shown to people only.
    pub entry: EntryView,
    /// Why it is there.
    pub reason: String,
    /// The rules that hit.
    pub rules: Vec<String>,
    /// When it was put there.
    pub since: Micros,
    /// The parts of the text, in bytes, that alone are there while the rest is in use; all of it
    /// where there are none.
    pub parts: Vec<std::ops::Range<usize>>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where the next page starts; `None` at the end.
    pub next: Option<String>,
}

/// How the store stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Whether every check held: `verified`; `pending` while rows are still compared with the log
    /// after opening, when side effects ask; `damaged`; or `down`.
    pub integrity: &'static str,
    /// What is wrong, if anything.
    pub problems: Vec<String>,
    /// Committed groups.
    pub groups: u64,
    /// Tenants.
    pub tenants: u32,
    /// Entries.
    pub entries: u64,
    /// How decisions bind.
    pub gates: Gates,
    /// Whether the witness was one group behind at open.
    pub witness_was_behind: bool,
    /// A commit that took longer than it may.
    pub slow_commit: Option<SlowCommit>,
}

/// How the index stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// The model that finds entries by meaning; none where entries are found by words alone.
    pub model: Option<String>,
    /// Segments.
    pub segments: u64,
    /// Entries in them.
    pub sealed: u64,
    /// Entries in memory that are in no segment yet.
    pub recent: u64,
    /// Entries that are found by their words alone although there is a model: their vectors are of
    /// another one, or it failed on them. A rebuild makes them.
    pub without_vectors: u64,
    /// Records of the rebuild so far, and in all; nothing while there is none.
    pub rebuilt: Option<(u64, u64)>,
    /// Whether segments are made, merged or compared at the moment.
    pub busy: bool,
}

/// How the store stands, for an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integrity {
    /// As for everybody.
    pub health: Health,
    /// The witness epoch: how often an operator accepted a store in spite of its witness.
    pub epoch: u64,
    /// Leaves in the log of the operator's tenant.
    pub leaves: u64,
    /// Entries of that tenant that are held until they are judged.
    pub pending: u64,
}

/// A tenant to be made, with its first operator key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantSpec {
    /// Its name.
    pub name: TenantName,
    /// The operator of the new tenant.
    pub operator: PrincipalName,
}

impl std::fmt::Debug for KeyMade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyMade({})", self.id)
    }
}

impl std::fmt::Debug for SessionOpened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SessionOpened({}, {})", self.id, self.class)
    }
}
