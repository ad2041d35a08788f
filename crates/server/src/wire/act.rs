// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proposed calls, and what the act gate says of them.

use super::spelled::{Keyed, Spelled, bare, spelled_list};
use super::value::{Args, CallBody};
use super::{micros, session::SessionOpenedBody};
use crate::problem::Problem;
use ancile_core::{
    ApprovalId, AuthorityClass, Decision, Digest, EntryId, FieldName, MandateId, PermitId,
    PrincipalName, ProposedCall, ToolName,
};
use ancile_engine::FireSpec;
use ancile_engine::api::{CallAnswer, FireAnswer, Propose, Reason, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A call to be decided on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProposeBody {
    tool: Spelled<ToolName>,
    args: Args,
    /// An approval given once.
    approval: Option<Spelled<ApprovalId>>,
}

impl ProposeBody {
    /// The proposal.
    pub(crate) fn propose(self) -> Propose {
        let call = ProposedCall {
            tool: self.tool.0,
            args: self.args.0,
        };
        Propose {
            call,
            approval: bare(self.approval),
        }
    }
}

/// A permit to be used up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedeemBody {
    permit: Spelled<PermitId>,
    tool: Spelled<ToolName>,
    args: Args,
}

impl RedeemBody {
    /// The permit, and the call that is about to be made.
    pub(crate) fn redeem(self) -> (PermitId, ProposedCall) {
        let call = ProposedCall {
            tool: self.tool.0,
            args: self.args.0,
        };
        (self.permit.0, call)
    }
}

/// What came back from a permitted call: exactly one of `text`, `fields` and `not_shown`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultBody {
    permit: Spelled<PermitId>,
    text: Option<String>,
    fields: Option<Keyed<FieldName, String>>,
    not_shown: Option<bool>,
}

impl ResultBody {
    /// The permit, and what came back.
    pub(crate) fn result(self) -> Result<(PermitId, ToolResult), Problem> {
        let result = match (self.text, self.fields, self.not_shown) {
            (Some(text), None, None | Some(false)) => ToolResult::Text(text),
            (None, Some(fields), None | Some(false)) => ToolResult::Fields(fields.0),
            (None, None, Some(true)) => ToolResult::NotShown,
            _ => {
                let detail = "a result is one of `text`, `fields` and `\"not_shown\": true`; \
                              give exactly one";
                return Err(Problem::malformed("result_not_one", detail));
            }
        };
        Ok((self.permit.0, result))
    }
}

/// One reason of a decision.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReasonBody {
    rule: String,
    text: String,
    entries: Vec<Spelled<EntryId>>,
}

impl From<Reason> for ReasonBody {
    fn from(reason: Reason) -> Self {
        Self {
            rule: reason.rule,
            text: reason.text,
            entries: spelled_list(reason.entries),
        }
    }
}

/// Reasons in order.
pub(crate) fn reasons(reasons: Vec<Reason>) -> Vec<ReasonBody> {
    reasons.into_iter().map(ReasonBody::from).collect()
}

/// What the act gate says.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CallAnswerBody {
    decision: Spelled<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_be: Option<Spelled<Decision>>,
    digest: Spelled<Digest>,
    class: Spelled<AuthorityClass>,
    permit: Option<Spelled<PermitId>>,
    permit_expires: Option<i64>,
    approval: Option<Spelled<ApprovalId>>,
    mandate: Option<Spelled<MandateId>>,
    reasons: Vec<ReasonBody>,
}

impl From<CallAnswer> for CallAnswerBody {
    fn from(answer: CallAnswer) -> Self {
        Self {
            decision: Spelled(answer.decision),
            would_be: answer.would_be.map(Spelled),
            digest: Spelled(answer.digest),
            class: Spelled(answer.class),
            permit: answer.permit.map(Spelled),
            permit_expires: micros(answer.permit_expires),
            approval: answer.approval.map(Spelled),
            mandate: answer.mandate.map(Spelled),
            reasons: reasons(answer.reasons),
        }
    }
}

/// A task to be fired.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FireBody {
    /// The agent that runs it.
    agent: Spelled<PrincipalName>,
    /// The user it runs for: another user's task is class 4 to this one.
    user: Spelled<PrincipalName>,
}

impl From<FireBody> for FireSpec {
    fn from(body: FireBody) -> Self {
        Self {
            agent: body.agent.0,
            user: body.user.0,
        }
    }
}

/// What a fired task may do.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FireAnswerBody {
    decision: Spelled<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_be: Option<Spelled<Decision>>,
    reasons: Vec<ReasonBody>,
    quarantined: bool,
    session: Option<SessionOpenedBody>,
    payload: Option<String>,
    call: Option<CallAnswerBody>,
    proposed: Option<CallBody>,
}

impl From<FireAnswer> for FireAnswerBody {
    fn from(answer: FireAnswer) -> Self {
        Self {
            decision: Spelled(answer.decision),
            would_be: answer.would_be.map(Spelled),
            reasons: reasons(answer.reasons),
            quarantined: answer.quarantined,
            session: answer.session.map(SessionOpenedBody::from),
            payload: answer.payload,
            call: answer.call.map(CallAnswerBody::from),
            proposed: answer.proposed.map(CallBody::from),
        }
    }
}
