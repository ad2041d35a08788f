// SPDX-License-Identifier: MIT OR Apache-2.0
//! Digests, and the hash as a parameter so that graph logic can be tested with a toy one.

use crate::record::{Salt, content_commitment};
use core::fmt;
use sha2::{Digest as _, Sha256};

/// A 256-bit digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

/// Eight bytes of a digest spread as well as all of it; maps still compare the whole.
impl core::hash::Hash for Digest {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        let first = self.0.first_chunk::<8>();
        state.write_u64(first.map_or(0, |bytes| u64::from_le_bytes(*bytes)));
    }
}

impl Digest {
    /// SHA-256 (FIPS 180-4) of the bytes.
    #[must_use]
    pub fn sha256(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads 64 hexadecimal digits.
    #[must_use]
    pub fn parse_hex(text: &str) -> Option<Self> {
        let mut out = [0u8; 32];
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != out.len() || !rest.is_empty() {
            return None;
        }
        for (slot, [high, low]) in out.iter_mut().zip(pairs) {
            *slot = (crate::hex::value(*high)? << 4) | crate::hex::value(*low)?;
        }
        Some(Self(out))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::hex::write(&self.0, &[], f)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The hash under records. Production code uses [`Sha256Hash`]; tests of cycle logic inject a
/// toy hash in which cycles can be built.
pub trait RecordHash {
    /// Digest of the bytes.
    fn digest(&self, bytes: &[u8]) -> Digest;

    /// Digest of a record, and the commitment to a content.
    fn digest_with_content(&self, record: &[u8], content: (&Salt, &[u8])) -> (Digest, Digest) {
        (
            self.digest(record),
            content_commitment(content.0, content.1),
        )
    }
}

/// SHA-256 as a [`RecordHash`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Sha256Hash;

impl RecordHash for Sha256Hash {
    fn digest(&self, bytes: &[u8]) -> Digest {
        Digest::sha256(bytes)
    }
}
