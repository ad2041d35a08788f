// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quotas: room is made by evicting class 4, oldest first; what no eviction makes room for is
//! refused, so that nothing of class 1 to 3 ever goes for the sake of something else.

use crate::admin::operator;
use crate::api::{EVICTIONS_MAX, Page, PageSpec, QuotaSpec, QuotaView};
use crate::core::{Core, down, place_of};
use crate::event::Event;
use crate::lists::read;
use crate::read::page;
use crate::refusal::{Fault, Refusal};
use crate::state::{Key, Most, Piece, Scope, whose};
use crate::turn::{Turn, not_found};
use ancile_core::{AuthorityClass, DerivationRecord, NamespaceName, PrincipalName, TenantName};

/// Sets a quota, or takes one away.
pub(crate) fn set(turn: &mut Turn<'_>, key: &Key, spec: QuotaSpec) -> Result<(), Refusal> {
    operator(key, "set quotas")?;
    if spec.namespace.is_none() && spec.principal.is_none() {
        let text = "a quota is of a namespace, of a principal, or of one in the other; name them";
        return Err(Refusal::new(Fault::Malformed, "quota_of_nothing", text));
    }
    if let Some(name) = &spec.namespace
        && !turn.tenant(&key.tenant)?.namespaces.contains_key(name)
    {
        return Err(not_found("namespace"));
    }
    if !turn.tenant(&key.tenant)?.usage.is_known() {
        turn.core.count_usage(&key.tenant)?;
    }
    let event = Event::QuotaSet {
        namespace: spec.namespace,
        principal: spec.principal,
        entries: spec.entries,
        bytes: spec.bytes,
        by: key.spec.principal.clone(),
    };
    turn.emit(&key.tenant, &event)
}

/// The quotas with what is kept under each, in order of namespace and principal.
pub(crate) fn list(
    turn: &Turn<'_>,
    key: &Key,
    part: PageSpec<'_>,
) -> Result<Page<QuotaView>, Refusal> {
    operator(key, "list quotas")?;
    let after = read(part.cursor, scope_of)?;
    let usage = &turn.tenant(&key.tenant)?.usage;
    let rows = usage.quotas.iter();
    let rows = rows.filter(|(scope, _)| after.as_ref().is_none_or(|a| *scope > a));
    let views = rows.map(|(scope, most)| {
        let used = usage.amount(scope);
        QuotaView {
            spec: QuotaSpec {
                namespace: scope.namespace.clone(),
                principal: scope.principal.clone(),
                entries: most.entries,
                bytes: most.bytes,
            },
            used_entries: used.entries,
            used_bytes: used.bytes,
            untrusted_entries: used.untrusted,
        }
    });
    Ok(page(views, part.limit, |view| cursor_of(&view.spec)))
}

/// `namespace/principal`, either of which may be empty.
fn cursor_of(spec: &QuotaSpec) -> String {
    let namespace = spec.namespace.as_ref().map_or("", NamespaceName::as_str);
    let principal = spec.principal.as_ref().map_or("", PrincipalName::as_str);
    format!("{namespace}/{principal}")
}

fn scope_of(cursor: &str) -> Option<Scope> {
    let (namespace, principal) = cursor.split_once('/')?;
    let named = |text: &str| !text.is_empty();
    let scope = Scope {
        namespace: NamespaceName::new(namespace).ok(),
        principal: PrincipalName::new(principal).ok(),
    };
    let whole = scope.namespace.is_some() == named(namespace)
        && scope.principal.is_some() == named(principal);
    whole.then_some(scope)
}

/// Makes room for one more entry of a principal in a namespace, or refuses it.
pub(crate) fn room(
    turn: &mut Turn<'_>,
    tenant: &TenantName,
    (namespace, principal): (&NamespaceName, &PrincipalName),
    bytes: usize,
) -> Result<(), Refusal> {
    let quotas = turn.tenant(tenant)?.usage.quotas.iter();
    let binding: Vec<(Scope, Most)> = quotas
        .filter(|(scope, _)| scope.covers(namespace, principal))
        .map(|(scope, most)| (scope.clone(), *most))
        .collect();
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let mut evicted = 0_usize;
    for (scope, most) in binding {
        while let Some(over) = over(turn, tenant, (&scope, &most), bytes)? {
            if evicted >= EVICTIONS_MAX {
                // A quota that was lowered is reached by and by.
                break;
            }
            let oldest = turn.tenant(tenant)?.usage.oldest(&scope, principal);
            let Some(seq) = oldest else {
                return Err(over);
            };
            evict(turn, tenant, seq, &scope)?;
            evicted = evicted.saturating_add(1);
        }
    }
    Ok(())
}

/// The refusal of one more entry of this length, if it would be too much.
fn over(
    turn: &Turn<'_>,
    tenant: &TenantName,
    (scope, most): (&Scope, &Most),
    bytes: u64,
) -> Result<Option<Refusal>, Refusal> {
    let used = turn.tenant(tenant)?.usage.amount(scope);
    let after = (
        used.entries.saturating_add(1),
        used.bytes.saturating_add(bytes),
    );
    let (after, limit, unit) = match most {
        Most {
            entries: Some(limit),
            ..
        } if after.0 > *limit => (after.0, limit, "entries"),
        Most {
            bytes: Some(limit), ..
        } if after.1 > *limit => (after.1, limit, "bytes"),
        _ => return Ok(None),
    };
    let text = format!(
        "the quota of {} is {limit} {unit}, this write makes {after}, and no class 4 entry is left \
         to evict; erase entries, or have an operator raise the quota",
        named(scope)
    );
    let refusal = Refusal::new(Fault::Conflict, "quota_exceeded", text);
    Ok(Some(refusal))
}

fn named(scope: &Scope) -> String {
    match (&scope.namespace, &scope.principal) {
        (Some(namespace), Some(principal)) => {
            format!("principal `{principal}` in namespace `{namespace}`")
        }
        (Some(namespace), None) => format!("namespace `{namespace}`"),
        (None, Some(principal)) => format!("principal `{principal}`"),
        (None, None) => "everything".to_owned(),
    }
}

fn evict(turn: &mut Turn<'_>, tenant: &TenantName, seq: u64, scope: &Scope) -> Result<(), Refusal> {
    let entry = turn.entry_at(tenant, seq)?;
    let entry = entry.ok_or_else(|| crate::turn::internal(&"an entry to evict is not there"))?;
    if entry.record.class != AuthorityClass::Untrusted {
        return Err(crate::turn::internal(
            &"an entry to evict is not of class 4",
        ));
    }
    let removed = turn.core.store()?.remove_content(tenant, seq);
    removed.map_err(|fault| turn.core.lost(&fault))?;
    turn.usage_mut(tenant)?
        .remove(&whose(&entry.record), Piece::of(&entry));
    turn.core.index.erase(place_of(&entry), seq);
    turn.core.purge(tenant, seq, entry.record.id);
    let stood = turn.tenant(tenant)?.entry_in_use(&entry);
    let event = Event::Evicted {
        stood,
        entry: entry.record.id,
        hash: entry.hash,
        at: turn.now,
        quota: named(scope),
    };
    tracing::info!(%tenant, seq, "entry was evicted by a quota");
    turn.emit(tenant, &event)
}

impl Core {
    /// Counts what a tenant keeps: each record is read, about three microseconds each.
    pub(crate) fn count_usage(&mut self, tenant: &TenantName) -> Result<(), Refusal> {
        let mut all = Vec::new();
        let mut see = |seq, body: &[u8], bytes| {
            if let Ok(record) = DerivationRecord::decode(body) {
                let untrusted = record.class == AuthorityClass::Untrusted;
                let piece = Piece {
                    seq,
                    bytes,
                    untrusted,
                };
                all.push((whose(&record), piece));
            }
        };
        let counted = self.reading()?.each_kept(tenant, &mut see);
        counted.map_err(|fault| down().inside(fault))?;
        let state = self.state.tenant_mut(tenant);
        let usage = &mut state.map_err(|fault| down().inside(fault))?.usage;
        usage.count(all.into_iter());
        Ok(())
    }
}
