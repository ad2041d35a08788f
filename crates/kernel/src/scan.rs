// SPDX-License-Identifier: MIT OR Apache-2.0
//! The best rows by quantised dot product.

use crate::dot::dots;
use crate::error::VectorError;
use crate::quantised::{Query, View};
use fearless_simd::Level;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[cfg(test)]
mod tests;

/// Rows whose dot products are computed before they are looked at.
const BLOCK_ROWS: usize = 256;

/// A row that was found, with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The row, from 0.
    pub row: u32,
    /// The dot product: of quantised values from [`scan`], of exact ones from
    /// [`rescore`](crate::rescore). Always finite, and never -0.0.
    pub score: f64,
}

impl Hit {
    /// Best first: by falling score, and of equal scores the lower row.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then(self.row.cmp(&other.row))
    }
}

/// The best `k` rows among those that `keep` answers true for, best first.
///
/// A score is the dot product of the int8 values, times the scale of the row, times the scale of
/// the query. The first two factors multiply exactly (27 and 24 bits into the 53 of f64), so only
/// the last product is rounded, and alike everywhere. Of equal scores the lower row comes first.
///
/// All rows are read, whatever `keep` says, so that the time tells little about it. It is asked at
/// most once for a row, in rising order, and only for rows that would be among the best so far.
/// With `k` 0 the answer is empty, with `k` above the number of rows it has all rows kept.
///
/// # Errors
/// [`VectorError::QueryLength`].
pub fn scan(
    view: View<'_>,
    query: &Query,
    k: usize,
    keep: &dyn Fn(u32) -> bool,
) -> Result<Vec<Hit>, VectorError> {
    if query.dim() != view.dim() {
        return Err(VectorError::QueryLength {
            found: query.dim(),
            dim: view.dim(),
        });
    }
    Ok(scan_at(Level::new(), view, query, Wanted { k, keep }))
}

/// How many rows, and which.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) k: usize,
    pub(crate) keep: &'a dyn Fn(u32) -> bool,
}

/// Scans with the instructions of one level; the query is as long as the rows.
pub(crate) fn scan_at(level: Level, view: View<'_>, query: &Query, wanted: Wanted<'_>) -> Vec<Hit> {
    if wanted.k == 0 {
        return Vec::new();
    }
    let mut best = Best::new(wanted.k.min(view.rows() as usize));
    let mut block = [0i32; BLOCK_ROWS];
    let mut scales = view.scales();
    let mut rows = 0..view.rows();
    let block_bytes = BLOCK_ROWS.saturating_mul(view.dim());
    for values in view.values().chunks(block_bytes) {
        dots(level, query.levels(), values, &mut block);
        for ((dot, row), scale) in block.iter().zip(&mut rows).zip(&mut scales) {
            // Adding 0.0 turns -0.0 into 0.0 and changes nothing else.
            let score = f64::from(*dot) * f64::from(scale) * f64::from(query.scale()) + 0.0;
            if score > best.floor && (wanted.keep)(row) {
                best.put(Hit { row, score });
            }
        }
    }
    best.into_sorted()
}

/// The best hits so far.
struct Best {
    k: usize,
    /// The worst of them on top.
    heap: BinaryHeap<Ranked>,
    /// A score must be above this to be among them. Rows come in rising order, so one that equals
    /// the worst comes after it.
    floor: f64,
}

impl Best {
    fn new(k: usize) -> Self {
        Self {
            k,
            heap: BinaryHeap::with_capacity(k),
            floor: f64::NEG_INFINITY,
        }
    }

    /// Takes a hit whose score is above the floor.
    fn put(&mut self, hit: Hit) {
        if self.heap.len() < self.k {
            self.heap.push(Ranked(hit));
        } else if let Some(mut worst) = self.heap.peek_mut() {
            *worst = Ranked(hit);
        }
        if self.heap.len() == self.k
            && let Some(worst) = self.heap.peek()
        {
            self.floor = worst.0.score;
        }
    }

    fn into_sorted(self) -> Vec<Hit> {
        let ranked = self.heap.into_sorted_vec();
        ranked.into_iter().map(|ranked| ranked.0).collect()
    }
}

/// A hit by its order: the greatest is the worst.
struct Ranked(Hit);

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.order(&other.0)
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}
