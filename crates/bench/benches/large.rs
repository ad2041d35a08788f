// SPDX-License-Identifier: MIT OR Apache-2.0
//! A namespace of many entries: how fast they are written, how long the store takes to open and how
//! much of it that reads, and how long a recall takes then.
//!
//! `ANCILE_ENTRIES` says how many; 20,000 without it. Times are of this machine; what matters
//! is that opening reads a small part of the store, and it ends with a fault where it reads more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a measurement may stop at the first surprise"
)]

use ancile_core::{EntryId, NamespaceName};
use ancile_engine::api::{BATCH_ENTRIES_MAX, Recall, Write};
use ancile_engine::{Caller, Engine, EngineConfig};
use std::path::Path;
use std::time::{Duration, Instant};

/// Recalls measured.
const RECALLS: u64 = 200;
/// Opening reads at most one byte in so many of the store,
const PART: u64 = 4;
/// and so many besides: events, and entries that are not sealed yet.
const APART: u64 = 16 << 20;
/// Words that texts are made of, besides numbers.
const WORDS: [&str; 24] = [
    "rent", "garden", "invoice", "doctor", "train", "piano", "river", "coffee", "meeting",
    "winter", "cousin", "bicycle", "passport", "kitchen", "budget", "holiday", "printer", "letter",
    "museum", "harbour", "allergy", "concert", "mortgage", "recipe",
];

fn main() {
    let entries: u64 = std::env::var("ANCILE_ENTRIES")
        .map_or(20_000, |n| n.parse().expect("ANCILE_ENTRIES is a number"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let home = dir.path().join("home");
    Engine::init(&home).expect("a new home");
    let last = fill(&home, entries);

    let (before, began) = (bytes_read(), Instant::now());
    let (engine, report) = Engine::open(EngineConfig::new(&home)).expect("a store that opens");
    assert!(report.damage.is_empty());
    let (took, read) = (began.elapsed(), bytes_read() - before);
    let size = std::fs::metadata(home.join("data/store.db"))
        .expect("a store")
        .len();
    println!(
        "opened {entries} entries in {:.2} s, reading {} of {} MiB; resident {} MiB",
        took.as_secs_f64(),
        read >> 20,
        size >> 20,
        resident() >> 20
    );
    let may = size / PART + APART;
    assert!(
        read <= may,
        "opening read {read} of {size} bytes, more than {may}"
    );
    let user = caller(&engine, &home, "user");
    let seen = engine.entry(&user, last).expect("the last entry");
    assert_eq!(seen.id, last);
    println!(
        "first recall {:.1} ms",
        first_recall(&engine, &user).as_secs_f64() * 1e3
    );
    wait(&engine, &home);
    println!(
        "compared with the log after {:.1} s; {}",
        began.elapsed().as_secs_f64(),
        engine.counts().integrity().name()
    );
    recalls(&engine, &user, entries);
    println!("resident {} MiB", resident() >> 20);
    engine.close();
}

/// Writes the entries and waits until they are sealed and merged.
fn fill(home: &Path, entries: u64) -> EntryId {
    let (engine, _) = Engine::open(EngineConfig::new(home)).expect("a store that opens");
    let user = caller(&engine, home, "user");
    let began = Instant::now();
    let mut last = None;
    let batch = BATCH_ENTRIES_MAX as u64;
    for from in (0..entries).step_by(BATCH_ENTRIES_MAX) {
        let to = entries.min(from.saturating_add(batch));
        let some = (from..to).map(|n| memory(&text(n))).collect();
        let written = engine.write_batch(&user, some).expect("a batch");
        last = written.last().map(|written| written.id);
    }
    let took = began.elapsed();
    println!(
        "wrote {entries} entries in {:.1} s, {:.0} a second",
        took.as_secs_f64(),
        entries as f64 / took.as_secs_f64()
    );
    wait(&engine, home);
    let state = engine
        .index_state(&caller(&engine, home, "operator"))
        .expect("a state");
    println!(
        "sealed and merged after {:.1} s: {} segments, {} entries in memory",
        began.elapsed().as_secs_f64(),
        state.segments,
        state.recent
    );
    engine.close();
    last.expect("an entry")
}

fn wait(engine: &Engine, home: &Path) {
    let operator = caller(engine, home, "operator");
    while engine.index_state(&operator).expect("a state").busy {
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn caller(engine: &Engine, home: &Path, role: &str) -> Caller {
    let token = std::fs::read_to_string(home.join("keys").join(format!("{role}.key")));
    let token = token.expect("a key");
    engine.authenticate(token.trim()).expect("a key that works")
}

fn question(number: u64) -> Recall {
    let word = |at: u64| WORDS[(mixed(number.wrapping_add(at)) % 24) as usize];
    Recall {
        query: format!("{} {} note{}", word(1), word(2), number * 7919 % 100_000),
        ..Recall::default()
    }
}

fn first_recall(engine: &Engine, user: &Caller) -> Duration {
    let began = Instant::now();
    let pack = engine
        .recall(user, namespace(), question(0))
        .expect("a pack");
    assert!(!pack.items.is_empty());
    assert_eq!(pack.served_by, "hybrid");
    began.elapsed()
}

fn recalls(engine: &Engine, user: &Caller, entries: u64) {
    let mut took: Vec<Duration> = (1..=RECALLS)
        .map(|number| {
            let began = Instant::now();
            let pack = engine
                .recall(user, namespace(), question(number))
                .expect("a pack");
            assert!(!pack.items.is_empty());
            began.elapsed()
        })
        .collect();
    took.sort_unstable();
    let at = |percent: usize| took[(took.len() * percent / 100).min(took.len() - 1)];
    println!(
        "{RECALLS} recalls of {entries}, commit included: p50 {:.1} ms, p99 {:.1} ms",
        at(50).as_secs_f64() * 1e3,
        at(99).as_secs_f64() * 1e3
    );
}

fn namespace() -> NamespaceName {
    NamespaceName::new("main").expect("a name")
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// About twenty words, one of them rare.
fn text(number: u64) -> String {
    let mut text = format!("note{} of {number}:", number % 100_000);
    for at in 0..16 {
        text.push(' ');
        text.push_str(WORDS[(mixed(number * 31 + at) % 24) as usize]);
    }
    text
}

fn memory(text: &str) -> Write {
    Write::memory(text)
}

/// Bytes this process has read so far, from `/proc`; 0 where there is none.
fn bytes_read() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Bytes of memory in use, from `/proc`; 0 where there is none.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
