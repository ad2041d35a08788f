// SPDX-License-Identifier: MIT OR Apache-2.0
//! The offline audit, proofs, and how the store stands.

use crate::admin::operator;
use crate::api::{Health, IndexState, Integrity, ProvenLog};
use crate::event::Event;
use crate::home::{Home, read_public};
use crate::refusal::{Fault, Refusal, with_causes};
use crate::state::Key;
use crate::turn::Turn;
use ancile_core::{Digest, EntryId};
use ancile_ledger::{NodeHash, WitnessState};
use std::path::Path;

/// How the store stands.
pub(crate) fn health(turn: &mut Turn<'_>) -> Result<Health, Refusal> {
    let groups = turn.core.store()?.group().group.saturating_add(1);
    let core = &turn.core;
    let problems = core.problems_found();
    let tenants = core.state.tenants.values();
    let entries = tenants.map(|t| t.count()).sum();
    Ok(Health {
        integrity: core.integrity().name(),
        problems,
        groups,
        tenants: u32::try_from(core.state.tenants.size()).unwrap_or(u32::MAX),
        entries,
        gates: core.gates,
        witness_was_behind: core.report.witness == WitnessState::OneBehind,
        slow_commit: core.counts.slow_commit(),
    })
}

/// How the store stands for an operator: of other tenants' damage only the first tenant's is told.
pub(crate) fn integrity(turn: &mut Turn<'_>, key: &Key) -> Result<Integrity, Refusal> {
    operator(key, "see the integrity state")?;
    let mut health = health(turn)?;
    if turn.core.state.first.as_ref() != Some(&key.tenant) {
        let own = format!("tenant `{}`:", key.tenant);
        health.problems.retain(|line| line.starts_with(&own));
        health.tenants = 1;
        health.entries = turn.tenant(&key.tenant)?.count();
    }
    let pending = turn.tenant(&key.tenant)?.pending.size() as u64;
    let store = turn.core.store()?;
    Ok(Integrity {
        health,
        epoch: store.group().epoch,
        leaves: store.size(&key.tenant),
        pending,
    })
}

/// How a tenant's index stands.
pub(crate) fn index_state(turn: &Turn<'_>, key: &Key) -> Result<IndexState, Refusal> {
    operator(key, "see how the index stands")?;
    let tenant = turn.tenant(&key.tenant)?;
    let recent = tenant.entries.size() as u64;
    let model = turn.core.embedding.model();
    let store = turn.core.reading()?;
    let without = |model| turn.core.index.without_vectors(store, tenant, model);
    Ok(IndexState {
        without_vectors: model.map_or(0, without),
        model: model.map(ToString::to_string),
        segments: tenant.segments.len() as u64,
        sealed: tenant.count().saturating_sub(recent),
        recent,
        rebuilt: turn.core.upkeep.progress,
        busy: !turn.core.is_settled(),
    })
}

/// Makes a tenant's segments anew, beside the requests.
pub(crate) fn reindex(turn: &mut Turn<'_>, key: &Key) -> Result<IndexState, Refusal> {
    operator(key, "make the index anew")?;
    turn.core.reindex(&key.tenant);
    index_state(turn, key)
}

/// Proves that a log of `size` leaves is a prefix of the one under the checkpoint, as JSON.
pub(crate) fn consistency(
    turn: &mut Turn<'_>,
    key: &Key,
    log: ProvenLog,
    size: u64,
) -> Result<String, Refusal> {
    let store = turn.core.store()?;
    let heads = store.checkpoint().checkpoint().size;
    let tenant = store.head(&key.tenant).map_or(0, |head| head.size);
    let (name, now) = match log {
        ProvenLog::Heads => ("heads", heads),
        ProvenLog::Tenant => ("tenant", tenant),
    };
    if !(1..=now).contains(&size) {
        let text = format!("`size` is {size}; give 1 to {now}, the leaves of the {name} log");
        return Err(Refusal::new(Fault::Malformed, "count_out_of_range", text));
    }
    let proof = match log {
        ProvenLog::Heads => store.consistency(size),
        ProvenLog::Tenant => store.tenant_consistency(&key.tenant, size),
    };
    let proof = proof.map_err(|fault| not_provable(&fault))?;
    // The tenant's root of today is bound to the checkpoint by the proof of its last leaf.
    let bound = store.inclusion(&key.tenant, tenant.saturating_sub(1));
    let bound = bound.map_err(|fault| not_provable(&fault))?;
    let mut json = serde_json::json!({
        "log": name,
        "from_size": size,
        "size": now,
        "consistency": nodes(&proof),
        "checkpoint": bound.checkpoint,
    });
    if let (ProvenLog::Tenant, Some(object)) = (log, json.as_object_mut()) {
        object.insert("tenant".to_owned(), bound.head.tenant.clone().into());
        object.insert("root".to_owned(), hex(&bound.head.root).into());
        object.insert(
            "control".to_owned(),
            Digest(bound.head.control).to_string().into(),
        );
        object.insert("head_index".to_owned(), bound.head_index.into());
        object.insert(
            "to_heads_root".to_owned(),
            nodes(&bound.to_heads_root).into(),
        );
        object.insert("group".to_owned(), bound.group.group.into());
        object.insert("heads_root".to_owned(), hex(&bound.group.heads_root).into());
        object.insert(
            "to_checkpoint".to_owned(),
            nodes(&bound.to_checkpoint).into(),
        );
    }
    Ok(json.to_string())
}

fn not_provable(fault: &dyn std::fmt::Display) -> Refusal {
    let text = "it cannot be proved at this moment; ask again";
    Refusal::new(Fault::Unavailable, "not_provable", text).inside(fault)
}

fn nodes(nodes: &[NodeHash]) -> Vec<String> {
    nodes.iter().map(hex).collect()
}

/// Accepts a store as it is, in spite of its witness, and logs that.
///
/// # Errors
/// [`Refusal`] when the store does not hold otherwise.
pub fn new_witness_epoch(home: &Path) -> Result<String, Refusal> {
    let place = Home::new(home);
    let made = ancile_store::Store::new_witness_epoch(place.store_config()?)
        .map_err(|e| Refusal::new(Fault::Unavailable, "store_refused", e.to_string()))?;
    Ok(format!(
        "witness epoch {} begins at group {}",
        made.epoch, made.group
    ))
}

/// Proves that an entry is in the signed log, as JSON.
pub(crate) fn proof(turn: &mut Turn<'_>, key: &Key, id: &EntryId) -> Result<String, Refusal> {
    let entry = turn.entry(key, id)?;
    let proof = turn.core.store()?.inclusion(&key.tenant, entry.seq);
    let proof = proof.map_err(|fault| not_provable(&fault))?;
    let json = serde_json::json!({
        "tenant": proof.head.tenant,
        "seq": proof.seq,
        "leaf": entry.hash.to_string(),
        "tenant_size": proof.head.size,
        "tenant_root": hex(&proof.head.root),
        "to_tenant_root": nodes(&proof.to_tenant_root),
        "head_index": proof.head_index,
        "to_heads_root": nodes(&proof.to_heads_root),
        "group": proof.group.group,
        "heads_root": hex(&proof.group.heads_root),
        "to_checkpoint": nodes(&proof.to_checkpoint),
        "checkpoint": proof.checkpoint,
    });
    Ok(json.to_string())
}

fn hex(node: &NodeHash) -> String {
    Digest(node.0).to_string()
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSummary {
    /// Whether everything held.
    pub ok: bool,
    /// What was checked, a line each.
    pub checked: Vec<String>,
    /// What did not hold, a line each; at most the first hundred.
    pub problems: Vec<String>,
    /// How many problems there are.
    pub problems_total: u64,
}

/// Verifies the store of a home offline, read-only, with the public key alone: every leaf, tree,
/// head, checkpoint, tile and content, and the witness.
///
/// # Errors
/// [`Refusal`] when the key or the database cannot be read at all.
pub fn audit(home: &Path, key: Option<&Path>) -> Result<AuditSummary, Refusal> {
    let place = Home::new(home);
    place.no_restore_pending()?;
    let public = place.public_key();
    audit_at(place.data(), Some(place.witness()), key.unwrap_or(&public))
}

/// The same of the store in a directory, with the witness if one is named.
pub(crate) fn audit_at(
    dir: &Path,
    witness: Option<&Path>,
    key: &Path,
) -> Result<AuditSummary, Refusal> {
    let key = read_public(key)?;
    let commitments = |body: &[u8]| match Event::decode(body) {
        Ok(Event::Exposed { texts, .. }) => texts,
        Ok(Event::Answered { answer, .. }) => Some(answer),
        _ => None,
    };
    let erasures = |body: &[u8]| match Event::decode(body) {
        Ok(Event::Erased { hash, .. } | Event::Evicted { hash, .. }) => Some(hash),
        _ => None,
    };
    let mut audit = ancile_store::Audit::new(dir, &key);
    if let Some(witness) = witness {
        audit = audit.witness(witness);
    }
    let report = audit
        .control_commitments(&commitments)
        .erasures(&erasures)
        .run()
        .map_err(|e| Refusal::new(Fault::Unavailable, "audit_impossible", e.to_string()))?;
    let logs = report.logs();
    let mut checked: Vec<String> = Vec::new();
    for log in logs.logs() {
        checked.push(format!(
            "{}: {} leaves, {} tiles",
            log.log, log.leaves, log.tiles
        ));
    }
    checked.push(format!(
        "{} contents against their commitments",
        report.contents()
    ));
    if let Some(checkpoint) = logs.checkpoint() {
        checked.push(format!(
            "checkpoint of {} groups, signed by {}",
            checkpoint.size,
            key.name()
        ));
    }
    if let Some(state) = logs.witness() {
        checked.push(format!("witness: {}", witness_text(state)));
    }
    let mut problems: Vec<String> = logs.problems().iter().map(|p| with_causes(p)).collect();
    problems.extend(report.problems().iter().map(|p| with_causes(p)));
    let bare = report.records_without_content();
    if bare > 0 {
        problems.push(format!(
            "{bare} records have no content, and none was erased"
        ));
    }
    let total = logs
        .problems_total()
        .saturating_add(report.problems_total());
    Ok(AuditSummary {
        ok: report.ok() && bare == 0,
        checked,
        problems,
        problems_total: total.saturating_add(u64::from(bare > 0)),
    })
}

const fn witness_text(state: WitnessState) -> &'static str {
    match state {
        WitnessState::Current => "holds the last checkpoint",
        WitnessState::OneBehind => "is one group behind",
    }
}
