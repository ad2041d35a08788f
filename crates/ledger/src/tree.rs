// SPDX-License-Identifier: MIT OR Apache-2.0
//! The append-only Merkle tree in memory.

use crate::hash::{HASH_BYTES, NodeHash, empty_root, node_hash};
use crate::proof::TreeHead;
use crate::tile::{TILE_HEIGHT, TILE_WIDTH};

/// What was asked of a tree that it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A size beyond the tree's.
    #[error("tree size {asked} was asked; the tree has {size} leaves; ask for at most that")]
    SizeBeyondTree {
        /// The size that was asked.
        asked: u64,
        /// The size of the tree.
        size: u64,
    },
    /// A leaf index outside the size.
    #[error("leaf {index} was asked; a tree of size {size} ends before it; ask for a lower index")]
    IndexBeyondSize {
        /// The index that was asked.
        index: u64,
        /// The size that was asked.
        size: u64,
    },
    /// A consistency proof from a larger to a smaller tree.
    #[error("consistency from size {old} to {new} was asked; give the smaller size first")]
    SizesReversed {
        /// The size given as the older.
        old: u64,
        /// The size given as the newer.
        new: u64,
    },
}

/// An append-only Merkle tree (RFC 6962 section 2.1).
///
/// It keeps the hash of every complete subtree by level, about 64 bytes a leaf. Appending is
/// O(1) amortised, a root O(log n), a proof O(log^2 n) hashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// `levels[l][i]` is the root over the leaves from `i * 2^l` to `(i + 1) * 2^l`.
    levels: Vec<Vec<NodeHash>>,
}

impl Tree {
    /// A tree without leaves.
    #[must_use]
    pub const fn new() -> Self {
        Self { levels: Vec::new() }
    }

    /// Appends a leaf and returns its index.
    pub fn append(&mut self, leaf: NodeHash) -> u64 {
        let index = self.size();
        let mut hash = leaf;
        let mut level = 0usize;
        loop {
            if self.levels.len() <= level {
                self.levels.push(Vec::new());
            }
            let Some(row) = self.levels.get_mut(level) else {
                return index;
            };
            row.push(hash);
            // An even length means that the last two are the halves of a complete subtree.
            match row.as_slice() {
                [.., left, right] if row.len() & 1 == 0 => hash = node_hash(left, right),
                _ => return index,
            }
            level = level.saturating_add(1);
        }
    }

    /// The number of leaves.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |row| row.len() as u64)
    }

    /// The root over all leaves.
    #[must_use]
    pub fn root(&self) -> NodeHash {
        self.range_root(0, self.size())
    }

    /// Size and root together.
    #[must_use]
    pub fn head(&self) -> TreeHead {
        TreeHead {
            size: self.size(),
            root: self.root(),
        }
    }

    /// The hash of a leaf.
    #[must_use]
    pub fn leaf(&self, index: u64) -> Option<NodeHash> {
        self.subtree(0, index)
    }

    /// Forgets all leaves from `size` on, to undo appends; a size at or beyond the tree's does
    /// nothing.
    pub fn truncate(&mut self, size: u64) {
        let mut keep = size;
        for row in &mut self.levels {
            row.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
            keep >>= 1;
        }
        self.levels.retain(|row| !row.is_empty());
    }

    /// The root over the first `size` leaves.
    ///
    /// # Errors
    /// [`TreeError::SizeBeyondTree`].
    pub fn root_at(&self, size: u64) -> Result<NodeHash, TreeError> {
        self.check_size(size)?;
        Ok(self.range_root(0, size))
    }

    /// Proves that the leaf at `index` is in the tree of the first `size` leaves (RFC 9162
    /// section 2.1.3.1).
    ///
    /// # Errors
    /// [`TreeError::SizeBeyondTree`], [`TreeError::IndexBeyondSize`].
    pub fn inclusion_proof(&self, index: u64, size: u64) -> Result<Vec<NodeHash>, TreeError> {
        self.check_size(size)?;
        if index >= size {
            return Err(TreeError::IndexBeyondSize { index, size });
        }
        let mut proof = Vec::new();
        let (mut lo, mut hi) = (0u64, size);
        while hi.saturating_sub(lo) > 1 {
            let mid = split(lo, hi);
            if index < mid {
                proof.push(self.range_root(mid, hi));
                hi = mid;
            } else {
                proof.push(self.range_root(lo, mid));
                lo = mid;
            }
        }
        proof.reverse();
        Ok(proof)
    }

    /// Proves that the tree of the first `old` leaves is a prefix of that of the first `new`
    /// (RFC 9162 section 2.1.4.1). From size 0, and between equal sizes, the proof is empty.
    ///
    /// # Errors
    /// [`TreeError::SizesReversed`], [`TreeError::SizeBeyondTree`].
    pub fn consistency_proof(&self, old: u64, new: u64) -> Result<Vec<NodeHash>, TreeError> {
        if old > new {
            return Err(TreeError::SizesReversed { old, new });
        }
        self.check_size(new)?;
        let mut proof = Vec::new();
        if old == 0 {
            return Ok(proof);
        }
        let (mut lo, mut hi, mut known) = (0u64, new, true);
        while old != hi {
            let mid = split(lo, hi);
            if old <= mid {
                proof.push(self.range_root(mid, hi));
                hi = mid;
            } else {
                proof.push(self.range_root(lo, mid));
                lo = mid;
                known = false;
            }
        }
        if !known {
            proof.push(self.range_root(lo, hi));
        }
        proof.reverse();
        Ok(proof)
    }

    /// The bytes of a tile (C2SP tlog-tiles): `width` hashes, 1 to 256, of subtrees of
    /// `256^level` leaves; nothing where the tree does not have that many.
    #[must_use]
    pub fn tile(&self, level: u8, index: u64, width: u16) -> Option<Vec<u8>> {
        if width == 0 || width > TILE_WIDTH {
            return None;
        }
        let row = usize::from(level).checked_mul(usize::from(TILE_HEIGHT))?;
        let start = usize::try_from(index.checked_mul(u64::from(TILE_WIDTH))?).ok()?;
        let end = start.checked_add(usize::from(width))?;
        let hashes = self.levels.get(row)?.get(start..end)?;
        let mut bytes = Vec::with_capacity(hashes.len().saturating_mul(HASH_BYTES));
        for hash in hashes {
            bytes.extend_from_slice(&hash.0);
        }
        Some(bytes)
    }

    fn check_size(&self, asked: u64) -> Result<(), TreeError> {
        let size = self.size();
        if asked > size {
            return Err(TreeError::SizeBeyondTree { asked, size });
        }
        Ok(())
    }

    fn subtree(&self, level: u32, index: u64) -> Option<NodeHash> {
        self.levels
            .get(usize::try_from(level).ok()?)?
            .get(usize::try_from(index).ok()?)
            .copied()
    }

    /// The root over the leaves from `lo` to `hi`. `lo` is a multiple of the largest power of two
    /// in the range, which every split of RFC 6962 guarantees, and `hi` is within the tree.
    fn range_root(&self, lo: u64, hi: u64) -> NodeHash {
        let mut peaks = Vec::new();
        let mut at = lo;
        while let Some(level) = hi.saturating_sub(at).checked_ilog2() {
            let index = at.checked_shr(level).unwrap_or(0);
            let Some(hash) = self.subtree(level, index) else {
                // Not reachable while the two conditions above hold. A hash of nothing matches no
                // root, so that a mistake here is refused and not believed.
                return empty_root();
            };
            peaks.push(hash);
            at = at.saturating_add(1u64.checked_shl(level).unwrap_or(0));
        }
        fold_peaks(&peaks)
    }
}

/// The root over complete subtrees of falling size, given left to right.
pub(crate) fn fold_peaks(peaks: &[NodeHash]) -> NodeHash {
    let mut right_to_left = peaks.iter().rev();
    let Some(last) = right_to_left.next() else {
        return empty_root();
    };
    right_to_left.fold(*last, |right, left| node_hash(left, &right))
}

/// Where RFC 6962 splits a range of two or more leaves: after the largest power of two that is
/// smaller than its length.
fn split(lo: u64, hi: u64) -> u64 {
    let last = hi.saturating_sub(lo).saturating_sub(1);
    let left = last
        .checked_ilog2()
        .map_or(0, |level| 1u64.checked_shl(level).unwrap_or(0));
    lo.saturating_add(left)
}
