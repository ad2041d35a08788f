// SPDX-License-Identifier: MIT OR Apache-2.0
//! Verifying an entry with its ancestors before anything of it leaves.

use super::{Turn, internal};
use crate::refusal::Refusal;
use crate::state::{Entry, Tenant};
use ancile_core::{
    Broken, Digest, IntactMemo, RecordLeafHash, RecordSource, Salt, SessionId, TenantName,
};
use ancile_store::{DamageKind, ReadError};
use std::collections::HashMap;

/// A content as it was read and verified.
pub(crate) struct Verified {
    pub bytes: Vec<u8>,
}

impl Turn<'_> {
    /// Reads an entry from the store and verifies content, record and ancestry.
    pub(crate) fn verified(
        &mut self,
        tenant: &TenantName,
        entry: &Entry,
    ) -> Result<Result<Verified, Broken>, Refusal> {
        if let Some(broken) = entry.damaged {
            return Ok(Err(broken));
        }
        let version = self
            .core
            .store()?
            .data_version()
            .map_err(|e| internal(&e))?;
        if version != self.core.data_version {
            self.core.data_version = version;
            self.core.memos.clear();
        }
        let memo = self.core.memos.remove(tenant);
        let mut memo = memo.unwrap_or_else(|| IntactMemo::new(tenant.clone()));
        let outcome = self.verify_with(tenant, entry, &mut memo);
        self.core.memos.insert(tenant.clone(), memo);
        if let Ok(Err(broken)) = &outcome {
            self.core.note_damage(tenant, entry.seq, *broken);
        }
        outcome
    }

    fn verify_with(
        &mut self,
        tenant: &TenantName,
        entry: &Entry,
        memo: &mut IntactMemo,
    ) -> Result<Result<Verified, Broken>, Refusal> {
        let mut gathered = match self.gather(tenant, entry, memo)? {
            Ok(gathered) => gathered,
            Err(broken) => return Ok(Err(broken)),
        };
        let Some((salt, bytes)) = gathered.content.take() else {
            return Ok(Err(Broken::ContentEdited));
        };
        let source = Source {
            gathered,
            tenant: self.tenant(tenant)?,
        };
        let intact =
            ancile_core::verify(&entry.hash, (&salt, &bytes), &source, &RecordLeafHash, memo);
        Ok(intact.map(|_intact| Verified { bytes }))
    }

    /// Reads the entry and those of its ancestors that are not known to be intact.
    fn gather(
        &mut self,
        tenant: &TenantName,
        entry: &Entry,
        memo: &IntactMemo,
    ) -> Result<Result<Gathered, Broken>, Refusal> {
        let mut gathered = Gathered::default();
        let mut wanted = vec![(entry.hash, entry.seq)];
        while let Some((hash, seq)) = wanted.pop() {
            if gathered.records.contains_key(&hash) {
                continue;
            }
            let store = self.core.store()?;
            let read = if hash == entry.hash {
                store.read(tenant, seq).map(|leaf| {
                    gathered.content = leaf.content.map(|c| (c.salt, c.bytes));
                    leaf.body
                })
            } else {
                store.read_body(tenant, seq)
            };
            match read {
                Ok(body) => gathered.records.insert(hash, body),
                Err(ReadError::Tampered {
                    what: DamageKind::Content,
                    ..
                }) => {
                    return Ok(Err(Broken::ContentEdited));
                }
                Err(ReadError::Tampered { .. } | ReadError::NoLeaf { .. }) => {
                    return Ok(Err(Broken::RecordEdited));
                }
                Err(fault) => return Err(internal(&fault)),
            };
            let Some(known) = self.entry_at(tenant, seq)? else {
                return Ok(Err(Broken::ParentMissing));
            };
            let of = self.tenant(tenant)?;
            gathered.note_session(of, &known);
            for parent in parents_of(of, &known) {
                if memo.contains(&parent) || gathered.records.contains_key(&parent) {
                    continue;
                }
                match self.entry_by_hash(tenant, &parent)? {
                    Some(found) => wanted.push((parent, found.seq)),
                    None => return Ok(Err(Broken::ParentMissing)),
                }
            }
        }
        Ok(Ok(gathered))
    }
}

/// What an entry rests on: its parents, and what it is an endorsed copy of. That is no parent: the
/// copy may be stronger, and holds when the other is gone.
pub(crate) fn rests_on(tenant: &Tenant, entry: &Entry) -> Vec<Digest> {
    let mut all = parents_of(tenant, entry);
    all.extend(tenant.endorsements.get(&entry.hash).map(|act| act.of));
    all
}

/// The parents of an entry: explicit ones, then those shown in its session before it.
fn parents_of(tenant: &Tenant, entry: &Entry) -> Vec<Digest> {
    let parents = &entry.record.parents;
    let shown = entry
        .record
        .session
        .and_then(|id| tenant.sessions.get(&id))
        .and_then(|s| s.exposed(&parents.exposure_root, parents.exposure_len));
    let shown = shown.into_iter().flatten();
    parents.explicit().iter().chain(shown).copied().collect()
}

/// What is read for one verification.
#[derive(Default)]
struct Gathered {
    records: HashMap<Digest, Vec<u8>>,
    /// The content of the entry itself.
    content: Option<(Salt, Vec<u8>)>,
    /// What was shown in the sessions that the records were written in, each in one piece.
    shown: HashMap<SessionId, Vec<Digest>>,
}

impl Gathered {
    fn note_session(&mut self, tenant: &Tenant, entry: &Entry) {
        let session = entry.record.session.and_then(|id| tenant.sessions.get(&id));
        if let Some(session) = session {
            let shown = || session.shown().copied().collect();
            self.shown.entry(session.id).or_insert_with(shown);
        }
    }
}

/// The same, as the verification asks for it.
struct Source<'t> {
    gathered: Gathered,
    tenant: &'t Tenant,
}

impl RecordSource for Source<'_> {
    fn record(&self, hash: &Digest) -> Option<&[u8]> {
        self.gathered.records.get(hash).map(Vec::as_slice)
    }

    fn exposed(&self, session: SessionId, root: &Digest, len: u64) -> Option<&[Digest]> {
        let known = self.tenant.sessions.get(&session)?;
        let count = known.exposed_count(root, len)?;
        self.gathered.shown.get(&session)?.get(..count)
    }
}
