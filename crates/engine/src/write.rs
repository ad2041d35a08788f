// SPDX-License-Identifier: MIT OR Apache-2.0
//! The write gate: submission, screening, record, store and ledger, through one entry point.

use crate::api::{BATCH_ENTRIES_MAX, CONTENT_BYTES_MAX, KeySpec, Write, Written};
use crate::content::Content;
use crate::event::{Event, roots_text};
use crate::home::random;
use crate::refusal::{Fault, Refusal};
use crate::screened;
use crate::session::Session;
use crate::state::{Entry, Key, Tenant};
use crate::turn::{Turn, forbidden, not_found, within};
use ancile_core::{
    ArgKind, AuthorityClass, Channel, ChannelGrant, DerivationRecord, Digest, EntryId, EntryKind,
    LOCATOR_BYTES_MAX, Micros, NamespaceName, Origin, ParentFound, Parents, PolicyView as _,
    PrincipalName, Role, RootSet, Salt, SessionId, SourceField, SourceState, TrustRoot, class_of,
    content_commitment,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a credential lets its holder say about channels.
pub(crate) fn grant(spec: &KeySpec) -> ChannelGrant {
    ChannelGrant {
        role: spec.role,
        relays_user: spec.relays_user,
        channels: spec.channels.clone(),
    }
}

/// Where a text comes from and what that is worth.
pub(crate) struct Standing {
    pub channel: Channel,
    author: PrincipalName,
    pub class: AuthorityClass,
    roots: RootSet,
    parents: Parents,
}

/// Writes an entry, in a session or outside one.
pub(crate) fn write(
    turn: &mut Turn<'_>,
    key: &Key,
    session: Option<SessionId>,
    op: Write,
) -> Result<Written, Refusal> {
    turn.core.serve_reader_meanwhile();
    if key.spec.role == Role::Operator {
        return Err(forbidden(
            "write entries",
            "the key of a user, host, agent or source",
        ));
    }
    within(&op.text, CONTENT_BYTES_MAX, "text")?;
    within(&op.locator, LOCATOR_BYTES_MAX, "locator")?;
    plain(&op.locator)?;
    own_field(key, session.is_some(), &op)?;
    let content = content_of(&op, turn.now)?;
    let session = match session {
        None => None,
        Some(id) => turn.tenant(&key.tenant)?.sessions.get(&id).cloned(),
    };
    let namespace = namespace_of(key, session.as_deref(), &op)?;
    turn.reach(key, &namespace, true)?;
    let standing = standing(turn, key, session.as_deref(), &op)?;
    let replaced = match op.supersedes {
        None => None,
        Some(id) => Some(replaced(turn, key, &namespace, op.kind, &id)?),
    };
    let place = (key, &namespace, op.kind);
    let (note, beside) = screened::note(turn, &content, &standing, place)?;
    let salt: Salt = random()?;
    let bytes = content.encode();
    if Content::decode(op.kind, &bytes).as_ref() != Ok(&content) {
        return Err(crate::turn::internal(
            &"a content does not read back as itself",
        ));
    }
    within(&String::from_utf8_lossy(&bytes), CONTENT_BYTES_MAX, "task")?;
    let record = DerivationRecord {
        tenant: key.tenant.clone(),
        namespace,
        id: turn.fresh(EntryId::at)?,
        version: replaced
            .as_ref()
            .map_or(1, |old| old.record.version.saturating_add(1)),
        kind: op.kind,
        origin: Origin {
            channel: standing.channel,
            role: key.spec.role,
            principal: key.spec.principal.clone(),
            locator: op.locator.into(),
            at: turn.now,
        },
        author: standing.author,
        session: session.as_ref().map(|s| s.id),
        parents: standing.parents,
        roots: standing.roots,
        class: standing.class,
        policy_epoch: turn.tenant(&key.tenant)?.epoch,
        supersedes: replaced.as_ref().map(|old| old.hash),
        commitment: content_commitment(&salt, &bytes),
        screening: note,
        created: turn.now,
        valid_from: op.valid_from,
        valid_until: op.valid_until,
    };
    let mut written = finish(turn, key, record, &salt, &bytes)?;
    screened::beside(turn, key, &mut written, beside)?;
    if let Some(old) = replaced {
        replace(turn, key, &old, &written.id)?;
    }
    Ok(written)
}

/// Writes entries in order, all or none.
pub(crate) fn batch(
    turn: &mut Turn<'_>,
    key: &Key,
    ops: Vec<Write>,
) -> Result<Vec<Written>, Refusal> {
    if !(1..=BATCH_ENTRIES_MAX).contains(&ops.len()) {
        let text = format!(
            "the batch has {} entries; give 1 to {BATCH_ENTRIES_MAX}; send several",
            ops.len()
        );
        return Err(Refusal::new(Fault::Malformed, "count_out_of_range", text));
    }
    let one = |(at, op)| {
        write(turn, key, None, op).map_err(|refusal| Refusal {
            outside: format!("entry {at}: {}", refusal.outside),
            ..refusal
        })
    };
    ops.into_iter().enumerate().map(one).collect()
}

/// Logs that a new entry stands in the place of an old one, apart from its record.
pub(crate) fn replace(
    turn: &mut Turn<'_>,
    key: &Key,
    old: &Entry,
    by: &EntryId,
) -> Result<(), Refusal> {
    let new = turn.entry_by_id(&key.tenant, by)?;
    let new = new.ok_or_else(|| crate::turn::internal(&"a written entry is not there"))?;
    let event = Event::Superseded {
        entry: old.record.id,
        by: *by,
        class: new.record.class,
        roots: roots_text(&new.record.roots),
        same_origin: new.origin == old.origin,
    };
    turn.emit(&key.tenant, &event)
}

pub(crate) fn finish(
    turn: &mut Turn<'_>,
    key: &Key,
    record: DerivationRecord,
    salt: &Salt,
    bytes: &[u8],
) -> Result<Written, Refusal> {
    let (id, class, channel) = (record.id, record.class, record.origin.channel);
    let quarantined = record.screening.quarantined;
    let person = matches!(key.spec.role, Role::User | Role::Operator);
    let rules = record
        .screening
        .rules
        .iter()
        .filter(|_| person)
        .map(ToString::to_string)
        .collect();
    let whose = (&record.namespace, &record.origin.principal);
    crate::quota::room(turn, &key.tenant, whose, bytes.len())?;
    let (seq, hash) = turn.put(record, salt, bytes)?;
    Ok(Written {
        id,
        hash,
        seq,
        class,
        channel,
        quarantined,
        pending: false,
        withheld: 0,
        rules,
    })
}

/// Refuses what a reader would not see in a locator.
pub(crate) fn plain(locator: &str) -> Result<(), Refusal> {
    if locator.chars().any(crate::recall::is_invisible) {
        let text = "locator has control or invisible characters; send the plain address";
        return Err(Refusal::new(Fault::Malformed, "locator_not_plain", text));
    }
    Ok(())
}

/// Only a source's own key says that a text is a field of that source, and only outside a session:
/// a host reports fields as results of the calls that gave them.
fn own_field(key: &Key, in_session: bool, op: &Write) -> Result<(), Refusal> {
    let Some(field) = &op.field else {
        return Ok(());
    };
    let own = key.spec.role == Role::Source
        && key.spec.principal.as_str() == field.source.as_str()
        && field.tool.as_str() != crate::step::HOST_TOOL;
    if own && !in_session {
        return Ok(());
    }
    Err(forbidden(
        "write in the name of this source",
        "the source's own key, or report the result of a permitted call in a session",
    ))
}

fn content_of(op: &Write, now: Micros) -> Result<Content, Refusal> {
    if op.text.trim().is_empty() {
        return Err(Refusal::new(
            Fault::Malformed,
            "empty_text",
            "text is empty; send the words",
        ));
    }
    if (op.kind == EntryKind::Task) != op.task.is_some() {
        let text = "a task, and only a task, says when it is due; give `task` with kind `task`";
        return Err(Refusal::new(Fault::Malformed, "task_fields", text));
    }
    if op.task.as_ref().and_then(|task| task.every_seconds) == Some(0) {
        let text =
            "a task repeats every 0 seconds; leave `every_seconds` out of one that runs once";
        return Err(Refusal::new(Fault::Malformed, "task_fields", text));
    }
    if op.valid_until.is_some_and(|until| until <= now) {
        let text = "valid_until is past; give microseconds since 1970-01-01 UTC";
        return Err(Refusal::new(Fault::Malformed, "validity_past", text));
    }
    if let (Some(from), Some(until)) = (op.valid_from, op.valid_until)
        && from >= until
    {
        let text = "valid_until is not after valid_from; swap them or leave one out";
        return Err(Refusal::new(Fault::Malformed, "validity_empty", text));
    }
    Ok(Content {
        text: op.text.clone(),
        task: op.task.clone(),
    })
}

fn namespace_of(
    key: &Key,
    session: Option<&Session>,
    op: &Write,
) -> Result<NamespaceName, Refusal> {
    match (session, &op.namespace) {
        (Some(session), None) => Ok(session.spec.namespace.clone()),
        (Some(session), Some(name)) if *name == session.spec.namespace => Ok(name.clone()),
        (Some(_), Some(_)) => Err(forbidden(
            "write another namespace than its session's",
            "a session of that namespace, or leave `namespace` out",
        )),
        (None, Some(name)) => Ok(name.clone()),
        (None, None) => match key.spec.namespaces.as_slice() {
            [only] => Ok(only.clone()),
            _ => Err(Refusal::new(
                Fault::Malformed,
                "namespace_missing",
                "the key reaches several namespaces; name one",
            )),
        },
    }
}

/// Fixes channel, author, class, roots and parents from the connection and the session.
fn standing(
    turn: &Turn<'_>,
    key: &Key,
    session: Option<&Session>,
    op: &Write,
) -> Result<Standing, Refusal> {
    let tenant = turn.tenant(&key.tenant)?;
    let role = key.spec.role;
    let mut channel = grant(&key.spec).channel(op.channel);
    if channel == Channel::User && role == Role::Host && session.is_none() {
        channel = Channel::Unknown;
    }
    if channel != Channel::Agent && !op.parents.is_empty() {
        let text = "only what an agent derived has parents; leave `parents` out";
        return Err(Refusal::new(Fault::Malformed, "parents_not_derived", text));
    }
    let user = session.map_or(&key.spec.principal, |s| &s.spec.user);
    let state = match &op.field {
        Some(field) => worth(tenant, field, &op.text),
        None => SourceState::None,
    };
    let listed = class_of(channel, role, state);
    let (author, roots) = match channel {
        Channel::User => (user.clone(), RootSet::new([TrustRoot::User(user.clone())])),
        Channel::Agent => {
            let author = session
                .map_or(&key.spec.principal, |s| &s.spec.agent)
                .clone();
            (author, session.map_or(RootSet::Untrusted, Session::roots))
        }
        Channel::Source | Channel::Tool => {
            let field = op
                .field
                .clone()
                .filter(|_| listed != AuthorityClass::Untrusted);
            let roots = field.map_or(RootSet::Untrusted, |f| RootSet::new([TrustRoot::Source(f)]));
            (key.spec.principal.clone(), roots)
        }
        _ => (key.spec.principal.clone(), RootSet::Untrusted),
    };
    let mut class = listed.meet(roots.class(tenant, user));
    let mut roots = roots;
    if channel == Channel::Agent {
        class = class.meet(session.map_or(AuthorityClass::Untrusted, |s| s.class(tenant)));
        for parent in &op.parents {
            let Some(entry) = turn.entry_by_hash(&key.tenant, parent)? else {
                continue;
            };
            class = class.meet(tenant.class_today(&entry, user));
            roots = roots.join(&entry.record.roots);
        }
    }
    if class == AuthorityClass::Untrusted {
        roots = RootSet::Untrusted;
    }
    let exposure = match session {
        Some(session) if channel == Channel::Agent => (session.root, session.len),
        _ => (Digest([0; 32]), 0),
    };
    let parents = parents(turn, key, exposure, op.parents.clone())?;
    Ok(Standing {
        channel,
        author,
        class,
        roots,
        parents,
    })
}

/// The grade that an entry of a field has: none where the text is not wholly a value of the kind
/// that the manifest declares, and none as evidence where it leaves room for words.
fn worth(tenant: &Tenant, field: &SourceField, text: &str) -> SourceState {
    let declared = tenant
        .manifest
        .tool(&field.tool)
        .and_then(|t| t.results.get(&field.field));
    let state = tenant.source(field);
    let fits = declared.is_some_and(|kind| match state {
        SourceState::Authority => {
            *kind != ArgKind::Free && ancile_screen::canonical(*kind, text).is_some()
        }
        _ => ancile_screen::is_bare(*kind, text),
    });
    if fits { state } else { SourceState::Registered }
}

fn parents(
    turn: &Turn<'_>,
    key: &Key,
    exposure: (Digest, u64),
    named: Vec<Digest>,
) -> Result<Parents, Refusal> {
    let mut here = BTreeSet::new();
    for hash in &named {
        let entry = turn.entry_by_hash(&key.tenant, hash)?;
        if entry.is_some_and(|e| turn.reach(key, &e.record.namespace, false).is_ok()) {
            here.insert(*hash);
        }
    }
    // Another tenant's record is answered like none, so that nothing can be probed.
    let found = |hash: &Digest| match here.contains(hash) {
        true => ParentFound::Here,
        false => ParentFound::Nowhere,
    };
    Parents::new(exposure, named, &found)
        .map_err(|fault| Refusal::new(Fault::Malformed, "parents_refused", fault.to_string()))
}

fn replaced(
    turn: &Turn<'_>,
    key: &Key,
    namespace: &NamespaceName,
    kind: EntryKind,
    id: &EntryId,
) -> Result<Arc<Entry>, Refusal> {
    let old = turn.entry(key, id)?;
    if old.record.namespace == *namespace && old.record.kind == kind {
        Ok(old)
    } else {
        Err(not_found("entry of this kind in this namespace"))
    }
}
