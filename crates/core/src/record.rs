// SPDX-License-Identifier: MIT OR Apache-2.0
//! The derivation record: what the store itself writes down about where an entry came from.
//!
//! The byte table is in `docs/formats/record.md`. A record's hash is SHA-256 over `0x00` and its
//! encoding, which is also its leaf hash in the tenant's log (RFC 6962 section 2.1): the identity
//! of a record and its place in the log are one number.

mod leaf;
mod wire;

use crate::{
    AuthorityClass, Digest, EntryId, EntryKind, Micros, NamespaceName, Origin, PrincipalName,
    RecordHash, RootSet, SessionId, TenantName,
};
use core::fmt;
use sha2::{Digest as _, Sha256};

/// Most explicit parents of one entry.
pub const PARENTS_MAX: usize = 64;
/// Most screening rules listed in one record.
pub const RULES_MAX: usize = 16;
/// Longest rule id, in bytes.
pub const RULE_BYTES_MAX: usize = 64;
/// Longest encoding of a record, in bytes.
pub const RECORD_BYTES_MAX: usize = 65_535;
/// Length of the salt in a content commitment, in bytes.
pub const SALT_BYTES: usize = 16;

/// The salt of a content commitment; destroyed together with the content.
pub type Salt = [u8; SALT_BYTES];

/// What is hashed for a commitment begins with this.
const COMMITMENT_TAG: &[u8; 7] = b"ancile\x01";

/// The commitment to a content: SHA-256 over a domain tag, the salt and the bytes.
#[must_use]
pub fn content_commitment(salt: &Salt, content: &[u8]) -> Digest {
    let hash = Sha256::new_with_prefix(COMMITMENT_TAG);
    Digest(
        hash.chain_update(salt)
            .chain_update(content)
            .finalize()
            .into(),
    )
}

/// What an entry was derived from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parents {
    /// Root of the session's exposure log when the entry was written.
    pub exposure_root: Digest,
    /// Length of the exposure log then.
    pub exposure_len: u64,
    /// Hashes of records named as parents besides, sorted, each once.
    explicit: Vec<Digest>,
}

/// Why a list of parents was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentsRefusal {
    /// More than [`PARENTS_MAX`]; the field is how many.
    TooMany(usize),
    /// The same hash twice.
    Duplicate(Digest),
    /// No record of this tenant has this hash.
    Dangling(Digest),
    /// The record belongs to another tenant.
    ForeignTenant(Digest),
    /// The entry itself.
    SelfParent(Digest),
}

impl fmt::Display for ParentsRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany(n) => {
                write!(
                    f,
                    "{n} parents; limit is {PARENTS_MAX}; name the nearest ones"
                )
            }
            Self::Duplicate(d) => write!(f, "parent `{d}` is named twice; name it once"),
            Self::Dangling(d) => write!(f, "parent `{d}` is not in this tenant; recall it first"),
            Self::ForeignTenant(d) => {
                write!(
                    f,
                    "parent `{d}` belongs to another tenant; nothing crosses tenants"
                )
            }
            Self::SelfParent(d) => write!(f, "entry `{d}` names itself as parent; drop it"),
        }
    }
}

impl core::error::Error for ParentsRefusal {}

/// What a look-up says of a parent hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentFound {
    /// A record of the same tenant.
    Here,
    /// A record of another tenant.
    Elsewhere,
    /// The entry being written.
    Itself,
    /// Nothing.
    Nowhere,
}

impl Parents {
    /// Checks and takes a list of parents.
    ///
    /// # Errors
    /// [`ParentsRefusal`] for a dangling, self, duplicate or foreign-tenant parent, or too many.
    pub fn new(
        exposure: (Digest, u64),
        mut explicit: Vec<Digest>,
        found: &dyn Fn(&Digest) -> ParentFound,
    ) -> Result<Self, ParentsRefusal> {
        if explicit.len() > PARENTS_MAX {
            return Err(ParentsRefusal::TooMany(explicit.len()));
        }
        explicit.sort_unstable();
        for (a, b) in explicit.iter().zip(explicit.iter().skip(1)) {
            if a == b {
                return Err(ParentsRefusal::Duplicate(*a));
            }
        }
        for parent in &explicit {
            match found(parent) {
                ParentFound::Here => {}
                ParentFound::Elsewhere => return Err(ParentsRefusal::ForeignTenant(*parent)),
                ParentFound::Itself => return Err(ParentsRefusal::SelfParent(*parent)),
                ParentFound::Nowhere => return Err(ParentsRefusal::Dangling(*parent)),
            }
        }
        Ok(Self {
            exposure_root: exposure.0,
            exposure_len: exposure.1,
            explicit,
        })
    }

    /// The explicit parents, sorted.
    #[must_use]
    pub fn explicit(&self) -> &[Digest] {
        &self.explicit
    }
}

/// What screening said when the entry was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreeningNote {
    /// Version of the rule set.
    pub version: u32,
    /// Whether the text looks like an instruction; `None` when the detectors were off.
    pub instruction_like: Option<bool>,
    /// Whether the entry was quarantined at write.
    pub quarantined: bool,
    /// Ids of the rules that hit, sorted, at most [`RULES_MAX`].
    pub rules: Vec<Box<str>>,
}

/// The record of one entry. Every field is under its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivationRecord {
    /// The tenant.
    pub tenant: TenantName,
    /// The namespace.
    pub namespace: NamespaceName,
    /// The entry.
    pub id: EntryId,
    /// 1 for a new entry, one more than the entry it supersedes otherwise.
    pub version: u32,
    /// What the entry is for.
    pub kind: EntryKind,
    /// Where it came from.
    pub origin: Origin,
    /// Who wrote it: the user, or the agent on whose behalf the host wrote.
    pub author: PrincipalName,
    /// The session it was written in.
    pub session: Option<SessionId>,
    /// What it was derived from.
    pub parents: Parents,
    /// What its authority rests on.
    pub roots: RootSet,
    /// Its class at write.
    pub class: AuthorityClass,
    /// The policy epoch at write.
    pub policy_epoch: u64,
    /// The record hash of the entry this one supersedes.
    pub supersedes: Option<Digest>,
    /// Commitment to salt and content.
    pub commitment: Digest,
    /// What screening said.
    pub screening: ScreeningNote,
    /// When it was written.
    pub created: Micros,
    /// Not recalled nor fired before this moment.
    pub valid_from: Option<Micros>,
    /// Not recalled nor fired from this moment on.
    pub valid_until: Option<Micros>,
}

/// Why bytes are not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes end inside a field.
    Truncated,
    /// Bytes follow the last field.
    Trailing,
    /// The leaf kind or version byte is not one this version reads.
    Version(u8),
    /// A field holds a value outside its range; the text names the field.
    Field(&'static str),
    /// More than [`RECORD_BYTES_MAX`] bytes.
    TooLong(usize),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("record ends inside a field"),
            Self::Trailing => f.write_str("record has bytes after its last field"),
            Self::Version(v) => write!(f, "record version byte is {v}; this version reads 1"),
            Self::Field(name) => write!(f, "record field `{name}` is outside its range"),
            Self::TooLong(n) => write!(f, "record is {n} bytes; limit is {RECORD_BYTES_MAX}"),
        }
    }
}

impl core::error::Error for DecodeError {}

impl DerivationRecord {
    /// Whether a moment lies in the time it is valid for.
    #[must_use]
    pub fn is_valid_at(&self, moment: Micros) -> bool {
        self.valid_from.is_none_or(|from| moment >= from)
            && self.valid_until.is_none_or(|until| moment < until)
    }

    /// The canonical encoding.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads the canonical encoding; any other encoding of the same record is refused.
    ///
    /// # Errors
    /// [`DecodeError`] says what is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let record = wire::decode(bytes)?;
        if wire::encode(&record) == bytes {
            Ok(record)
        } else {
            Err(DecodeError::Field("order"))
        }
    }
}

/// The parts of an encoded record that lineage needs, borrowed from the bytes.
#[derive(Debug, Clone, Copy)]
pub struct RecordView<'a> {
    pub(crate) tenant: &'a [u8],
    pub(crate) session: Option<&'a [u8; 16]>,
    pub(crate) exposure_root: &'a [u8; 32],
    pub(crate) exposure_len: u64,
    pub(crate) explicit: &'a [[u8; 32]],
    pub(crate) class: AuthorityClass,
    pub(crate) commitment: &'a [u8; 32],
}

impl<'a> RecordView<'a> {
    /// Reads the lineage part of an encoded record without allocating.
    ///
    /// # Errors
    /// [`DecodeError`] says what is wrong with the bytes.
    pub fn of(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        wire::view(bytes)
    }

    /// The session it was written in.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.session.map(|id| SessionId::from_bytes(*id))
    }

    /// Root and length of the session's exposure log when it was written.
    #[must_use]
    pub fn exposure(&self) -> (Digest, u64) {
        (Digest(*self.exposure_root), self.exposure_len)
    }

    /// The parents that are named.
    pub fn explicit(&self) -> impl Iterator<Item = Digest> + use<'a> {
        self.explicit.iter().map(|hash| Digest(*hash))
    }

    /// The class at write.
    #[must_use]
    pub fn class(&self) -> AuthorityClass {
        self.class
    }

    /// The commitment to salt and content.
    #[must_use]
    pub fn commitment(&self) -> Digest {
        Digest(*self.commitment)
    }
}

/// The hash of an encoded record: SHA-256 over `0x00` and the encoding.
#[must_use]
pub fn record_hash(encoded: &[u8]) -> Digest {
    leaf::leaf_hash(encoded)
}

/// The hash under records in production.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordLeafHash;

impl RecordHash for RecordLeafHash {
    fn digest(&self, bytes: &[u8]) -> Digest {
        leaf::leaf_hash(bytes)
    }

    fn digest_with_content(&self, record: &[u8], content: (&Salt, &[u8])) -> (Digest, Digest) {
        leaf::with_content(record, content)
    }
}
