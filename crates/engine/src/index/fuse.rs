// SPDX-License-Identifier: MIT OR Apache-2.0
//! One ranking from two legs.
//!
//! Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009) with a weight for each leg:
//! an entry scores `weight / (60 + rank)` in each leg that found it. Ranks are of one side of one
//! namespace, so the other side cannot move them.

use std::collections::BTreeMap;

/// The constant of reciprocal rank fusion.
const RANK_OFFSET: u64 = 60;
/// Weight of the lexical leg, in thousandths of both: the best of eleven on the training half of
/// LoCoMo (`scripts/full retrieval`).
const LEXICAL: u64 = 800;
/// Weight of the dense leg.
const DENSE: u64 = 200;
/// Units of a score.
const SCALE: u64 = 1_000_000;

/// An entry that was found, by which legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scored {
    pub seq: u64,
    /// The higher, the better.
    pub score: u64,
    /// Rank from 1 in the lexical leg, and BM25 in millionths.
    pub lexical: Option<(u32, u64)>,
    /// Rank from 1 in the dense leg, and the cosine in millionths.
    pub dense: Option<(u32, i64)>,
}

/// Fuses two legs, each best first; the best `limit` come out.
pub(crate) fn fuse(lexical: &[(u64, u64)], dense: &[(u64, i64)], limit: usize) -> Vec<Scored> {
    let mut found: BTreeMap<u64, Scored> = BTreeMap::new();
    let none = |seq| Scored {
        seq,
        score: 0,
        lexical: None,
        dense: None,
    };
    for (rank, (seq, bm25)) in (1..).zip(lexical) {
        let hit = found.entry(*seq).or_insert_with(|| none(*seq));
        hit.lexical = Some((rank, *bm25));
        hit.score = hit.score.saturating_add(share(LEXICAL, rank));
    }
    for (rank, (seq, cosine)) in (1..).zip(dense) {
        let hit = found.entry(*seq).or_insert_with(|| none(*seq));
        hit.dense = Some((rank, *cosine));
        hit.score = hit.score.saturating_add(share(DENSE, rank));
    }
    let mut hits: Vec<Scored> = found.into_values().collect();
    hits.sort_by_key(|hit| (std::cmp::Reverse(hit.score), hit.seq));
    hits.truncate(limit);
    hits
}

fn share(weight: u64, rank: u32) -> u64 {
    weight.saturating_mul(SCALE) / RANK_OFFSET.saturating_add(u64::from(rank))
}
