// SPDX-License-Identifier: MIT OR Apache-2.0
//! The manifest as JSON, read strictly and written canonically.

use super::{
    ARGS_MAX, ArgSpec, ManifestError, RESULTS_MAX, TOOLS_MAX, ToolSpec, sensitive_by_default,
};
use crate::json;
use ancile_core::{ArgKind, Effect, FieldName, NameError, ToolName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;

/// The canonical form of a manifest without tools.
pub(super) const EMPTY: &str = r#"{"version":1,"tools":[]}"#;
const VERSION: u32 = 1;
const EFFECTS: [Effect; 3] = [Effect::ReadOnly, Effect::Write, Effect::External];

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ManifestJson {
    version: u32,
    tools: Vec<ToolJson>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ToolJson {
    name: String,
    effect: String,
    #[serde(default, deserialize_with = "json::unique")]
    args: BTreeMap<String, ArgJson>,
    #[serde(default, deserialize_with = "json::unique")]
    results: BTreeMap<String, String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ArgJson {
    kind: String,
    #[serde(default)]
    list: bool,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    sensitive: Option<bool>,
}

/// A tool with its names and words checked.
pub(super) struct RawTool {
    pub(super) name: ToolName,
    pub(super) effect: Effect,
    pub(super) args: BTreeMap<FieldName, ArgSpec>,
    pub(super) results: BTreeMap<FieldName, ArgKind>,
}

/// Reads the tools of a manifest, in the order they are written.
pub(super) fn read(text: &str) -> Result<Vec<RawTool>, ManifestError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let manifest: ManifestJson = serde_path_to_error::deserialize(&mut json).map_err(form)?;
    json.end().map_err(form)?;
    let version = manifest.version;
    if version != VERSION {
        return Err(ManifestError::Version { version });
    }
    let tools = manifest.tools.len();
    if tools > TOOLS_MAX {
        return Err(ManifestError::TooManyTools { tools });
    }
    manifest.tools.into_iter().map(tool).collect()
}

/// Writes the canonical form.
pub(super) fn write<'a>(
    tools: impl Iterator<Item = &'a ToolSpec>,
) -> Result<String, ManifestError> {
    let manifest = ManifestJson {
        version: VERSION,
        tools: tools.map(tool_json).collect(),
    };
    serde_json::to_string(&manifest).map_err(form)
}

fn tool(raw: ToolJson) -> Result<RawTool, ManifestError> {
    let name = name(&raw.name, ToolName::new)?;
    let effect = EFFECTS
        .into_iter()
        .find(|effect| effect.name() == raw.effect)
        .ok_or_else(|| unknown(&raw.effect, "an effect", EFFECTS.iter().map(|e| e.name())))
        .map_err(at(&name, "effect", ""))?;
    within(&name, "arguments", raw.args.len(), ARGS_MAX)?;
    within(&name, "result fields", raw.results.len(), RESULTS_MAX)?;
    let args = raw
        .args
        .iter()
        .map(|(arg_name, raw)| arg(effect, arg_name, raw).map_err(at(&name, "argument", arg_name)));
    let results = raw.results.iter().map(|(result, raw)| {
        field(result)
            .and_then(|field| Ok((field, kind(raw)?)))
            .map_err(at(&name, "result", result))
    });
    Ok(RawTool {
        args: args.collect::<Result<_, ManifestError>>()?,
        results: results.collect::<Result<_, ManifestError>>()?,
        name,
        effect,
    })
}

fn arg(effect: Effect, name: &str, raw: &ArgJson) -> Result<(FieldName, ArgSpec), ManifestError> {
    let kind = kind(&raw.kind)?;
    let spec = ArgSpec {
        kind,
        list: raw.list,
        required: raw.required,
        sensitive: raw
            .sensitive
            .unwrap_or_else(|| sensitive_by_default(effect, kind)),
    };
    Ok((field(name)?, spec))
}

fn tool_json(spec: &ToolSpec) -> ToolJson {
    let args = spec.args.iter().map(|(name, arg)| {
        let json = ArgJson {
            kind: arg.kind.name().to_owned(),
            list: arg.list,
            required: arg.required,
            sensitive: Some(arg.sensitive),
        };
        (name.as_str().to_owned(), json)
    });
    let results = spec
        .results
        .iter()
        .map(|(name, kind)| (name.as_str().to_owned(), kind.name().to_owned()));
    ToolJson {
        name: spec.name.as_str().to_owned(),
        effect: spec.effect.name().to_owned(),
        args: args.collect(),
        results: results.collect(),
    }
}

fn name<T>(text: &str, new: impl Fn(&str) -> Result<T, NameError>) -> Result<T, ManifestError> {
    new(text).map_err(|fault| ManifestError::Name {
        name: text.to_owned(),
        fault,
    })
}

/// Says where a fault lies: in a tool's effect, or in an argument or result field by its name.
fn at(tool: &ToolName, what: &str, part: &str) -> impl FnOnce(ManifestError) -> ManifestError {
    let part = match part {
        "" => String::new(),
        part => format!(" `{}`", part.escape_debug()),
    };
    let place = format!("tool `{tool}`, {what}{part}");
    move |fault| ManifestError::At {
        place,
        fault: Box::new(fault),
    }
}

fn form(fault: impl Display) -> ManifestError {
    ManifestError::Form {
        fault: fault.to_string(),
    }
}

fn field(text: &str) -> Result<FieldName, ManifestError> {
    name(text, FieldName::new)
}

fn kind(word: &str) -> Result<ArgKind, ManifestError> {
    ArgKind::parse(word)
        .ok_or_else(|| unknown(word, "a kind", ArgKind::ALL.iter().map(|k| k.name())))
}

fn unknown(
    word: &str,
    what: &'static str,
    known: impl Iterator<Item = &'static str>,
) -> ManifestError {
    ManifestError::Word {
        word: word.to_owned(),
        what,
        known: known.collect::<Vec<_>>().join(", "),
    }
}

fn within(
    tool: &ToolName,
    what: &'static str,
    fields: usize,
    limit: usize,
) -> Result<(), ManifestError> {
    if fields <= limit {
        return Ok(());
    }
    Err(ManifestError::TooManyFields {
        tool: tool.clone(),
        what,
        fields,
        limit,
    })
}
