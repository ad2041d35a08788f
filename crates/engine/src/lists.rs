// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists of what a tenant has: sessions, namespaces, principals, and the tenants themselves. Each
//! page starts at a key, so that what is made or ended meanwhile moves nothing.

use crate::admin::operator;
use crate::api::{NamespaceView, Page, PageSpec, PrincipalView, SessionView, TenantView};
use crate::read::{bad_cursor, page};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::state::Key;
use crate::step::view;
use crate::turn::{Turn, forbidden};
use ancile_core::{NamespaceName, PrincipalName, Role, SessionId, TenantName};
use std::collections::BTreeMap;

/// Whether a key sees a session: its own principal opened it or is its user, or an operator's.
pub(crate) fn sees(key: &Key, session: &Session) -> bool {
    let who = &key.spec.principal;
    session.host == *who || session.spec.user == *who || key.spec.role == Role::Operator
}

/// The sessions that a key sees, newest first.
pub(crate) fn sessions(
    turn: &Turn<'_>,
    key: &Key,
    part: PageSpec<'_>,
) -> Result<Page<SessionView>, Refusal> {
    let tenant = turn.tenant(&key.tenant)?;
    let after = read(part.cursor, |text| SessionId::parse(text).ok())?;
    let rows = tenant.sessions.iter().rev();
    let rows = rows.filter(|(id, _)| after.is_none_or(|a| **id < a));
    let seen = rows.filter(|(_, session)| sees(key, session));
    Ok(page(
        seen.map(|(_, session)| view(session, tenant)),
        part.limit,
        |v| v.id.to_string(),
    ))
}

/// All namespaces for an operator, for others those that the key was made for; in order of name.
pub(crate) fn namespaces(
    turn: &Turn<'_>,
    key: &Key,
    part: PageSpec<'_>,
) -> Result<Page<NamespaceView>, Refusal> {
    let tenant = turn.tenant(&key.tenant)?;
    let after = read(part.cursor, |text| NamespaceName::new(text).ok())?;
    let all = key.spec.role == Role::Operator;
    let rows = tenant.namespaces.iter();
    let rows = rows.filter(|(name, _)| after.as_ref().is_none_or(|a| *name > a));
    let seen = rows.filter(|(name, _)| all || key.spec.namespaces.contains(name));
    let views = seen.map(|(name, namespace)| NamespaceView {
        name: name.clone(),
        reads: turn.reach(key, name, false).is_ok(),
        writes: key.spec.role != Role::Operator && turn.reach(key, name, true).is_ok(),
        lists: all.then(|| (namespace.readers.clone(), namespace.writers.clone())),
    });
    Ok(page(views, part.limit, |v| v.name.to_string()))
}

/// The principals that keys were made for, in order of name.
pub(crate) fn principals(
    turn: &Turn<'_>,
    key: &Key,
    part: PageSpec<'_>,
) -> Result<Page<PrincipalView>, Refusal> {
    operator(key, "list principals")?;
    let after = read(part.cursor, |text| PrincipalName::new(text).ok())?;
    let mut found: BTreeMap<PrincipalName, PrincipalView> = BTreeMap::new();
    let keys = turn.core.state.keys.values();
    for other in keys.filter(|k| k.tenant == key.tenant) {
        let name = &other.spec.principal;
        let view = found.entry(name.clone()).or_insert_with(|| PrincipalView {
            name: name.clone(),
            roles: Vec::new(),
            keys: 0,
            working: 0,
        });
        if !view.roles.contains(&other.spec.role) {
            view.roles.push(other.spec.role);
            view.roles.sort_by_key(|role| role.name());
        }
        view.keys = view.keys.saturating_add(1);
        if other.works_at(turn.now) {
            view.working = view.working.saturating_add(1);
        }
    }
    let rows = found.into_iter();
    let rows = rows.filter(|(name, _)| after.as_ref().is_none_or(|a| name > a));
    Ok(page(rows.map(|(_, view)| view), part.limit, |v| {
        v.name.to_string()
    }))
}

/// The tenants, in order of name, for the first one's operator.
pub(crate) fn tenants(
    turn: &Turn<'_>,
    key: &Key,
    part: PageSpec<'_>,
) -> Result<Page<TenantView>, Refusal> {
    operator(key, "list tenants")?;
    if turn.core.state.first.as_ref() != Some(&key.tenant) {
        return Err(forbidden(
            "list tenants",
            "the key of the first tenant's operator",
        ));
    }
    let after = read(part.cursor, |text| TenantName::new(text).ok())?;
    let rows = turn.core.state.tenants.iter();
    let rows = rows.filter(|(name, _)| after.as_ref().is_none_or(|a| *name > a));
    let views = rows.map(|(name, tenant)| TenantView {
        name: name.clone(),
        namespaces: u32::try_from(tenant.namespaces.size()).unwrap_or(u32::MAX),
        entries: tenant.count(),
    });
    Ok(page(views, part.limit, |v| v.name.to_string()))
}

/// Reads a cursor.
pub(crate) fn read<T>(
    cursor: Option<&str>,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    match cursor {
        None => Ok(None),
        Some(text) => parse(text).map(Some).ok_or_else(bad_cursor),
    }
}
