// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tool manifest of one tenant.

mod wire;

use crate::{Canonicalise, CheckedCall, SchemaDenial, call, cedar};
use ancile_core::{ArgKind, Digest, Effect, FieldName, NameError, ProposedCall, ToolName};
use cedar_policy::Schema;
use std::collections::BTreeMap;

/// The tools of one tenant. Only [`Manifest::parse`] and [`Manifest::empty`] make one.
#[derive(Debug, Clone)]
pub struct Manifest {
    tools: BTreeMap<ToolName, ToolSpec>,
    json: String,
    digest: Digest,
}

/// One tool: what it does, and what it takes and gives.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Its name.
    pub name: ToolName,
    /// What a call of it does.
    pub effect: Effect,
    /// What it takes; any other argument is refused.
    pub args: BTreeMap<FieldName, ArgSpec>,
    /// The typed fields of its result. Fields not listed here are free text.
    pub results: BTreeMap<FieldName, ArgKind>,
    digest: Digest,
    schema: Schema,
}

/// One argument of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgSpec {
    /// The kind of value, which decides how it is compared.
    pub kind: ArgKind,
    /// Whether it is a list of such values.
    pub list: bool,
    /// Whether a call must give it.
    pub required: bool,
    /// Whether a value nobody trusted has named may decide it. Where the manifest does not say,
    /// a tool with side effects has its account, email, url, host, phone, path and secret
    /// arguments sensitive.
    pub sensitive: bool,
}

/// Why a text is not a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The text is longer than [`MANIFEST_BYTES_MAX`].
    #[error("manifest is {bytes} bytes; limit is {MANIFEST_BYTES_MAX}; split the tools by tenant")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// It is not JSON of the form in `docs/formats/mandate.md`: also an unknown field or a key
    /// that comes twice.
    #[error("manifest is not in the documented form: {fault}")]
    Form {
        /// What the reader found, and where.
        fault: String,
    },
    /// Its version is one that this release does not know.
    #[error("manifest has version {version}; this release reads version 1; write it in that form")]
    Version {
        /// The version it gives.
        version: u32,
    },
    /// More than [`TOOLS_MAX`] tools.
    #[error("manifest has {tools} tools; limit is {TOOLS_MAX}; remove those no agent uses")]
    TooManyTools {
        /// How many it has.
        tools: usize,
    },
    /// A name that breaks the rules for names.
    #[error("`{}` is not a name: {fault}", name.escape_debug())]
    Name {
        /// The name.
        name: String,
        /// The rule it breaks.
        fault: NameError,
    },
    /// Two tools of one name.
    #[error("tool `{tool}` comes twice; keep one")]
    DuplicateTool {
        /// The tool.
        tool: ToolName,
    },
    /// More than [`ARGS_MAX`] arguments or [`RESULTS_MAX`] result fields.
    #[error("tool `{tool}` has {fields} {what}; limit is {limit}; split the tool")]
    TooManyFields {
        /// The tool.
        tool: ToolName,
        /// Arguments or result fields.
        what: &'static str,
        /// How many it has.
        fields: usize,
        /// The limit.
        limit: usize,
    },
    /// A word that is not one of those expected.
    #[error("`{}` is not {what}; write one of: {known}", word.escape_debug())]
    Word {
        /// The word.
        word: String,
        /// What it should have been.
        what: &'static str,
        /// The words that are.
        known: String,
    },
    /// A fault in one place of a manifest.
    #[error("{place}: {fault}")]
    At {
        /// The tool, and its argument or result field.
        place: String,
        /// The fault.
        fault: Box<ManifestError>,
    },
    /// No Cedar schema can be made from a tool.
    #[error("tool `{tool}` gives no schema: {fault}")]
    Schema {
        /// The tool.
        tool: ToolName,
        /// What Cedar found.
        fault: String,
    },
}

impl Manifest {
    /// Reads a manifest in the form of `docs/formats/mandate.md`.
    ///
    /// # Errors
    /// [`ManifestError`]: over a limit, an unknown field, a key or tool that comes twice, a name or
    /// a word that does not exist.
    pub fn parse(json: &str) -> Result<Self, ManifestError> {
        if json.len() > MANIFEST_BYTES_MAX {
            return Err(ManifestError::TooLong { bytes: json.len() });
        }
        let mut tools = BTreeMap::new();
        for raw in wire::read(json)? {
            let spec = ToolSpec::new(raw)?;
            let name = spec.name.clone();
            if tools.insert(name.clone(), spec).is_some() {
                return Err(ManifestError::DuplicateTool { tool: name });
            }
        }
        let json = wire::write(tools.values())?;
        Ok(Self::of(tools, json))
    }

    /// The manifest of a tenant that has no tools: every call is refused.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(BTreeMap::new(), wire::EMPTY.to_owned())
    }

    fn of(tools: BTreeMap<ToolName, ToolSpec>, json: String) -> Self {
        let digest = Digest::sha256(format!("ancile manifest v1\0{json}").as_bytes());
        Self {
            tools,
            json,
            digest,
        }
    }

    /// Digest of the canonical form: equal for two texts that say the same.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The tool of this name.
    #[must_use]
    pub fn tool(&self, name: &ToolName) -> Option<&ToolSpec> {
        self.tools.get(name)
    }

    /// The tools, in name order.
    pub fn tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values()
    }

    /// The canonical form: names in order, nothing left to defaults. It reads back as itself.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Fits a call into the schema and canonicalises its values.
    ///
    /// # Errors
    /// [`SchemaDenial`]: the tool or an argument is not in the manifest, a required argument is
    /// missing, or a value has the wrong shape. It is a deny at the act gate.
    pub fn check<'a>(
        &'a self,
        call: &ProposedCall,
        canon: &dyn Canonicalise,
    ) -> Result<CheckedCall<'a>, SchemaDenial> {
        let spec = self
            .tool(&call.tool)
            .ok_or_else(|| SchemaDenial::UnknownTool {
                tool: call.tool.clone(),
            })?;
        call::check(spec, call, canon)
    }
}

impl ToolSpec {
    fn new(raw: wire::RawTool) -> Result<Self, ManifestError> {
        let wire::RawTool {
            name,
            effect,
            args,
            results,
        } = raw;
        let schema = cedar::schema(&args).map_err(|fault| ManifestError::Schema {
            tool: name.clone(),
            fault,
        })?;
        let mut spec = Self {
            name,
            effect,
            args,
            results,
            digest: Digest([0; 32]),
            schema,
        };
        let json = wire::write([&spec].into_iter())?;
        spec.digest = Digest::sha256(format!("ancile tool v1\0{json}").as_bytes());
        Ok(spec)
    }

    /// Digest of all that the manifest says of this tool. A mandate holds only while it is the
    /// same.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The Cedar schema of a call of this tool.
    pub(crate) const fn schema(&self) -> &Schema {
        &self.schema
    }
}

/// Whether an argument is sensitive where the manifest does not say: a tool with side effects acts
/// on what such a value points at.
const fn sensitive_by_default(effect: Effect, kind: ArgKind) -> bool {
    use ArgKind::{Account, Email, Host, Path, Phone, Secret, Url};
    effect.has_side_effect() && matches!(kind, Account | Email | Url | Host | Phone | Path | Secret)
}

/// Longest manifest text, in bytes.
pub const MANIFEST_BYTES_MAX: usize = 1 << 20;
/// Most tools of a manifest.
pub const TOOLS_MAX: usize = 256;
/// Most arguments of a tool.
pub const ARGS_MAX: usize = 64;
/// Most declared result fields of a tool.
pub const RESULTS_MAX: usize = 64;
