// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::fixture::{
    call, email, field, fixing, flags, granted, list, mandate, manifest, miss, text,
};
use ancile_core::{AuthorityClass, Micros};
use ancile_policy::{GrantFlags, MandateDraft, MandateError, MissReason};

fn allowing(tool: &str, arg: &str, pattern: &str) -> Result<MandateDraft, MandateError> {
    let mut flags = flags(tool);
    flags.allow.insert(field(arg), pattern.to_owned());
    granted(&flags)
}

fn up_to(arg: &str, most: &str) -> Result<MandateDraft, MandateError> {
    let mut flags = flags("pay");
    flags.amount_max.insert(field(arg), most.to_owned());
    granted(&flags)
}

#[test]
fn the_text_is_the_policy() {
    let mut flags = GrantFlags {
        uses_max: Some(5),
        weakest: AuthorityClass::Untrusted,
        ..flags("send_email")
    };
    flags.allow.insert(field("to"), "team-*@example.com".into());
    flags.allow.insert(field("cc"), "*@*.example.com".into());
    let draft = granted(&flags).unwrap();
    assert_eq!(
        draft.cedar,
        concat!(
            "permit (principal == Agent::\"a1\", action == Action::\"call_tool\", ",
            "resource == Tool::\"send_email\")\nwhen {\n",
            "  (if context.args has \"cc\" ",
            "then context.args[\"cc\"].domain like \"*.example.com\" else true) &&\n",
            "  context.args[\"to\"].local like \"team-*\" && ",
            "context.args[\"to\"].domain == \"example.com\"\n};",
        )
    );
    assert_eq!(
        (draft.uses_max, draft.weakest),
        (Some(5), AuthorityClass::Untrusted)
    );
    assert_eq!(mandate(draft.clone()).draft(), &draft);
}

#[test]
fn without_flags_it_covers_every_call_of_the_tool() {
    let draft = granted(&flags("send_email")).unwrap();
    assert_eq!(miss(draft, &email(&["a@evil.com"])), None);
}

#[test]
fn an_email_pattern_restricts_every_address() {
    let draft = allowing("send_email", "to", "*@example.com").unwrap();
    assert_eq!(
        miss(draft.clone(), &email(&["a@example.com", "b@example.com"])),
        None
    );
    for to in [
        "a@example.com.evil.io",
        "a@evilexample.com",
        "a@sub.example.com",
    ] {
        let why = miss(draft.clone(), &email(&["b@example.com", to]));
        assert_eq!(why, Some(MissReason::Condition), "{to}");
    }
    assert!(draft.fixed.is_empty());
}

#[test]
fn an_optional_argument_is_restricted_where_it_is_given() {
    let draft = allowing("send_email", "cc", "*@example.com").unwrap();
    let with = |cc: &[&str]| {
        call(
            "send_email",
            &[("to", list(&["z@z.org"])), ("cc", list(cc))],
        )
    };
    assert_eq!(miss(draft.clone(), &email(&["z@z.org"])), None);
    assert_eq!(miss(draft.clone(), &with(&["a@example.com"])), None);
    assert_eq!(
        miss(draft, &with(&["a@evil.com"])),
        Some(MissReason::Condition)
    );
}

#[test]
fn a_url_pattern_restricts_each_part() {
    let draft = allowing("fetch", "url", "https://*.x.org:8443/v1/*").unwrap();
    for (url, covers) in [
        ("https://a.x.org:8443/v1/y", true),
        ("https://x.org:8443/v1/y", false),
        ("https://a.x.org/v1/y", false),
        ("https://a.x.org:8443/v2/y", false),
        ("http://a.x.org:8443/v1/y", false),
        ("https://a.x.org.evil.io:8443/v1/y", false),
    ] {
        let why = miss(draft.clone(), &call("fetch", &[("url", text(url))]));
        assert_eq!(why.is_none(), covers, "{url}");
    }
    for (pattern, url, covers) in [
        ("https://x.org/a*", "https://x.org/a?b=c", true),
        ("https://x.org/a", "https://x.org/a", true),
        ("https://x.org/a", "https://x.org/a?b=c", false),
        ("https://x.org/*/a", "https://x.org/b/a?c", false),
        ("https://x.org/", "https://x.org", true),
    ] {
        let draft = allowing("fetch", "url", pattern).unwrap();
        let why = miss(draft, &call("fetch", &[("url", text(url))]));
        assert_eq!(why.is_none(), covers, "{pattern} {url}");
    }
}

#[test]
fn other_patterns_match_the_canonical_text() {
    let draft = allowing("save", "path", "/home/*/a\"\\b*").unwrap();
    let on = |path: &str| call("save", &[("path", text(path))]);
    assert_eq!(miss(draft.clone(), &on("/home/ann/a\"\\bc")), None);
    assert_eq!(
        miss(draft, &on("/home/ann/ab")),
        Some(MissReason::Condition)
    );
    let draft = allowing("save", "options", "\u{1}é*").unwrap();
    let call = |options: &str| call("save", &[("path", text("/x")), ("options", text(options))]);
    assert_eq!(miss(draft.clone(), &call("\u{1}éa")), None);
    assert_eq!(miss(draft, &call("éa")), Some(MissReason::Condition));
    let host = allowing("fetch", "host", "*.x.org").unwrap();
    let call = |host: &str| {
        crate::fixture::call(
            "fetch",
            &[("url", text("https://z/")), ("host", text(host))],
        )
    };
    assert_eq!(miss(host.clone(), &call("A.x.org")), None);
    assert_eq!(
        miss(host, &call("a.x.org.evil")),
        Some(MissReason::Condition)
    );
}

#[test]
fn an_amount_is_bounded_on_both_sides_and_in_its_currency() {
    let draft = up_to("amount", "100.5 EUR").unwrap();
    let pay = |amount: &str| call("pay", &[("account", text("x")), ("amount", text(amount))]);
    for (amount, covers) in [
        ("100.50 EUR", true),
        ("0 EUR", true),
        ("100.51 EUR", false),
        ("-0.01 EUR", false),
        ("100.50 KWD", false),
        ("100.50", false),
    ] {
        assert_eq!(
            miss(draft.clone(), &pay(amount)).is_none(),
            covers,
            "{amount}"
        );
    }
    let bare = up_to("amount", "100").unwrap();
    assert_eq!(miss(bare.clone(), &pay("100")), None);
    assert_eq!(miss(bare, &pay("100 KWD")), Some(MissReason::Condition));
}

#[test]
fn what_cannot_be_made_into_a_condition_is_refused() {
    for (tool, arg, pattern) in [
        ("send_email", "to", "*"),
        ("send_email", "to", ""),
        ("send_email", "to", "***"),
        ("send_email", "to", "*example.com"),
        ("send_email", "to", "*@*example.com"),
        ("send_email", "to", "*@*"),
        ("send_email", "to", "*@*."),
        ("send_email", "to", "*@a.*.com"),
        ("send_email", "to", "*@Example.com"),
        ("send_email", "to", "*@ex\u{430}mple.com"),
        ("send_email", "to", "a@b@example.com"),
        ("fetch", "url", "https://x.org"),
        ("fetch", "url", "https://*/a"),
        ("fetch", "url", "*://x.org/a"),
        ("fetch", "url", "https://x.org:*/a"),
        ("fetch", "url", "https://x.org@evil.io/a"),
        ("fetch", "url", "https://x.org/a?*"),
        ("fetch", "url", "x.org/*"),
        ("fetch", "host", "*x.org"),
        ("pay", "amount", "1*"),
    ] {
        let refusal = allowing(tool, arg, pattern).unwrap_err();
        assert!(
            matches!(refusal, MandateError::Condition { .. }),
            "{pattern}\n{refusal}"
        );
    }
    assert!(matches!(
        allowing("save", "key", "a*"),
        Err(MandateError::Secret { .. })
    ));
    assert!(matches!(
        allowing("save", "bcc", "a*"),
        Err(MandateError::UnknownArg { .. })
    ));
    assert!(matches!(
        up_to("memo", "5"),
        Err(MandateError::Condition { .. })
    ));
    for most in ["", "ten", "1.00001", "5 6"] {
        assert!(
            matches!(up_to("amount", most), Err(MandateError::Condition { .. })),
            "{most}"
        );
    }
    let past = GrantFlags {
        until: Micros(0),
        ..flags("pay")
    };
    assert_eq!(granted(&past), Err(MandateError::NeverValid));
}

#[test]
fn fixed_values_stay_beside_the_policy() {
    let mut flags = flags("send_email");
    flags.fixed = fixing(
        crate::fixture::draft("send_email", "true"),
        "to",
        &["a@x.org"],
    )
    .fixed;
    let draft = granted(&flags).unwrap();
    assert!(!draft.cedar.contains("a@x.org"));
    assert_eq!(miss(draft.clone(), &email(&["a@x.org"])), None);
    assert!(miss(draft, &email(&["b@x.org"])).is_some());
    assert_eq!(manifest().tools().count(), 6);
}
