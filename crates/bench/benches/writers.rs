// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sixty-four threads that each write and wait for the answer; against a bare loop that takes the
//! same bytes from sixty-four threads, appends what waits, commits and answers.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a measurement stops where its input is not in form"
)]

mod bare;

use ancile_engine::{Engine, EngineConfig};
use ancile_store::Store;
use bare::{Leaf, Words, caller, commit, copy, leaves, memory, tenant};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Instant;

/// Threads that write.
const CLIENTS: usize = 64;
/// Writes of each thread in a round.
const WRITES: usize = 100;
/// Rounds of each, in turn.
const ROUNDS: usize = 5;

/// A leaf to append, and where its answer goes.
type Job = (Leaf, SyncSender<()>);

fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (home, copied) = (dir.path().join("home"), dir.path().join("copy"));
    Engine::init(&home).expect("a first run");
    copy(&home, &copied);
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let (store, _, before) = leaves(&home, u64::MAX);
        drop(store);
        ours.push(engine_round(&home, round));
        let (store, appended, _) = leaves(&home, before);
        drop(store);
        let (store, ..) = leaves(&copied, u64::MAX);
        // Control events of the index are not what was asked for, and stay out of the loop.
        let records = appended.into_iter().filter(|leaf| leaf.content.is_some());
        floor.push(bare_round(store, records.collect()));
    }
    let (ours, floor) = (middle(&mut ours), middle(&mut floor));
    println!("p50: {CLIENTS} writers = {ours:.0} a second, bare loop = {floor:.0} a second");
    println!("ratio writers = {:.2} of the bare loop", ours / floor);
}

fn middle(rates: &mut [f64]) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}

/// Writes a second through the engine.
fn engine_round(home: &Path, round: usize) -> f64 {
    let (engine, _) = Engine::open(EngineConfig::new(home)).expect("a store that opens");
    let user = caller(&engine, home, "user");
    let began = Instant::now();
    std::thread::scope(|threads| {
        for client in 0..CLIENTS {
            let (engine, user) = (&engine, &user);
            threads.spawn(move || {
                let mut words = Words((round * CLIENTS + client) as u64 + 1);
                for _ in 0..WRITES {
                    engine.write(user, memory(words.text())).expect("a write");
                }
            });
        }
    });
    let took = began.elapsed().as_secs_f64();
    engine.close();
    (CLIENTS * WRITES) as f64 / took
}

/// The same leaves a second through a bare loop.
fn bare_round(mut store: Store, mut records: Vec<Leaf>) -> f64 {
    assert_eq!(records.len(), CLIENTS * WRITES, "all records and no other");
    let mut shares: Vec<Vec<Leaf>> = Vec::new();
    while !records.is_empty() {
        shares.push(records.split_off(records.len().saturating_sub(WRITES)));
    }
    let (jobs, inbox): (Sender<Job>, Receiver<Job>) = channel();
    let began = Instant::now();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            let tenant = tenant();
            while let Ok(first) = inbox.recv() {
                let group: Vec<Job> = std::iter::once(first).chain(inbox.try_iter()).collect();
                let (group, answers): (Vec<Leaf>, Vec<SyncSender<()>>) = group.into_iter().unzip();
                commit(&mut store, &tenant, &group);
                for answer in answers {
                    answer.send(()).expect("a client that waits");
                }
            }
        });
        for share in shares {
            let jobs = jobs.clone();
            threads.spawn(move || {
                for leaf in share {
                    let (answer, wait) = sync_channel(1);
                    jobs.send((leaf, answer)).expect("a loop that takes jobs");
                    wait.recv().expect("an answer");
                }
            });
        }
        drop(jobs);
    });
    (CLIENTS * WRITES) as f64 / began.elapsed().as_secs_f64()
}
