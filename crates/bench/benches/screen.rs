// SPDX-License-Identifier: MIT OR Apache-2.0
//! Screening of 1 KiB: stages 1 to 3 over ordinary notes, in ASCII and in other scripts.
//!
//! The last lines compare with the content scanner of aegis-memory, which is in Python, over the
//! beginnings of the same texts in turn with ours, and over its own workload where the data
//! directory is there. `ANCILE_PYTHON` names a Python that has aegis-memory.
#![allow(missing_docs, reason = "the entry points are made by macros")]
#![allow(
    clippy::expect_used,
    reason = "a benchmark stops where its input is not in form"
)]

use ancile_bench::inputs::screen::{ascii, beginnings, not_ascii};
use ancile_core::Channel;
use ancile_screen::{ScreenInput, Screener, StageSet};
use criterion::{Criterion, Throughput, criterion_group};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// Rounds of the comparison, ours and theirs in turn.
const ROUNDS: usize = 5;
/// Runs of one item of ours in a round.
const RUNS: u32 = 200;
/// Items of its workload.
const WORKLOAD: usize = 200;

fn screen(screener: &Screener, text: &str) {
    black_box(screener.screen(&ScreenInput {
        text: black_box(text),
        channel: Channel::Web,
        stages: StageSet::ALL,
    }));
}

fn screens(c: &mut Criterion) {
    let screener = Screener::new().expect("the built-in rules load");
    let mut group = c.benchmark_group("screen_1_kib");
    for (name, text) in [("ascii", ascii()), ("not_ascii", not_ascii())] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| screen(&screener, &text));
        });
    }
    group.finish();
}

/// Python with aegis-memory, told over its standard input when to scan.
struct Theirs {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
    version: String,
}

impl Theirs {
    /// Nothing where Python or aegis-memory is missing.
    fn start(items: &Path) -> Option<Self> {
        let python = std::env::var_os("ANCILE_PYTHON").unwrap_or_else(|| "python3".into());
        let mut child = Command::new(python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/aegis_scan.py"))
            .arg(items)
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
            version: String::new(),
        };
        let said = theirs.line();
        said.strip_prefix("ready ")?.clone_into(&mut theirs.version);
        Some(theirs)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("a line is text");
        line.trim().to_owned()
    }

    /// The seconds of each item.
    fn scan(&mut self) -> Vec<f64> {
        writeln!(self.ask, "scan").expect("it listens");
        let line = self.line();
        let seconds = line.split_whitespace().map(str::parse);
        seconds.collect::<Result<_, _>>().expect("seconds")
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        // It ends by itself when its input does; whether it was there to be ended does not matter.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The seconds of each item of ours.
fn ours(screener: &Screener, items: &[String]) -> Vec<f64> {
    let seconds = |item: &String| {
        screen(screener, item);
        let start = Instant::now();
        (0..RUNS).for_each(|_| screen(screener, item));
        start.elapsed().as_secs_f64() / f64::from(RUNS)
    };
    items.iter().map(seconds).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The contents of the workload that comes with the benchmark of aegis-memory.
fn workload() -> Option<Vec<String>> {
    let data = std::env::var("ANCILE_DATA").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").to_owned()
    });
    let file = std::fs::read_to_string(format!("{data}/aegis_bench/memory_workload.jsonl"));
    let content = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(row.get("content")?.as_str()?.to_owned())
    };
    Some(
        file.ok()?
            .lines()
            .filter_map(content)
            .take(WORKLOAD)
            .collect(),
    )
}

/// Prints the median of each item's times, and the median of the items' ratios.
fn compare(screener: &Screener, name: &str, items: &[String], each: bool) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("items");
    let lines = items
        .iter()
        .map(|item| serde_json::Value::from(item.as_str()).to_string());
    let lines: Vec<String> = lines.collect();
    std::fs::write(&file, lines.join("\n")).expect("room for the items");
    let Some(mut theirs) = Theirs::start(&file) else {
        println!("SKIPPED (no aegis-memory): {name} against aegis-memory");
        return;
    };
    let (mut our_times, mut their_times) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        our_times.push(ours(screener, items));
        their_times.push(theirs.scan());
    }
    let of = |rounds: &[Vec<f64>], at: usize| {
        median(
            rounds
                .iter()
                .filter_map(|times| times.get(at))
                .copied()
                .collect(),
        )
    };
    let mut ratios = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let (ours, theirs) = (of(&our_times, at), of(&their_times, at));
        ratios.push(theirs / ours);
        if each {
            let (bytes, ours, theirs) = (item.len(), ours * 1e6, theirs * 1e6);
            println!("p50: {name}, {bytes} bytes: ours = {ours:.2} us, theirs = {theirs:.2} us");
        }
    }
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    println!(
        "ratio {name} against aegis-memory {} = {:.1} times, at least {least:.1} times",
        theirs.version,
        median(ratios),
    );
}

fn compare_all() {
    let screener = Screener::new().expect("the built-in rules load");
    for (name, text) in [("ascii", ascii()), ("not_ascii", not_ascii())] {
        let items: Vec<String> = beginnings(&text).into_iter().map(str::to_owned).collect();
        compare(&screener, name, &items, true);
    }
    match workload() {
        Some(items) => compare(&screener, "workload", &items, false),
        None => println!("SKIPPED (no data): the workload of aegis-memory"),
    }
}

criterion_group!(benches, screens);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    compare_all();
}
