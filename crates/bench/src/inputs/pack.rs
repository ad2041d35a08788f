// SPDX-License-Identifier: MIT OR Apache-2.0
//! Candidates of a recall.

use ancile_core::pack::Candidate;

/// Candidates with scattered ranks and sequences: about one in five is a near-duplicate, and they
/// come from `origins` origins.
#[must_use]
pub fn candidates(n: u32, origins: u32, seed: u64) -> Vec<Candidate> {
    let mut state = seed;
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    (0..n)
        .map(|i| Candidate {
            rank: next(),
            tokens: 20 + u32::try_from(next() % 60).unwrap_or(0),
            origin: u32::try_from(next()).unwrap_or(0) % origins,
            group: if next() % 5 == 0 { i / 2 } else { n + i },
            seq: next(),
        })
        .collect()
}
