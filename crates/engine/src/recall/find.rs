// SPDX-License-Identifier: MIT OR Apache-2.0
//! Candidates of a pack: what may be shown of both sides of a namespace, by rank.

use super::K_DEFAULT;
use crate::api::{Explained, Filter, Recall};
use crate::index::{Answer, Ask, Known, Partition, Scored};
use crate::refusal::Refusal;
use crate::state::{Entry, Key, Tenant};
use crate::turn::{Turn, index_damaged};
use ancile_core::{AuthorityClass, Broken, Micros, NamespaceName, PrincipalName};
use std::sync::Arc;

/// Candidates taken by each leg for each slot of the pack: some repeat others, or do not fit.
const CANDIDATES_PER_SLOT: usize = 4;
/// Fewest trusted candidates that are looked for.
const TRUSTED_MIN: usize = 64;
/// Fewest untrusted ones: many may be of one origin, which gets few slots.
const UNTRUSTED_MIN: usize = 200;

/// Who looks, and at what.
pub(super) struct Look<'a> {
    pub namespace: &'a NamespaceName,
    pub viewer: PrincipalName,
    pub max_class: AuthorityClass,
    pub person: bool,
}

/// One entry that could be packed.
pub(super) struct Ranked {
    pub entry: Arc<Entry>,
    /// Its class today, as the viewer sees it.
    pub class: AuthorityClass,
    pub scored: Scored,
}

/// What may be packed.
#[derive(Default)]
pub(super) struct Candidates {
    pub trusted: Vec<Ranked>,
    pub untrusted: Vec<Ranked>,
    /// Entries that the index knows and whose record does not hold.
    pub broken: u32,
    with_vectors: u64,
    without_vectors: u64,
}

impl Candidates {
    /// Which path ranked them.
    pub(super) fn served_by(&self) -> &'static str {
        match (self.with_vectors, self.without_vectors) {
            (0, _) => "lexical",
            (_, 0) => "hybrid",
            _ => "hybrid_in_part",
        }
    }
}

impl Ranked {
    /// Why it was ranked where it is.
    pub(super) fn explained(&self) -> Explained {
        Explained {
            score: self.scored.score,
            lexical: self.scored.lexical,
            dense: self.scored.dense,
        }
    }
}

/// What holds of an entry at the moment that is asked about.
struct Wanted<'a> {
    tenant: &'a Tenant,
    look: &'a Look<'a>,
    filter: &'a Filter,
    at: Micros,
    /// Entries made later do not count, in milliseconds since 1970.
    made_by: Option<u64>,
}

impl Wanted<'_> {
    fn holds(&self, known: &Known) -> bool {
        let Filter {
            kinds,
            channels,
            created_from,
            created_until,
        } = self.filter;
        let among = |empty: bool, listed: bool| empty || listed;
        let made = known.id.unix_ms();
        let ms = |at: &Micros| u64::try_from(at.0.div_euclid(1_000)).unwrap_or(0);
        let (from, until) = known.valid;
        known.class.covers(self.look.max_class)
            && (from <= self.at.0 && self.at.0 < until)
            && among(kinds.is_empty(), kinds.contains(&known.kind))
            && among(channels.is_empty(), channels.contains(&known.channel))
            && created_from.as_ref().is_none_or(|at| made >= ms(at))
            && created_until.as_ref().is_none_or(|at| made < ms(at))
            && self.made_by.is_none_or(|by| made <= by)
            && self.tenant.in_use(&known.id, known.quarantined)
            && !self
                .tenant
                .replaced(&known.id, known.class, &self.look.viewer, self.made_by)
    }
}

/// Entries of both sides that may be shown, by rank.
pub(super) fn candidates(
    turn: &mut Turn<'_>,
    key: &Key,
    look: &Look<'_>,
    op: &Recall,
) -> Result<Candidates, Refusal> {
    let mut found = Candidates::default();
    let mut broken = Vec::new();
    // What was trusted at write and is not today, such as another user's words, is sought apart:
    // it must not take the place of a trusted candidate.
    let searches = [
        (Partition::Trusted, true),
        (Partition::Trusted, false),
        (Partition::Untrusted, false),
    ];
    for (side, trusted) in searches {
        if !trusted && look.max_class != AuthorityClass::Untrusted {
            continue;
        }
        let Some(answer) = search(turn, key, look, op, (side, trusted))? else {
            continue;
        };
        if (side, trusted) != (Partition::Trusted, false) {
            found.with_vectors = found.with_vectors.saturating_add(answer.with_vectors);
            found.without_vectors = found.without_vectors.saturating_add(answer.without_vectors);
        }
        for scored in answer.hits {
            let entry = turn.entry_at(&key.tenant, scored.seq)?;
            let Some(entry) = entry.filter(|entry| entry.damaged.is_none()) else {
                broken.push(scored.seq);
                continue;
            };
            let class = turn.tenant(&key.tenant)?.class_today(&entry, &look.viewer);
            let list = if trusted {
                &mut found.trusted
            } else {
                &mut found.untrusted
            };
            list.push(Ranked {
                entry,
                class,
                scored,
            });
        }
    }
    for seq in broken {
        turn.core
            .note_damage(&key.tenant, seq, Broken::RecordEdited);
        found.broken = found.broken.saturating_add(1);
    }
    Ok(found)
}

fn search(
    turn: &Turn<'_>,
    key: &Key,
    look: &Look<'_>,
    op: &Recall,
    (side, trusted): (Partition, bool),
) -> Result<Option<Answer>, Refusal> {
    let tenant = turn.tenant(&key.tenant)?;
    let wanted = Wanted {
        tenant,
        look,
        filter: &op.filter,
        at: op.as_of.unwrap_or(turn.now),
        made_by: op
            .as_of
            .map(|at| u64::try_from(at.0.div_euclid(1_000)).unwrap_or(0)),
    };
    let keep = |known: &Known| {
        (known.class != AuthorityClass::Untrusted) == trusted && wanted.holds(known)
    };
    // Where the model fails on a query, words alone find what they can, and the answer says so.
    let vector = turn.core.embedding.vector(&op.query).ok().flatten();
    let least = if trusted { TRUSTED_MIN } else { UNTRUSTED_MIN };
    let slots = usize::try_from(op.k.unwrap_or(K_DEFAULT)).unwrap_or(usize::MAX);
    let ask = Ask {
        store: turn.core.reading()?,
        tenant,
        viewer: &look.viewer,
        place: &(key.tenant.clone(), look.namespace.clone(), side),
        text: &op.query,
        vector: vector.as_deref().zip(turn.core.embedding.model()),
        lexical_weight: turn.core.embedding.lexical_weight(),
        limit: slots.saturating_mul(CANDIDATES_PER_SLOT).max(least),
    };
    let index = &turn.core.index;
    let demoted = (side, trusted) == (Partition::Trusted, false);
    let answer = match demoted && !index.has_untrusted(&ask).map_err(|f| index_damaged(&f))? {
        true => None,
        false => Some(index.search(&ask, &keep).map_err(|f| index_damaged(&f))?),
    };
    Ok(answer)
}
