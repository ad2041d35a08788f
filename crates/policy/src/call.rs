// SPDX-License-Identifier: MIT OR Apache-2.0
//! A proposed call fitted into the schema of its tool.

use crate::{ArgSpec, ToolSpec, parsed::Parsed};
use ancile_core::{
    ArgKind, CanonicalValue, FieldName, ProposedCall, SensitiveArg, ToolName, Value,
};
use std::collections::BTreeMap;

/// The one canonicaliser, given by the caller.
///
/// Equal canonical bytes under one kind are the same value. Bytes that this crate takes apart are
/// UTF-8: an email is `local@domain`, a URL `scheme://host[:port][/path][?query]`, an amount
/// decimal digits with an optional `-`, one `.`, and a currency before or after it. Whatever does
/// not come apart that way is covered by no mandate.
pub trait Canonicalise {
    /// The canonical form of a whole text as a value of this kind; `None` if it has none.
    fn canonical(&self, kind: ArgKind, text: &str) -> Option<CanonicalValue>;
}

/// A call that fits the manifest. Only [`Manifest::check`](crate::Manifest::check) makes it.
///
/// ```compile_fail
/// fn forge(tool: &ancile_policy::ToolSpec) -> ancile_policy::CheckedCall<'_> {
///     ancile_policy::CheckedCall { tool, args: Default::default() }
/// }
/// ```
///
/// The checked way compiles:
///
/// ```
/// use ancile_core::ProposedCall;
/// use ancile_policy::{Canonicalise, CheckedCall, Manifest, SchemaDenial};
///
/// fn check<'a>(
///     manifest: &'a Manifest,
///     call: &ProposedCall,
///     canon: &dyn Canonicalise,
/// ) -> Result<CheckedCall<'a>, SchemaDenial> {
///     manifest.check(call, canon)
/// }
/// ```
#[derive(Debug, Clone)]
pub struct CheckedCall<'a> {
    tool: &'a ToolSpec,
    args: BTreeMap<FieldName, CheckedArg>,
}

/// One argument of a checked call.
#[derive(Debug, Clone)]
pub struct CheckedArg {
    spec: ArgSpec,
    elements: Vec<Element>,
}

/// One value: the argument itself, or one element of a list.
#[derive(Debug, Clone)]
pub struct Element {
    text: Box<str>,
    canonical: Option<CanonicalValue>,
    parsed: Option<Parsed>,
}

/// Why a call does not fit the manifest. It is a deny.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaDenial {
    /// The manifest has no such tool.
    #[error("tool `{tool}` is not in the manifest; add it or call one that is")]
    UnknownTool {
        /// The tool.
        tool: ToolName,
    },
    /// The tool takes no such argument.
    #[error("tool `{tool}` takes no argument `{}`; leave it out", arg.escape_debug())]
    UnknownArg {
        /// The tool.
        tool: ToolName,
        /// The argument.
        arg: Box<str>,
    },
    /// A required argument is absent, null, or an empty list.
    #[error("tool `{tool}` needs argument `{arg}`; give it")]
    MissingArg {
        /// The tool.
        tool: ToolName,
        /// The argument.
        arg: FieldName,
    },
    /// A value is not what its kind takes: a list where one value is due, or the other way round.
    #[error("argument `{arg}` is {found}; kind `{kind}` takes {wanted}")]
    WrongShape {
        /// The argument.
        arg: FieldName,
        /// What it is.
        found: &'static str,
        /// The kind it is declared with.
        kind: ArgKind,
        /// What it should be.
        wanted: &'static str,
    },
    /// A list has more than [`ELEMENTS_MAX`] elements.
    #[error("argument `{arg}` has {elements} elements; limit is {ELEMENTS_MAX}; split the call")]
    ListTooLong {
        /// The argument.
        arg: FieldName,
        /// How many it has.
        elements: usize,
    },
}

impl SchemaDenial {
    /// The stable rule id.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownTool { .. } => "call.schema.unknown_tool",
            Self::UnknownArg { .. } => "call.schema.unknown_argument",
            Self::MissingArg { .. } => "call.schema.missing_argument",
            Self::WrongShape { .. } => "call.schema.wrong_shape",
            Self::ListTooLong { .. } => "call.schema.list_too_long",
        }
    }
}

impl<'a> CheckedCall<'a> {
    /// The tool.
    #[must_use]
    pub const fn tool(&self) -> &'a ToolSpec {
        self.tool
    }

    /// The arguments, in name order; those given as null or as an empty list have no elements.
    pub fn args(&self) -> impl Iterator<Item = (&FieldName, &CheckedArg)> {
        self.args.iter()
    }

    /// The argument of this name.
    #[must_use]
    pub fn arg(&self, name: &FieldName) -> Option<&CheckedArg> {
        self.args.get(name)
    }

    /// The sensitive arguments as core compares them, in name order.
    #[must_use]
    pub fn sensitive(&self) -> Vec<SensitiveArg> {
        self.args
            .iter()
            .filter(|(_, arg)| arg.spec.sensitive)
            .map(|(name, arg)| SensitiveArg {
                name: name.as_str().into(),
                elements: arg.elements.iter().map(|e| e.canonical.clone()).collect(),
            })
            .collect()
    }
}

impl CheckedArg {
    /// What the manifest says of it.
    #[must_use]
    pub const fn spec(&self) -> &ArgSpec {
        &self.spec
    }

    /// Its values.
    #[must_use]
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }
}

impl Element {
    /// The value as text, as the call gave it.
    #[must_use]
    pub const fn text(&self) -> &str {
        &self.text
    }

    /// The canonical form; `None` where it has none.
    #[must_use]
    pub const fn canonical(&self) -> Option<&CanonicalValue> {
        self.canonical.as_ref()
    }

    /// What policies see; `None` where the canonical form does not come apart.
    pub(crate) const fn parsed(&self) -> Option<&Parsed> {
        self.parsed.as_ref()
    }
}

/// Fits a call into the schema of its tool.
pub(crate) fn check<'a>(
    tool: &'a ToolSpec,
    call: &ProposedCall,
    canon: &dyn Canonicalise,
) -> Result<CheckedCall<'a>, SchemaDenial> {
    let mut args = BTreeMap::new();
    for (given, value) in &call.args {
        let (name, spec) = FieldName::new(given)
            .ok()
            .and_then(|name| tool.args.get_key_value(&name))
            .ok_or_else(|| SchemaDenial::UnknownArg {
                tool: tool.name.clone(),
                arg: given.clone(),
            })?;
        let texts = texts(name, *spec, value)?;
        let elements = texts.into_iter().map(|text| {
            let canonical = canonical(spec.kind, &text, canon);
            let parsed = match &canonical {
                Some(value) => Parsed::new(value),
                None => Parsed::blank(spec.kind, &text),
            };
            Element {
                text,
                canonical,
                parsed,
            }
        });
        let arg = CheckedArg {
            spec: *spec,
            elements: elements.collect(),
        };
        args.insert(name.clone(), arg);
    }
    let missing = tool.args.iter().find(|(name, spec)| {
        spec.required && args.get(name).is_none_or(|arg| arg.elements.is_empty())
    });
    match missing {
        Some((arg, _)) => Err(SchemaDenial::MissingArg {
            tool: tool.name.clone(),
            arg: arg.clone(),
        }),
        None => Ok(CheckedCall { tool, args }),
    }
}

/// The canonical form of one value. A text that could be read as several addresses has none, even
/// where the canonicaliser finds one in it: the tool is given the text, not its canonical form.
pub(crate) fn canonical(
    kind: ArgKind,
    text: &str,
    canon: &dyn Canonicalise,
) -> Option<CanonicalValue> {
    let several = || {
        let ats = text.matches(['@', '\u{ff20}', '\u{fe6b}']).count();
        ats > 1 || text.contains([',', ';']) || text.contains(char::is_control)
    };
    if kind == ArgKind::Email && several() {
        return None;
    }
    canon
        .canonical(kind, text)
        .filter(|value| value.kind == kind)
}

/// The elements of a value as texts; null has none.
fn texts(arg: &FieldName, spec: ArgSpec, value: &Value) -> Result<Vec<Box<str>>, SchemaDenial> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::List(items) if spec.list => {
            if items.len() > ELEMENTS_MAX {
                return Err(SchemaDenial::ListTooLong {
                    arg: arg.clone(),
                    elements: items.len(),
                });
            }
            items.iter().map(|item| text(arg, spec, item)).collect()
        }
        _ if spec.list => Err(wrong_shape(arg, spec, value, "a list")),
        one => Ok(vec![text(arg, spec, one)?]),
    }
}

/// One value as text: a text; a number where numbers are written that way; anything but a list or
/// null where it is free.
fn text(arg: &FieldName, spec: ArgSpec, value: &Value) -> Result<Box<str>, SchemaDenial> {
    use ArgKind::{Account, Amount, Free, Phone};
    match (value, spec.kind) {
        (Value::Text(text), _) => Ok(text.clone()),
        (Value::Number(text), Account | Amount | Free | Phone) => Ok(text.clone()),
        (Value::Bool(_) | Value::Map(_), Free) => Ok(json_text(value).to_string().into()),
        (_, Free) => Err(wrong_shape(
            arg,
            spec,
            value,
            "a text, number, flag or object",
        )),
        (_, Account | Amount | Phone) => Err(wrong_shape(arg, spec, value, "a text or a number")),
        _ => Err(wrong_shape(arg, spec, value, "a text")),
    }
}

/// A value as JSON, which is how policies and fixed values see an object: keys in order, no blanks.
fn json_text(value: &Value) -> serde_json::Value {
    use serde_json::Value as Json;
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Number(text) => text
            .parse::<serde_json::Number>()
            .map_or_else(|_| text_json(text), Json::Number),
        Value::Text(text) => text_json(text),
        Value::List(items) => Json::Array(items.iter().map(json_text).collect()),
        Value::Map(map) => Json::Object(
            map.iter()
                .map(|(name, value)| (name.to_string(), json_text(value)))
                .collect(),
        ),
    }
}

fn text_json(text: &str) -> serde_json::Value {
    serde_json::Value::String(text.to_owned())
}

fn wrong_shape(
    arg: &FieldName,
    spec: ArgSpec,
    value: &Value,
    wanted: &'static str,
) -> SchemaDenial {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a flag",
        Value::Number(_) => "a number",
        Value::Text(_) => "a text",
        Value::List(_) => "a list",
        Value::Map(_) => "an object",
    };
    SchemaDenial::WrongShape {
        arg: arg.clone(),
        found,
        kind: spec.kind,
        wanted,
    }
}

/// Most elements of one list argument.
pub const ELEMENTS_MAX: usize = 1_024;
