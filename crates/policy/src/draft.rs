// SPDX-License-Identifier: MIT OR Apache-2.0
//! A mandate before it is checked, and its JSON form.

use crate::{MandateError, json};
use ancile_core::{
    AuthorityClass, FieldName, MandateId, Micros, NameError, PrincipalName, ToolName,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a mandate says; plain data that grants nothing until [`Mandate::parse`] takes it.
///
/// [`Mandate::parse`]: crate::Mandate::parse
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MandateDraft {
    /// Its id.
    pub id: MandateId,
    /// The user who grants it: it covers that user's sessions only.
    pub user: PrincipalName,
    /// The agent it is for.
    pub agent: PrincipalName,
    /// The tool it is for.
    pub tool: ToolName,
    /// The weakest class of session it covers: `AgentDerived` or `Untrusted`.
    pub weakest: AuthorityClass,
    /// The first moment it holds.
    pub not_before: Micros,
    /// The first moment it no longer holds.
    pub not_after: Micros,
    /// Most uses; `None`: no limit.
    pub uses_max: Option<u32>,
    /// Values that arguments must have: one of the set, for each element.
    pub fixed: BTreeMap<FieldName, BTreeSet<String>>,
    /// One Cedar `permit` for exactly this agent and tool.
    pub cedar: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct DraftJson {
    version: u32,
    id: String,
    user: String,
    agent: String,
    tool: String,
    weakest: String,
    not_before: i64,
    not_after: i64,
    uses_max: Option<u32>,
    #[serde(default, deserialize_with = "json::unique")]
    fixed: BTreeMap<String, BTreeSet<String>>,
    cedar: String,
}

impl MandateDraft {
    /// The JSON form of `docs/formats/mandate.md`.
    ///
    /// # Errors
    /// [`MandateError::Form`] if the writer fails, which it has no reason to.
    pub fn to_json(&self) -> Result<String, MandateError> {
        let fixed = self
            .fixed
            .iter()
            .map(|(name, values)| (name.as_str().to_owned(), values.clone()));
        serde_json::to_string(&DraftJson {
            version: VERSION,
            id: self.id.to_string(),
            user: self.user.as_str().to_owned(),
            agent: self.agent.as_str().to_owned(),
            tool: self.tool.as_str().to_owned(),
            weakest: self.weakest.name().to_owned(),
            not_before: self.not_before.0,
            not_after: self.not_after.0,
            uses_max: self.uses_max,
            fixed: fixed.collect(),
            cedar: self.cedar.clone(),
        })
        .map_err(|fault| form(&fault))
    }

    /// Reads the JSON form. What it says is checked by [`Mandate::parse`](crate::Mandate::parse).
    ///
    /// # Errors
    /// [`MandateError::Form`]: not that form; also an unknown field, a key that comes twice, a
    /// name that breaks the rules.
    pub fn from_json(text: &str) -> Result<Self, MandateError> {
        let raw: DraftJson = serde_json::from_str(text).map_err(|fault| form(&fault))?;
        if raw.version != VERSION {
            let fault = format!("version {} is not known; write version 1", raw.version);
            return Err(MandateError::Form { fault });
        }
        let mut fixed = BTreeMap::new();
        for (arg, values) in raw.fixed {
            fixed.insert(name(&arg, FieldName::new)?, values);
        }
        let weakest = AuthorityClass::parse(&raw.weakest).ok_or_else(|| MandateError::Form {
            fault: format!("`{}` is not a class", raw.weakest.escape_debug()),
        })?;
        Ok(Self {
            id: MandateId::parse(&raw.id).map_err(|fault| form(&fault))?,
            user: name(&raw.user, PrincipalName::new)?,
            agent: name(&raw.agent, PrincipalName::new)?,
            tool: name(&raw.tool, ToolName::new)?,
            weakest,
            not_before: Micros(raw.not_before),
            not_after: Micros(raw.not_after),
            uses_max: raw.uses_max,
            fixed,
            cedar: raw.cedar,
        })
    }
}

fn form(fault: &dyn std::error::Error) -> MandateError {
    MandateError::Form {
        fault: fault.to_string(),
    }
}

fn name<T>(text: &str, new: impl Fn(&str) -> Result<T, NameError>) -> Result<T, MandateError> {
    new(text).map_err(|fault| MandateError::Form {
        fault: format!("`{}`: {fault}", text.escape_debug()),
    })
}

const VERSION: u32 = 1;
