// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps: operations in order, and their answers.

use super::act::{CallAnswerBody, ProposeBody, RedeemBody, ResultBody};
use super::entry::{WriteBody, WrittenBody};
use super::operation::{self, Named};
use super::recall::{PackBody, RecallBody, integrity};
use super::spelled::{Spelled, bare, echo};
use crate::body::{self, json};
use crate::problem::Problem;
use ancile_core::{AuthorityClass, Channel, Digest, FieldName};
use ancile_engine::api::{
    Expose, ExposureKind, STEP_OPS_MAX, ShownFinding, StepAnswer, StepOp, StepResult,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// `{"ops": [...]}`. The operations stay raw until each one's name is known.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepBody<'a> {
    #[serde(borrow)]
    ops: Vec<&'a RawValue>,
}

impl JsonSchema for StepBody<'_> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("StepBody")
    }
    fn json_schema(schemas: &mut SchemaGenerator) -> Schema {
        let ops = [
            operation::schema::<ExposeBody>("expose", schemas),
            operation::schema::<RecallBody>("recall", schemas),
            operation::schema::<ProposeBody>("call", schemas),
            operation::schema::<RedeemBody>("redeem", schemas),
            operation::schema::<ResultBody>("result", schemas),
            operation::schema::<WriteBody>("write", schemas),
        ];
        json_schema!({
            "type": "object", "required": ["ops"], "additionalProperties": false,
            "properties": {
                "ops": {"type": "array", "maxItems": STEP_OPS_MAX, "items": {"oneOf": ops}},
            },
        })
    }
}

impl StepBody<'_> {
    /// The operations.
    pub(crate) fn ops(&self) -> Result<Vec<StepOp>, Problem> {
        if self.ops.len() > STEP_OPS_MAX {
            let n = self.ops.len();
            let detail = format!("the step has {n} operations; limit is {STEP_OPS_MAX}; split it");
            return Err(Problem::malformed("too_many_ops", detail));
        }
        let place = |i: usize| format!("operation {i}");
        let one = |(i, raw): (usize, &&RawValue)| op(raw.get()).map_err(|p| p.within(&place(i)));
        self.ops.iter().enumerate().map(one).collect()
    }
}

fn op(text: &str) -> Result<StepOp, Problem> {
    Ok(match json::<Named>(text)?.op.as_str() {
        "expose" => StepOp::Expose(body::operation::<ExposeBody>(text)?.expose()),
        "recall" => StepOp::Recall(body::operation::<RecallBody>(text)?.in_session()?),
        "call" => StepOp::Call(body::operation::<ProposeBody>(text)?.propose()),
        "redeem" => {
            let (permit, call) = body::operation::<RedeemBody>(text)?.redeem();
            StepOp::Redeem(permit, call)
        }
        "result" => {
            let (permit, result) = body::operation::<ResultBody>(text)?.result()?;
            StepOp::Result(permit, result)
        }
        "write" => StepOp::Write(body::operation::<WriteBody>(text)?.write()?),
        other => {
            let names = "expose, recall, call, redeem, result, write";
            let detail = format!("`op` is {}; give one of {names}", echo(other));
            return Err(Problem::malformed("unknown_op", detail));
        }
    })
}

/// Something that was shown.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExposeBody {
    kind: Spelled<ExposureKind>,
    channel: Option<Spelled<Channel>>,
    text: String,
    #[serde(default)]
    locator: String,
}

impl ExposeBody {
    fn expose(self) -> Expose {
        Expose {
            kind: self.kind.0,
            channel: bare(self.channel),
            text: self.text,
            locator: self.locator,
        }
    }
}

/// The answers of a step.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StepAnswerBody {
    results: Vec<StepResultBody>,
    class: Spelled<AuthorityClass>,
    exposure_root: Spelled<Digest>,
    exposure_len: u64,
    /// `pending` while the store, since it was opened, was not wholly compared with its log.
    #[serde(skip_serializing_if = "Option::is_none")]
    integrity: Option<&'static str>,
}

impl From<StepAnswer> for StepAnswerBody {
    fn from(answer: StepAnswer) -> Self {
        Self {
            results: answer
                .results
                .into_iter()
                .map(StepResultBody::from)
                .collect(),
            class: Spelled(answer.class),
            exposure_root: Spelled(answer.exposure_root),
            exposure_len: answer.exposure_len,
            integrity: integrity(answer.integrity_pending),
        }
    }
}

/// The answer to one operation, under the operation's name.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum StepResultBody {
    /// The class the exposure was given, and what screening found in it.
    Expose {
        class: Spelled<AuthorityClass>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        findings: Vec<FindingBody>,
    },
    /// The pack.
    Recall(PackBody),
    /// The decision.
    Call(CallAnswerBody),
    /// The permit is used up.
    Redeem {},
    /// The class the result was given, null when it was not shown, and what screening found in it.
    Result {
        class: Option<Spelled<AuthorityClass>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        findings: Vec<FindingBody>,
    },
    /// What became of the write.
    Write(WrittenBody),
}

/// Something that screening found in a text that was reported as shown; nothing follows from it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FindingBody {
    /// The field that has the text, where a result has fields.
    field: Option<Spelled<FieldName>>,
    stage: &'static str,
    family: &'static str,
    /// Where it begins in the text, in bytes.
    start: usize,
    /// Where it ends.
    end: usize,
    /// What the policy would have follow for an entry of this channel.
    verdict: &'static str,
}

impl From<ShownFinding> for FindingBody {
    fn from(finding: ShownFinding) -> Self {
        let (start, end) = finding.span;
        Self {
            field: finding.field.map(Spelled),
            stage: finding.stage,
            family: finding.family,
            start,
            end,
            verdict: finding.verdict,
        }
    }
}

impl From<StepResult> for StepResultBody {
    fn from(result: StepResult) -> Self {
        match result {
            StepResult::Exposed(class, findings) => Self::Expose {
                class: Spelled(class),
                findings: findings.into_iter().map(FindingBody::from).collect(),
            },
            StepResult::Recalled(pack) => Self::Recall(pack.into()),
            StepResult::Called(answer) => Self::Call(answer.into()),
            StepResult::Redeemed => Self::Redeem {},
            StepResult::ResultTaken(class, findings) => Self::Result {
                class: class.map(Spelled),
                findings: findings.into_iter().map(FindingBody::from).collect(),
            },
            StepResult::Written(written) => Self::Write(written.into()),
        }
    }
}
