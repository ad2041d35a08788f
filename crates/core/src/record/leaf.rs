// SPDX-License-Identifier: MIT OR Apache-2.0
//! SHA-256 of a record's leaf. Lineage hashes many short records, and feeding, padding and closing
//! a general hasher costs a third again of what compressing them does; so a short leaf is laid out
//! at once, as FIPS 180-4 section 5.1.1 pads it. Tests hold it to the general hasher.

#[cfg(test)]
mod tests;

use super::{COMMITMENT_TAG, SALT_BYTES, Salt, content_commitment};
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
    let mut blocks = [[0u8; 64]; 4];
    let blocks = lay_out(bytes, &mut blocks)?;
    let mut state = INITIAL;
    compress256(&mut state, blocks);
    Some(digest_of(state))
}

/// A leaf and a commitment to a content ([`content_commitment`]).
pub(super) fn with_content(bytes: &[u8], content: (&Salt, &[u8])) -> (Digest, Digest) {
    let (salt, text) = content;
    in_turn(bytes, content).unwrap_or_else(|| (leaf_hash(bytes), content_commitment(salt, text)))
}

/// The same of a short leaf and a content that fills the first block: a block of one and a block
/// of the other in turn. Each block waits for the one before it of its own message, so the
/// processor works on two messages in little more than the time of one.
fn in_turn(bytes: &[u8], (salt, content): (&Salt, &[u8])) -> Option<(Digest, Digest)> {
    let mut blocks = [[0u8; 64]; 4];
    let leaf = lay_out(bytes, &mut blocks)?;
    let (head, rest) = content.split_at_checked(HEAD_BYTES)?;
    let mut first = [0u8; 64];
    let (tag, salted) = first.split_at_mut_checked(COMMITMENT_TAG.len())?;
    tag.copy_from_slice(COMMITMENT_TAG);
    let (place, text) = salted.split_at_mut_checked(SALT_BYTES)?;
    place.copy_from_slice(salt);
    text.copy_from_slice(head);
    let (whole, tail) = rest.as_chunks();
    let mut last = [[0u8; 64]; 2];
    let last = pad(tail, 0, first.len().checked_add(rest.len())?, &mut last)?;
    let (mut of_leaf, mut of_content) = (INITIAL, INITIAL);
    compress256(&mut of_content, &[first]);
    let mut whole = whole.iter();
    for block in leaf {
        compress256(&mut of_leaf, core::slice::from_ref(block));
        if let Some(block) = whole.next() {
            compress256(&mut of_content, core::slice::from_ref(block));
        }
    }
    compress256(&mut of_content, whole.as_slice());
    compress256(&mut of_content, last);
    Some((digest_of(of_leaf), digest_of(of_content)))
}

/// Bytes of a content in the first block of its commitment.
const HEAD_BYTES: usize = 64 - COMMITMENT_TAG.len() - SALT_BYTES;

/// Lays a short leaf out in blocks.
fn lay_out<'a>(bytes: &[u8], blocks: &'a mut [[u8; 64]; 4]) -> Option<&'a [[u8; 64]]> {
    if bytes.len() > SHORT_BYTES_MAX {
        return None;
    }
    pad(bytes, 1, bytes.len().checked_add(1)?, blocks)
}

/// Lays out and pads the end of a message of `length` bytes: `bytes` after `at` bytes of zero.
fn pad<'a>(
    bytes: &[u8],
    at: usize,
    length: usize,
    blocks: &'a mut [[u8; 64]],
) -> Option<&'a [[u8; 64]]> {
    let bits = u64::try_from(length.checked_mul(8)?).ok()?;
    let end = at.checked_add(bytes.len())?;
    let used = blocks.get_mut(..end.checked_add(9)?.div_ceil(64))?;
    let flat = used.as_flattened_mut();
    flat.get_mut(at..end)?.copy_from_slice(bytes);
    *flat.get_mut(end)? = 0x80;
    *flat.last_chunk_mut()? = bits.to_be_bytes();
    Some(used)
}

fn digest_of(state: [u32; 8]) -> Digest {
    let mut digest = [0u8; 32];
    for (chunk, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
        *chunk = word.to_be_bytes();
    }
    Digest(digest)
}
