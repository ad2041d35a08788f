// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON and the core's argument values.

use ancile_core::{ProposedCall, ToolName, VALUE_DEPTH_MAX, VALUE_NODES_MAX, Value};
use std::collections::BTreeMap;

/// Why a JSON value is not an argument value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueFault {
    /// Nested too deeply.
    #[error("arguments are nested deeper than {VALUE_DEPTH_MAX} levels; flatten them")]
    Deep,
    /// Too many parts.
    #[error("arguments have more than {VALUE_NODES_MAX} parts; send fewer")]
    Large,
}

/// Turns JSON into a [`Value`]; numbers keep their decimal text.
///
/// # Errors
/// [`ValueFault`] when it is deeper than [`VALUE_DEPTH_MAX`] or has more than [`VALUE_NODES_MAX`]
/// parts.
pub fn value_from_json(json: &serde_json::Value) -> Result<Value, ValueFault> {
    let mut nodes = 0;
    convert(json, 0, &mut nodes)
}

fn convert(json: &serde_json::Value, depth: usize, nodes: &mut usize) -> Result<Value, ValueFault> {
    *nodes = nodes.saturating_add(1);
    if depth > VALUE_DEPTH_MAX {
        return Err(ValueFault::Deep);
    }
    if *nodes > VALUE_NODES_MAX {
        return Err(ValueFault::Large);
    }
    let next = depth.saturating_add(1);
    Ok(match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(b) => Value::Bool(*b),
        serde_json::Value::Number(n) => Value::Number(n.to_string().into()),
        serde_json::Value::String(s) => Value::Text(s.as_str().into()),
        serde_json::Value::Array(items) => Value::List(
            items
                .iter()
                .map(|item| convert(item, next, nodes))
                .collect::<Result<_, _>>()?,
        ),
        serde_json::Value::Object(map) => Value::Map(
            map.iter()
                .map(|(k, v)| Ok((k.as_str().into(), convert(v, next, nodes)?)))
                .collect::<Result<_, _>>()?,
        ),
    })
}

/// Turns a [`Value`] into JSON.
#[must_use]
pub fn value_to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(b) => serde_json::Value::Bool(*b),
        Value::Number(n) => n.parse::<serde_json::Number>().map_or_else(
            |_| serde_json::Value::String(n.to_string()),
            serde_json::Value::Number,
        ),
        Value::Text(s) => serde_json::Value::String(s.to_string()),
        Value::List(items) => items.iter().map(value_to_json).collect(),
        Value::Map(map) => serde_json::Value::Object(
            map.iter()
                .map(|(k, v)| (k.to_string(), value_to_json(v)))
                .collect(),
        ),
    }
}

/// All texts and numbers inside a value, in order.
pub(crate) fn leaves(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(s) | Value::Text(s) => out.push(s.to_string()),
        Value::List(items) => items.iter().for_each(|item| leaves(item, out)),
        Value::Map(map) => map.values().for_each(|item| leaves(item, out)),
    }
}

/// A call as `{"tool": ..., "args": {...}}`.
pub(crate) fn call_to_json(call: &ProposedCall) -> serde_json::Value {
    let args: serde_json::Map<String, serde_json::Value> = call
        .args
        .iter()
        .map(|(k, v)| (k.to_string(), value_to_json(v)))
        .collect();
    serde_json::json!({ "tool": call.tool.as_str(), "args": args })
}

/// Reads [`call_to_json`].
pub(crate) fn call_from_json(json: &serde_json::Value) -> Result<ProposedCall, String> {
    let tool = json
        .get("tool")
        .and_then(|t| t.as_str())
        .ok_or("a call has no tool")?;
    let args = json
        .get("args")
        .and_then(|a| a.as_object())
        .ok_or("a call has no arguments")?;
    let mut map = BTreeMap::new();
    for (name, value) in args {
        map.insert(
            name.as_str().into(),
            value_from_json(value).map_err(|fault| fault.to_string())?,
        );
    }
    Ok(ProposedCall {
        tool: ToolName::new(tool).map_err(|e| e.to_string())?,
        args: map,
    })
}

/// For `#[serde(with = ...)]`.
pub(crate) mod call {
    use super::{ProposedCall, call_from_json, call_to_json};
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(call: &ProposedCall, s: S) -> Result<S::Ok, S::Error> {
        call_to_json(call).serialize(s)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<ProposedCall, D::Error> {
        call_from_json(&serde_json::Value::deserialize(d)?).map_err(D::Error::custom)
    }
}
