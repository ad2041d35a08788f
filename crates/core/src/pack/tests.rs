// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

fn entry(rank: u64, tokens: u32, origin: u32, group: u32, seq: u64) -> Candidate {
    Candidate {
        rank,
        tokens,
        origin,
        group,
        seq,
    }
}

fn share(floor: u32, ceiling: u32, ceiling_tokens: u32, per_origin: u32) -> UntrustedShare {
    UntrustedShare {
        floor,
        ceiling,
        ceiling_tokens,
        per_origin,
    }
}

fn bound(k: u32, tokens: u32, untrusted: UntrustedShare) -> OccupancyBound {
    OccupancyBound::new(k, tokens, untrusted).unwrap()
}

/// Candidates 0, 1, 2 ... in rank order, each its own group and origin.
fn plain(sizes: &[u32]) -> Vec<Candidate> {
    (0u32..)
        .zip(sizes)
        .map(|(i, size)| entry(u64::from(1000 - i), *size, i, i, u64::from(i)))
        .collect()
}

#[test]
fn slots_are_limited() {
    let none = share(0, 0, 0, 1);
    for k in [1, K_MAX - 1, K_MAX] {
        assert_eq!(OccupancyBound::new(k, 9, none).map(|b| b.k()), Ok(k));
        assert_eq!(OccupancyBound::default_for(k, 9).map(|b| b.k()), Ok(k));
    }
    for k in [0, K_MAX + 1, u32::MAX] {
        assert_eq!(
            OccupancyBound::new(k, 9, none),
            Err(BoundError::Slots(k)),
            "{k}"
        );
        assert!(OccupancyBound::default_for(k, 9).is_err(), "{k}");
    }
}

#[test]
fn shares_are_limited() {
    let new = |s| OccupancyBound::new(4, 100, s).map(|b| b.untrusted());
    for fits in [share(3, 3, 99, 1), share(4, 4, 100, 9), share(0, 4, 0, 1)] {
        assert_eq!(new(fits), Ok(fits));
    }
    assert_eq!(
        new(share(0, 5, 0, 1)),
        Err(BoundError::CeilingAboveSlots { ceiling: 5, k: 4 })
    );
    assert_eq!(
        new(share(3, 2, 0, 1)),
        Err(BoundError::FloorAboveCeiling {
            floor: 3,
            ceiling: 2
        })
    );
    assert_eq!(
        new(share(0, 0, 101, 1)),
        Err(BoundError::CeilingTokens {
            ceiling_tokens: 101,
            tokens: 100
        })
    );
    assert_eq!(new(share(0, 0, 0, 0)), Err(BoundError::NoSlotPerOrigin));
}

#[test]
fn refusals_name_the_limit_and_the_next_step() {
    let text = |s| OccupancyBound::new(4, 100, s).unwrap_err().to_string();
    assert_eq!(
        text(share(0, 5, 0, 1)),
        "ceiling is 5; limit is k, 4; lower it"
    );
    assert_eq!(
        text(share(3, 2, 0, 1)),
        "floor is 3; limit is the ceiling, 2; lower it"
    );
    assert_eq!(
        text(share(0, 0, 101, 1)),
        "ceiling_tokens is 101; limit is the pack's 100 tokens; lower it"
    );
    assert_eq!(
        text(share(0, 0, 0, 0)),
        "per_origin is 0; give at least 1, or exclude untrusted entries"
    );
    assert_eq!(
        BoundError::Slots(257).to_string(),
        "k is 257; it is 1 to 256; ask for fewer entries"
    );
}

#[test]
fn the_default_is_a_fifth() {
    for (k, expected) in [
        (1, share(0, 1, 3000, 1)),
        (3, share(0, 1, 1000, 1)),
        (5, share(1, 1, 600, 1)),
        (12, share(2, 3, 750, 2)),
        (15, share(3, 3, 600, 2)),
        (K_MAX, share(51, 52, 609, 26)),
    ] {
        let bound = OccupancyBound::default_for(k, 3000).unwrap();
        assert_eq!(bound.untrusted(), expected, "k = {k}");
    }
    let most = OccupancyBound::default_for(1, u32::MAX).unwrap();
    assert_eq!(most.untrusted().ceiling_tokens, u32::MAX);
}

#[test]
fn trusted_stops_at_the_first_that_does_not_fit() {
    let packed = pack(&plain(&[2, 9, 1]), &[], &bound(3, 10, share(0, 0, 0, 1)));
    assert_eq!(packed.trusted, [0]);
    assert_eq!(packed.occupancy.tokens, 2);
}

#[test]
fn untrusted_goes_on_past_one_that_does_not_fit() {
    let packed = pack(&[], &plain(&[9, 2, 2]), &bound(3, 10, share(2, 2, 4, 1)));
    assert_eq!(packed.untrusted, [1, 2]);
    assert_eq!(
        packed.occupancy,
        Occupancy {
            slots: 2,
            tokens: 4,
            untrusted_slots: 2,
            untrusted_tokens: 4
        }
    );
}

#[test]
fn slots_between_floor_and_ceiling_are_used_only_when_free() {
    let between = bound(4, 100, share(1, 3, 100, 1));
    let untrusted = plain(&[1; 5]);
    for (trusted, expected) in [
        (5, (3, 1)),
        (3, (3, 1)),
        (2, (2, 2)),
        (1, (1, 3)),
        (0, (0, 3)),
    ] {
        let packed = pack(&plain(&vec![1; trusted]), &untrusted, &between);
        assert_eq!((packed.trusted.len(), packed.untrusted.len()), expected);
    }
}

#[test]
fn a_floor_that_class_4_cannot_use_is_not_kept_free() {
    let floor = bound(3, 100, share(2, 2, 100, 1));
    assert_eq!(pack(&plain(&[1; 4]), &[], &floor).trusted, [0, 1, 2]);
    let too_big = bound(3, 100, share(2, 2, 5, 1));
    let packed = pack(&plain(&[1; 4]), &plain(&[6, 7]), &too_big);
    assert_eq!((packed.trusted.len(), packed.untrusted.len()), (3, 0));
}

#[test]
fn one_origin_has_a_cap() {
    let mut untrusted = plain(&[1; 4]);
    untrusted[1].origin = 0;
    untrusted[2].origin = 0;
    let pack_with = |cap| pack(&[], &untrusted, &bound(4, 9, share(0, 3, 9, cap))).untrusted;
    assert_eq!(pack_with(1), [0, 3]);
    assert_eq!(pack_with(2), [0, 1, 3]);
    assert_eq!(pack_with(3), [0, 1, 2]);
}

#[test]
fn the_earliest_stands_for_its_group_at_its_own_rank() {
    let all = bound(3, 9, share(3, 3, 9, 3));
    let group = [
        entry(9, 1, 0, 7, 20),
        entry(3, 1, 1, 7, 10),
        entry(5, 1, 2, 8, 30),
    ];
    assert_eq!(pack(&[], &group, &all).untrusted, [2, 1]);
    assert_eq!(pack(&group, &[], &all).trusted, [2, 1]);
}

#[test]
fn an_early_copy_whose_origin_is_full_does_not_hide_the_original() {
    let packed = pack(
        &[],
        &[
            entry(9, 1, 0, 1, 1),
            entry(8, 1, 0, 2, 2),
            entry(7, 1, 5, 2, 3),
        ],
        &bound(3, 9, share(3, 3, 9, 1)),
    );
    assert_eq!(packed.untrusted, [0, 2]);
}

#[test]
fn excluded_class_4_has_no_slot() {
    let bound = OccupancyBound::default_for(15, 100)
        .unwrap()
        .exclude_untrusted();
    let packed = pack(&[], &plain(&[1; 9]), &bound);
    assert_eq!(packed, Packed::default());
}

#[test]
fn sizes_at_the_end_of_the_range_do_not_overflow() {
    let all = bound(3, u32::MAX, share(1, 3, u32::MAX, 3));
    let huge = plain(&[u32::MAX, 1, 0]);
    let packed = pack(&huge, &huge, &all);
    assert_eq!((packed.trusted, packed.untrusted), (vec![], vec![0, 2]));
    assert_eq!(packed.occupancy.tokens, u32::MAX);
}
