// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Ancile decides, and nothing else: the vocabulary, the class table, the algebra of
//! authority, the act tables and occupancy packing.
//!
//! This crate is pure: no clock, disk, network, randomness, serialisation framework, float or
//! async. Moments and random bytes come in as arguments; texts come in as opaque canonical bytes.

mod class;
mod coverage;
mod digest;
mod id;
mod name;
mod origin;
pub mod pack;
mod time;
mod value;

pub use class::AuthorityClass;
pub use coverage::{CanonicalValue, Coverage, Effect, Grant, Ground, SensitiveArg};
pub use digest::{Digest, RecordHash, Sha256Hash};
pub use id::{ApprovalId, EntryId, IdError, MandateId, PermitId, SessionId};
pub use name::{
    FieldName, NAME_BYTES_MAX, NameError, NamespaceName, PrincipalName, SourceName, TenantName,
    ToolName,
};
pub use origin::{
    Channel, ChannelGrant, EntryKind, LOCATOR_BYTES_MAX, Origin, OriginKey, Role, SourceState,
    class_of,
};
pub use time::Micros;
pub use value::{ArgKind, ProposedCall, VALUE_DEPTH_MAX, VALUE_NODES_MAX, Value};
