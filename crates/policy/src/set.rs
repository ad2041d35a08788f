// SPDX-License-Identifier: MIT OR Apache-2.0
//! The mandates of one tenant, and which of them cover a call.

use crate::{
    CheckedArg, CheckedCall, Mandate,
    cedar::{self, Facts},
    parsed::Parsed,
};
use ancile_core::{
    AuthorityClass, Coverage, FieldName, Grant, MandateId, Micros, PrincipalName, ToolName,
};
use cedar_policy::{Authorizer, Decision, Entities, Request, RestrictedExpression};
use std::collections::{BTreeMap, BTreeSet};

/// The mandates of one tenant by agent and tool, each in the order they were granted.
#[derive(Debug, Clone, Default)]
pub struct MandateSet {
    by_agent: BTreeMap<PrincipalName, BTreeMap<ToolName, Vec<Mandate>>>,
    places: BTreeMap<MandateId, (PrincipalName, ToolName)>,
}

/// One agent has [`MANDATES_MAX`] mandates for one tool already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "agent `{agent}` has {MANDATES_MAX} mandates for tool `{tool}`, which is the limit; revoke one"
)]
pub struct SetFull {
    /// The agent.
    pub agent: PrincipalName,
    /// The tool.
    pub tool: ToolName,
}

/// Who calls, when, at what class.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    /// The agent.
    pub agent: &'a PrincipalName,
    /// The session's user; mandates of other users do not cover.
    pub user: &'a PrincipalName,
    /// The moment.
    pub now: Micros,
    /// The class the call is judged at.
    pub class: AuthorityClass,
    /// How often a mandate was used before, read in the transaction that counts this use.
    pub uses: &'a dyn Fn(MandateId) -> u32,
}

/// Which mandates cover a call, and why the others do not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoverageAnswer {
    /// Those that cover it, in the order they were granted.
    pub coverage: Coverage,
    /// Each other mandate of the agent for the tool with its first reason, in the same order.
    pub near_misses: Vec<(MandateId, MissReason)>,
}

/// Why a mandate does not cover a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissReason {
    /// It was granted by another user.
    #[error("it was granted by another user")]
    OtherUser,
    /// The tool is no longer what it was when the mandate was made.
    #[error("the tool changed since it was granted; grant it anew")]
    ToolChanged,
    /// It does not hold yet.
    #[error("it is not valid yet")]
    NotYetValid,
    /// It no longer holds.
    #[error("it has expired")]
    Expired,
    /// Its uses are used up.
    #[error("its {max} uses are used up")]
    UsedUp {
        /// How many it had.
        max: u32,
    },
    /// The call is judged at a weaker class than it covers.
    #[error("it covers class {weakest} at the weakest; the call is judged at {class}")]
    Class {
        /// The weakest class it covers.
        weakest: AuthorityClass,
        /// The class of the call.
        class: AuthorityClass,
    },
    /// An argument that it fixes is absent, empty, or has another value.
    #[error("argument `{arg}` does not have a value that it fixes")]
    Fixed {
        /// The argument.
        arg: FieldName,
    },
    /// An argument has a value that no policy can be shown.
    #[error("argument `{arg}` has a value that cannot be read as its kind")]
    Unreadable {
        /// The argument.
        arg: FieldName,
    },
    /// The lists of the call combine in more than [`COMBINATIONS_MAX`] ways.
    #[error("the lists of the call combine in over {COMBINATIONS_MAX} ways; split the call")]
    TooManyCombinations,
    /// Its policy does not hold, for at least one element where there are lists.
    #[error("its conditions do not hold")]
    Condition,
    /// Its policy could not be evaluated.
    #[error("its conditions could not be evaluated: {fault}")]
    Evaluation {
        /// What Cedar says.
        fault: String,
    },
}

impl MandateSet {
    /// A set with no mandate in it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a mandate in. One of the same id goes; where it was for the same agent and tool, the
    /// new one takes its place in the order.
    ///
    /// # Errors
    /// [`SetFull`] at [`MANDATES_MAX`] mandates of one agent for one tool; nothing has changed.
    pub fn insert(&mut self, mandate: Mandate) -> Result<(), SetFull> {
        let (id, draft) = (mandate.id(), mandate.draft());
        let place = (draft.agent.clone(), draft.tool.clone());
        let mandates = self.mandates(&place.0, &place.1);
        if let Some(at) = mandates.iter().position(|old| old.id() == id) {
            self.mandates_mut(&place).splice(at..=at, [mandate]);
            return Ok(());
        }
        if mandates.len() >= MANDATES_MAX {
            let (agent, tool) = place;
            return Err(SetFull { agent, tool });
        }
        self.remove(id);
        self.mandates_mut(&place).push(mandate);
        self.places.insert(id, place);
        Ok(())
    }

    /// Takes a mandate out, as when it is revoked.
    pub fn remove(&mut self, id: MandateId) -> Option<Mandate> {
        let place = self.places.remove(&id)?;
        let mandates = self.mandates_mut(&place);
        let at = mandates.iter().position(|mandate| mandate.id() == id)?;
        Some(mandates.remove(at))
    }

    /// The mandate of this id.
    #[must_use]
    pub fn get(&self, id: MandateId) -> Option<&Mandate> {
        let (agent, tool) = self.places.get(&id)?;
        let mut mandates = self.mandates(agent, tool).iter();
        mandates.find(|mandate| mandate.id() == id)
    }

    fn mandates(&self, agent: &PrincipalName, tool: &ToolName) -> &[Mandate] {
        self.by_agent
            .get(agent)
            .and_then(|tools| tools.get(tool))
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    fn mandates_mut(&mut self, (agent, tool): &(PrincipalName, ToolName)) -> &mut Vec<Mandate> {
        let tools = self.by_agent.entry(agent.clone()).or_default();
        tools.entry(tool.clone()).or_default()
    }

    /// All mandates: by agent, then tool, then in the order they were granted.
    pub fn iter(&self) -> impl Iterator<Item = &Mandate> {
        self.by_agent
            .values()
            .flat_map(BTreeMap::values)
            .flat_map(|mandates| mandates.iter())
    }

    /// Which mandates cover a call. Nothing is counted here.
    #[must_use]
    pub fn coverage(&self, call: &CheckedCall<'_>, ctx: &CallContext<'_>) -> CoverageAnswer {
        let mut candidates: Vec<Candidate<'_>> = self
            .mandates(ctx.agent, &call.tool().name)
            .iter()
            .map(|mandate| Candidate::new(mandate, call, ctx))
            .collect();
        evaluate(&mut candidates, call, ctx);
        let mut answer = CoverageAnswer::default();
        for Candidate { mandate, miss, .. } in candidates {
            match miss {
                Some(reason) => answer.near_misses.push((mandate.id(), reason)),
                None => answer.coverage.grants.push(grant(mandate, call)),
            }
        }
        answer
    }
}

/// A mandate under examination; it covers unless something is found.
struct Candidate<'a> {
    mandate: &'a Mandate,
    uses: u32,
    miss: Option<MissReason>,
}

impl<'a> Candidate<'a> {
    fn new(mandate: &'a Mandate, call: &CheckedCall<'_>, ctx: &CallContext<'_>) -> Self {
        let uses = (ctx.uses)(mandate.id());
        Self {
            mandate,
            uses,
            miss: structural_miss(mandate, call, ctx, uses),
        }
    }

    /// How often it was used, where its policy can see that: all others can share one request.
    const fn uses_seen(&self) -> u32 {
        if self.mandate.sees_uses() {
            self.uses
        } else {
            0
        }
    }

    /// Evaluates the policy; anything but a clean permit is a miss.
    fn judge(&mut self, request: &Result<Request, String>, authorizer: &Authorizer) {
        let request = match request {
            Ok(request) => request,
            Err(fault) => {
                let fault = fault.clone();
                self.miss = Some(MissReason::Evaluation { fault });
                return;
            }
        };
        let policies = self.mandate.policies();
        let response = authorizer.is_authorized(request, policies, &Entities::empty());
        let fault = response
            .diagnostics()
            .errors()
            .next()
            .map(|f| cedar::report(f));
        self.miss = match (fault, response.decision()) {
            (Some(fault), _) => Some(MissReason::Evaluation { fault }),
            (None, Decision::Deny) => Some(MissReason::Condition),
            (None, Decision::Allow) => None,
        };
    }
}

/// The first condition beside the policy that does not hold.
fn structural_miss(
    mandate: &Mandate,
    call: &CheckedCall<'_>,
    ctx: &CallContext<'_>,
    uses: u32,
) -> Option<MissReason> {
    let draft = mandate.draft();
    if draft.user != *ctx.user {
        return Some(MissReason::OtherUser);
    }
    if mandate.tool_digest() != call.tool().digest() {
        return Some(MissReason::ToolChanged);
    }
    if ctx.now < draft.not_before {
        return Some(MissReason::NotYetValid);
    }
    if ctx.now >= draft.not_after {
        return Some(MissReason::Expired);
    }
    if let Some(max) = draft.uses_max.filter(|max| uses >= *max) {
        return Some(MissReason::UsedUp { max });
    }
    if !ctx.class.covers(draft.weakest) {
        return Some(MissReason::Class {
            weakest: draft.weakest,
            class: ctx.class,
        });
    }
    let differs = mandate
        .fixed()
        .keys()
        .find(|arg| !is_fixed(mandate, arg, call.arg(arg)));
    if let Some(arg) = differs {
        return Some(MissReason::Fixed { arg: arg.clone() });
    }
    let mut args = call.args();
    args.find(|(_, arg)| arg.elements().iter().any(|e| e.parsed().is_none()))
        .map(|(arg, _)| MissReason::Unreadable { arg: arg.clone() })
}

/// Whether the mandate fixes the argument and the call gives it only values of that set.
fn is_fixed(mandate: &Mandate, name: &FieldName, arg: Option<&CheckedArg>) -> bool {
    let elements = arg.map(CheckedArg::elements).unwrap_or_default();
    mandate.fixed().get(name).is_some_and(|values| {
        !elements.is_empty()
            && elements
                .iter()
                .all(|e| e.canonical().is_some_and(|value| values.contains(value)))
    })
}

/// Evaluates the policies of those not missed yet, once for each combination of list elements.
fn evaluate(candidates: &mut [Candidate<'_>], call: &CheckedCall<'_>, ctx: &CallContext<'_>) {
    let mut open: Vec<_> = candidates.iter_mut().filter(|c| c.miss.is_none()).collect();
    if open.is_empty() {
        return;
    }
    let Some(combinations) = Combinations::new(call) else {
        for candidate in open {
            candidate.miss = Some(MissReason::TooManyCombinations);
        }
        return;
    };
    let authorizer = Authorizer::new();
    let now = cedar::moment(ctx.now);
    for args in combinations {
        let args = cedar::record(&args);
        let mut requests = Requests {
            shared: args.as_ref().and_then(|args| Ok((args, now.as_ref()?))),
            call,
            class: ctx.class,
            made: BTreeMap::new(),
        };
        for candidate in &mut open {
            let request = requests.of(candidate.mandate, candidate.uses_seen());
            candidate.judge(request, &authorizer);
        }
        open.retain(|candidate| candidate.miss.is_none());
    }
}

/// The requests of one combination, one for each count of uses.
struct Requests<'a> {
    shared: Result<(&'a RestrictedExpression, &'a RestrictedExpression), &'a String>,
    call: &'a CheckedCall<'a>,
    class: AuthorityClass,
    made: BTreeMap<u32, Result<Request, String>>,
}

impl Requests<'_> {
    /// The request for a mandate of the call's agent and tool.
    ///
    /// INVARIANT: the requests of one combination differ in one number only, so that once one has
    /// passed the schema, the others do.
    fn of(&mut self, mandate: &Mandate, uses: u32) -> &Result<Request, String> {
        let (shared, call, class) = (self.shared, self.call, self.class);
        let passed = self.made.values().any(Result::is_ok);
        self.made.entry(uses).or_insert_with(|| {
            let (args, now) = shared.map_err(String::clone)?;
            let facts = Facts {
                args,
                now,
                class,
                uses,
            };
            let schema = (!passed).then(|| call.tool().schema());
            cedar::request(mandate.scope(), schema, &facts)
        })
    }
}

/// Every way to take one element of each argument that has any, counted like an odometer.
struct Combinations<'a> {
    args: Vec<(&'a str, Vec<&'a Parsed>)>,
    next: usize,
    count: usize,
}

impl<'a> Combinations<'a> {
    /// `None` where there are more than [`COMBINATIONS_MAX`].
    fn new(call: &'a CheckedCall<'_>) -> Option<Self> {
        let given = call.args().filter(|(_, arg)| !arg.elements().is_empty());
        let args: Vec<_> = given
            .map(|(name, arg)| {
                let values = arg.elements().iter().filter_map(|e| e.parsed());
                (name.as_str(), values.collect::<Vec<_>>())
            })
            .collect();
        let count = args
            .iter()
            .try_fold(1usize, |n, (_, values)| n.checked_mul(values.len()))
            .filter(|count| *count <= COMBINATIONS_MAX)?;
        Some(Self {
            args,
            next: 0,
            count,
        })
    }
}

impl<'a> Iterator for Combinations<'a> {
    type Item = Vec<(&'a str, &'a Parsed)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.count {
            return None;
        }
        let mut rest = self.next;
        self.next = self.next.saturating_add(1);
        let mut pick = |(name, values): &(&'a str, Vec<&'a Parsed>)| {
            let at = rest.checked_rem(values.len())?;
            rest = rest.checked_div(values.len())?;
            values.get(at).map(|value| (*name, *value))
        };
        self.args.iter().map(&mut pick).collect()
    }
}

fn grant(mandate: &Mandate, call: &CheckedCall<'_>) -> Grant {
    let fixed: BTreeSet<Box<str>> = call
        .args()
        .filter(|(name, arg)| is_fixed(mandate, name, Some(arg)))
        .map(|(name, _)| name.as_str().into())
        .collect();
    Grant {
        mandate: mandate.id(),
        weakest: mandate.draft().weakest,
        fixes_all: fixed.len() == call.args().count(),
        fixed,
    }
}

/// Most ways in which the list elements of one call combine. Each costs one evaluation a mandate.
pub const COMBINATIONS_MAX: usize = 256;
/// Most mandates of one agent for one tool.
pub const MANDATES_MAX: usize = 256;
