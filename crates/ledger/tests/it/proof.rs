// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::naive::{self, flip};
use ancile_ledger::{
    NodeHash, ProofError, TreeHead, leaf_hash, verify_consistency, verify_inclusion,
};
use proptest::prelude::*;

/// The largest tree that is enumerated, in leaves.
const SIZE_MAX: usize = 70;

fn heads(leaves: &[NodeHash]) -> Vec<TreeHead> {
    (0..=leaves.len())
        .map(|n| TreeHead {
            size: n as u64,
            root: naive::root(&leaves[..n]),
        })
        .collect()
}

fn wrong_length(found: usize) -> Result<(), ProofError> {
    Err(ProofError::WrongLength { found })
}

fn refused_root(answer: Result<(), ProofError>) -> bool {
    matches!(answer, Err(ProofError::RootDiffers { .. }))
}

#[test]
fn every_inclusion_proof_is_the_naive_one_and_verifies() {
    let leaves = naive::leaves(SIZE_MAX);
    let (tree, heads) = (naive::tree(&leaves), heads(&leaves));
    let mut proofs = 0;
    for (size, head) in heads.iter().enumerate() {
        for (index, leaf) in leaves[..size].iter().enumerate() {
            let proof = tree.inclusion_proof(index as u64, size as u64).unwrap();
            assert_eq!(proof, naive::path(index, &leaves[..size]));
            verify_inclusion(leaf, index as u64, head, &proof).unwrap();
            proofs += 1;
        }
    }
    assert_eq!(proofs, SIZE_MAX * (SIZE_MAX + 1) / 2);
}

#[test]
fn every_changed_inclusion_proof_is_refused() {
    let leaves = naive::leaves(SIZE_MAX);
    let (tree, heads) = (naive::tree(&leaves), heads(&leaves));
    for (size, head) in heads.iter().enumerate() {
        for (at, leaf) in (0u64..).zip(&leaves[..size]) {
            let proof = tree.inclusion_proof(at, size as u64).unwrap();
            // Every bit in small trees, one bit of every hash in the others.
            let step = if size <= 9 { 1 } else { 251 };
            for bit in (size % 5..256).step_by(step) {
                for hash in 0..proof.len() {
                    let mut changed = proof.clone();
                    changed[hash] = flip(changed[hash], bit);
                    assert!(refused_root(verify_inclusion(leaf, at, head, &changed)));
                }
                let other = flip(*leaf, bit);
                assert!(refused_root(verify_inclusion(&other, at, head, &proof)));
                let other = TreeHead {
                    root: flip(head.root, bit),
                    ..*head
                };
                assert!(refused_root(verify_inclusion(leaf, at, &other, &proof)));
            }
            let (longer, shorter) = resized(&proof);
            let answer = verify_inclusion(leaf, at, head, &longer);
            assert_eq!(answer, wrong_length(longer.len()));
            if let Some(shorter) = shorter {
                let answer = verify_inclusion(leaf, at, head, &shorter);
                assert_eq!(answer, wrong_length(shorter.len()));
            }
            for other in (0..size as u64).filter(|other| *other != at) {
                assert!(verify_inclusion(leaf, other, head, &proof).is_err());
            }
        }
    }
}

fn resized(proof: &[NodeHash]) -> (Vec<NodeHash>, Option<Vec<NodeHash>>) {
    let mut longer = proof.to_vec();
    longer.push(leaf_hash(b"one more"));
    let shorter = proof.split_last().map(|(_, rest)| rest.to_vec());
    (longer, shorter)
}

#[test]
fn an_index_outside_the_tree_is_refused() {
    let leaf = leaf_hash(b"only");
    let head = |size| TreeHead { size, root: leaf };
    verify_inclusion(&leaf, 0, &head(1), &[]).unwrap();
    for (index, size) in [(1, 1), (0, 0), (u64::MAX, 1), (u64::MAX, u64::MAX)] {
        let expected = Err(ProofError::IndexBeyondSize { index, size });
        assert_eq!(verify_inclusion(&leaf, index, &head(size), &[]), expected);
    }
    // The largest size: 64 hashes for its first leaf, and no overflow.
    let proof = vec![leaf; 64];
    assert!(refused_root(verify_inclusion(
        &leaf,
        0,
        &head(u64::MAX),
        &proof
    )));
    let answer = verify_inclusion(&leaf, 0, &head(u64::MAX), &[leaf; 65]);
    assert_eq!(answer, wrong_length(65));
}

#[test]
fn every_consistency_proof_is_the_naive_one_and_verifies() {
    let leaves = naive::leaves(SIZE_MAX);
    let (tree, heads) = (naive::tree(&leaves), heads(&leaves));
    for new in 0..=SIZE_MAX {
        for old in 0..=new {
            let proof = tree.consistency_proof(old as u64, new as u64).unwrap();
            assert_eq!(proof, naive::consistency(old, &leaves[..new]));
            verify_consistency(&heads[old], &heads[new], &proof).unwrap();
        }
    }
}

#[test]
fn every_changed_consistency_proof_is_refused() {
    let leaves = naive::leaves(SIZE_MAX);
    let (tree, heads) = (naive::tree(&leaves), heads(&leaves));
    for new in 1..=SIZE_MAX {
        for old in 0..=new {
            let proof = tree.consistency_proof(old as u64, new as u64).unwrap();
            let (older, newer) = (&heads[old], &heads[new]);
            let step = if new <= 9 { 1 } else { 251 };
            for bit in (new % 5..256).step_by(step) {
                for hash in 0..proof.len() {
                    let mut changed = proof.clone();
                    changed[hash] = flip(changed[hash], bit);
                    assert!(refused_root(verify_consistency(older, newer, &changed)));
                }
                let flipped = |head: &TreeHead| TreeHead {
                    root: flip(head.root, bit),
                    ..*head
                };
                assert!(refused_root(verify_consistency(
                    &flipped(older),
                    newer,
                    &proof
                )));
                // From size 0 any tree is consistent.
                if old > 0 {
                    assert!(refused_root(verify_consistency(
                        older,
                        &flipped(newer),
                        &proof
                    )));
                }
            }
            let (longer, shorter) = resized(&proof);
            let answer = verify_consistency(older, newer, &longer);
            assert_eq!(answer, wrong_length(longer.len()));
            if let Some(shorter) = shorter {
                let answer = verify_consistency(older, newer, &shorter);
                assert_eq!(answer, wrong_length(shorter.len()));
            }
            if old < new {
                let expected = Err(ProofError::SizesReversed {
                    old: new as u64,
                    new: old as u64,
                });
                assert_eq!(verify_consistency(newer, older, &proof), expected);
            }
        }
    }
}

#[test]
fn a_forked_tree_is_refused() {
    const SIZE: usize = 24;
    let leaves = naive::leaves(SIZE);
    let heads = heads(&leaves);
    for changed in 0..SIZE {
        let mut forked = leaves.clone();
        forked[changed] = leaf_hash(b"another past");
        let fork = naive::tree(&forked);
        for new in changed + 1..=SIZE {
            let newer = TreeHead {
                size: new as u64,
                root: fork.root_at(new as u64).unwrap(),
            };
            for older in &heads[1..=new] {
                let proof = fork.consistency_proof(older.size, newer.size).unwrap();
                let answer = verify_consistency(older, &newer, &proof);
                // The fork is a true extension of what came before the changed leaf.
                let extends = older.size <= changed as u64;
                assert_eq!(answer.is_ok(), extends, "{changed} {older:?} {new}");
            }
        }
    }
}

#[test]
fn size_zero_has_one_root() {
    let leaf = leaf_hash(b"x");
    let zero = |root| TreeHead { size: 0, root };
    let empty = zero(ancile_ledger::empty_root());
    verify_consistency(&empty, &empty, &[]).unwrap();
    assert!(refused_root(verify_consistency(&zero(leaf), &empty, &[])));
    assert!(refused_root(verify_consistency(&empty, &zero(leaf), &[])));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// In larger trees too: the proofs verify, and not with any bit flipped.
    #[test]
    fn larger_trees(
        size in 71usize..1500,
        a: prop::sample::Index,
        b: prop::sample::Index,
        bit in 0usize..256,
    ) {
        let leaves = naive::leaves(size);
        let tree = naive::tree(&leaves);
        let head = tree.head();
        let index = a.index(size);
        let proof = tree.inclusion_proof(index as u64, size as u64).unwrap();
        prop_assert!(verify_inclusion(&leaves[index], index as u64, &head, &proof).is_ok());
        let mut changed = proof.clone();
        let at = b.index(changed.len());
        changed[at] = flip(changed[at], bit);
        prop_assert!(verify_inclusion(&leaves[index], index as u64, &head, &changed).is_err());

        let old = a.index(size) + 1;
        let older = TreeHead { size: old as u64, root: tree.root_at(old as u64).unwrap() };
        let proof = tree.consistency_proof(old as u64, size as u64).unwrap();
        prop_assert!(verify_consistency(&older, &head, &proof).is_ok());
        if !proof.is_empty() {
            let mut changed = proof.clone();
            let at = b.index(changed.len());
            changed[at] = flip(changed[at], bit);
            prop_assert!(verify_consistency(&older, &head, &changed).is_err());
        }
    }

    /// Whatever is given, the answer is an answer.
    #[test]
    fn any_numbers_in(index: u64, old: u64, new: u64, count in 0usize..80) {
        let hash = leaf_hash(b"any");
        let head = |size| TreeHead { size, root: hash };
        let proof = vec![hash; count];
        prop_assert!(verify_inclusion(&leaf_hash(b"l"), index, &head(new), &proof).is_err());
        if old != new {
            prop_assert!(verify_consistency(&head(old), &head(new), &proof).is_err());
        }
    }
}
