// SPDX-License-Identifier: MIT OR Apache-2.0
//! The best 40 of 100,000 rows of 384 dimensions on one thread, and the rescoring of those 40.
//!
//! The last lines compare with simsimd, which only computes the int8 dot products, over the same
//! bytes in turn with ours. `ANCILE_PYTHON` names a Python that has numpy and simsimd.
#![allow(missing_docs, reason = "the entry points are made by macros")]
#![allow(
    clippy::expect_used,
    reason = "a benchmark stops where its input is not in form"
)]

use ancile_kernel::{Exact, Hit, Quantised, Query, View, exact_bytes, rescore, scan};
use criterion::{Criterion, criterion_group};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const ROWS: u32 = 100_000;
const DIM: usize = 384;
/// Candidates to rescore for ten results.
const K: usize = 40;
/// Rounds of the comparison, ours and theirs in turn.
const ROUNDS: usize = 7;
/// Scans in each round.
const SCANS: usize = 31;

/// Numbers from -1 to 1, alike in every run.
fn noise(seed: u64) -> impl Iterator<Item = f32> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let bits = u16::try_from(state >> 48).unwrap_or_default();
        f32::from(bits) / 32_767.5 - 1.0
    })
}

fn rows() -> impl Iterator<Item = Vec<f32>> {
    let mut noise = noise(1);
    (0..ROWS).map(move |_| noise.by_ref().take(DIM).collect())
}

fn query() -> Vec<f32> {
    noise(2).take(DIM).collect()
}

fn best(view: View<'_>, query: &Query) -> Vec<Hit> {
    scan(view, query, K, &|_| true).expect("of one length")
}

fn scans(c: &mut Criterion) {
    let segment = Quantised::new(DIM, rows()).expect("rows in form");
    let query = query();
    let quantised = Query::new(&query).expect("a query in form");
    let every_third = |row: u32| row.is_multiple_of(3);
    let mut group = c.benchmark_group("scan_100000_384");
    group.bench_function("all", |b| {
        b.iter(|| best(black_box(segment.view()), &quantised));
    });
    group.bench_function("a_third", |b| {
        b.iter(|| scan(black_box(segment.view()), &quantised, K, &every_third));
    });
    group.bench_function("open", |b| {
        b.iter(|| View::new(DIM, ROWS, black_box(segment.as_bytes())).map(|view| view.rows()));
    });
    group.finish();

    let floats = exact_bytes(DIM, rows().take(K)).expect("rows in form");
    let hits: Vec<Hit> = (0..)
        .zip([0.0; K])
        .map(|(row, score)| Hit { row, score })
        .collect();
    let count = u32::try_from(K).expect("a small number");
    let exact = Exact::new(DIM, count, &floats).expect("bytes in form");
    c.bench_function("rescore_40_384", |b| {
        b.iter(|| rescore(black_box(exact), &query, &hits, 10));
    });
}

/// Python with simsimd, told over its standard input when to scan.
struct Theirs {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Theirs {
    /// Nothing where Python or simsimd is missing.
    fn start(segment: &Path, query: &Path) -> Option<Self> {
        let python = std::env::var_os("ANCILE_PYTHON").unwrap_or_else(|| "python3".into());
        let mut child = Command::new(python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/simsimd_scan.py"))
            .args([segment, query])
            .args([ROWS.to_string(), DIM.to_string(), SCANS.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let ask = child.stdin.take()?;
        let answers = BufReader::new(child.stdout.take()?);
        let mut theirs = Self {
            child,
            ask,
            answers,
        };
        (theirs.line() == "ready").then_some(theirs)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("a line is text");
        line.trim().to_owned()
    }

    fn ask(&mut self, what: &str) -> String {
        writeln!(self.ask, "{what}").expect("it listens");
        self.line()
    }

    /// The median of one round of dot products.
    fn scans(&mut self) -> Duration {
        let seconds = self.ask("scan").parse().expect("seconds");
        Duration::from_secs_f64(seconds)
    }

    /// The best rows by its dot products and the scales of the segment.
    fn best(&mut self) -> Vec<u32> {
        let rows = self.ask("best");
        let rows = rows.split_whitespace().map(str::parse);
        rows.collect::<Result<_, _>>().expect("row numbers")
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        // It ends by itself when its input does; whether it was there to be ended does not matter.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The median of one round of ours.
fn ours(view: View<'_>, query: &Query) -> Duration {
    let scan = |_| {
        let start = Instant::now();
        black_box(best(black_box(view), query));
        start.elapsed()
    };
    median((0..SCANS).map(scan).collect())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn compare() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (at, query_at) = (folder.path().join("segment"), folder.path().join("query"));
    let segment = Quantised::new(DIM, rows()).expect("rows in form");
    let query = query();
    std::fs::write(&at, segment.as_bytes()).expect("room for the segment");
    let bytes = exact_bytes(DIM, [&query]).expect("a query in form");
    std::fs::write(&query_at, bytes).expect("room for the query");
    let query = Query::new(&query).expect("a query in form");
    let Some(mut theirs) = Theirs::start(&at, &query_at) else {
        println!("SKIPPED (no simsimd): scan against simsimd");
        return;
    };
    let found = best(segment.view(), &query);
    let found: Vec<u32> = found.iter().map(|hit| hit.row).collect();
    assert_eq!(found, theirs.best(), "both find the same rows");
    let (mut our_times, mut their_times) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        our_times.push(ours(segment.view(), &query));
        their_times.push(theirs.scans());
    }
    let (ours, theirs) = (median(our_times), median(their_times));
    println!("p50: scan with the best {K} = {ours:.2?}, dot products of simsimd = {theirs:.2?}");
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("ratio = {ratio:.2} times");
}

criterion_group!(benches, scans);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    compare();
}
