// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task fires: content, record and lineage verified in memory, then the fire table.
//!
//! Cold, every record is hashed; warm, the ancestors are known to be intact and the task's own
//! record and content are hashed still. The last lines compare with a gate in plain Python.
#![allow(missing_docs, reason = "the entry points are made by macros")]
#![allow(
    clippy::expect_used,
    reason = "a benchmark stops where its input is not in form"
)]

use ancile_bench::inputs::decide::{CONTENT_BYTES, Case};
use ancile_core::{Decision, IntactMemo};
use criterion::{BatchSize, Criterion, criterion_group};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Ancestors of the task in the comparison.
const DEPTH: u16 = 3;
/// Samples in each round of the comparison.
const SAMPLES: usize = 2_000;
/// Decisions in each sample: the clock takes longer to read than it may add to one.
const BATCH: usize = 16;
/// Rounds of the comparison, ours and theirs in turn.
const ROUNDS: usize = 3;

fn decides(c: &mut Criterion) {
    let chain = Case::chain(DEPTH).expect("records in form");
    let shown = Case::exposures(1_000).expect("records in form");
    for (name, case) in [("3_ancestors", &chain), ("1000_exposures", &shown)] {
        let warm = case.warm().expect("intact records");
        for memo in [case.cold(), warm.clone()] {
            let cell = case.decide(&mut memo.clone());
            assert_eq!(
                cell.decision,
                Decision::Ask,
                "{name} is intact and uncovered"
            );
        }
        let mut group = c.benchmark_group("decide");
        group.bench_function(format!("{name}/cold"), |b| {
            b.iter(|| black_box(case).decide(&mut case.cold()));
        });
        group.bench_function(format!("{name}/warm"), |b| {
            b.iter_batched_ref(
                || warm.clone(),
                |memo| black_box(case).decide(memo),
                BatchSize::SmallInput,
            );
        });
        group.finish();
    }
}

/// The median time of one decision with a memo that is made outside the timed part.
fn p50<T>(mut set_up: impl FnMut() -> T, mut run: impl FnMut(&mut T)) -> Duration {
    let sample = |_| {
        let mut inputs: Vec<T> = (0..BATCH).map(|_| set_up()).collect();
        let start = Instant::now();
        inputs.iter_mut().for_each(&mut run);
        start.elapsed()
    };
    let batch = median((0..SAMPLES).map(sample).collect());
    batch / u32::try_from(BATCH).expect("a small number")
}

/// Makes and drops the memo inside the timed part.
fn p50_cold(case: &Case) -> Duration {
    let decide = |(): &mut ()| {
        black_box(black_box(case).decide(&mut case.cold()));
    };
    p50(|| (), decide)
}

fn p50_warm(case: &Case, warm: &IntactMemo) -> Duration {
    let decide = |memo: &mut IntactMemo| {
        black_box(black_box(case).decide(memo));
    };
    p50(|| warm.clone(), decide)
}

/// The Python gate's own median, from the line it prints.
fn python_p50(gate: &Path) -> Option<Duration> {
    let (depth, size) = (DEPTH.to_string(), CONTENT_BYTES.to_string());
    let said = Command::new("python3")
        .arg(gate)
        .args([depth, size])
        .output();
    let said = said.ok().filter(|out| out.status.success())?.stdout;
    let text = String::from_utf8(said).ok()?;
    let micros: f64 = text
        .split_once("p50=")?
        .1
        .split_once("us")?
        .0
        .parse()
        .ok()?;
    Some(Duration::from_secs_f64(micros / 1e6))
}

fn baselines() -> PathBuf {
    std::env::var_os("ANCILE_BASELINES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/baselines"),
        PathBuf::from,
    )
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn compare() {
    let gate = baselines().join("py_gate.py");
    if !gate.is_file() {
        println!("SKIPPED (no baselines): decide against the Python gate");
        return;
    }
    let case = Case::chain(DEPTH).expect("records in form");
    let warm = case.warm().expect("intact records");
    let (mut ours_cold, mut ours_warm, mut theirs) = (vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        ours_cold.push(p50_cold(&case));
        ours_warm.push(p50_warm(&case, &warm));
        theirs.push(python_p50(&gate).expect("the Python gate runs and prints its p50"));
    }
    let (cold, warm, python) = (median(ours_cold), median(ours_warm), median(theirs));
    println!("p50: python = {python:.2?}, cold = {cold:.2?}, warm = {warm:.2?}");
    println!(
        "ratio cold = {:.1} times, warm = {:.1} times",
        python.as_secs_f64() / cold.as_secs_f64(),
        python.as_secs_f64() / warm.as_secs_f64(),
    );
}

criterion_group!(benches, decides);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    compare();
}
