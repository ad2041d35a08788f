// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lexical index: BM25 over one partition of one namespace, in memory.
//!
//! A partition owns its index and every statistic of it, so nothing of the untrusted partition
//! can move a rank of the trusted one.
//!
//! The score is that of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
//! Beyond" (2009), section 3.4, with k1 = 1.2 and b = 0.75. For each term of the query that a
//! document has, with N documents, df of them having the term, tf occurrences in this one, `len`
//! terms in this one and `avg` on average, it adds
//!
//! ```text
//! ln(1 + (N - df + 0.5) / (df + 0.5)) * (k1 + 1) * tf / (tf + k1 * (1 - b + b * len / avg))
//! ```
//!
//! The logarithm is never negative, unlike that of the paper. All arithmetic is on integers, each
//! term's share is rounded down before the sum, and no order of a hash map is seen: the same
//! documents give the same scores on every machine, in whatever order they came and went.

mod fixed;
#[cfg(test)]
mod tests;

use crate::tokenize::each_term;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

/// The index of one partition.
///
/// Memory is about 12 bytes for each different term of each document, 40 bytes a document and
/// 100 bytes a term.
#[derive(Debug, Default)]
pub struct Bm25 {
    /// Place of each term in `postings`; never iterated where order could be seen.
    terms: HashMap<Box<str>, u32>,
    postings: Vec<Postings>,
    /// Place of each document in the three columns below.
    slots: BTreeMap<u64, u32>,
    docs: Vec<u64>,
    lengths: Vec<u32>,
    doc_terms: Vec<Box<[u32]>>,
    /// Sum of the lengths of the documents in the index, in terms.
    length_total: u64,
}

/// The documents that have one term, by ascending slot.
#[derive(Debug, Default)]
struct Postings {
    /// Documents in the index that have the term.
    df: u32,
    list: Vec<Posting>,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    slot: u32,
    /// Occurrences, at most [`TF_MAX`]; zero where the document was removed.
    tf: u32,
}

/// A document that has a term of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The number the document was added under.
    pub doc: u64,
    /// BM25 in millionths, at least 1.
    pub score: u64,
}

impl Bm25 {
    /// Makes an empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the document `doc`; a document of that number already in the index is replaced.
    ///
    /// Numbers may come in any order, so that an entry released from quarantine can return.
    pub fn add(&mut self, doc: u64, text: &str) {
        self.remove(doc);
        assert!(
            self.docs.len() < DOCS_MAX,
            "an index is far smaller than its slots"
        );
        let slot = narrow(self.docs.len());
        let mut length = 0_u32;
        let mut ids = Vec::new();
        each_term(text, &mut |term| {
            length = length.saturating_add(1);
            ids.push(self.term_id(term));
        });
        ids.sort_unstable();
        for same in ids.chunk_by(|a, b| a == b) {
            if let Some(postings) = same
                .first()
                .and_then(|id| self.postings.get_mut(*id as usize))
            {
                let tf = narrow(same.len()).min(TF_MAX);
                postings.df += 1;
                postings.list.push(Posting { slot, tf });
            }
        }
        ids.dedup();
        self.slots.insert(doc, slot);
        self.docs.push(doc);
        self.lengths.push(length);
        self.doc_terms.push(ids.into_boxed_slice());
        self.length_total += u64::from(length);
    }

    /// Takes the document `doc` out of the index and of all its statistics, as if it had never
    /// been added. A number that is not in the index changes nothing.
    pub fn remove(&mut self, doc: u64) {
        let Some(slot) = self.slots.remove(&doc) else {
            return;
        };
        let at = slot as usize;
        let length = self.lengths.get_mut(at).map(std::mem::take);
        self.length_total -= u64::from(length.unwrap_or_default());
        let ids = self.doc_terms.get_mut(at).map(std::mem::take);
        for id in ids.unwrap_or_default() {
            if let Some(postings) = self.postings.get_mut(id as usize) {
                postings.remove(slot);
            }
        }
        if self.slots.is_empty() {
            *self = Self::default();
        } else if self.docs.len() - self.slots.len() > self.slots.len() + DEAD_SLACK {
            self.compact();
        }
    }

    /// Says whether the document `doc` is in the index.
    #[must_use]
    pub fn contains(&self, doc: u64) -> bool {
        self.slots.contains_key(&doc)
    }

    /// Counts the documents in the index.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Says whether the index has no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Finds the best `limit` documents that have a term of `query` and that `keep` accepts, by
    /// descending score, then by ascending number.
    ///
    /// `keep` is a filter alone: what it refuses still counts in the statistics. A term counts
    /// once however often the query has it.
    ///
    /// Work is bounded. Only the first [`QUERY_BYTES_MAX`] bytes of `query` are read, and only
    /// its [`QUERY_TERMS_MAX`] rarest terms score. A partition of [`LARGE`] documents or more
    /// leaves out terms that more than one document in [`COMMON_SHARE`] has, unless the query has
    /// no rarer one. The rarest term always scores, a further one only while all together have
    /// at most [`POSTINGS_MAX`] documents.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize, keep: &dyn Fn(u64) -> bool) -> Vec<Hit> {
        let mut scores = vec![0_u64; self.docs.len()];
        let mut matched = Vec::new();
        let lengths = fixed::Lengths::new(self.slots.len() as u64, self.length_total);
        for postings in self.chosen(query) {
            let weight = fixed::weight(self.slots.len() as u64, u64::from(postings.df));
            for posting in postings.list.iter().filter(|posting| posting.tf > 0) {
                let at = posting.slot as usize;
                let length = self.lengths.get(at).copied().unwrap_or_default();
                if let Some(score) = scores.get_mut(at) {
                    if *score == 0 {
                        matched.push(posting.slot);
                    }
                    *score += lengths.share(weight, posting.tf, length);
                }
            }
        }
        self.best(&scores, &matched, limit, keep)
    }

    /// The terms of the query that score, rarest first.
    fn chosen(&self, query: &str) -> Vec<&Postings> {
        let mut names = BTreeSet::new();
        let read = query.get(..query.floor_char_boundary(QUERY_BYTES_MAX));
        each_term(read.unwrap_or_default(), &mut |term| {
            if let Some((name, id)) = self.terms.get_key_value(term) {
                names.insert((&**name, *id));
            }
        });
        // Names come in order, and the sort is stable: ties do not depend on history.
        let mut found: Vec<&Postings> = names
            .iter()
            .filter_map(|(_, id)| self.postings.get(*id as usize))
            .filter(|postings| postings.df > 0)
            .collect();
        found.sort_by_key(|postings| postings.df);
        let rarest = found.first().map_or(0, |postings| postings.df as usize);
        let common = self.slots.len() / COMMON_SHARE;
        let drop_common = self.slots.len() >= LARGE && rarest <= common;
        let mut work = 0;
        found
            .into_iter()
            .take(QUERY_TERMS_MAX)
            .take_while(|postings| {
                let first = work == 0;
                work += postings.df as usize;
                let is_common = drop_common && postings.df as usize > common;
                first || (!is_common && work <= POSTINGS_MAX)
            })
            .collect()
    }

    fn best(
        &self,
        scores: &[u64],
        matched: &[u32],
        limit: usize,
        keep: &dyn Fn(u64) -> bool,
    ) -> Vec<Hit> {
        // The top of the heap is the worst hit so far.
        let mut heap = BinaryHeap::new();
        for slot in matched {
            let at = *slot as usize;
            let (Some(score), Some(doc)) = (scores.get(at), self.docs.get(at)) else {
                continue;
            };
            let candidate = (Reverse(*score), *doc);
            let fits = heap.len() < limit || heap.peek().is_some_and(|worst| candidate < *worst);
            if fits && keep(*doc) {
                heap.push(candidate);
                if heap.len() > limit {
                    heap.pop();
                }
            }
        }
        let ordered = heap.into_sorted_vec().into_iter();
        ordered
            .map(|(Reverse(score), doc)| Hit { doc, score })
            .collect()
    }

    fn term_id(&mut self, term: &str) -> u32 {
        if let Some(id) = self.terms.get(term) {
            return *id;
        }
        assert!(
            self.postings.len() < DOCS_MAX,
            "an index is far smaller than its term numbers"
        );
        let id = narrow(self.postings.len());
        self.postings.push(Postings::default());
        self.terms.insert(term.into(), id);
        id
    }

    /// Rewrites the index without the slots of removed documents and the terms none has.
    fn compact(&mut self) {
        let old = std::mem::take(self);
        let mut slot_of = vec![None; old.docs.len()];
        // Slots keep their order, so that lists stay sorted.
        let live: BTreeMap<u32, u64> = old.slots.iter().map(|(doc, slot)| (*slot, *doc)).collect();
        for (slot, doc) in live {
            let new = narrow(self.docs.len());
            if let Some(place) = slot_of.get_mut(slot as usize) {
                *place = Some(new);
            }
            self.slots.insert(doc, new);
            self.docs.push(doc);
            self.lengths
                .push(old.lengths.get(slot as usize).copied().unwrap_or_default());
        }
        let mut id_of = vec![None; old.postings.len()];
        for (place, mut postings) in id_of.iter_mut().zip(old.postings) {
            if postings.df > 0 {
                *place = Some(narrow(self.postings.len()));
                postings.list.retain(|posting| posting.tf > 0);
                for posting in &mut postings.list {
                    let new = slot_of.get(posting.slot as usize).copied().flatten();
                    posting.slot = new.unwrap_or_default();
                }
                postings.list.shrink_to_fit();
                self.postings.push(postings);
            }
        }
        let new_id = |id: u32| id_of.get(id as usize).copied().flatten();
        for (ids, kept) in old.doc_terms.iter().zip(&slot_of) {
            if kept.is_some() {
                self.doc_terms
                    .push(ids.iter().filter_map(|id| new_id(*id)).collect());
            }
        }
        let terms = old.terms.into_iter();
        self.terms = terms
            .filter_map(|(term, id)| Some((term, new_id(id)?)))
            .collect();
        self.length_total = old.length_total;
    }
}

impl Postings {
    fn remove(&mut self, slot: u32) {
        let found = self
            .list
            .binary_search_by_key(&slot, |posting| posting.slot);
        if let Some(posting) = found.ok().and_then(|at| self.list.get_mut(at)) {
            posting.tf = 0;
            self.df -= 1;
        }
    }
}

/// A count known to be below [`DOCS_MAX`], or one that may saturate.
fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Bytes of a query that are read.
pub const QUERY_BYTES_MAX: usize = 16 * 1024;

/// Terms of a query that score, the rarest of them.
pub const QUERY_TERMS_MAX: usize = 32;

/// Documents from which a partition leaves common terms out.
pub const LARGE: usize = 1024;

/// A term that more than one document in this many has is common.
pub const COMMON_SHARE: usize = 5;

/// Postings scored by one query after those of its rarest term; a few milliseconds of work.
pub const POSTINGS_MAX: usize = 512 * 1024;

/// Occurrences of a term in one document that count; keeps the arithmetic within 64 bits, and at
/// this many the score is within 0.01 % of its bound for a document of average length.
pub const TF_MAX: u32 = 65_535;

/// Slots and terms of one index, from the width of their numbers.
const DOCS_MAX: usize = u32::MAX as usize;

/// Removed documents an index may carry beyond as many as it has.
const DEAD_SLACK: usize = 1024;
