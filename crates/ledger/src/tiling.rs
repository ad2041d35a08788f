// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cuts a stream of leaves into tiles, holding one tile a level.

use crate::frontier::Frontier;
use crate::hash::NodeHash;
use crate::tile::TILE_WIDTH;

/// A finished tile of a [`Tiling`].
pub(crate) struct Tile<'a> {
    pub(crate) level: u8,
    pub(crate) index: u64,
    pub(crate) hashes: &'a [NodeHash],
}

impl Tile<'_> {
    /// The number of hashes, 1 to 256.
    pub(crate) fn width(&self) -> u16 {
        u16::try_from(self.hashes.len()).unwrap_or(TILE_WIDTH)
    }
}

#[derive(Default)]
struct Level {
    index: u64,
    hashes: Vec<NodeHash>,
}

/// The unfinished tiles at the right edge of a growing log.
#[derive(Default)]
pub(crate) struct Tiling {
    levels: Vec<Level>,
    frontier: Frontier,
}

impl Tiling {
    /// Adds a leaf; `full` is given each tile that it fills.
    pub(crate) fn push<E>(
        &mut self,
        leaf: NodeHash,
        full: &mut dyn FnMut(&Tile<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.frontier.push(leaf);
        let mut hash = leaf;
        for level in 0..u8::MAX {
            if self.levels.len() <= usize::from(level) {
                self.levels.push(Level::default());
            }
            let Some(Level { index, hashes }) = self.levels.get_mut(usize::from(level)) else {
                break;
            };
            hashes.push(hash);
            if hashes.len() < usize::from(TILE_WIDTH) {
                break;
            }
            full(&Tile {
                level,
                index: *index,
                hashes,
            })?;
            let mut above = Frontier::new();
            hashes.drain(..).for_each(|h| above.push(h));
            hash = above.root();
            *index = index.saturating_add(1);
        }
        Ok(())
    }

    /// Gives the tiles that are not full, lowest level first.
    pub(crate) fn finish<E>(
        &self,
        partial: &mut dyn FnMut(&Tile<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (level, Level { index, hashes }) in (0..u8::MAX).zip(&self.levels) {
            if !hashes.is_empty() {
                partial(&Tile {
                    level,
                    index: *index,
                    hashes,
                })?;
            }
        }
        Ok(())
    }

    /// The number of leaves.
    pub(crate) const fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// The root over them.
    pub(crate) fn root(&self) -> NodeHash {
        self.frontier.root()
    }
}
