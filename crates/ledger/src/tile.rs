// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tiles and entry bundles (C2SP tlog-tiles).

use crate::hash::{HASH_BYTES, LEAF_BYTES_MAX, NodeHash};

/// Hashes in a full tile, and leaves in a full entry bundle.
pub const TILE_WIDTH: u16 = 256;

/// Levels of the tree that one tile spans: 2^8 = 256.
pub const TILE_HEIGHT: u8 = 8;

/// Largest entry bundle in bytes: 256 leaves of the largest size, each with its length.
pub const BUNDLE_BYTES_MAX: usize = 256 * (2 + LEAF_BYTES_MAX);

/// The path of a tile below the log's prefix, such as `tile/0/x001/234.p/5`.
///
/// A `width` of 1 to 255 names a partial tile, any other the full one.
#[must_use]
pub fn tile_path(level: u8, index: u64, width: u16) -> String {
    format!("tile/{level}/{}", index_path(index, width))
}

/// The path of an entry bundle below the log's prefix, such as `tile/entries/x001/234.p/5`.
///
/// A `width` of 1 to 255 names a partial bundle, any other the full one.
#[must_use]
pub fn entries_path(index: u64, width: u16) -> String {
    format!("tile/entries/{}", index_path(index, width))
}

/// The index in groups of three digits, all but the last with an `x`, then the width if partial.
fn index_path(index: u64, width: u16) -> String {
    let mut path = format!("{:03}", index % 1000);
    let mut rest = index / 1000;
    while rest > 0 {
        path = format!("x{:03}/{path}", rest % 1000);
        rest /= 1000;
    }
    if (1..TILE_WIDTH).contains(&width) {
        path.push_str(&format!(".p/{width}"));
    }
    path
}

/// Why bytes are not a tile or an entry bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TileError {
    /// A leaf body is too long for an entry bundle.
    #[error("leaf body is {bytes} bytes; limit is {LEAF_BYTES_MAX}; split what it says")]
    LeafTooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// More leaves than a bundle holds.
    #[error("entry bundle has more than {TILE_WIDTH} leaves; begin the next one")]
    TooManyLeaves,
    /// The bundle ends inside a leaf or its length.
    #[error("entry bundle ends inside leaf {at}; take the bundle from the log again")]
    BundleCut {
        /// Position of the leaf in the bundle.
        at: usize,
    },
    /// A tile that is empty, too long or not whole hashes.
    #[error("tile is {bytes} bytes; it must be 1 to {TILE_WIDTH} hashes of {HASH_BYTES} bytes")]
    TileLength {
        /// Its length in bytes.
        bytes: usize,
    },
}

/// Writes leaf bodies as an entry bundle: each after its length in two bytes, big endian.
///
/// # Errors
/// [`TileError::LeafTooLong`], [`TileError::TooManyLeaves`].
pub fn encode_bundle<B: AsRef<[u8]>>(leaves: &[B]) -> Result<Vec<u8>, TileError> {
    if leaves.len() > usize::from(TILE_WIDTH) {
        return Err(TileError::TooManyLeaves);
    }
    let mut bytes = Vec::new();
    for leaf in leaves {
        push_leaf(&mut bytes, leaf.as_ref())?;
    }
    Ok(bytes)
}

/// Adds one leaf body to the bytes of a bundle.
pub(crate) fn push_leaf(bundle: &mut Vec<u8>, body: &[u8]) -> Result<(), TileError> {
    let length =
        u16::try_from(body.len()).map_err(|_| TileError::LeafTooLong { bytes: body.len() })?;
    bundle.extend_from_slice(&length.to_be_bytes());
    bundle.extend_from_slice(body);
    Ok(())
}

/// Reads an entry bundle.
///
/// # Errors
/// [`TileError::BundleCut`], [`TileError::TooManyLeaves`].
pub fn decode_bundle(bytes: &[u8]) -> Result<Vec<&[u8]>, TileError> {
    let mut leaves = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        if leaves.len() == usize::from(TILE_WIDTH) {
            return Err(TileError::TooManyLeaves);
        }
        let cut = TileError::BundleCut { at: leaves.len() };
        let (length, after) = rest.split_first_chunk::<2>().ok_or(cut)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (leaf, after) = after.split_at_checked(length).ok_or(cut)?;
        leaves.push(leaf);
        rest = after;
    }
    Ok(leaves)
}

/// Writes hashes as a tile.
#[must_use]
pub fn encode_tile(hashes: &[NodeHash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| hash.0).collect()
}

/// Reads a tile of 1 to 256 hashes.
///
/// # Errors
/// [`TileError::TileLength`].
pub fn decode_tile(bytes: &[u8]) -> Result<Vec<NodeHash>, TileError> {
    let (hashes, rest) = bytes.as_chunks::<HASH_BYTES>();
    if hashes.is_empty() || hashes.len() > usize::from(TILE_WIDTH) || !rest.is_empty() {
        return Err(TileError::TileLength { bytes: bytes.len() });
    }
    Ok(hashes.iter().copied().map(NodeHash).collect())
}
