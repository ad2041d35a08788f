// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text form of core types inside events; core itself knows no serialisation framework.

use ancile_core::{
    ApprovalId, AuthorityClass, Channel, Decision, Digest, EntryId, FieldName, MandateId, Micros,
    NamespaceName, PermitId, PrincipalName, Role, SessionId, SourceName, SourceState, TenantName,
    ToolName,
};
use ancile_screen::Verdict;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// A type with one text form.
pub(crate) trait Text: Sized {
    fn text(&self) -> String;
    fn from_text(text: &str) -> Option<Self>;
}

macro_rules! text_name {
    ($($name:ident),+) => { $(impl Text for $name {
        fn text(&self) -> String { self.as_str().to_owned() }
        fn from_text(text: &str) -> Option<Self> { Self::new(text).ok() }
    })+ };
}
macro_rules! text_id {
    ($($name:ident),+) => { $(impl Text for $name {
        fn text(&self) -> String { self.to_string() }
        fn from_text(text: &str) -> Option<Self> { Self::parse(text).ok() }
    })+ };
}
macro_rules! text_enum {
    ($($name:ident),+) => { $(impl Text for $name {
        fn text(&self) -> String { self.name().to_owned() }
        fn from_text(text: &str) -> Option<Self> { Self::parse(text) }
    })+ };
}
text_name!(
    TenantName,
    NamespaceName,
    PrincipalName,
    SourceName,
    ToolName,
    FieldName
);
text_id!(EntryId, SessionId, MandateId, PermitId, ApprovalId);
text_enum!(AuthorityClass, Channel, Role, SourceState);

impl Text for Digest {
    fn text(&self) -> String {
        self.to_string()
    }
    fn from_text(text: &str) -> Option<Self> {
        Self::parse_hex(text)
    }
}

impl Text for Decision {
    fn text(&self) -> String {
        self.name().to_owned()
    }
    fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.name() == text)
    }
}

impl Text for Verdict {
    fn text(&self) -> String {
        self.name().to_owned()
    }
    fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|v| v.name() == text)
    }
}

impl Text for Micros {
    fn text(&self) -> String {
        self.0.to_string()
    }
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }
}

/// A value read from a text without a copy of that.
struct Read<T>(T);

impl<'de, T: Text> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_str(Reader(PhantomData))
    }
}

struct Reader<T>(PhantomData<T>);

impl<T: Text> Visitor<'_> for Reader<T> {
    type Value = Read<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let value = T::from_text(text);
        let wrong = || E::custom(format!("`{}` is out of range", text.escape_debug()));
        value.map(Read).ok_or_else(wrong)
    }
}

/// One value, for `#[serde(with = "text")]`.
pub(crate) fn serialize<S: Serializer, T: Text>(value: &T, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&value.text())
}

/// One value, for `#[serde(with = "text")]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Text>(d: D) -> Result<T, D::Error> {
    Read::deserialize(d).map(|read| read.0)
}

/// An optional value.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Read, Serializer, Text};

    pub(crate) fn serialize<S: Serializer, T: Text>(
        v: &Option<T>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        match v {
            Some(value) => s.serialize_some(&value.text()),
            None => s.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Text>(
        d: D,
    ) -> Result<Option<T>, D::Error> {
        Option::<Read<T>>::deserialize(d).map(|read| read.map(|read| read.0))
    }
}

/// A list of values.
pub(crate) mod list {
    use super::{Deserialize, Deserializer, Read, Serializer, Text};
    use serde::ser::SerializeSeq as _;

    pub(crate) fn serialize<S: Serializer, T: Text>(v: &[T], s: S) -> Result<S::Ok, S::Error> {
        let mut seq = s.serialize_seq(Some(v.len()))?;
        for value in v {
            seq.serialize_element(&value.text())?;
        }
        seq.end()
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Text>(
        d: D,
    ) -> Result<Vec<T>, D::Error> {
        let read = Vec::<Read<T>>::deserialize(d)?;
        Ok(read.into_iter().map(|read| read.0).collect())
    }
}
