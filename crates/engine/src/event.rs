// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control events: everything that happens in a tenant besides the writing of entries. They are
//! leaves of the tenant's log; the state is what follows from them.

use crate::{text, value_json};
use ancile_core::{
    ApprovalId, AuthorityClass, Channel, Decision, Digest, EntryId, FieldName, MandateId, Micros,
    NamespaceName, PermitId, PrincipalName, ProposedCall, Role, RootSet, SessionId, SourceField,
    SourceName, SourceState, ToolName, TrustRoot,
};
use ancile_screen::Verdict;
use serde::{Deserialize, Serialize};

/// First byte of a control leaf.
pub(crate) const LEAF_CONTROL: u8 = 2;

/// A source field in text form: `source/tool/field`.
impl text::Text for SourceField {
    fn text(&self) -> String {
        format!("{}/{}/{}", self.source, self.tool, self.field)
    }
    fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let field = Self {
            source: SourceName::new(parts.next()?).ok()?,
            tool: ToolName::new(parts.next()?).ok()?,
            field: FieldName::new(parts.next()?).ok()?,
        };
        parts.next().is_none().then_some(field)
    }
}

/// Roots in text form, one a line item: `user:alice`, `source:bank/rates/rate`,
/// `endorsed:alice:<digest>`; an empty list is untrusted.
pub(crate) fn roots_text(roots: &RootSet) -> Vec<String> {
    let RootSet::Trusted(roots) = roots else {
        return Vec::new();
    };
    let one = |root: &TrustRoot| match root {
        TrustRoot::User(user) => format!("user:{user}"),
        TrustRoot::Source(field) => format!("source:{}", text::Text::text(field)),
        TrustRoot::Endorsed { user, digest } => format!("endorsed:{user}:{digest}"),
    };
    roots.as_slice().iter().map(one).collect()
}

/// Reads [`roots_text`]; anything unreadable makes the whole set untrusted.
pub(crate) fn roots_from_text(items: &[String]) -> RootSet {
    let one = |item: &String| -> Option<TrustRoot> {
        let (kind, rest) = item.split_once(':')?;
        match kind {
            "user" => PrincipalName::new(rest).ok().map(TrustRoot::User),
            "source" => text::Text::from_text(rest).map(TrustRoot::Source),
            "endorsed" => {
                let (user, digest) = rest.split_once(':')?;
                Some(TrustRoot::Endorsed {
                    user: PrincipalName::new(user).ok()?,
                    digest: Digest::parse_hex(digest)?,
                })
            }
            _ => None,
        }
    };
    match items.iter().map(one).collect::<Option<Vec<_>>>() {
        Some(roots) => RootSet::new(roots),
        None => RootSet::Untrusted,
    }
}

/// One thing that was shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shown {
    /// What it was: `user_turn`, `system_prompt`, `recall`, `result`, `task`, ...
    pub kind: String,
    #[serde(with = "text")]
    pub channel: Channel,
    /// Its class when it was shown.
    #[serde(with = "text")]
    pub class: AuthorityClass,
    pub roots: Vec<String>,
    /// The record hash, if it is an entry.
    #[serde(
        with = "text::option",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub entry: Option<Digest>,
    /// Who wrote it, if it is an entry.
    #[serde(
        with = "text::option",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub by: Option<PrincipalName>,
    /// Its locator, or the tool and field it is the result of.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// Commitment to a salt and the text.
    #[serde(with = "text")]
    pub commitment: Digest,
    /// Keyed hashes of typed values, for class 4.
    #[serde(with = "text::list", default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Digest>,
    /// What of it grounds: `text`, `value:<kind>`, or nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub grounds: String,
    /// Whether it grounds whatever was shown before it: a user turn, or the result of a read whose
    /// own arguments were grounded.
    #[serde(default, skip_serializing_if = "is_false")]
    pub alone: bool,
    /// Ids of the screening rules that hit, sorted, at most 16; none for an entry, whose record
    /// has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Version of the screening rules; 0 where the text was not screened as it was shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub screening: u32,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A decision on a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decided {
    #[serde(with = "text")]
    pub session: SessionId,
    #[serde(with = "text")]
    pub call: Digest,
    #[serde(with = "text")]
    pub tool: ToolName,
    #[serde(with = "text")]
    pub class: AuthorityClass,
    #[serde(with = "text")]
    pub decision: Decision,
    /// When; none in a log of before it was said.
    #[serde(
        with = "text::option",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub at: Option<Micros>,
    /// What the tables say, where the gates do not enforce.
    #[serde(with = "text::option", default)]
    pub would_be: Option<Decision>,
    #[serde(with = "text::option", default)]
    pub permit: Option<PermitId>,
    #[serde(with = "text::option", default)]
    pub mandate: Option<MandateId>,
    #[serde(with = "text::option", default)]
    pub approval: Option<ApprovalId>,
    pub rules: Vec<String>,
    #[serde(with = "text::list", default)]
    pub entries: Vec<EntryId>,
    /// Version of the screening rules in force; 0 with the detectors off.
    pub screening: u32,
    /// Class that an echo of the arguments would have, and whether they were grounded.
    #[serde(with = "text")]
    pub echo: AuthorityClass,
    pub grounded: bool,
    /// Keyed hashes of the values a class 4 session wrote out.
    #[serde(with = "text::list", default)]
    pub wrote: Vec<Digest>,
    /// Keyed hashes of the arguments: an echo of them grounds nothing.
    #[serde(with = "text::list", default)]
    pub args: Vec<Digest>,
}

/// A parked ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parked {
    #[serde(with = "text")]
    pub id: ApprovalId,
    #[serde(with = "text")]
    pub session: SessionId,
    #[serde(with = "value_json::call")]
    pub call: ProposedCall,
    #[serde(with = "text")]
    pub class: AuthorityClass,
    pub rules: Vec<(String, String)>,
    #[serde(with = "text")]
    pub manifest: Digest,
    pub epoch: u64,
    #[serde(with = "text")]
    pub at: Micros,
    #[serde(with = "text")]
    pub expires: Micros,
}

/// A segment of one side of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SealedSegment {
    #[serde(with = "text")]
    pub namespace: NamespaceName,
    /// Whether it is of the side of class 4.
    pub untrusted: bool,
    #[serde(with = "text")]
    pub digest: Digest,
    pub rows: u32,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "event",
    content = "data",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub(crate) enum Event {
    /// The first leaf of every log.
    TenantMade {
        #[serde(with = "text")]
        by: PrincipalName,
    },
    KeyMade {
        #[serde(with = "text")]
        hash: Digest,
        #[serde(with = "text")]
        principal: PrincipalName,
        #[serde(with = "text")]
        role: Role,
        #[serde(with = "text::list")]
        namespaces: Vec<NamespaceName>,
        #[serde(with = "text::list")]
        channels: Vec<Channel>,
        #[serde(with = "text::option")]
        agent: Option<PrincipalName>,
        relays_user: bool,
        #[serde(with = "text::option")]
        expires: Option<Micros>,
    },
    KeyRevoked {
        #[serde(with = "text")]
        hash: Digest,
    },
    /// A key was rotated: it stops working at this moment.
    KeyEnds {
        #[serde(with = "text")]
        hash: Digest,
        #[serde(with = "text")]
        at: Micros,
    },
    NamespaceMade {
        #[serde(with = "text")]
        name: NamespaceName,
        #[serde(with = "text::list")]
        readers: Vec<PrincipalName>,
        #[serde(with = "text::list")]
        writers: Vec<PrincipalName>,
    },
    /// A namespace has other readers and writers.
    NamespaceChanged {
        #[serde(with = "text")]
        name: NamespaceName,
        #[serde(with = "text::list")]
        readers: Vec<PrincipalName>,
        #[serde(with = "text::list")]
        writers: Vec<PrincipalName>,
        #[serde(with = "text")]
        by: PrincipalName,
    },
    ManifestSet {
        json: String,
        #[serde(with = "text")]
        by: PrincipalName,
    },
    MandateGranted {
        draft: String,
        #[serde(with = "text")]
        manifest: Digest,
    },
    MandateRevoked {
        #[serde(with = "text")]
        id: MandateId,
        #[serde(with = "text")]
        by: PrincipalName,
    },
    SourceRegistered {
        #[serde(with = "text")]
        name: SourceName,
        #[serde(with = "text::list")]
        tools: Vec<ToolName>,
    },
    SourceGraded {
        #[serde(with = "text")]
        field: SourceField,
        #[serde(with = "text")]
        state: SourceState,
        #[serde(with = "text")]
        by: PrincipalName,
    },
    SessionOpened {
        #[serde(with = "text")]
        id: SessionId,
        #[serde(with = "text")]
        token: Digest,
        #[serde(with = "text")]
        host: PrincipalName,
        #[serde(with = "text")]
        agent: PrincipalName,
        #[serde(with = "text")]
        user: PrincipalName,
        #[serde(with = "text")]
        namespace: NamespaceName,
        interactive: bool,
        observed: bool,
        #[serde(with = "text::option")]
        task: Option<EntryId>,
    },
    SessionClosed {
        #[serde(with = "text")]
        id: SessionId,
    },
    Exposed {
        #[serde(with = "text")]
        session: SessionId,
        items: Vec<Shown>,
        /// Commitment to the content beside this leaf: the texts that ground, by item.
        #[serde(
            with = "text::option",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        texts: Option<Digest>,
        /// The permit whose result this is.
        #[serde(
            with = "text::option",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        result_of: Option<PermitId>,
    },
    /// A permitted call's result was declared not shown.
    NotShown {
        #[serde(with = "text")]
        session: SessionId,
        #[serde(with = "text")]
        permit: PermitId,
    },
    Decided(Decided),
    Redeemed {
        #[serde(with = "text")]
        permit: PermitId,
    },
    Parked(Parked),
    ApprovalAnswered {
        #[serde(with = "text")]
        id: ApprovalId,
        approved: bool,
        #[serde(with = "text")]
        by: PrincipalName,
        #[serde(with = "text")]
        at: Micros,
    },
    /// A request that is carried out once was answered. The answer lies beside the leaf,
    /// encrypted under the token of the credential.
    Answered {
        /// Digest of the credential and the idempotency key.
        #[serde(with = "text")]
        id: Digest,
        /// Hash of the credential's token.
        #[serde(with = "text")]
        credential: Digest,
        /// Digest of all that the request says.
        #[serde(with = "text")]
        request: Digest,
        #[serde(with = "text")]
        at: Micros,
        /// Commitment to the salt and the encrypted bytes.
        #[serde(with = "text")]
        answer: Digest,
        /// Leaves of earlier answers that are kept no more.
        drops: Vec<u64>,
    },
    /// An entry was written to stand in the place of another: kept apart from its record, so that
    /// the other does not come back where that record is lost.
    Superseded {
        #[serde(with = "text")]
        entry: EntryId,
        #[serde(with = "text")]
        by: EntryId,
        /// Class of the new one at write, and what it rests on.
        #[serde(with = "text")]
        class: AuthorityClass,
        roots: Vec<String>,
        /// Whether both have the same origin key.
        same_origin: bool,
    },
    Quarantined {
        #[serde(with = "text")]
        entry: EntryId,
        reason: String,
        rules: Vec<String>,
        #[serde(with = "text")]
        at: Micros,
        /// The parts of the text, in bytes from and to, that alone are on the shelf; all of it
        /// where there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<(usize, usize)>,
    },
    /// An entry was written that is to be judged, and is held until then.
    Pending {
        #[serde(with = "text")]
        entry: EntryId,
        #[serde(with = "text")]
        at: Micros,
    },
    /// What became of one that was held.
    Judged {
        #[serde(with = "text")]
        entry: EntryId,
        /// Name and version; none where there was no judge.
        judge: Option<String>,
        /// Per mille; none where there was no score.
        score: Option<u16>,
        /// `allow`, `flag` or `quarantine`.
        #[serde(with = "text")]
        verdict: Verdict,
        /// Why there was no score.
        failure: Option<String>,
        #[serde(with = "text")]
        at: Micros,
    },
    Released {
        #[serde(with = "text")]
        entry: EntryId,
        #[serde(with = "text")]
        by: PrincipalName,
        reason: String,
    },
    /// A user answered for an entry: a copy was written that stands in its place.
    Endorsed {
        /// The copy, and its record hash.
        #[serde(with = "text")]
        entry: EntryId,
        #[serde(with = "text")]
        hash: Digest,
        /// Record hash of what it copies.
        #[serde(with = "text")]
        of: Digest,
        #[serde(with = "text")]
        by: PrincipalName,
        #[serde(with = "text")]
        at: Micros,
        /// The parts of the text, in bytes from and to, that the user retyped.
        named: Vec<(usize, usize)>,
    },
    Discarded {
        #[serde(with = "text")]
        entry: EntryId,
        #[serde(with = "text")]
        by: PrincipalName,
    },
    /// All records below a sequence number are in these segments, or in those named before.
    Sealed {
        upto: u64,
        /// Whether the segments named before count no more.
        anew: bool,
        segments: Vec<SealedSegment>,
    },
    /// One segment stands in the place of several.
    SegmentsMerged {
        #[serde(with = "text::list")]
        of: Vec<Digest>,
        into: SealedSegment,
    },
    /// A task fires no more.
    Cancelled {
        #[serde(with = "text")]
        task: EntryId,
        #[serde(with = "text")]
        by: PrincipalName,
    },
    /// The content of an entry was destroyed. What was derived from it is kept and listed, up to
    /// 256 of it.
    Erased {
        #[serde(with = "text")]
        entry: EntryId,
        #[serde(with = "text")]
        hash: Digest,
        #[serde(with = "text")]
        by: PrincipalName,
        #[serde(with = "text")]
        at: Micros,
        /// Whether it was in use: it still stands in the place of what it replaced.
        stood: bool,
        #[serde(with = "text::list")]
        kept: Vec<EntryId>,
    },
    /// A quota was set, or taken away where it has no limit.
    QuotaSet {
        #[serde(with = "text::option")]
        namespace: Option<NamespaceName>,
        #[serde(with = "text::option")]
        principal: Option<PrincipalName>,
        entries: Option<u64>,
        bytes: Option<u64>,
        #[serde(with = "text")]
        by: PrincipalName,
    },
    /// The content of a class 4 entry went to make room under a quota.
    Evicted {
        #[serde(with = "text")]
        entry: EntryId,
        #[serde(with = "text")]
        hash: Digest,
        #[serde(with = "text")]
        at: Micros,
        /// Whether it was in use.
        stood: bool,
        /// Which quota, in words.
        quota: String,
    },
    /// Decisions on a tool's calls bind, or are only logged.
    ToolModeSet {
        #[serde(with = "text")]
        tool: ToolName,
        log_only: bool,
        #[serde(with = "text")]
        by: PrincipalName,
    },
    Fired {
        #[serde(with = "text")]
        task: EntryId,
        #[serde(with = "text")]
        decision: Decision,
        #[serde(with = "text::option", default)]
        would_be: Option<Decision>,
        rules: Vec<String>,
        /// Version of the screening rules in force; 0 with the detectors off.
        screening: u32,
        #[serde(with = "text::option")]
        session: Option<SessionId>,
        #[serde(with = "text")]
        at: Micros,
    },
}

/// How the body of [`Event::Sealed`] begins.
const SEALED_PREFIX: &[u8] = b"\x02{\"event\":\"sealed\"";

impl Event {
    /// The sequence number that a leaf body says all records below are in segments of.
    pub(crate) fn sealed_upto(body: &[u8]) -> Option<u64> {
        if !body.starts_with(SEALED_PREFIX) {
            return None;
        }
        match Self::decode(body) {
            Ok(Self::Sealed { upto, .. }) => Some(upto),
            _ => None,
        }
    }

    /// The leaf body: the control byte, then JSON.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut out = vec![LEAF_CONTROL];
        serde_json::to_writer(&mut out, self)?;
        Ok(out)
    }

    /// Reads a leaf body.
    pub(crate) fn decode(body: &[u8]) -> Result<Self, String> {
        match body.split_first() {
            Some((&LEAF_CONTROL, json)) => {
                serde_json::from_slice(json).map_err(|e| format!("control event: {e}"))
            }
            _ => Err("leaf is not a control event".to_owned()),
        }
    }
}
