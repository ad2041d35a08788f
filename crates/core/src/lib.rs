// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Ancile decides, and nothing else: the vocabulary, the class table, the algebra of
//! authority, the act tables and occupancy packing.
//!
//! This crate is pure: no clock, disk, network, randomness, serialisation framework, float or
//! async. Moments and random bytes come in as arguments; texts come in as opaque canonical bytes.
//!
//! # Checks that are types
//!
//! A [`PermittedCall`] comes out of [`permit`] or [`permit_approved`] and nowhere else, an
//! [`IntactEntry`] out of [`verify`]. Their fields are private, so nobody outside mints one:
//!
//! ```compile_fail
//! use ancile_core::{Digest, Micros, PermitBinding, PermittedCall};
//! let none = Digest([0; 32]);
//! let binding = PermitBinding { call: none, manifest: none, policy_epoch: 0, session_root: none };
//! let forged = PermittedCall { binding, expires: Micros(i64::MAX) };
//! ```
//!
//! The same through the table compiles, and yields nothing for a cell that does not permit:
//!
//! ```
//! use ancile_core::{CallCell, Decision, Digest, Micros, PermitBinding, permit};
//! let none = Digest([0; 32]);
//! let binding = PermitBinding { call: none, manifest: none, policy_epoch: 0, session_root: none };
//! let cell = CallCell { decision: Decision::Deny, mandate: None };
//! assert!(permit(&cell, binding, Micros(0)).is_none());
//! ```
//!
//! ```compile_fail
//! use ancile_core::{AuthorityClass, Digest, IntactEntry};
//! let forged = IntactEntry { hash: Digest([0; 32]), class: AuthorityClass::UserAuthored };
//! ```
//!
//! ```
//! use ancile_core::{AuthorityClass, Digest, IntactEntry};
//! fn class_of_a_verified_entry(entry: IntactEntry) -> (Digest, AuthorityClass) {
//!     (entry.hash(), entry.class())
//! }
//! ```

mod act;
mod class;
mod coverage;
mod digest;
mod hex;
mod id;
mod lineage;
mod name;
mod origin;
pub mod pack;
mod record;
mod root;
mod time;
mod value;

pub use act::{
    CallCell, CallFacts, Decision, EntryEffect, Fire, FireCell, PERMIT_SECONDS, PermitBinding,
    PermittedCall, RedeemRefusal, SessionMode, call, fire, grounded, permit, permit_approved,
};
pub use class::AuthorityClass;
pub use coverage::{CanonicalValue, Coverage, Effect, Grant, Ground, SensitiveArg};
pub use digest::{Digest, RecordHash, Sha256Hash};
pub use id::{ApprovalId, EntryId, IdError, MandateId, PermitId, SessionId};
pub use lineage::{
    ANCESTORS_MAX, Broken, IntactEntry, IntactMemo, Lineage, RecordSource, verify, verify_record,
};
pub use name::{
    FieldName, NAME_BYTES_MAX, NameError, NamespaceName, PrincipalName, SourceName, TenantName,
    ToolName,
};
pub use origin::{
    Channel, ChannelGrant, EntryKind, LOCATOR_BYTES_MAX, Origin, OriginKey, Role, SourceState,
    class_of,
};
pub use record::{
    DecodeError, DerivationRecord, PARENTS_MAX, ParentFound, Parents, ParentsRefusal,
    RECORD_BYTES_MAX, RULE_BYTES_MAX, RULES_MAX, RecordLeafHash, RecordView, SALT_BYTES, Salt,
    ScreeningNote, content_commitment, record_hash,
};
pub use root::{PolicyView, ROOTS_MAX, RootSet, SourceField, TrustRoot, TrustedRoots};
pub use time::Micros;
pub use value::{ArgKind, ProposedCall, VALUE_DEPTH_MAX, VALUE_NODES_MAX, Value};
