// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only people do: answering asks, and emptying the quarantine shelf.

use crate::act::stands;
use crate::api::{
    ApprovalState, ApprovalView, EntryView, Page, QuarantineView, REASON_BYTES_MAX, Reason,
};
use crate::event::Event;
use crate::read::{entry_view, page};
use crate::refusal::{Fault, Refusal};
use crate::state::{ApprovalRow, Entry, Key, Tenant};
use crate::turn::{PERSONS_KEY, Turn, USERS_KEY, forbidden, not_found, tampered, within};
use ancile_core::{ApprovalId, AuthorityClass, Digest, EntryId, EntryKind, NamespaceName, Role};
use std::sync::Arc;

fn row<'t>(turn: &'t Turn<'_>, key: &Key, id: &ApprovalId) -> Result<&'t ApprovalRow, Refusal> {
    let tenant = turn.tenant(&key.tenant)?;
    let row = tenant
        .approvals
        .get(id)
        .ok_or_else(|| not_found("approval"))?;
    if sees(tenant, key, row) {
        Ok(row)
    } else {
        Err(not_found("approval"))
    }
}

/// A user sees the asks made on their behalf, a host those of its sessions, an operator all.
fn sees(tenant: &Tenant, key: &Key, row: &ApprovalRow) -> bool {
    let Some(session) = tenant.sessions.get(&row.parked.session) else {
        return false;
    };
    match key.spec.role {
        Role::Operator => true,
        Role::User => session.spec.user == key.spec.principal,
        Role::Host => session.host == key.spec.principal,
        _ => false,
    }
}

fn view(turn: &Turn<'_>, tenant: &Tenant, row: &ApprovalRow) -> Option<ApprovalView> {
    let session = tenant.sessions.get(&row.parked.session)?;
    let parked = &row.parked;
    let reasons = parked.rules.iter().map(|(rule, text)| Reason {
        rule: rule.clone(),
        text: text.clone(),
        entries: Vec::new(),
    });
    Some(ApprovalView {
        id: parked.id,
        state: row.state_at(tenant, turn.now),
        session: parked.session,
        agent: session.spec.agent.clone(),
        user: session.spec.user.clone(),
        digest: parked.call.digest(),
        call: parked.call.clone(),
        class: parked.class,
        reasons: reasons.collect(),
        asked: parked.at,
        expires: parked.expires,
    })
}

/// The asks a key sees, newest first.
pub(crate) fn approvals(
    turn: &Turn<'_>,
    key: &Key,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<ApprovalView>, Refusal> {
    let tenant = turn.tenant(&key.tenant)?;
    let after = match cursor {
        None => None,
        Some(text) => Some(ApprovalId::parse(text).map_err(|_| crate::read::bad_cursor())?),
    };
    let rows = tenant
        .approvals
        .iter()
        .rev()
        .filter(|(id, _)| after.is_none_or(|a| **id < a));
    let seen = rows.filter(|(_, row)| sees(tenant, key, row));
    Ok(page(
        seen.filter_map(|(_, row)| view(turn, tenant, row)),
        limit,
        |v| v.id.to_string(),
    ))
}

/// One ask.
pub(crate) fn approval(
    turn: &Turn<'_>,
    key: &Key,
    id: &ApprovalId,
) -> Result<ApprovalView, Refusal> {
    let row = row(turn, key, id)?;
    view(turn, turn.tenant(&key.tenant)?, row).ok_or_else(|| not_found("approval"))
}

/// A user approves exactly this digest, once; or denies.
pub(crate) fn answer(
    turn: &mut Turn<'_>,
    key: &Key,
    id: &ApprovalId,
    approve: Option<Digest>,
) -> Result<ApprovalView, Refusal> {
    if key.spec.role != Role::User {
        return Err(forbidden("answer asks", USERS_KEY));
    }
    let row = row(turn, key, id)?.clone();
    stands(turn, turn.tenant(&key.tenant)?, &row)?;
    if row.state != ApprovalState::Waiting {
        let text = "the ask was answered before; it cannot be answered again";
        return Err(Refusal::new(Fault::Conflict, "approval_answered", text));
    }
    if approve.is_some_and(|digest| digest != row.parked.call.digest()) {
        let text = "the digest is not the call's; look at the ask again, then name its digest";
        return Err(Refusal::new(Fault::Conflict, "approval_other_call", text));
    }
    let event = Event::ApprovalAnswered {
        id: *id,
        approved: approve.is_some(),
        by: key.spec.principal.clone(),
        at: turn.now,
    };
    turn.emit(&key.tenant, &event)?;
    approval(turn, key, id)
}

/// The quarantine shelf of a namespace, newest first.
pub(crate) fn quarantine(
    turn: &mut Turn<'_>,
    key: &Key,
    namespace: &NamespaceName,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<QuarantineView>, Refusal> {
    reviewer(key)?;
    turn.reach(key, namespace, false)?;
    let below = cursor
        .map(|text| EntryId::parse(text).map_err(|_| crate::read::bad_cursor()))
        .transpose()?;
    let tenant = turn.tenant(&key.tenant)?;
    let shelf = tenant
        .shelf
        .keys()
        .rev()
        .filter(|id| below.is_none_or(|b| **id < b));
    let mut here = Vec::new();
    for id in shelf {
        if here.len() > crate::read::page_len(limit) {
            break;
        }
        let found = turn.entry_by_id(&key.tenant, id)?;
        let listed = found.filter(|e| e.record.namespace == *namespace && reviews(key, e));
        if let Some(entry) = listed
            && let Some(shelf) = tenant.shelf_of(&entry)
        {
            here.push((entry, shelf));
        }
    }
    let mut views = Vec::new();
    for (entry, shelf) in here {
        views.push(QuarantineView {
            entry: entry_view(turn, key, &entry)?,
            reason: shelf.reason.clone(),
            rules: shelf.rules.clone(),
            since: shelf.at,
            parts: shelf.parts.clone(),
        });
    }
    Ok(page(views.into_iter(), limit, |v| v.entry.id.to_string()))
}

fn reviewer(key: &Key) -> Result<(), Refusal> {
    match key.spec.role {
        Role::User | Role::Operator => Ok(()),
        _ => Err(forbidden("review the quarantine shelf", PERSONS_KEY)),
    }
}

/// A user reviews what is class 4, and what they wrote themselves; an operator all.
pub(crate) fn reviews(key: &Key, entry: &Entry) -> bool {
    let record = &entry.record;
    key.spec.role == Role::Operator
        || record.class == AuthorityClass::Untrusted
        || record.author == key.spec.principal
}

/// Has a task fire no more. A user cancels their own tasks and those of class 4.
pub(crate) fn cancel(turn: &mut Turn<'_>, key: &Key, id: &EntryId) -> Result<(), Refusal> {
    if !matches!(key.spec.role, Role::User | Role::Operator) {
        return Err(forbidden("cancel tasks", PERSONS_KEY));
    }
    let entry = turn.entry(key, id)?;
    if entry.record.kind != EntryKind::Task || !reviews(key, &entry) {
        return Err(not_found("task"));
    }
    let fate = turn.tenant(&key.tenant)?.fate(id);
    if entry.next_due(&fate).is_none() {
        let text = "the task fires no more: it ran, was cancelled, or is broken";
        return Err(Refusal::new(Fault::Conflict, "task_over", text));
    }
    let event = Event::Cancelled {
        task: *id,
        by: key.spec.principal.clone(),
    };
    turn.emit(&key.tenant, &event)
}

/// The entry on the shelf, or held until it is judged, that has exactly this digest.
fn shelved(
    turn: &Turn<'_>,
    key: &Key,
    id: &EntryId,
    digest: &Digest,
) -> Result<Arc<Entry>, Refusal> {
    reviewer(key)?;
    let entry = turn.entry(key, id)?;
    if !reviews(key, &entry) {
        return Err(not_found("entry"));
    }
    let tenant = turn.tenant(&key.tenant)?;
    if tenant.shelf_of(&entry).is_none() && !tenant.fate(id).pending {
        let text = "the entry is not on the quarantine shelf, and is not held for a judge";
        return Err(Refusal::new(Fault::Conflict, "not_quarantined", text));
    }
    if entry.hash != *digest {
        let text = "the digest is not the entry's; look at it again, then name its digest";
        return Err(Refusal::new(Fault::Conflict, "other_digest", text));
    }
    Ok(entry)
}

/// Takes an entry off the shelf, or lets one that is held be used without a verdict. Its class
/// stays what it is; broken entries stay.
pub(crate) fn release(
    turn: &mut Turn<'_>,
    key: &Key,
    id: &EntryId,
    digest: &Digest,
    reason: &str,
) -> Result<EntryView, Refusal> {
    let entry = shelved(turn, key, id, digest)?;
    within(reason, REASON_BYTES_MAX, "reason")?;
    if reason.trim().is_empty() {
        let text = "a release needs a reason; say why the entry may be used";
        return Err(Refusal::new(Fault::Malformed, "reason_missing", text));
    }
    if let Err(broken) = turn.verified(&key.tenant, &entry)? {
        return Err(tampered(broken));
    }
    let event = Event::Released {
        entry: *id,
        by: key.spec.principal.clone(),
        reason: reason.to_owned(),
    };
    turn.emit(&key.tenant, &event)?;
    let entry = turn.entry(key, id)?;
    entry_view(turn, key, &entry)
}

/// Takes an entry off the shelf, or one that is held, for good.
pub(crate) fn discard(
    turn: &mut Turn<'_>,
    key: &Key,
    id: &EntryId,
    digest: &Digest,
) -> Result<(), Refusal> {
    shelved(turn, key, id, digest)?;
    let event = Event::Discarded {
        entry: *id,
        by: key.spec.principal.clone(),
    };
    turn.emit(&key.tenant, &event)
}
