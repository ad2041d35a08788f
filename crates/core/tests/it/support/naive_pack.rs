// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packer once more, as slow and as plain as its description.

use ancile_core::pack::{Candidate, OccupancyBound};
use std::cmp::Reverse;

/// The indices chosen from both partitions.
pub fn pack(t: &[Candidate], u: &[Candidate], bound: &OccupancyBound) -> (Vec<usize>, Vec<usize>) {
    let share = bound.untrusted();
    let (k, tokens) = (slots(bound.k()), u64::from(bound.tokens()));
    let (ceiling, ceiling_tokens) = (slots(share.ceiling), u64::from(share.ceiling_tokens));
    let mut chosen = Vec::new();
    class_4(u, bound, (slots(share.floor), ceiling_tokens), &mut chosen);
    let trusted = trusted(t, k - chosen.len(), tokens - size(u, &chosen));
    let (slots_left, tokens_left) = (k - trusted.len(), tokens - size(t, &trusted));
    let limits = (ceiling.min(slots_left), ceiling_tokens.min(tokens_left));
    class_4(u, bound, limits, &mut chosen);
    (trusted, chosen)
}

/// The trusted prefix.
pub fn trusted(t: &[Candidate], slots: usize, tokens: u64) -> Vec<usize> {
    let mut chosen = Vec::new();
    for i in by_rank(t) {
        let c = &t[i];
        let earlier = |o: usize| t[o].group == c.group && (t[o].seq, o) < (c.seq, i);
        if (0..t.len()).any(earlier) {
            continue;
        }
        if chosen.len() == slots || size(t, &chosen) + u64::from(c.tokens) > tokens {
            break;
        }
        chosen.push(i);
    }
    chosen
}

fn class_4(
    u: &[Candidate],
    bound: &OccupancyBound,
    (slots, tokens): (usize, u64),
    chosen: &mut Vec<usize>,
) {
    while chosen.len() < slots {
        let open = |i: usize| admits(u, bound, tokens, chosen, i);
        let stands = |i: usize| {
            let earlier = |o: usize| u[o].group == u[i].group && (u[o].seq, o) < (u[i].seq, i);
            open(i) && !(0..u.len()).any(|o| earlier(o) && open(o))
        };
        let Some(next) = by_rank(u).into_iter().find(|i| stands(*i)) else {
            return;
        };
        chosen.push(next);
    }
}

/// Whether group, origin cap and tokens admit one more class 4 candidate.
pub fn admits(
    u: &[Candidate],
    bound: &OccupancyBound,
    tokens: u64,
    chosen: &[usize],
    i: usize,
) -> bool {
    let of_origin = chosen.iter().filter(|c| u[**c].origin == u[i].origin);
    chosen.iter().all(|c| u[*c].group != u[i].group)
        && of_origin.count() < slots(bound.untrusted().per_origin)
        && size(u, chosen) + u64::from(u[i].tokens) <= tokens
}

/// Tokens of the chosen.
pub fn size(candidates: &[Candidate], chosen: &[usize]) -> u64 {
    chosen
        .iter()
        .map(|i| u64::from(candidates[*i].tokens))
        .sum()
}

fn by_rank(candidates: &[Candidate]) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..candidates.len()).collect();
    indices.sort_by_key(|i| (Reverse(candidates[*i].rank), candidates[*i].seq, *i));
    indices
}

fn slots(n: u32) -> usize {
    usize::try_from(n).unwrap()
}
