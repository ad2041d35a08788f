// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

fn args(json: &str) -> Result<BTreeMap<Box<str>, Value>, String> {
    serde_json::from_str::<Args>(json)
        .map(|args| args.0)
        .map_err(|fault| fault.to_string())
}

fn number(json: &str) -> String {
    match args(&format!("{{\"n\":{json}}}"))
        .unwrap()
        .get("n")
        .unwrap()
    {
        Value::Number(text) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

fn nested(levels: usize) -> String {
    format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels))
}

fn wide(parts: usize) -> String {
    // The object is one part, the list one, each number one.
    let items = vec!["1"; parts - 2].join(",");
    format!("{{\"a\":[{items}]}}")
}

#[test]
fn numbers_keep_their_decimal_text() {
    let kept = [
        "0",
        "-0",
        "1.50",
        "12.50",
        "0.10000000000000000000000001",
        "100000000000000000001",
    ];
    for text in kept {
        assert_eq!(number(text), text);
    }
    assert_eq!(number("1E5"), "1e+5");
    assert_eq!(number("1e+5"), "1e+5");
    assert_eq!(number("1e-5"), "1e-5");
    assert_ne!(number("1.5"), number("1.50"));
}

#[test]
fn values_come_back_as_they_went() {
    let json = r#"{"a":null,"b":[true,false,1.50,"x\u00e9"],"c":{"d":{}}}"#;
    let shown = serde_json::to_string(&Args(args(json).unwrap())).unwrap();
    assert_eq!(
        shown,
        "{\"a\":null,\"b\":[true,false,1.50,\"x\u{e9}\"],\"c\":{\"d\":{}}}"
    );
    assert_eq!(args(&shown), args(json));
}

#[test]
fn the_shape_of_a_number_inside_the_parser_is_an_ordinary_object() {
    let json = r#"{"a":{"$serde_json::private::Number":"5"}}"#;
    let inner = BTreeMap::from([(
        "$serde_json::private::Number".into(),
        Value::Text("5".into()),
    )]);
    assert_eq!(args(json).unwrap().get("a"), Some(&Value::Map(inner)));
}

#[test]
fn keys_come_once_however_escaped() {
    for json in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"x":[{"k":1,"k":2}]}"#,
    ] {
        let said = args(json).unwrap_err();
        assert!(said.starts_with("duplicate field `"), "{said}");
    }
}

#[test]
fn depth_is_limited() {
    assert!(args(&nested(VALUE_DEPTH_MAX - 1)).is_ok());
    assert!(args(&nested(VALUE_DEPTH_MAX)).is_ok());
    let said = args(&nested(VALUE_DEPTH_MAX + 1)).unwrap_err();
    assert!(
        said.starts_with("arguments are nested deeper than 16 levels; flatten them"),
        "{said}"
    );
}

#[test]
fn parts_are_limited() {
    assert!(args(&wide(VALUE_NODES_MAX - 1)).is_ok());
    assert!(args(&wide(VALUE_NODES_MAX)).is_ok());
    let said = args(&wide(VALUE_NODES_MAX + 1)).unwrap_err();
    assert!(
        said.starts_with("arguments have more than 4096 parts; send fewer"),
        "{said}"
    );
}

#[test]
fn only_an_object_of_readable_texts_is_taken() {
    for json in ["[]", "1", "null", "\"a\""] {
        let said = args(json).unwrap_err();
        assert!(said.starts_with("arguments are no object"), "{said}");
    }
    for json in [r#"{"a":"\ud800"}"#, r#"{"\udc00":1}"#] {
        let said = args(json).unwrap_err();
        assert!(said.starts_with("arguments cannot be read"), "{said}");
    }
}

#[test]
fn digest_does_not_depend_on_key_order() {
    let call = |json| ProposedCall::from(serde_json::from_str::<CallBody>(json).unwrap()).digest();
    let one = call(r#"{"tool":"t","args":{"a":1,"b":2}}"#);
    assert_eq!(one, call(r#"{"args":{"b":2,"a":1},"tool":"t"}"#));
    assert_ne!(one, call(r#"{"tool":"t","args":{"a":1,"b":2.0}}"#));
}
