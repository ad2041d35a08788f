// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::fixture::{MANIFEST, field, manifest};
use ancile_core::{ArgKind, Effect, ToolName};
use ancile_policy::{
    ARGS_MAX, MANIFEST_BYTES_MAX, Manifest, ManifestError, RESULTS_MAX, TOOLS_MAX,
};

fn refusal(json: &str) -> String {
    Manifest::parse(json).unwrap_err().to_string()
}

fn tool(rest: &str) -> String {
    format!(r#"{{"version":1,"tools":[{{"name":"t","effect":"write"{rest}}}]}}"#)
}

#[test]
fn says_what_each_tool_takes_and_gives() {
    let manifest = manifest();
    let send = manifest
        .tool(&ToolName::new("send_email").unwrap())
        .unwrap();
    assert_eq!(send.effect, Effect::External);
    assert_eq!(send.results[&field("id")], ArgKind::Free);
    let to = send.args[&field("to")];
    assert_eq!(
        (to.kind, to.list, to.required),
        (ArgKind::Email, true, true)
    );
    assert_eq!(manifest.tools().count(), 6);
    assert!(manifest.tool(&ToolName::new("nothing").unwrap()).is_none());
}

#[test]
fn what_a_value_points_at_is_sensitive_unless_the_manifest_says_otherwise() {
    let pointing = ["account", "email", "url", "host", "phone", "path", "secret"];
    for effect in ["read_only", "write", "external"] {
        for kind in ArgKind::ALL {
            for said in [None, Some(false), Some(true)] {
                let sensitive = said.map_or(String::new(), |s| format!(r#","sensitive":{s}"#));
                let json = format!(
                    r#"{{"version":1,"tools":[{{"name":"t","effect":"{effect}",
                       "args":{{"a":{{"kind":"{kind}"{sensitive}}}}}}}]}}"#
                );
                let manifest = Manifest::parse(&json).unwrap();
                let is = manifest.tools().next().unwrap().args[&field("a")].sensitive;
                let by_default = effect != "read_only" && pointing.contains(&kind.name());
                assert_eq!(is, said.unwrap_or(by_default), "{json}");
            }
        }
    }
}

#[test]
fn the_digest_is_that_of_what_is_said_not_of_how() {
    let one = Manifest::parse(
        r#"{"tools":[{"effect":"write","name":"b"},
            {"args":{"y":{"kind":"email"},"x":{"kind":"free","list":false}},
             "name":"a","effect":"write"}],"version":1}"#,
    )
    .unwrap();
    let other = Manifest::parse(
        r#"{"version":1,"tools":[{"name":"a","effect":"write","results":{},"args":{
            "x":{"kind":"free"},"y":{"kind":"email","sensitive":true,"required":false}}},
            {"name":"b","effect":"write","args":{}}]}"#,
    )
    .unwrap();
    assert_eq!(one.digest(), other.digest());
    assert_eq!(one.json(), other.json());
    let changed = Manifest::parse(
        &one.json()
            .replace("external", "write")
            .replace(r#""sensitive":true"#, r#""sensitive":false"#),
    );
    assert_ne!(one.digest(), changed.unwrap().digest());
}

#[test]
fn the_canonical_form_reads_back_as_itself() {
    for manifest in [manifest(), Manifest::empty()] {
        let again = Manifest::parse(manifest.json()).unwrap();
        assert_eq!(again.json(), manifest.json());
        assert_eq!(again.digest(), manifest.digest());
        let digests = |m: &Manifest| m.tools().map(|t| t.digest()).collect::<Vec<_>>();
        assert_eq!(digests(&again), digests(&manifest));
    }
    assert_eq!(Manifest::empty().tools().count(), 0);
}

#[test]
fn refuses_unknown_fields_and_words() {
    for (json, says) in [
        (
            r#"{"version":1,"tools":[],"extra":1}"#.into(),
            "unknown field `extra`",
        ),
        (tool(r#","extra":1"#), "unknown field `extra`"),
        (
            tool(r#","args":{"a":{"kind":"free","extra":1}}"#),
            "unknown field `extra`",
        ),
        (
            tool(r#","args":{"a":{"kind":"colour"}}"#),
            "tool `t`, argument `a`: `colour` is not a kind",
        ),
        (
            tool(r#","results":{"a":"colour"}"#),
            "tool `t`, result `a`: `colour` is not a kind",
        ),
        (
            tool(r#","args":{"a":{}}"#),
            "tools[0].args.a: missing field `kind`",
        ),
        (
            tool(r#","args":{"a b":{"kind":"free"}}"#),
            "`a b` is not a name",
        ),
        (
            tool(r#","results":{"":"free"}"#),
            "`` is not a name: name is empty",
        ),
        (r#"{"version":2,"tools":[]}"#.into(), "version 2"),
        (r#"{"tools":[]}"#.into(), "form: missing field `version`"),
        (
            r#"{"version":1,"tools":[{"name":"t","effect":"maybe"}]}"#.into(),
            "tool `t`, effect: `maybe` is not an effect; write one of: read_only, write, external",
        ),
        (r#"{"version":1,"tools":[]"#.into(), "documented form"),
        ("".into(), "documented form"),
    ] {
        let refusal = refusal(&json);
        assert!(refusal.contains(says), "{json}\n{refusal}");
    }
}

#[test]
fn refuses_names_and_keys_that_come_twice() {
    for (json, says) in [
        (
            r#"{"version":1,"tools":[{"name":"t","effect":"write"},
               {"name":"t","effect":"read_only"}]}"#
                .into(),
            "tool `t` comes twice",
        ),
        (tool(r#","effect":"read_only""#), "duplicate field `effect`"),
        (
            tool(r#","args":{"a":{"kind":"email"},"a":{"kind":"free"}}"#),
            "key `a` comes twice",
        ),
        (
            tool(r#","args":{"a":{"kind":"email","kind":"free"}}"#),
            "duplicate field `kind`",
        ),
        (
            tool(r#","args":{"a":{"kind":"email"},"\u0061":{"kind":"free"}}"#),
            "key `a` comes twice",
        ),
        (
            tool(r#","results":{"a":"free","a":"email"}"#),
            "key `a` comes twice",
        ),
        (
            r#"{"version":1,"tools":[],"tools":[]}"#.into(),
            "duplicate field `tools`",
        ),
    ] {
        let refusal = refusal(&json);
        assert!(refusal.contains(says), "{json}\n{refusal}");
    }
}

#[test]
fn keeps_to_its_limits() {
    let tools = |n: usize| {
        let tools: Vec<_> = (0..n)
            .map(|i| format!(r#"{{"name":"t{i}","effect":"write"}}"#))
            .collect();
        Manifest::parse(&format!(r#"{{"version":1,"tools":[{}]}}"#, tools.join(",")))
    };
    let fields = |what: &str, spec: &str, n: usize| {
        let fields: Vec<_> = (0..n).map(|i| format!(r#""f{i}":{spec}"#)).collect();
        Manifest::parse(&tool(&format!(r#","{what}":{{{}}}"#, fields.join(","))))
    };
    let bytes =
        |n: usize| Manifest::parse(&(MANIFEST.to_owned() + &" ".repeat(n - MANIFEST.len())));
    for (at, fits) in [(-1, true), (0, true), (1, false)] {
        let n = |limit: usize| limit.checked_add_signed(at).unwrap();
        assert_eq!(tools(n(TOOLS_MAX)).is_ok(), fits);
        assert_eq!(
            fields("args", r#"{"kind":"url"}"#, n(ARGS_MAX)).is_ok(),
            fits
        );
        assert_eq!(fields("results", r#""free""#, n(RESULTS_MAX)).is_ok(), fits);
        assert_eq!(bytes(n(MANIFEST_BYTES_MAX)).is_ok(), fits);
    }
    assert_eq!(
        tools(TOOLS_MAX + 1).unwrap_err(),
        ManifestError::TooManyTools {
            tools: TOOLS_MAX + 1
        }
    );
    assert_eq!(
        bytes(MANIFEST_BYTES_MAX + 1).unwrap_err().to_string(),
        "manifest is 1048577 bytes; limit is 1048576; split the tools by tenant"
    );
}

#[test]
fn an_argument_may_have_any_name_that_is_a_name() {
    for name in [
        "class", "now", "uses", "args", "if", "true", "__cedar", "a-b", "1.2", "like",
    ] {
        let json = tool(&format!(r#","args":{{"{name}":{{"kind":"amount"}}}}"#));
        assert!(Manifest::parse(&json).is_ok(), "{name}");
    }
}
