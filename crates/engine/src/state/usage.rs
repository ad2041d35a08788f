// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each principal keeps in each namespace, and the quotas over it.

use super::Entry;
use ancile_core::{AuthorityClass, DerivationRecord, NamespaceName, PrincipalName};
use rpds::RedBlackTreeMapSync;

/// What a quota is over: a namespace, a principal, or one in the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scope {
    pub namespace: Option<NamespaceName>,
    pub principal: Option<PrincipalName>,
}

impl Scope {
    pub(crate) fn covers(&self, namespace: &NamespaceName, principal: &PrincipalName) -> bool {
        self.namespace.as_ref().is_none_or(|name| name == namespace)
            && self.principal.as_ref().is_none_or(|name| name == principal)
    }
}

/// What is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub entries: u64,
    /// Of contents.
    pub bytes: u64,
    /// Entries of class 4.
    pub untrusted: u64,
}

/// The most that may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Most {
    pub entries: Option<u64>,
    pub bytes: Option<u64>,
}

/// What one principal keeps in one namespace.
#[derive(Debug, Clone, Default)]
struct Row {
    entries: u64,
    bytes: u64,
    /// Sequence numbers of the class 4 entries.
    untrusted: RedBlackTreeMapSync<u64, ()>,
}

type Rows = RedBlackTreeMapSync<Place, Row>;

/// A namespace, and who wrote there.
pub(crate) type Place = (NamespaceName, PrincipalName);

/// One entry, as it counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub seq: u64,
    pub bytes: u64,
    pub untrusted: bool,
}

impl Piece {
    pub(crate) fn of(entry: &Entry) -> Self {
        Self {
            seq: entry.seq,
            bytes: u64::from(entry.bytes),
            untrusted: entry.record.class == AuthorityClass::Untrusted,
        }
    }
}

/// What is kept in a tenant, and the most that may be.
#[derive(Debug, Clone)]
pub(crate) struct Usage {
    /// Only known where there is a quota: it is counted when the first one is set, and when a
    /// store with one is opened.
    rows: Option<Rows>,
    pub quotas: RedBlackTreeMapSync<Scope, Most>,
}

/// Whose entry it is.
pub(crate) fn whose(record: &DerivationRecord) -> Place {
    (record.namespace.clone(), record.origin.principal.clone())
}

fn add(rows: &mut Rows, place: Place, piece: Piece) {
    let mut row = rows.get(&place).cloned().unwrap_or_default();
    row.entries = row.entries.saturating_add(1);
    row.bytes = row.bytes.saturating_add(piece.bytes);
    if piece.untrusted {
        row.untrusted.insert_mut(piece.seq, ());
    }
    rows.insert_mut(place, row);
}

impl Usage {
    pub(super) fn new() -> Self {
        Self {
            rows: None,
            quotas: RedBlackTreeMapSync::new_sync(),
        }
    }

    /// Whether it was counted.
    pub(crate) const fn is_known(&self) -> bool {
        self.rows.is_some()
    }

    /// Counts all that there is.
    pub(crate) fn count(&mut self, all: impl Iterator<Item = (Place, Piece)>) {
        let mut rows = Rows::new_sync();
        all.for_each(|(place, piece)| add(&mut rows, place, piece));
        self.rows = Some(rows);
    }

    /// Counts one entry more.
    pub(crate) fn add(&mut self, place: Place, piece: Piece) {
        if let Some(rows) = &mut self.rows {
            add(rows, place, piece);
        }
    }

    /// Counts one entry less.
    pub(crate) fn remove(&mut self, place: &Place, piece: Piece) {
        let row = self.rows.as_mut().and_then(|rows| rows.get_mut(place));
        if let Some(row) = row {
            row.entries = row.entries.saturating_sub(1);
            row.bytes = row.bytes.saturating_sub(piece.bytes);
            row.untrusted.remove_mut(&piece.seq);
        }
    }

    fn within(&self, scope: &Scope) -> impl Iterator<Item = (&PrincipalName, &Row)> {
        let rows = self.rows.iter().flat_map(Rows::iter);
        rows.filter(|((namespace, principal), _)| scope.covers(namespace, principal))
            .map(|((_, principal), row)| (principal, row))
    }

    pub(crate) fn amount(&self, scope: &Scope) -> Amount {
        let mut sum = Amount::default();
        for (_, row) in self.within(scope) {
            let untrusted = u64::try_from(row.untrusted.size()).unwrap_or(u64::MAX);
            sum.entries = sum.entries.saturating_add(row.entries);
            sum.bytes = sum.bytes.saturating_add(row.bytes);
            sum.untrusted = sum.untrusted.saturating_add(untrusted);
        }
        sum
    }

    /// The oldest class 4 entry in a scope: of this principal if it has one there, so that one who
    /// floods pushes out their own first; else of any.
    pub(crate) fn oldest(&self, scope: &Scope, principal: &PrincipalName) -> Option<u64> {
        let first = |own: bool| {
            let rows = self.within(scope);
            let rows = rows.filter(|(name, _)| !own || *name == principal);
            let seqs = rows.filter_map(|(_, row)| row.untrusted.first().map(|(seq, ())| *seq));
            seqs.min()
        };
        first(true).or_else(|| first(false))
    }
}
