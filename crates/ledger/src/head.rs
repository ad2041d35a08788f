// SPDX-License-Identifier: MIT OR Apache-2.0
//! The heads of tenant logs, and the leaf of the heads log that binds them.

use crate::frontier::Frontier;
use crate::hash::{HASH_BYTES, NodeHash, leaf_hash};

/// Longest tenant name in bytes.
pub const TENANT_BYTES_MAX: usize = 64;

/// Size of an encoded [`GroupHead`] in bytes.
pub const GROUP_HEAD_BYTES: usize = 58;

/// Format version of both heads.
pub const HEAD_VERSION: u8 = 1;

/// First byte of a group head. Leaves of tenant logs begin with 1 or 2, so that no leaf of one
/// kind of log can be read as one of another.
const GROUP_HEAD_KIND: u8 = 3;
const TENANT_HEAD_KIND: u8 = 4;

/// Why bytes are not a head, or heads not a set of heads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// The bytes begin with another kind.
    #[error("head does not begin with byte {expected}; the bytes are of another kind")]
    Kind {
        /// The byte it should begin with.
        expected: u8,
    },
    /// A version this build does not read.
    #[error("head has format version {found}; this build reads {HEAD_VERSION}; use a newer one")]
    Version {
        /// The version it says.
        found: u8,
    },
    /// Too few or too many bytes.
    #[error("head is {bytes} bytes, which is not the length of its kind; the log is damaged")]
    Length {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The tenant's name is empty or too long.
    #[error("tenant name is {bytes} bytes; give 1 to {TENANT_BYTES_MAX}")]
    NameLength {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The tenant's name is not UTF-8.
    #[error("tenant name is not UTF-8; the log is damaged")]
    NameEncoding,
    /// Tenant heads are not in the order of their names, or one comes twice.
    #[error("tenant head {at} does not come after the one before it; sort by name, each once")]
    Unordered {
        /// Its position in the list.
        at: u64,
    },
}

/// Where one tenant's log stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantHead {
    /// The tenant's name, 1 to [`TENANT_BYTES_MAX`] bytes.
    pub tenant: String,
    /// The number of leaves.
    pub size: u64,
    /// The root over them.
    pub root: NodeHash,
    /// The chain over the control leaves among them ([`crate::ControlChain`]).
    pub control: [u8; HASH_BYTES],
}

impl TenantHead {
    /// The bytes that are hashed into `heads_root`.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![TENANT_HEAD_KIND, HEAD_VERSION];
        bytes.extend_from_slice(&self.size.to_be_bytes());
        bytes.extend_from_slice(&self.root.0);
        bytes.extend_from_slice(&self.control);
        bytes.extend_from_slice(self.tenant.as_bytes());
        bytes
    }

    /// Reads what [`Self::encode`] writes, and nothing else.
    ///
    /// # Errors
    /// [`HeadError`] says what is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeadError> {
        let cut = HeadError::Length { bytes: bytes.len() };
        let rest = open(bytes, TENANT_HEAD_KIND)?;
        let (size, rest) = rest.split_first_chunk().ok_or(cut.clone())?;
        let (root, rest) = rest.split_first_chunk().ok_or(cut.clone())?;
        let (control, name) = rest.split_first_chunk().ok_or(cut)?;
        check_name(name)?;
        Ok(Self {
            tenant: String::from_utf8(name.to_vec()).map_err(|_| HeadError::NameEncoding)?,
            size: u64::from_be_bytes(*size),
            root: NodeHash(*root),
            control: *control,
        })
    }
}

/// One committed group: a leaf of the heads log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupHead {
    /// The group's number, from 0: the index of this leaf.
    pub group: u64,
    /// The witness epoch; it never falls.
    pub epoch: u64,
    /// The number of tenants.
    pub tenants: u64,
    /// The root over their heads ([`heads_root`]).
    pub heads_root: NodeHash,
}

impl GroupHead {
    /// The leaf body.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(GROUP_HEAD_BYTES);
        bytes.extend_from_slice(&[GROUP_HEAD_KIND, HEAD_VERSION]);
        bytes.extend_from_slice(&self.group.to_be_bytes());
        bytes.extend_from_slice(&self.epoch.to_be_bytes());
        bytes.extend_from_slice(&self.tenants.to_be_bytes());
        bytes.extend_from_slice(&self.heads_root.0);
        bytes
    }

    /// Reads what [`Self::encode`] writes, and nothing else.
    ///
    /// # Errors
    /// [`HeadError`] says what is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeadError> {
        let cut = HeadError::Length { bytes: bytes.len() };
        let rest = open(bytes, GROUP_HEAD_KIND)?;
        let (group, rest) = rest.split_first_chunk().ok_or(cut.clone())?;
        let (epoch, rest) = rest.split_first_chunk().ok_or(cut.clone())?;
        let (tenants, rest) = rest.split_first_chunk().ok_or(cut.clone())?;
        let root: [u8; HASH_BYTES] = rest.try_into().map_err(|_| cut)?;
        Ok(Self {
            group: u64::from_be_bytes(*group),
            epoch: u64::from_be_bytes(*epoch),
            tenants: u64::from_be_bytes(*tenants),
            heads_root: NodeHash(root),
        })
    }

    /// The hash of the leaf.
    #[must_use]
    pub fn leaf(&self) -> NodeHash {
        leaf_hash(&self.encode())
    }
}

/// The RFC 6962 root over the encoded heads of all tenants, given in ascending byte order of
/// their names.
///
/// # Errors
/// [`HeadError::Unordered`], [`HeadError::NameLength`].
pub fn heads_root<'a>(
    heads: impl IntoIterator<Item = &'a TenantHead>,
) -> Result<NodeHash, HeadError> {
    let mut tree = Frontier::new();
    let mut before: Option<&str> = None;
    for head in heads {
        check_name(head.tenant.as_bytes())?;
        if before.is_some_and(|name| name >= head.tenant.as_str()) {
            return Err(HeadError::Unordered { at: tree.size() });
        }
        before = Some(&head.tenant);
        tree.push(leaf_hash(&head.encode()));
    }
    Ok(tree.root())
}

fn open(bytes: &[u8], kind: u8) -> Result<&[u8], HeadError> {
    match bytes {
        [found, HEAD_VERSION, rest @ ..] if *found == kind => Ok(rest),
        [found, version, ..] if *found == kind => Err(HeadError::Version { found: *version }),
        [found] if *found == kind => Err(HeadError::Length { bytes: 1 }),
        _ => Err(HeadError::Kind { expected: kind }),
    }
}

fn check_name(name: &[u8]) -> Result<(), HeadError> {
    if name.is_empty() || name.len() > TENANT_BYTES_MAX {
        return Err(HeadError::NameLength { bytes: name.len() });
    }
    Ok(())
}
