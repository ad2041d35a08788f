// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tree that forgets: size and root of a stream of leaves in O(log n) memory.

use crate::hash::{NodeHash, node_hash};
use crate::tree::fold_peaks;

/// The peaks of a tree: the complete subtrees that its size is the sum of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frontier {
    size: u64,
    /// Largest first; one for each set bit of `size`.
    peaks: Vec<NodeHash>,
}

impl Frontier {
    pub(crate) const fn new() -> Self {
        Self {
            size: 0,
            peaks: Vec::new(),
        }
    }

    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn push(&mut self, leaf: NodeHash) {
        let mut hash = leaf;
        // Each trailing one bit of the size is a peak that the new leaf completes.
        for _ in 0..self.size.trailing_ones() {
            let Some(left) = self.peaks.pop() else { break };
            hash = node_hash(&left, &hash);
        }
        self.peaks.push(hash);
        self.size = self.size.saturating_add(1);
    }

    pub(crate) fn root(&self) -> NodeHash {
        fold_peaks(&self.peaks)
    }
}
