// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding entries: in memory what is not sealed yet, in segments the rest.

use super::{Turn, internal, not_found, tampered};
use crate::index::Which;
use crate::refusal::{Fault, Refusal};
use crate::state::{Entry, Key};
use ancile_core::{Broken, Digest, EntryId, TenantName};
use ancile_store::segment::SegmentError;
use std::sync::Arc;

impl Turn<'_> {
    /// The entry at a place of the log, if there is one.
    pub(crate) fn entry_at(
        &self,
        tenant: &TenantName,
        seq: u64,
    ) -> Result<Option<Arc<Entry>>, Refusal> {
        let known = self.tenant(tenant)?;
        match known.entries.get(&seq) {
            Some(entry) => Ok(Some(Arc::clone(entry))),
            None if seq < known.sealed => self.core.sealed_entry(tenant, seq),
            None => Ok(None),
        }
    }

    /// The entry with an id, if there is one.
    pub(crate) fn entry_by_id(
        &self,
        tenant: &TenantName,
        id: &EntryId,
    ) -> Result<Option<Arc<Entry>>, Refusal> {
        match self.tenant(tenant)?.by_id.get(id) {
            Some(seq) => self.entry_at(tenant, *seq),
            None => self.sealed_as(tenant, Which::Id(id)),
        }
    }

    /// The entry whose record has a hash, if there is one.
    pub(crate) fn entry_by_hash(
        &self,
        tenant: &TenantName,
        hash: &Digest,
    ) -> Result<Option<Arc<Entry>>, Refusal> {
        match self.tenant(tenant)?.by_hash.get(hash) {
            Some(seq) => self.entry_at(tenant, *seq),
            None => self.sealed_as(tenant, Which::Hash(hash)),
        }
    }

    fn sealed_as(
        &self,
        tenant: &TenantName,
        which: Which<'_>,
    ) -> Result<Option<Arc<Entry>>, Refusal> {
        let known = self.tenant(tenant)?;
        if known.segments.is_empty() {
            return Ok(None);
        }
        let store = self.core.reading()?;
        match self.core.index.row_of(store, known, which) {
            Ok(Some((row, _))) => self.entry_at(tenant, row.seq),
            Ok(None) => Ok(None),
            Err(fault) => Err(index_damaged(&fault)),
        }
    }

    /// An entry as the key can see it.
    pub(crate) fn entry(&self, key: &Key, id: &EntryId) -> Result<Arc<Entry>, Refusal> {
        let Some(entry) = self.entry_by_id(&key.tenant, id)? else {
            return Err(self.lost_entry(key, id)?);
        };
        match self.reach(key, &entry.record.namespace, false) {
            Ok(()) => Ok(entry),
            Err(_) => Err(not_found("entry")),
        }
    }

    /// Why an entry is not there: the index knows it and its record does not hold, or there is
    /// none.
    fn lost_entry(&self, key: &Key, id: &EntryId) -> Result<Refusal, Refusal> {
        let tenant = self.tenant(&key.tenant)?;
        let found = self
            .core
            .index
            .row_of(self.core.reading()?, tenant, Which::Id(id));
        let found = found.map_err(|fault| index_damaged(&fault))?;
        let reached = found.filter(|(_, sealed)| self.reach(key, &sealed.namespace, false).is_ok());
        Ok(match reached {
            Some(_) => tampered(Broken::RecordEdited),
            None => not_found("entry"),
        })
    }
}

/// A segment is not what was written, or cannot be read.
pub(crate) fn index_damaged(fault: &SegmentError) -> Refusal {
    if let SegmentError::Read(fault) = fault {
        return internal(fault);
    }
    let text = "the index was edited behind the store's back; run `ancile reindex`, which makes \
                it anew from the log";
    Refusal::new(Fault::Tampered, "index_damaged", text).inside(fault)
}
