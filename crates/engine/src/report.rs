// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tools that only log, and the report of what was refused or would have been.

use crate::admin::operator;
use crate::api::{
    Gates, Page, PageSpec, REPORT_ROWS_MAX, RefusalCount, RefusalReport, ToolMode, ToolView,
};
use crate::event::Event;
use crate::lists::read;
use crate::read::page;
use crate::refusal::{Fault, Refusal};
use crate::state::Key;
use crate::step::In;
use crate::turn::{Turn, not_found};
use ancile_core::{Decision, Micros, TenantName, ToolName};

/// Sets whether decisions on a tool's calls bind.
pub(crate) fn set_mode(
    turn: &mut Turn<'_>,
    key: &Key,
    tool: ToolName,
    mode: ToolMode,
) -> Result<(), Refusal> {
    operator(key, "set the mode of tools")?;
    if turn.tenant(&key.tenant)?.manifest.tool(&tool).is_none() {
        return Err(not_found("tool of the manifest"));
    }
    if mode == ToolMode::LogOnly {
        tracing::warn!(%tool, "decisions on this tool do not bind from now on");
    }
    let event = Event::ToolModeSet {
        tool,
        log_only: mode == ToolMode::LogOnly,
        by: key.spec.principal.clone(),
    };
    turn.emit(&key.tenant, &event)
}

/// Whether a decision on a tool's call binds.
pub(crate) fn gates(
    turn: &Turn<'_>,
    tenant: &TenantName,
    tool: &ToolName,
) -> Result<Gates, Refusal> {
    Ok(
        match (turn.core.gates, turn.tenant(tenant)?.tool_mode(tool)) {
            (Gates::Enforce, ToolMode::LogOnly) => Gates::LogOnly,
            (gates, _) => gates,
        },
    )
}

/// Says in the log that a decision did not bind. A tool that the manifest does not have is named by
/// the request alone, and no line of the log has a name from one.
pub(crate) fn not_enforced(
    turn: &Turn<'_>,
    at: &In<'_>,
    tool: &ToolName,
    would_be: Decision,
) -> Result<(), Refusal> {
    let manifest = &turn.tenant(&at.key.tenant)?.manifest;
    let tool = manifest.tool(tool).map(|_| tracing::field::display(tool));
    let (session, would_be) = (at.id, would_be.name());
    tracing::warn!(%session, tool, would_be, "log only: not enforced");
    Ok(())
}

/// The tools of the manifest, in order of name.
pub(crate) fn tools(
    turn: &Turn<'_>,
    key: &Key,
    part: PageSpec<'_>,
) -> Result<Page<ToolView>, Refusal> {
    let tenant = turn.tenant(&key.tenant)?;
    let after = read(part.cursor, |text| ToolName::new(text).ok())?;
    let rows = tenant.manifest.tools();
    let rows = rows.filter(|tool| after.as_ref().is_none_or(|a| tool.name > *a));
    let views = rows.map(|tool| ToolView {
        name: tool.name.clone(),
        effect: tool.effect,
        mode: tenant.tool_mode(&tool.name),
    });
    Ok(page(views, part.limit, |view| view.name.to_string()))
}

/// What was refused, or would have been, in whole hours; the most frequent first.
pub(crate) fn refusals(
    turn: &Turn<'_>,
    key: &Key,
    (from, until): (Option<Micros>, Option<Micros>),
    tool: Option<&ToolName>,
) -> Result<RefusalReport, Refusal> {
    operator(key, "read the report")?;
    let from = from.unwrap_or(Micros(i64::MIN));
    let until = until.unwrap_or(Micros(i64::MAX));
    if from >= until {
        let text = "`until` is not after `from`; swap them or leave one out";
        return Err(Refusal::new(Fault::Malformed, "validity_empty", text));
    }
    let tenant = turn.tenant(&key.tenant)?;
    let sums = tenant.refusals.between(from, until);
    let mut report = RefusalReport {
        decisions: Vec::new(),
        rules: Vec::new(),
        more: false,
    };
    let wanted = sums
        .into_iter()
        .filter(|(refused, _)| tool.is_none_or(|tool| refused.tool == *tool));
    for (refused, count) in wanted {
        let list = match refused.rule {
            None => &mut report.decisions,
            Some(_) => &mut report.rules,
        };
        list.push(RefusalCount {
            tool: refused.tool,
            class: refused.class,
            rule: refused.rule,
            decision: refused.decision,
            enforced: refused.enforced,
            count,
        });
    }
    for list in [&mut report.decisions, &mut report.rules] {
        list.sort_by_key(|row| std::cmp::Reverse(row.count));
        report.more |= list.len() > REPORT_ROWS_MAX;
        list.truncate(REPORT_ROWS_MAX);
    }
    Ok(report)
}
