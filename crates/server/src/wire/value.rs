// SPDX-License-Identifier: MIT OR Apache-2.0
//! Call arguments: JSON to the core's [`Value`] and back.
//!
//! Objects are taken apart as raw JSON, level by level, so that a key that comes twice is seen,
//! and so that no number passes through a float. A number keeps its decimal text, with an exponent
//! spelled `e+5` or `e-5`.

use super::spelled::{Spelled, echo};
use ancile_core::{ProposedCall, ToolName, VALUE_DEPTH_MAX, VALUE_NODES_MAX, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Why JSON is not an argument value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ValueFault {
    /// Nested too deeply.
    #[error("arguments are nested deeper than {VALUE_DEPTH_MAX} levels; flatten them")]
    Deep,
    /// Too many parts.
    #[error("arguments have more than {VALUE_NODES_MAX} parts; send fewer")]
    Large,
    /// A key twice in one object.
    #[error("duplicate field {}; name it once", echo(.0))]
    Twice(String),
    /// No JSON that can be read, a lone surrogate for instance.
    #[error("arguments cannot be read: {0}")]
    Unreadable(String),
    /// Something else where the object of arguments is due.
    #[error("arguments are no object; give {{\"name\": value}}")]
    NoObject,
}

/// The arguments of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Args(pub(crate) BTreeMap<Box<str>, Value>);

impl JsonSchema for Args {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Args")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object"})
    }
}

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(d)?;
        match read(raw.get(), 0, &mut 0) {
            Ok(Value::Map(map)) => Ok(Self(map)),
            Ok(_) => Err(D::Error::custom(ValueFault::NoObject)),
            Err(fault) => Err(D::Error::custom(fault)),
        }
    }
}

/// Reads one complete JSON value. `depth` is how many levels it lies in, `nodes` counts parts.
fn read(raw: &str, depth: usize, nodes: &mut usize) -> Result<Value, ValueFault> {
    *nodes = nodes.saturating_add(1);
    if depth > VALUE_DEPTH_MAX {
        return Err(ValueFault::Deep);
    }
    if *nodes > VALUE_NODES_MAX {
        return Err(ValueFault::Large);
    }
    let next = depth.saturating_add(1);
    match raw.as_bytes().first() {
        Some(b'{') => {
            let mut map = BTreeMap::new();
            for (name, part) in json::<Pairs<'_>>(raw)?.0 {
                if map.contains_key(name.as_str()) {
                    return Err(ValueFault::Twice(name));
                }
                map.insert(name.into(), read(part.get(), next, nodes)?);
            }
            Ok(Value::Map(map))
        }
        Some(b'[') => json::<Vec<&RawValue>>(raw)?
            .into_iter()
            .map(|part| read(part.get(), next, nodes))
            .collect::<Result<_, _>>()
            .map(Value::List),
        Some(b'"') => Ok(Value::Text(json::<String>(raw)?.into())),
        Some(b't' | b'f') => Ok(Value::Bool(json(raw)?)),
        Some(b'n') => Ok(Value::Null),
        _ => Ok(Value::Number(
            json::<serde_json::Number>(raw)?.to_string().into(),
        )),
    }
}

fn json<'a, T: Deserialize<'a>>(raw: &'a str) -> Result<T, ValueFault> {
    serde_json::from_str(raw).map_err(|fault| ValueFault::Unreadable(fault.to_string()))
}

/// The members of an object, in order, as they were written.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut out = Vec::new();
        while let Some(pair) = map.next_entry()? {
            out.push(pair);
        }
        Ok(Pairs(out))
    }
}

impl Serialize for Args {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self.0.iter().map(|(name, value)| (name, Shown(value))))
    }
}

/// A value as JSON.
struct Shown<'a>(&'a Value);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => s.serialize_unit(),
            Value::Bool(flag) => s.serialize_bool(*flag),
            Value::Text(text) => s.serialize_str(text),
            Value::Number(text) => match text.parse::<serde_json::Number>() {
                Ok(number) => number.serialize(s),
                Err(_) => s.serialize_str(text),
            },
            Value::List(items) => {
                let mut seq = s.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(&Shown(item))?;
                }
                seq.end()
            }
            Value::Map(map) => {
                let mut out = s.serialize_map(Some(map.len()))?;
                for (name, item) in map {
                    out.serialize_entry(name, &Shown(item))?;
                }
                out.end()
            }
        }
    }
}

/// A call: `{"tool": ..., "args": {...}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallBody {
    /// The tool.
    tool: Spelled<ToolName>,
    /// The arguments.
    args: Args,
}

impl From<CallBody> for ProposedCall {
    fn from(body: CallBody) -> Self {
        Self {
            tool: body.tool.0,
            args: body.args.0,
        }
    }
}

impl From<ProposedCall> for CallBody {
    fn from(call: ProposedCall) -> Self {
        Self {
            tool: Spelled(call.tool),
            args: Args(call.args),
        }
    }
}

#[cfg(test)]
mod tests;
