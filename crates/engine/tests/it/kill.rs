// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that are killed while they write, and media that fill up under them.

use crate::world::World;
use ancile_core::{AuthorityClass, Digest, EntryId, PermitId, SessionId};
use ancile_engine::api::{EntryState, Gates};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The child program, which cargo builds beside the tests.
pub fn program() -> PathBuf {
    let mut dir = std::env::current_exe().unwrap();
    dir.pop();
    dir.pop();
    let name = format!("writes_until_killed{}", std::env::consts::EXE_SUFFIX);
    let path = dir.join("examples").join(name);
    assert!(
        path.exists(),
        "{} is not built; run `cargo test -p ancile-engine`, which builds examples",
        path.display()
    );
    path
}

/// What a child acknowledged.
#[derive(Default)]
struct Acknowledged {
    entries: BTreeMap<EntryId, (Digest, String)>,
    permits: Vec<(SessionId, PermitId)>,
    refused: Vec<String>,
}

impl Acknowledged {
    /// Takes a line; one that was cut off by the kill was not acknowledged in full.
    fn take(&mut self, line: &str) {
        let mut parts = line.splitn(4, ' ');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some("W"), Some(id), Some(hash), Some(text)) => {
                let row = (Digest::parse_hex(hash).unwrap(), text.to_owned());
                let before = self.entries.insert(EntryId::parse(id).unwrap(), row);
                assert_eq!(before, None, "an id was given twice");
            }
            (Some("P"), Some(session), Some(permit), None) => {
                let session = SessionId::parse(session).unwrap();
                self.permits
                    .push((session, PermitId::parse(permit).unwrap()));
            }
            (Some("R"), ..) => self.refused.push(line.to_owned()),
            (Some("READY"), ..) => {}
            _ => panic!("unknown line `{line}`"),
        }
    }
}

/// Whole lines of a child's output, as they come.
fn lines(child: &mut Child) -> Receiver<String> {
    let (send, lines) = channel();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        let mut line = String::new();
        while out.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
            if send.send(line.trim_end().to_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    lines
}

fn ready(child: &mut Child) -> Receiver<String> {
    let lines = lines(child);
    let first = lines.recv_timeout(Duration::from_secs(60));
    assert_eq!(first.as_deref(), Ok("READY"));
    lines
}

/// The next number of a small generator (xorshift); the seed is not 0.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

fn seed() -> u64 {
    let given = std::env::var("ANCILE_SEED").ok();
    let seed = given.map_or_else(
        || {
            let now = std::time::SystemTime::now();
            let since = now.duration_since(std::time::UNIX_EPOCH).unwrap();
            u64::from(since.subsec_nanos()) + since.as_secs()
        },
        |text| text.parse().expect("ANCILE_SEED is a number"),
    );
    println!("ANCILE_SEED={seed} repeats this run");
    seed.max(1)
}

/// Every acknowledged entry is there, and as it was acknowledged.
fn check(w: &World, acknowledged: &Acknowledged) {
    for (id, (hash, text)) in &acknowledged.entries {
        let view = w.engine.entry(&w.user, *id).unwrap();
        assert_eq!((&view.hash, view.text.as_ref()), (hash, Some(text)), "{id}");
        assert_eq!(view.state, EntryState::Current);
    }
    for (session, permit) in &acknowledged.permits {
        let view = w.engine.session(&w.host, *session).unwrap();
        assert!(view.outstanding.contains(permit), "{permit}");
        assert_eq!(view.class, AuthorityClass::Untrusted);
    }
}

/// Each entry that the store has reads whole, acknowledged or not; says how many there are.
fn no_half_entry(w: &World) -> usize {
    let mut cursor: Option<String> = None;
    let mut count = 0;
    loop {
        let namespace = crate::world::main_namespace();
        let page = w
            .engine
            .entries(&w.user, namespace, cursor.as_deref(), 200)
            .unwrap();
        for view in &page.items {
            let text = view.text.as_deref().unwrap_or_default();
            assert!(
                text.ends_with("rent is due.") || text.ends_with("for the rent."),
                "{view:?}"
            );
        }
        count += page.items.len();
        match page.next {
            Some(next) => cursor = Some(next),
            None => return count,
        }
    }
}

#[test]
fn promise_7_what_was_acknowledged_survives_a_kill() {
    let rounds = if std::env::var_os("ANCILE_FULL").is_some() {
        200
    } else {
        25
    };
    let started = Instant::now();
    let mut seed = seed();
    let mut w = World::new();
    let (mut total, mut behind) = (0, 0);
    for round in 0..rounds {
        let World { dir, engine, .. } = w;
        engine.close();
        let mut child = Command::new(program())
            .arg(dir.path().join("home"))
            .arg(round.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = ready(&mut child);
        std::thread::sleep(Duration::from_micros(next(&mut seed) % 300_000));
        // On Unix this is SIGKILL.
        child.kill().unwrap();
        child.wait().unwrap();
        let mut acknowledged = Acknowledged::default();
        lines.iter().for_each(|line| acknowledged.take(&line));
        assert_eq!(acknowledged.refused, Vec::<String>::new());
        let audit = ancile_engine::audit(&dir.path().join("home"), None).unwrap();
        assert!(audit.ok, "round {round}: {audit:?}");
        w = World::open(dir, Gates::Enforce, true).unwrap();
        w.settled();
        let health = w.engine.health();
        assert_eq!((health.integrity, &health.problems), ("verified", &vec![]));
        behind += usize::from(health.witness_was_behind);
        check(&w, &acknowledged);
        total += acknowledged.entries.len();
    }
    let found = no_half_entry(&w);
    println!(
        "{rounds} kills, {total} acknowledged entries, {found} found, witness {behind} times one \
         behind, {:?}",
        started.elapsed()
    );
    assert!(
        total > 0 && found >= total,
        "{total} acknowledged, {found} found"
    );
    let audit = ancile_engine::audit(&w.home(), None).unwrap();
    assert!(audit.ok, "{audit:?}");
}

/// Sets the longest file that a running process may write.
fn limit_files(child: &Child, bytes: &str) -> bool {
    let mut prlimit = Command::new("prlimit");
    prlimit.arg(format!("--pid={}", child.id()));
    prlimit.arg(format!("--fsize={bytes}:unlimited"));
    prlimit.status().is_ok_and(|status| status.success())
}

fn wait_for(lines: &Receiver<String>, took: &mut Acknowledged, until: impl Fn(&str) -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).expect("the child says so in time");
        took.take(&line);
        if until(&line) {
            return;
        }
    }
}

fn database(home: &Path) -> u64 {
    let file = home.join("data").join(ancile_store::DATABASE_FILE);
    file.metadata().unwrap().len()
}

#[test]
fn promise_7_a_full_medium_refuses_writes_and_a_free_one_takes_them_again() {
    let w = World::new();
    let World { dir, engine, .. } = w;
    engine.close();
    let home = dir.path().join("home");
    // SIGXFSZ is ignored, so that writing beyond the limit fails instead of ending the process.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(program())
        .arg(&home)
        .arg("0")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = ready(&mut child);
    let mut took = Acknowledged::default();
    wait_for(&lines, &mut took, |line| line.starts_with('W'));
    if !limit_files(&child, &(database(&home) / 2).to_string()) {
        println!("SKIPPED (no prlimit): a full medium");
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    }
    wait_for(&lines, &mut took, |line| line.starts_with('R'));
    let refused = took.refused.last().unwrap().clone();
    assert!(refused.starts_with("R store_"), "{refused}");
    assert!(limit_files(&child, "unlimited"));
    let before = took.entries.len();
    wait_for(&lines, &mut took, |line| line.starts_with('W'));
    assert!(
        took.entries.len() > before,
        "the store opened again by itself"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    lines.iter().for_each(|line| took.take(&line));
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    check(&w, &took);
    assert!(no_half_entry(&w) >= took.entries.len());
    assert!(ancile_engine::audit(&w.home(), None).unwrap().ok);
}
