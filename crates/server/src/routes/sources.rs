// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registered sources and their grades.

use crate::ask::{Ask, Reply};
use crate::problem::Problem;
use crate::wire::source::{GradeBody, RevokeBody, SourceBody, SourceViewBody};
use crate::wire::spelled::bare_list;
use ancile_core::SourceField;

/// Lists sources.
pub(crate) fn list(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let page = ask.engine.sources(ask.caller, ask.query().page()?)?;
    Reply::page::<_, SourceViewBody>(page)
}

/// Registers a source.
pub(crate) fn register(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let body: SourceBody = ask.json()?;
    ask.engine
        .register_source(ask.caller, body.name.0, bare_list(body.tools))?;
    Ok(Reply::nothing())
}

/// Approves one field of a source.
pub(crate) fn approve(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let source = ask.named()?;
    let body: GradeBody = ask.json()?;
    let field = SourceField {
        source,
        tool: body.tool.0,
        field: body.field.0,
    };
    ask.engine.approve_source(ask.caller, field, body.grade.0)?;
    Ok(Reply::nothing())
}

/// Revokes a field, or the whole source.
pub(crate) fn revoke(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let source = ask.named()?;
    let empty = ask.parts.body.is_empty();
    let body = if empty {
        RevokeBody::default()
    } else {
        ask.json()?
    };
    ask.engine.revoke_source(ask.caller, source, body.part()?)?;
    Ok(Reply::nothing())
}
