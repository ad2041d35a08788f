// SPDX-License-Identifier: MIT OR Apache-2.0
//! The act gate: proposed calls, permits, and asks that wait for a person.

use crate::api::{
    APPROVAL_SECONDS, ApprovalState, CallAnswer, Gates, OPEN_ASKS_MAX, Propose, Reason,
};
use crate::counts::Integrity;
use crate::event::{Decided, Event, Parked};
use crate::refusal::{Fault, Refusal};
use crate::session::Session;
use crate::state::{ApprovalRow, Tenant};
use crate::step::In;
use crate::turn::{Turn, not_found};
use crate::value_json;
use ancile_core::{
    ApprovalId, AuthorityClass, CallCell, CallFacts, Coverage, Decision, Digest, Grant, Ground,
    MandateId, PermitBinding, PermitId, ProposedCall, SensitiveArg, call, grounded, permit,
    permit_approved,
};
use ancile_policy::{CallContext, CheckedCall, MissReason, SchemaDenial};
use std::collections::BTreeSet;

/// Where a call is proposed.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub turn: &'a Turn<'a>,
    pub tenant: &'a Tenant,
    pub session: &'a Session,
}

/// A call as policy sees it.
struct Weighed {
    sensitive: Vec<SensitiveArg>,
    /// Every argument, sensitive or not: what a result may echo.
    all: Vec<SensitiveArg>,
    side_effect: bool,
    coverage: Coverage,
    misses: Vec<(MandateId, MissReason)>,
    /// The call does not fit the schema: a deny.
    misfit: Option<SchemaDenial>,
    known: bool,
}

/// Decides on a proposed call; a permit, a parked ask, or a deny with reasons.
pub(crate) fn propose(
    turn: &mut Turn<'_>,
    at: &In<'_>,
    op: Propose,
) -> Result<CallAnswer, Refusal> {
    let session = at.session(turn)?;
    let tenant = turn.tenant(&at.key.tenant)?;
    let class = session.class(tenant);
    let scene = Scene {
        turn,
        tenant,
        session: &session,
    };
    let weighed = weigh(scene, class, &op.call);
    let grounds = session.grounds(tenant, &weighed.all);
    let facts = CallFacts {
        class,
        side_effect: weighed.side_effect,
        coverage: &weighed.coverage,
        sensitive: &weighed.sensitive,
        grounds: &grounds,
        mode: session.spec.mode,
        deny_class_4: false,
        unverified: turn.core.integrity() == Integrity::Pending,
    };
    let cell = match weighed.misfit {
        Some(_) => CallCell {
            decision: Decision::Deny,
            mandate: None,
        },
        None => call(&facts),
    };
    let mut reasons = reasons(scene, &weighed, &facts, &cell)?;
    let binding = binding(tenant, &session, &op.call);
    let (mut cell, mut approval) = approved(scene, &op, cell, &mut reasons)?;
    let mut echo = echo(&weighed, &grounds, class);
    let readings = readings(turn, &op.call);
    if readings.len() > ARG_HASHES_MAX {
        // What cannot be kept in mind cannot be recognised when it comes back.
        echo = (AuthorityClass::Untrusted, false);
        if class == AuthorityClass::Untrusted && weighed.side_effect {
            cell = CallCell {
                decision: Decision::Deny,
                mandate: None,
            };
            let text = format!("the arguments name over {ARG_HASHES_MAX} values; send fewer");
            reasons.push(reason("call.too_many_values", &text));
            // What a person approved does not change that; the approval is not used up either.
            approval = None;
        }
    }
    let readings: BTreeSet<Digest> = readings.into_iter().take(ARG_HASHES_MAX).collect();
    let draft = Draft {
        class,
        cell,
        approval,
        binding,
        weighed,
        reasons,
        echo,
        permit: None,
        would_be: None,
        readings: readings.into_iter().collect(),
    };
    conclude(turn, at, &op.call, draft)
}

/// Keyed hashes of everything that the arguments of a call can be read as.
fn readings(turn: &Turn<'_>, call: &ProposedCall) -> BTreeSet<Digest> {
    let mut texts = Vec::new();
    call.args
        .values()
        .for_each(|value| value_json::leaves(value, &mut texts));
    let mut all = BTreeSet::new();
    for text in texts {
        all.extend(turn.readings(&text));
        if all.len() > ARG_HASHES_MAX {
            break;
        }
    }
    all
}

/// Everything about a call before it is logged.
struct Draft {
    class: AuthorityClass,
    cell: CallCell,
    approval: Option<ApprovalId>,
    binding: PermitBinding,
    weighed: Weighed,
    reasons: Vec<Reason>,
    echo: (AuthorityClass, bool),
    permit: Option<PermitId>,
    would_be: Option<Decision>,
    /// Keyed hashes of all that the arguments can be read as.
    readings: Vec<Digest>,
}

fn weigh(scene: Scene<'_>, class: AuthorityClass, call: &ProposedCall) -> Weighed {
    let (turn, tenant, session) = (scene.turn, scene.tenant, scene.session);
    let uses = |id| {
        tenant
            .mandate_rows
            .get(&id)
            .map_or(u32::MAX, |row| row.uses)
    };
    let context = CallContext {
        agent: &session.spec.agent,
        user: &session.spec.user,
        now: turn.now,
        class,
        uses: &uses,
    };
    let mut weighed = Weighed {
        sensitive: Vec::new(),
        all: Vec::new(),
        side_effect: true,
        coverage: Coverage::default(),
        misses: Vec::new(),
        misfit: None,
        known: false,
    };
    match tenant.manifest.check(call, &crate::Canon) {
        Ok(checked) => {
            let answer = tenant.mandates.coverage(&checked, &context);
            weighed.sensitive = checked.sensitive();
            weighed.all = every_arg(&checked);
            weighed.side_effect = checked.tool().effect.has_side_effect();
            weighed.coverage = answer.coverage;
            weighed.misses = answer.near_misses;
            weighed.known = true;
        }
        // A tool that no manifest lists has side effects; no mandate can cover it.
        Err(SchemaDenial::UnknownTool { .. }) => {}
        Err(denial) => weighed.misfit = Some(denial),
    }
    weighed
}

fn every_arg(checked: &CheckedCall<'_>) -> Vec<SensitiveArg> {
    let args = checked.args().map(|(name, arg)| SensitiveArg {
        name: name.as_str().into(),
        elements: arg
            .elements()
            .iter()
            .map(|e| e.canonical().cloned())
            .collect(),
    });
    args.collect()
}

/// Whether a task's or call's tool has a side effect, and whether a mandate covers it.
pub(crate) fn effect_and_coverage(
    scene: Scene<'_>,
    class: AuthorityClass,
    call: &ProposedCall,
) -> (bool, bool) {
    let weighed = weigh(scene, class, call);
    (
        weighed.side_effect,
        weighed.misfit.is_none() && !weighed.coverage.grants.is_empty(),
    )
}

fn binding(tenant: &Tenant, session: &Session, call: &ProposedCall) -> PermitBinding {
    PermitBinding {
        call: call.digest(),
        manifest: tenant.manifest.digest(),
        policy_epoch: tenant.epoch,
        session_root: session.root,
    }
}

/// The class that an echo of the arguments has, and whether they are grounded as a whole.
fn echo(weighed: &Weighed, grounds: &[Ground], class: AuthorityClass) -> (AuthorityClass, bool) {
    let nothing = Grant {
        mandate: MandateId::from_bytes([0; 16]),
        weakest: AuthorityClass::AgentDerived,
        fixed: BTreeSet::new(),
        fixes_all: false,
    };
    let grounded = weighed.known && grounded(&weighed.all, &nothing, grounds);
    match (class, grounded) {
        (AuthorityClass::Untrusted, true) => (AuthorityClass::AgentDerived, true),
        (class, grounded) => (class, grounded),
    }
}

/// Uses an approval given once for exactly this call, if the caller names one.
fn approved(
    scene: Scene<'_>,
    op: &Propose,
    cell: CallCell,
    reasons: &mut Vec<Reason>,
) -> Result<(CallCell, Option<ApprovalId>), Refusal> {
    let (turn, tenant, session) = (scene.turn, scene.tenant, scene.session);
    let Some(id) = op.approval else {
        return Ok((cell, None));
    };
    let row = tenant
        .approvals
        .get(&id)
        .ok_or_else(|| not_found("approval"))?;
    let asked = tenant
        .sessions
        .get(&row.parked.session)
        .ok_or_else(|| not_found("approval"))?;
    let same = asked.host == session.host && asked.spec.namespace == session.spec.namespace;
    if !same || asked.spec.agent != session.spec.agent || asked.spec.user != session.spec.user {
        return Err(not_found("approval"));
    }
    stands(turn, tenant, row)?;
    if row.state != ApprovalState::Approved {
        return Err(Refusal::new(
            Fault::Conflict,
            "approval_not_usable",
            "the approval is not (or no longer) approved; ask again",
        ));
    }
    if row.parked.call.digest() != op.call.digest() {
        return Err(Refusal::new(
            Fault::Conflict,
            "approval_other_call",
            "the approval is for another call; propose exactly the call that was approved",
        ));
    }
    reasons.push(reason(
        "call.approved_once",
        "a person approved exactly this call, once",
    ));
    Ok((
        CallCell {
            decision: Decision::Permit,
            mandate: None,
        },
        Some(id),
    ))
}

/// An ask stands only under the manifest and policy it was made under.
pub(crate) fn stands(turn: &Turn<'_>, tenant: &Tenant, row: &ApprovalRow) -> Result<(), Refusal> {
    if turn.now >= row.parked.expires {
        let text = "the ask has expired; propose the call again";
        return Err(Refusal::new(Fault::Conflict, "approval_expired", text));
    }
    if !row.is_current(tenant) {
        let text = "tools or policy changed since the ask; propose the call again";
        return Err(Refusal::new(Fault::Conflict, "approval_outdated", text));
    }
    Ok(())
}

/// Applies the mode, logs the decision, and makes the permit or parks the ask.
fn conclude(
    turn: &mut Turn<'_>,
    at: &In<'_>,
    proposed: &ProposedCall,
    mut draft: Draft,
) -> Result<CallAnswer, Refusal> {
    let gates = crate::report::gates(turn, &at.key.tenant, &proposed.tool)?;
    let table = draft.cell.decision;
    let session = at.session(turn)?;
    if gates != Gates::Enforce && !table.permits() {
        draft.cell = CallCell {
            decision: Decision::Permit,
            mandate: None,
        };
        if gates == Gates::LogOnly {
            crate::report::not_enforced(turn, at, &proposed.tool, table)?;
        }
    } else if table == Decision::Ask && open_asks(turn, at, &session)? >= OPEN_ASKS_MAX {
        draft.cell.decision = Decision::Deny;
        let text = format!("{OPEN_ASKS_MAX} asks of this session already wait");
        draft.reasons.push(reason("call.too_many_asks", &text));
    }
    let permitted = match draft.approval {
        Some(_) => permit_approved(&proposed.digest(), draft.binding, turn.now),
        None => permit(&draft.cell, draft.binding, turn.now),
    };
    draft.permit = match &permitted {
        Some(_) => Some(turn.fresh(PermitId::at)?),
        None => None,
    };
    draft.would_be = (table != draft.cell.decision && gates != Gates::Enforce).then_some(table);
    let event = decided(turn, at, proposed, &draft);
    turn.emit(&at.key.tenant, &Event::Decided(event))?;
    let permit_expires = permitted.as_ref().map(ancile_core::PermittedCall::expires);
    if let (Some(id), Some(permitted)) = (draft.permit, permitted) {
        turn.core.keep_permit(id, permitted, turn.now);
    }
    let parked = match draft.cell.decision {
        Decision::Ask => Some(park(turn, at, proposed, &draft)?),
        _ => None,
    };
    Ok(CallAnswer {
        decision: draft.cell.decision,
        would_be: draft.would_be,
        digest: draft.binding.call,
        class: draft.class,
        permit: draft.permit,
        permit_expires,
        approval: parked,
        mandate: draft.cell.mandate,
        reasons: draft.reasons,
    })
}

fn decided(turn: &Turn<'_>, at: &In<'_>, proposed: &ProposedCall, draft: &Draft) -> Decided {
    let writes_out = draft.class == AuthorityClass::Untrusted && draft.weighed.side_effect;
    let args = draft.readings.clone();
    Decided {
        session: at.id,
        call: draft.binding.call,
        tool: proposed.tool.clone(),
        class: draft.class,
        decision: draft.cell.decision,
        at: Some(turn.now),
        would_be: draft.would_be,
        permit: draft.permit,
        mandate: draft.cell.mandate,
        approval: draft.approval,
        rules: draft.reasons.iter().map(|r| r.rule.clone()).collect(),
        entries: draft
            .reasons
            .iter()
            .flat_map(|r| r.entries.iter().copied())
            .take(ENTRIES_MAX)
            .collect(),
        screening: turn.screening_version(),
        echo: draft.echo.0,
        grounded: draft.echo.1,
        wrote: if writes_out { args.clone() } else { Vec::new() },
        args,
    }
}

fn open_asks(turn: &Turn<'_>, at: &In<'_>, session: &Session) -> Result<usize, Refusal> {
    let tenant = turn.tenant(&at.key.tenant)?;
    let waiting = |id: &&ApprovalId| {
        tenant
            .approvals
            .get(*id)
            .is_some_and(|r| r.state_at(tenant, turn.now) == ApprovalState::Waiting)
    };
    Ok(session.asks.iter().filter(waiting).count())
}

/// Parks an ask and answers its id at once: a headless run never hangs.
fn park(
    turn: &mut Turn<'_>,
    at: &In<'_>,
    proposed: &ProposedCall,
    draft: &Draft,
) -> Result<ApprovalId, Refusal> {
    let id = turn.fresh(ApprovalId::at)?;
    let parked = Parked {
        id,
        session: at.id,
        call: proposed.clone(),
        class: draft.class,
        rules: draft
            .reasons
            .iter()
            .map(|r| (r.rule.clone(), r.text.clone()))
            .collect(),
        manifest: draft.binding.manifest,
        epoch: draft.binding.policy_epoch,
        at: turn.now,
        expires: turn.now.plus_seconds(APPROVAL_SECONDS),
    };
    turn.emit(&at.key.tenant, &Event::Parked(parked))?;
    Ok(id)
}

/// Uses a permit up, just before its call is made.
pub(crate) fn redeem(
    turn: &mut Turn<'_>,
    at: &In<'_>,
    id: PermitId,
    proposed: &ProposedCall,
) -> Result<(), Refusal> {
    let tenant = turn.tenant(&at.key.tenant)?;
    let row = tenant.permits.get(&id).filter(|row| row.session == at.id);
    let redeemed = row.ok_or_else(|| not_found("permit"))?.redeemed;
    let session = at.session(turn)?;
    if !session.outstanding.contains(&id) {
        let text = "the result of the permit was reported before; propose the call again";
        return Err(Refusal::new(Fault::Conflict, "permit_settled", text));
    }
    let today = binding(turn.tenant(&at.key.tenant)?, &session, proposed);
    let live = turn.core.permits.remove(&id);
    let Some(permitted) = live.filter(|_| !redeemed) else {
        let text = "the permit was used before, or the store restarted; propose the call again";
        return Err(Refusal::new(Fault::Conflict, "permit_used", text));
    };
    match permitted.redeem(&today, turn.now) {
        Ok(()) => turn.emit(&at.key.tenant, &Event::Redeemed { permit: id }),
        Err(refusal) => {
            let text = "the permit no longer holds; propose the call again";
            Err(Refusal::new(Fault::Conflict, refusal.code(), text))
        }
    }
}

pub(crate) fn reason(rule: &str, text: &str) -> Reason {
    Reason {
        rule: rule.to_owned(),
        text: text.to_owned(),
        entries: Vec::new(),
    }
}

/// Why side effects ask for a while.
pub(crate) const PENDING: &str = "the store was opened just now and is not yet compared with its \
                                   log throughout: side effects ask";

/// Why the cell is what it is.
fn reasons(
    scene: Scene<'_>,
    weighed: &Weighed,
    facts: &CallFacts<'_>,
    cell: &CallCell,
) -> Result<Vec<Reason>, Refusal> {
    let Scene { turn, session, .. } = scene;
    let mut out = Vec::new();
    if let Some(denial) = &weighed.misfit {
        out.push(reason(denial.code(), &denial.to_string()));
        return Ok(out);
    }
    let effect = if facts.side_effect {
        "side_effect"
    } else {
        "read_only"
    };
    out.push(Reason {
        rule: format!("call.class_{}.{effect}", facts.class.number()),
        text: class_text(session, facts.class),
        entries: weakest_entries(scene, facts.class)?,
    });
    if !weighed.known {
        out.push(reason(
            "call.unknown_tool",
            "no manifest lists the tool: it has side effects",
        ));
    }
    match cell.mandate {
        Some(mandate) => {
            out.push(reason(
                "call.mandate",
                &format!("mandate {mandate} covers the call"),
            ));
        }
        None if !cell.decision.permits() => {
            out.push(reason(
                "call.no_mandate",
                "no mandate covers the call at this class",
            ));
            // Another user's mandates are nobody's business here.
            let own = weighed
                .misses
                .iter()
                .filter(|(_, m)| !matches!(m, MissReason::OtherUser));
            for (id, miss) in own {
                out.push(reason(
                    "call.mandate_missed",
                    &format!("mandate {id}: {miss}"),
                ));
            }
        }
        None => {}
    }
    if facts.unverified && cell.decision == Decision::Ask {
        out.push(reason("integrity.pending", PENDING));
    }
    if facts.class == AuthorityClass::Untrusted && facts.side_effect && !cell.decision.permits() {
        out.extend(ungrounded(turn, session, facts));
    }
    Ok(out)
}

fn class_text(session: &Session, class: AuthorityClass) -> String {
    let why = session.why(class);
    format!("the session is class {} ({class}): {why}", class.number())
}

fn weakest_entries(
    scene: Scene<'_>,
    class: AuthorityClass,
) -> Result<Vec<ancile_core::EntryId>, Refusal> {
    let (turn, tenant, session) = (scene.turn, scene.tenant, scene.session);
    let mut weakest = Vec::new();
    for hash in session.shown() {
        if weakest.len() == ENTRIES_MAX {
            break;
        }
        if let Some(entry) = turn.entry_by_hash(&tenant.name, hash)?
            && tenant.class_today(&entry, &session.spec.user) == class
        {
            weakest.push(entry.record.id);
        }
    }
    Ok(weakest)
}

/// Names each sensitive argument that no ground names, and says so where only class 4 knows it.
fn ungrounded(turn: &Turn<'_>, session: &Session, facts: &CallFacts<'_>) -> Vec<Reason> {
    let open = facts
        .sensitive
        .iter()
        .filter(|arg| !facts.grounds.iter().any(|g| g.names(arg)));
    open.map(|arg| {
        let hashes = arg.elements.iter().flatten().map(|v| turn.value_hash(v));
        let known = hashes
            .into_iter()
            .any(|h| session.untrusted_values.contains(&h));
        if known {
            let text = format!(
                "the value of `{}` is known only from untrusted content",
                arg.name
            );
            reason("call.value_only_from_class_4", &text)
        } else {
            let text = format!(
                "no user turn or approved source names the value of `{}`",
                arg.name
            );
            reason("call.not_grounded", &text)
        }
    })
    .collect()
}

/// Most determining entries listed with one decision.
const ENTRIES_MAX: usize = 32;
/// Most argument hashes kept with one decision.
const ARG_HASHES_MAX: usize = 384;
