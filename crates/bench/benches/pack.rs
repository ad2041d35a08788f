// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing k = 15 from 200 candidates.
#![allow(missing_docs, reason = "the entry points are made by macros")]
#![allow(
    clippy::expect_used,
    reason = "a benchmark stops where its input is not in form"
)]

use ancile_bench::inputs::pack::candidates;
use ancile_core::pack::{OccupancyBound, pack};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

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
