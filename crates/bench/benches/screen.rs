// SPDX-License-Identifier: MIT OR Apache-2.0
//! Screening of 1 KiB: stages 1 to 3 over ordinary notes, in ASCII and in other scripts.
#![allow(missing_docs, reason = "the entry points are made by macros")]
#![allow(
    clippy::expect_used,
    reason = "a benchmark stops where its input is not in form"
)]

use ancile_bench::inputs::screen::{ascii, not_ascii};
use ancile_core::Channel;
use ancile_screen::{ScreenInput, Screener, StageSet};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

fn screens(c: &mut Criterion) {
    let screener = Screener::new().expect("the built-in rules load");
    let mut group = c.benchmark_group("screen_1_kib");
    for (name, text) in [("ascii", ascii()), ("not_ascii", not_ascii())] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| {
                screener.screen(&ScreenInput {
                    text: black_box(&text),
                    channel: Channel::Web,
                    stages: StageSet::ALL,
                })
            });
        });
    }
    group.finish();
}

criterion_group!(benches, screens);
criterion_main!(benches);
