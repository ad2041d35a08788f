// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was written to one place since the last seal, in memory.

use crate::embedding::{Made, Unmade};
use ancile_store::bm25::Bm25;

/// Texts and vectors, by ascending sequence number.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    pub lexical: Bm25,
    pub seqs: Vec<u64>,
    /// One f32 a dimension, for each text that has a vector.
    pub vectors: Vec<(u64, Box<[u8]>)>,
    /// Texts on which the model failed.
    pub unmade: Vec<u64>,
}

impl Tail {
    /// Adds a text.
    pub(crate) fn add(&mut self, seq: u64, text: &str, vector: &Made) {
        self.lexical.add(seq, text);
        self.seqs.push(seq);
        match vector {
            Ok(Some(vector)) => self.vectors.push((seq, exact_bytes(vector))),
            Ok(None) => {}
            Err(Unmade) => self.unmade.push(seq),
        }
    }

    /// Takes back what was added last.
    pub(crate) fn pop(&mut self) {
        let Some(seq) = self.seqs.pop() else {
            return;
        };
        self.lexical.remove(seq);
        self.vectors.pop_if(|(last, _)| *last == seq);
        self.unmade.pop_if(|last| *last == seq);
    }

    /// Takes a text out, wherever it is.
    pub(crate) fn erase(&mut self, seq: u64) {
        self.lexical.remove(seq);
        self.seqs.retain(|one| *one != seq);
        self.vectors.retain(|(one, _)| *one != seq);
        self.unmade.retain(|one| *one != seq);
    }

    /// The exact vector of a text, if it has one.
    pub(crate) fn vector(&self, seq: u64) -> Option<&[u8]> {
        let at = self.vectors.binary_search_by_key(&seq, |(seq, _)| *seq);
        let found = at.ok().and_then(|at| self.vectors.get(at));
        found.map(|(_, vector)| &**vector)
    }
}

/// A vector as its bytes lie in a segment.
pub(crate) fn exact_bytes(vector: &[f32]) -> Box<[u8]> {
    vector.iter().flat_map(|v| v.to_le_bytes()).collect()
}
