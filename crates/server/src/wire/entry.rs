// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries, tasks and lineage on the wire.

use super::spelled::{Object, Spelled, bare, bare_list, spelled_list};
use super::value::CallBody;
use super::{count, micros};
use crate::problem::Problem;
use ancile_core::{
    AuthorityClass, Channel, Digest, EntryId, EntryKind, FieldName, Micros, NamespaceName,
    PrincipalName, SessionId, SourceField, SourceName, ToolName,
};
use ancile_engine::api::{
    Descendant, EntryState, EntryView, Erasure, Judgement, LineageNode, LineageView, TaskSpec,
    TaskView, Write, Written,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An entry to be written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteBody {
    kind: Spelled<EntryKind>,
    namespace: Option<Spelled<NamespaceName>>,
    channel: Option<Spelled<Channel>>,
    text: String,
    #[serde(default)]
    locator: String,
    field: Option<Object<FieldBody>>,
    #[serde(default)]
    parents: Vec<Spelled<Digest>>,
    supersedes: Option<Spelled<EntryId>>,
    task: Option<Object<TaskBody>>,
    valid_from: Option<i64>,
    valid_until: Option<i64>,
}

/// An output field of a registered source.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FieldBody {
    source: Spelled<SourceName>,
    tool: Spelled<ToolName>,
    field: Spelled<FieldName>,
}

impl From<FieldBody> for SourceField {
    fn from(body: FieldBody) -> Self {
        Self {
            source: body.source.0,
            tool: body.tool.0,
            field: body.field.0,
        }
    }
}

/// When a task is due, and what it does.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskBody {
    due: i64,
    #[schemars(range(min = 1, max = 4_294_967_295_i64))]
    every_seconds: Option<i64>,
    call: Option<Object<CallBody>>,
}

impl TaskBody {
    fn spec(self) -> Result<TaskSpec, Problem> {
        Ok(TaskSpec {
            due: Micros(self.due),
            every_seconds: count("every_seconds", self.every_seconds, 1..=u32::MAX)?,
            call: self.call.map(|call| call.0.into()),
        })
    }
}

impl WriteBody {
    /// The write.
    pub(crate) fn write(self) -> Result<Write, Problem> {
        Ok(Write {
            kind: self.kind.0,
            namespace: bare(self.namespace),
            channel: bare(self.channel),
            text: self.text,
            locator: self.locator,
            field: self.field.map(|field| field.0.into()),
            parents: bare_list(self.parents),
            supersedes: bare(self.supersedes),
            task: self.task.map(|task| task.0.spec()).transpose()?,
            valid_from: self.valid_from.map(Micros),
            valid_until: self.valid_until.map(Micros),
        })
    }
}

/// Entries to be written in order, all or none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchBody {
    #[schemars(length(min = 1, max = 256))]
    entries: Vec<Object<WriteBody>>,
}

impl BatchBody {
    /// The writes.
    pub(crate) fn writes(self) -> Result<Vec<Write>, Problem> {
        let one = |(at, body): (usize, Object<WriteBody>)| {
            body.0.write().map_err(|p| p.within(&format!("entry {at}")))
        };
        self.entries.into_iter().enumerate().map(one).collect()
    }
}

/// What became of a batch, entry by entry.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BatchWrittenBody {
    written: Vec<WrittenBody>,
}

impl From<Vec<Written>> for BatchWrittenBody {
    fn from(written: Vec<Written>) -> Self {
        Self {
            written: written.into_iter().map(WrittenBody::from).collect(),
        }
    }
}

/// What became of a write.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WrittenBody {
    id: Spelled<EntryId>,
    hash: Spelled<Digest>,
    seq: u64,
    class: Spelled<AuthorityClass>,
    channel: Spelled<Channel>,
    quarantined: bool,
    /// Whether it is held out of use until it is judged.
    pending: bool,
    /// How many parts of the text are withheld alone; the rest is in use.
    withheld_parts: usize,
    rules: Vec<String>,
}

impl From<Written> for WrittenBody {
    fn from(written: Written) -> Self {
        Self {
            id: Spelled(written.id),
            hash: Spelled(written.hash),
            seq: written.seq,
            class: Spelled(written.class),
            channel: Spelled(written.channel),
            quarantined: written.quarantined,
            pending: written.pending,
            withheld_parts: written.withheld,
            rules: written.rules,
        }
    }
}

/// An entry as it is read back.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EntryBody {
    id: Spelled<EntryId>,
    hash: Spelled<Digest>,
    seq: u64,
    namespace: Spelled<NamespaceName>,
    kind: Spelled<EntryKind>,
    version: u32,
    class: Spelled<AuthorityClass>,
    class_at_write: Spelled<AuthorityClass>,
    channel: Spelled<Channel>,
    principal: Spelled<PrincipalName>,
    author: Spelled<PrincipalName>,
    locator: String,
    created: i64,
    /// `current`, `superseded`, `pending`, `quarantined`, `discarded`, `erased`, `evicted` or
    /// `broken`.
    state: &'static str,
    /// Why it is quarantined or broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    state_reason: Option<String>,
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskSpecBody>,
    /// What a judge said of it, where it did not just let it pass; to people only.
    #[serde(skip_serializing_if = "Option::is_none")]
    judged: Option<JudgedBody>,
}

/// What a judge said of an entry.
#[derive(Serialize, JsonSchema)]
struct JudgedBody {
    /// Name and version of the judge; null where there was none to ask.
    judge: Option<String>,
    /// Its score, per mille; null where it gave none.
    #[schemars(range(max = 1_000))]
    score: Option<u16>,
    /// What followed: `flag` or `quarantine`.
    verdict: &'static str,
    /// Why there is no score.
    failure: Option<String>,
    at: i64,
}

impl From<Judgement> for JudgedBody {
    fn from(judged: Judgement) -> Self {
        Self {
            judge: judged.judge,
            score: judged.score,
            verdict: judged.verdict.name(),
            failure: judged.failure,
            at: judged.at.0,
        }
    }
}

/// When a task is due, and what it does.
#[derive(Serialize, JsonSchema)]
struct TaskSpecBody {
    due: i64,
    every_seconds: Option<u32>,
    call: Option<CallBody>,
}

impl From<TaskSpec> for TaskSpecBody {
    fn from(spec: TaskSpec) -> Self {
        Self {
            due: spec.due.0,
            every_seconds: spec.every_seconds,
            call: spec.call.map(CallBody::from),
        }
    }
}

fn state(state: EntryState) -> (&'static str, Option<String>) {
    match state {
        EntryState::Current => ("current", None),
        EntryState::Superseded => ("superseded", None),
        EntryState::Pending => ("pending", None),
        EntryState::Quarantined(reason) => ("quarantined", Some(reason)),
        EntryState::Discarded => ("discarded", None),
        EntryState::Erased => ("erased", None),
        EntryState::Evicted => ("evicted", None),
        EntryState::Broken(reason) => ("broken", Some(reason)),
    }
}

impl From<EntryView> for EntryBody {
    fn from(view: EntryView) -> Self {
        let (state, state_reason) = state(view.state);
        Self {
            id: Spelled(view.id),
            hash: Spelled(view.hash),
            seq: view.seq,
            namespace: Spelled(view.namespace),
            kind: Spelled(view.kind),
            version: view.version,
            class: Spelled(view.class),
            class_at_write: Spelled(view.class_at_write),
            channel: Spelled(view.channel),
            principal: Spelled(view.principal),
            author: Spelled(view.author),
            locator: view.locator,
            created: view.created.0,
            state,
            state_reason,
            text: view.text,
            task: view.task.map(TaskSpecBody::from),
            judged: view.judged.map(JudgedBody::from),
        }
    }
}

/// What an erasure did.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErasureBody {
    id: Spelled<EntryId>,
    hash: Spelled<Digest>,
    at: i64,
    /// What was derived from it and is kept; at most 256.
    descendants: Vec<DescendantBody>,
    descendants_total: u64,
    /// Sessions that kept its text; they are closed.
    sessions_closed: Vec<Spelled<SessionId>>,
}

/// An entry that was derived from an erased one.
#[derive(Serialize, JsonSchema)]
struct DescendantBody {
    id: Spelled<EntryId>,
    hash: Spelled<Digest>,
    kind: Spelled<EntryKind>,
    namespace: Spelled<NamespaceName>,
    class_at_write: Spelled<AuthorityClass>,
}

impl From<Descendant> for DescendantBody {
    fn from(derived: Descendant) -> Self {
        Self {
            id: Spelled(derived.id),
            hash: Spelled(derived.hash),
            kind: Spelled(derived.kind),
            namespace: Spelled(derived.namespace),
            class_at_write: Spelled(derived.class_at_write),
        }
    }
}

impl From<Erasure> for ErasureBody {
    fn from(erasure: Erasure) -> Self {
        let descendants = erasure.descendants.into_iter();
        Self {
            id: Spelled(erasure.id),
            hash: Spelled(erasure.hash),
            at: erasure.at.0,
            descendants: descendants.map(DescendantBody::from).collect(),
            descendants_total: erasure.descendants_total,
            sessions_closed: spelled_list(erasure.sessions_closed),
        }
    }
}

/// A task in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TaskViewBody {
    entry: EntryBody,
    /// When it is due next; null when it is done.
    next_due: Option<i64>,
    fired: u32,
}

impl From<TaskView> for TaskViewBody {
    fn from(view: TaskView) -> Self {
        Self {
            entry: EntryBody::from(view.entry),
            next_due: micros(view.next_due),
            fired: view.fired,
        }
    }
}

/// Where an entry came from.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LineageBody {
    /// Why it is broken; null when it is intact.
    broken: Option<&'static str>,
    class: Spelled<AuthorityClass>,
    roots: Vec<String>,
    weakest: Vec<String>,
    nodes: Vec<NodeBody>,
    /// Whether the list of nodes was cut off.
    more: bool,
}

/// One step of a lineage.
#[derive(Serialize, JsonSchema)]
struct NodeBody {
    hash: Spelled<Digest>,
    id: Spelled<EntryId>,
    channel: Spelled<Channel>,
    principal: Spelled<PrincipalName>,
    locator: String,
    class: Spelled<AuthorityClass>,
    parents: Vec<Spelled<Digest>>,
}

impl From<LineageNode> for NodeBody {
    fn from(node: LineageNode) -> Self {
        Self {
            hash: Spelled(node.hash),
            id: Spelled(node.id),
            channel: Spelled(node.channel),
            principal: Spelled(node.principal),
            locator: node.locator,
            class: Spelled(node.class),
            parents: spelled_list(node.parents),
        }
    }
}

impl From<LineageView> for LineageBody {
    fn from(view: LineageView) -> Self {
        Self {
            broken: view.broken,
            class: Spelled(view.class),
            roots: view.roots,
            weakest: view.weakest,
            nodes: view.nodes.into_iter().map(NodeBody::from).collect(),
            more: view.more,
        }
    }
}
