// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mandates and the manifest on the wire.

use super::count;
use super::spelled::{Keyed, Spelled};
use crate::problem::Problem;
use ancile_core::{AuthorityClass, Digest, FieldName, MandateId, Micros, PrincipalName, ToolName};
use ancile_engine::api::{MandateSpec, MandateView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a mandate is made from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MandateBody {
    agent: Spelled<PrincipalName>,
    tool: Spelled<ToolName>,
    /// `agent_derived`, the default, or `untrusted`.
    #[serde(default = "agent_derived")]
    weakest: Spelled<AuthorityClass>,
    not_before: i64,
    not_after: i64,
    #[schemars(range(min = 1, max = 4_294_967_295_i64))]
    uses_max: Option<i64>,
    #[serde(default)]
    fixed: Keyed<FieldName, Vec<String>>,
    #[serde(default)]
    allow: Keyed<FieldName, String>,
    #[serde(default)]
    amount_max: Keyed<FieldName, String>,
    cedar: Option<String>,
}

fn agent_derived() -> Spelled<AuthorityClass> {
    Spelled(AuthorityClass::AgentDerived)
}

impl MandateBody {
    /// What the mandate is made from.
    pub(crate) fn spec(self) -> Result<MandateSpec, Problem> {
        Ok(MandateSpec {
            agent: self.agent.0,
            tool: self.tool.0,
            weakest: self.weakest.0,
            not_before: Micros(self.not_before),
            not_after: Micros(self.not_after),
            uses_max: count("uses_max", self.uses_max, 1..=u32::MAX)?,
            fixed: self.fixed.0,
            allow: self.allow.0,
            amount_max: self.amount_max.0,
            cedar: self.cedar,
        })
    }
}

/// A mandate in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MandateViewBody {
    id: Spelled<MandateId>,
    user: Spelled<PrincipalName>,
    agent: Spelled<PrincipalName>,
    tool: Spelled<ToolName>,
    weakest: Spelled<AuthorityClass>,
    not_before: i64,
    not_after: i64,
    uses_max: Option<u32>,
    uses: u32,
    fixed: Keyed<FieldName, Vec<String>>,
    cedar: String,
    revoked: bool,
}

impl From<MandateView> for MandateViewBody {
    fn from(view: MandateView) -> Self {
        Self {
            id: Spelled(view.id),
            user: Spelled(view.user),
            agent: Spelled(view.agent),
            tool: Spelled(view.tool),
            weakest: Spelled(view.weakest),
            not_before: view.not_before.0,
            not_after: view.not_after.0,
            uses_max: view.uses_max,
            uses: view.uses,
            fixed: Keyed(view.fixed),
            cedar: view.cedar,
            revoked: view.revoked,
        }
    }
}

/// The Cedar text of a mandate that was not stored.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DraftBody {
    /// The text.
    pub(crate) cedar: String,
}

/// The digest of the manifest now in force.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ManifestSetBody {
    /// The digest.
    pub(crate) digest: Spelled<Digest>,
}
