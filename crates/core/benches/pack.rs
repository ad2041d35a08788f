// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing k = 15 from 200 candidates.
#![allow(missing_docs, reason = "the entry points are made by macros")]
#![allow(
    clippy::expect_used,
    reason = "a benchmark stops where its input is not in form"
)]

use ancile_core::pack::{Candidate, OccupancyBound, pack};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

/// Candidates with scattered ranks and sequences: about one in five is a near-duplicate, and they
/// come from `origins` origins.
fn candidates(n: u32, origins: u32, seed: u64) -> Vec<Candidate> {
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

fn bench(c: &mut Criterion) {
    let bound = OccupancyBound::default_for(15, 2_000).expect("15 slots are within the limit");
    let mut group = c.benchmark_group("pack_15");
    for (trusted, untrusted) in [(200, 0), (160, 40), (100, 100), (200, 200)] {
        let (t, u) = (candidates(trusted, 3, 1), candidates(untrusted, 8, 2));
        group.bench_function(format!("{trusted}_trusted_{untrusted}_untrusted"), |b| {
            b.iter(|| pack(black_box(&t), black_box(&u), black_box(&bound)));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
