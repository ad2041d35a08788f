// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions, and one round trip of the model: exposures, recall, calls, results and writes, in
//! order, in one transaction.

use crate::api::{
    CONTENT_BYTES_MAX, Expose, ExposureKind, KeySpec, STEP_OPS_MAX, SessionOpened, SessionSpec,
    SessionView, StepAnswer, StepOp, StepResult,
};
use crate::before::{Noted, Prepared, told};
use crate::counts::Integrity;
use crate::event::Event;
use crate::home::random;
use crate::refusal::{Fault, Refusal};
use crate::session::Session;
use crate::state::{Key, Tenant};
use crate::turn::{Exposure, Turn, VALUES_PER_SHOWN, forbidden, not_found, within};
use crate::{act, recall, result, write};
use ancile_core::{
    AuthorityClass, Channel, Digest, EntryId, FieldName, LOCATOR_BYTES_MAX, PolicyView as _, Role,
    RootSet, SessionId, SessionMode, SourceField, SourceName, SourceState, TenantName, ToolName,
    TrustRoot, class_of,
};
use std::sync::Arc;

/// Opens a session. Only a host's can be observed.
pub(crate) fn open(
    turn: &mut Turn<'_>,
    key: &Key,
    mut spec: SessionSpec,
    task: Option<EntryId>,
) -> Result<SessionOpened, Refusal> {
    match key.spec.role {
        Role::Host => {}
        Role::Scheduler if task.is_some() => {}
        Role::Agent if spec.observed => {
            return Err(forbidden("open an observed session", "the key of a host"));
        }
        // Nobody stands behind an agent's own session to be asked.
        Role::Agent if key.spec.agent.as_ref() == Some(&spec.agent) => {
            spec.mode = SessionMode::Headless;
        }
        _ => {
            return Err(forbidden(
                "open a session",
                "the key of a host, or of the agent that it is for",
            ));
        }
    }
    turn.reach(key, &spec.namespace, false)?;
    let id = turn.fresh(SessionId::at)?;
    let token = format!("ans_{}", Digest(random()?));
    let event = Event::SessionOpened {
        id,
        token: Digest::sha256(token.as_bytes()),
        host: key.spec.principal.clone(),
        agent: spec.agent,
        user: spec.user,
        namespace: spec.namespace,
        interactive: spec.mode == SessionMode::Interactive,
        observed: spec.observed,
        task,
    };
    turn.emit(&key.tenant, &event)?;
    let tenant = turn.tenant(&key.tenant)?;
    let session = tenant
        .sessions
        .get(&id)
        .ok_or_else(|| not_found("session"))?;
    let class = session.class(tenant);
    Ok(SessionOpened {
        id,
        token,
        class,
        why: session.why(class),
    })
}

/// A session as the principal that opened it, or its user, sees it.
pub(crate) fn show(turn: &Turn<'_>, key: &Key, id: &SessionId) -> Result<SessionView, Refusal> {
    let tenant = turn.tenant(&key.tenant)?;
    let session = tenant
        .sessions
        .get(id)
        .ok_or_else(|| not_found("session"))?;
    if !crate::lists::sees(key, session) {
        return Err(not_found("session"));
    }
    Ok(view(session, tenant))
}

/// A session as those who see it are told.
pub(crate) fn view(session: &Session, tenant: &Tenant) -> SessionView {
    let class = session.class(tenant);
    SessionView {
        id: session.id,
        spec: session.spec.clone(),
        task: session.task,
        closed: session.closed,
        class,
        why: session.why(class),
        exposure_root: session.root,
        exposure_len: session.len,
        flagged: session.flagged,
        outstanding: session.outstanding.iter().copied().collect(),
    }
}

/// Closes a session; its texts are forgotten, its commitments stay.
pub(crate) fn close(
    turn: &mut Turn<'_>,
    key: &Key,
    id: &SessionId,
    token: &str,
) -> Result<(), Refusal> {
    turn.session(key, id, token)?;
    forget(turn, &key.tenant, id)
}

/// Closes a session and removes the texts that it kept.
pub(crate) fn forget(
    turn: &mut Turn<'_>,
    tenant: &TenantName,
    id: &SessionId,
) -> Result<(), Refusal> {
    let session = turn.tenant(tenant)?.sessions.get(id).cloned();
    let session = session.ok_or_else(|| not_found("session"))?;
    for seq in &session.text_leaves {
        let removed = turn.core.store()?.remove_content(tenant, *seq);
        removed.map_err(|fault| turn.core.lost(&fault))?;
    }
    turn.emit(tenant, &Event::SessionClosed { id: *id })
}

/// A session that operations run in.
pub(crate) struct In<'k> {
    pub key: &'k Key,
    pub id: SessionId,
}

impl In<'_> {
    pub(crate) fn session(&self, turn: &Turn<'_>) -> Result<Arc<Session>, Refusal> {
        let found = turn.tenant(&self.key.tenant)?.sessions.get(&self.id);
        found.cloned().ok_or_else(|| not_found("session"))
    }
}

/// Runs the operations in order; a refused one takes the whole step back.
pub(crate) fn step(
    turn: &mut Turn<'_>,
    key: &Key,
    id: SessionId,
    token: &str,
    ops: Vec<Prepared>,
) -> Result<StepAnswer, Refusal> {
    let session = turn.session(key, &id, token)?;
    turn.reach(key, &session.spec.namespace, false)?;
    if ops.len() > STEP_OPS_MAX {
        let text = format!(
            "{} operations; limit is {STEP_OPS_MAX}; send several steps",
            ops.len()
        );
        return Err(Refusal::new(Fault::Limit, "too_many_ops", text));
    }
    let at = In { key, id };
    let mut results = Vec::with_capacity(ops.len());
    for (index, op) in ops.into_iter().enumerate() {
        turn.core.serve_reader_meanwhile();
        let result = one(turn, &at, op).map_err(|refusal| Refusal {
            outside: format!("operation {index}: {}", refusal.outside),
            ..refusal
        })?;
        results.push(result);
    }
    let session = at.session(turn)?;
    Ok(StepAnswer {
        results,
        class: session.class(turn.tenant(&key.tenant)?),
        exposure_root: session.root,
        exposure_len: session.len,
        integrity_pending: turn.core.integrity() == Integrity::Pending,
    })
}

fn one(turn: &mut Turn<'_>, at: &In<'_>, (op, noted): Prepared) -> Result<StepResult, Refusal> {
    Ok(match op {
        StepOp::Expose(op) => {
            let first = noted.first().cloned().unwrap_or_default();
            StepResult::Exposed(expose(turn, at, op, first)?, told(at.key, noted))
        }
        StepOp::Recall(op) => StepResult::Recalled(recall::in_session(turn, at, &op)?),
        StepOp::Call(op) => StepResult::Called(act::propose(turn, at, op)?),
        StepOp::Redeem(permit, call) => {
            act::redeem(turn, at, permit, &call)?;
            StepResult::Redeemed
        }
        StepOp::Result(permit, result) => {
            let class = result::take_result(turn, at, (permit, result), &noted)?;
            StepResult::ResultTaken(class, told(at.key, noted))
        }
        StepOp::Write(op) => StepResult::Written(write::write(turn, at.key, Some(at.id), op)?),
    })
}

/// What a reported text counts as.
struct Weight {
    kind: &'static str,
    channel: Channel,
    class: AuthorityClass,
    roots: RootSet,
    /// Whether it may ground at all.
    grounds: bool,
}

/// The channel by which what a host reports came in, by its key alone.
pub(crate) fn channel_of(spec: &KeySpec, op: &Expose) -> Channel {
    let grant = write::grant(spec);
    match op.kind {
        ExposureKind::UserTurn => grant.channel(Some(Channel::User)),
        ExposureKind::SystemPrompt | ExposureKind::ToolList => Channel::Source,
        ExposureKind::Text => grant.channel(op.channel.or(Some(Channel::Unknown))),
        ExposureKind::PeerMessage => Channel::PeerAgent,
    }
}

/// Weighs what a host reports. A tool list counts as approved only if it is, byte for byte, the
/// manifest that the operator set: descriptions from elsewhere are untrusted, and none grounds.
fn weight(turn: &Turn<'_>, at: &In<'_>, op: &Expose) -> Result<Weight, Refusal> {
    let spec = &at.key.spec;
    let tenant = turn.tenant(&at.key.tenant)?;
    let untrusted = |kind, channel| Weight {
        kind,
        channel,
        class: AuthorityClass::Untrusted,
        roots: RootSet::Untrusted,
        grounds: false,
    };
    let channel = channel_of(spec, op);
    Ok(match op.kind {
        ExposureKind::UserTurn => {
            let class = class_of(channel, spec.role, SourceState::None);
            if channel != Channel::User || class == AuthorityClass::Untrusted {
                return Ok(untrusted("unverified_turn", channel));
            }
            let roots = RootSet::new([TrustRoot::User(at.session(turn)?.spec.user.clone())]);
            Weight {
                kind: "user_turn",
                channel,
                class,
                roots,
                grounds: true,
            }
        }
        ExposureKind::SystemPrompt | ExposureKind::ToolList => {
            let field = own_field(spec.principal.as_str(), "system_prompt")?;
            let prompt = op.kind == ExposureKind::SystemPrompt;
            let kind = if prompt { "system_prompt" } else { "tool_list" };
            let class = class_of(Channel::Source, spec.role, tenant.source(&field));
            let known = prompt || op.text == tenant.manifest.json();
            // The approval is of a principal, and outlasts a revoked key: this key must be marked.
            if class == AuthorityClass::Untrusted || !known || !spec.relays_user {
                return Ok(untrusted(kind, channel));
            }
            let roots = RootSet::new([TrustRoot::Source(field)]);
            Weight {
                kind,
                channel,
                class,
                roots,
                grounds: prompt,
            }
        }
        ExposureKind::Text => untrusted("text", channel),
        ExposureKind::PeerMessage => untrusted("peer_message", channel),
    })
}

/// Reports something that was shown, with what screening says of it. Whatever that is, it was
/// shown: nothing is refused for it, and its class is what its origin gives it.
pub(crate) fn expose(
    turn: &mut Turn<'_>,
    at: &In<'_>,
    op: Expose,
    noted: Noted,
) -> Result<AuthorityClass, Refusal> {
    within(&op.text, CONTENT_BYTES_MAX, "text")?;
    within(&op.locator, LOCATOR_BYTES_MAX, "locator")?;
    write::plain(&op.locator)?;
    let session = at.session(turn)?;
    let weight = weight(turn, at, &op)?;
    let class = weight.class;
    let alone = weight.kind == "user_turn";
    let grounds = weight.grounds
        && class.covers(AuthorityClass::ApprovedSource)
        && session.may_ground(alone, None);
    let item = Exposure {
        kind: weight.kind,
        channel: weight.channel,
        class,
        roots: weight.roots,
        entry: None,
        by: None,
        from: op.locator,
        values: values_of(turn, class, &op.text),
        grounds: if grounds {
            "text".to_owned()
        } else {
            String::new()
        },
        alone,
        noted,
        text: op.text,
    };
    turn.expose(&at.key.tenant, at.id, vec![item], None)?;
    Ok(class)
}

/// The tool that a host's own texts stand under.
pub(crate) const HOST_TOOL: &str = "host";

/// The source field of a host's own texts: a source of its own name, which exists when the
/// operator marked the host as one that relays its user.
pub(crate) fn own_field(principal: &str, part: &str) -> Result<SourceField, Refusal> {
    let bad = |e: ancile_core::NameError| Refusal::new(Fault::Malformed, "bad_name", e.to_string());
    Ok(SourceField {
        source: SourceName::new(principal).map_err(bad)?,
        tool: ToolName::new(HOST_TOOL).map_err(bad)?,
        field: FieldName::new(part).map_err(bad)?,
    })
}

/// Keyed hashes of the typed values in a class 4 text.
pub(crate) fn values_of(turn: &Turn<'_>, class: AuthorityClass, text: &str) -> Vec<Digest> {
    if class != AuthorityClass::Untrusted {
        return Vec::new();
    }
    let found = ancile_screen::values(text);
    found
        .iter()
        .take(VALUES_PER_SHOWN)
        .map(|f| turn.value_hash(&f.value))
        .collect()
}
