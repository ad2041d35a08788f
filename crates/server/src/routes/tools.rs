// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tools that only log, and the report of refusals.

use crate::ask::{Ask, Reply};
use crate::problem::Problem;
use crate::wire::report::{RefusalReportBody, ToolModeBody, ToolViewBody};

/// Lists the tools of the manifest.
pub(crate) fn list(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let page = ask.engine.tools(ask.caller, ask.query().page()?)?;
    Reply::page::<_, ToolViewBody>(page)
}

/// Sets whether decisions on a tool's calls bind.
pub(crate) fn set_mode(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let tool = ask.named()?;
    let body: ToolModeBody = ask.json()?;
    ask.engine.set_tool_mode(ask.caller, tool, body.mode.0)?;
    Ok(Reply::nothing())
}

/// Reports what was refused, or would have been.
pub(crate) fn refusals(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let query = ask.query();
    let (range, tool) = (query.range()?, query.tool()?);
    let report = ask.engine.refusal_report(ask.caller, range, tool)?;
    Reply::ok(&RefusalReportBody::from(report))
}
