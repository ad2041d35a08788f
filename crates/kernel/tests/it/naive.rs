// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel said again, slowly: from the layout of the bytes, with sums in i64.

use ancile_kernel::Hit;

/// The int8 values and the scale of each row of a segment.
pub fn rows(dim: usize, bytes: &[u8]) -> Vec<(Vec<i64>, f32)> {
    let count = bytes.len() / (dim + 4);
    let row = |at: usize| {
        let values = &bytes[at * dim..(at + 1) * dim];
        let scale = &bytes[count * dim + at * 4..][..4];
        let values = values.iter().map(|byte| i64::from(byte.cast_signed()));
        (
            values.collect(),
            f32::from_le_bytes(scale.try_into().unwrap()),
        )
    };
    (0..count).map(row).collect()
}

/// Every kept row sorted by score, the first k of them.
pub fn scan(
    rows: &[(Vec<i64>, f32)],
    query: &(Vec<i64>, f32),
    k: usize,
    keep: impl Fn(u32) -> bool,
) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (row, (values, scale)) in (0u32..).zip(rows) {
        let dot: i64 = values.iter().zip(&query.0).map(|(a, b)| a * b).sum();
        let score = dot as f64 * f64::from(*scale) * f64::from(query.1);
        if keep(row) {
            hits.push(Hit { row, score });
        }
    }
    sorted(hits, k)
}

/// Every row by its dot product in f64, the first k of them.
pub fn rescore(rows: &[Vec<f32>], query: &[f32], k: usize) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (row, values) in (0u32..).zip(rows) {
        let mut score = 0.0;
        for at in 0..query.len() {
            score += f64::from(values[at]) * f64::from(query[at]);
        }
        hits.push(Hit { row, score });
    }
    sorted(hits, k)
}

fn sorted(mut hits: Vec<Hit>, k: usize) -> Vec<Hit> {
    // A stable sort: of equal scores the lower row stays first.
    hits.sort_by(|a, b| b.score.partial_cmp(&a.score).unwrap());
    hits.truncate(k);
    hits
}
