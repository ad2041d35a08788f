// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::fixture::{
    Asker, NOW, Plain, asker, call, draft, fixing, id, list, mandate, manifest, parse, principal,
    set, text,
};
use ancile_core::{AuthorityClass, Grant, Micros, ProposedCall};
use ancile_policy::{Mandate, MandateDraft};
use proptest::prelude::*;

const ADDRESSES: [&str; 5] = ["a@x.org", "b@x.org", "a@y.org", "c@x.org.evil.io", "nobody"];
const CONDITIONS: [&str; 8] = [
    "context.args.to.domain == \"x.org\"",
    "context.args.to.text like \"*.org\"",
    "context.args.to.local == \"a\"",
    "if context.args has cc then context.args.cc.domain == context.args.to.domain else true",
    "context.args has body && context.args.body like \"h*\"",
    "context.uses + 9223372036854775806 > 0",
    "context.now < datetime(\"2026-06-01T00:00:00.001Z\")",
    "context.class == \"agent_derived\"",
];

fn addresses(least: usize) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(&ADDRESSES[..]), least..4)
}

fn condition() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(&CONDITIONS[..]).prop_map(|c| format!("({c})"));
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            inner.prop_map(|a| format!("!({a})")),
        ]
    })
}

fn a_call() -> impl Strategy<Value = ProposedCall> {
    (
        addresses(1),
        addresses(0),
        prop::option::of("h[a-z]{0,3}|[a-z]{1,3}"),
    )
        .prop_map(|(to, cc, body)| {
            let mut args = vec![("to", list(&to)), ("cc", list(&cc))];
            args.extend(body.map(|body| ("body", text(&body))));
            call("send_email", &args)
        })
}

fn a_draft() -> impl Strategy<Value = MandateDraft> {
    let fixed = prop::option::of(prop::sample::subsequence(&ADDRESSES[..4], 1..4));
    let user = prop::sample::select(&["ann", "ann", "bob"][..]);
    (
        condition(),
        fixed,
        prop::option::of(1u32..4),
        user,
        any::<bool>(),
        0i64..3,
    )
        .prop_map(|(when, fixed, uses_max, user, untrusted, from)| {
            let base = MandateDraft {
                uses_max,
                user: principal(user),
                weakest: AuthorityClass::from_number(3 + u8::from(untrusted)),
                not_before: Micros(NOW.0 + from - 1),
                not_after: Micros(NOW.0 + from + 1_000),
                ..draft("send_email", &when)
            };
            match fixed {
                Some(values) => fixing(base, "to", &values),
                None => base,
            }
        })
}

fn an_asker() -> impl Strategy<Value = Asker> {
    (0u32..4, 0i64..1_002, 1u8..=4).prop_map(|(uses, later, class)| Asker {
        uses,
        now: Micros(NOW.0 + later - 1),
        class: AuthorityClass::from_number(class),
        ..asker()
    })
}

fn grants(who: &Asker, mandates: &[Mandate], call: &ProposedCall) -> Vec<Grant> {
    let answer = who.ask(&set(mandates.iter().cloned()), call);
    assert_eq!(
        answer.coverage.grants.len() + answer.near_misses.len(),
        mandates.len()
    );
    answer.coverage.grants
}

fn numbered(drafts: Vec<MandateDraft>) -> Vec<Mandate> {
    (1..)
        .zip(drafts)
        .filter_map(|(n, draft)| parse(MandateDraft { id: id(n), ..draft }).ok())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn adding_mandates_never_removes_coverage(
        drafts in prop::collection::vec(a_draft(), 1..5),
        split in any::<prop::sample::Index>(),
        who in an_asker(),
        call in a_call(),
    ) {
        let all = numbered(drafts);
        let some = &all[..split.index(all.len() + 1)];
        let after = grants(&who, &all, &call);
        for grant in grants(&who, some, &call) {
            prop_assert!(after.contains(&grant));
        }
    }

    #[test]
    fn narrowing_never_adds_coverage(
        base in a_draft(),
        further in condition(),
        who in an_asker(),
        call in a_call(),
    ) {
        if let Ok(wide) = parse(base)
            && let Ok(narrow) = wide.narrow(&further, &manifest(), &Plain)
        {
            let before = grants(&who, &[wide], &call);
            for grant in grants(&who, &[narrow], &call) {
                prop_assert!(before.contains(&grant));
            }
        }
    }

    #[test]
    fn a_longer_list_is_never_covered_where_a_part_is_not(
        base in a_draft(),
        to in addresses(1),
        more in addresses(1),
        who in an_asker(),
    ) {
        if let Ok(mandate) = parse(base) {
            let of = |to: &[&str]| call("send_email", &[("to", list(to))]);
            let all = [&to[..], &more[..]].concat();
            let mandates = [mandate];
            let covered = |to: &[&str]| !grants(&who, &mandates, &of(to)).is_empty();
            prop_assert!(!covered(&all) || (covered(&to) && covered(&more)));
        }
    }

    #[test]
    fn no_text_makes_a_panic(cedar in ".{0,200}", condition in "[a-z(){};|&!=\"/ ]{0,40}") {
        let _refusal = parse(MandateDraft { cedar, ..draft("send_email", "true") });
        let wide = mandate(draft("send_email", "context.args.to.domain == \"x.org\""));
        if let Ok(narrow) = wide.narrow(&condition, &manifest(), &Plain) {
            let call = call("send_email", &[("to", list(&["a@y.org"]))]);
            prop_assert!(grants(&asker(), &[narrow], &call).is_empty());
        }
    }
}

/// The properties above would hold of nothing at all; this shows that the cases do cover.
#[test]
fn the_cases_of_the_properties_do_cover() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut covered = 0;
    for _ in 0..100 {
        let case = (a_draft(), an_asker(), a_call())
            .new_tree(&mut runner)
            .unwrap();
        let (draft, who, call) = case.current();
        if let Ok(mandate) = parse(draft) {
            covered += grants(&who, &[mandate], &call).len();
        }
    }
    assert!(covered >= 3, "{covered} of 100 cases are covered");
}
