// SPDX-License-Identifier: MIT OR Apache-2.0
use super::{CallArgs, given, pair};
use serde_json::{Value, json};

fn call(args: &[&str]) -> Result<Option<(String, Value)>, crate::failure::Failure> {
    let args = args.iter().map(|arg| pair(arg).unwrap()).collect();
    CallArgs {
        tool: Some("pay".into()),
        args,
    }
    .call()
}

#[test]
fn arguments_are_texts_unless_marked_as_json() {
    let (tool, args) = call(&["to=12", "n:=12.50", "list:=[\"a\"]", "eq=a=b"])
        .unwrap()
        .unwrap();
    assert_eq!(tool, "pay");
    assert_eq!(args["n"].to_string(), "12.50");
    assert_eq!((&args["to"], &args["eq"]), (&json!("12"), &json!("a=b")));
    assert_eq!(args["list"], json!(["a"]));
}

#[test]
fn an_argument_that_comes_twice_or_is_no_json_is_refused() {
    assert!(
        call(&["a=1", "a=2"])
            .unwrap_err()
            .text
            .contains("comes twice")
    );
    assert!(
        call(&["a=1", "a:=2"])
            .unwrap_err()
            .text
            .contains("comes twice")
    );
    assert!(call(&["a:=nope"]).unwrap_err().text.contains("not JSON"));
    assert!(pair("novalue").is_err() && pair("=x").is_err());
}

#[test]
fn absent_fields_are_left_out() {
    assert_eq!(
        given([("a", Value::Null), ("b", json!(false))]),
        json!({ "b": false })
    );
}
