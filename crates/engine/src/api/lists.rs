// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lists of sessions, namespaces, principals and tenants show, what an erasure did, and proofs
//! over the logs.

use ancile_core::{
    AuthorityClass, Digest, EntryId, EntryKind, Micros, NamespaceName, PrincipalName, Role,
    SessionId, TenantName,
};

/// Which part of a list: everything after a cursor that an earlier page gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSpec<'a> {
    /// Where the page starts; `None` at the beginning.
    pub cursor: Option<&'a str>,
    /// Most items, from 1 to [`super::PAGE_MAX`].
    pub limit: usize,
}

/// A namespace as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceView {
    /// Its name.
    pub name: NamespaceName,
    /// Whether the key may read it.
    pub reads: bool,
    /// Whether the key may write it.
    pub writes: bool,
    /// Who may read and who may write it, for an operator; an empty list is every key that
    /// reaches it.
    pub lists: Option<(Vec<PrincipalName>, Vec<PrincipalName>)>,
}

/// A principal as the keys of its tenant know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrincipalView {
    /// Its name.
    pub name: PrincipalName,
    /// The roles that its keys have or had.
    pub roles: Vec<Role>,
    /// Keys that were made for it.
    pub keys: u32,
    /// Of these, the keys that work now.
    pub working: u32,
}

/// A tenant as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantView {
    /// Its name.
    pub name: TenantName,
    /// Its namespaces.
    pub namespaces: u32,
    /// Its entries.
    pub entries: u64,
}

/// An entry that was derived from one that was erased. It is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descendant {
    /// The entry.
    pub id: EntryId,
    /// Its record hash.
    pub hash: Digest,
    /// What it is for.
    pub kind: EntryKind,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Its class at write.
    pub class_at_write: AuthorityClass,
}

/// What an erasure did, and what is left of the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// The entry.
    pub id: EntryId,
    /// Its record hash; the record stays.
    pub hash: Digest,
    /// When it was erased.
    pub at: Micros,
    /// What was derived from it, however far, oldest first; at most 256, and only what the caller
    /// can see. It is kept; erase it by itself.
    pub descendants: Vec<Descendant>,
    /// The number of descendants that the caller can see.
    pub descendants_total: u64,
    /// Sessions that were open and kept its text; they are closed.
    pub sessions_closed: Vec<SessionId>,
}

/// The most that may be kept in a namespace, of a principal, or of one in the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaSpec {
    /// The namespace; `None`: all of them.
    pub namespace: Option<NamespaceName>,
    /// The principal that wrote; `None`: all of them.
    pub principal: Option<PrincipalName>,
    /// Most entries; `None`: no limit.
    pub entries: Option<u64>,
    /// Most bytes of contents; `None`: no limit. Without either limit there is no quota.
    pub bytes: Option<u64>,
}

/// A quota, and what is kept under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaView {
    /// The quota.
    pub spec: QuotaSpec,
    /// Entries that are kept.
    pub used_entries: u64,
    /// Bytes of their contents.
    pub used_bytes: u64,
    /// Of the entries, those of class 4, which can be evicted.
    pub untrusted_entries: u64,
}

/// The part of a tenant's log that a consistency proof speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvenLog {
    /// The heads log, whose leaves are groups.
    Heads,
    /// The log of the caller's tenant, whose leaves are records and events.
    Tenant,
}
