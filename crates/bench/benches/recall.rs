// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recall by words and by vectors of 384 dimensions from 100,000 entries, without its commit;
//! against simsimd, which only computes the int8 dot products of the same vectors.
//!
//! `ANCILE_PYTHON` names a Python that has numpy and simsimd.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::float_arithmetic,
    missing_docs,
    reason = "a measurement stops where its input is not in form"
)]

mod bare;

use ancile_core::{NamespaceName, PrincipalName, SessionMode};
use ancile_engine::api::{BATCH_ENTRIES_MAX, Expose, ExposureKind, Recall, SessionSpec, StepOp};
use ancile_engine::{Engine, EngineConfig, IndexConfig, Model};
use ancile_kernel::{Quantised, Query, exact_bytes, scan};
use ancile_models::{EmbedError, Embedder, ModelId};
use bare::{Words, caller, commit, copy, leaves, median, memory, tenant};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ENTRIES: usize = 100_000;
const DIM: usize = 384;
/// Recalls, scans and commits in each round.
const EACH: usize = 31;
const ROUNDS: usize = 5;
/// Recalls after which most entries and vectors were read once, as in a server that has run for a
/// while.
const BEFORE: usize = 4_000;
/// Rows that a bare scan finds.
const K: usize = 40;

/// Vectors of texts: the sum of a fixed direction for each word.
struct Noise(ModelId);

impl Noise {
    fn new() -> Self {
        Self(ModelId {
            name: "noise".to_owned(),
            version: 1,
            dimension: DIM,
            sha256: [0; 32],
        })
    }
}

impl Embedder for Noise {
    fn id(&self) -> &ModelId {
        &self.0
    }

    fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        let mut sum = vec![0.0_f32; DIM];
        for word in text.split_whitespace() {
            let seed = word.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
            });
            let mut words = Words(seed);
            for number in &mut sum {
                let bits = u16::try_from(words.number()).unwrap_or_default();
                *number += f32::from(bits) / 32_767.5 - 1.0;
            }
        }
        let length = sum.iter().map(|n| n * n).sum::<f32>().sqrt();
        let found = length > 0.0;
        sum.iter_mut().for_each(|n| *n /= length);
        Ok(found.then_some(sum))
    }
}

fn texts() -> impl Iterator<Item = String> {
    let mut words = Words(1);
    std::iter::repeat_with(move || words.text()).take(ENTRIES)
}

/// Four words, as often rare and common as in the texts.
fn question(words: &mut Words) -> String {
    let text = words.text();
    let four: Vec<&str> = text.split(' ').take(4).collect();
    four.join(" ")
}

fn config(home: &Path) -> EngineConfig {
    EngineConfig {
        index: IndexConfig {
            model: Model::Other(Arc::new(Noise::new())),
            ..IndexConfig::default()
        },
        ..EngineConfig::new(home)
    }
}

fn fill(home: &Path) {
    Engine::init(home).expect("a first run");
    let (engine, _) = Engine::open(config(home)).expect("a store that opens");
    let user = caller(&engine, home, "user");
    let mut texts = texts().peekable();
    while texts.peek().is_some() {
        let some = texts.by_ref().take(BATCH_ENTRIES_MAX).map(memory).collect();
        engine.write_batch(&user, some).expect("a batch");
    }
    let operator = caller(&engine, home, "operator");
    while engine.index_state(&operator).expect("a state").busy {
        std::thread::sleep(Duration::from_millis(50));
    }
    engine.close();
}

/// The vectors as a bare scan takes them, in files, and a query.
struct Vectors {
    segment: Quantised,
    query: Query,
    at: PathBuf,
    query_at: PathBuf,
}

impl Vectors {
    fn new(dir: &Path) -> Self {
        let embed = |text: &str| Noise::new().embed(text).expect("short").expect("words");
        let rows = texts().map(|text| embed(&text));
        let segment = Quantised::new(DIM, rows).expect("rows in form");
        let query = embed(&question(&mut Words(2)));
        let (at, query_at) = (dir.join("segment"), dir.join("query"));
        std::fs::write(&at, segment.as_bytes()).expect("room for the segment");
        let bytes = exact_bytes(DIM, [&query]).expect("a query in form");
        std::fs::write(&query_at, bytes).expect("room for the query");
        let query = Query::new(&query).expect("a query in form");
        Self {
            segment,
            query,
            at,
            query_at,
        }
    }

    fn ours(&self) -> Duration {
        let one = |_| {
            let began = Instant::now();
            let found = scan(black_box(self.segment.view()), &self.query, K, &|_| true);
            assert_eq!(found.expect("of one length").len(), K);
            began.elapsed()
        };
        median((0..EACH).map(one).collect())
    }

    /// Nothing where Python or simsimd is missing.
    fn theirs(&self) -> Option<Duration> {
        let python = std::env::var_os("ANCILE_PYTHON").unwrap_or_else(|| "python3".into());
        let script = "../kernel/benches/simsimd_scan.py";
        let mut child = Command::new(python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script))
            .args([&self.at, &self.query_at])
            .args([ENTRIES.to_string(), DIM.to_string(), EACH.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut ask = child.stdin.take()?;
        // Where it has ended already, there is no answer below.
        _ = std::io::Write::write_all(&mut ask, b"scan\n");
        drop(ask);
        let answer = child.wait_with_output().ok()?;
        let answer = String::from_utf8(answer.stdout).ok()?;
        let seconds = answer.strip_prefix("ready\n")?.trim().parse().ok()?;
        Some(Duration::from_secs_f64(seconds))
    }
}

/// Recalls in a session, one a step; how long the middle one took.
fn in_session(home: &Path, engine: &Engine, words: &mut Words) -> Duration {
    let host = caller(engine, home, "host");
    let spec = SessionSpec {
        agent: name("assistant"),
        user: name("alice"),
        namespace: namespace(),
        mode: SessionMode::Interactive,
        observed: true,
    };
    let session = engine.open_session(&host, spec).expect("a session");
    let step = |op| engine.step(&host, session.id, &session.token, vec![op]);
    let turn = Expose {
        kind: ExposureKind::UserTurn,
        channel: None,
        text: "What do you know?".to_owned(),
        locator: String::new(),
    };
    step(StepOp::Expose(turn)).expect("a turn");
    let one = |_| {
        let query = question(words);
        let recall = Recall {
            query,
            ..Recall::default()
        };
        let began = Instant::now();
        step(StepOp::Recall(recall)).expect("a recall");
        began.elapsed()
    };
    median((0..EACH).map(one).collect())
}

fn name(name: &str) -> PrincipalName {
    PrincipalName::new(name).expect("a name")
}

fn namespace() -> NamespaceName {
    NamespaceName::new("main").expect("a name")
}

/// The middle one of so many recalls by a person, which commit nothing.
fn by_person(home: &Path, engine: &Engine, words: &mut Words, recalls: usize) -> Duration {
    let user = caller(engine, home, "user");
    let one = |_| {
        let query = question(words);
        let recall = Recall {
            query,
            ..Recall::default()
        };
        let began = Instant::now();
        let pack = engine.recall(&user, namespace(), recall).expect("a pack");
        let took = began.elapsed();
        assert_eq!((pack.items.len(), pack.served_by), (15, "hybrid"));
        took
    };
    median((0..recalls).map(one).collect())
}

fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (home, copied) = (dir.path().join("home"), dir.path().join("copy"));
    fill(&home);
    copy(&home, &copied);
    let vectors = Vectors::new(dir.path());
    let mut words = Words(3);
    let (mut opened, mut person, mut session, mut commits) = (vec![], vec![], vec![], vec![]);
    let (mut ours, mut theirs) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        let (store, _, before) = leaves(&home, u64::MAX);
        drop(store);
        let (engine, _) = Engine::open(config(&home)).expect("a store that opens");
        while engine.counts().integrity().name() == "pending" {
            std::thread::sleep(Duration::from_millis(50));
        }
        opened.push(by_person(&home, &engine, &mut words, EACH));
        by_person(&home, &engine, &mut words, BEFORE);
        person.push(by_person(&home, &engine, &mut words, EACH));
        session.push(in_session(&home, &engine, &mut words));
        engine.close();
        ours.push(vectors.ours());
        theirs.extend(vectors.theirs());
        commits.push(bare_commits(&home, &copied, before));
    }
    let (person, session, commit) = (median(person), median(session), median(commits));
    let above = session.saturating_sub(commit);
    let opened = median(opened);
    println!("p50: the first {EACH} recalls after opening = {opened:.2?}, by a person");
    println!("p50: recall by a person = {person:.2?}, in a session = {session:.2?}");
    println!("p50: bare commit = {commit:.2?}");
    println!("p50: scan with the best {K} = {:.2?}", median(ours));
    if theirs.is_empty() {
        println!("SKIPPED (no simsimd): recall against simsimd");
        return;
    }
    let theirs = median(theirs);
    let ratio = |ours: Duration| ours.as_secs_f64() / theirs.as_secs_f64();
    println!("p50: dot products of simsimd = {theirs:.2?}");
    println!(
        "ratio recall = {:.2} times by a person, {:.2} times in a session less its commit",
        ratio(person),
        ratio(above)
    );
}

/// What each recall of the session appended, appended and committed with nothing around.
fn bare_commits(home: &Path, copied: &Path, before: u64) -> Duration {
    let (store, appended, _) = leaves(home, before);
    drop(store);
    let (mut store, ..) = leaves(copied, u64::MAX);
    let tenant = tenant();
    let each = appended.len().div_ceil(EACH);
    let one = |some: &[bare::Leaf]| {
        let began = Instant::now();
        commit(&mut store, &tenant, some);
        began.elapsed()
    };
    median(appended.chunks(each.max(1)).map(one).collect())
}
