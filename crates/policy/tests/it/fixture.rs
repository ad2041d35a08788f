// SPDX-License-Identifier: MIT OR Apache-2.0
//! One manifest, one plain canonicaliser, and the shortest way to a call and a mandate.

use ancile_core::{
    ArgKind, AuthorityClass, CanonicalValue, FieldName, MandateId, Micros, PrincipalName,
    ProposedCall, ToolName, Value,
};
use ancile_policy::{
    CallContext, Canonicalise, CheckedCall, CoverageAnswer, GrantFlags, Grantor, Mandate,
    MandateDraft, MandateError, MandateSet, Manifest, MissReason, grant,
};
use std::collections::{BTreeMap, BTreeSet};

pub const MANIFEST: &str = r#"{"version":1,"tools":[
 {"name":"send_email","effect":"external","args":{
   "to":{"kind":"email","list":true,"required":true},
   "cc":{"kind":"email","list":true},
   "subject":{"kind":"free"},"body":{"kind":"free"}},"results":{"id":"free"}},
 {"name":"pay","effect":"external","args":{
   "account":{"kind":"account","required":true},
   "amount":{"kind":"amount","required":true},
   "memo":{"kind":"free"}}},
 {"name":"fetch","effect":"external","args":{
   "url":{"kind":"url","required":true},"host":{"kind":"host"}}},
 {"name":"save","effect":"write","args":{
   "path":{"kind":"path","required":true},"options":{"kind":"free"},
   "key":{"kind":"secret"},"due":{"kind":"date"}}},
 {"name":"search","effect":"read_only","args":{"query":{"kind":"free"},"from":{"kind":"email"}}},
 {"name":"log_out","effect":"write"}
]}"#;

/// 2026-06-01T00:00:00Z.
pub const NOW: Micros = Micros(1_780_272_000_000_000);
/// 2027-01-01T00:00:00Z.
pub const NEW_YEAR: Micros = Micros(1_798_761_600_000_000);
pub const DAY: i64 = 86_400_000_000;

/// Trims, and lowers case where the kind allows; refuses what is visibly no such value.
pub struct Plain;

impl Canonicalise for Plain {
    fn canonical(&self, kind: ArgKind, text: &str) -> Option<CanonicalValue> {
        let text = text.trim();
        let text = match kind {
            ArgKind::Email => {
                let (local, domain) = text.rsplit_once('@')?;
                format!("{local}@{}", domain.to_lowercase())
            }
            ArgKind::Host => text.to_lowercase(),
            ArgKind::Account => text.replace(' ', "").to_uppercase(),
            ArgKind::Date if !text.starts_with("20") => return None,
            _ => text.to_owned(),
        };
        Some(CanonicalValue {
            kind,
            bytes: text.into_bytes().into(),
        })
    }
}

pub fn manifest() -> Manifest {
    Manifest::parse(MANIFEST).unwrap()
}

pub fn id(n: u8) -> MandateId {
    MandateId::from_bytes([n; 16])
}

pub fn principal(name: &str) -> PrincipalName {
    PrincipalName::new(name).unwrap()
}

pub fn field(name: &str) -> FieldName {
    FieldName::new(name).unwrap()
}

pub fn text(text: &str) -> Value {
    Value::Text(text.into())
}

pub fn number(text: &str) -> Value {
    Value::Number(text.into())
}

pub fn list(items: &[&str]) -> Value {
    Value::List(items.iter().map(|item| text(item)).collect())
}

pub fn call(tool: &str, args: &[(&str, Value)]) -> ProposedCall {
    ProposedCall {
        tool: ToolName::new(tool).unwrap(),
        args: args
            .iter()
            .map(|(name, value)| ((*name).into(), value.clone()))
            .collect(),
    }
}

pub fn checked<'a>(manifest: &'a Manifest, call: &ProposedCall) -> CheckedCall<'a> {
    manifest.check(call, &Plain).unwrap()
}

pub fn email(to: &[&str]) -> ProposedCall {
    call("send_email", &[("to", list(to)), ("body", text("hello"))])
}

/// A mandate of user `ann` for agent `a1` with these `when` conditions.
pub fn draft(tool: &str, when: &str) -> MandateDraft {
    let scope = format!(
        "permit (principal == Agent::\"a1\", action == Action::\"call_tool\", \
         resource == Tool::\"{tool}\")"
    );
    MandateDraft {
        id: id(1),
        user: principal("ann"),
        agent: principal("a1"),
        tool: ToolName::new(tool).unwrap(),
        weakest: AuthorityClass::AgentDerived,
        not_before: Micros(0),
        not_after: NEW_YEAR,
        uses_max: None,
        fixed: BTreeMap::new(),
        cedar: format!("{scope} when {{ {when} }};"),
    }
}

pub fn fixing(mut draft: MandateDraft, arg: &str, values: &[&str]) -> MandateDraft {
    let values = values.iter().map(|v| (*v).to_owned()).collect();
    draft.fixed.insert(field(arg), values);
    draft
}

pub fn parse(draft: MandateDraft) -> Result<Mandate, MandateError> {
    Mandate::parse(draft, &manifest(), &Plain)
}

pub fn mandate(draft: MandateDraft) -> Mandate {
    parse(draft).unwrap()
}

pub fn set(mandates: impl IntoIterator<Item = Mandate>) -> MandateSet {
    let mut set = MandateSet::new();
    for mandate in mandates {
        set.insert(mandate).unwrap();
    }
    set
}

/// Who asks, with what varies in the tests.
#[derive(Debug, Clone)]
pub struct Asker {
    pub agent: PrincipalName,
    pub user: PrincipalName,
    pub now: Micros,
    pub class: AuthorityClass,
    pub uses: u32,
}

pub fn asker() -> Asker {
    Asker {
        agent: principal("a1"),
        user: principal("ann"),
        now: NOW,
        class: AuthorityClass::AgentDerived,
        uses: 0,
    }
}

impl Asker {
    pub fn ask(&self, set: &MandateSet, call: &ProposedCall) -> CoverageAnswer {
        self.ask_in(&manifest(), set, call)
    }

    pub fn ask_in(
        &self,
        manifest: &Manifest,
        set: &MandateSet,
        call: &ProposedCall,
    ) -> CoverageAnswer {
        let ctx = CallContext {
            agent: &self.agent,
            user: &self.user,
            now: self.now,
            class: self.class,
            uses: &|_| self.uses,
        };
        set.coverage(&checked(manifest, call), &ctx)
    }

    /// `None` where the one mandate covers the call, else why it does not.
    pub fn miss(&self, draft: MandateDraft, call: &ProposedCall) -> Option<MissReason> {
        let answer = self.ask(&set([mandate(draft)]), call);
        assert_eq!(
            answer.coverage.grants.len() + answer.near_misses.len(),
            1,
            "each mandate either covers or is a miss"
        );
        answer.near_misses.into_iter().next().map(|(_, why)| why)
    }
}

pub fn miss(draft: MandateDraft, call: &ProposedCall) -> Option<MissReason> {
    asker().miss(draft, call)
}

pub fn flags(tool: &str) -> GrantFlags {
    GrantFlags {
        tool: ToolName::new(tool).unwrap(),
        agent: principal("a1"),
        fixed: BTreeMap::new(),
        allow: BTreeMap::new(),
        amount_max: BTreeMap::new(),
        uses_max: None,
        until: NEW_YEAR,
        weakest: AuthorityClass::AgentDerived,
    }
}

pub fn granted(flags: &GrantFlags) -> Result<MandateDraft, MandateError> {
    let by = Grantor {
        id: id(1),
        user: principal("ann"),
        now: Micros(0),
    };
    grant(flags, &by, &manifest(), &Plain)
}

pub fn names(of: &[&str]) -> BTreeSet<Box<str>> {
    of.iter().map(|name| (*name).into()).collect()
}
