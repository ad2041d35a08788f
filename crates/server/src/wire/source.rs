// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sources on the wire.

use super::spelled::{Keyed, Spelled, spelled_list};
use crate::problem::Problem;
use ancile_core::{FieldName, SourceField, SourceName, SourceState, ToolName};
use ancile_engine::api::SourceView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A source to be registered.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceBody {
    /// Its name.
    pub(crate) name: Spelled<SourceName>,
    /// The tools whose results it gives.
    pub(crate) tools: Vec<Spelled<ToolName>>,
}

/// A field of a source to be approved.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GradeBody {
    /// The tool.
    pub(crate) tool: Spelled<ToolName>,
    /// The field of its result.
    pub(crate) field: Spelled<FieldName>,
    /// `evidence` or `authority`.
    pub(crate) grade: Spelled<SourceState>,
}

/// What to revoke: one field, or, with neither, the whole source.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RevokeBody {
    tool: Option<Spelled<ToolName>>,
    field: Option<Spelled<FieldName>>,
}

impl RevokeBody {
    /// The tool and the field, or neither.
    pub(crate) fn part(self) -> Result<Option<(ToolName, FieldName)>, Problem> {
        match (self.tool, self.field) {
            (Some(tool), Some(field)) => Ok(Some((tool.0, field.0))),
            (None, None) => Ok(None),
            _ => {
                let detail = "one of `tool` and `field` is missing; give both, or neither to \
                              revoke the whole source";
                Err(Problem::malformed("missing_field", detail))
            }
        }
    }
}

/// A source in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SourceViewBody {
    name: Spelled<SourceName>,
    tools: Vec<Spelled<ToolName>>,
    /// Grades by `source/tool/field`.
    fields: Keyed<SourceField, Spelled<SourceState>>,
}

impl From<SourceView> for SourceViewBody {
    fn from(view: SourceView) -> Self {
        let fields = view
            .fields
            .into_iter()
            .map(|(field, state)| (field, Spelled(state)));
        Self {
            name: Spelled(view.name),
            tools: spelled_list(view.tools),
            fields: Keyed(fields.collect()),
        }
    }
}
