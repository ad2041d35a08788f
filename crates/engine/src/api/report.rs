// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tools and whether decisions on them bind, and what was refused or would have been.

use ancile_core::{AuthorityClass, Decision, Effect, ToolName};

/// Most rows of each list of a report.
pub const REPORT_ROWS_MAX: usize = 1_000;

/// Whether decisions on a tool's calls bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolMode {
    /// They bind.
    Enforce,
    /// They are made, logged loudly and counted, and none binds: for adoption.
    LogOnly,
}

/// A tool of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolView {
    /// Its name.
    pub name: ToolName,
    /// What it does to the world.
    pub effect: Effect,
    /// Whether decisions on its calls bind.
    pub mode: ToolMode,
}

/// How often something was refused, or would have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalCount {
    /// The tool that was to be called.
    pub tool: ToolName,
    /// The class the call was judged at.
    pub class: AuthorityClass,
    /// The rule, in the list by rule.
    pub rule: Option<String>,
    /// What the tables say: `ask` or `deny`.
    pub decision: Decision,
    /// Whether it bound; if not, it would have been refused.
    pub enforced: bool,
    /// How often.
    pub count: u64,
}

/// What was refused, or would have been, the most frequent first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalReport {
    /// Decisions, each counted once.
    pub decisions: Vec<RefusalCount>,
    /// The same by rule: a decision counts under each of its rules.
    pub rules: Vec<RefusalCount>,
    /// Whether a list was cut off at [`REPORT_ROWS_MAX`].
    pub more: bool,
}
