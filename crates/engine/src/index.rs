// SPDX-License-Identifier: MIT OR Apache-2.0
//! The index of recall: for each namespace and side, segments of what is sealed, and in memory
//! what was written since.
//!
//! Nothing of one side may influence a rank in the other: every statistic is of one side alone.

mod chunks;
mod dense;
mod facts;
mod fuse;
mod tail;

pub(crate) use chunks::ChunkCache;
pub(crate) use dense::model_of;
pub(crate) use facts::{Facts, validity};
pub(crate) use fuse::Scored;
pub(crate) use tail::{Tail, exact_bytes};

use crate::embedding::Made;
use crate::state::{Sealed, Tenant};
use ancile_core::{
    AuthorityClass, Channel, Digest, EntryId, EntryKind, NamespaceName, PrincipalName, TenantName,
};
use ancile_models::ModelId;
use ancile_store::Store;
use ancile_store::bm25::{Found, search};
use ancile_store::segment::{
    Index as Part, QUARANTINED, Row, Rows, Segment, SegmentError, SegmentPart,
};
use chunks::Cached;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use std::thread::ScopedJoinHandle;

/// Int8 values from which a scan is worth a thread: some ten times what it costs to start one.
const VALUES_APART: usize = 8 << 20;

/// The two sides of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Partition {
    /// Classes 1 to 3 at write.
    Trusted,
    /// Class 4 at write.
    Untrusted,
}

impl Partition {
    /// The side on which an entry of a class at write lies.
    pub(crate) fn of(class: AuthorityClass) -> Self {
        match class {
            AuthorityClass::Untrusted => Self::Untrusted,
            _ => Self::Trusted,
        }
    }
}

/// A side of a namespace of a tenant.
pub(crate) type Place = (TenantName, NamespaceName, Partition);

/// What was written to a place since the last seal.
#[derive(Debug, Default)]
struct Recent {
    tail: Tail,
    /// What is being sealed, the oldest first.
    frozen: Vec<Arc<Tail>>,
}

/// A segment in use.
pub(crate) struct Open {
    pub segment: Segment,
    facts: OnceLock<Vec<Facts>>,
}

/// A place in the journal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    added: usize,
    erased: usize,
}

/// All places.
#[derive(Default)]
pub(crate) struct Index {
    /// To be removed once the group is committed; until then the state keeps them out.
    erased: Vec<(Place, u64)>,
    recent: BTreeMap<Place, Recent>,
    added: Vec<Place>,
    open: RefCell<HashMap<Digest, Arc<Open>>>,
    cache: ChunkCache,
}

/// What is known of an entry before it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    pub id: EntryId,
    /// Its class today, as the viewer sees it.
    pub class: AuthorityClass,
    pub kind: EntryKind,
    pub channel: Channel,
    /// Whether screening put it on the shelf when it was written.
    pub quarantined: bool,
    /// Microseconds from which it is valid, and from which no more.
    pub valid: (i64, i64),
}

/// What is looked for, and where.
pub(crate) struct Ask<'a> {
    pub store: &'a Store,
    pub tenant: &'a Tenant,
    pub viewer: &'a PrincipalName,
    pub place: &'a Place,
    pub text: &'a str,
    /// The query's vector, and the model that made it.
    pub vector: Option<(&'a [f32], &'a ModelId)>,
    /// What words count beside that model, in thousandths of both.
    pub lexical_weight: u16,
    pub limit: usize,
}

/// What was found, and by which legs.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub hits: Vec<Scored>,
    /// Entries that the dense leg saw.
    pub with_vectors: u64,
    /// Entries in segments of another model or of none, and those on which the model failed: only
    /// the lexical leg saw them.
    pub without_vectors: u64,
}

impl Ask<'_> {
    /// Whether a segment is of the place.
    fn is_in(&self, sealed: &Sealed) -> bool {
        (&sealed.namespace, sealed.side) == (&self.place.1, self.place.2)
    }
}

/// A tenant, and who looks at it.
type Viewed<'a> = (&'a Tenant, &'a PrincipalName);

/// A part of a place, with what is known of its entries.
enum Piece<'a> {
    Recent(&'a Tail),
    Sealed {
        open: &'a Open,
        rows: Rows<'a>,
        facts: &'a [Facts],
        /// The class today of each of the facts.
        classes: Vec<AuthorityClass>,
    },
}

impl Piece<'_> {
    fn known(&self, (tenant, viewer): Viewed<'_>, seq: u64, slot: u32) -> Option<Known> {
        match self {
            Self::Recent(_) => {
                let entry = tenant.entries.get(&seq)?;
                let record = &entry.record;
                Some(Known {
                    id: record.id,
                    class: tenant.class_today(entry, viewer),
                    kind: record.kind,
                    channel: record.origin.channel,
                    quarantined: record.screening.quarantined,
                    valid: facts::validity(record),
                })
            }
            Self::Sealed {
                rows,
                facts,
                classes,
                ..
            } => {
                let row = rows.get(slot)?;
                let facts = facts.get(row.facts as usize)?;
                Some(Known {
                    id: row.id,
                    class: *classes.get(row.facts as usize)?,
                    kind: facts.kind,
                    channel: facts.channel,
                    quarantined: row.flags & QUARANTINED != 0,
                    valid: (row.valid_from, row.valid_until),
                })
            }
        }
    }
}

impl Index {
    /// Adds a text under a sequence number, with its vector.
    pub(crate) fn add(&mut self, place: Place, seq: u64, text: &str, vector: &Made) {
        let recent = self.recent.entry(place.clone()).or_default();
        recent.tail.add(seq, text, vector);
        self.added.push(place);
    }

    /// Removes what was added under a sequence number, once the group is committed. What is in a
    /// segment, or on its way into one, is left to the upkeep.
    pub(crate) fn erase(&mut self, place: Place, seq: u64) {
        self.erased.push((place, seq));
    }

    /// Whether the open group removes something.
    pub(crate) fn removes(&self) -> bool {
        !self.erased.is_empty()
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
        let added = mark.added.min(self.added.len());
        for place in self.added.drain(added..).rev() {
            if let Some(recent) = self.recent.get_mut(&place) {
                recent.tail.pop();
            }
        }
    }

    /// Forgets the journal after a commit, and removes what was erased.
    pub(crate) fn settle(&mut self) {
        self.added.clear();
        for (place, seq) in self.erased.drain(..) {
            if let Some(recent) = self.recent.get_mut(&place) {
                recent.tail.erase(seq);
            }
        }
    }

    /// Sets what was written so far to all places of a tenant aside, to be sealed; searches still
    /// see it.
    pub(crate) fn freeze(&mut self, tenant: &TenantName) -> BTreeMap<Place, Vec<Arc<Tail>>> {
        let mut frozen = BTreeMap::new();
        let mine = self
            .recent
            .iter_mut()
            .filter(|(place, _)| place.0 == *tenant);
        for (place, recent) in mine {
            let tail = Arc::new(std::mem::take(&mut recent.tail));
            recent.frozen.push(tail);
            frozen.insert(place.clone(), recent.frozen.clone());
        }
        frozen
    }

    /// Forgets what was set aside for a tenant: it is in segments now.
    pub(crate) fn thaw(&mut self, tenant: &TenantName) {
        for (place, recent) in &mut self.recent {
            if place.0 == *tenant {
                recent.frozen.clear();
            }
        }
    }

    /// Forgets a segment that no event names any more.
    pub(crate) fn forget(&mut self, digest: &Digest) {
        self.open.get_mut().remove(digest);
    }

    /// A segment of a tenant, opened once.
    pub(crate) fn segment(
        &self,
        store: &Store,
        tenant: &TenantName,
        digest: &Digest,
    ) -> Result<Arc<Open>, SegmentError> {
        if let Some(open) = self.open.borrow().get(digest) {
            return Ok(Arc::clone(open));
        }
        let source = Cached::new(store.chunks(tenant), &self.cache);
        let open = Arc::new(Open {
            segment: Segment::open(&source, *digest)?,
            facts: OnceLock::new(),
        });
        self.open.borrow_mut().insert(*digest, Arc::clone(&open));
        Ok(open)
    }

    /// The row of a sealed entry, and the segment it is in.
    pub(crate) fn row_of<'t>(
        &self,
        store: &Store,
        tenant: &'t Tenant,
        which: Which<'_>,
    ) -> Result<Option<(Row, &'t Sealed)>, SegmentError> {
        let source = Cached::new(store.chunks(&tenant.name), &self.cache);
        for sealed in tenant.segments.iter().rev() {
            let open = self.segment(store, &tenant.name, &sealed.digest)?;
            let found = match which {
                Which::Id(id) if open.segment.head().may_have(id) => {
                    open.segment.find_id(&source, id)?
                }
                Which::Id(_) => None,
                Which::Hash(hash) => open.segment.find_hash(&source, hash)?,
            };
            if let Some(row) = found {
                return Ok(Some((row, sealed)));
            }
        }
        Ok(None)
    }

    /// The segment that still has words of an erased entry, if one has.
    pub(crate) fn remnant(
        &self,
        store: &Store,
        tenant: &Tenant,
        id: &EntryId,
    ) -> Result<Option<(Digest, u64)>, SegmentError> {
        let Some((row, sealed)) = self.row_of(store, tenant, Which::Id(id))? else {
            return Ok(None);
        };
        let source = Cached::new(store.chunks(&tenant.name), &self.cache);
        let open = self.segment(store, &tenant.name, &sealed.digest)?;
        let slot = open.segment.rows(&source)?.below(row.seq);
        let length = open.segment.lengths(&source)?.get(slot);
        let words = length.is_some_and(|length| *length != [0; 4]);
        Ok(words.then_some((sealed.digest, row.seq)))
    }

    /// Sequence numbers of the sealed entries of a namespace below one, the highest first, at most
    /// so many.
    pub(crate) fn below(
        &self,
        store: &Store,
        tenant: &Tenant,
        namespace: &NamespaceName,
        (seq, most): (u64, usize),
    ) -> Result<Vec<u64>, SegmentError> {
        let source = Cached::new(store.chunks(&tenant.name), &self.cache);
        let mut found = Vec::new();
        for sealed in tenant.segments.iter().filter(|s| s.namespace == *namespace) {
            let open = self.segment(store, &tenant.name, &sealed.digest)?;
            if open.segment.head().first >= seq {
                continue;
            }
            let rows = open.segment.rows(&source)?;
            let below = rows.iter().take(rows.below(seq));
            found.extend(below.rev().take(most).map(|row| row.seq));
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.truncate(most);
        Ok(found)
    }

    /// The rows that a segment lists for opening.
    pub(crate) fn listed(
        &self,
        store: &Store,
        tenant: &TenantName,
        digest: &Digest,
    ) -> Result<Vec<Row>, SegmentError> {
        let source = Cached::new(store.chunks(tenant), &self.cache);
        let open = self.segment(store, tenant, digest)?;
        open.segment.listed(&source)
    }

    /// Entries of a tenant that are found by their words alone: their segment is of another model
    /// or of none, or the model failed on them.
    pub(crate) fn without_vectors(&self, store: &Store, tenant: &Tenant, model: &ModelId) -> u64 {
        let model = Some(dense::model_of(model));
        let other = |sealed: &&Sealed| {
            let open = self.segment(store, &tenant.name, &sealed.digest);
            open.is_ok_and(|open| open.segment.head().model != model)
        };
        let sealed = tenant.segments.iter().filter(other);
        let sealed: u64 = sealed.map(|sealed| u64::from(sealed.rows)).sum();
        let mine = self
            .recent
            .iter()
            .filter(|(place, _)| place.0 == tenant.name);
        let tails = mine.flat_map(|(_, r)| r.frozen.iter().map(AsRef::as_ref).chain([&r.tail]));
        sealed.saturating_add(tails.map(|tail| tail.unmade.len() as u64).sum())
    }

    /// Whether a side has an entry that is untrusted today, as the viewer sees it.
    pub(crate) fn has_untrusted(&self, ask: &Ask<'_>) -> Result<bool, SegmentError> {
        let (tenant, store) = (ask.tenant, ask.store);
        let source = Cached::new(store.chunks(&tenant.name), &self.cache);
        let untrusted = AuthorityClass::Untrusted;
        for sealed in tenant.segments.iter().filter(|sealed| ask.is_in(sealed)) {
            let open = self.segment(store, &tenant.name, &sealed.digest)?;
            let mut facts = open.facts(&source)?.iter();
            if facts.any(|facts| facts.class_today(tenant, ask.viewer) == untrusted) {
                return Ok(true);
            }
        }
        let recent = self.recent.get(ask.place).into_iter();
        let mut tails = recent.flat_map(|r| r.frozen.iter().map(AsRef::as_ref).chain([&r.tail]));
        let class = |seq| Some(tenant.class_today(tenant.entries.get(seq)?, ask.viewer));
        Ok(tails.any(|tail| tail.seqs.iter().any(|seq| class(seq) == Some(untrusted))))
    }

    /// The best entries of one side of a namespace that `keep` accepts, best first.
    pub(crate) fn search(
        &self,
        ask: &Ask<'_>,
        keep: &(dyn Fn(&Known) -> bool + Sync),
    ) -> Result<Answer, SegmentError> {
        let (tenant, store) = (ask.tenant, ask.store);
        let source = Cached::new(store.chunks(&tenant.name), &self.cache);
        let mut open = Vec::new();
        for sealed in tenant.segments.iter().filter(|sealed| ask.is_in(sealed)) {
            open.push(self.segment(store, &tenant.name, &sealed.digest)?);
        }
        let mut pieces = Vec::new();
        for open in &open {
            let facts = open.facts(&source)?;
            pieces.push(Piece::Sealed {
                open,
                rows: open.segment.rows(&source)?,
                facts,
                classes: facts
                    .iter()
                    .map(|f| f.class_today(tenant, ask.viewer))
                    .collect(),
            });
        }
        if let Some(recent) = self.recent.get(ask.place) {
            pieces.extend(recent.frozen.iter().map(|tail| Piece::Recent(tail)));
            pieces.push(Piece::Recent(&recent.tail));
        }
        let mut parts = Vec::new();
        for piece in &pieces {
            parts.push(match piece {
                Piece::Recent(tail) => Part::Memory(&tail.lexical),
                Piece::Sealed { open, .. } => {
                    Part::Segment(SegmentPart::new(&open.segment, &source)?)
                }
            });
        }
        let viewed = (tenant, ask.viewer);
        let keep_slot = |piece: &Piece<'_>, seq, slot| {
            let known = piece.known(viewed, seq, slot);
            known.is_some_and(|known| keep(&known))
        };
        let keep_found = |found: &Found| {
            let piece = pieces.get(found.part);
            piece.is_some_and(|piece| keep_slot(piece, found.doc, found.slot))
        };
        let limit = ask.limit;
        let dense = dense::Scan::new(&pieces, ask, &source)?;
        let (lexical, scores) = beside(
            dense.values() >= VALUES_APART,
            || search(&parts, ask.text, limit, &keep_found),
            &|| dense.run(limit, &keep_slot),
        );
        let lexical: Vec<(u64, u64)> = lexical?.iter().map(|f| (f.doc, f.score)).collect();
        let dense = dense.rescore(&scores?, &pieces, (ask, &source), &keep_slot)?;
        Ok(Answer {
            hits: fuse::fuse(&lexical, &dense.hits, ask.lexical_weight, limit),
            with_vectors: dense.seen,
            without_vectors: dense.unseen,
        })
    }
}

/// Does both; where `apart`, the second on a thread of its own meanwhile, if there is one to have.
/// What they answer does not depend on it.
fn beside<A, B: Send>(
    apart: bool,
    here: impl FnOnce() -> A,
    there: &(impl Fn() -> B + Sync),
) -> (A, B) {
    std::thread::scope(|threads| {
        let thread = std::thread::Builder::new().name("ancile-scan".to_owned());
        let other = apart.then(|| thread.spawn_scoped(threads, there).ok());
        let here = here();
        let there = match other.flatten().map(ScopedJoinHandle::join) {
            Some(Ok(there)) => there,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => there(),
        };
        (here, there)
    })
}

/// How a sealed entry is named.
#[derive(Clone, Copy)]
pub(crate) enum Which<'a> {
    Id(&'a EntryId),
    Hash(&'a Digest),
}

impl Open {
    /// What many of its entries share.
    fn facts(&self, source: &Cached<'_>) -> Result<&[Facts], SegmentError> {
        if let Some(facts) = self.facts.get() {
            return Ok(facts);
        }
        let read = self.segment.facts(source)?;
        let facts = read.iter().map(|bytes| Facts::decode(bytes));
        let facts: Option<Vec<Facts>> = facts.collect();
        let facts = facts.ok_or_else(|| SegmentError::Malformed {
            segment: *self.segment.digest(),
            section: ancile_store::segment::Section::Facts.number(),
        })?;
        Ok(self.facts.get_or_init(|| facts))
    }
}

#[cfg(test)]
mod tests;
