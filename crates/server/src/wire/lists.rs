// SPDX-License-Identifier: MIT OR Apache-2.0
//! Namespaces, principals and tenants in lists, and how the store stands for an operator.

use super::health::HealthBody;
use super::spelled::{Spelled, bare, spelled_list};
use crate::problem::Problem;
use ancile_core::{NamespaceName, PrincipalName, Role, TenantName};
use ancile_engine::api::{
    IndexState, Integrity, NamespaceView, PrincipalView, QuotaSpec, QuotaView, TenantView,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Other readers and writers of a namespace; an empty list is every key that reaches it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamespaceListsBody {
    /// Who may read it.
    pub(crate) readers: Vec<Spelled<PrincipalName>>,
    /// Who may write it.
    pub(crate) writers: Vec<Spelled<PrincipalName>>,
}

/// A namespace in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NamespaceViewBody {
    name: Spelled<NamespaceName>,
    /// Whether the key may read it.
    reads: bool,
    /// Whether the key may write it.
    writes: bool,
    /// For an operator: who may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    readers: Option<Vec<Spelled<PrincipalName>>>,
    /// For an operator: who may write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    writers: Option<Vec<Spelled<PrincipalName>>>,
}

impl From<NamespaceView> for NamespaceViewBody {
    fn from(view: NamespaceView) -> Self {
        let (readers, writers) = view.lists.unzip();
        Self {
            name: Spelled(view.name),
            reads: view.reads,
            writes: view.writes,
            readers: readers.map(spelled_list),
            writers: writers.map(spelled_list),
        }
    }
}

/// A principal in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PrincipalViewBody {
    name: Spelled<PrincipalName>,
    roles: Vec<Spelled<Role>>,
    /// Keys that were made for it.
    keys: u32,
    /// Of these, the keys that work now.
    working: u32,
}

impl From<PrincipalView> for PrincipalViewBody {
    fn from(view: PrincipalView) -> Self {
        Self {
            name: Spelled(view.name),
            roles: spelled_list(view.roles),
            keys: view.keys,
            working: view.working,
        }
    }
}

/// A tenant in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TenantViewBody {
    name: Spelled<TenantName>,
    namespaces: u32,
    entries: u64,
}

impl From<TenantView> for TenantViewBody {
    fn from(view: TenantView) -> Self {
        Self {
            name: Spelled(view.name),
            namespaces: view.namespaces,
            entries: view.entries,
        }
    }
}

/// The most that may be kept: in a namespace, of a principal, or of one in the other.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuotaBody {
    namespace: Option<Spelled<NamespaceName>>,
    principal: Option<Spelled<PrincipalName>>,
    /// Most entries.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    entries: Option<i64>,
    /// Most bytes of contents; without either limit the quota is taken away.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    bytes: Option<i64>,
}

impl QuotaBody {
    /// The quota.
    pub(crate) fn spec(self) -> Result<QuotaSpec, Problem> {
        let most = |name: &str, given: Option<i64>| {
            let fits = |given: i64| {
                let most = u64::try_from(given).ok().filter(|most| *most <= QUOTA_MAX);
                most.ok_or_else(|| {
                    let detail =
                        format!("`{name}` is {given}; give a whole number from 0 to {QUOTA_MAX}");
                    Problem::malformed("count_out_of_range", detail)
                })
            };
            given.map(fits).transpose()
        };
        Ok(QuotaSpec {
            namespace: bare(self.namespace),
            principal: bare(self.principal),
            entries: most("entries", self.entries)?,
            bytes: most("bytes", self.bytes)?,
        })
    }
}

/// Highest limit of a quota: the last whole number that every reader of JSON takes (RFC 8259,
/// section 6).
const QUOTA_MAX: u64 = 9_007_199_254_740_991;

/// A quota in a list, and what is kept under it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct QuotaViewBody {
    namespace: Option<Spelled<NamespaceName>>,
    principal: Option<Spelled<PrincipalName>>,
    entries: Option<u64>,
    bytes: Option<u64>,
    used_entries: u64,
    used_bytes: u64,
    /// Of the entries, those of class 4, which can be evicted.
    untrusted_entries: u64,
}

impl From<QuotaView> for QuotaViewBody {
    fn from(view: QuotaView) -> Self {
        Self {
            namespace: view.spec.namespace.map(Spelled),
            principal: view.spec.principal.map(Spelled),
            entries: view.spec.entries,
            bytes: view.spec.bytes,
            used_entries: view.used_entries,
            used_bytes: view.used_bytes,
            untrusted_entries: view.untrusted_entries,
        }
    }
}

/// How the store stands, for an operator.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IntegrityBody {
    #[serde(flatten)]
    health: HealthBody,
    /// What was edited or removed behind the store's back, a line each.
    problems: Vec<String>,
    /// Committed groups of all tenants.
    groups: u64,
    /// Tenants; to another than the first tenant's operator, their own.
    tenants: u32,
    /// Entries of these tenants.
    entries: u64,
    /// Entries of the operator's tenant that are held until they are judged.
    entries_pending: u64,
    /// Leaves in the log of the operator's tenant.
    leaves: u64,
    /// How often an operator accepted a store in spite of its witness.
    witness_epoch: u64,
    /// The last process died between its commit and its answer.
    witness_was_behind: bool,
}

impl From<Integrity> for IntegrityBody {
    fn from(state: Integrity) -> Self {
        let health = state.health;
        Self {
            health: HealthBody::from(&health),
            problems: health.problems,
            groups: health.groups,
            tenants: health.tenants,
            entries: health.entries,
            entries_pending: state.pending,
            leaves: state.leaves,
            witness_epoch: state.epoch,
            witness_was_behind: health.witness_was_behind,
        }
    }
}

/// How the index stands.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IndexBody {
    /// The model that finds entries by meaning; null where they are found by words alone.
    model: Option<String>,
    segments: u64,
    /// Entries in segments.
    sealed: u64,
    /// Entries in memory that are in no segment yet.
    recent: u64,
    /// Entries that are found by their words alone although there is a model: their vectors are of
    /// another one, or it failed on them; to be made by a rebuild.
    without_vectors: u64,
    /// Whether segments are made, merged or compared at the moment.
    busy: bool,
    /// Null while the index is not made anew.
    rebuild: Option<RebuildBody>,
}

/// How far the index was made anew, in records of the log.
#[derive(Serialize, JsonSchema)]
struct RebuildBody {
    done: u64,
    total: u64,
}

impl From<IndexState> for IndexBody {
    fn from(state: IndexState) -> Self {
        Self {
            model: state.model,
            segments: state.segments,
            sealed: state.sealed,
            recent: state.recent,
            without_vectors: state.without_vectors,
            busy: state.busy,
            rebuild: state
                .rebuilt
                .map(|(done, total)| RebuildBody { done, total }),
        }
    }
}
