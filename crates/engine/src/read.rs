// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading back: entries, tasks, lineage, proofs.

use crate::api::{
    EntryState, EntryView, LINEAGE_NODES_MAX, LineageNode, LineageView, PAGE_MAX, Page, TaskFilter,
    TaskView,
};
use crate::content::Content;
use crate::event::roots_text;
use crate::refusal::{Fault, Refusal};
use crate::session::ShownFrom;
use crate::state::{Entry, Key};
use crate::turn::{Turn, index_damaged, internal, rests_on};
use ancile_core::{AuthorityClass, Digest, EntryId, NamespaceName, PrincipalName, Role};
use std::collections::HashSet;
use std::sync::Arc;

pub(crate) fn bad_cursor() -> Refusal {
    Refusal::new(
        Fault::Malformed,
        "bad_cursor",
        "the cursor is not one that a list gave; drop it",
    )
}

pub(crate) fn seq_cursor(cursor: Option<&str>) -> Result<Option<u64>, Refusal> {
    cursor
        .map(|text| text.parse().map_err(|_| bad_cursor()))
        .transpose()
}

/// The page size for a wanted one.
pub(crate) fn page_len(limit: usize) -> usize {
    limit.clamp(1, PAGE_MAX)
}

/// Cuts a page; `cursor` is where an item's followers start.
pub(crate) fn page<T>(
    items: impl Iterator<Item = T>,
    limit: usize,
    cursor: impl Fn(&T) -> String,
) -> Page<T> {
    let limit = page_len(limit);
    let mut items: Vec<T> = items.take(limit.saturating_add(1)).collect();
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().map(cursor).filter(|_| more);
    Page { items, next }
}

/// Whose eyes a class is seen with: a user's own, else the author's.
fn viewer(key: &Key, entry: &Entry) -> PrincipalName {
    match key.spec.role {
        Role::User => key.spec.principal.clone(),
        _ => entry.record.author.clone(),
    }
}

/// An entry as a key sees it. Its text is shown to people only: what an agent may read, it reads
/// through recall, where it is bounded, labelled and counted as shown.
pub(crate) fn entry_view(
    turn: &mut Turn<'_>,
    key: &Key,
    entry: &Entry,
) -> Result<EntryView, Refusal> {
    if turn
        .tenant(&key.tenant)?
        .fate(&entry.record.id)
        .erased
        .is_some()
    {
        return erased_view(turn, key, entry);
    }
    let read = turn.verified(&key.tenant, entry)?;
    let who = viewer(key, entry);
    let tenant = turn.tenant(&key.tenant)?;
    // What does not hold is worth nothing, whatever its record says.
    let class = match &read {
        Ok(_) => tenant.class_today(entry, &who),
        Err(_) => AuthorityClass::Untrusted,
    };
    let fate = tenant.fate(&entry.record.id);
    let state = match (&read, tenant.shelf_of(entry)) {
        (Err(broken), _) => EntryState::Broken(broken.name().to_owned()),
        _ if fate.discarded => EntryState::Discarded,
        _ if fate.pending => EntryState::Pending,
        (_, Some(shelf)) if shelf.parts.is_empty() => EntryState::Quarantined(shelf.reason.clone()),
        _ if tenant.superseded(entry, &who) => EntryState::Superseded,
        _ => EntryState::Current,
    };
    let person = matches!(key.spec.role, Role::User | Role::Operator);
    let judged = fate.judged.filter(|_| person);
    let shown = person && !matches!(state, EntryState::Broken(_) | EntryState::Discarded);
    let content = match read {
        Ok(read) if shown => {
            Some(Content::decode(entry.record.kind, &read.bytes).map_err(|e| internal(&e))?)
        }
        _ => None,
    };
    let (text, task) = content.map_or((None, None), |c| (Some(c.text), c.task));
    Ok(EntryView {
        text,
        task,
        judged: judged.map(|judged| judged.as_ref().clone()),
        ..bare_view(entry, class, state)
    })
}

/// An erased entry: its record without its content.
fn erased_view(turn: &Turn<'_>, key: &Key, entry: &Entry) -> Result<EntryView, Refusal> {
    let class = turn
        .tenant(&key.tenant)?
        .class_today(entry, &viewer(key, entry));
    let evicted = turn.tenant(&key.tenant)?.fate(&entry.record.id).evicted;
    let state = match evicted {
        true => EntryState::Evicted,
        false => EntryState::Erased,
    };
    Ok(bare_view(entry, class, state))
}

/// An entry without its content.
fn bare_view(entry: &Entry, class: AuthorityClass, state: EntryState) -> EntryView {
    let record = &entry.record;
    EntryView {
        id: record.id,
        hash: entry.hash,
        seq: entry.seq,
        namespace: record.namespace.clone(),
        kind: record.kind,
        version: record.version,
        class,
        class_at_write: record.class,
        channel: record.origin.channel,
        principal: record.origin.principal.clone(),
        author: record.author.clone(),
        locator: record.origin.locator.to_string(),
        created: record.created,
        state,
        text: None,
        task: None,
        judged: None,
    }
}

/// One entry.
pub(crate) fn entry(turn: &mut Turn<'_>, key: &Key, id: &EntryId) -> Result<EntryView, Refusal> {
    let entry = turn.entry(key, id)?;
    entry_view(turn, key, &entry)
}

/// The entries of a namespace, newest first.
pub(crate) fn entries(
    turn: &mut Turn<'_>,
    key: &Key,
    namespace: &NamespaceName,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<EntryView>, Refusal> {
    turn.reach(key, namespace, false)?;
    let below = seq_cursor(cursor)?;
    let tenant = turn.tenant(&key.tenant)?;
    let rows = tenant
        .entries
        .iter()
        .rev()
        .filter(|(seq, _)| below.is_none_or(|b| **seq < b));
    let most = page_len(limit).saturating_add(1);
    let mut here: Vec<Arc<Entry>> = rows
        .filter(|(_, e)| e.record.namespace == *namespace)
        .take(most)
        .map(|(_, e)| Arc::clone(e))
        .collect();
    let rest = (below.unwrap_or(u64::MAX), most.saturating_sub(here.len()));
    let index = &turn.core.index;
    let sealed = index.below(turn.core.reading()?, tenant, namespace, rest);
    for seq in sealed.map_err(|fault| index_damaged(&fault))? {
        here.extend(turn.entry_at(&key.tenant, seq)?);
    }
    let views = here
        .iter()
        .map(|e| entry_view(turn, key, e))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(page(views.into_iter(), limit, |v| v.seq.to_string()))
}

/// The tasks of a namespace, newest first; with `due_only` those that can fire now.
pub(crate) fn tasks(
    turn: &mut Turn<'_>,
    key: &Key,
    filter: &TaskFilter,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<TaskView>, Refusal> {
    let TaskFilter {
        namespace,
        due_only,
    } = filter;
    turn.reach(key, namespace, false)?;
    let below = seq_cursor(cursor)?;
    let now = turn.now;
    let tenant = turn.tenant(&key.tenant)?;
    let seqs = tenant
        .tasks
        .keys()
        .rev()
        .filter(|seq| below.is_none_or(|b| **seq < b));
    let due = |e: &Entry| {
        let id = &e.record.id;
        let next = e.next_due(&tenant.fate(id));
        let time = e.damaged.is_some() || next.is_some_and(|at| now >= at);
        time && tenant.entry_in_use(e) && !tenant.superseded(e, &viewer(key, e))
    };
    let mut rows = Vec::new();
    for seq in seqs {
        if rows.len() > page_len(limit) {
            break;
        }
        if let Some(entry) = turn.entry_at(&key.tenant, *seq)?
            && entry.record.namespace == *namespace
            && (!*due_only || due(&entry))
        {
            rows.push(entry);
        }
    }
    let mut views = Vec::with_capacity(rows.len());
    for entry in rows {
        let fate = turn.tenant(&key.tenant)?.fate(&entry.record.id);
        views.push(TaskView {
            entry: entry_view(turn, key, &entry)?,
            next_due: entry.next_due(&fate),
            fired: fate.fired,
        });
    }
    Ok(page(views.into_iter(), limit, |v| v.entry.seq.to_string()))
}

/// Where an entry came from: itself, then its ancestors, nearest first.
pub(crate) fn lineage(
    turn: &mut Turn<'_>,
    key: &Key,
    id: &EntryId,
) -> Result<LineageView, Refusal> {
    let entry = turn.entry(key, id)?;
    let erased = turn.tenant(&key.tenant)?.fate(id).erased.is_some();
    let broken = match erased {
        true => None,
        false => turn.verified(&key.tenant, &entry)?.err(),
    };
    let tenant = turn.tenant(&key.tenant)?;
    let weakest = entry
        .record
        .session
        .and_then(|id| tenant.sessions.get(&id))
        .map(|s| s.weakest.iter().map(ShownFrom::whole).collect())
        .unwrap_or_default();
    let (nodes, more) = ancestry(turn, key, &entry)?;
    Ok(LineageView {
        broken: broken.map(ancile_core::Broken::name),
        class: tenant.class_today(&entry, &viewer(key, &entry)),
        roots: roots_text(&entry.record.roots),
        weakest,
        nodes,
        more,
    })
}

/// An entry and its ancestors, and whether there are more than are listed. Those in namespaces that
/// the key does not reach are left out.
fn ancestry(
    turn: &Turn<'_>,
    key: &Key,
    entry: &Arc<Entry>,
) -> Result<(Vec<LineageNode>, bool), Refusal> {
    let tenant = turn.tenant(&key.tenant)?;
    let mut nodes = Vec::new();
    let mut seen: HashSet<Digest> = HashSet::from([entry.hash]);
    let mut level = vec![Arc::clone(entry)];
    while !level.is_empty() {
        let mut next = Vec::new();
        for entry in level {
            if nodes.len() == LINEAGE_NODES_MAX {
                return Ok((nodes, true));
            }
            let mut parents = Vec::new();
            for hash in rests_on(tenant, &entry) {
                let found = turn.entry_by_hash(&key.tenant, &hash)?;
                let reached = found.filter(|e| turn.reach(key, &e.record.namespace, false).is_ok());
                if let Some(parent) = reached {
                    parents.push(hash);
                    if seen.insert(hash) {
                        next.push(parent);
                    }
                }
            }
            nodes.push(node(&entry, parents));
        }
        level = next;
    }
    Ok((nodes, false))
}

fn node(entry: &Entry, parents: Vec<Digest>) -> LineageNode {
    let record = &entry.record;
    LineageNode {
        hash: entry.hash,
        id: record.id,
        channel: record.origin.channel,
        principal: record.origin.principal.clone(),
        locator: record.origin.locator.to_string(),
        class: record.class,
        parents,
    }
}
