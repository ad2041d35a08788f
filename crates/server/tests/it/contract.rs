// SPDX-License-Identifier: MIT OR Apache-2.0
//! The released document of `/v1` changes by addition only: whoever was written for it goes on
//! working. Requests may be taken more widely, and answers may say more.

mod compare;

use compare::breaks;
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn the_document_only_adds_to_the_released_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi-v1-baseline.json");
    let released: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let broken = breaks(&released, &ancile_server::openapi());
    assert_eq!(broken, Vec::<String>::new(), "add instead, or make a /v2");
}

/// A document of one operation.
fn document() -> Value {
    json!({
        "paths": {
            "/v1/things": {
                "post": {
                    "parameters": [
                        {"name": "limit", "in": "query", "required": false,
                         "schema": {"type": "integer", "minimum": 1, "maximum": 200}},
                        {"name": "id", "in": "query", "required": true,
                         "schema": {"type": "string"}},
                    ],
                    "requestBody": {"required": true, "content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/ThingRequest"}}}},
                    "responses": {
                        "201": {"content": {"application/json": {
                            "schema": {"$ref": "#/components/schemas/Thing"}}}},
                        "default": {"$ref": "#/components/responses/problem"},
                    },
                },
                "get": {"responses": {"200": {"description": "Done"}}},
            },
            "/v1/others": {"get": {"security": [], "responses": {"200": {}}}},
        },
        "components": {
            "responses": {"problem": {"content": {"application/problem+json": {
                "schema": {"$ref": "#/components/schemas/Problem"}}}}},
            "schemas": {
                "Problem": {"type": "object", "properties": {"code": {"type": "string"}},
                    "required": ["code"]},
                "ThingRequest": {
                    "type": "object", "additionalProperties": false, "required": ["name"],
                    "properties": {
                        "name": {"type": "string", "maxLength": 64},
                        "note": {"type": ["string", "null"]},
                        "color": {"type": "string", "enum": ["red", "blue"]},
                        "size": {"type": "integer"},
                        "parts": {"type": "array", "items": {
                            "$ref": "#/components/schemas/ThingRequest"}},
                        "what": {"oneOf": [
                            {"type": "object", "required": ["op"],
                             "properties": {"op": {"const": "a"}, "x": {"type": "string"}}},
                            {"type": "object", "required": ["op"],
                             "properties": {"op": {"const": "b"}}},
                        ]},
                    },
                },
                "Thing": {
                    "type": "object", "required": ["id", "state"],
                    "properties": {
                        "id": {"type": "string", "format": "uuid"},
                        "state": {"type": "string", "enum": ["new", "old"]},
                        "next": {"type": ["string", "null"]},
                        "made": {"anyOf": [
                            {"$ref": "#/components/schemas/Problem"}, {"type": "null"}]},
                    },
                },
            },
        },
    })
}

/// What breaks when the value at a place becomes another; `null` takes it away.
fn broken(place: &str, value: &str) -> Vec<String> {
    let mut new = document();
    let names = [
        ("{POST}", POST),
        ("{REQUEST}", REQUEST),
        ("{ANSWER}", ANSWER),
    ];
    let place = &names
        .iter()
        .fold(place.to_owned(), |place, (n, at)| place.replace(n, at));
    let value = &serde_json::from_str(value).unwrap();
    let (parent, name) = place.rsplit_once('/').unwrap();
    let parent = new.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(object), Value::Null) => {
            object.remove(&name.replace("~1", "/")).unwrap();
        }
        (Value::Array(list), Value::Null) => {
            list.remove(name.parse().unwrap());
        }
        (Value::Object(object), value) => {
            object.insert(name.replace("~1", "/"), value.clone());
        }
        (Value::Array(list), value) => {
            let at: usize = name.parse().unwrap();
            if at < list.len() {
                list[at] = value.clone();
            } else {
                list.push(value.clone());
            }
        }
        (other, _) => panic!("{other}"),
    }
    breaks(&document(), &new)
}

const POST: &str = "/paths/~1v1~1things/post";
const REQUEST: &str = "/components/schemas/ThingRequest";
const ANSWER: &str = "/components/schemas/Thing";

/// A place, the value it gets (`null`: it goes), and what is said of that.
const BREAKS: &[(&str, &str, &str)] = &[
    (
        "/paths/~1v1~1others",
        "null",
        "/v1/others: the path was removed",
    ),
    (
        "/paths/~1v1~1things/get",
        "null",
        "get /v1/things: the method was removed",
    ),
    (
        "{POST}/responses/201",
        "null",
        "answer 201: the status was removed",
    ),
    (
        "{POST}/responses/201/content",
        r#"{"text/plain": {}}"#,
        "answer 201: content type application/json was removed",
    ),
    (
        "{POST}/parameters/0",
        "null",
        "query `limit`: it was removed",
    ),
    (
        "{POST}/parameters/2",
        r#"{"name": "more", "in": "query", "required": true, "schema": {}}"#,
        "query `more`: it is newly required",
    ),
    (
        "{POST}/parameters/0/required",
        "true",
        "query `limit`: it is newly required",
    ),
    (
        "{POST}/parameters/0/schema/maximum",
        "100",
        "query `limit`: `maximum` is narrower: 200, now 100",
    ),
    (
        "/paths/~1v1~1things/get/requestBody",
        r#"{"required": true, "content": {}}"#,
        "get /v1/things: a body is newly required",
    ),
    (
        "/paths/~1v1~1others/get/security",
        "null",
        "get /v1/others: it newly needs a key",
    ),
    (
        "{REQUEST}/properties/note",
        "null",
        "`note`: the property was removed",
    ),
    (
        "{REQUEST}/required",
        r#"["name", "size"]"#,
        "`size`: it is newly required",
    ),
    (
        "{REQUEST}/properties/note/type",
        r#""string""#,
        "`note`: the type is narrower: null, string, now string",
    ),
    (
        "{REQUEST}/properties/size/type",
        r#""string""#,
        "`size`: the type is narrower: integer, now string",
    ),
    (
        "{REQUEST}/properties/color/enum",
        r#"["red"]"#,
        r#"`color`: value "blue" was removed"#,
    ),
    (
        "{REQUEST}/properties/name/maxLength",
        "63",
        "`name`: `maxLength` is narrower: 64, now 63",
    ),
    (
        "{REQUEST}/properties/name/minLength",
        "1",
        "`name`: `minLength` is narrower: none, now 1",
    ),
    (
        "{REQUEST}/properties/name/pattern",
        r#""^a""#,
        r#"`name`: `pattern` is narrower: none, now "^a""#,
    ),
    (
        "{REQUEST}/properties/name/enum",
        r#"["a"]"#,
        "`name`: it was free and is one of a list",
    ),
    (
        "{REQUEST}/properties/what/oneOf/1",
        "null",
        r#"`what`: alternative "b" was removed"#,
    ),
    (
        "{REQUEST}/properties/what/oneOf/0/properties/x/type",
        r#""integer""#,
        "`x`: the type is narrower: string, now integer",
    ),
    (
        "{ANSWER}/properties/next",
        "null",
        "`next`: the property was removed",
    ),
    (
        "{ANSWER}/required",
        r#"["id"]"#,
        "`state`: it is no longer always there",
    ),
    (
        "{ANSWER}/properties/id/type",
        r#"["string", "null"]"#,
        "`id`: the type changed: string, now null, string",
    ),
    (
        "{ANSWER}/properties/id/format",
        "null",
        r#"`id`: `format` changed: "uuid", now none"#,
    ),
    (
        "{ANSWER}/properties/state/enum",
        r#"["new"]"#,
        r#"`state`: value "old" was removed"#,
    ),
    (
        "{ANSWER}/properties/state/enum",
        "null",
        "`state`: it was one of a list and is free",
    ),
    (
        "{ANSWER}/properties/made",
        r#"{"type": "string"}"#,
        "`made`",
    ),
    (
        "/components/schemas/Problem/properties/code",
        "null",
        "`code`: the property was removed",
    ),
];

/// A place and the value it gets, which adds.
const ADDITIONS: &[(&str, &str)] = &[
    ("/paths/~1v1~1more", r#"{"get": {"responses": {}}}"#),
    ("/paths/~1v1~1things/put", r#"{"responses": {}}"#),
    ("{POST}/responses/202", "{}"),
    (
        "{POST}/parameters/2",
        r#"{"name": "more", "in": "query", "required": false, "schema": {}}"#,
    ),
    ("{POST}/parameters/1/required", "false"),
    ("{POST}/parameters/0/schema/maximum", "300"),
    ("{POST}/parameters/0/schema/minimum", "0"),
    ("{REQUEST}/properties/more", r#"{"type": "string"}"#),
    ("{REQUEST}/required", "[]"),
    ("{REQUEST}/properties/size/type", r#""number""#),
    (
        "{REQUEST}/properties/color/enum",
        r#"["red", "blue", "green"]"#,
    ),
    ("{REQUEST}/properties/color/enum", "null"),
    ("{REQUEST}/properties/name/maxLength", "null"),
    ("{REQUEST}/properties/name/description", r#""Its name""#),
    (
        "{REQUEST}/properties/what/oneOf/2",
        r#"{"type": "object", "properties": {"op": {"const": "c"}}}"#,
    ),
    ("{ANSWER}/properties/more", r#"{"type": "string"}"#),
    ("{ANSWER}/required", r#"["id", "state", "next"]"#),
    ("{ANSWER}/properties/next/type", r#""string""#),
    ("{ANSWER}/properties/state/enum", r#"["new", "old", "odd"]"#),
];

#[test]
fn each_kind_of_break_is_named() {
    for (place, value, said) in BREAKS {
        let broken = broken(place, value);
        let named = broken.iter().any(|line| line.contains(said));
        assert!(named, "{place}: {said} is not in {broken:#?}");
    }
}

#[test]
fn additions_break_nothing() {
    assert_eq!(breaks(&document(), &document()), Vec::<String>::new());
    for (place, value) in ADDITIONS {
        assert_eq!(
            broken(place, value),
            Vec::<String>::new(),
            "{place} {value}"
        );
    }
}
