// SPDX-License-Identifier: MIT OR Apache-2.0
//! One ranking from two legs.
//!
//! Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009) with a weight for each leg:
//! an entry scores `weight / (60 + rank)` in each leg that found it. Ranks are of one side of one
//! namespace, so the other side cannot move them.

use std::collections::BTreeMap;

/// The constant of reciprocal rank fusion.
const RANK_OFFSET: u64 = 60;
/// Thousandths that the weights of both legs have together. That of the lexical leg is the
/// model's: the best of eleven on the training half of LoCoMo (`scripts/full retrieval minilm`).
const WEIGHTS: u64 = 1_000;
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

/// Fuses two legs, each best first, the lexical one with this weight in thousandths; the best
/// `limit` come out.
pub(crate) fn fuse(
    lexical: &[(u64, u64)],
    dense: &[(u64, i64)],
    weight: u16,
    limit: usize,
) -> Vec<Scored> {
    let lexical_weight = u64::from(weight).min(WEIGHTS);
    let dense_weight = WEIGHTS.saturating_sub(lexical_weight);
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
        hit.score = hit.score.saturating_add(share(lexical_weight, rank));
    }
    for (rank, (seq, cosine)) in (1..).zip(dense) {
        let hit = found.entry(*seq).or_insert_with(|| none(*seq));
        hit.dense = Some((rank, *cosine));
        hit.score = hit.score.saturating_add(share(dense_weight, rank));
    }
    let mut hits: Vec<Scored> = found.into_values().collect();
    hits.sort_by_key(|hit| (std::cmp::Reverse(hit.score), hit.seq));
    hits.truncate(limit);
    hits
}

fn share(weight: u64, rank: u32) -> u64 {
    weight.saturating_mul(SCALE) / RANK_OFFSET.saturating_add(u64::from(rank))
}

#[cfg(test)]
mod tests {
    use super::fuse;

    #[test]
    fn the_weight_says_which_leg_leads() {
        let (lexical, dense) = ([(1, 500), (2, 400)], [(2, 900_000), (1, 800_000)]);
        for (weight, first) in [(0, 2), (499, 2), (500, 1), (501, 1), (1_000, 1), (2_000, 1)] {
            let found = fuse(&lexical, &dense, weight, 2);
            assert_eq!(found.first().unwrap().seq, first, "{weight}");
            assert_eq!(found.len(), 2);
        }
        assert_eq!(fuse(&[], &dense, 1_000, 1).len(), 1);
    }
}
