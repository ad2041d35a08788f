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

/// Sees a term with the documents that have it, and how often.
pub type TermVisit<'a, E> = &'a mut dyn FnMut(&str, &[(u64, u32)]) -> Result<(), E>;

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

/// A part of the index of one partition: some of its documents, each in a slot. A search takes the
/// statistics of all parts together, so that it does not matter how documents are spread.
pub trait Part {
    /// Why a part cannot be read.
    type Error;
    /// Number of documents.
    fn documents(&self) -> u64;
    /// Sum of the lengths of the documents, in terms.
    fn length_total(&self) -> u64;
    /// All slots are below this number.
    fn slots(&self) -> usize;
    /// Number of documents that have a term.
    ///
    /// # Errors
    /// When the part cannot be read.
    fn df(&self, term: &str) -> Result<u32, Self::Error>;
    /// Gives the slots that have a term, and how often.
    ///
    /// # Errors
    /// When the part cannot be read.
    fn postings(&self, term: &str, visit: &mut dyn FnMut(u32, u32)) -> Result<(), Self::Error>;
    /// Length of the document in a slot, in terms.
    fn length(&self, slot: u32) -> u32;
    /// Number of the document in a slot.
    fn doc(&self, slot: u32) -> u64;
}

impl Part for &Bm25 {
    type Error = std::convert::Infallible;

    fn documents(&self) -> u64 {
        self.slots.len() as u64
    }

    fn length_total(&self) -> u64 {
        self.length_total
    }

    fn slots(&self) -> usize {
        self.docs.len()
    }

    fn df(&self, term: &str) -> Result<u32, Self::Error> {
        let postings = self
            .terms
            .get(term)
            .and_then(|id| self.postings.get(*id as usize));
        Ok(postings.map_or(0, |postings| postings.df))
    }

    fn postings(&self, term: &str, visit: &mut dyn FnMut(u32, u32)) -> Result<(), Self::Error> {
        let postings = self
            .terms
            .get(term)
            .and_then(|id| self.postings.get(*id as usize));
        let list = postings.into_iter().flat_map(|postings| &postings.list);
        list.filter(|posting| posting.tf > 0)
            .for_each(|posting| visit(posting.slot, posting.tf));
        Ok(())
    }

    fn length(&self, slot: u32) -> u32 {
        self.lengths.get(slot as usize).copied().unwrap_or_default()
    }

    fn doc(&self, slot: u32) -> u64 {
        self.document(slot).unwrap_or_default()
    }
}

/// A document that has a term of the query, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which of the parts.
    pub part: usize,
    /// The slot in it.
    pub slot: u32,
    /// The number of the document.
    pub doc: u64,
    /// BM25 in millionths, at least 1.
    pub score: u64,
}

/// [`Bm25::search`] over the parts of one partition's index; each document is in one part.
///
/// # Errors
/// When a part cannot be read.
pub fn search<P: Part>(
    parts: &[P],
    query: &str,
    limit: usize,
    keep: &dyn Fn(&Found) -> bool,
) -> Result<Vec<Found>, P::Error> {
    let documents = parts.iter().map(Part::documents).sum();
    let length_total = parts.iter().map(Part::length_total).sum();
    let lengths = fixed::Lengths::new(documents, length_total);
    let mut boards: Vec<Board> = parts.iter().map(Board::new).collect();
    for (term, df) in chosen(parts, query, documents)? {
        let weight = fixed::weight(documents, u64::from(df));
        for (part, board) in parts.iter().zip(&mut boards) {
            part.postings(&term, &mut |slot, tf| {
                board.add(slot, lengths.share(weight, tf, part.length(slot)));
            })?;
        }
    }
    Ok(best(parts, &boards, limit, keep))
}

/// The scores in one part.
struct Board {
    scores: Vec<u64>,
    matched: Vec<u32>,
}

impl Board {
    fn new<P: Part>(part: &P) -> Self {
        Self {
            scores: vec![0; part.slots()],
            matched: Vec::new(),
        }
    }

    fn add(&mut self, slot: u32, share: u64) {
        if let Some(score) = self.scores.get_mut(slot as usize) {
            if *score == 0 {
                self.matched.push(slot);
            }
            *score += share;
        }
    }
}

/// The terms of the query that score, rarest first, with the number of documents that have them.
fn chosen<P: Part>(
    parts: &[P],
    query: &str,
    documents: u64,
) -> Result<Vec<(String, u32)>, P::Error> {
    let mut names = BTreeSet::new();
    let read = query.get(..query.floor_char_boundary(QUERY_BYTES_MAX));
    each_term(read.unwrap_or_default(), &mut |term| {
        if !names.contains(term) {
            names.insert(term.to_owned());
        }
    });
    // Names come in order, and the sort is stable: ties do not depend on history.
    let mut found = Vec::new();
    for name in names {
        let mut df = 0_u32;
        for part in parts {
            df = df.saturating_add(part.df(&name)?);
        }
        if df > 0 {
            found.push((name, df));
        }
    }
    found.sort_by_key(|(_, df)| *df);
    let documents = usize::try_from(documents).unwrap_or(usize::MAX);
    let rarest = found.first().map_or(0, |(_, df)| *df as usize);
    let common = documents / COMMON_SHARE;
    let drop_common = documents >= LARGE && rarest <= common;
    let mut work = 0;
    let chosen = found.into_iter().take(QUERY_TERMS_MAX);
    Ok(chosen
        .take_while(|(_, df)| {
            let first = work == 0;
            work += *df as usize;
            let is_common = drop_common && *df as usize > common;
            first || (!is_common && work <= POSTINGS_MAX)
        })
        .collect())
}

fn best<P: Part>(
    parts: &[P],
    boards: &[Board],
    limit: usize,
    keep: &dyn Fn(&Found) -> bool,
) -> Vec<Found> {
    // The top of the heap is the worst hit so far.
    let mut heap = BinaryHeap::new();
    for (number, (part, board)) in parts.iter().zip(boards).enumerate() {
        for slot in &board.matched {
            let Some(score) = board.scores.get(*slot as usize) else {
                continue;
            };
            let worse = |(worst, ..): &(Reverse<u64>, u64, usize, u32)| *score < worst.0;
            if heap.len() >= limit && heap.peek().is_some_and(worse) {
                continue;
            }
            let found = Found {
                part: number,
                slot: *slot,
                doc: part.doc(*slot),
                score: *score,
            };
            let candidate = (Reverse(*score), found.doc, number, *slot);
            let fits = heap.len() < limit || heap.peek().is_some_and(|worst| candidate < *worst);
            if fits && keep(&found) {
                heap.push(candidate);
                if heap.len() > limit {
                    heap.pop();
                }
            }
        }
    }
    let ordered = heap.into_sorted_vec().into_iter();
    ordered
        .map(|(Reverse(score), doc, part, slot)| Found {
            part,
            slot,
            doc,
            score,
        })
        .collect()
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
        let Ok(found) = search(&[self], query, limit, &|found| keep(found.doc));
        let hit = |found: Found| Hit {
            doc: found.doc,
            score: found.score,
        };
        found.into_iter().map(hit).collect()
    }

    /// Gives each term that a document has, in order of the terms, with those documents and how
    /// often they have it, by ascending slot.
    pub fn each_term<E>(&self, visit: TermVisit<'_, E>) -> Result<(), E> {
        let mut names: Vec<(&str, u32)> = self.terms.iter().map(|(t, id)| (&**t, *id)).collect();
        names.sort_unstable();
        for (name, id) in names {
            let postings = self.postings.get(id as usize).filter(|p| p.df > 0);
            if let Some(postings) = postings {
                let live = postings.list.iter().filter(|posting| posting.tf > 0);
                let docs = live.filter_map(|p| Some((self.document(p.slot)?, p.tf)));
                visit(name, &docs.collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    /// Number of terms of a document in the index.
    #[must_use]
    pub fn length_of(&self, doc: u64) -> Option<u32> {
        let slot = self.slots.get(&doc)?;
        self.lengths.get(*slot as usize).copied()
    }

    fn document(&self, slot: u32) -> Option<u64> {
        self.docs.get(slot as usize).copied()
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
