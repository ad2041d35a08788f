// SPDX-License-Identifier: MIT OR Apache-2.0
//! One operation of a step: an object whose `op` names it. What else it holds is the body of the
//! route of that name.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IgnoredAny, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use std::fmt;
use std::marker::PhantomData;

const OP: &str = "op";

/// The name of an operation.
#[derive(Deserialize)]
pub(crate) struct Named {
    /// The name.
    pub(crate) op: String,
}

/// The rest of an operation.
pub(crate) struct Rest<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Rest<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_map(RestVisitor(PhantomData)).map(Self)
    }
}

struct RestVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for RestVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(WithoutOp(map)))
    }
}

/// An object without its member `op`.
struct WithoutOp<A>(A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithoutOp<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.0.next_key::<String>()? {
            if key != OP {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            self.0.next_value::<IgnoredAny>()?;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

/// The schema of an operation: that of its body, with its name.
pub(crate) fn schema<T: JsonSchema>(name: &str, schemas: &mut SchemaGenerator) -> Schema {
    let mut schema = T::json_schema(schemas);
    let object = schema.ensure_object();
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(OP.to_owned(), json!({"type": "string", "const": name}));
    }
    let required = object.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        required.push(json!(OP));
    }
    schema
}
