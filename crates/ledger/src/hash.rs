// SPDX-License-Identifier: MIT OR Apache-2.0
//! Node hashes (RFC 6962 section 2.1; RFC 9162 section 2.1.1) and the control chain.

use core::fmt;
use sha2::{Digest as _, Sha256};

/// Size of a node hash in bytes.
pub const HASH_BYTES: usize = 32;

/// Largest leaf body in bytes: what the 16-bit length of a C2SP entry bundle can say.
pub const LEAF_BYTES_MAX: usize = 65_535;

const LEAF_PREFIX: u8 = 0;
const NODE_PREFIX: u8 = 1;
const CONTROL_PREFIX: u8 = 2;

/// The hash of a leaf or of a subtree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeHash(pub [u8; HASH_BYTES]);

impl fmt::Display for NodeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for NodeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Hashes a leaf body: SHA-256(0x00 || body).
///
/// It hashes any length; what may enter a log ends at [`LEAF_BYTES_MAX`].
#[must_use]
pub fn leaf_hash(body: &[u8]) -> NodeHash {
    let mut hash = Sha256::new();
    hash.update([LEAF_PREFIX]);
    hash.update(body);
    NodeHash(hash.finalize().into())
}

/// Hashes an inner node: SHA-256(0x01 || left || right).
#[must_use]
pub fn node_hash(left: &NodeHash, right: &NodeHash) -> NodeHash {
    let mut hash = Sha256::new();
    hash.update([NODE_PREFIX]);
    hash.update(left.0);
    hash.update(right.0);
    NodeHash(hash.finalize().into())
}

/// The root of the tree without leaves: SHA-256 of nothing.
#[must_use]
pub fn empty_root() -> NodeHash {
    NodeHash(Sha256::digest([]).into())
}

/// A running hash over the control leaves of one tenant log, so that the list of them can be
/// checked without the rest of the log.
///
/// It begins as 32 zero bytes; each control leaf makes it SHA-256(0x02 || chain || leaf hash).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ControlChain([u8; HASH_BYTES]);

impl ControlChain {
    /// The chain before the first control leaf.
    #[must_use]
    pub const fn new() -> Self {
        Self([0; HASH_BYTES])
    }

    /// The chain that a tenant head says.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; HASH_BYTES]) -> Self {
        Self(bytes)
    }

    /// Adds the next control leaf.
    pub fn push(&mut self, leaf: &NodeHash) {
        let mut hash = Sha256::new();
        hash.update([CONTROL_PREFIX]);
        hash.update(self.0);
        hash.update(leaf.0);
        self.0 = hash.finalize().into();
    }

    /// The 32 bytes for a tenant head.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; HASH_BYTES] {
        &self.0
    }
}

/// What a leaf of a tenant log is: its body's first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeafKind {
    /// A derivation record (1).
    Record,
    /// A control event (2).
    Control,
}

impl LeafKind {
    /// The byte that opens the body.
    #[must_use]
    pub const fn byte(self) -> u8 {
        match self {
            Self::Record => 1,
            Self::Control => 2,
        }
    }

    /// The kind of a body; nothing for an empty body or another byte.
    #[must_use]
    pub fn of(body: &[u8]) -> Option<Self> {
        match body.first() {
            Some(1) => Some(Self::Record),
            Some(2) => Some(Self::Control),
            _ => None,
        }
    }
}
