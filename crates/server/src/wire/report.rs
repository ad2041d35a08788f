// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tools and their modes, and the report of refusals.

use super::spelled::Spelled;
use ancile_core::{AuthorityClass, Decision, ToolName};
use ancile_engine::api::{RefusalCount, RefusalReport, ToolMode, ToolView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether decisions on a tool's calls bind.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolModeBody {
    /// `enforce`, or `log_only`: decisions are made and counted, and none binds.
    pub(crate) mode: Spelled<ToolMode>,
}

/// A tool of the manifest.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ToolViewBody {
    name: Spelled<ToolName>,
    /// `read_only`, `write` or `external`.
    effect: &'static str,
    mode: Spelled<ToolMode>,
}

impl From<ToolView> for ToolViewBody {
    fn from(view: ToolView) -> Self {
        Self {
            name: Spelled(view.name),
            effect: view.effect.name(),
            mode: Spelled(view.mode),
        }
    }
}

/// What was refused, or would have been, the most frequent first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RefusalReportBody {
    /// Decisions, each counted once.
    decisions: Vec<RefusalCountBody>,
    /// The same by rule: a decision counts under each of its rules.
    rules: Vec<RefusalCountBody>,
    /// Whether a list was cut off.
    more: bool,
}

/// How often something was refused, or would have been.
#[derive(Serialize, JsonSchema)]
struct RefusalCountBody {
    tool: Spelled<ToolName>,
    class: Spelled<AuthorityClass>,
    /// In the list by rule: the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// What the tables say.
    decision: Spelled<Decision>,
    /// Whether it bound; if not, it would have been refused.
    enforced: bool,
    count: u64,
}

impl From<RefusalCount> for RefusalCountBody {
    fn from(row: RefusalCount) -> Self {
        Self {
            tool: Spelled(row.tool),
            class: Spelled(row.class),
            rule: row.rule,
            decision: Spelled(row.decision),
            enforced: row.enforced,
            count: row.count,
        }
    }
}

impl From<RefusalReport> for RefusalReportBody {
    fn from(report: RefusalReport) -> Self {
        let rows = |list: Vec<RefusalCount>| list.into_iter().map(RefusalCountBody::from).collect();
        Self {
            decisions: rows(report.decisions),
            rules: rows(report.rules),
            more: report.more,
        }
    }
}
