// SPDX-License-Identifier: MIT OR Apache-2.0
//! RFC 6962 section 2.1 word for word: recursive, slow, without state.

use ancile_ledger::{NodeHash, Tree, empty_root, leaf_hash, node_hash};

/// The largest power of two below n.
fn split(n: usize) -> usize {
    let mut k = 1;
    while k * 2 < n {
        k *= 2;
    }
    k
}

pub fn root(leaves: &[NodeHash]) -> NodeHash {
    match leaves {
        [] => empty_root(),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(split(leaves.len()));
            node_hash(&root(left), &root(right))
        }
    }
}

pub fn path(m: usize, leaves: &[NodeHash]) -> Vec<NodeHash> {
    if leaves.len() == 1 {
        return vec![];
    }
    let k = split(leaves.len());
    let (left, right) = leaves.split_at(k);
    let (mut path, other) = if m < k {
        (path(m, left), root(right))
    } else {
        (path(m - k, right), root(left))
    };
    path.push(other);
    path
}

pub fn consistency(m: usize, leaves: &[NodeHash]) -> Vec<NodeHash> {
    if m == 0 || m == leaves.len() {
        return vec![];
    }
    subproof(m, leaves, true)
}

fn subproof(m: usize, leaves: &[NodeHash], whole: bool) -> Vec<NodeHash> {
    if m == leaves.len() {
        return if whole { vec![] } else { vec![root(leaves)] };
    }
    let k = split(leaves.len());
    let (left, right) = leaves.split_at(k);
    let (mut proof, other) = if m <= k {
        (subproof(m, left, whole), root(right))
    } else {
        (subproof(m - k, right, false), root(left))
    };
    proof.push(other);
    proof
}

/// Distinct leaf hashes.
pub fn leaves(n: usize) -> Vec<NodeHash> {
    (0..n as u64).map(|i| leaf_hash(&i.to_be_bytes())).collect()
}

pub fn tree(leaves: &[NodeHash]) -> Tree {
    let mut tree = Tree::new();
    for leaf in leaves {
        tree.append(*leaf);
    }
    tree
}

/// The hash with one bit flipped, 0 to 255.
pub fn flip(hash: NodeHash, bit: usize) -> NodeHash {
    let mut hash = hash;
    hash.0[bit / 8] ^= 1 << (bit % 8);
    hash
}
