// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares two OpenAPI documents and names what a client of the older one would trip over.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Which way a value goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// From the client: the new must take what the old took.
    Request,
    /// To the client: the new must give what the old gave.
    Answer,
}
use Way::{Answer, Request};

/// The breaks, a line each.
pub fn breaks(old: &Value, new: &Value) -> Vec<String> {
    let mut found = Found {
        old,
        new,
        lines: Vec::new(),
        compared: BTreeSet::new(),
    };
    for (path, methods) in object(&old["paths"]) {
        let Some(now) = new["paths"].get(path) else {
            found.say(path, "the path was removed");
            continue;
        };
        for (method, operation) in object(methods) {
            let place = format!("{method} {path}");
            match now.get(method) {
                Some(now) => found.operation(&place, operation, now),
                None => found.say(&place, "the method was removed"),
            }
        }
    }
    found.lines
}

fn object(value: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    value.as_object().unwrap_or(&EMPTY)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "none".to_owned(), Value::to_string)
}

struct Found<'d> {
    old: &'d Value,
    new: &'d Value,
    lines: Vec<String>,
    /// Pairs of named schemas that were compared, so that one within itself ends.
    compared: BTreeSet<(Way, String, String)>,
}

impl<'d> Found<'d> {
    fn say(&mut self, place: &str, what: &str) {
        self.lines.push(format!("{place}: {what}"));
    }

    fn operation(&mut self, place: &str, old: &'d Value, new: &'d Value) {
        let open = |operation: &Value| operation.get("security") == Some(&json!([]));
        if open(old) && !open(new) {
            self.say(place, "it newly needs a key");
        }
        self.parameters(place, old, new);
        let body = |operation: &'d Value| operation.get("requestBody");
        match (body(old), body(new)) {
            (None, Some(new)) if new["required"] == true => {
                self.say(place, "a body is newly required");
            }
            (Some(old), Some(new)) => {
                if old["required"] != true && new["required"] == true {
                    self.say(place, "a body is newly required");
                }
                self.content(Request, &format!("{place} body"), old, new);
            }
            (Some(_), None) => self.say(place, "the body was removed"),
            (None, _) => {}
        }
        for (status, answer) in object(&old["responses"]) {
            let place = format!("{place} answer {status}");
            match new["responses"].get(status) {
                None => self.say(&place, "the status was removed"),
                Some(now) => {
                    let (answer, now) = (follow(self.old, answer).0, follow(self.new, now).0);
                    self.content(Answer, &place, answer, now);
                }
            }
        }
    }

    fn parameters(&mut self, place: &str, old: &'d Value, new: &'d Value) {
        let by_name = |operation: &'d Value| -> BTreeMap<(String, String), &'d Value> {
            let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
            let all = list(operation.get("parameters").unwrap_or(&Value::Null)).iter();
            all.map(|p| ((text(&p["in"]), text(&p["name"])), p))
                .collect()
        };
        let (old, new) = (by_name(old), by_name(new));
        let at = |(kind, name): &(String, String)| format!("{place} {kind} `{name}`");
        for (key, was) in &old {
            match new.get(key) {
                None => self.say(&at(key), "it was removed"),
                Some(now) => self.schema(Request, &at(key), &was["schema"], &now["schema"]),
            }
        }
        for (key, now) in &new {
            let was = old.get(key).is_some_and(|was| was["required"] == true);
            if now["required"] == true && !was {
                self.say(&at(key), "it is newly required");
            }
        }
    }

    fn content(&mut self, way: Way, place: &str, old: &'d Value, new: &'d Value) {
        for (kind, was) in object(old.get("content").unwrap_or(&Value::Null)) {
            match new.get("content").and_then(|all| all.get(kind)) {
                None => self.say(place, &format!("content type {kind} was removed")),
                Some(now) => {
                    let none = &Value::Null;
                    let schema = |of: &'d Value| of.get("schema").unwrap_or(none);
                    self.schema(way, place, schema(was), schema(now));
                }
            }
        }
    }

    fn schema(&mut self, way: Way, place: &str, old: &Value, new: &Value) {
        let (old, old_name) = follow(self.old, old);
        let (new, new_name) = follow(self.new, new);
        if let (Some(old), Some(new)) = (old_name, new_name)
            && !self.compared.insert((way, old, new))
        {
            return;
        }
        let alternatives = |of: &Value| of.get("oneOf").or_else(|| of.get("anyOf")).is_some();
        if alternatives(old) || alternatives(new) {
            return self.alternatives(way, place, old, new);
        }
        self.types(way, place, old, new);
        self.values(way, place, old, new);
        self.limits(way, place, old, new);
        self.properties(way, place, old, new);
        if let Some(items) = old.get("items") {
            let now = new.get("items").unwrap_or(&Value::Null);
            self.schema(way, &format!("{place} item"), items, now);
        }
    }

    fn types(&mut self, way: Way, place: &str, old: &Value, new: &Value) {
        let (was, is) = (types(old), types(new));
        let text = |set: &Option<BTreeSet<&str>>| match set {
            None => "any".to_owned(),
            Some(set) => set.iter().copied().collect::<Vec<_>>().join(", "),
        };
        let (wide, narrow) = match way {
            Request => (&is, &was),
            Answer => (&was, &is),
        };
        let within = match (wide, narrow) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wide), Some(narrow)) => narrow
                .iter()
                .all(|t| wide.contains(t) || (*t == "integer" && wide.contains("number"))),
        };
        if !within {
            let how = match way {
                Request => "the type is narrower",
                Answer => "the type changed",
            };
            self.say(place, &format!("{how}: {}, now {}", text(&was), text(&is)));
        }
    }

    fn values(&mut self, way: Way, place: &str, old: &Value, new: &Value) {
        match (values(old), values(new)) {
            (Some(was), Some(is)) => {
                for value in was.iter().filter(|value| !is.contains(value)) {
                    self.say(place, &format!("value {value} was removed"));
                }
            }
            (None, Some(_)) if way == Request => {
                self.say(place, "it was free and is one of a list");
            }
            (Some(_), None) if way == Answer => {
                self.say(place, "it was one of a list and is free");
            }
            _ => {}
        }
    }

    fn limits(&mut self, way: Way, place: &str, old: &Value, new: &Value) {
        let narrower = |found: &mut Self, name: &str| {
            let (was, is) = (shown(old.get(name)), shown(new.get(name)));
            found.say(place, &format!("`{name}` is narrower: {was}, now {is}"));
        };
        let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_f64);
        if way == Request {
            for name in ["minimum", "minLength", "minItems", "minProperties"] {
                let was = number(old, name).unwrap_or(f64::NEG_INFINITY);
                if number(new, name).is_some_and(|is| is > was) {
                    narrower(self, name);
                }
            }
            for name in ["maximum", "maxLength", "maxItems", "maxProperties"] {
                let was = number(old, name).unwrap_or(f64::INFINITY);
                if number(new, name).is_some_and(|is| is < was) {
                    narrower(self, name);
                }
            }
        }
        for name in ["pattern", "format"] {
            let (was, is) = (old.get(name), new.get(name));
            match way {
                Request if is.is_some() && is != was => narrower(self, name),
                Answer if was.is_some() && is != was => {
                    let (was, is) = (shown(was), shown(is));
                    self.say(place, &format!("`{name}` changed: {was}, now {is}"));
                }
                _ => {}
            }
        }
    }

    fn properties(&mut self, way: Way, place: &str, old: &Value, new: &Value) {
        let none = &Value::Null;
        let all = |of: &'_ Value| object(of.get("properties").unwrap_or(none)).clone();
        let required = |of: &Value| -> BTreeSet<String> {
            let names = list(of.get("required").unwrap_or(none)).iter();
            names
                .filter_map(|n| n.as_str().map(str::to_owned))
                .collect()
        };
        let (was, is) = (all(old), all(new));
        for (name, schema) in &was {
            let place = format!("{place} `{name}`");
            match is.get(name) {
                None => self.say(&place, "the property was removed"),
                Some(now) => self.schema(way, &place, schema, now),
            }
        }
        let (musts, now) = (required(old), required(new));
        match way {
            Request => {
                for name in now.difference(&musts) {
                    self.say(&format!("{place} `{name}`"), "it is newly required");
                }
            }
            Answer => {
                for name in musts.difference(&now).filter(|name| is.contains_key(*name)) {
                    self.say(&format!("{place} `{name}`"), "it is no longer always there");
                }
            }
        }
        let (was, is) = (
            old.get("additionalProperties"),
            new.get("additionalProperties"),
        );
        match (was, is) {
            (Some(was), Some(is)) if was.is_object() && is.is_object() => {
                self.schema(way, &format!("{place} member"), was, is);
            }
            (was, Some(Value::Bool(false))) if was != is && way == Request => {
                self.say(place, "members beside its properties are newly refused");
            }
            _ => {}
        }
    }

    /// Each old alternative must be among the new ones. A new one is an addition where it is told
    /// apart by a constant, or where it only widens a request.
    fn alternatives(&mut self, way: Way, place: &str, old: &Value, new: &Value) {
        let each = |of: &Value| -> Vec<Value> {
            let found = of.get("oneOf").or_else(|| of.get("anyOf"));
            found.map_or_else(|| vec![of.clone()], |all| list(all).to_vec())
        };
        let (was, is) = (each(old), each(new));
        for one in &was {
            let tag = self.tag(self.old, one);
            let same = is.iter().find(|other| self.tag(self.new, other) == tag);
            match same {
                Some(other) => self.schema(way, place, one, other),
                None => self.say(place, &format!("alternative {tag} was removed")),
            }
        }
        let known: BTreeSet<String> = was.iter().map(|one| self.tag(self.old, one)).collect();
        for one in &is {
            let tag = self.tag(self.new, one);
            if way == Answer && !known.contains(&tag) && !tag.starts_with('"') {
                self.say(place, &format!("alternative {tag} is new"));
            }
        }
    }

    /// What tells an alternative apart: a constant among its properties, its name, or its type.
    fn tag(&self, document: &Value, one: &Value) -> String {
        let (schema, name) = follow(document, one);
        let members = object(schema.get("properties").unwrap_or(&Value::Null)).values();
        let constant = members.filter_map(|member| member.get("const")).next();
        match (constant, name) {
            (Some(constant), _) => constant.to_string(),
            (None, Some(name)) => name,
            (None, None) => format!("of type {}", shown(schema.get("type"))),
        }
    }
}

/// What a reference stands for, and its name; the value itself where it is none.
fn follow<'v>(document: &'v Value, value: &'v Value) -> (&'v Value, Option<String>) {
    let Some(to) = value.get("$ref").and_then(Value::as_str) else {
        return (value, None);
    };
    let found = document.pointer(to.trim_start_matches('#'));
    (
        found.unwrap_or_else(|| panic!("{to} leads nowhere")),
        Some(to.to_owned()),
    )
}

/// The types of a schema; nothing where it takes any.
fn types(schema: &Value) -> Option<BTreeSet<&str>> {
    match schema.get("type")? {
        Value::String(one) => Some(BTreeSet::from([one.as_str()])),
        many => Some(list(many).iter().filter_map(Value::as_str).collect()),
    }
}

/// The values that a schema lists; nothing where it lists none.
fn values(schema: &Value) -> Option<Vec<&Value>> {
    if let Some(constant) = schema.get("const") {
        return Some(vec![constant]);
    }
    schema.get("enum").map(|all| list(all).iter().collect())
}
