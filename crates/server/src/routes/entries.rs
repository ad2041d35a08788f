// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries, recall outside sessions, lineage and proofs.

use crate::ask::{Ask, JSON, LINES, Reply};
use crate::problem::Problem;
use crate::wire::chat::{self, ImportBody};
use crate::wire::entry::{
    BatchBody, BatchWrittenBody, EntryBody, ErasureBody, LineageBody, WriteBody, WrittenBody,
};
use crate::wire::recall::{PackBody, RecallBody};

/// Writes an entry outside a session.
pub(crate) fn write(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let write = ask.json::<WriteBody>()?.write()?;
    let written = ask.engine.write(ask.caller, write)?;
    let pending = written.pending;
    Reply::written(&WrittenBody::from(written), pending)
}

/// Writes several entries outside a session, all or none.
pub(crate) fn batch(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let writes = ask.json::<BatchBody>()?.writes()?;
    let written = ask.engine.write_batch(ask.caller, writes)?;
    let pending = written.iter().any(|one| one.pending);
    Reply::written(&BatchWrittenBody::from(written), pending)
}

/// Gives a page of entries with all that proves them.
pub(crate) fn export(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let query = ask.query();
    let (page, checkpoint) = ask
        .engine
        .export(ask.caller, query.namespace()?, query.page()?)?;
    Ok(Reply::text(LINES, chat::lines(page, &checkpoint)?))
}

/// Writes entries from elsewhere.
pub(crate) fn import(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let writes = ask.json::<ImportBody>()?.writes()?;
    let written = ask.engine.import(ask.caller, writes)?;
    let pending = written.iter().any(|one| one.pending);
    Reply::written(&BatchWrittenBody::from(written), pending)
}

/// Lists entries.
pub(crate) fn list(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let query = ask.query();
    let (namespace, limit) = (query.namespace()?, query.limit()?);
    let page = ask
        .engine
        .entries(ask.caller, namespace, query.cursor(), limit)?;
    Reply::page::<_, EntryBody>(page)
}

/// Shows one entry.
pub(crate) fn show(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let view = ask.engine.entry(ask.caller, ask.named()?)?;
    Reply::ok(&EntryBody::from(view))
}

/// Destroys the content of an entry.
pub(crate) fn erase(ask: &Ask<'_>) -> Result<Reply, Problem> {
    ask.no_body()?;
    let erasure = ask.engine.erase(ask.caller, ask.named()?)?;
    Reply::ok(&ErasureBody::from(erasure))
}

/// Shows where an entry came from.
pub(crate) fn lineage(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let view = ask.engine.lineage(ask.caller, ask.named()?)?;
    Reply::ok(&LineageBody::from(view))
}

/// Proves that an entry is in the log.
pub(crate) fn proof(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let text = ask.engine.proof(ask.caller, ask.named()?)?;
    Ok(Reply::text(JSON, text))
}

/// Recalls for a person.
pub(crate) fn recall(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let (namespace, recall) = ask.json::<RecallBody>()?.outside()?;
    let pack = ask.engine.recall(ask.caller, namespace, recall)?;
    Reply::ok(&PackBody::from(pack))
}
