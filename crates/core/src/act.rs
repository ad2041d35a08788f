// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two act tables, and the permit that only they can make.
//!
//! Every row is printed in `tests/golden/tables.txt`. Decisions are ordered
//! `permit < permit_labelled < ask < deny`.

use crate::{
    AuthorityClass, Coverage, Digest, Grant, Ground, Lineage, MandateId, Micros, SensitiveArg,
};

/// How long a permit can be redeemed, in seconds.
pub const PERMIT_SECONDS: i64 = 30;

/// What may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// Go ahead.
    Permit,
    /// Go ahead; what is read is labelled as data, not as instructions.
    PermitLabelled,
    /// A person must say.
    Ask,
    /// No.
    Deny,
}

impl Decision {
    /// All decisions, most permissive first.
    pub const ALL: [Self; 4] = [Self::Permit, Self::PermitLabelled, Self::Ask, Self::Deny];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::PermitLabelled => "permit_labelled",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Whether the action goes ahead.
    #[must_use]
    pub const fn permits(self) -> bool {
        matches!(self, Self::Permit | Self::PermitLabelled)
    }
}

/// What happens to the entry that fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryEffect {
    /// It stays where it is.
    Keep,
    /// It goes to the quarantine shelf.
    Quarantine,
}

/// One cell of the fire table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FireCell {
    /// What may be done.
    pub decision: Decision,
    /// What happens to the entry.
    pub entry: EntryEffect,
}

const DENY_AND_QUARANTINE: FireCell = FireCell {
    decision: Decision::Deny,
    entry: EntryEffect::Quarantine,
};

const fn keep(decision: Decision) -> FireCell {
    FireCell {
        decision,
        entry: EntryEffect::Keep,
    }
}

/// What the fire table looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fire {
    /// The entry's class today.
    pub class: AuthorityClass,
    /// Its lineage.
    pub lineage: Lineage,
    /// Whether it looks like an instruction; `None` with the detectors off.
    pub instruction_like: Option<bool>,
    /// Whether what it does has a side effect; reading, or notifying its own user on a registered
    /// endpoint, has none.
    pub side_effect: bool,
    /// Whether a mandate covers it.
    pub covered: bool,
    /// Whether the store is not yet compared with its log throughout.
    pub unverified: bool,
}

/// A due task or a context file fires: the fire table. In a store that is not yet compared with its
/// log, what the table would permit with a side effect asks.
#[must_use]
pub const fn fire(f: &Fire) -> FireCell {
    let cell = fire_verified(f);
    if f.unverified && f.side_effect && cell.decision.permits() {
        return keep(Decision::Ask);
    }
    cell
}

const fn fire_verified(f: &Fire) -> FireCell {
    use AuthorityClass::{AgentDerived, ApprovedSource, Untrusted, UserAuthored};
    if let Lineage::Broken(_) = f.lineage {
        return DENY_AND_QUARANTINE;
    }
    match (f.class, f.side_effect) {
        (UserAuthored | ApprovedSource, _) | (AgentDerived, false) => keep(Decision::Permit),
        (AgentDerived, true) if f.covered => keep(Decision::Permit),
        (AgentDerived, true) => keep(Decision::Ask),
        (Untrusted, true) => DENY_AND_QUARANTINE,
        (Untrusted, false) => match f.instruction_like {
            Some(true) => DENY_AND_QUARANTINE,
            Some(false) | None => keep(Decision::PermitLabelled),
        },
    }
}

/// Whether a session's host can put a question to its user at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionMode {
    /// The host opened it as interactive.
    Interactive,
    /// Any other.
    Headless,
}

/// What the call table looks at.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    /// The meet of the session's exposures today; a broken exposure makes it class 4.
    pub class: AuthorityClass,
    /// Whether the tool has side effects; an unknown one has.
    pub side_effect: bool,
    /// The mandates that cover the call.
    pub coverage: &'a Coverage,
    /// The call's sensitive arguments.
    pub sensitive: &'a [SensitiveArg],
    /// The session's grounding set.
    pub grounds: &'a [Ground],
    /// Whether the host can ask.
    pub mode: SessionMode,
    /// Policy: deny where the table would ask in class 4.
    pub deny_class_4: bool,
    /// Whether the store is not yet compared with its log throughout.
    pub unverified: bool,
}

/// What the call table says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallCell {
    /// What may be done.
    pub decision: Decision,
    /// The mandate the permit rests on; its uses are counted.
    pub mandate: Option<MandateId>,
}

const fn without_mandate(decision: Decision) -> CallCell {
    CallCell {
        decision,
        mandate: None,
    }
}

/// A session proposes a call: the call table. In a store that is not yet compared with its log,
/// what the table would permit with a side effect asks.
#[must_use]
pub fn call(f: &CallFacts<'_>) -> CallCell {
    let cell = call_verified(f);
    if f.unverified && f.side_effect && cell.decision.permits() {
        return without_mandate(Decision::Ask);
    }
    cell
}

fn call_verified(f: &CallFacts<'_>) -> CallCell {
    use AuthorityClass::{AgentDerived, ApprovedSource, Untrusted, UserAuthored};
    match (f.class, f.side_effect) {
        (UserAuthored | ApprovedSource, _) | (AgentDerived, false) => {
            without_mandate(Decision::Permit)
        }
        (Untrusted, false) => without_mandate(Decision::PermitLabelled),
        (AgentDerived, true) => {
            match f.coverage.grants.iter().find(|g| f.class.covers(g.weakest)) {
                Some(grant) => permit_under(grant),
                None => without_mandate(Decision::Ask),
            }
        }
        (Untrusted, true) => match f.coverage.grants.iter().find(|g| covers_untrusted(g, f)) {
            Some(grant) => permit_under(grant),
            None if f.mode == SessionMode::Interactive && !f.deny_class_4 => {
                without_mandate(Decision::Ask)
            }
            None => without_mandate(Decision::Deny),
        },
    }
}

const fn permit_under(grant: &Grant) -> CallCell {
    CallCell {
        decision: Decision::Permit,
        mandate: Some(grant.mandate),
    }
}

/// Whether a mandate carries a call out of a class 4 session: it says class 4, and every sensitive
/// argument is fixed by it or grounded, all in one and the same ground. With no sensitive argument
/// it must fix all of them.
fn covers_untrusted(grant: &Grant, f: &CallFacts<'_>) -> bool {
    if grant.weakest != AuthorityClass::Untrusted {
        return false;
    }
    if f.sensitive.is_empty() {
        return grant.fixes_all;
    }
    grounded(f.sensitive, grant, f.grounds)
}

/// Whether every sensitive argument is fixed by the mandate, or named, all of the others together,
/// by one and the same ground.
#[must_use]
pub fn grounded(sensitive: &[SensitiveArg], grant: &Grant, grounds: &[Ground]) -> bool {
    let open = || {
        sensitive
            .iter()
            .filter(|arg| !grant.fixed.contains(&arg.name))
    };
    open().next().is_none()
        || grounds
            .iter()
            .any(|ground| open().all(|arg| ground.names(arg)))
}

/// What a permit is bound to. A change in any of them voids it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PermitBinding {
    /// Digest of the call.
    pub call: Digest,
    /// Digest of the tool manifest.
    pub manifest: Digest,
    /// The policy epoch.
    pub policy_epoch: u64,
    /// Root of the session's exposure log.
    pub session_root: Digest,
}

/// A call that passed the act gate. Single use; only [`permit`] makes it.
#[derive(Debug, PartialEq, Eq)]
pub struct PermittedCall {
    binding: PermitBinding,
    expires: Micros,
}

/// Why a permit was not redeemed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RedeemRefusal {
    /// Its time is over.
    Expired,
    /// The call is another one.
    OtherCall,
    /// The manifest changed.
    ManifestChanged,
    /// The policy changed, a revocation included.
    PolicyChanged,
    /// The session was shown something since.
    SessionMoved,
}

impl RedeemRefusal {
    /// The stable code on the wire.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Expired => "permit_expired",
            Self::OtherCall => "permit_other_call",
            Self::ManifestChanged => "permit_manifest_changed",
            Self::PolicyChanged => "permit_policy_changed",
            Self::SessionMoved => "permit_session_moved",
        }
    }
}

/// Makes the permit of a cell that permits; nothing for one that does not.
#[must_use]
pub fn permit(cell: &CallCell, binding: PermitBinding, now: Micros) -> Option<PermittedCall> {
    let expires = now.plus_seconds(PERMIT_SECONDS);
    cell.decision
        .permits()
        .then_some(PermittedCall { binding, expires })
}

/// Makes the permit for a call whose exact digest a person approved once.
#[must_use]
pub fn permit_approved(
    approved: &Digest,
    binding: PermitBinding,
    now: Micros,
) -> Option<PermittedCall> {
    let expires = now.plus_seconds(PERMIT_SECONDS);
    (*approved == binding.call).then_some(PermittedCall { binding, expires })
}

impl PermittedCall {
    /// The first moment at which it can no longer be redeemed.
    #[must_use]
    pub fn expires(&self) -> Micros {
        self.expires
    }

    /// Uses the permit up for the call that is about to be made.
    ///
    /// # Errors
    /// [`RedeemRefusal`] says which binding no longer holds. The permit is used up either way.
    pub fn redeem(self, today: &PermitBinding, now: Micros) -> Result<(), RedeemRefusal> {
        if now >= self.expires {
            return Err(RedeemRefusal::Expired);
        }
        let b = &self.binding;
        match () {
            () if b.call != today.call => Err(RedeemRefusal::OtherCall),
            () if b.manifest != today.manifest => Err(RedeemRefusal::ManifestChanged),
            () if b.policy_epoch != today.policy_epoch => Err(RedeemRefusal::PolicyChanged),
            () if b.session_root != today.session_root => Err(RedeemRefusal::SessionMoved),
            () => Ok(()),
        }
    }
}
