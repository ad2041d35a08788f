// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::fixture::{
    DAY, MANIFEST, NOW, Plain, asker, call, draft, email, field, fixing, id, mandate, manifest,
    miss, parse, principal, set, text,
};
use ancile_core::{AuthorityClass, Micros, ToolName};
use ancile_policy::{
    CEDAR_BYTES_MAX, CEDAR_DEPTH_MAX, FIXED_VALUES_MAX, MANDATES_MAX, Mandate, MandateDraft,
    MandateError, Manifest, MissReason, VALUE_BYTES_MAX,
};

fn with_cedar(cedar: &str) -> MandateDraft {
    MandateDraft {
        cedar: cedar.to_owned(),
        ..draft("send_email", "true")
    }
}

fn refusal(draft: MandateDraft) -> MandateError {
    parse(draft).unwrap_err()
}

const SCOPE: &str = "principal == Agent::\"a1\", action == Action::\"call_tool\", \
                     resource == Tool::\"send_email\"";

#[test]
fn only_one_permit_for_exactly_its_agent_and_tool_is_taken() {
    assert!(parse(with_cedar(&format!("permit ({SCOPE});"))).is_ok());
    assert!(
        parse(with_cedar(&format!(
            "@id(\"x\") permit ({SCOPE}) unless {{ 1 > 2 }};"
        )))
        .is_ok()
    );
    let agent = r#"principal == Agent::"a1""#;
    let action = r#"action == Action::"call_tool""#;
    let tool = r#"resource == Tool::"send_email""#;
    for (agent, action, tool) in [
        ("principal", "action", "resource"),
        (agent, action, "resource"),
        ("principal", action, tool),
        (agent, "action", tool),
        (r#"principal == Agent::"a2""#, action, tool),
        (agent, action, r#"resource == Tool::"pay""#),
        (r#"principal == Tool::"a1""#, action, tool),
        (r#"principal in Agent::"a1""#, action, tool),
        ("principal is Agent", action, tool),
        (agent, r#"action in [Action::"call_tool"]"#, tool),
        (agent, r#"action == Action::"other""#, tool),
        (agent, action, r#"resource in Tool::"send_email""#),
        (r#"principal == N::Agent::"a1""#, action, tool),
    ] {
        let scope = format!("{agent}, {action}, {tool}");
        let refusal = refusal(with_cedar(&format!("permit ({scope});")));
        assert!(
            matches!(refusal, MandateError::Scope { .. }),
            "{scope}\n{refusal}"
        );
    }
    assert_eq!(
        refusal(with_cedar("permit (principal, action, resource);")).to_string(),
        format!("policy scope is not the mandate's; write permit ({SCOPE})"),
    );
}

#[test]
fn forbids_templates_and_several_policies_are_refused() {
    let refused = |cedar: &str| refusal(with_cedar(cedar));
    assert_eq!(refused(&format!("forbid ({SCOPE});")), MandateError::Forbid);
    for cedar in [
        String::new(),
        "permit".to_owned(),
        format!("permit ({SCOPE}); permit ({SCOPE});"),
        format!("permit ({SCOPE}); permit (principal, action, resource);"),
        format!("permit ({});", SCOPE.replace("Agent::\"a1\"", "?principal")),
        format!("permit ({SCOPE}) when {{ true }}"),
    ] {
        let refusal = refused(&cedar);
        assert!(
            matches!(refusal, MandateError::Cedar { .. }),
            "{cedar}\n{refusal}"
        );
    }
}

#[test]
fn the_strict_validator_has_the_word() {
    for (when, says) in [
        ("context.args.bcc.domain == \"x\"", "bcc"),
        ("context.args.to.domain == 5", "Long and String"),
        ("context.args.to like \"*@x.org\"", "String"),
        ("context.args.cc.domain == \"x.org\"", "cc"),
        ("context.recipient == \"x\"", "recipient"),
        ("principal.name == \"x\"", "name"),
        ("context.now < \"2027\"", "datetime"),
        ("context.now < datetime(\"soon\")", "datetime"),
        ("Agent::\"a1\" == Tool::\"send_email\"", "impossible"),
        ("resource.owner == principal", "owner"),
        ("false", "impossible"),
        ("context.args.to.domain == \"ex\u{430}mple.com\"", "mixed"),
    ] {
        match refusal(draft("send_email", when)) {
            MandateError::Invalid { fault } => assert!(fault.contains(says), "{when}\n{fault}"),
            other => panic!("{when}\n{other}"),
        }
    }
    let huge = "context.args.amount.value < decimal(\"99999999999999999999.0\")";
    assert!(matches!(
        refusal(draft("pay", huge)),
        MandateError::Invalid { .. }
    ));
}

#[test]
fn what_can_never_hold_or_names_nothing_is_refused() {
    let base = || draft("send_email", "true");
    let refused = |change: &dyn Fn(&mut MandateDraft)| {
        let mut draft = base();
        change(&mut draft);
        refusal(draft)
    };
    assert_eq!(
        refused(&|d| d.not_before = d.not_after),
        MandateError::NeverValid
    );
    assert_eq!(refused(&|d| d.uses_max = Some(0)), MandateError::NoUses);
    for class in [AuthorityClass::UserAuthored, AuthorityClass::ApprovedSource] {
        assert_eq!(
            refused(&|d| d.weakest = class),
            MandateError::Weakest { class }
        );
    }
    let nothing = ToolName::new("nothing").unwrap();
    assert_eq!(
        refused(&|d| d.tool = nothing.clone()),
        MandateError::UnknownTool {
            tool: nothing.clone()
        }
    );
    assert_eq!(
        refusal(fixing(base(), "bcc", &["a@x.org"])).to_string(),
        "tool `send_email` takes no argument `bcc`; name one that it takes"
    );
}

#[test]
fn fixed_values_must_be_values_of_their_kind() {
    let base = || draft("send_email", "true");
    for value in [
        "a@x.org,b@evil.com",
        "nobody",
        "@x.org",
        "a@",
        "a b@x.org",
        "a@x.org>",
    ] {
        let refusal = refusal(fixing(base(), "to", &["ok@x.org", value]));
        assert!(
            matches!(refusal, MandateError::FixedForm { .. }),
            "{value}\n{refusal}"
        );
    }
    assert_eq!(
        refusal(fixing(base(), "to", &[])),
        MandateError::FixedCount {
            arg: field("to"),
            values: 0
        }
    );
    assert_eq!(
        refusal(fixing(draft("save", "true"), "key", &["hunter2"])).to_string(),
        "argument `key` is a secret; a mandate cannot name its value"
    );
    assert!(parse(fixing(draft("save", "true"), "path", &["/a/../b"])).is_err());
}

#[test]
fn keeps_to_its_limits() {
    let padded = |n: usize| {
        let base = draft("send_email", "true").cedar;
        parse(with_cedar(&format!("{base:<n$}")))
    };
    let nested = |n: usize| {
        let (open, close) = ("(".repeat(n - 1), ")".repeat(n - 1));
        parse(draft("send_email", &format!("{open}1 < 2{close}")))
    };
    let values = |n: usize| {
        let texts: Vec<_> = (0..n).map(|i| format!("u{i}@x.org")).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        parse(fixing(draft("send_email", "true"), "to", &texts))
    };
    let long = |n: usize| {
        parse(fixing(
            draft("send_email", "true"),
            "body",
            &[&"x".repeat(n)],
        ))
    };
    let hidden =
        "(\")\" == \"]\" || ".repeat(CEDAR_DEPTH_MAX) + "1 < 2" + &")".repeat(CEDAR_DEPTH_MAX);
    let refusal = parse(draft("send_email", &hidden)).unwrap_err();
    assert_eq!(
        refusal,
        MandateError::CedarTooDeep {
            depth: CEDAR_DEPTH_MAX + 1
        }
    );
    for (at, fits) in [(-1, true), (0, true), (1, false)] {
        let n = |limit: usize| limit.checked_add_signed(at).unwrap();
        assert_eq!(padded(n(CEDAR_BYTES_MAX)).is_ok(), fits);
        assert_eq!(nested(n(CEDAR_DEPTH_MAX)).is_ok(), fits);
        assert_eq!(values(n(FIXED_VALUES_MAX)).is_ok(), fits);
        assert_eq!(long(n(VALUE_BYTES_MAX)).is_ok(), fits);
    }
    let mut full = set([]);
    for n in 0..=MANDATES_MAX {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&n.to_be_bytes());
        let mandate = mandate(MandateDraft {
            id: ancile_core::MandateId::from_bytes(bytes),
            ..draft("log_out", "true")
        });
        assert_eq!(full.insert(mandate).is_ok(), n < MANDATES_MAX);
    }
    assert_eq!(full.iter().count(), MANDATES_MAX);
}

/// Cedar's parser, validator and evaluator recurse along chains that need no brackets.
#[test]
fn long_chains_neither_overflow_the_stack_nor_cover_by_mistake() {
    let room = CEDAR_BYTES_MAX - 200;
    let chain = |part: &str, end: &str| part.repeat(room / part.len()) + end;
    for (when, holds) in [
        (chain("1<2&&", "1<2"), true),
        (chain("1<2&&", "2<1"), false),
        (chain("2<1||", "1<2"), true),
        (chain("if 2<1 then true else ", "1<2"), true),
        (
            chain("if 1<2 then ", "1<2") + &" else true".repeat(3),
            false,
        ),
        (chain("1+", "1<2"), false),
        (chain("!", "true"), false),
        (chain("-", "1<2"), false),
        (format!("context{}", chain(".args", " == 1")), false),
        (format!("context has {}", chain("args.", "args")), false),
        (format!("[{}].contains(2)", chain("1,", "1")), false),
    ] {
        if let Ok(mandate) = parse(draft("log_out", &when)) {
            let answer = asker().ask(&set([mandate.clone()]), &call("log_out", &[]));
            match answer.near_misses.as_slice() {
                [] => assert!(holds, "{when:.40}"),
                [(_, MissReason::Condition)] => assert!(!holds, "{when:.40}"),
                [(_, MissReason::Evaluation { fault })] => {
                    assert!(fault.contains("recursion limit"), "{when:.40}\n{fault}");
                }
                other => panic!("{when:.40}\n{other:?}"),
            }
            let twice = mandate.narrow("1 < 2", &manifest(), &Plain);
            assert!(
                twice.is_ok() || when.len() > CEDAR_BYTES_MAX / 2,
                "{when:.40}"
            );
        }
    }
}

#[test]
fn the_json_form_reads_back_as_itself() {
    let draft = MandateDraft {
        uses_max: Some(5),
        weakest: AuthorityClass::Untrusted,
        not_before: Micros(-1),
        ..fixing(
            draft("send_email", "context.uses < 5"),
            "to",
            &["a@x.org", "b@x.org"],
        )
    };
    let json = draft.to_json().unwrap();
    assert_eq!(MandateDraft::from_json(&json).unwrap(), draft);
    for (from, to, says) in [
        ("\"version\":1", "\"version\":2", "version 2 is not known"),
        (
            "\"uses_max\":5",
            "\"uses_max\":5,\"extra\":1",
            "unknown field `extra`",
        ),
        (
            "\"uses_max\":5",
            "\"uses_max\":5,\"uses_max\":6",
            "duplicate field `uses_max`",
        ),
        (
            "\"fixed\":{",
            "\"fixed\":{\"to\":[],",
            "key `to` comes twice",
        ),
        ("\"uses_max\":5", "\"uses_max\":-5", "invalid value"),
        ("\"untrusted\"", "\"trusted\"", "`trusted` is not a class"),
        ("\"ann\"", "\"an n\"", "`an n`: name has a byte"),
        ("01010101-", "01010101_", "identifier is not"),
    ] {
        let broken = json.replacen(from, to, 1);
        assert_ne!(broken, json);
        let refusal = MandateDraft::from_json(&broken).unwrap_err().to_string();
        assert!(refusal.contains(says), "{broken}\n{refusal}");
    }
}

#[test]
fn a_narrowed_mandate_is_the_old_one_and_a_further_condition() {
    let base = MandateDraft {
        uses_max: Some(5),
        ..draft("send_email", "context.args.to.domain == \"x.org\"")
    };
    let manifest = manifest();
    let wide = mandate(base.clone());
    let narrow = wide
        .narrow("context.args.to.local like \"team-*\"", &manifest, &Plain)
        .unwrap();
    assert_eq!(narrow.id(), wide.id());
    assert_eq!(narrow.draft().uses_max, Some(5));
    let team = email(&["team-a@x.org"]);
    let other = email(&["ann@x.org"]);
    let foreign = email(&["team-a@y.org"]);
    for (mandate, covers) in [
        (&wide, [true, true, false]),
        (&narrow, [true, false, false]),
    ] {
        let set = set([mandate.clone()]);
        for (call, covered) in [&team, &other, &foreign].into_iter().zip(covers) {
            let answer = asker().ask(&set, call);
            assert_eq!(answer.coverage.grants.len() == 1, covered);
        }
    }
    let twice = narrow
        .narrow("context.uses < 2", &manifest, &Plain)
        .unwrap();
    assert_eq!(miss(twice.draft().clone(), &team), None);
    assert_eq!(
        miss(twice.draft().clone(), &other),
        Some(MissReason::Condition)
    );
}

#[test]
fn no_text_given_to_narrow_widens() {
    let manifest = manifest();
    let wide = mandate(draft("send_email", "context.args.to.domain == \"x.org\""));
    for condition in [
        "true // ;",
        "true // \" }",
        "context.args.to.local == \"};\" || true",
        "true } || true; //",
        "true }; permit (principal, action, resource) when { true",
        "true } when { true } unless { false",
        "true } unless { true } when { 1 == 1",
        "true // }; permit(principal, action, resource);",
        "true || true",
        "1 < 2 } ; @x(\"y\") permit (principal, action, resource); //",
        "",
        "context.args.to.domain == \"y.org\" || true",
    ] {
        if let Ok(narrow) = wide.narrow(condition, &manifest, &Plain) {
            let call = email(&["a@y.org"]);
            assert_eq!(
                miss(narrow.draft().clone(), &call),
                Some(MissReason::Condition),
                "{condition}"
            );
        }
    }
}

#[test]
fn narrowing_finds_the_end_of_whatever_policy() {
    let manifest = manifest();
    for when in [
        "context.args.to.local != \";\"",
        "context.args.to.local != \"\\\";\"",
        "context.args.to.local != \"\\\\\" // ; \"\n",
        "context.args.to.local like \"*\" // \"",
    ] {
        let mut draft = draft("send_email", &format!("{when}\n"));
        draft.cedar.push_str(" // the end; \" }");
        assert_eq!(miss(draft.clone(), &email(&["a@x.org"])), None, "{when}");
        let narrow =
            mandate(draft).narrow("context.args.to.domain == \"x.org\"", &manifest, &Plain);
        let narrow = narrow
            .unwrap()
            .narrow("1 < 2 // \"", &manifest, &Plain)
            .unwrap();
        assert_eq!(
            miss(narrow.draft().clone(), &email(&["a@x.org"])),
            None,
            "{when}"
        );
        let other = miss(narrow.draft().clone(), &email(&["a@y.org"]));
        assert_eq!(other, Some(MissReason::Condition), "{when}");
    }
}

#[test]
fn a_mandate_holds_only_while_its_tool_is_as_it_was() {
    let old = Manifest::parse(MANIFEST).unwrap();
    let other_tool = Manifest::parse(&MANIFEST.replace("read_only", "write")).unwrap();
    let this_tool =
        Manifest::parse(&MANIFEST.replace(r#""subject":{"kind":"free"},"#, "")).unwrap();
    let mandate = Mandate::parse(draft("send_email", "true"), &old, &Plain).unwrap();
    assert_eq!(mandate.manifest(), old.digest());
    let set = set([mandate]);
    let call = email(&["a@x.org"]);
    assert_eq!(
        asker()
            .ask_in(&other_tool, &set, &call)
            .coverage
            .grants
            .len(),
        1
    );
    assert_eq!(
        asker().ask_in(&this_tool, &set, &call).near_misses,
        [(id(1), MissReason::ToolChanged)]
    );
}

#[test]
fn a_mandate_whose_tool_changed_does_not_come_back() {
    let old = manifest();
    let new = Manifest::parse(&MANIFEST.replace(r#""subject":{"kind":"free"},"#, "")).unwrap();
    let mandate = mandate(draft("send_email", "true"));
    let changed = MandateError::ToolChanged {
        tool: mandate.draft().tool.clone(),
    };
    assert_eq!(mandate.narrow("1 < 2", &new, &Plain).unwrap_err(), changed);
    let reopen = |manifest: &Manifest| {
        Mandate::reopen(
            mandate.draft().clone(),
            mandate.tool_digest(),
            manifest,
            &Plain,
        )
    };
    assert_eq!(reopen(&new).unwrap_err(), changed);
    assert_eq!(reopen(&old).unwrap().draft(), mandate.draft());
    assert!(matches!(
        reopen(&Manifest::empty()),
        Err(MandateError::UnknownTool { .. })
    ));
}

#[test]
fn a_set_is_ordered_by_grant_and_replaces_in_place() {
    let numbered = |n: u8, tool: &str, agent: &str| {
        let mut draft = draft(tool, "true");
        draft.cedar = draft.cedar.replace("a1", agent);
        mandate(MandateDraft {
            id: id(n),
            agent: principal(agent),
            ..draft
        })
    };
    let mut set = set([3, 1, 2].map(|n| numbered(n, "log_out", "a1")));
    let order = |set: &ancile_policy::MandateSet| {
        let answer = asker().ask(set, &call("log_out", &[]));
        answer
            .coverage
            .grants
            .iter()
            .map(|g| g.mandate)
            .collect::<Vec<_>>()
    };
    assert_eq!(order(&set), [id(3), id(1), id(2)]);
    set.insert(numbered(1, "log_out", "a1")).unwrap();
    assert_eq!(order(&set), [id(3), id(1), id(2)]);
    set.insert(numbered(3, "log_out", "a2")).unwrap();
    assert_eq!(order(&set), [id(1), id(2)]);
    assert_eq!(set.get(id(3)).unwrap().draft().agent, principal("a2"));
    assert!(set.remove(id(1)).is_some());
    assert!(set.remove(id(1)).is_none());
    assert!(set.get(id(1)).is_none());
    assert_eq!(order(&set), [id(2)]);
    assert_eq!(set.iter().count(), 2);
}

#[test]
fn validity_is_half_open() {
    let mut asker = asker();
    let base = MandateDraft {
        not_before: NOW,
        not_after: Micros(NOW.0 + DAY),
        ..draft("save", "true")
    };
    let call = call("save", &[("path", text("/tmp/x"))]);
    for (now, why) in [
        (NOW.0 - 1, Some(MissReason::NotYetValid)),
        (NOW.0, None),
        (NOW.0 + DAY - 1, None),
        (NOW.0 + DAY, Some(MissReason::Expired)),
        (NOW.0 + DAY + 1, Some(MissReason::Expired)),
    ] {
        asker.now = Micros(now);
        assert_eq!(asker.miss(base.clone(), &call), why);
    }
}
