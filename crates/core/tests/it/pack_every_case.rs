// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing in every case of a small space.
//!
//! A case is the trusted and class 4 candidates of a store with 3 entries, of either partition, to
//! which up to 2 class 4 entries were added, and a bound. Reduced by symmetry: candidates are
//! listed in rank order, origins and groups are numbered by first appearance, sequences matter only
//! inside a group, and of bounds that cannot differ on such stores one is kept.

use crate::support::{exhaust, full, naive_pack};
use ancile_core::pack::{Candidate, OccupancyBound, Packed, UntrustedShare, pack};

/// Candidates in rank order, of sizes 1 to `size_max`, with every sharing of origins (where they
/// matter) and groups and every order inside a group.
fn lists(n: usize, size_max: usize, origins: bool) -> Vec<Vec<Candidate>> {
    exhaust::all(|e| {
        let origin = if origins { e.labels(n) } else { vec![0; n] };
        let group = e.labels(n);
        let mut members = vec![Vec::new(); n];
        for (i, g) in group.iter().enumerate() {
            let group: &mut Vec<usize> = &mut members[*g as usize];
            group.insert(e.below(group.len() + 1), i);
        }
        (0..n)
            .map(|i| Candidate {
                rank: (n - i) as u64,
                tokens: u32::try_from(e.below(size_max) + 1).unwrap(),
                origin: origin[i],
                group: group[i],
                seq: members[group[i] as usize]
                    .iter()
                    .position(|m| *m == i)
                    .unwrap() as u64,
            })
            .collect()
    })
}

/// Bounds of up to 3 slots that can differ where no candidate is larger than `size_max`. Without
/// trusted candidates the pack is no larger than the share of class 4, and all of it is floor.
fn bounds(size_max: u32, trusted: bool) -> Vec<OccupancyBound> {
    let below = |e: &mut exhaust::Exhaust, n: u32| u32::try_from(e.below(n as usize)).unwrap();
    exhaust::all(|e| {
        let k = below(e, 3) + 1;
        let ceiling = if trusted { below(e, k + 1) } else { k };
        let floor = if trusted {
            below(e, ceiling + 1)
        } else {
            ceiling
        };
        let tokens = below(e, k * size_max) + 1;
        let most = tokens.min(ceiling * size_max);
        let ceiling_tokens = match ceiling {
            0 => 0,
            _ if !trusted => tokens,
            _ => below(e, most) + 1,
        };
        let per_origin = below(e, ceiling.max(1)) + 1;
        OccupancyBound::new(
            k,
            tokens,
            UntrustedShare {
                floor,
                ceiling,
                ceiling_tokens,
                per_origin,
            },
        )
        .unwrap()
    })
}

/// One case and what was packed.
struct Case<'a> {
    t: &'a [Candidate],
    u: &'a [Candidate],
    bound: &'a OccupancyBound,
    /// The trusted part without class 4.
    alone: &'a [usize],
    packed: Packed,
}

/// Cases seen, and violations among them.
type Seen = (u64, u64);

/// Checks every case with these numbers of candidates, sharing the work among two threads.
fn sweep((trusted, untrusted, size_max): Shape, holds: fn(&Case<'_>) -> bool) -> Seen {
    let t_lists = lists(trusted, size_max as usize, false);
    let u_lists = lists(untrusted, size_max as usize, true);
    let bounds = bounds(size_max, trusted > 0);
    let half = |start: usize| {
        let (mut cases, mut violations) = (0u64, 0u64);
        for t in &t_lists {
            for bound in &bounds {
                let alone = &pack(t, &[], bound).trusted;
                for u in u_lists.iter().skip(start).step_by(2) {
                    let packed = pack(t, u, bound);
                    cases += 1;
                    violations += u64::from(!holds(&Case {
                        t,
                        u,
                        bound,
                        alone,
                        packed,
                    }));
                }
            }
        }
        (cases, violations)
    };
    let [a, b] = std::thread::scope(|scope| {
        [0, 1]
            .map(|start| scope.spawn(move || half(start)))
            .map(|thread| thread.join().unwrap())
    });
    let seen = (a.0 + b.0, a.1 + b.1);
    println!(
        "{trusted} trusted + {untrusted} class 4, sizes 1..={size_max}: {} x {} candidate lists \
         x {} bounds = {} cases, {} violations",
        t_lists.len(),
        u_lists.len(),
        bounds.len(),
        seen.0,
        seen.1
    );
    seen
}

/// Trusted candidates, class 4 candidates, largest size.
type Shape = (usize, usize, u32);

/// Every case of the shapes; panics on a violation.
fn every_case(shapes: &[Shape], holds: fn(&Case<'_>) -> bool, at_least: u64) {
    let (cases, violations) = shapes.iter().fold((0, 0), |sum: Seen, shape| {
        let one = sweep(*shape, holds);
        (sum.0 + one.0, sum.1 + one.1)
    });
    println!("{cases} cases, {violations} violations");
    assert_eq!(violations, 0);
    assert!(cases >= at_least, "{cases} cases; expected {at_least}");
}

/// The trusted part is a prefix of what it is without class 4, and exactly as long as the slots and
/// tokens that class 4 leaves allow; class 4 stays within its ceilings.
fn promise_4(case: &Case<'_>) -> bool {
    let Case {
        t,
        bound,
        alone,
        packed,
        ..
    } = case;
    let share = bound.untrusted();
    let used = &packed.occupancy;
    let within = used.untrusted_slots <= share.ceiling
        && used.untrusted_tokens <= share.ceiling_tokens
        && used.slots <= bound.k()
        && used.tokens <= bound.tokens();
    let slots = bound.k() - used.untrusted_slots;
    let mut tokens = bound.tokens() - used.untrusted_tokens;
    let mut fits = 0;
    for index in alone.iter().take(slots as usize) {
        let Some(rest) = tokens.checked_sub(t[*index].tokens) else {
            break;
        };
        tokens = rest;
        fits += 1;
    }
    within && packed.trusted == alone[..fits]
}

/// Ceiling, origin cap and near-duplicates once; below the floor only when nothing more was to be
/// had; the earliest that could be had stands for its group.
fn promise_5(case: &Case<'_>) -> bool {
    let Case {
        u, bound, packed, ..
    } = case;
    let share = bound.untrusted();
    let chosen = &packed.untrusted;
    let size = naive_pack::size(u, chosen);
    let measured = packed.occupancy.untrusted_slots as usize == chosen.len()
        && u64::from(packed.occupancy.untrusted_tokens) == size;
    let ceiling = chosen.len() <= share.ceiling as usize && size <= u64::from(share.ceiling_tokens);
    let count = |f: fn(&Candidate) -> u32, i: &usize| {
        chosen.iter().filter(|j| f(&u[**j]) == f(&u[*i])).count()
    };
    let caps = chosen
        .iter()
        .all(|i| count(|c| c.origin, i) <= share.per_origin as usize && count(|c| c.group, i) == 1);
    let admits = |before: &[usize], i: usize| {
        naive_pack::admits(u, bound, u64::from(share.ceiling_tokens), before, i)
    };
    let floor = chosen.len() >= share.floor as usize || !(0..u.len()).any(|i| admits(chosen, i));
    let earliest = (0..chosen.len().min(share.floor as usize)).all(|at| {
        let (before, i) = (&chosen[..at], chosen[at]);
        let earlier = |o: usize| u[o].group == u[i].group && u[o].seq < u[i].seq;
        !(0..u.len()).any(|o| earlier(o) && admits(before, o))
    });
    measured && ceiling && caps && floor && earliest
}

/// 3 stored entries of either partition, and up to 2 class 4 entries added; the largest spaces,
/// which say least about trusted entries, have two sizes.
const WITH_TRUSTED: [Shape; 9] = [
    (3, 0, 3),
    (3, 1, 3),
    (3, 2, 3),
    (2, 1, 3),
    (2, 2, 3),
    (2, 3, 3),
    (1, 2, 3),
    (1, 3, 3),
    (1, 4, 2),
];
const WITHOUT_TRUSTED: [Shape; 3] = [(0, 3, 3), (0, 4, 3), (0, 5, 2)];
/// 3 stored and 3 added, and 1 + 4 with all sizes.
const LONG: [Shape; 5] = [(1, 4, 3), (3, 3, 3), (2, 4, 2), (1, 5, 2), (0, 6, 1)];

#[test]
fn promise_4_trusted_recall_is_a_prefix() {
    every_case(&WITH_TRUSTED, promise_4, 90_000_000);
}

#[test]
fn promise_5_ceiling_floor_and_origin_cap() {
    let shapes = [&WITH_TRUSTED[..], &WITHOUT_TRUSTED].concat();
    every_case(&shapes, promise_5, 115_000_000);
}

#[test]
fn promises_4_and_5_with_three_added() {
    if full("promises_4_and_5_with_three_added") {
        every_case(
            &LONG,
            |case| promise_4(case) && promise_5(case),
            1_700_000_000,
        );
    }
}

/// Adding a near-copy written later leaves a pack that holds the original exactly as it is.
#[test]
fn a_later_near_copy_never_moves_an_entry() {
    let (mut cases, mut held) = (0u64, 0u64);
    for (trusted, untrusted, size_max) in [(0, 3, 3), (1, 3, 3), (2, 2, 3), (0, 4, 2)] {
        let bounds = bounds(2, trusted > 0);
        let t_lists = lists(trusted, size_max, false);
        for u in &lists(untrusted, size_max, true) {
            for (at, copy) in u.iter().enumerate().filter(|(_, c)| c.seq > 0) {
                let mut without = u.clone();
                without.remove(at);
                let original = |c: &Candidate| c.group == copy.group && c.seq < copy.seq;
                for (t, bound) in t_lists
                    .iter()
                    .flat_map(|t| bounds.iter().map(move |b| (t, b)))
                {
                    cases += 1;
                    let before = entries(t, &without, bound);
                    if before.1.iter().any(original) {
                        held += 1;
                        assert_eq!(
                            before,
                            entries(t, u, bound),
                            "{t:?} {u:?} {copy:?} {bound:?}"
                        );
                    }
                }
            }
        }
    }
    println!("{cases} cases, {held} with the original in the pack, 0 violations");
    assert!(held > 100_000, "{held}");
}

/// The trusted indices and the class 4 entries of a pack.
fn entries(t: &[Candidate], u: &[Candidate], b: &OccupancyBound) -> (Vec<usize>, Vec<Candidate>) {
    let packed = pack(t, u, b);
    let untrusted = packed.untrusted.iter().map(|i| u[*i]).collect();
    (packed.trusted, untrusted)
}

/// The packer agrees with the plain one in every case of a store with few entries.
#[test]
fn the_packer_agrees_with_the_plain_one_in_every_small_case() {
    let mut cases = 0u64;
    for (trusted, untrusted) in [(0, 3), (1, 2), (2, 1), (3, 0)] {
        let t_lists = lists(trusted, 3, false);
        for u in &lists(untrusted, 3, true) {
            for t in &t_lists {
                for bound in &bounds(3, true) {
                    let packed = pack(t, u, bound);
                    let plain = naive_pack::pack(t, u, bound);
                    assert_eq!(
                        (packed.trusted, packed.untrusted),
                        plain,
                        "{t:?} {u:?} {bound:?}"
                    );
                    cases += 1;
                }
            }
        }
    }
    println!("{cases} cases, 0 differences");
    assert!(cases > 500_000, "{cases}");
}
