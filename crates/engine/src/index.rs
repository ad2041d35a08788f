// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lexical index: one partition for each namespace and side, with a journal for rollback.

use ancile_core::{NamespaceName, TenantName};
use ancile_store::bm25::{Bm25, Hit};
use std::collections::BTreeMap;

/// The two sides of a namespace. Nothing of one may influence a rank in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Partition {
    /// Classes 1 to 3 at write.
    Trusted,
    /// Class 4 at write.
    Untrusted,
}

/// A place in the journal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    added: usize,
    erased: usize,
}

pub(crate) type Place = (TenantName, NamespaceName, Partition);

/// All partitions.
#[derive(Debug, Default)]
pub(crate) struct Index {
    partitions: BTreeMap<Place, Bm25>,
    added: Vec<(Place, u64)>,
    /// To be removed once the group is committed; until then the state keeps them out.
    erased: Vec<(Place, u64)>,
}

impl Index {
    /// Adds a text under a sequence number.
    pub(crate) fn add(&mut self, place: Place, seq: u64, text: &str) {
        self.partitions
            .entry(place.clone())
            .or_default()
            .add(seq, text);
        self.added.push((place, seq));
    }

    /// The best hits, best first.
    pub(crate) fn search(
        &self,
        place: &Place,
        query: &str,
        limit: usize,
        keep: &dyn Fn(u64) -> bool,
    ) -> Vec<Hit> {
        self.partitions
            .get(place)
            .map(|p| p.search(query, limit, keep))
            .unwrap_or_default()
    }

    /// Removes what was added under a sequence number, once the group is committed.
    pub(crate) fn erase(&mut self, place: Place, seq: u64) {
        self.erased.push((place, seq));
    }

    /// Where the journal stands.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            added: self.added.len(),
            erased: self.erased.len(),
        }
    }

    /// Takes back everything added since the mark.
    pub(crate) fn rollback(&mut self, mark: Mark) {
        self.erased.truncate(mark.erased);
        for (place, seq) in self.added.drain(mark.added.min(self.added.len())..) {
            if let Some(partition) = self.partitions.get_mut(&place) {
                partition.remove(seq);
            }
        }
    }

    /// Forgets the journal after a commit, and removes what was erased.
    pub(crate) fn settle(&mut self) {
        self.added.clear();
        for (place, seq) in self.erased.drain(..) {
            if let Some(partition) = self.partitions.get_mut(&place) {
                partition.remove(seq);
            }
        }
    }
}
