// SPDX-License-Identifier: MIT OR Apache-2.0
//! Occupancy packing: which candidates of a recall go into the context, under a bound on what
//! untrusted content may occupy.
//!
//! The two partitions never meet in a comparison: a rank is read only against ranks of its own
//! partition, so nothing that class 4 says about itself moves a trusted entry. Slots and tokens are
//! all that the partitions share, and they are given out in three steps:
//!
//! 1. class 4 takes up to `floor` slots;
//! 2. trusted entries follow in rank order, and stop at the first that does not fit;
//! 3. class 4 goes on up to `ceiling`, with what step 2 left free.
//!
//! A slot between floor and ceiling therefore never costs a trusted entry, and the slots of the
//! floor cost at most `floor` of them, only while class 4 has something to put there. What class 4
//! does not use in step 1 is not kept free for it.
//!
//! Class 4 skips an entry that does not fit and goes on to the next: no single one is guaranteed,
//! and one huge entry cannot close the floor to the rest. Trusted entries never do so, since what a
//! smaller one behind it would gain is a pack that is no longer a prefix.
//!
//! # Near-duplicates
//! Candidates of one partition with one `group` count once, the earliest of them stands for the
//! group, and the group's rank is that entry's own. In class 4 the earliest is sought among those
//! which the cap of their origin and the tokens left still admit. So a near-copy never changes the
//! standing of an entry written before it: it cannot lift that entry to a better rank, spend the
//! cap of its origin or take its place. Whoever wrote first speaks for the group: a copy written
//! ahead of an original holds it back to the copy's own rank while the copy's origin has room.
//! What is held back then agrees in every typed value with something older that is still in
//! question, since only such entries are grouped.

use core::fmt;

/// Most slots of a pack.
pub const K_MAX: u32 = 256;

/// The share of a pack that class 4 has unless the caller says otherwise: one in this many.
const UNTRUSTED_ONE_IN: u32 = 5;

/// An entry that may go into a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Fixed-point rank from the statistics of its own partition; larger is better.
    pub rank: u64,
    /// Its size in tokens.
    pub tokens: u32,
    /// Number of its origin key; equal numbers share one cap.
    pub origin: u32,
    /// Number of its near-duplicate group, within its partition.
    pub group: u32,
    /// Commit sequence: the earliest represents a group, and wins between equal ranks.
    pub seq: u64,
}

/// What class 4 may occupy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UntrustedShare {
    /// Slots kept for it while it has relevant entries.
    pub floor: u32,
    /// Most slots.
    pub ceiling: u32,
    /// Most tokens.
    pub ceiling_tokens: u32,
    /// Most slots of one origin key; at least 1.
    pub per_origin: u32,
}

/// Why a bound was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundError {
    /// `k` is 0 or more than [`K_MAX`].
    Slots(u32),
    /// `ceiling` is more than `k`.
    CeilingAboveSlots {
        /// The ceiling.
        ceiling: u32,
        /// The slots of the pack.
        k: u32,
    },
    /// `floor` is more than `ceiling`.
    FloorAboveCeiling {
        /// The floor.
        floor: u32,
        /// The ceiling.
        ceiling: u32,
    },
    /// `ceiling_tokens` is more than the tokens of the pack.
    CeilingTokens {
        /// The ceiling, in tokens.
        ceiling_tokens: u32,
        /// The tokens of the pack.
        tokens: u32,
    },
    /// `per_origin` is 0.
    NoSlotPerOrigin,
}

impl fmt::Display for BoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slots(k) => write!(f, "k is {k}; it is 1 to {K_MAX}; ask for fewer entries"),
            Self::CeilingAboveSlots { ceiling, k } => {
                write!(f, "ceiling is {ceiling}; limit is k, {k}; lower it")
            }
            Self::FloorAboveCeiling { floor, ceiling } => {
                write!(
                    f,
                    "floor is {floor}; limit is the ceiling, {ceiling}; lower it"
                )
            }
            Self::CeilingTokens {
                ceiling_tokens,
                tokens,
            } => write!(
                f,
                "ceiling_tokens is {ceiling_tokens}; limit is the pack's {tokens} tokens; lower it"
            ),
            Self::NoSlotPerOrigin => {
                f.write_str("per_origin is 0; give at least 1, or exclude untrusted entries")
            }
        }
    }
}

impl core::error::Error for BoundError {}

/// A bound on a pack and on what class 4 may occupy of it, checked when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OccupancyBound {
    k: u32,
    tokens: u32,
    untrusted: UntrustedShare,
}

impl OccupancyBound {
    /// A bound of `k` slots and `tokens` tokens, of which class 4 has this share.
    ///
    /// # Errors
    /// [`BoundError`] unless `1 <= k <= K_MAX`, `floor <= ceiling <= k`, `ceiling_tokens <= tokens`
    /// and `per_origin >= 1`.
    pub const fn new(k: u32, tokens: u32, untrusted: UntrustedShare) -> Result<Self, BoundError> {
        let UntrustedShare {
            floor,
            ceiling,
            ceiling_tokens,
            per_origin,
        } = untrusted;
        if k == 0 || k > K_MAX {
            return Err(BoundError::Slots(k));
        }
        if ceiling > k {
            return Err(BoundError::CeilingAboveSlots { ceiling, k });
        }
        if floor > ceiling {
            return Err(BoundError::FloorAboveCeiling { floor, ceiling });
        }
        if ceiling_tokens > tokens {
            return Err(BoundError::CeilingTokens {
                ceiling_tokens,
                tokens,
            });
        }
        if per_origin == 0 {
            return Err(BoundError::NoSlotPerOrigin);
        }
        Ok(Self {
            k,
            tokens,
            untrusted,
        })
    }

    /// The bound for callers who name none: class 4 has a fifth of the slots, rounded down as
    /// floor and up as ceiling, that share of the tokens, and one origin at most half of its slots.
    /// With fewer than five slots the floor is 0, so that a lone slot is never taken from a
    /// trusted entry.
    ///
    /// # Errors
    /// [`BoundError::Slots`] unless `1 <= k <= K_MAX`.
    pub fn default_for(k: u32, tokens: u32) -> Result<Self, BoundError> {
        let floor = k.checked_div(UNTRUSTED_ONE_IN).unwrap_or(0);
        let ceiling = k.div_ceil(UNTRUSTED_ONE_IN);
        let share = u64::from(tokens).saturating_mul(u64::from(ceiling));
        let share = share.checked_div(u64::from(k)).unwrap_or(0);
        Self::new(
            k,
            tokens,
            UntrustedShare {
                floor,
                ceiling,
                ceiling_tokens: u32::try_from(share).unwrap_or(tokens).min(tokens),
                per_origin: ceiling.div_ceil(2).max(1),
            },
        )
    }

    /// The same bound with nothing left to class 4.
    #[must_use]
    pub const fn exclude_untrusted(self) -> Self {
        Self {
            untrusted: UntrustedShare {
                floor: 0,
                ceiling: 0,
                ceiling_tokens: 0,
                per_origin: 1,
            },
            ..self
        }
    }

    /// Slots of the pack.
    #[must_use]
    pub const fn k(&self) -> u32 {
        self.k
    }

    /// Tokens of the pack.
    #[must_use]
    pub const fn tokens(&self) -> u32 {
        self.tokens
    }

    /// What class 4 may occupy.
    #[must_use]
    pub const fn untrusted(&self) -> UntrustedShare {
        self.untrusted
    }
}

/// What a pack occupies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Slots used, class 4 included.
    pub slots: u32,
    /// Tokens used, class 4 included.
    pub tokens: u32,
    /// Slots used by class 4.
    pub untrusted_slots: u32,
    /// Tokens used by class 4.
    pub untrusted_tokens: u32,
}

/// The entries selected, as indices into the candidates, and what they occupy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packed {
    /// The trusted part, best rank first.
    pub trusted: Vec<usize>,
    /// The class 4 part, in the order it was given slots.
    pub untrusted: Vec<usize>,
    /// What they occupy.
    pub occupancy: Occupancy,
}

/// Packs the candidates of both partitions under a bound. The order of the candidates in the two
/// slices does not matter while no two share a sequence.
#[must_use]
pub fn pack(trusted: &[Candidate], untrusted: &[Candidate], bound: &OccupancyBound) -> Packed {
    let share = bound.untrusted;
    let mut class_4 = Untrusted::new(untrusted, share);
    class_4.fill(share.floor, share.ceiling_tokens);

    let (slots, tokens) = class_4.used();
    let (chosen, trusted_tokens) = prefix(
        trusted,
        bound.k.saturating_sub(slots),
        bound.tokens.saturating_sub(tokens),
    );
    let trusted_slots = length(&chosen);

    class_4.fill(
        share.ceiling.min(bound.k.saturating_sub(trusted_slots)),
        share
            .ceiling_tokens
            .min(bound.tokens.saturating_sub(trusted_tokens)),
    );
    let (untrusted_slots, untrusted_tokens) = class_4.used();
    Packed {
        trusted: chosen,
        untrusted: class_4.chosen,
        occupancy: Occupancy {
            slots: trusted_slots.saturating_add(untrusted_slots),
            tokens: trusted_tokens.saturating_add(untrusted_tokens),
            untrusted_slots,
            untrusted_tokens,
        },
    }
}

/// The trusted part: representatives in rank order up to the first that does not fit, and its
/// tokens.
fn prefix(candidates: &[Candidate], slots: u32, tokens: u32) -> (Vec<usize>, u32) {
    let mut last = None;
    let mut ranked: Vec<(Order, usize)> = by_group(candidates)
        .filter(|(_, c)| last.replace(c.group) != Some(c.group))
        .map(|(index, c)| (order(index, c), index))
        .collect();
    let slots = usize::try_from(slots).unwrap_or(usize::MAX);
    if slots < ranked.len() {
        ranked.select_nth_unstable(slots);
        ranked.truncate(slots);
    }
    ranked.sort_unstable();

    let mut left = tokens;
    let mut chosen = Vec::with_capacity(ranked.len());
    for (_, index) in ranked {
        let rest = candidates
            .get(index)
            .and_then(|c| left.checked_sub(c.tokens));
        let Some(rest) = rest else {
            break;
        };
        left = rest;
        chosen.push(index);
    }
    (chosen, tokens.saturating_sub(left))
}

/// Key under which the best candidate is the least.
type Order = (core::cmp::Reverse<u64>, u64, usize);

fn order(index: usize, candidate: &Candidate) -> Order {
    (core::cmp::Reverse(candidate.rank), candidate.seq, index)
}

/// All candidates with their indices, group by group, the earliest of each group first.
fn by_group(candidates: &[Candidate]) -> impl Iterator<Item = (usize, &Candidate)> {
    // Group, sequence and index in one integer, which sorts faster than the three.
    let mut keys: Vec<u128> = candidates
        .iter()
        .zip(0u32..)
        .map(|(c, index)| u128::from(c.group) << 96 | u128::from(c.seq) << 32 | u128::from(index))
        .collect();
    keys.sort_unstable();
    keys.into_iter().filter_map(|key| {
        let index = usize::try_from(key & u128::from(u32::MAX)).ok()?;
        candidates.get(index).map(|candidate| (index, candidate))
    })
}

/// Class 4 while it is being packed.
struct Untrusted<'a> {
    /// Candidates that caps, tokens and groups have not closed, in the order of [`by_group`]. What
    /// closes one never opens it again.
    open: Vec<Open<'a>>,
    chosen: Vec<usize>,
    tokens: u32,
}

/// A class 4 candidate that is still in question.
struct Open<'a> {
    candidate: &'a Candidate,
    index: usize,
    /// Slots that its origin still has.
    origin_slots: u32,
}

impl<'a> Untrusted<'a> {
    fn new(candidates: &'a [Candidate], share: UntrustedShare) -> Self {
        let candidates = if share.ceiling == 0 { &[] } else { candidates };
        Self {
            open: by_group(candidates)
                .map(|(index, candidate)| Open {
                    candidate,
                    index,
                    origin_slots: share.per_origin,
                })
                .collect(),
            chosen: Vec::new(),
            tokens: 0,
        }
    }

    fn used(&self) -> (u32, u32) {
        (length(&self.chosen), self.tokens)
    }

    /// Gives out slots until class 4 has `slots` of them or nothing more fits into `tokens`.
    fn fill(&mut self, slots: u32, tokens: u32) {
        while length(&self.chosen) < slots {
            let left = tokens.saturating_sub(self.tokens);
            self.open.retain(|open| open.candidate.tokens <= left);
            let best = self
                .representatives()
                .min_by_key(|open| order(open.index, open.candidate));
            let Some(&Open {
                candidate: best,
                index,
                ..
            }) = best
            else {
                return;
            };
            self.chosen.push(index);
            self.tokens = self.tokens.saturating_add(best.tokens);
            self.open.retain_mut(|open| {
                if open.candidate.origin == best.origin {
                    open.origin_slots = open.origin_slots.saturating_sub(1);
                }
                open.candidate.group != best.group && open.origin_slots > 0
            });
        }
    }

    /// The earliest open candidate of each group.
    fn representatives(&self) -> impl Iterator<Item = &Open<'a>> {
        let mut last = None;
        self.open.iter().filter(move |open| {
            let group = Some(open.candidate.group);
            core::mem::replace(&mut last, group) != group
        })
    }
}

fn length(chosen: &[usize]) -> u32 {
    u32::try_from(chosen.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
