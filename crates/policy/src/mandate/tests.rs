// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the validator rules out cannot be shown from outside: these mandates hold policies that it
//! has not seen.

use super::{Mandate, parse_policy};
use crate::{
    CallContext, Canonicalise, CoverageAnswer, MandateDraft, MandateSet, Manifest, MissReason,
};
use ancile_core::{
    ArgKind, AuthorityClass, CanonicalValue, MandateId, Micros, PrincipalName, ProposedCall,
    ToolName, Value,
};
use cedar_policy::{PolicyId, PolicySet};
use std::collections::BTreeMap;

const SCOPE: &str =
    r#"principal == Agent::"a1", action == Action::"call_tool", resource == Tool::"t""#;

struct Exact;

impl Canonicalise for Exact {
    fn canonical(&self, kind: ArgKind, text: &str) -> Option<CanonicalValue> {
        Some(CanonicalValue {
            kind,
            bytes: text.as_bytes().into(),
        })
    }
}

fn ask(cedar: &[String]) -> CoverageAnswer {
    let manifest = Manifest::parse(
        r#"{"version":1,"tools":[{"name":"t","effect":"write","args":{
            "x":{"kind":"free"},"n":{"kind":"amount"}}}]}"#,
    )
    .unwrap();
    let (agent, user) = (
        PrincipalName::new("a1").unwrap(),
        PrincipalName::new("u").unwrap(),
    );
    let tool = ToolName::new("t").unwrap();
    let draft = MandateDraft {
        id: MandateId::from_bytes([1; 16]),
        user: user.clone(),
        agent: agent.clone(),
        tool: tool.clone(),
        weakest: AuthorityClass::AgentDerived,
        not_before: Micros(0),
        not_after: Micros(10),
        uses_max: None,
        fixed: BTreeMap::new(),
        cedar: format!("permit ({SCOPE});"),
    };
    let mut mandate = Mandate::parse(draft, &manifest, &Exact).unwrap();
    mandate.policies = PolicySet::new();
    for (n, text) in cedar.iter().enumerate() {
        let policy = parse_policy(text, PolicyId::new(n.to_string())).unwrap();
        mandate.policies.add(policy).unwrap();
    }
    let mut set = MandateSet::new();
    set.insert(mandate).unwrap();
    let args = [("x".into(), Value::Text("v".into()))].into();
    let call = ProposedCall { tool, args };
    let ctx = CallContext {
        agent: &agent,
        user: &user,
        now: Micros(5),
        class: AuthorityClass::AgentDerived,
        uses: &|_| 0,
    };
    set.coverage(&manifest.check(&call, &Exact).unwrap(), &ctx)
}

fn when(condition: &str) -> String {
    format!("permit ({SCOPE}) when {{ {condition} }};")
}

#[test]
fn a_runtime_error_is_a_miss() {
    assert_eq!(
        ask(&[when("context.args.x == \"v\"")])
            .coverage
            .grants
            .len(),
        1
    );
    for (condition, says) in [
        ("context.args.n.currency == \"EUR\"", "`n`"),
        ("context.recipient == \"v\"", "`recipient`"),
        ("principal.name == \"v\"", "Agent::\"a1\""),
        ("context.uses < \"5\"", "type"),
        (
            "decimal(context.args.x).lessThan(decimal(\"1.0\"))",
            "decimal",
        ),
        (
            "decimal(\"99999999999999999999.0\").lessThan(decimal(\"1.0\"))",
            "decimal",
        ),
        ("datetime(context.args.x) < context.now", "datetime"),
        ("9223372036854775807 + 1 > 0", "overflow"),
        ("context.args.x", "type"),
        ("!(context.args.n.currency == \"EUR\")", "`n`"),
    ] {
        let answer = ask(&[when(condition)]);
        assert!(answer.coverage.grants.is_empty(), "{condition}");
        match answer.near_misses.as_slice() {
            [(_, MissReason::Evaluation { fault })] => {
                assert!(fault.contains(says), "{condition}\n{fault}");
            }
            other => panic!("{condition}\n{other:?}"),
        }
    }
}

#[test]
fn an_error_beside_a_satisfied_permit_is_still_a_miss() {
    let answer = ask(&[when("true"), when("context.recipient == \"v\"")]);
    assert!(answer.coverage.grants.is_empty());
    assert!(matches!(
        answer.near_misses[..],
        [(_, MissReason::Evaluation { .. })]
    ));
}

#[test]
fn no_policy_at_all_is_a_miss() {
    assert!(matches!(
        ask(&[]).near_misses[..],
        [(_, MissReason::Condition)]
    ));
}
