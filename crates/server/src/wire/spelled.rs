// SPDX-License-Identifier: MIT OR Apache-2.0
//! Core types as JSON texts: names as they are, ids as UUIDs, digests as hexadecimal, classes and
//! the like by name. The core itself knows no serialisation framework.

use ancile_core::{
    ApprovalId, AuthorityClass, Channel, Decision, Digest, EntryId, EntryKind, FieldName,
    MandateId, NAME_BYTES_MAX, NamespaceName, PermitId, PrincipalName, Role, SessionId,
    SessionMode, SourceField, SourceName, SourceState, TenantName, ToolName,
};
use ancile_engine::api::{ApprovalState, ChatRole, ExposureKind, Gates, ToolMode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// Longest piece of a caller's text that an error repeats, in characters.
const ECHO_CHARS_MAX: usize = 64;

/// A type with one text form.
pub(crate) trait Spelling: Sized {
    /// The text.
    fn spell(&self) -> String;
    /// Reads the text; the error says what it is not, and what it could be.
    fn read(text: &str) -> Result<Self, String>;
    /// JSON Schema of the text.
    fn schema() -> Schema;
}

/// A value that goes over the wire as its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spelled<T>(pub(crate) T);

impl<T: Spelling> Serialize for Spelled<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0.spell())
    }
}

impl<'de, T: Spelling> Deserialize<'de> for Spelled<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        T::read(&text).map(Self).map_err(D::Error::custom)
    }
}

impl<T: Spelling> JsonSchema for Spelled<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Text")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

/// The value inside, if there is one.
pub(crate) fn bare<T>(value: Option<Spelled<T>>) -> Option<T> {
    value.map(|spelled| spelled.0)
}

/// The values inside.
pub(crate) fn bare_list<T>(values: Vec<Spelled<T>>) -> Vec<T> {
    values.into_iter().map(|spelled| spelled.0).collect()
}

/// The values as they go over the wire.
pub(crate) fn spelled_list<T>(values: Vec<T>) -> Vec<Spelled<T>> {
    values.into_iter().map(Spelled).collect()
}

/// A caller's text as errors repeat it: escaped and cut.
pub(crate) fn echo(text: &str) -> String {
    let cut: String = text.chars().take(ECHO_CHARS_MAX).collect();
    let dots = if cut.len() < text.len() { "..." } else { "" };
    format!("`{}{dots}`", cut.escape_debug())
}

fn name_schema() -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9._-]+$",
        "minLength": 1, "maxLength": NAME_BYTES_MAX,
    })
}

macro_rules! spell_name {
    ($($name:ident),+) => { $(impl Spelling for $name {
        fn spell(&self) -> String { self.as_str().to_owned() }
        fn read(text: &str) -> Result<Self, String> {
            Self::new(text).map_err(|fault| format!("{} is no name: {fault}", echo(text)))
        }
        fn schema() -> Schema { name_schema() }
    })+ };
}
spell_name!(
    TenantName,
    NamespaceName,
    PrincipalName,
    SourceName,
    ToolName,
    FieldName
);

macro_rules! spell_id {
    ($($name:ident),+) => { $(impl Spelling for $name {
        fn spell(&self) -> String { self.to_string() }
        fn read(text: &str) -> Result<Self, String> {
            Self::parse(text).map_err(|fault| format!("{} is no id: {fault}", echo(text)))
        }
        fn schema() -> Schema { json_schema!({"type": "string", "format": "uuid"}) }
    })+ };
}
spell_id!(EntryId, SessionId, MandateId, PermitId, ApprovalId);

/// Finds the value with this name, or says which names there are.
fn find<T: Copy>(
    text: &str,
    what: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, String> {
    all.iter()
        .copied()
        .find(|value| name(*value) == text)
        .ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|value| name(*value)).collect();
            format!(
                "{} is no {what}; give one of {}",
                echo(text),
                names.join(", ")
            )
        })
}

macro_rules! spell_enum {
    ($($name:ident $what:literal $all:expr, $text:expr;)+) => { $(impl Spelling for $name {
        fn spell(&self) -> String { ($text)(*self).to_owned() }
        fn read(text: &str) -> Result<Self, String> { find(text, $what, $all, $text) }
        fn schema() -> Schema {
            let names: Vec<&str> = $all.iter().copied().map($text).collect();
            json_schema!({"type": "string", "enum": names})
        }
    })+ };
}
spell_enum!(
    AuthorityClass "class" &AuthorityClass::ALL, AuthorityClass::name;
    Channel "channel" Channel::ALL, Channel::name;
    Role "role" Role::ALL, Role::name;
    EntryKind "kind of entry" EntryKind::ALL, EntryKind::name;
    SourceState "grade" SourceState::ALL, SourceState::name;
    Decision "decision" &Decision::ALL, Decision::name;
    SessionMode "mode" &[SessionMode::Interactive, SessionMode::Headless], mode_name;
    ExposureKind "kind of exposure" EXPOSURES, exposure_name;
    ApprovalState "state" APPROVALS, approval_name;
    ChatRole "role" CHAT_ROLES, chat_role_name;
    ToolMode "mode" &[ToolMode::Enforce, ToolMode::LogOnly], tool_mode_name;
    Gates "gate setting" &[Gates::Enforce, Gates::LogOnly, Gates::Off], gates_name;
);

const fn mode_name(mode: SessionMode) -> &'static str {
    match mode {
        SessionMode::Interactive => "interactive",
        SessionMode::Headless => "headless",
    }
}

const EXPOSURES: &[ExposureKind] = &[
    ExposureKind::SystemPrompt,
    ExposureKind::ToolList,
    ExposureKind::UserTurn,
    ExposureKind::Text,
    ExposureKind::PeerMessage,
];

const fn exposure_name(kind: ExposureKind) -> &'static str {
    match kind {
        ExposureKind::SystemPrompt => "system_prompt",
        ExposureKind::ToolList => "tool_list",
        ExposureKind::UserTurn => "user_turn",
        ExposureKind::Text => "text",
        ExposureKind::PeerMessage => "peer_message",
    }
}

const fn tool_mode_name(mode: ToolMode) -> &'static str {
    match mode {
        ToolMode::Enforce => "enforce",
        ToolMode::LogOnly => "log_only",
    }
}

const CHAT_ROLES: &[ChatRole] = &[
    ChatRole::System,
    ChatRole::User,
    ChatRole::Assistant,
    ChatRole::Tool,
];

const fn chat_role_name(role: ChatRole) -> &'static str {
    match role {
        ChatRole::System => "system",
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::Tool => "tool",
    }
}

const APPROVALS: &[ApprovalState] = &[
    ApprovalState::Waiting,
    ApprovalState::Approved,
    ApprovalState::Used,
    ApprovalState::Denied,
    ApprovalState::Expired,
    ApprovalState::Outdated,
];

const fn approval_name(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Waiting => "waiting",
        ApprovalState::Approved => "approved",
        ApprovalState::Used => "used",
        ApprovalState::Denied => "denied",
        ApprovalState::Expired => "expired",
        ApprovalState::Outdated => "outdated",
    }
}

const fn gates_name(gates: Gates) -> &'static str {
    match gates {
        Gates::Enforce => "enforce",
        Gates::LogOnly => "log_only",
        Gates::Off => "off",
    }
}

impl Spelling for Digest {
    fn spell(&self) -> String {
        self.to_string()
    }
    fn read(text: &str) -> Result<Self, String> {
        Self::parse_hex(text)
            .ok_or_else(|| format!("{} is no digest; give 64 hexadecimal digits", echo(text)))
    }
    fn schema() -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9a-fA-F]{64}$"})
    }
}

/// `source/tool/field`.
impl Spelling for SourceField {
    fn spell(&self) -> String {
        format!("{}/{}/{}", self.source, self.tool, self.field)
    }
    fn read(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let [source, tool, field] = parts.as_slice() else {
            return Err(format!(
                "{} is no field of a source; give source/tool/field",
                echo(text)
            ));
        };
        Ok(Self {
            source: SourceName::read(source)?,
            tool: ToolName::read(tool)?,
            field: FieldName::read(field)?,
        })
    }
    fn schema() -> Schema {
        json_schema!({"type": "string", "pattern": "^[^/]+/[^/]+/[^/]+$"})
    }
}

/// A struct that is written as an object; serde would also take a list of its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

impl<T: JsonSchema> JsonSchema for Object<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(schemas: &mut SchemaGenerator) -> Schema {
        T::json_schema(schemas)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// An object whose keys are names; a key that comes twice, however escaped, is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keyed<K, V>(pub(crate) BTreeMap<K, V>);

impl<K: Spelling, V: JsonSchema> JsonSchema for Keyed<K, V> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Keyed")
    }
    fn json_schema(schemas: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object", "propertyNames": K::schema(),
            "additionalProperties": schemas.subschema_for::<V>(),
        })
    }
}

impl<K, V> Default for Keyed<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Spelling, V: Serialize> Serialize for Keyed<K, V> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self.0.iter().map(|(key, value)| (key.spell(), value)))
    }
}

impl<'de, K: Spelling + Ord, V: Deserialize<'de>> Deserialize<'de> for Keyed<K, V> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_map(KeyedVisitor(PhantomData))
    }
}

struct KeyedVisitor<K, V>(PhantomData<(K, V)>);

impl<'de, K: Spelling + Ord, V: Deserialize<'de>> Visitor<'de> for KeyedVisitor<K, V> {
    type Value = Keyed<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut out = BTreeMap::new();
        while let Some((key, value)) = map.next_entry::<Spelled<K>, V>()? {
            let text = key.0.spell();
            if out.insert(key.0, value).is_some() {
                return Err(A::Error::custom(format!("duplicate field {}", echo(&text))));
            }
        }
        Ok(Keyed(out))
    }
}

#[cfg(test)]
mod tests;
