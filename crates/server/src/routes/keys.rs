// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys, tenants, namespaces, the checkpoint and health.

use crate::ask::{Ask, JSON, Reply, TEXT};
use crate::problem::Problem;
use crate::wire::health::HealthBody;
use crate::wire::key::{KeyBody, KeyMadeBody, KeyViewBody, NamespaceBody, RotateBody, TenantBody};
use crate::wire::lists::{
    IndexBody, IntegrityBody, NamespaceListsBody, NamespaceViewBody, PrincipalViewBody, QuotaBody,
    QuotaViewBody, TenantViewBody,
};
use crate::wire::spelled::bare_list;
use ancile_engine::Engine;
use axum::http::StatusCode;

/// Makes a key.
pub(crate) fn make(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let spec = ask.json::<KeyBody>()?.into();
    let made = ask.engine.make_key(ask.caller, spec)?;
    Reply::created(&KeyMadeBody::from(made))
}

/// Lists keys, without tokens.
pub(crate) fn list(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let page = ask.engine.keys(ask.caller, ask.query().page()?)?;
    Reply::page::<_, KeyViewBody>(page)
}

/// Makes a key like another, which ends after an overlap.
pub(crate) fn rotate(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let overlap = ask.json::<RotateBody>()?.overlap()?;
    let made = ask.engine.rotate_key(ask.caller, ask.name(), overlap)?;
    Reply::created(&KeyMadeBody::from(made))
}

/// Lists principals.
pub(crate) fn principals(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let page = ask.engine.principals(ask.caller, ask.query().page()?)?;
    Reply::page::<_, PrincipalViewBody>(page)
}

/// Revokes a key.
pub(crate) fn revoke(ask: &Ask<'_>) -> Result<Reply, Problem> {
    ask.no_body()?;
    ask.engine.revoke_key(ask.caller, ask.name())?;
    Ok(Reply::nothing())
}

/// Makes a tenant.
pub(crate) fn make_tenant(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let spec = ask.json::<TenantBody>()?.into();
    let made = ask.engine.make_tenant(ask.caller, spec)?;
    Reply::created(&KeyMadeBody::from(made))
}

/// Makes a namespace.
pub(crate) fn make_namespace(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let body: NamespaceBody = ask.json()?;
    let (readers, writers) = (bare_list(body.readers), bare_list(body.writers));
    ask.engine
        .make_namespace(ask.caller, body.name.0, readers, writers)?;
    Ok(Reply::nothing())
}

/// Lists tenants.
pub(crate) fn tenants(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let page = ask.engine.tenants(ask.caller, ask.query().page()?)?;
    Reply::page::<_, TenantViewBody>(page)
}

/// Lists namespaces.
pub(crate) fn namespaces(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let page = ask.engine.namespaces(ask.caller, ask.query().page()?)?;
    Reply::page::<_, NamespaceViewBody>(page)
}

/// Gives a namespace other readers and writers.
pub(crate) fn change_namespace(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let name = ask.named()?;
    let body: NamespaceListsBody = ask.json()?;
    let (readers, writers) = (bare_list(body.readers), bare_list(body.writers));
    ask.engine
        .change_namespace(ask.caller, name, readers, writers)?;
    Ok(Reply::nothing())
}

/// Lists quotas.
pub(crate) fn quotas(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let page = ask.engine.quotas(ask.caller, ask.query().page()?)?;
    Reply::page::<_, QuotaViewBody>(page)
}

/// Sets a quota, or takes one away.
pub(crate) fn set_quota(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let spec = ask.json::<QuotaBody>()?.spec()?;
    ask.engine.set_quota(ask.caller, spec)?;
    Ok(Reply::nothing())
}

/// Says how the store stands; to an operator.
pub(crate) fn integrity(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let state = ask.engine.integrity(ask.caller)?;
    Reply::ok(&IntegrityBody::from(state))
}

/// Says how the index stands; to an operator.
pub(crate) fn index(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let state = ask.engine.index_state(ask.caller)?;
    Reply::ok(&IndexBody::from(state))
}

/// Has the index made anew from the log.
pub(crate) fn rebuild_index(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let state = ask.engine.reindex(ask.caller)?;
    Reply::ok(&IndexBody::from(state))
}

/// Proves that an earlier log is a prefix of the one under the checkpoint.
pub(crate) fn consistency(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let query = ask.query();
    let (log, size) = (query.log()?, query.size()?);
    let text = ask.engine.consistency(ask.caller, log, size)?;
    Ok(Reply::text(JSON, text))
}

/// Shows the signed head of all logs.
pub(crate) fn checkpoint(ask: &Ask<'_>) -> Result<Reply, Problem> {
    Ok(Reply::text(TEXT, ask.engine.checkpoint()?))
}

/// Says how the store stands; to anyone.
pub(crate) fn health(engine: &Engine) -> Result<Reply, Problem> {
    // While a commit stands still, so does the writer: nothing is asked of it.
    let body = match engine.counts().slow_commit() {
        Some(slow) if slow.under_way => HealthBody::stalled(engine, &slow),
        _ => HealthBody::from(&engine.health()),
    };
    let down = body.status == "down";
    let status = if down {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::OK
    };
    Reply::json(status, &body)
}
