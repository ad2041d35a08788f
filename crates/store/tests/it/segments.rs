// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments in the database, and replay that leaves out what is in them.

use crate::fixture::{Place, put_control, put_record, tenant, with_config};
use ancile_core::{Digest, TenantName};
use ancile_ledger::LeafKind;
use ancile_store::segment::ChunkSource as _;
use ancile_store::{Beside, DamageKind, Replay, ReplayLeaf, ReplayRefusal, Store};

fn acme() -> TenantName {
    tenant("acme")
}

/// Keeps what it sees; an event `seal <n>` says that records below `n` are in segments.
#[derive(Default)]
struct Seen {
    leaves: Vec<(u64, LeafKind)>,
    damaged: Vec<u64>,
}

impl Replay for Seen {
    fn leaf(&mut self, leaf: ReplayLeaf<'_>) -> Result<(), ReplayRefusal> {
        match leaf {
            ReplayLeaf::Intact { seq, kind, .. } => self.leaves.push((seq, kind)),
            ReplayLeaf::Damaged { seq, .. } => self.damaged.push(seq),
        }
        Ok(())
    }

    fn sealed(&self, event: &[u8]) -> Option<u64> {
        let text = std::str::from_utf8(event.get(1..)?).ok()?;
        text.strip_prefix("seal ")?.parse().ok()
    }
}

fn open(place: &Place) -> Result<(Store, Seen), ancile_store::OpenError> {
    let mut seen = Seen::default();
    let (store, _) = with_config(&place.dir(), &place.witness(), |cfg| {
        Store::open(cfg, &mut seen)
    })?;
    Ok((store, seen))
}

/// Records at 0, 1, 3, 4, 6; control events at 2, 5 (a seal) and 7.
fn sealed(upto: u64) -> Place {
    let place = Place::new();
    let mut store = place.create();
    let seal = format!("seal {upto}");
    for seq in 0..8_u8 {
        let put = match seq {
            2 | 7 => put_control(&mut store, &acme(), "event"),
            5 => put_control(&mut store, &acme(), &seal),
            _ => put_record(&mut store, &acme(), &[seq; 3]),
        };
        assert_eq!(put, u64::from(seq));
    }
    let _receipt = store.commit().unwrap();
    place
}

#[test]
fn records_in_segments_are_not_replayed() {
    use LeafKind::{Control, Record};
    for upto in [0, 1, 3, 4, 5] {
        let (_, seen) = open(&sealed(upto)).unwrap();
        let all = (0..8).map(|seq| match seq {
            2 | 5 | 7 => (seq, Control),
            _ => (seq, Record),
        });
        let wanted: Vec<_> = all
            .filter(|(s, kind)| *kind == Control || *s >= upto)
            .collect();
        assert_eq!(seen.leaves, wanted, "sealed to {upto}");
        assert!(seen.damaged.is_empty());
    }
}

#[test]
fn an_event_is_missed_though_records_beside_it_are_in_segments() {
    for gone in [2, 5, 7] {
        let place = sealed(5);
        place.sql(&format!("DELETE FROM leaf WHERE seq = {gone}"));
        assert!(matches!(
            place.refusal(),
            ancile_store::OpenError::Control { .. }
        ));
        assert!(open(&place).is_err(), "event {gone}");
    }
}

#[test]
fn a_seal_that_is_no_event_of_the_log_seals_nothing() {
    let place = sealed(0);
    place.sql("UPDATE leaf SET body = x'027365616c2037' WHERE seq = 6");
    let (_, seen) = open(&place).unwrap();
    assert_eq!(seen.damaged, [6]);
    assert_eq!(seen.leaves.len(), 7);
}

#[test]
fn comparing_beside_finds_each_kind_of_damage() {
    let place = sealed(5);
    place.sql("DELETE FROM content WHERE seq IN (1, 3); DELETE FROM leaf WHERE seq = 3");
    place.sql("UPDATE content SET bytes = x'00' WHERE seq = 4");
    place.sql("UPDATE leaf SET body = x'0100' WHERE seq = 0");
    let (store, seen) = open(&place).unwrap();
    assert!(seen.damaged.is_empty(), "nothing of it was replayed");
    let leaves: Vec<_> = store.leaves(&acme(), (0, 5)).collect();
    let mut found = Vec::new();
    let beside = Beside::open(&place.dir()).unwrap();
    beside
        .compare(&acme(), 0, &leaves, &mut |seq, place| {
            found.push((seq, place))
        })
        .unwrap();
    use ancile_store::Place::{Bare, Damaged};
    let wanted = [
        (0, Damaged(DamageKind::Edited)),
        (1, Bare(LeafKind::Record)),
        (2, Bare(LeafKind::Control)),
        (3, Damaged(DamageKind::Missing)),
        (4, Damaged(DamageKind::Content)),
    ];
    assert_eq!(found, wanted);
    let leaf = |seq: u64| beside.leaf(&acme(), seq, &leaves[seq as usize]).unwrap();
    assert_eq!(leaf(0), None);
    assert!(leaf(4).is_some_and(|(_, content)| content.is_none()));
}

#[test]
fn pieces_are_stored_swept_and_undone_with_their_group() {
    let place = sealed(0);
    let (mut store, _) = open(&place).unwrap();
    let (one, two) = (Digest([1; 32]), Digest([2; 32]));
    let put = |store: &mut Store, digest: &Digest, at: i64| {
        store
            .put_piece(&acme(), digest, &(1, at, vec![7; 10]))
            .unwrap();
    };
    (0..3).for_each(|at| put(&mut store, &one, at));
    let savepoint = store.savepoint().unwrap();
    put(&mut store, &two, 0);
    assert_eq!(store.segments_stored(&acme()).unwrap(), [one, two]);
    store.rollback(savepoint).unwrap();
    let _receipt = store.commit().unwrap();
    drop(store);

    let (mut store, _) = open(&place).unwrap();
    assert_eq!(store.segments_stored(&acme()).unwrap(), [one]);
    let owner = acme();
    assert_eq!(
        store.chunks(&owner).fetch(&one, 1, 2).unwrap(),
        Some(vec![7; 10])
    );
    assert_eq!(store.chunks(&owner).fetch(&one, 1, 3).unwrap(), None);
    assert_eq!(store.remove_pieces(&acme(), &one, 2).unwrap(), 2);
    assert_eq!(store.remove_pieces(&acme(), &one, 2).unwrap(), 1);
    assert_eq!(store.remove_pieces(&acme(), &one, 2).unwrap(), 0);
    assert!(store.segments_stored(&acme()).unwrap().is_empty());
}
