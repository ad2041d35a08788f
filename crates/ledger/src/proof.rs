// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checking proofs without the tree.

use crate::hash::{NodeHash, empty_root, node_hash};

/// A tree by its size and root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TreeHead {
    /// The number of leaves.
    pub size: u64,
    /// The root over them.
    pub root: NodeHash,
}

/// Why a proof was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// The leaf index is outside the tree.
    #[error("proof is for leaf {index}; a tree of size {size} ends before it; check both numbers")]
    IndexBeyondSize {
        /// The index.
        index: u64,
        /// The size.
        size: u64,
    },
    /// The older tree is larger than the newer.
    #[error("older size {old} is above newer size {new}; the log was cut or they are swapped")]
    SizesReversed {
        /// The size given as the older.
        old: u64,
        /// The size given as the newer.
        new: u64,
    },
    /// The number of hashes is not the one for these sizes.
    #[error("proof has {found} hashes, which does not fit the sizes; ask for the proof again")]
    WrongLength {
        /// The number of hashes in the proof.
        found: usize,
    },
    /// The proof leads to another root than the one given.
    #[error("proof leads to root {found}, expected {expected}; do not use what it covers")]
    RootDiffers {
        /// The root that was given.
        expected: NodeHash,
        /// The root that the proof leads to.
        found: NodeHash,
    },
}

/// Checks that `leaf` is the leaf hash at `index` in the tree (RFC 9162 section 2.1.3.2).
///
/// # Errors
/// [`ProofError`] says what does not hold; the leaf must then not be used.
pub fn verify_inclusion(
    leaf: &NodeHash,
    index: u64,
    tree: &TreeHead,
    proof: &[NodeHash],
) -> Result<(), ProofError> {
    let size = tree.size;
    if index >= size {
        return Err(ProofError::IndexBeyondSize { index, size });
    }
    let wrong_length = ProofError::WrongLength { found: proof.len() };
    let (mut node, mut last) = (index, size.saturating_sub(1));
    let mut hash = *leaf;
    for step in proof {
        if last == 0 {
            return Err(wrong_length);
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(step, &hash);
            (node, last) = skip_missing_siblings(node, last);
        } else {
            hash = node_hash(&hash, step);
        }
        node >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(wrong_length);
    }
    same_root(&tree.root, &hash)
}

/// Checks that the older tree is a prefix of the newer one (RFC 9162 section 2.1.4.2). From size
/// 0, and between equal sizes, the proof is empty; the root of size 0 is checked too.
///
/// # Errors
/// [`ProofError`] says what does not hold; the newer tree must then not be believed.
pub fn verify_consistency(
    old: &TreeHead,
    new: &TreeHead,
    proof: &[NodeHash],
) -> Result<(), ProofError> {
    if old.size > new.size {
        return Err(ProofError::SizesReversed {
            old: old.size,
            new: new.size,
        });
    }
    let wrong_length = ProofError::WrongLength { found: proof.len() };
    if old.size == 0 {
        same_root(&empty_root(), &old.root)?;
    }
    if new.size == 0 {
        same_root(&empty_root(), &new.root)?;
    }
    if old.size == 0 || old.size == new.size {
        if !proof.is_empty() {
            return Err(wrong_length);
        }
        return if old.size == 0 {
            Ok(())
        } else {
            same_root(&old.root, &new.root)
        };
    }
    // A complete older tree is a node of the newer one, and its root opens the proof.
    let (first, rest) = if old.size.is_power_of_two() {
        (old.root, proof)
    } else {
        let (first, rest) = proof.split_first().ok_or(wrong_length)?;
        (*first, rest)
    };
    let (mut node, mut last) = (old.size.saturating_sub(1), new.size.saturating_sub(1));
    (node, last) = strip_ones(node, last);
    let (mut old_hash, mut new_hash) = (first, first);
    for step in rest {
        if last == 0 {
            return Err(wrong_length);
        }
        if node & 1 == 1 || node == last {
            old_hash = node_hash(step, &old_hash);
            new_hash = node_hash(step, &new_hash);
            (node, last) = skip_missing_siblings(node, last);
        } else {
            new_hash = node_hash(&new_hash, step);
        }
        node >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(wrong_length);
    }
    same_root(&old.root, &old_hash)?;
    same_root(&new.root, &new_hash)
}

/// Climbs past the levels at which a node on the right edge has no sibling.
fn skip_missing_siblings(mut node: u64, mut last: u64) -> (u64, u64) {
    while node & 1 == 0 && node != 0 {
        node >>= 1;
        last >>= 1;
    }
    (node, last)
}

/// Climbs from the older tree's last leaf to the largest complete subtree that ends with it.
fn strip_ones(mut node: u64, mut last: u64) -> (u64, u64) {
    while node & 1 == 1 {
        node >>= 1;
        last >>= 1;
    }
    (node, last)
}

fn same_root(expected: &NodeHash, found: &NodeHash) -> Result<(), ProofError> {
    if expected == found {
        return Ok(());
    }
    Err(ProofError::RootDiffers {
        expected: *expected,
        found: *found,
    })
}
