// SPDX-License-Identifier: MIT OR Apache-2.0
//! A due task fires: its lineage is verified, the fire table decides, and what may run gets a
//! fresh session of its own.

use crate::act::{self, PENDING, Scene, effect_and_coverage, reason};
use crate::api::{CallAnswer, FireAnswer, Gates, Propose, Reason, SessionOpened, SessionSpec};
use crate::before::Noted;
use crate::content::Content;
use crate::counts::Integrity;
use crate::event::Event;
use crate::recall::{fenced, place_for_model, shelve};
use crate::refusal::{Fault, Refusal};
use crate::session::Session;
use crate::state::{Entry, Key};
use crate::step::{self, In, values_of};
use crate::turn::{Exposure, Turn, forbidden, internal, not_found};
use ancile_core::{
    AuthorityClass, Broken, Decision, Digest, EntryEffect, EntryId, EntryKind, Fire, FireCell,
    Lineage, PrincipalName, ProposedCall, Role, RootSet, SessionId, SessionMode, TrustRoot,
    fire as fire_table,
};
use std::sync::Arc;

/// Who a fired task runs as, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FireSpec {
    /// The agent that runs it.
    pub agent: PrincipalName,
    /// The user it runs for: another user's task is class 4 to this one.
    pub user: PrincipalName,
}

/// Who fires a task, and as whom.
#[derive(Clone, Copy)]
struct Firing<'a> {
    key: &'a Key,
    spec: &'a FireSpec,
}

/// What is known of a task when it fires.
struct Due {
    entry: Arc<Entry>,
    content: Option<Content>,
    facts: Fire,
}

/// Fires a due task.
pub(crate) fn fire(
    turn: &mut Turn<'_>,
    key: &Key,
    id: &EntryId,
    spec: &FireSpec,
) -> Result<FireAnswer, Refusal> {
    let trusted = match key.spec.role {
        Role::Host => key.spec.relays_user,
        role => role == Role::Scheduler,
    };
    if !trusted {
        return Err(forbidden(
            "fire tasks",
            "the key of a scheduler, or of a host that relays its user",
        ));
    }
    let due = due(turn, key, id, spec)?;
    let cell = fire_table(&due.facts);
    let gates = turn.core.gates;
    let binds = if gates == Gates::Enforce {
        cell
    } else {
        FireCell {
            decision: Decision::Permit,
            entry: EntryEffect::Keep,
        }
    };
    let reasons = reasons(&due, &cell);
    if binds.entry == EntryEffect::Quarantine {
        shelve(turn, key, &due.entry, &quarantine_reason(&due.facts))?;
    }
    let run = match (&due.content, binds.decision) {
        (Some(content), decision) if decision != Decision::Deny => Some(run(
            turn,
            Firing { key, spec },
            &due,
            content,
            binds.decision,
        )?),
        _ => None,
    };
    let event = Event::Fired {
        task: *id,
        decision: binds.decision,
        would_be: (cell != binds).then_some(cell.decision),
        rules: reasons.iter().map(|r| r.rule.clone()).collect(),
        screening: turn.screening_version(),
        session: run.as_ref().map(|r| r.session.id),
        at: turn.now,
    };
    turn.emit(&key.tenant, &event)?;
    let proposed = due
        .content
        .as_ref()
        .and_then(call_of)
        .filter(|_| run.is_some());
    let (session, payload, call) = match run {
        Some(run) => (Some(run.session), Some(run.payload), run.call),
        None => (None, None, None),
    };
    Ok(FireAnswer {
        decision: binds.decision,
        would_be: (cell != binds).then_some(cell.decision),
        reasons,
        quarantined: binds.entry == EntryEffect::Quarantine,
        session,
        payload,
        call,
        proposed,
    })
}

fn call_of(content: &Content) -> Option<ProposedCall> {
    content.task.as_ref().and_then(|t| t.call.clone())
}

/// Checks that the task is due, reads and verifies it, and gathers what the table looks at.
fn due(turn: &mut Turn<'_>, key: &Key, id: &EntryId, spec: &FireSpec) -> Result<Due, Refusal> {
    let entry = turn.entry(key, id)?;
    if entry.record.kind != EntryKind::Task {
        return Err(not_found("task"));
    }
    let conflict = |code, text: &str| Err(Refusal::new(Fault::Conflict, code, text));
    if of_another(&entry, &spec.user) {
        let text = "the task rests on another user's words; fire it for that user";
        return Err(Refusal::new(Fault::Forbidden, "task_of_another_user", text));
    }
    let tenant = turn.tenant(&key.tenant)?;
    if !tenant.entry_in_use(&entry) {
        return conflict(
            "task_withheld",
            "the task is held for a judge, quarantined or discarded; review it first",
        );
    }
    if tenant.superseded(&entry, &spec.user) {
        return conflict(
            "task_superseded",
            "another task stands in its place; fire that one",
        );
    }
    if !entry.record.is_valid_at(turn.now) {
        let text = "the task is outside the time it is valid for; write a new one";
        return conflict("task_not_valid", text);
    }
    // When a damaged one is due is not known; it must not slip by.
    let next_due = entry.next_due(&tenant.fate(id));
    if entry.task.is_some() && next_due.is_none_or(|due| turn.now < due) {
        return conflict(
            "task_not_due",
            "the task is not due; list due tasks and fire one of them",
        );
    }
    let read = turn.verified(&key.tenant, &entry)?;
    let (lineage, content) = match read {
        Ok(read) => {
            let content =
                Content::decode(entry.record.kind, &read.bytes).map_err(|e| internal(&e))?;
            (Lineage::Intact, Some(content))
        }
        // With the gates off nothing is verified: what lies on disk is what runs.
        Err(broken) if turn.core.gates == Gates::Enforce => (Lineage::Broken(broken), None),
        Err(broken) => (Lineage::Broken(broken), unverified(turn, key, &entry)?),
    };
    let facts = facts(
        turn,
        Firing { key, spec },
        &entry,
        content.as_ref(),
        lineage,
    )?;
    Ok(Due {
        entry,
        content,
        facts,
    })
}

/// Whether a task rests on the words of another user than the one it would run for.
fn of_another(entry: &Entry, user: &PrincipalName) -> bool {
    let RootSet::Trusted(roots) = &entry.record.roots else {
        return false;
    };
    roots.as_slice().iter().any(|root| match root {
        TrustRoot::User(of) | TrustRoot::Endorsed { user: of, .. } => of != user,
        TrustRoot::Source(_) => false,
    })
}

/// Reads a content without believing it: for runs in which the gates do not bind.
fn unverified(turn: &mut Turn<'_>, key: &Key, entry: &Entry) -> Result<Option<Content>, Refusal> {
    let bytes = turn
        .core
        .store()?
        .content_unverified(&key.tenant, entry.seq);
    let bytes = bytes.map_err(|e| internal(&e))?;
    Ok(bytes.and_then(|b| Content::decode(entry.record.kind, &b).ok()))
}

fn facts(
    turn: &Turn<'_>,
    firing: Firing<'_>,
    entry: &Entry,
    content: Option<&Content>,
    lineage: Lineage,
) -> Result<Fire, Refusal> {
    let Firing { key, spec } = firing;
    let tenant = turn.tenant(&key.tenant)?;
    let class = tenant.class_today(entry, &spec.user);
    let (mut side_effect, mut covered) = (false, false);
    let mut instruction_like = entry.record.screening.instruction_like;
    if let Some(content) = content {
        if let Some(call) = content.task.as_ref().and_then(|t| t.call.as_ref()) {
            let asking = Session::new(
                SessionId::from_bytes([0; 16]),
                session_spec(entry, spec),
                key.spec.principal.clone(),
                Digest([0; 32]),
                Some(entry.record.id),
            );
            let scene = Scene {
                turn,
                tenant,
                session: &asking,
            };
            (side_effect, covered) = effect_and_coverage(scene, class, call);
        }
        let today =
            crate::screened::screening(turn, &content.screened(), entry.record.origin.channel);
        instruction_like = match (instruction_like, today.map(|s| s.instruction_like)) {
            (Some(a), Some(b)) => Some(a || b),
            (one, other) => one.or(other),
        };
    }
    if turn.core.screener.is_none() {
        instruction_like = None;
    }
    Ok(Fire {
        class,
        lineage,
        instruction_like,
        side_effect,
        covered,
        unverified: turn.core.integrity() == Integrity::Pending,
    })
}

fn session_spec(entry: &Entry, spec: &FireSpec) -> SessionSpec {
    SessionSpec {
        agent: spec.agent.clone(),
        user: spec.user.clone(),
        namespace: entry.record.namespace.clone(),
        mode: SessionMode::Headless,
        observed: true,
    }
}

/// A session opened for a fired task.
struct Run {
    session: SessionOpened,
    payload: String,
    call: Option<CallAnswer>,
}

/// Opens the fresh session, shows the payload, and puts the task's call through the call table.
fn run(
    turn: &mut Turn<'_>,
    firing: Firing<'_>,
    due: &Due,
    content: &Content,
    decision: Decision,
) -> Result<Run, Refusal> {
    let Firing { key, spec } = firing;
    let record = &due.entry.record;
    let mut session = step::open(turn, key, session_spec(&due.entry, spec), Some(record.id))?;
    let class = due.facts.class;
    let broken = matches!(due.facts.lineage, Lineage::Broken(_));
    let class = if broken {
        AuthorityClass::Untrusted
    } else {
        class
    };
    let untrusted = class == AuthorityClass::Untrusted;
    let trusted = class.covers(AuthorityClass::ApprovedSource);
    let item = Exposure {
        kind: "task",
        channel: record.origin.channel,
        class,
        roots: if untrusted {
            RootSet::Untrusted
        } else {
            record.roots.clone()
        },
        entry: Some(due.entry.hash),
        by: Some(record.origin.principal.clone()),
        from: record.origin.locator.to_string(),
        values: values_of(turn, class, &content.text),
        grounds: if trusted {
            "text".to_owned()
        } else {
            String::new()
        },
        alone: false,
        noted: Noted::default(),
        text: content.screened(),
    };
    turn.expose(&key.tenant, session.id, vec![item], None)?;
    let tenant = turn.tenant(&key.tenant)?;
    if let Some(shown) = tenant.sessions.get(&session.id) {
        session.class = shown.class(tenant);
        session.why = shown.why(session.class);
    }
    let at = In {
        key,
        id: session.id,
    };
    let call = match call_of(content) {
        Some(call) => Some(act::propose(
            turn,
            &at,
            Propose {
                call,
                approval: None,
            },
        )?),
        None => None,
    };
    let payload = match decision {
        Decision::PermitLabelled => fenced(&content.text)?,
        _ => content.text.clone(),
    };
    Ok(Run {
        session,
        payload,
        call,
    })
}

fn quarantine_reason(facts: &Fire) -> String {
    match facts.lineage {
        Lineage::Broken(broken) => format!("lineage: {}", broken.name()),
        Lineage::Intact if facts.side_effect => "fire: class 4 with a side effect".to_owned(),
        Lineage::Intact => "fire: class 4 and instruction-like".to_owned(),
    }
}

fn reasons(due: &Due, cell: &FireCell) -> Vec<Reason> {
    let facts = &due.facts;
    let class = facts.class.number();
    let origin = &due.entry.record.origin;
    let place = place_for_model(&origin.locator);
    let from = format!("{} by {} {place}", origin.channel, origin.principal);
    let effect = if facts.side_effect {
        "side_effect"
    } else {
        "reads"
    };
    let mut first = match facts.lineage {
        Lineage::Broken(broken) => reason(
            &format!("fire.broken.{}", broken.name()),
            &format!("{} (written through {})", broken_text(broken), from.trim()),
        ),
        Lineage::Intact => reason(
            &format!("fire.class_{class}.{effect}"),
            &format!(
                "the task is class {class} ({}): it came through {}",
                facts.class,
                from.trim()
            ),
        ),
    };
    first.entries.push(due.entry.record.id);
    let mut out = vec![first];
    if facts.class == AuthorityClass::Untrusted && facts.instruction_like == Some(true) {
        out.push(reason(
            "fire.instruction_like",
            "the text tries to instruct an agent",
        ));
    }
    if facts.unverified && cell.decision == Decision::Ask {
        out.push(reason("integrity.pending", PENDING));
    } else if cell.decision == Decision::Ask {
        out.push(reason(
            "fire.no_mandate",
            "no mandate covers what it does; a person must say",
        ));
    }
    out
}

fn broken_text(broken: Broken) -> &'static str {
    match broken {
        Broken::ContentEdited => "the content is not what was stored",
        Broken::RecordEdited => "the record is not what was stored",
        Broken::ParentMissing => "something it was derived from is gone",
        Broken::ForeignTenant => "something it was derived from belongs to another tenant",
        Broken::Cycle => "it is among its own ancestors",
        Broken::ExposureEdited => "the log of what its session was shown does not match",
        Broken::ClassTooStrong => "it claims more authority than it was derived from",
        Broken::TooLong => "it has too many ancestors to verify",
    }
}
