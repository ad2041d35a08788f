// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Ancile decides, and nothing else: the vocabulary, the class table, the algebra of
//! authority, the act tables and occupancy packing.
//!
//! This crate is pure: no clock, disk, network, randomness, serialisation framework, float or
//! async. Moments and random bytes come in as arguments; texts come in as opaque canonical bytes.

mod act;
mod class;
mod coverage;
mod digest;
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
