// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing of large random inputs, against the plain packer.

use crate::support::naive_pack;
use ancile_core::pack::{Candidate, K_MAX, OccupancyBound, UntrustedShare, pack};
use proptest::prelude::*;

fn candidate(sizes: u32) -> impl Strategy<Value = Candidate> {
    (0u64..40, 0..sizes, 0u32..6, 0u32..30, 0u64..50).prop_map(
        |(rank, tokens, origin, group, seq)| Candidate {
            rank,
            tokens,
            origin,
            group,
            seq,
        },
    )
}

fn candidates() -> impl Strategy<Value = Vec<Candidate>> {
    prop_oneof![
        prop::collection::vec(candidate(30), 0..60),
        prop::collection::vec(candidate(u32::MAX), 0..12),
    ]
}

fn bound() -> impl Strategy<Value = OccupancyBound> {
    let tokens = prop_oneof![0u32..600, Just(u32::MAX)];
    (
        1..=K_MAX,
        tokens,
        0..=100u32,
        0..=100u32,
        0..=100u32,
        1..9u32,
    )
        .prop_map(|(k, tokens, ceiling, floor, share, per_origin)| {
            let k = if k % 2 == 0 { k } else { k % 20 + 1 };
            let part = |of: u32, percent: u32| {
                u32::try_from(u64::from(of) * u64::from(percent) / 100).unwrap()
            };
            let ceiling = part(k, ceiling);
            let share = UntrustedShare {
                floor: part(ceiling, floor),
                ceiling,
                ceiling_tokens: part(tokens, share),
                per_origin,
            };
            OccupancyBound::new(k, tokens, share).unwrap()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_packer_agrees_with_the_plain_one(t in candidates(), u in candidates(), b in bound()) {
        let packed = pack(&t, &u, &b);
        prop_assert_eq!(naive_pack::pack(&t, &u, &b), (packed.trusted, packed.untrusted));
    }

    #[test]
    fn the_occupancy_is_what_is_occupied(t in candidates(), u in candidates(), b in bound()) {
        let packed = pack(&t, &u, &b);
        let (t_size, u_size) = (
            naive_pack::size(&t, &packed.trusted),
            naive_pack::size(&u, &packed.untrusted),
        );
        let o = packed.occupancy;
        prop_assert_eq!(o.slots as usize, packed.trusted.len() + packed.untrusted.len());
        prop_assert_eq!(o.untrusted_slots as usize, packed.untrusted.len());
        prop_assert_eq!(u64::from(o.tokens), t_size + u_size);
        prop_assert_eq!(u64::from(o.untrusted_tokens), u_size);
        prop_assert!(o.slots <= b.k() && o.tokens <= b.tokens());
    }

    #[test]
    fn random_trusted_recall_is_a_prefix(t in candidates(), u in candidates(), b in bound()) {
        let packed = pack(&t, &u, &b);
        let alone = pack(&t, &[], &b).trusted;
        prop_assert!(alone.starts_with(&packed.trusted));
        let o = packed.occupancy;
        let left = naive_pack::trusted(
            &t,
            (b.k() - o.untrusted_slots) as usize,
            u64::from(b.tokens() - o.untrusted_tokens),
        );
        prop_assert_eq!(packed.trusted, left);
    }

    #[test]
    fn random_ceiling_floor_and_origin_cap_hold(
        t in candidates(), u in candidates(), b in bound(),
    ) {
        let share = b.untrusted();
        let packed = pack(&t, &u, &b);
        let o = packed.occupancy;
        prop_assert!(o.untrusted_slots <= share.ceiling);
        prop_assert!(o.untrusted_tokens <= share.ceiling_tokens);
        for i in &packed.untrusted {
            let same = |f: fn(&Candidate) -> u32| {
                packed.untrusted.iter().filter(|j| f(&u[**j]) == f(&u[*i])).count()
            };
            prop_assert!(same(|c| c.origin) <= share.per_origin as usize);
            prop_assert_eq!(same(|c| c.group), 1);
        }
        let floor = share.floor as usize;
        if packed.untrusted.len() < floor {
            let tokens = u64::from(share.ceiling_tokens);
            let left = |i| naive_pack::admits(&u, &b, tokens, &packed.untrusted, i);
            prop_assert!(!(0..u.len()).any(left), "a floor slot was kept from class 4");
        }
        let alone = pack(&[], &u, &b).untrusted;
        let kept = floor.min(alone.len());
        prop_assert_eq!(&alone[..kept], &packed.untrusted[..kept], "the floor depends on trust");
    }

    #[test]
    fn the_order_of_the_candidates_does_not_matter(
        ordered in prop::collection::vec(candidate(30), 0..60).prop_map(|mut all| {
            for (seq, c) in (0..).zip(&mut all) {
                c.seq = seq;
            }
            all
        }),
        b in bound(),
        turn in 0usize..60,
    ) {
        let mut turned = ordered.clone();
        turned.rotate_left(turn.min(ordered.len()));
        turned.reverse();
        let entries = |all: &[Candidate], chosen: &[usize]| -> Vec<Candidate> {
            chosen.iter().map(|i| all[*i]).collect()
        };
        let (a, z) = (pack(&ordered, &ordered, &b), pack(&turned, &turned, &b));
        prop_assert_eq!(entries(&ordered, &a.trusted), entries(&turned, &z.trusted));
        prop_assert_eq!(entries(&ordered, &a.untrusted), entries(&turned, &z.untrusted));
    }
}
