// SPDX-License-Identifier: MIT OR Apache-2.0
//! SHA-256 of a record's leaf. Lineage hashes many short records, and feeding, padding and closing
//! a general hasher costs a third again of what compressing them does; so a short leaf is laid out
//! at once, as FIPS 180-4 section 5.1.1 pads it. Tests hold it to the general hasher.

#[cfg(test)]
mod tests;

use crate::Digest;
use sha2::block_api::compress256;
use sha2::{Digest as _, Sha256};

/// Longest encoding that is laid out at once, in bytes: four blocks, less the leaf prefix, the
/// padding's one byte and its length field.
const SHORT_BYTES_MAX: usize = 4 * 64 - 1 - 1 - 8;

/// The state that SHA-256 begins with (FIPS 180-4 section 5.3.3).
const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// SHA-256 over `0x00` and the bytes (RFC 6962 section 2.1).
pub(super) fn leaf_hash(bytes: &[u8]) -> Digest {
    short(bytes).unwrap_or_else(|| general(bytes))
}

fn general(bytes: &[u8]) -> Digest {
    let hash = Sha256::new_with_prefix([0u8]).chain_update(bytes);
    Digest(hash.finalize().into())
}

/// The same of at most [`SHORT_BYTES_MAX`] bytes; nothing of more.
fn short(bytes: &[u8]) -> Option<Digest> {
    if bytes.len() > SHORT_BYTES_MAX {
        return None;
    }
    let end = bytes.len().checked_add(1)?;
    let bits = u64::try_from(end.checked_mul(8)?).ok()?;
    let mut blocks = [[0u8; 64]; 4];
    let used = blocks.get_mut(..end.checked_add(9)?.div_ceil(64))?;
    let flat = used.as_flattened_mut();
    flat.get_mut(1..end)?.copy_from_slice(bytes);
    *flat.get_mut(end)? = 0x80;
    *flat.last_chunk_mut()? = bits.to_be_bytes();
    let mut state = INITIAL;
    compress256(&mut state, used);
    let mut digest = [0u8; 32];
    for (chunk, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
        *chunk = word.to_be_bytes();
    }
    Some(Digest(digest))
}
