// SPDX-License-Identifier: MIT OR Apache-2.0
//! The OpenAPI 3.1 document (spec.openapis.org/oas/v3.1), made from [`ROUTES`] and the types of
//! the wire, so that it says what is so.

use crate::ask::JSON;
use crate::once;
use crate::problem;
use crate::route::{Access, Route, SESSION, SchemaOf, Verb};
use crate::routes::ROUTES;
use crate::wire::query;
use crate::wire::spelled::Spelling as _;
use ancile_core::{EntryId, SourceName};
use ancile_engine::ONCE_KEY_BYTES_MAX;
use axum::http::StatusCode;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Where the schemas of the document lie.
const SCHEMAS: &str = "#/components/schemas/";
/// What the names of the wire's types end with, and those in the document do not.
const SUFFIX: &str = "Body";

/// The OpenAPI 3.1 document of this release; `docs/openapi.json` is its text.
#[must_use]
pub fn openapi() -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(
                method(route.verb).to_owned(),
                operation(route, &mut schemas),
            );
        }
    }
    let problem = schemas.of(
        Side::Answer,
        SchemaGenerator::subschema_for::<problem::Body<'_>>,
    );
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ancile",
            "description": "Persistent memory for agents that an attacker can write to but cannot \
                            act through.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:7878"}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "responses": {
                "problem": {
                    "description": "A refusal (RFC 9457)",
                    "content": {"application/problem+json": {"schema": problem}},
                },
            },
            "schemas": schemas.all(),
        },
    })
}

const fn method(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "get",
        Verb::Post => "post",
        Verb::Put => "put",
        Verb::Delete => "delete",
    }
}

fn operation(route: &Route, schemas: &mut Schemas) -> Value {
    let mut answer = Map::from_iter([("description".to_owned(), json!("Done"))]);
    if let Some((kind, of)) = route.shape.gives {
        let kind = kind.split(';').next().unwrap_or(kind);
        let schema = schemas.of(Side::Answer, of);
        answer.insert("content".to_owned(), json!({kind: {"schema": schema}}));
    }
    let status = route.shape.status.as_str().to_owned();
    let mut responses = Map::from_iter([(status, Value::Object(answer.clone()))]);
    if route.shape.may_pend {
        let mut held = answer;
        let what = "Stored; what is pending is held out of use until it is judged";
        held.insert("description".to_owned(), json!(what));
        let status = StatusCode::ACCEPTED.as_str().to_owned();
        responses.insert(status, Value::Object(held));
    }
    let problem = json!({"$ref": "#/components/responses/problem"});
    responses.insert("default".to_owned(), problem);
    let mut out = Map::from_iter([
        ("operationId".to_owned(), json!(name_of(route))),
        ("summary".to_owned(), json!(route.summary)),
        ("responses".to_owned(), Value::Object(responses)),
    ]);
    let parameters = parameters(route);
    if !parameters.is_empty() {
        out.insert("parameters".to_owned(), Value::Array(parameters));
    }
    if let Some(of) = route.shape.takes {
        let schema = schemas.of(Side::Request, of);
        let body = json!({"required": true, "content": {JSON: {"schema": schema}}});
        out.insert("requestBody".to_owned(), body);
    }
    if route.access == Access::Open {
        out.insert("security".to_owned(), json!([]));
    }
    Value::Object(out)
}

/// A name of the route for programs: its method and the words of its path.
fn name_of(route: &Route) -> String {
    let words = route.path.trim_start_matches("/v1").split('/');
    let words = words.filter(|word| !word.is_empty() && !word.starts_with('{'));
    let mut name = method(route.verb).to_owned();
    for word in words {
        name = format!("{name}_{word}");
    }
    if route.path.ends_with('}') {
        name += "_one";
    }
    name
}

fn parameters(route: &Route) -> Vec<Value> {
    let mut out = Vec::new();
    if let Some((_, after)) = route.path.split_once('{') {
        let name = after.split('}').next().unwrap_or_default();
        // Ids are UUIDs but for those of keys.
        let schema = match name {
            "name" => SourceName::schema().to_value(),
            _ if route.path.starts_with("/v1/keys/") => json!({"type": "string"}),
            _ => EntryId::schema().to_value(),
        };
        out.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
    }
    if route.access == Access::Session {
        out.push(json!({
            "name": SESSION, "in": "header", "required": true, "schema": {"type": "string"},
            "description": "The token that the session was opened with",
        }));
    }
    if route.verb == Verb::Post {
        out.push(json!({
            "name": once::KEY, "in": "header", "required": false,
            "schema": {
                "type": "string", "pattern": "^[!-~]+$",
                "minLength": 1, "maxLength": ONCE_KEY_BYTES_MAX,
            },
            "description": "The request is carried out once, and a like one is answered alike",
        }));
    }
    for name in route.query {
        out.push(query::parameter(name));
    }
    out
}

/// Which way a body goes: what may be left out differs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Request,
    Answer,
}

/// The schemas that the document names.
struct Schemas {
    request: SchemaGenerator,
    answer: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            request: settings().for_deserialize().into_generator(),
            answer: settings().for_serialize().into_generator(),
        }
    }

    fn of(&mut self, side: Side, of: SchemaOf) -> Value {
        let schema = match side {
            Side::Request => of(&mut self.request),
            Side::Answer => of(&mut self.answer),
        };
        named(schema.to_value(), side)
    }

    /// All of them by name.
    fn all(mut self) -> Map<String, Value> {
        let mut out = Map::new();
        let sides = [
            (Side::Request, self.request.take_definitions(true)),
            (Side::Answer, self.answer.take_definitions(true)),
        ];
        for (side, schemas) in sides {
            for (name, schema) in schemas {
                out.insert(name_in(&name, side), named(schema, side));
            }
        }
        out
    }
}

/// The name of a schema in the document: a type may have another form in an answer than in a
/// request.
fn name_in(name: &str, side: Side) -> String {
    let bare = name.replace(SUFFIX, "");
    match side {
        Side::Request => format!("{bare}Request"),
        Side::Answer => bare,
    }
}

/// The same with the references of a schema under their names in the document.
fn named(schema: Value, side: Side) -> Value {
    match schema {
        Value::Object(object) => {
            let members = object
                .into_iter()
                .map(|(key, value)| match (key.as_str(), value) {
                    ("$ref", Value::String(to)) => {
                        let to = to.strip_prefix(SCHEMAS).unwrap_or(&to);
                        let to = format!("{SCHEMAS}{}", name_in(to, side));
                        (key, Value::String(to))
                    }
                    (_, value) => (key, named(value, side)),
                });
            Value::Object(members.collect())
        }
        Value::Array(items) => items.into_iter().map(|item| named(item, side)).collect(),
        other => other,
    }
}
