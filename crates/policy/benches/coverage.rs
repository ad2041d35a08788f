// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a coverage answer costs: one call of one tool with 10 mandates of the agent for it.

#![allow(
    clippy::expect_used,
    reason = "a benchmark stops where its input is not in form"
)]
#![allow(missing_docs, reason = "the entry points are made by macros")]

use ancile_core::{
    ArgKind, AuthorityClass, CanonicalValue, FieldName, MandateId, Micros, PrincipalName,
    ProposedCall, ToolName, Value,
};
use ancile_policy::{
    CallContext, Canonicalise, GrantFlags, Grantor, Mandate, MandateSet, Manifest, grant,
};
use criterion::{Criterion, criterion_group, criterion_main};
use std::collections::BTreeMap;
use std::hint::black_box;

const MANIFEST: &str = r#"{"version":1,"tools":[{"name":"send_email","effect":"external","args":{
    "to":{"kind":"email","list":true,"required":true},
    "subject":{"kind":"free"},"body":{"kind":"free"}}}]}"#;
const NOW: Micros = Micros(1_780_272_000_000_000);

struct Exact;

impl Canonicalise for Exact {
    fn canonical(&self, kind: ArgKind, text: &str) -> Option<CanonicalValue> {
        Some(CanonicalValue {
            kind,
            bytes: text.as_bytes().into(),
        })
    }
}

struct World {
    manifest: Manifest,
    set: MandateSet,
    agent: PrincipalName,
    user: PrincipalName,
}

/// Mandates that restrict the domain; where `counting`, their policies look at their uses too.
fn world(mandates: u8, counting: bool) -> World {
    let manifest = Manifest::parse(MANIFEST).expect("the manifest is in form");
    let agent = PrincipalName::new("a1").expect("a name");
    let user = PrincipalName::new("ann").expect("a name");
    let mut set = MandateSet::new();
    for n in 0..mandates {
        let to = FieldName::new("to").expect("a name");
        let flags = GrantFlags {
            tool: ToolName::new("send_email").expect("a name"),
            agent: agent.clone(),
            fixed: BTreeMap::new(),
            allow: [(to, "*@example.com".to_owned())].into(),
            amount_max: BTreeMap::new(),
            uses_max: Some(5),
            until: Micros(i64::MAX),
            weakest: AuthorityClass::AgentDerived,
        };
        let by = Grantor {
            id: MandateId::from_bytes([n; 16]),
            user: user.clone(),
            now: Micros(0),
        };
        let draft = grant(&flags, &by, &manifest, &Exact).expect("flags that hold together");
        let mut mandate = Mandate::parse(draft, &manifest, &Exact).expect("what grant gives");
        if counting {
            let narrow = mandate.narrow("context.uses < 5", &manifest, &Exact);
            mandate = narrow.expect("a condition that validates");
        }
        set.insert(mandate).expect("room");
    }
    World {
        manifest,
        set,
        agent,
        user,
    }
}

fn email(recipients: usize) -> ProposedCall {
    let to = |n| Value::Text(format!("user{n}@example.com").into());
    ProposedCall {
        tool: ToolName::new("send_email").expect("a name"),
        args: [
            ("to".into(), Value::List((0..recipients).map(to).collect())),
            ("subject".into(), Value::Text("minutes".into())),
            ("body".into(), Value::Text("as agreed".into())),
        ]
        .into(),
    }
}

fn coverage(c: &mut Criterion) {
    for (mandates, recipients, counting) in [
        (1, 1, false),
        (10, 1, false),
        (10, 1, true),
        (10, 10, false),
    ] {
        let World {
            manifest,
            set,
            agent,
            user,
        } = world(mandates, counting);
        let call = email(recipients);
        let ctx = CallContext {
            agent: &agent,
            user: &user,
            now: NOW,
            class: AuthorityClass::AgentDerived,
            uses: &|id| {
                id.bytes()
                    .iter()
                    .map(|byte| u32::from(byte % 5))
                    .max()
                    .unwrap_or(0)
            },
        };
        let counting = if counting { ", counting" } else { "" };
        let name = format!("coverage, {mandates} mandates, {recipients} recipients{counting}");
        let checked = manifest.check(&call, &Exact).expect("a call that fits");
        let covering = set.coverage(&checked, &ctx).coverage.grants.len();
        assert_eq!(covering, usize::from(mandates), "all cover");
        c.bench_function(&name, |b| {
            b.iter(|| set.coverage(black_box(&checked), &ctx))
        });
    }
    let World { manifest, .. } = world(0, false);
    let call = email(1);
    c.bench_function("check, 3 arguments", |b| {
        b.iter(|| manifest.check(black_box(&call), &Exact).is_ok());
    });
}

criterion_group!(benches, coverage);
criterion_main!(benches);
