// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proofs that a leaf is under the checkpoint, and that checkpoints extend each other.

use crate::fixture::*;
use ancile_ledger::{LogName, TreeHead, decode_tile, leaf_hash, verify_consistency};
use ancile_store::{InclusionError, ProveError};

#[test]
fn every_leaf_is_proved_to_the_checkpoint() {
    let (store, ..) = sample().open().unwrap();
    let key = verifier();
    for (name, size) in [("acme", 6), ("zeta", 1)] {
        for seq in 0..size {
            let body = store.read(&tenant(name), seq).unwrap().body;
            let proof = store.inclusion(&tenant(name), seq).unwrap();
            assert_eq!(proof.verify(&key, &body).unwrap(), *store.checkpoint());
            assert_eq!((proof.head.tenant.as_str(), proof.seq), (name, seq));
            let other = proof.verify(&key, b"\x01other").unwrap_err();
            assert!(matches!(other, InclusionError::Leaf(_)));
        }
    }
}

#[test]
fn each_link_of_a_proof_is_checked() {
    let (store, ..) = sample().open().unwrap();
    let (key, acme) = (verifier(), tenant("acme"));
    let body = store.read(&acme, 1).unwrap().body;
    let good = store.inclusion(&acme, 1).unwrap();
    assert!(good.verify(&key, &body).is_ok());
    let mut proof = good.clone();
    proof.seq = 2;
    assert!(matches!(
        proof.verify(&key, &body),
        Err(InclusionError::Leaf(_))
    ));
    let mut proof = good.clone();
    proof.head.tenant = "zeta".to_owned();
    assert!(matches!(
        proof.verify(&key, &body),
        Err(InclusionError::Head(_))
    ));
    let mut proof = good.clone();
    proof.group.epoch = 9;
    assert!(matches!(
        proof.verify(&key, &body),
        Err(InclusionError::Group(_))
    ));
    let mut proof = good.clone();
    proof.checkpoint = proof.checkpoint.replace("\n4\n", "\n5\n");
    assert!(matches!(
        proof.verify(&key, &body),
        Err(InclusionError::Checkpoint(_))
    ));
}

#[test]
fn only_committed_leaves_are_proved() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    let acme = tenant("acme");
    put_control(&mut store, &acme, "open");
    put_control(&mut store, &tenant("new"), "open");
    let refused = |name: &str, seq| {
        let refusal = store.inclusion(&tenant(name), seq);
        matches!(refusal, Err(ProveError::NotCommitted { .. }))
    };
    assert!(refused("acme", 6) && refused("new", 0) && refused("none", 0) && !refused("acme", 5));
    assert_eq!(
        store.tile(&LogName::Tenant("acme".to_owned()), 0, 0, 7),
        None
    );
    assert_eq!(store.head(&acme).unwrap().size, 6);
    let body = control("open");
    let _ = store.commit().unwrap();
    assert!(
        store
            .inclusion(&acme, 6)
            .unwrap()
            .verify(&verifier(), &body)
            .is_ok()
    );
    assert!(
        store
            .tile(&LogName::Tenant("acme".to_owned()), 0, 0, 7)
            .is_some()
    );
}

#[test]
fn checkpoints_and_logs_extend_the_earlier_ones() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    let acme = tenant("acme");
    let (before, head) = (
        store.checkpoint().clone(),
        store.head(&acme).unwrap().clone(),
    );
    for text in ["one", "two"] {
        put_control(&mut store, &acme, text);
        let _ = store.commit().unwrap();
    }
    let (old, new) = (
        before.checkpoint().head(),
        store.checkpoint().checkpoint().head(),
    );
    let proof = store.consistency(old.size).unwrap();
    assert!(verify_consistency(&old, &new, &proof).is_ok());
    let forged = TreeHead {
        root: new.root,
        ..old
    };
    assert!(verify_consistency(&forged, &new, &proof).is_err());
    let proof = store.tenant_consistency(&acme, head.size).unwrap();
    let now = store.head(&acme).unwrap();
    let (old, new) = (
        TreeHead {
            size: head.size,
            root: head.root,
        },
        TreeHead {
            size: now.size,
            root: now.root,
        },
    );
    assert!(verify_consistency(&old, &new, &proof).is_ok());
    assert!(matches!(store.consistency(99), Err(ProveError::Tree(_))));
    assert!(matches!(
        store.tenant_consistency(&acme, 99),
        Err(ProveError::Tree(_))
    ));
    assert!(store.tenant_consistency(&tenant("none"), 0).is_err());
}

#[test]
fn tiles_are_the_leaf_hashes() {
    let (store, ..) = sample().open().unwrap();
    let log = LogName::Tenant("acme".to_owned());
    let hashes = decode_tile(&store.tile(&log, 0, 0, 6).unwrap()).unwrap();
    for (seq, hash) in (0u64..).zip(&hashes) {
        assert_eq!(
            *hash,
            leaf_hash(&store.read(&tenant("acme"), seq).unwrap().body)
        );
    }
    assert_eq!(store.tile(&LogName::Heads, 0, 0, 4).unwrap().len(), 4 * 32);
    assert_eq!(store.tile(&LogName::Heads, 0, 0, 5), None);
    assert_eq!(store.tile(&log, 1, 0, 1), None);
    assert_eq!(store.tile(&log, 9, u64::MAX, 1), None);
}
