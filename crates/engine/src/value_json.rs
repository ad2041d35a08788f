// SPDX-License-Identifier: MIT OR Apache-2.0
//! Argument values and calls inside events and contents.

use ancile_core::{ProposedCall, ToolName, VALUE_DEPTH_MAX, Value};
use std::collections::BTreeMap;

/// All texts and numbers inside a value, in order.
pub(crate) fn leaves(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(s) | Value::Text(s) => out.push(s.to_string()),
        Value::List(items) => items.iter().for_each(|item| leaves(item, out)),
        Value::Map(map) => map.values().for_each(|item| leaves(item, out)),
    }
}

/// A value in the form that logs and contents keep: every node says what it is, numbers are text,
/// and names that a caller chose are never keys of a JSON object, so that no JSON reader gives
/// them a meaning of its own.
fn tagged(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(b) => serde_json::Value::Bool(*b),
        Value::Number(n) => serde_json::json!({ "number": n }),
        Value::Text(s) => serde_json::json!({ "text": s }),
        Value::List(items) => {
            serde_json::json!({ "list": items.iter().map(tagged).collect::<Vec<_>>() })
        }
        Value::Map(map) => serde_json::json!({ "map": pairs(map) }),
    }
}

fn pairs(map: &BTreeMap<Box<str>, Value>) -> Vec<(String, serde_json::Value)> {
    map.iter()
        .map(|(name, value)| (name.to_string(), tagged(value)))
        .collect()
}

/// Reads [`tagged`].
fn untagged(json: &serde_json::Value, depth: usize) -> Result<Value, String> {
    if depth > VALUE_DEPTH_MAX {
        return Err(format!(
            "a value nested deeper than {VALUE_DEPTH_MAX} levels"
        ));
    }
    let next = depth.saturating_add(1);
    let object = match json {
        serde_json::Value::Null => return Ok(Value::Null),
        serde_json::Value::Bool(b) => return Ok(Value::Bool(*b)),
        serde_json::Value::Object(object) => object,
        _ => return Err("a value without a tag".to_owned()),
    };
    match object.iter().next() {
        Some((tag, serde_json::Value::String(s))) if tag == "number" => {
            Ok(Value::Number(s.as_str().into()))
        }
        Some((tag, serde_json::Value::String(s))) if tag == "text" => {
            Ok(Value::Text(s.as_str().into()))
        }
        Some((tag, serde_json::Value::Array(items))) if tag == "list" => items
            .iter()
            .map(|item| untagged(item, next))
            .collect::<Result<_, _>>()
            .map(Value::List),
        Some((tag, pairs)) if tag == "map" => read_pairs(pairs, next).map(Value::Map),
        _ => Err("a value with an unknown tag".to_owned()),
    }
}

fn read_pairs(json: &serde_json::Value, depth: usize) -> Result<BTreeMap<Box<str>, Value>, String> {
    let pairs = json.as_array().ok_or("named values are not a list")?;
    let mut map = BTreeMap::new();
    for pair in pairs {
        let (name, value) = match pair.as_array().map(Vec::as_slice) {
            Some([serde_json::Value::String(name), value]) => (name, value),
            _ => return Err("a named value is not a pair".to_owned()),
        };
        map.insert(name.as_str().into(), untagged(value, depth)?);
    }
    Ok(map)
}

/// A call as `{"tool": ..., "args": [[name, value], ...]}`.
pub(crate) fn call_to_json(call: &ProposedCall) -> serde_json::Value {
    serde_json::json!({ "tool": call.tool.as_str(), "args": pairs(&call.args) })
}

/// Reads [`call_to_json`].
pub(crate) fn call_from_json(json: &serde_json::Value) -> Result<ProposedCall, String> {
    let tool = json
        .get("tool")
        .and_then(|t| t.as_str())
        .ok_or("a call has no tool")?;
    let args = json.get("args").ok_or("a call has no arguments")?;
    let tool = ToolName::new(tool).map_err(|e| e.to_string())?;
    Ok(ProposedCall {
        tool,
        args: read_pairs(args, 0)?,
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
