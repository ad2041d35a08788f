// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys, tenants and namespaces on the wire.

use super::spelled::{Spelled, bare, bare_list, spelled_list};
use super::{count, micros};
use crate::problem::Problem;
use ancile_core::{Channel, Micros, NamespaceName, PrincipalName, Role, TenantName};
use ancile_engine::api::{KeyMade, KeySpec, KeyView, OVERLAP_SECONDS_MAX, TenantSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A key to be made.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyBody {
    principal: Spelled<PrincipalName>,
    role: Spelled<Role>,
    namespaces: Vec<Spelled<NamespaceName>>,
    #[serde(default)]
    channels: Vec<Spelled<Channel>>,
    agent: Option<Spelled<PrincipalName>>,
    #[serde(default)]
    relays_user: bool,
    expires: Option<i64>,
}

impl From<KeyBody> for KeySpec {
    fn from(body: KeyBody) -> Self {
        Self {
            principal: body.principal.0,
            role: body.role.0,
            namespaces: bare_list(body.namespaces),
            channels: bare_list(body.channels),
            agent: bare(body.agent),
            relays_user: body.relays_user,
            expires: body.expires.map(Micros),
        }
    }
}

impl From<KeySpec> for KeyBody {
    fn from(spec: KeySpec) -> Self {
        Self {
            principal: Spelled(spec.principal),
            role: Spelled(spec.role),
            namespaces: spelled_list(spec.namespaces),
            channels: spelled_list(spec.channels),
            agent: spec.agent.map(Spelled),
            relays_user: spec.relays_user,
            expires: micros(spec.expires),
        }
    }
}

/// How a key is rotated.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RotateBody {
    /// How long the old key goes on working; not at all by default.
    #[serde(default)]
    #[schemars(range(min = 0, max = 604_800))]
    overlap_seconds: i64,
}

impl RotateBody {
    /// The overlap in seconds.
    pub(crate) fn overlap(&self) -> Result<u32, Problem> {
        let given = Some(self.overlap_seconds);
        count("overlap_seconds", given, 0..=OVERLAP_SECONDS_MAX).map(Option::unwrap_or_default)
    }
}

/// A key just made; the token is shown once.
#[derive(Serialize, JsonSchema)]
pub(crate) struct KeyMadeBody {
    id: String,
    token: String,
}

impl From<KeyMade> for KeyMadeBody {
    fn from(made: KeyMade) -> Self {
        Self {
            id: made.id,
            token: made.token,
        }
    }
}

/// A key in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct KeyViewBody {
    id: String,
    key: KeyBody,
    revoked: bool,
}

impl From<KeyView> for KeyViewBody {
    fn from(view: KeyView) -> Self {
        Self {
            id: view.id,
            key: KeyBody::from(view.spec),
            revoked: view.revoked,
        }
    }
}

/// A tenant to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TenantBody {
    name: Spelled<TenantName>,
    operator: Spelled<PrincipalName>,
}

impl From<TenantBody> for TenantSpec {
    fn from(body: TenantBody) -> Self {
        Self {
            name: body.name.0,
            operator: body.operator.0,
        }
    }
}

/// A namespace to be made.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamespaceBody {
    /// Its name.
    pub(crate) name: Spelled<NamespaceName>,
    /// Who may read it.
    pub(crate) readers: Vec<Spelled<PrincipalName>>,
    /// Who may write it.
    pub(crate) writers: Vec<Spelled<PrincipalName>>,
}
