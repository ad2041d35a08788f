// SPDX-License-Identifier: MIT OR Apache-2.0
//! The manifest and mandates.

use crate::ask::{Ask, JSON, Reply};
use crate::problem::Problem;
use crate::wire::mandate::{DraftBody, MandateBody, MandateViewBody, ManifestSetBody};
use crate::wire::spelled::Spelled;

/// Shows the manifest.
pub(crate) fn manifest(ask: &Ask<'_>) -> Result<Reply, Problem> {
    Ok(Reply::text(JSON, ask.engine.manifest(ask.caller)?))
}

/// Sets the manifest; the body is its JSON.
pub(crate) fn set_manifest(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let digest = ask.engine.set_manifest(ask.caller, ask.text()?)?;
    Reply::ok(&ManifestSetBody {
        digest: Spelled(digest),
    })
}

/// Grants a mandate.
pub(crate) fn grant(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let spec = ask.json::<MandateBody>()?.spec()?;
    let view = ask.engine.grant_mandate(ask.caller, spec)?;
    Reply::created(&MandateViewBody::from(view))
}

/// Shows the Cedar text of a mandate and stores nothing.
pub(crate) fn draft(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let spec = ask.json::<MandateBody>()?.spec()?;
    let cedar = ask.engine.draft_mandate(ask.caller, spec)?;
    Reply::ok(&DraftBody { cedar })
}

/// Lists mandates.
pub(crate) fn list(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let query = ask.query();
    let page = ask
        .engine
        .mandates(ask.caller, query.cursor(), query.limit()?)?;
    Reply::page::<_, MandateViewBody>(page)
}

/// Revokes a mandate.
pub(crate) fn revoke(ask: &Ask<'_>) -> Result<Reply, Problem> {
    ask.no_body()?;
    ask.engine.revoke_mandate(ask.caller, ask.named()?)?;
    Ok(Reply::nothing())
}
