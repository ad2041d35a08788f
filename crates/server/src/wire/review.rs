// SPDX-License-Identifier: MIT OR Apache-2.0
//! Approvals and the quarantine shelf on the wire.

use super::act::{ReasonBody, reasons};
use super::entry::EntryBody;
use super::spelled::Spelled;
use super::value::CallBody;
use ancile_core::{ApprovalId, AuthorityClass, Digest, PrincipalName, SessionId};
use ancile_engine::api::{ApprovalState, ApprovalView, QuarantineView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An act that names an exact digest.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DigestBody {
    /// The digest.
    pub(crate) digest: Spelled<Digest>,
}

/// A release from the shelf.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseBody {
    /// The record hash.
    pub(crate) digest: Spelled<Digest>,
    /// Why.
    pub(crate) reason: String,
}

/// A user's answering for an entry.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndorseBody {
    /// The record hash.
    pub(crate) digest: Spelled<Digest>,
    /// Parts of the text that the copy may ground, spelled as the text has them.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub(crate) values: Vec<String>,
}

/// An ask that waits for a person.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ApprovalBody {
    id: Spelled<ApprovalId>,
    state: Spelled<ApprovalState>,
    session: Spelled<SessionId>,
    agent: Spelled<PrincipalName>,
    user: Spelled<PrincipalName>,
    digest: Spelled<Digest>,
    call: CallBody,
    class: Spelled<AuthorityClass>,
    reasons: Vec<ReasonBody>,
    asked: i64,
    expires: i64,
}

impl From<ApprovalView> for ApprovalBody {
    fn from(view: ApprovalView) -> Self {
        Self {
            id: Spelled(view.id),
            state: Spelled(view.state),
            session: Spelled(view.session),
            agent: Spelled(view.agent),
            user: Spelled(view.user),
            digest: Spelled(view.digest),
            call: CallBody::from(view.call),
            class: Spelled(view.class),
            reasons: reasons(view.reasons),
            asked: view.asked.0,
            expires: view.expires.0,
        }
    }
}

/// An entry on the shelf.
#[derive(Serialize, JsonSchema)]
pub(crate) struct QuarantineBody {
    entry: EntryBody,
    reason: String,
    rules: Vec<String>,
    since: i64,
    /// The parts of the text that alone are withheld, in bytes from and to; empty where all of it
    /// is.
    parts: Vec<[usize; 2]>,
}

impl From<QuarantineView> for QuarantineBody {
    fn from(view: QuarantineView) -> Self {
        Self {
            entry: EntryBody::from(view.entry),
            reason: view.reason,
            rules: view.rules,
            since: view.since.0,
            parts: view
                .parts
                .iter()
                .map(|part| [part.start, part.end])
                .collect(),
        }
    }
}
