// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys, tenants, namespaces, the checkpoint and health.

use crate::ask::{Ask, Reply, TEXT};
use crate::problem::Problem;
use crate::wire::key::{HealthBody, KeyBody, KeyMadeBody, KeyViewBody, NamespaceBody, TenantBody};
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
    Reply::list::<_, KeyViewBody>(ask.engine.keys(ask.caller)?)
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

/// Shows the signed head of all logs.
pub(crate) fn checkpoint(ask: &Ask<'_>) -> Result<Reply, Problem> {
    Ok(Reply::text(TEXT, ask.engine.checkpoint()?))
}

/// Says how the store stands; to anyone.
pub(crate) fn health(engine: &Engine) -> Result<Reply, Problem> {
    let body = HealthBody::from(&engine.health());
    let down = body.status == "down";
    let status = if down {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::OK
    };
    Reply::json(status, &body)
}
