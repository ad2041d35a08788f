// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one round trip of a model asks and is answered: the four gates, in plain data.

use ancile_core::{
    ApprovalId, AuthorityClass, Channel, Decision, Digest, EntryId, EntryKind, FieldName,
    MandateId, Micros, NamespaceName, PermitId, ProposedCall, SourceField,
};
use std::collections::BTreeMap;

/// What kind of thing was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExposureKind {
    /// The system prompt.
    SystemPrompt,
    /// The tool list.
    ToolList,
    /// A turn of the user's.
    UserTurn,
    /// Text the host fetched or was given: pages, documents, pastes.
    Text,
    /// A message of another agent's.
    PeerMessage,
}

/// Something the host showed to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expose {
    /// What it was.
    pub kind: ExposureKind,
    /// The channel, if the host names one; it must be on its credential's list.
    pub channel: Option<Channel>,
    /// The text.
    pub text: String,
    /// Where it came from, from the host's transport.
    pub locator: String,
}

/// A question to the memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recall {
    /// The words to look for.
    pub query: String,
    /// Slots; `None`: 15.
    pub k: Option<u32>,
    /// Tokens; `None`: 4,000.
    pub tokens: Option<u32>,
    /// The weakest class to show; `None`: class 3 in task runs, class 4 otherwise.
    pub max_class: Option<AuthorityClass>,
    /// Occupancy bound, where it differs from the default: floor, ceiling, per origin.
    pub bound: Option<BoundSpec>,
    /// Which entries are looked at.
    pub filter: Filter,
    /// The moment whose memory is asked: entries made later do not count, neither as an answer nor
    /// as what supersedes one, and validity is that of the moment. What a person withheld since
    /// stays withheld, and a class that fell since stays fallen. `None`: now.
    pub as_of: Option<Micros>,
    /// Say why each entry has its rank; for user and operator credentials only.
    pub explain: bool,
}

/// Which entries a recall looks at; an empty list stands for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Kinds.
    pub kinds: Vec<EntryKind>,
    /// Channels.
    pub channels: Vec<Channel>,
    /// Only entries made from this moment on, to the millisecond.
    pub created_from: Option<Micros>,
    /// Only entries made before this moment, to the millisecond.
    pub created_until: Option<Micros>,
}

/// Why an entry has its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explained {
    /// The fused score; the higher, the better.
    pub score: u64,
    /// Rank from 1 among what has words of the query, and BM25 in millionths.
    pub lexical: Option<(u32, u64)>,
    /// Rank from 1 among what is near in meaning, and the cosine in millionths.
    pub dense: Option<(u32, i64)>,
}

/// Limits on what class 4 may take of a pack, in slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundSpec {
    /// Slots kept for class 4 as a whole.
    pub floor: u32,
    /// Most slots class 4 may take.
    pub ceiling: u32,
    /// Most slots of one OriginKey within class 4.
    pub per_origin: u32,
}

/// One selected entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackItem {
    /// The entry.
    pub id: EntryId,
    /// Its record hash.
    pub hash: Digest,
    /// What it is for.
    pub kind: EntryKind,
    /// Its class today.
    pub class: AuthorityClass,
    /// The way it came in.
    pub channel: Channel,
    /// Where it came from.
    pub locator: String,
    /// When it was written.
    pub created: Micros,
    /// The text to show: class 4 is fenced by a random delimiter, escaped, and labelled as data.
    pub text: String,
    /// Why it was ranked where it is; for user and operator credentials only.
    pub rank: Option<u64>,
    /// More of why, where it was asked for.
    pub explained: Option<Explained>,
}

/// The selected entries, and how much of the pack each side took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPack {
    /// The entries: trusted first, then class 4.
    pub items: Vec<PackItem>,
    /// Slots taken.
    pub slots_used: u32,
    /// Slots taken by class 4.
    pub untrusted_slots: u32,
    /// Tokens taken, estimated at four bytes a token.
    pub tokens_used: u32,
    /// Tokens taken by class 4.
    pub untrusted_tokens: u32,
    /// The weakest class among the entries; `None` when there is none.
    pub weakest: Option<AuthorityClass>,
    /// Candidates withheld: broken, or instruction-like class 4, which are quarantined; and all of
    /// the namespace that had lost their content when the store was opened.
    pub withheld: u32,
    /// Which path ranked it: `hybrid` by words and meaning, `lexical` by words alone (there is no
    /// model, or the index was made with another one), `hybrid_in_part` where the index of some
    /// entries was made with another model. `ancile reindex` makes it anew.
    pub served_by: &'static str,
    /// Whether the store was opened and not all of it compared with its log yet.
    pub integrity_pending: bool,
}

/// A call the agent proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Propose {
    /// The call.
    pub call: ProposedCall,
    /// An approval it was given once.
    pub approval: Option<ApprovalId>,
}

/// One reason of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Stable rule id, such as `call.class_4.no_mandate`.
    pub rule: String,
    /// What it means here, in a sentence.
    pub text: String,
    /// The entries that determined it.
    pub entries: Vec<EntryId>,
}

/// What the act gate says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAnswer {
    /// What binds.
    pub decision: Decision,
    /// What the tables say, where the gates do not enforce and it differs.
    pub would_be: Option<Decision>,
    /// The call digest.
    pub digest: Digest,
    /// The class the call was judged at.
    pub class: AuthorityClass,
    /// The permit, when permitted.
    pub permit: Option<PermitId>,
    /// When the permit ends.
    pub permit_expires: Option<Micros>,
    /// The parked ask, when a person must say.
    pub approval: Option<ApprovalId>,
    /// The mandate it rests on.
    pub mandate: Option<MandateId>,
    /// Why.
    pub reasons: Vec<Reason>,
}

/// What came back from a permitted call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolResult {
    /// Free text: class 4 unless the tool's `text` field is approved.
    Text(String),
    /// Declared fields by name.
    Fields(BTreeMap<FieldName, String>),
    /// It was not shown to the agent.
    NotShown,
}

/// An entry to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// What it is for.
    pub kind: EntryKind,
    /// The namespace; in a session it is the session's.
    pub namespace: Option<NamespaceName>,
    /// The channel, if the caller names one.
    pub channel: Option<Channel>,
    /// The text.
    pub text: String,
    /// Where it came from.
    pub locator: String,
    /// The output field of a registered source it came from, if any.
    pub field: Option<SourceField>,
    /// Record hashes it was derived from, besides the session's exposures.
    pub parents: Vec<Digest>,
    /// The entry it supersedes.
    pub supersedes: Option<EntryId>,
    /// For a task: when it is due and what it calls.
    pub task: Option<TaskSpec>,
    /// Not recalled before this moment.
    pub valid_from: Option<Micros>,
    /// Not recalled from this moment on.
    pub valid_until: Option<Micros>,
}

impl Write {
    /// A memory in the only namespace of the key, and of what the key says it is: nothing else is
    /// named.
    #[must_use]
    pub fn memory(text: impl Into<String>) -> Self {
        Self {
            kind: EntryKind::Memory,
            namespace: None,
            channel: None,
            text: text.into(),
            locator: String::new(),
            field: None,
            parents: Vec::new(),
            supersedes: None,
            task: None,
            valid_from: None,
            valid_until: None,
        }
    }
}

/// When a task is due, and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSpec {
    /// When it is due.
    pub due: Micros,
    /// How often it comes due again, in seconds; `None`: once.
    pub every_seconds: Option<u32>,
    /// The call it makes; `None`: it notifies its own user.
    pub call: Option<ProposedCall>,
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The entry.
    pub id: EntryId,
    /// Its record hash.
    pub hash: Digest,
    /// Its sequence number in the tenant's log.
    pub seq: u64,
    /// Its class.
    pub class: AuthorityClass,
    /// The channel it was given.
    pub channel: Channel,
    /// Whether it went to the quarantine shelf.
    pub quarantined: bool,
    /// Whether it is held until it is judged.
    pub pending: bool,
    /// How many parts of the text went there alone; the rest is in use.
    pub withheld: usize,
    /// Rules that hit; for user and operator credentials only.
    pub rules: Vec<String>,
}

/// One operation of a step, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepOp {
    /// Report something that was shown.
    Expose(Expose),
    /// Recall entries; they count as shown.
    Recall(Recall),
    /// Propose a call.
    Call(Propose),
    /// Use a permit up, just before its call is made.
    Redeem(PermitId, ProposedCall),
    /// Report what a permitted call gave.
    Result(PermitId, ToolResult),
    /// Write an entry.
    Write(Write),
}

/// Something that screening found in a text that was reported as shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFinding {
    /// The field that has the text, where a result has fields.
    pub field: Option<FieldName>,
    /// The stage that found it: `structure`, `sensitive` or `injection`.
    pub stage: &'static str,
    /// The family of the rule, such as `secret`.
    pub family: &'static str,
    /// Where, in bytes of the text from and to.
    pub span: (usize, usize),
    /// What the policy would have follow for an entry of this channel; nothing followed here.
    pub verdict: &'static str,
}

/// The answer to one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepResult {
    /// The class the exposure was given, and what screening found in it: at most
    /// [`FINDINGS_TOLD_MAX`](crate::api::FINDINGS_TOLD_MAX) findings a text, in order of stages,
    /// and none for the key of an agent. Nothing follows from them: it was shown.
    Exposed(AuthorityClass, Vec<ShownFinding>),
    /// The pack.
    Recalled(ContextPack),
    /// The decision.
    Called(CallAnswer),
    /// The permit is used up.
    Redeemed,
    /// The class the result was given, `None` when it was not shown, and what screening found, as
    /// in an exposure.
    ResultTaken(Option<AuthorityClass>, Vec<ShownFinding>),
    /// What became of the write.
    Written(Written),
}

/// The answers of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepAnswer {
    /// One answer for each operation.
    pub results: Vec<StepResult>,
    /// The session's class after it.
    pub class: AuthorityClass,
    /// Root of the exposure log after it.
    pub exposure_root: Digest,
    /// Length of the exposure log after it.
    pub exposure_len: u64,
    /// Whether the store was opened and not all of it compared with its log yet.
    pub integrity_pending: bool,
}
