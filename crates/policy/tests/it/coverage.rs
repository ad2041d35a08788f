// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::fixture::{
    Asker, NEW_YEAR, asker, call, draft, email, field, fixing, id, list, mandate, miss, names,
    number, principal, set, text,
};
use ancile_core::{ArgKind, AuthorityClass, CanonicalValue, Micros, ProposedCall, Value};
use ancile_policy::{COMBINATIONS_MAX, Canonicalise, MandateDraft, MissReason};

fn pay(amount: Value) -> ProposedCall {
    call("pay", &[("account", text("DE89 3704")), ("amount", amount)])
}

fn fetch(url: &str) -> ProposedCall {
    call("fetch", &[("url", text(url))])
}

fn unreadable(arg: &str) -> Option<MissReason> {
    Some(MissReason::Unreadable { arg: field(arg) })
}

const CONDITION: Option<MissReason> = Some(MissReason::Condition);

/// The policy that the choice of Cedar was proved with, in the terms of this schema.
fn prototype() -> MandateDraft {
    draft(
        "send_email",
        "context.args.to.text like \"*@example.com\" && context.uses < 5 &&
         context.now < datetime(\"2027-01-01T00:00:00Z\") && context.class == \"agent_derived\"",
    )
}

#[test]
fn the_prototype_covers_what_it_should() {
    assert_eq!(miss(prototype(), &email(&["bob@example.com"])), None);
}

#[test]
fn the_prototype_refuses_the_sixth_use() {
    for (uses, why) in [(4, None), (5, CONDITION), (6, CONDITION)] {
        let asker = Asker { uses, ..asker() };
        assert_eq!(asker.miss(prototype(), &email(&["bob@example.com"])), why);
    }
}

#[test]
fn the_prototype_refuses_a_domain_that_only_begins_right() {
    assert_eq!(
        miss(prototype(), &email(&["bob@example.com.evil.io"])),
        CONDITION
    );
}

#[test]
fn the_prototype_ends_at_new_year() {
    let endless = MandateDraft {
        not_after: Micros(i64::MAX),
        ..prototype()
    };
    for (now, why) in [(NEW_YEAR.0 - 1, None), (NEW_YEAR.0, CONDITION)] {
        let asker = Asker {
            now: Micros(now),
            ..asker()
        };
        assert_eq!(
            asker.miss(endless.clone(), &email(&["bob@example.com"])),
            why
        );
    }
}

#[test]
fn the_prototype_refuses_another_class() {
    let untrusted = Asker {
        class: AuthorityClass::Untrusted,
        ..asker()
    };
    let wider = MandateDraft {
        weakest: AuthorityClass::Untrusted,
        ..prototype()
    };
    assert_eq!(
        untrusted.miss(wider, &email(&["bob@example.com"])),
        CONDITION
    );
}

#[test]
fn every_element_of_a_list_must_be_allowed() {
    for to in [
        &["bob@example.com", "eve@evil.com"][..],
        &["eve@evil.com", "bob@example.com"],
        &["a@example.com", "b@example.com", "c@example.com.evil.io"],
    ] {
        assert_eq!(miss(prototype(), &email(to)), CONDITION, "{to:?}");
    }
    assert_eq!(
        miss(prototype(), &email(&["a@example.com", "b@EXAMPLE.com"])),
        None
    );
}

#[test]
fn what_is_not_one_address_meets_no_policy() {
    let anyone = draft("send_email", "true");
    for to in [
        "a@evil.com,b@example.com",
        "a@evil.com;b@example.com",
        "a@evil.com b@example.com",
        "<a@evil.com>@example.com",
        "\"a@evil.com\"@example.com",
        "a@evil.com@example.com",
        "a(@evil.com)@example.com",
        "a\u{0}@example.com",
        "a@example.com\n",
        "a@evil.com, <b@example.com>",
        "a@evil.com <b@example.com>",
        "a\u{ff20}evil.com <b@example.com>",
        "evil; <b@example.com>",
        "b@example.com\r\nBcc: eve",
        "@example.com",
        "a@",
        "example.com",
        "",
    ] {
        let call = email(&["bob@example.com", to]);
        assert_eq!(miss(prototype(), &call), unreadable("to"), "{to:?}");
        assert_eq!(miss(anyone.clone(), &call), unreadable("to"), "{to:?}");
    }
}

/// A canonicaliser that takes the address out of `name <address>`, as mail programs do.
struct Lenient;

impl Canonicalise for Lenient {
    fn canonical(&self, kind: ArgKind, text: &str) -> Option<CanonicalValue> {
        let inner = text.rsplit_once('<').map_or(text, |(_, rest)| rest);
        crate::fixture::Plain.canonical(kind, inner.trim_end_matches('>'))
    }
}

#[test]
fn a_second_address_does_not_hide_behind_a_lenient_canonicaliser() {
    let manifest = crate::fixture::manifest();
    let first = |to: &str| {
        let checked = manifest.check(&email(&[to]), &Lenient).unwrap();
        checked.sensitive()[0].elements[0].clone()
    };
    assert!(first("Bob <b@example.com>").is_some());
    for to in [
        "a@evil.com,<b@example.com>",
        "a@evil.com <b@example.com>",
        "evil; <b@example.com>",
        "Bcc: eve\n <b@example.com>",
    ] {
        assert_eq!(first(to), None, "{to:?}");
    }
}

#[test]
fn look_alike_letters_are_other_letters() {
    for to in [
        "bob@ex\u{430}mple.com",
        "bob@\u{ff45}xample.com",
        "bob@example\u{3002}com",
        "bob@exam\u{200b}ple.com",
        "bob@\u{202e}moc.elpmaxe",
    ] {
        assert_eq!(miss(prototype(), &email(&[to])), CONDITION, "{to:?}");
    }
}

#[test]
fn lists_combine() {
    let same = draft(
        "send_email",
        "!(context.args has cc) || context.args.cc.domain == context.args.to.domain",
    );
    assert!(
        crate::fixture::parse(same).is_err(),
        "Cedar learns nothing from a negation"
    );
    let same = draft(
        "send_email",
        "if context.args has cc then context.args.cc.domain == context.args.to.domain else true",
    );
    let call = |to: &[&str], cc: &[&str]| call("send_email", &[("to", list(to)), ("cc", list(cc))]);
    assert_eq!(
        miss(same.clone(), &call(&["a@x.org"], &["b@x.org", "c@x.org"])),
        None
    );
    assert_eq!(
        miss(
            same.clone(),
            &call(&["a@x.org", "a@y.org"], &["b@x.org", "c@y.org"])
        ),
        CONDITION
    );
    assert_eq!(miss(same.clone(), &call(&["a@x.org"], &[])), None);
    assert_eq!(miss(same, &email(&["a@x.org"])), None);
}

#[test]
fn lists_combine_in_a_limited_number_of_ways() {
    let anyone = draft("log_out", "true");
    assert_eq!(miss(anyone, &call("log_out", &[])), None);
    let anyone = draft("send_email", "true");
    for (to, cc, why) in [
        (COMBINATIONS_MAX - 1, 1, None),
        (COMBINATIONS_MAX, 1, None),
        (COMBINATIONS_MAX / 2, 2, None),
        (
            COMBINATIONS_MAX + 1,
            1,
            Some(MissReason::TooManyCombinations),
        ),
        (
            COMBINATIONS_MAX / 2 + 1,
            2,
            Some(MissReason::TooManyCombinations),
        ),
    ] {
        let to = ("to", list(&vec!["a@x.org"; to]));
        let cc = ("cc", list(&vec!["a@x.org"; cc]));
        assert_eq!(miss(anyone.clone(), &call("send_email", &[to, cc])), why);
    }
}

#[test]
fn amounts_are_numbers_not_texts() {
    let at_most = draft(
        "pay",
        "context.args.amount.value.lessThanOrEqual(decimal(\"100.00\")) &&
         context.args.amount.value.greaterThan(decimal(\"0.0\"))",
    );
    for (amount, why) in [
        ("99.9999", None),
        ("100", None),
        ("100.0000000", None),
        ("100.0001", CONDITION),
        ("100.00001", unreadable("amount")),
        ("1000", CONDITION),
        ("-1", CONDITION),
        ("0", CONDITION),
        ("0.0001", None),
        ("007", None),
        ("1e2", unreadable("amount")),
        ("+5", unreadable("amount")),
        ("1,000", unreadable("amount")),
        ("1.000.000", unreadable("amount")),
        ("5.", unreadable("amount")),
        (".5", unreadable("amount")),
        ("--5", unreadable("amount")),
        ("\u{ff15}", unreadable("amount")),
        ("\u{665}", unreadable("amount")),
        ("ten", unreadable("amount")),
        ("", unreadable("amount")),
    ] {
        assert_eq!(miss(at_most.clone(), &pay(text(amount))), why, "{amount:?}");
        assert_eq!(
            miss(at_most.clone(), &pay(number(amount))),
            why,
            "{amount:?}"
        );
    }
}

#[test]
fn an_amount_out_of_range_is_a_miss_of_every_mandate() {
    let anything = draft("pay", "true");
    for (amount, fits) in [
        ("922337203685477.5807", true),
        ("922337203685477.5808", false),
        ("-922337203685477.5808", true),
        ("-922337203685477.5809", false),
        ("99999999999999999999999999", false),
    ] {
        match miss(anything.clone(), &pay(text(amount))) {
            None => assert!(fits, "{amount}"),
            Some(MissReason::Evaluation { fault }) => {
                assert!(!fits, "{amount}: {fault}");
                assert!(fault.contains("decimal"), "{fault}");
            }
            Some(other) => panic!("{amount}: {other}"),
        }
    }
}

#[test]
fn a_currency_is_part_of_an_amount() {
    let euros = draft("pay", "context.args.amount.currency == \"EUR\"");
    for (amount, why) in [
        ("12.50 EUR", None),
        ("EUR 12.50", None),
        ("EUR12.50", None),
        ("12.50 USD", CONDITION),
        ("12.50", CONDITION),
        ("12.50 EUR 3", unreadable("amount")),
        ("EUR", unreadable("amount")),
    ] {
        assert_eq!(miss(euros.clone(), &pay(text(amount))), why, "{amount:?}");
    }
}

#[test]
fn a_url_is_what_it_points_at() {
    let api = draft(
        "fetch",
        "context.args.url.scheme == \"https\" && context.args.url.host == \"api.x.org\" &&
         context.args.url.port == \"\" && context.args.url.path like \"/v1/*\"",
    );
    for (url, why) in [
        ("https://api.x.org/v1/a?b=/../c#d", None),
        ("http://api.x.org/v1/a", CONDITION),
        ("https://api.x.org:8443/v1/a", CONDITION),
        ("https://api.x.org.evil.io/v1/a", CONDITION),
        ("https://evil.io/https://api.x.org/v1/a", CONDITION),
        ("https://evil.io?https://api.x.org/v1/a", CONDITION),
        ("https://evil.io#api.x.org/v1/a", CONDITION),
        ("https://api.x.org/v2/a", CONDITION),
        ("https://api.x.org", CONDITION),
        ("https://[::1]:80/v1/a", CONDITION),
        ("https://api.x.org@evil.io/v1/a", unreadable("url")),
        ("https://api.x.org:pw@evil.io/v1/a", unreadable("url")),
        ("https://evil.io\\@api.x.org/v1/a", unreadable("url")),
        ("https://api.x.org/v1/../admin", unreadable("url")),
        ("https://api.x.org/v1/%2e%2E/admin", unreadable("url")),
        ("https://api.x.org/v1/.%2e/admin", unreadable("url")),
        ("https://api.x.org/v1/..%2fadmin", unreadable("url")),
        ("https://api.x.org/v1/a%2F%2e.%5Cadmin", unreadable("url")),
        ("https://api.x.org/v1/a%2Fb..c/.d", None),
        ("https://api.x.org/v1/..", unreadable("url")),
        ("https://api.x.org:/v1/a", unreadable("url")),
        ("https:///v1/a", unreadable("url")),
        ("//api.x.org/v1/a", unreadable("url")),
        ("javascript:alert(1)", unreadable("url")),
        ("https://api.x.org/v1/a b", unreadable("url")),
    ] {
        assert_eq!(miss(api.clone(), &fetch(url)), why, "{url}");
    }
}

#[test]
fn a_path_that_climbs_meets_no_policy() {
    let home = draft("save", "context.args.path like \"/home/ann/*\"");
    for (path, why) in [
        ("/home/ann/notes.txt", None),
        ("/home/ann/..hidden", None),
        ("/home/bob/notes.txt", CONDITION),
        ("/home/ann/../bob/x", unreadable("path")),
        ("/home/ann/..\\..\\x", unreadable("path")),
        ("/home/ann/..", unreadable("path")),
        ("/home/ann/\u{0}", unreadable("path")),
    ] {
        assert_eq!(
            miss(home.clone(), &call("save", &[("path", text(path))])),
            why,
            "{path:?}"
        );
    }
}

#[test]
fn fixed_values_compare_in_canonical_form() {
    let one = fixing(draft("pay", "true"), "account", &["de89 3704"]);
    assert_eq!(miss(one.clone(), &pay(number("5"))), None);
    let other = call(
        "pay",
        &[("account", text("DE89 3705")), ("amount", number("5"))],
    );
    let fixed = |arg: &str| Some(MissReason::Fixed { arg: field(arg) });
    assert_eq!(miss(one, &other), fixed("account"));
    let set = fixing(draft("send_email", "true"), "to", &["a@x.org", "b@x.org"]);
    assert_eq!(miss(set.clone(), &email(&["b@X.org"])), None);
    assert_eq!(
        miss(set.clone(), &email(&["a@x.org", "b@x.org", "a@x.org"])),
        None
    );
    assert_eq!(
        miss(set.clone(), &email(&["a@x.org", "c@x.org"])),
        fixed("to")
    );
    assert_eq!(miss(set, &email(&["a@x.org", "nobody"])), fixed("to"));
}

#[test]
fn a_fixed_argument_must_be_there() {
    let cc = fixing(draft("send_email", "true"), "cc", &["a@x.org"]);
    for (given, why) in [
        (Value::Null, Some(MissReason::Fixed { arg: field("cc") })),
        (
            Value::List(vec![]),
            Some(MissReason::Fixed { arg: field("cc") }),
        ),
        (list(&["a@x.org"]), None),
    ] {
        let call = call("send_email", &[("to", list(&["z@z.org"])), ("cc", given)]);
        assert_eq!(miss(cc.clone(), &call), why);
    }
    assert!(miss(cc, &email(&["z@z.org"])).is_some());
}

#[test]
fn a_grant_names_what_is_fixed_and_never_what_is_only_restricted() {
    let grant = |draft: MandateDraft, call: &ProposedCall| {
        let answer = asker().ask(&set([mandate(draft)]), call);
        let [grant] = answer.coverage.grants.try_into().unwrap();
        grant
    };
    let equality = "context.args.to.text == \"a@x.org\" && context.args.body == \"hello\"";
    let call_both = call(
        "send_email",
        &[("to", list(&["a@x.org"])), ("body", text("hello"))],
    );
    let restricted = grant(
        draft("send_email", equality.split(" &&").next().unwrap()),
        &call_both,
    );
    assert_eq!(
        (restricted.fixed, restricted.fixes_all),
        (names(&[]), false)
    );
    let to = fixing(draft("send_email", "true"), "to", &["a@x.org"]);
    let some = grant(to.clone(), &call_both);
    assert_eq!((some.fixed, some.fixes_all), (names(&["to"]), false));
    let both = fixing(to.clone(), "body", &["hello", "bye"]);
    let all = grant(both, &call_both);
    assert_eq!((all.fixed, all.fixes_all), (names(&["body", "to"]), true));
    let only_to = call("send_email", &[("to", list(&["a@x.org"]))]);
    assert!(grant(to.clone(), &only_to).fixes_all);
    let with_null = call(
        "send_email",
        &[("to", list(&["a@x.org"])), ("cc", Value::Null)],
    );
    assert!(!grant(to, &with_null).fixes_all);
    let nothing = grant(draft("log_out", "true"), &call("log_out", &[]));
    assert!(nothing.fixes_all);
    assert_eq!(
        (nothing.mandate, nothing.weakest),
        (id(1), AuthorityClass::AgentDerived)
    );
}

#[test]
fn uses_end_at_their_limit() {
    let five = MandateDraft {
        uses_max: Some(5),
        ..draft("log_out", "true")
    };
    for (uses, why) in [
        (4, None),
        (5, Some(MissReason::UsedUp { max: 5 })),
        (u32::MAX, Some(MissReason::UsedUp { max: 5 })),
    ] {
        assert_eq!(
            Asker { uses, ..asker() }.miss(five.clone(), &call("log_out", &[])),
            why
        );
    }
    let endless = Asker {
        uses: u32::MAX,
        ..asker()
    };
    assert_eq!(
        endless.miss(draft("log_out", "true"), &call("log_out", &[])),
        None
    );
}

#[test]
fn uses_are_those_of_each_mandate() {
    let below_two = |n| {
        mandate(MandateDraft {
            id: id(n),
            ..draft("log_out", "context.uses < 2")
        })
    };
    let set = set([1, 2, 3].map(below_two));
    let call = call("log_out", &[]);
    let manifest = crate::fixture::manifest();
    let who = asker();
    let ctx = ancile_policy::CallContext {
        agent: &who.agent,
        user: &who.user,
        now: who.now,
        class: who.class,
        uses: &|of| u32::from(of.bytes()[0]),
    };
    let answer = set.coverage(&crate::fixture::checked(&manifest, &call), &ctx);
    let covering: Vec<_> = answer.coverage.grants.iter().map(|g| g.mandate).collect();
    assert_eq!(covering, [id(1)]);
    assert_eq!(
        answer.near_misses,
        [2, 3].map(|n| (id(n), MissReason::Condition))
    );
}

#[test]
fn only_the_agents_own_mandates_of_its_own_user_count() {
    let set = set([mandate(draft("log_out", "true"))]);
    let call = call("log_out", &[]);
    let other_agent = Asker {
        agent: principal("a2"),
        ..asker()
    };
    assert_eq!(other_agent.ask(&set, &call), Default::default());
    let other_user = Asker {
        user: principal("bob"),
        ..asker()
    };
    let answer = other_user.ask(&set, &call);
    assert!(answer.coverage.grants.is_empty());
    assert_eq!(answer.near_misses, [(id(1), MissReason::OtherUser)]);
    assert_eq!(
        asker().ask(&set, &crate::fixture::email(&["a@x.org"])),
        Default::default()
    );
}

#[test]
fn a_revoked_mandate_covers_nothing() {
    let mut set = set([mandate(draft("log_out", "true"))]);
    let call = call("log_out", &[]);
    assert_eq!(asker().ask(&set, &call).coverage.grants.len(), 1);
    set.remove(id(1)).unwrap();
    assert_eq!(asker().ask(&set, &call), Default::default());
}

#[test]
fn the_weakest_class_bounds_the_session() {
    let call = call("log_out", &[]);
    for weakest in [AuthorityClass::AgentDerived, AuthorityClass::Untrusted] {
        for class in AuthorityClass::ALL {
            let draft = MandateDraft {
                weakest,
                ..draft("log_out", "true")
            };
            let why = (class > weakest).then_some(MissReason::Class { weakest, class });
            assert_eq!(Asker { class, ..asker() }.miss(draft, &call), why);
        }
    }
}

#[test]
fn an_evaluation_error_is_a_miss_of_that_mandate_alone() {
    let overflow = draft("log_out", "context.uses + 9223372036854775807 > 0");
    let fine = MandateDraft {
        id: id(2),
        ..draft("log_out", "true")
    };
    let set = set([mandate(overflow), mandate(fine)]);
    let call = call("log_out", &[]);
    assert_eq!(
        asker().ask(&set, &call).coverage.grants.len(),
        2,
        "no overflow at 0 uses"
    );
    let answer = Asker { uses: 1, ..asker() }.ask(&set, &call);
    assert_eq!(answer.coverage.grants.len(), 1);
    assert_eq!(answer.coverage.grants[0].mandate, id(2));
    match answer.near_misses.as_slice() {
        [(of, MissReason::Evaluation { fault })] => {
            assert_eq!(*of, id(1));
            assert!(fault.contains("overflow"), "{fault}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_error_hidden_behind_a_negation_is_still_a_miss() {
    let negated = draft("log_out", "!(context.uses + 9223372036854775807 < 0)");
    let miss = Asker { uses: 1, ..asker() }.miss(negated, &call("log_out", &[]));
    assert!(
        matches!(miss, Some(MissReason::Evaluation { .. })),
        "{miss:?}"
    );
}

#[test]
fn a_moment_that_cedar_cannot_write_is_a_miss() {
    let always = MandateDraft {
        not_before: Micros(i64::MIN),
        not_after: Micros(i64::MAX),
        ..draft("log_out", "true")
    };
    for now in [i64::MIN, i64::MAX - 1] {
        let asker = Asker {
            now: Micros(now),
            ..asker()
        };
        let miss = asker.miss(always.clone(), &call("log_out", &[]));
        assert!(
            matches!(miss, Some(MissReason::Evaluation { .. })),
            "{miss:?}"
        );
    }
}

#[test]
fn a_value_that_has_no_form_is_covered_by_no_mandate() {
    let any = draft("save", "true");
    let on = |due: &str| call("save", &[("path", text("/x")), ("due", text(due))]);
    assert_eq!(miss(any.clone(), &on("2026-01-01")), None);
    assert_eq!(miss(any, &on("next week")), unreadable("due"));
}

/// The canonicaliser of this workspace gives an empty text no form, since it can ground nothing.
struct NoBlank;

impl Canonicalise for NoBlank {
    fn canonical(&self, kind: ArgKind, text: &str) -> Option<CanonicalValue> {
        crate::fixture::Plain
            .canonical(kind, text)
            .filter(|value| !value.bytes.is_empty())
    }
}

#[test]
fn an_empty_free_text_can_be_covered_though_it_grounds_nothing() {
    let manifest = crate::fixture::manifest();
    let who = asker();
    let ctx = ancile_policy::CallContext {
        agent: &who.agent,
        user: &who.user,
        now: who.now,
        class: who.class,
        uses: &|_| 0,
    };
    let set = set([mandate(draft("save", "true"))]);
    for (path, options, covered) in [("/x", "", true), ("/x", "y", true), ("", "y", false)] {
        let call = call("save", &[("path", text(path)), ("options", text(options))]);
        let checked = manifest.check(&call, &NoBlank).unwrap();
        assert_eq!(
            set.coverage(&checked, &ctx).coverage.grants.len() == 1,
            covered
        );
    }
}
