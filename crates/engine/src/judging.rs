// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stage 4 of screening: which writes are judged, how they are held until then, and what follows.
//!
//! A write that is to be judged is stored and answered at once, and a `pending` event in its
//! transaction holds it: it is not recalled, fires nothing, grounds nothing and replaces nothing.
//! Threads beside the writer ask the judge; the verdict is a `judged` event, written like any
//! other. What is pending follows from the log, so that no restart loses it.

mod queue;
mod threads;

pub(crate) use queue::{Held, Queue};
pub(crate) use threads::Judges;

use crate::api::Gates;
use crate::config::{JudgeConfig, JudgeFailure};
use crate::content::Content;
use crate::event::Event;
use crate::refusal::{Fault, Refusal};
use crate::state::{Shelf, State};
use crate::turn::{Turn, internal};
use crate::write::Standing;
use ancile_core::{AuthorityClass, Channel, EntryId, Micros, NamespaceName, Role, TenantName};
use ancile_screen::{JudgeId, Score, Screener, Verdict};
use std::sync::Arc;

/// Rule id of an entry that a judge's score put on the shelf.
const RULE_ESCALATED: &str = "judge.escalated";
/// Rule id of one that went there since there was no score.
const RULE_FAILED: &str = "judge.failed";
/// Failure of a judge that panicked.
const PANICKED: &str = "panicked";
/// Failure where the time limit was over.
const TIMED_OUT: &str = "timed_out";
/// Failure where the store was opened without a judge.
const NO_JUDGE: &str = "no_judge";
/// Failure where the entry does not hold, so that there was nothing to judge.
const BROKEN: &str = "broken";
/// Most verdicts in one job without a judge.
const WITHOUT_AT_ONCE: usize = 256;

/// What became of an entry that was held for a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Name and version of the judge; `None` where there was none to ask.
    pub judge: Option<String>,
    /// Its score, per mille; `None` where it gave none.
    pub score: Option<u16>,
    /// What followed for the content.
    pub verdict: Verdict,
    /// Why there is no score: a stable name.
    pub failure: Option<String>,
    /// When.
    pub at: Micros,
}

impl Judgement {
    /// Why the entry went to the shelf, if it did. The score is not in it: agents read reasons.
    pub(crate) fn shelf(&self) -> Option<Shelf> {
        let (reason, rule) = match &self.failure {
            _ if self.verdict < Verdict::Quarantine => return None,
            None => ("judge at write".to_owned(), RULE_ESCALATED),
            Some(failure) => (format!("judge at write: no score ({failure})"), RULE_FAILED),
        };
        Some(Shelf {
            reason,
            rules: vec![rule.to_owned()],
            at: self.at,
            parts: Vec::new(),
        })
    }
}

/// What the writer has of it.
pub(crate) struct Judging {
    config: JudgeConfig,
    pub(crate) queue: Arc<Queue>,
    /// What the open group holds; some of it may have been taken back.
    fresh: Vec<Held>,
}

impl Judging {
    pub(crate) fn new(config: &JudgeConfig) -> Self {
        Self {
            config: config.clone(),
            queue: Arc::new(Queue::new(config.threads.get())),
            fresh: Vec::new(),
        }
    }

    /// The group was committed: what it holds can be asked about.
    pub(crate) fn committed(&mut self) {
        self.queue.push(self.fresh.drain(..));
    }

    /// Begins with what an opened store holds.
    pub(crate) fn refill(&mut self, state: &State) {
        self.fresh.clear();
        if self.config.judge.is_some() {
            self.queue.push(state.pending());
        }
    }
}

/// Whether a content is to be judged before it is used. A user's own words never are; nothing is
/// without a judge, with the detectors off, or where the gates do not enforce.
///
/// Judged is what is class 4 or of no known channel, what stage 3 found something in, and whatever
/// is written where two users read.
pub(crate) fn wanted(
    turn: &Turn<'_>,
    tenant: &TenantName,
    standing: &Standing,
    (namespace, flagged): (&NamespaceName, bool),
) -> Result<bool, Refusal> {
    let judged = turn.core.judging.config.judge.is_some()
        && turn.core.gates == Gates::Enforce
        && standing.channel != Channel::User;
    let foreign =
        standing.class == AuthorityClass::Untrusted || standing.channel == Channel::Unknown;
    Ok(judged && (foreign || flagged || is_shared(turn, tenant, namespace)?))
}

/// Whether the keys of two users read a namespace.
fn is_shared(turn: &Turn<'_>, tenant: &TenantName, name: &NamespaceName) -> Result<bool, Refusal> {
    let namespace = turn.tenant(tenant)?.namespaces.get(name);
    let readers = namespace.map_or(&[][..], |n| n.readers.as_slice());
    let keys = turn.core.state.keys.values().filter(|key| {
        let spec = &key.spec;
        key.tenant == *tenant
            && spec.role == Role::User
            && spec.namespaces.contains(name)
            && (readers.is_empty() || readers.contains(&spec.principal))
            && key.works_at(turn.now)
    });
    let mut users = keys.map(|key| &key.spec.principal);
    let first = users.next();
    Ok(users.any(|user| Some(user) != first))
}

/// Holds an entry just written until it is judged.
pub(crate) fn hold(turn: &mut Turn<'_>, tenant: &TenantName, id: &EntryId) -> Result<(), Refusal> {
    let most = turn.core.judging.config.pending_max.get();
    let waiting = turn.tenant(tenant)?.pending.size();
    if u32::try_from(waiting).map_or(true, |waiting| waiting >= most) {
        let text = format!(
            "{waiting} writes wait for the judge; limit is {most}; nothing of this request was \
             kept; send it again later, or less at a time"
        );
        return Err(Refusal::new(Fault::Limit, "judge_busy", text));
    }
    let event = Event::Pending {
        entry: *id,
        at: turn.now,
    };
    turn.emit(tenant, &event)?;
    turn.core.judging.fresh.push((tenant.clone(), *id));
    Ok(())
}

/// What a judge is to be asked about.
pub(crate) enum Asked {
    /// A content, without the parts of its text that are on the shelf by themselves.
    Content {
        text: String,
        channel: Channel,
        screener: Option<Arc<Screener>>,
    },
    /// The entry does not hold.
    Broken,
    /// It is not held any more: a person, an erasure or a verdict came first.
    Moot,
}

/// What is to be asked about a held entry.
pub(crate) fn asked(turn: &mut Turn<'_>, (tenant, id): &Held) -> Result<Asked, Refusal> {
    if !is_held(turn, tenant, id) {
        return Ok(Asked::Moot);
    }
    let Some(entry) = turn.entry_by_id(tenant, id)? else {
        return Ok(Asked::Broken);
    };
    let Ok(read) = turn.verified(tenant, &entry)? else {
        return Ok(Asked::Broken);
    };
    let content = Content::decode(entry.record.kind, &read.bytes).map_err(|e| internal(&e))?;
    let parts = turn.tenant(tenant)?.withheld_parts(id);
    let text = match parts {
        [] => content.screened(),
        parts => ancile_screen::without(&content.screened(), parts),
    };
    Ok(Asked::Content {
        text,
        channel: entry.record.origin.channel,
        screener: turn.core.screener.clone(),
    })
}

fn is_held(turn: &Turn<'_>, tenant: &TenantName, id: &EntryId) -> bool {
    let tenant = turn.core.state.tenants.get(tenant);
    tenant.is_some_and(|t| t.pending.contains_key(id))
}

/// What a judge answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Score(Score),
    /// It gave no score: a stable name.
    Failed(&'static str),
}

/// Lets a verdict follow, if the entry is still held.
pub(crate) fn settle(
    turn: &mut Turn<'_>,
    (tenant, id): &Held,
    judge: Option<&JudgeId>,
    outcome: Outcome,
) -> Result<(), Refusal> {
    if !is_held(turn, tenant, id) {
        return Ok(());
    }
    let config = &turn.core.judging.config;
    let (score, verdict, failure) = match outcome {
        Outcome::Score(score) => {
            let verdict = config.thresholds.verdict(score);
            (Some(score.per_mille()), verdict, None)
        }
        Outcome::Failed(failure) => {
            let falls_back = config.on_failure == JudgeFailure::FallBack && failure != BROKEN;
            let verdict = match falls_back {
                true => Verdict::Flag,
                false => Verdict::Quarantine,
            };
            tracing::warn!(%tenant, entry = %id, failure, %verdict, "a write got no score");
            (None, verdict, Some(failure.to_owned()))
        }
    };
    let event = Event::Judged {
        entry: *id,
        judge: judge.map(ToString::to_string),
        score,
        verdict,
        failure,
        at: turn.now,
    };
    turn.emit(tenant, &event)
}

/// Lets the failure policy follow for some of what is held, where there is no judge any more; says
/// for how many.
fn settle_without(turn: &mut Turn<'_>) -> Result<usize, Refusal> {
    let some: Vec<Held> = turn.core.state.pending().take(WITHOUT_AT_ONCE).collect();
    for held in &some {
        settle(turn, held, None, Outcome::Failed(NO_JUDGE))?;
    }
    Ok(some.len())
}
