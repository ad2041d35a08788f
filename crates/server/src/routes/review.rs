// SPDX-License-Identifier: MIT OR Apache-2.0
//! What people decide on: approvals and the quarantine shelf.

use crate::ask::{Ask, Reply};
use crate::problem::Problem;
use crate::wire::entry::{EntryBody, WrittenBody};
use crate::wire::review::{ApprovalBody, DigestBody, EndorseBody, QuarantineBody, ReleaseBody};

/// Lists approvals.
pub(crate) fn approvals(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let query = ask.query();
    let page = ask
        .engine
        .approvals(ask.caller, query.cursor(), query.limit()?)?;
    Reply::page::<_, ApprovalBody>(page)
}

/// Shows an approval.
pub(crate) fn approval(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let view = ask.engine.approval(ask.caller, ask.named()?)?;
    Reply::ok(&ApprovalBody::from(view))
}

/// Approves a call once, by its exact digest.
pub(crate) fn approve(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let id = ask.named()?;
    let digest = ask.json::<DigestBody>()?.digest.0;
    let view = ask.engine.approve_once(ask.caller, id, digest)?;
    Reply::ok(&ApprovalBody::from(view))
}

/// Denies a call.
pub(crate) fn deny(ask: &Ask<'_>) -> Result<Reply, Problem> {
    ask.no_body()?;
    let view = ask.engine.deny(ask.caller, ask.named()?)?;
    Reply::ok(&ApprovalBody::from(view))
}

/// Lists the shelf.
pub(crate) fn shelf(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let query = ask.query();
    let (namespace, limit) = (query.namespace()?, query.limit()?);
    let page = ask
        .engine
        .quarantine(ask.caller, namespace, query.cursor(), limit)?;
    Reply::page::<_, QuarantineBody>(page)
}

/// Releases an entry from the shelf, by its exact record hash.
pub(crate) fn release(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let id = ask.named()?;
    let body: ReleaseBody = ask.json()?;
    let view = ask
        .engine
        .release(ask.caller, id, body.digest.0, &body.reason)?;
    Reply::ok(&EntryBody::from(view))
}

/// Writes the copy of an entry that a user answers for, by its exact record hash.
pub(crate) fn endorse(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let id = ask.named()?;
    let EndorseBody { digest, values } = ask.json()?;
    let written = ask.engine.endorse(ask.caller, id, digest.0, values)?;
    Reply::created(&WrittenBody::from(written))
}

/// Takes an entry off the shelf for good, by its exact record hash.
pub(crate) fn discard(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let id = ask.named()?;
    let digest = ask.json::<DigestBody>()?.digest.0;
    ask.engine.discard(ask.caller, id, digest)?;
    Ok(Reply::nothing())
}
