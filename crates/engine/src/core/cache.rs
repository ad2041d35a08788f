// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sealed entries that were read last.

use crate::state::Entry;
use ancile_core::TenantName;
use lru::LruCache;
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Sealed entries of each tenant that were read last.
pub(super) struct EntryCache(RefCell<LruCache<(TenantName, u64), Arc<Entry>>>);

/// Most of them; an entry takes about a kilobyte.
const ENTRIES_READ: NonZeroUsize = match NonZeroUsize::new(131_072) {
    Some(most) => most,
    None => NonZeroUsize::MIN,
};

impl Default for EntryCache {
    fn default() -> Self {
        Self(RefCell::new(LruCache::new(ENTRIES_READ)))
    }
}

impl EntryCache {
    pub(super) fn get(&self, tenant: &TenantName, seq: u64) -> Option<Arc<Entry>> {
        self.0.borrow_mut().get(&(tenant.clone(), seq)).cloned()
    }

    pub(super) fn forget(&self, tenant: &TenantName, seq: u64) {
        self.0.borrow_mut().pop(&(tenant.clone(), seq));
    }

    pub(super) fn put(&self, tenant: &TenantName, seq: u64, entry: &Arc<Entry>) {
        let key = (tenant.clone(), seq);
        self.0.borrow_mut().put(key, Arc::clone(entry));
    }
}
