// SPDX-License-Identifier: MIT OR Apache-2.0
//! Questions to the memory, and packs.

use super::count;
use super::spelled::{Object, Spelled, bare, bare_list};
use crate::problem::Problem;
use ancile_core::pack::K_MAX;
use ancile_core::{AuthorityClass, Channel, Digest, EntryId, EntryKind, Micros, NamespaceName};
use ancile_engine::api::{BoundSpec, ContextPack, Explained, Filter, PackItem, Recall};
use ancile_engine::counts::Integrity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecallBody {
    /// Outside a session: the namespace.
    namespace: Option<Spelled<NamespaceName>>,
    /// The words.
    query: String,
    /// Slots.
    #[schemars(range(min = 1, max = 256))]
    k: Option<i64>,
    /// Tokens.
    #[schemars(range(min = 1, max = 4_294_967_295_i64))]
    tokens: Option<i64>,
    /// The weakest class to show.
    max_class: Option<Spelled<AuthorityClass>>,
    /// Occupancy bound.
    bound: Option<Object<BoundBody>>,
    /// Only entries of these kinds; all without any.
    #[serde(default)]
    kinds: Vec<Spelled<EntryKind>>,
    /// Only entries that came in by these channels; all without any.
    #[serde(default)]
    channels: Vec<Spelled<Channel>>,
    /// Only entries made from this moment on, in microseconds since 1970, to the millisecond.
    created_from: Option<i64>,
    /// Only entries made before this moment.
    created_until: Option<i64>,
    /// The moment whose memory is asked.
    as_of: Option<i64>,
    /// Say why each entry has its rank; for users and operators.
    #[serde(default)]
    explain: bool,
}

/// Limits on what class 4 may take, in slots.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BoundBody {
    #[schemars(range(min = 0, max = 256))]
    floor: i64,
    #[schemars(range(min = 0, max = 256))]
    ceiling: i64,
    #[schemars(range(min = 0, max = 256))]
    per_origin: i64,
}

impl BoundBody {
    fn spec(&self) -> Result<BoundSpec, Problem> {
        let slots =
            |name, value| count(name, Some(value), 0..=K_MAX).map(Option::unwrap_or_default);
        Ok(BoundSpec {
            floor: slots("floor", self.floor)?,
            ceiling: slots("ceiling", self.ceiling)?,
            per_origin: slots("per_origin", self.per_origin)?,
        })
    }
}

impl RecallBody {
    /// The question of a session, which recalls from its own namespace.
    pub(crate) fn in_session(self) -> Result<Recall, Problem> {
        if self.namespace.is_some() {
            let detail = "a session recalls from its own namespace; leave `namespace` out";
            return Err(Problem::malformed("namespace_not_here", detail));
        }
        self.recall()
    }

    /// The question of a person, and the namespace it goes to.
    pub(crate) fn outside(mut self) -> Result<(NamespaceName, Recall), Problem> {
        let Some(namespace) = bare(self.namespace.take()) else {
            let detail = "missing field `namespace`; say which namespace to recall from";
            return Err(Problem::malformed("missing_field", detail));
        };
        Ok((namespace, self.recall()?))
    }

    fn recall(self) -> Result<Recall, Problem> {
        Ok(Recall {
            query: self.query,
            k: count("k", self.k, 1..=K_MAX)?,
            tokens: count("tokens", self.tokens, 1..=u32::MAX)?,
            max_class: bare(self.max_class),
            bound: self.bound.map(|bound| bound.0.spec()).transpose()?,
            filter: Filter {
                kinds: bare_list(self.kinds),
                channels: bare_list(self.channels),
                created_from: self.created_from.map(Micros),
                created_until: self.created_until.map(Micros),
            },
            as_of: self.as_of.map(Micros),
            explain: self.explain,
        })
    }
}

/// A pack.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PackBody {
    items: Vec<ItemBody>,
    slots_used: u32,
    untrusted_slots: u32,
    tokens_used: u32,
    untrusted_tokens: u32,
    /// The weakest class among the items; null without any.
    weakest: Option<Spelled<AuthorityClass>>,
    withheld: u32,
    /// `hybrid`, by words and meaning; `lexical`, by words alone, where there is no model or the
    /// index was made with another; `hybrid_in_part`, where that is so of some entries.
    served_by: &'static str,
    /// `pending` while the store, since it was opened, was not wholly compared with its log.
    #[serde(skip_serializing_if = "Option::is_none")]
    integrity: Option<&'static str>,
}

/// A pack that was recalled into a session.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionPackBody {
    #[serde(flatten)]
    pack: PackBody,
    /// The class that the session has now that it was shown the pack.
    session_class: Spelled<AuthorityClass>,
}

impl SessionPackBody {
    pub(crate) fn of(pack: ContextPack, session: AuthorityClass) -> Self {
        Self {
            pack: pack.into(),
            session_class: Spelled(session),
        }
    }
}

/// How an answer says that the store was not wholly compared yet.
pub(super) fn integrity(pending: bool) -> Option<&'static str> {
    pending.then(|| Integrity::Pending.name())
}

/// One selected entry.
#[derive(Serialize, JsonSchema)]
struct ItemBody {
    id: Spelled<EntryId>,
    hash: Spelled<Digest>,
    kind: Spelled<EntryKind>,
    class: Spelled<AuthorityClass>,
    channel: Spelled<Channel>,
    locator: String,
    created: i64,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<ExplainedBody>,
}

/// Why an entry has its rank.
#[derive(Serialize, JsonSchema)]
struct ExplainedBody {
    /// The fused score; the higher, the better.
    score: u64,
    /// By words; null where it has none of the query.
    lexical: Option<LexicalBody>,
    /// By meaning; null where it is not near.
    dense: Option<DenseBody>,
}

/// The place in the ranking by words.
#[derive(Serialize, JsonSchema)]
struct LexicalBody {
    rank: u32,
    bm25_millionths: u64,
}

/// The place in the ranking by meaning.
#[derive(Serialize, JsonSchema)]
struct DenseBody {
    rank: u32,
    cosine_millionths: i64,
}

impl From<Explained> for ExplainedBody {
    fn from(why: Explained) -> Self {
        let lexical = why.lexical.map(|(rank, bm25_millionths)| LexicalBody {
            rank,
            bm25_millionths,
        });
        let dense = why.dense.map(|(rank, cosine_millionths)| DenseBody {
            rank,
            cosine_millionths,
        });
        Self {
            score: why.score,
            lexical,
            dense,
        }
    }
}

impl From<PackItem> for ItemBody {
    fn from(item: PackItem) -> Self {
        Self {
            id: Spelled(item.id),
            hash: Spelled(item.hash),
            kind: Spelled(item.kind),
            class: Spelled(item.class),
            channel: Spelled(item.channel),
            locator: item.locator,
            created: item.created.0,
            text: item.text,
            rank: item.rank,
            explained: item.explained.map(ExplainedBody::from),
        }
    }
}

impl From<ContextPack> for PackBody {
    fn from(pack: ContextPack) -> Self {
        Self {
            items: pack.items.into_iter().map(ItemBody::from).collect(),
            slots_used: pack.slots_used,
            untrusted_slots: pack.untrusted_slots,
            tokens_used: pack.tokens_used,
            untrusted_tokens: pack.untrusted_tokens,
            weakest: pack.weakest.map(Spelled),
            withheld: pack.withheld,
            served_by: pack.served_by,
            integrity: integrity(pack.integrity_pending),
        }
    }
}

#[cfg(test)]
mod tests;
