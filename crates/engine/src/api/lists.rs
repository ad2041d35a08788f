// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lists of sessions, namespaces, principals and tenants show, how the store stands for an
//! operator, and proofs over the logs.

use ancile_core::{NamespaceName, PrincipalName, Role, TenantName};

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

/// The part of a tenant's log that a consistency proof speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvenLog {
    /// The heads log, whose leaves are groups.
    Heads,
    /// The log of the caller's tenant, whose leaves are records and events.
    Tenant,
}
