// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::fixture::{Plain, call, checked, field, list, manifest, number, text};
use ancile_core::{ArgKind, CanonicalValue, Effect, ProposedCall, SensitiveArg, Value};
use ancile_policy::{ELEMENTS_MAX, Manifest, SchemaDenial};
use std::collections::BTreeMap;

fn denial(call: &ProposedCall) -> SchemaDenial {
    manifest().check(call, &Plain).unwrap_err()
}

fn denied_as(call: &ProposedCall, code: &str, says: &str) {
    let denial = denial(call);
    assert_eq!(denial.code(), code, "{denial}");
    assert_eq!(denial.to_string(), says);
}

fn object(fields: &[(&str, Value)]) -> Value {
    let fields = fields.iter().map(|(name, v)| ((*name).into(), v.clone()));
    Value::Map(fields.collect::<BTreeMap<Box<str>, _>>())
}

#[test]
fn a_call_that_fits_carries_typed_arguments() {
    let manifest = manifest();
    let call = call(
        "send_email",
        &[("to", list(&["a@X.org", "b@x.org"])), ("body", text("hi"))],
    );
    let checked = checked(&manifest, &call);
    assert_eq!(checked.tool().effect, Effect::External);
    let to = checked.arg(&field("to")).unwrap();
    assert_eq!(to.spec().kind, ArgKind::Email);
    let texts: Vec<_> = to.elements().iter().map(|e| e.text()).collect();
    assert_eq!(texts, ["a@X.org", "b@x.org"]);
    let canonical = |text: &str| {
        Some(CanonicalValue {
            kind: ArgKind::Email,
            bytes: text.as_bytes().into(),
        })
    };
    assert_eq!(
        checked.sensitive(),
        [SensitiveArg {
            name: "to".into(),
            elements: vec![canonical("a@x.org"), canonical("b@x.org")],
        }]
    );
    assert_eq!(checked.args().count(), 2);
}

#[test]
fn an_element_without_a_canonical_form_stays_in_the_sensitive_argument() {
    let manifest = manifest();
    let call = call("send_email", &[("to", list(&["a@x.org", "nobody"]))]);
    let sensitive = checked(&manifest, &call).sensitive();
    assert_eq!(sensitive[0].elements.len(), 2);
    assert!(sensitive[0].elements[1].is_none());
}

#[test]
fn an_unknown_tool_is_denied() {
    denied_as(
        &call("rm", &[]),
        "call.schema.unknown_tool",
        "tool `rm` is not in the manifest; add it or call one that is",
    );
    let none = Manifest::empty();
    assert!(none.check(&call("search", &[]), &Plain).is_err());
}

#[test]
fn an_unknown_argument_is_denied() {
    for name in ["bcc", "To", "to ", "", "a\nb"] {
        let call = call(
            "send_email",
            &[("to", list(&["a@x.org"])), (name, text("x@y.org"))],
        );
        assert_eq!(
            denial(&call).code(),
            "call.schema.unknown_argument",
            "{name:?}"
        );
    }
    denied_as(
        &call("log_out", &[("a\nb", Value::Null)]),
        "call.schema.unknown_argument",
        "tool `log_out` takes no argument `a\\nb`; leave it out",
    );
}

#[test]
fn a_missing_required_argument_is_denied() {
    for to in [None, Some(Value::Null), Some(Value::List(vec![]))] {
        let args: Vec<_> = to.into_iter().map(|to| ("to", to)).collect();
        denied_as(
            &call("send_email", &args),
            "call.schema.missing_argument",
            "tool `send_email` needs argument `to`; give it",
        );
    }
}

#[test]
fn a_wrong_shape_is_denied() {
    for (tool, arg, value) in [
        ("send_email", "to", text("a@x.org")),
        ("send_email", "to", Value::List(vec![list(&["a@x.org"])])),
        ("send_email", "to", Value::List(vec![Value::Null])),
        ("send_email", "to", Value::List(vec![number("5")])),
        ("send_email", "subject", list(&["hi"])),
        ("fetch", "url", Value::Bool(true)),
        ("fetch", "url", object(&[("href", text("https://x.org"))])),
        ("pay", "amount", Value::Bool(true)),
        ("save", "path", number("5")),
    ] {
        let denial = denial(&call(tool, &[(arg, value.clone())]));
        assert_eq!(denial.code(), "call.schema.wrong_shape", "{value:?}");
    }
    denied_as(
        &call("save", &[("path", number("5"))]),
        "call.schema.wrong_shape",
        "argument `path` is a number; kind `path` takes a text",
    );
}

#[test]
fn free_arguments_take_numbers_flags_and_objects() {
    let manifest = manifest();
    let nested = object(&[
        ("b", Value::List(vec![number("1.50"), Value::Null])),
        ("a", object(&[("x\"", Value::Bool(false))])),
    ]);
    for (value, seen) in [
        (number("1.50"), "1.50"),
        (Value::Bool(true), "true"),
        (nested, r#"{"a":{"x\"":false},"b":[1.50,null]}"#),
    ] {
        let call = call("save", &[("path", text("/tmp/x")), ("options", value)]);
        let checked = checked(&manifest, &call);
        let options = checked.arg(&field("options")).unwrap();
        assert_eq!(options.elements()[0].text(), seen);
    }
}

#[test]
fn optional_arguments_may_be_null_or_empty() {
    let manifest = manifest();
    for cc in [Value::Null, Value::List(vec![])] {
        let call = call("send_email", &[("to", list(&["a@x.org"])), ("cc", cc)]);
        let checked = checked(&manifest, &call);
        assert!(checked.arg(&field("cc")).unwrap().elements().is_empty());
        let names: Vec<_> = checked
            .sensitive()
            .into_iter()
            .map(|arg| arg.name)
            .collect();
        assert_eq!(
            names,
            ["cc".into(), "to".into()],
            "an empty one is never grounded"
        );
    }
}

#[test]
fn lists_keep_to_their_limit() {
    for (at, fits) in [(-1, true), (0, true), (1, false)] {
        let n = ELEMENTS_MAX.checked_add_signed(at).unwrap();
        let call = call("send_email", &[("to", list(&vec!["a@x.org"; n]))]);
        let denial = manifest()
            .check(&call, &Plain)
            .err()
            .map(|denial| denial.code());
        assert_eq!(denial, (!fits).then_some("call.schema.list_too_long"));
    }
}
