// SPDX-License-Identifier: MIT OR Apache-2.0
//! The witness: rollback, a missing or foreign witness, and new epochs.

use crate::fixture::*;
use ancile_ledger::{SignerKey, Witness, WitnessRefusal, WitnessState};
use ancile_store::{NewEpoch, OpenError, ReplayLeaf, Store, StoreConfig, audit};
use std::fs;

fn refusal(place: &Place) -> WitnessRefusal {
    match place.refusal() {
        OpenError::WitnessRefused(refusal) => refusal,
        other => panic!("{other}"),
    }
}

fn new_epoch(place: &Place) -> Result<NewEpoch, OpenError> {
    with_config(&place.dir(), &place.witness(), Store::new_witness_epoch)
}

fn one_more(place: &Place) {
    let (mut store, ..) = place.open().unwrap();
    put_record(&mut store, &tenant("acme"), b"later");
    let _ = store.commit().unwrap();
}

#[test]
fn an_older_copy_is_refused_as_a_rollback() {
    let place = sample();
    let older = place.copy();
    one_more(&place);
    copy_files(&older.dir(), &place.dir());
    let expected = WitnessRefusal::StoreBehindWitness {
        store: 4,
        witness: 5,
    };
    assert_eq!(refusal(&place), expected);
    let report = audit(&place.dir(), Some(&place.witness()), &verifier()).unwrap();
    assert_eq!(
        report.logs().problems(),
        [ancile_ledger::verify::Problem::Witness(expected)]
    );
    // The copy with its own witness is a good store.
    assert_eq!(older.open().unwrap().1.witness, WitnessState::Current);
}

#[test]
fn another_history_of_the_same_length_is_refused() {
    let place = sample();
    let other = place.copy();
    one_more(&place);
    let (mut store, ..) = other.open().unwrap();
    put_record(&mut store, &tenant("acme"), b"different");
    let _ = store.commit().unwrap();
    drop(store);
    copy_files(&other.dir(), &place.dir());
    assert_eq!(
        refusal(&place),
        WitnessRefusal::Forked {
            store: 5,
            witness: 5
        }
    );
}

#[test]
fn a_witness_one_group_behind_is_accepted_said_and_brought_up() {
    let place = sample();
    let behind = fs::read(place.witness()).unwrap();
    one_more(&place);
    let current = fs::read(place.witness()).unwrap();
    fs::write(place.witness(), &behind).unwrap();
    let (store, report, _) = place.open().unwrap();
    assert_eq!(report.witness, WitnessState::OneBehind);
    assert_eq!(fs::read(place.witness()).unwrap(), current);
    drop(store);
    one_more(&place);
    fs::write(place.witness(), &behind).unwrap();
    assert_eq!(
        refusal(&place),
        WitnessRefusal::WitnessTooOld {
            store: 6,
            witness: 4
        }
    );
}

#[test]
fn a_missing_witness_is_refused_until_a_new_epoch() {
    let place = sample();
    fs::remove_file(place.witness()).unwrap();
    assert_eq!(refusal(&place), WitnessRefusal::Missing { store: 4 });
    let report = audit(&place.dir(), Some(&place.witness()), &verifier()).unwrap();
    let said = report.problems()[0].to_string();
    assert!(
        said.starts_with("witness `") && said.ends_with("` is missing"),
        "{said}"
    );
    let epoch = new_epoch(&place).unwrap();
    let refused = Some(WitnessRefusal::Missing { store: 4 });
    assert_eq!(
        epoch,
        NewEpoch {
            epoch: 1,
            group: 4,
            replaced: None,
            refused
        }
    );
    let (store, report, _) = place.open().unwrap();
    assert_eq!((report.epoch, report.groups), (1, 5));
    assert_eq!(report.witness, WitnessState::Current);
    assert_eq!(store.group().epoch, 1);
    drop(store);
    one_more(&place);
    assert_eq!(place.open().unwrap().1.epoch, 1);
    assert!(
        audit(&place.dir(), Some(&place.witness()), &verifier())
            .unwrap()
            .ok()
    );
}

#[test]
fn a_rollback_can_be_accepted_by_a_new_epoch() {
    let place = sample();
    let older = place.copy();
    one_more(&place);
    one_more(&place);
    copy_files(&older.dir(), &place.dir());
    let replaced = Witness::read(&place.witness()).unwrap();
    let epoch = new_epoch(&place).unwrap();
    let refused = Some(WitnessRefusal::StoreBehindWitness {
        store: 4,
        witness: 6,
    });
    assert_eq!(
        epoch,
        NewEpoch {
            epoch: 1,
            group: 4,
            replaced,
            refused
        }
    );
    assert_eq!(place.open().unwrap().1.groups, 5);
}

#[test]
fn a_new_epoch_accepts_nothing_but_the_witness() {
    let place = sample();
    place.sql("DELETE FROM leaf WHERE tenant = 'acme' AND seq = 0");
    assert!(matches!(new_epoch(&place), Err(OpenError::Control { .. })));
    let place = sample();
    place.sql("DELETE FROM checkpoint");
    assert!(matches!(
        new_epoch(&place),
        Err(OpenError::CheckpointMissing)
    ));
}

#[test]
fn a_witness_of_another_store_is_refused() {
    let place = sample();
    let other = Place::new();
    let (dir, witness) = (other.dir(), other.witness());
    let foreign = SignerKey::generate(ORIGIN, &[8; 32]).unwrap();
    let cfg = StoreConfig {
        dir: &dir,
        witness: &witness,
        signer: foreign,
        origin: ORIGIN,
    };
    drop(Store::create(cfg).unwrap());
    fs::copy(&witness, place.witness()).unwrap();
    let refusal = place.refusal();
    assert!(
        matches!(refusal, OpenError::WitnessUnsigned(_)),
        "{refusal}"
    );
    let report = audit(&place.dir(), Some(&place.witness()), &verifier()).unwrap();
    assert_eq!(
        report.logs().problems()[0].to_string(),
        "witness was refused"
    );
    // Of another store under the same key it has another history.
    let same_key = Place::new();
    let mut store = same_key.create();
    put_control(&mut store, &tenant("acme"), "else");
    let _ = store.commit().unwrap();
    fs::copy(same_key.witness(), place.witness()).unwrap();
    let forked = OpenError::WitnessRefused(WitnessRefusal::Forked {
        store: 4,
        witness: 2,
    });
    assert_eq!(place.refusal().to_string(), forked.to_string());
}

#[test]
fn a_store_of_another_key_or_name_is_refused() {
    let place = sample();
    let (dir, witness) = (place.dir(), place.witness());
    let open = |name: &str, seed: u8, origin: &str| {
        let signer = SignerKey::generate(name, &[seed; 32]).unwrap();
        let cfg = StoreConfig {
            dir: &dir,
            witness: &witness,
            signer,
            origin,
        };
        Store::open(cfg, &mut |_: ReplayLeaf<'_>| Ok(())).unwrap_err()
    };
    assert!(matches!(open(ORIGIN, 8, ORIGIN), OpenError::Checkpoint(_)));
    assert!(matches!(
        open("other.example", 7, "other.example"),
        OpenError::Checkpoint(_)
    ));
    assert_eq!(
        open(ORIGIN, 7, "other.example").to_string(),
        "origin is `other.example`, the signing key is named `store.example/test`; give the key \
         of this store"
    );
}

#[test]
fn a_witness_inside_the_data_directory_is_refused() {
    let place = Place::new();
    let inside = place.dir().join("witness");
    let created = with_config(&place.dir(), &inside, Store::create);
    assert!(matches!(created, Err(OpenError::WitnessInside { .. })));
    let place = sample();
    let inside = place.dir().join("witness");
    fs::copy(place.witness(), &inside).unwrap();
    let opened = with_config(&place.dir(), &inside, |cfg| {
        Store::open(cfg, &mut |_: ReplayLeaf<'_>| Ok(()))
    });
    assert!(matches!(opened, Err(OpenError::WitnessInside { .. })));
}

#[test]
fn create_refuses_a_store_or_a_witness_that_is_there() {
    let place = sample();
    let create = |place: &Place| with_config(&place.dir(), &place.witness(), Store::create);
    assert!(matches!(create(&place), Err(OpenError::Exists { .. })));
    fs::remove_dir_all(place.dir()).unwrap();
    assert!(matches!(
        create(&place),
        Err(OpenError::WitnessExists { .. })
    ));
    fs::remove_file(place.witness()).unwrap();
    // What an interrupted attempt left is replaced.
    fs::write(place.dir().join("store.db.new"), b"half").unwrap();
    drop(create(&place).unwrap());
    assert_eq!(place.open().unwrap().1.groups, 1);
}

#[test]
fn a_store_made_without_its_witness_asks_for_a_new_epoch() {
    let place = Place::new();
    let nowhere = place.root().join("none").join("witness");
    let created = with_config(&place.dir(), &nowhere, Store::create);
    assert!(matches!(created, Err(OpenError::Witness(_))));
    assert_eq!(
        refusal(&place),
        WitnessRefusal::Missing { store: 1 },
        "the store is there"
    );
    assert_eq!(new_epoch(&place).unwrap().group, 1);
    assert_eq!(place.open().unwrap().1.epoch, 1);
}
