// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Cedar side: the schema of a tool, and one request for each combination of elements.
//!
//! Agents are `Agent`, tools are `Tool`, and the one action is `Action::"call_tool"`. The context
//! holds `args` (one attribute for each argument), `now`, `class` and `uses`.

use crate::{ArgSpec, parsed::Parsed};
use ancile_core::{ArgKind, AuthorityClass, FieldName, Micros};
use cedar_policy::{
    Context, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression, Schema,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::str::FromStr as _;

#[cfg(test)]
mod tests;

/// The Cedar schema of one tool; the error is what Cedar says.
pub(crate) fn schema(args: &BTreeMap<FieldName, ArgSpec>) -> Result<Schema, String> {
    let attributes = args.iter().map(|(name, spec)| {
        let mut attribute = kind_type(spec.kind);
        if let Value::Object(fields) = &mut attribute {
            fields.insert("required".to_owned(), Value::Bool(spec.required));
        }
        (name.as_str().to_owned(), attribute)
    });
    let args = json!({ "type": "Record", "attributes": attributes.collect::<Map<_, _>>() });
    let context = json!({
        "type": "Record",
        "attributes": {
            "args": args,
            "now": { "type": "Extension", "name": "datetime" },
            "class": { "type": "String" },
            USES: { "type": "Long" },
        },
    });
    let applies = json!({
        "principalTypes": [AGENT],
        "resourceTypes": [TOOL],
        "context": context,
    });
    let mut actions = Map::new();
    actions.insert(CALL_TOOL.to_owned(), json!({ "appliesTo": applies }));
    let fragment = json!({
        "": { "entityTypes": { AGENT: {}, TOOL: {} }, "actions": actions },
    });
    Schema::from_json_value(fragment).map_err(|fault| report(&fault))
}

/// The type a kind has in the context.
fn kind_type(kind: ArgKind) -> Value {
    let text = || json!({ "type": "String" });
    let texts = |names: &[&str]| {
        let attributes: Map<_, _> = names.iter().map(|n| ((*n).to_owned(), text())).collect();
        json!({ "type": "Record", "attributes": attributes })
    };
    match kind {
        ArgKind::Email => texts(&["text", "local", "domain"]),
        ArgKind::Url => texts(&["text", "scheme", "host", "port", "path", "query"]),
        ArgKind::Amount => json!({
            "type": "Record",
            "attributes": {
                "value": { "type": "Extension", "name": "decimal" },
                "currency": text(),
            },
        }),
        _ => text(),
    }
}

/// Who calls what: the fixed part of every request of one agent for one tool.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) principal: EntityUid,
    pub(crate) action: EntityUid,
    pub(crate) resource: EntityUid,
}

impl Scope {
    /// The scope of this agent and tool; the error is what Cedar says of a type name.
    pub(crate) fn new(agent: &str, tool: &str) -> Result<Self, String> {
        let uid = |kind: &str, id: &str| {
            let kind = EntityTypeName::from_str(kind).map_err(|fault| report(&fault))?;
            Ok::<_, String>(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
        };
        Ok(Self {
            principal: uid(AGENT, agent)?,
            action: uid("Action", CALL_TOOL)?,
            resource: uid(TOOL, tool)?,
        })
    }
}

impl std::fmt::Display for Scope {
    /// The scope of the one policy form a mandate may have.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            principal,
            action,
            resource,
        } = self;
        write!(
            f,
            "permit (principal == {principal}, action == {action}, resource == {resource})"
        )
    }
}

/// What a request says beside its scope.
pub(crate) struct Facts<'a> {
    /// What [`record`] makes.
    pub(crate) args: &'a RestrictedExpression,
    /// What [`moment`] makes.
    pub(crate) now: &'a RestrictedExpression,
    /// At what class.
    pub(crate) class: AuthorityClass,
    /// How often the mandate was used before.
    pub(crate) uses: u32,
}

/// Builds a request, and validates it where a schema is given; the error is what Cedar says, such
/// as a decimal out of range.
pub(crate) fn request(
    scope: &Scope,
    schema: Option<&Schema>,
    facts: &Facts<'_>,
) -> Result<Request, String> {
    let uses = RestrictedExpression::new_long(facts.uses.into());
    let pairs = [
        ("args".to_owned(), facts.args.clone()),
        ("now".to_owned(), facts.now.clone()),
        ("class".to_owned(), text(facts.class.name())),
        (USES.to_owned(), uses),
    ];
    let context = Context::from_pairs(pairs).map_err(|fault| report(&fault))?;
    let Scope {
        principal,
        action,
        resource,
    } = scope.clone();
    Request::new(principal, action, resource, context, schema).map_err(|f| report(&f))
}

/// The moment as policies see it. Cedar parses the name of the type each time, which costs more
/// than all else in a small request: make it once for one call.
pub(crate) fn moment(now: Micros) -> Result<RestrictedExpression, String> {
    let text = datetime(now).ok_or("the time is outside the years 0 to 9999")?;
    Ok(RestrictedExpression::new_datetime(text))
}

/// One value for each argument that has one, as policies see them.
pub(crate) fn record(args: &[(&str, &Parsed)]) -> Result<RestrictedExpression, String> {
    let mut fields = Vec::with_capacity(args.len());
    for (name, value) in args {
        fields.push(((*name).to_owned(), expression(value)?));
    }
    RestrictedExpression::new_record(fields).map_err(|fault| report(&fault))
}

fn expression(value: &Parsed) -> Result<RestrictedExpression, String> {
    let texts = |fields: &[(&str, &str)]| {
        let fields = fields.iter().map(|(name, t)| ((*name).to_owned(), text(t)));
        RestrictedExpression::new_record(fields).map_err(|fault| report(&fault))
    };
    match value {
        Parsed::Text(value) => Ok(text(value)),
        Parsed::Email {
            text,
            local,
            domain,
        } => texts(&[("text", text), ("local", local), ("domain", domain)]),
        Parsed::Url(url) => texts(&[
            ("text", &url.text),
            ("scheme", &url.scheme),
            ("host", &url.host),
            ("port", &url.port),
            ("path", &url.path),
            ("query", &url.query),
        ]),
        Parsed::Amount { value, currency } => RestrictedExpression::new_record([
            ("value".to_owned(), RestrictedExpression::new_decimal(value)),
            ("currency".to_owned(), text(currency)),
        ])
        .map_err(|fault| report(&fault)),
    }
}

fn text(value: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(value.to_owned())
}

/// Whether a policy can see `context.uses`. Where in doubt it can: it cannot only where `uses`
/// stands nowhere, not even escaped, and `context` is never used as a whole.
pub(crate) fn sees_uses(policy: &str) -> bool {
    let whole = |rest: &str| !rest.starts_with(['.', '[']) && !rest.starts_with(" has ");
    policy.contains(USES) || policy.contains('\\') || policy.split("context").skip(1).any(whole)
}

/// Where the first semicolon of the code stands: the end of the first policy.
pub(crate) fn at_semicolon(policies: &str) -> Option<usize> {
    code(policies).find(|(_, c)| *c == ';').map(|(at, _)| at)
}

/// How deep the brackets of the code nest, in levels.
pub(crate) fn depth(policies: &str) -> usize {
    let (mut now, mut deepest) = (0usize, 0usize);
    for (_, c) in code(policies) {
        match c {
            '(' | '[' | '{' => now = now.saturating_add(1),
            ')' | ']' | '}' => now = now.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(now);
    }
    deepest
}

/// The characters outside of texts and comments, with their places.
fn code(policies: &str) -> impl Iterator<Item = (usize, char)> {
    let mut within = Within::Code;
    let mut before = '\n';
    policies.char_indices().filter(move |(_, c)| {
        let was = within;
        within = match (was, *c) {
            (Within::Code, '"') => Within::Text,
            (Within::Code, '/') if before == '/' => Within::Comment,
            (Within::Comment, '\n' | '\r') | (Within::Text, '"') => Within::Code,
            (Within::Text, '\\') => Within::Escape,
            (Within::Escape, _) => Within::Text,
            (same, _) => same,
        };
        before = *c;
        matches!(was, Within::Code)
    })
}

#[derive(Clone, Copy)]
enum Within {
    Code,
    Text,
    Escape,
    Comment,
}

/// A moment as Cedar writes it, cut to milliseconds; `None` outside the years 0 to 9999.
/// Days to date after Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
pub(crate) fn datetime(at: Micros) -> Option<String> {
    let ms = at.0.div_euclid(1_000);
    let (days, ms) = (ms.div_euclid(MS_A_DAY), ms.rem_euclid(MS_A_DAY));
    let shifted = days.checked_add(719_468)?;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    if !(0..=9_999).contains(&year) {
        return None;
    }
    let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
    let (second, milli) = (ms / 1_000 % 60, ms % 1_000);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
    ))
}

/// A Cedar diagnostic with its causes, on one line.
pub(crate) fn report(fault: &dyn std::error::Error) -> String {
    let mut out = fault.to_string();
    let mut cause = fault.source();
    while let Some(next) = cause {
        let next_text = next.to_string();
        if !out.contains(&next_text) {
            out.push_str(": ");
            out.push_str(&next_text);
        }
        cause = next.source();
    }
    out.replace(['\n', '\r'], " ")
}

const AGENT: &str = "Agent";
const TOOL: &str = "Tool";
/// The one action.
const CALL_TOOL: &str = "call_tool";
const USES: &str = "uses";
const MS_A_DAY: i64 = 86_400_000;
