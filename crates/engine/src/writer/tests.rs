// SPDX-License-Identifier: MIT OR Apache-2.0
//! A store that is lost in the middle of a group.

use super::QUEUE_MAX;
use crate::readers::Look;
use crate::refusal::{Fault, Refusal};
use crate::turn::Turn;
use crate::{Engine, EngineConfig, IndexConfig, api::Gates, event::Event};
use ancile_core::{NamespaceName, TenantName};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

fn engine(home: &std::path::Path) -> Engine {
    let config = EngineConfig {
        home: home.to_owned(),
        gates: Gates::Enforce,
        screening: false,
        screen_policy: crate::ScreenPolicy::default(),
        judging: crate::JudgeConfig::default(),
        index: IndexConfig::default(),
    };
    Engine::open(config).unwrap().0
}

/// Makes a namespace on the writer thread.
fn make(engine: &Engine, name: &'static str) -> Result<(), Refusal> {
    engine.writer.submit(move |turn| {
        let event = Event::NamespaceMade {
            name: NamespaceName::new(name).unwrap(),
            readers: vec![],
            writers: vec![],
        };
        turn.emit(&TenantName::new("default").unwrap(), &event)
    })
}

fn there(engine: &Engine, name: &'static str) -> bool {
    let found = engine.writer.submit(move |turn| {
        let tenant = turn.tenant(&TenantName::new("default").unwrap())?;
        let name = NamespaceName::new(name).unwrap();
        Ok(tenant.namespaces.contains_key(&name))
    });
    found.unwrap()
}

/// Something to ask of an engine from another thread.
type Queued = Box<dyn FnOnce(&Engine) -> Result<(), Refusal> + Send>;

#[test]
fn promise_7_nobody_is_answered_for_a_group_that_went_with_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    Engine::init(&home).unwrap();
    let engine = engine(&home);
    let (go, wait) = sync_channel::<()>(0);
    let (started, running) = sync_channel::<()>(0);
    std::thread::scope(|threads| {
        let gate = engine.clone();
        threads.spawn(move || {
            gate.writer.submit(move |_| {
                started.send(()).unwrap();
                wait.recv().unwrap();
                Ok(())
            })
        });
        running.recv().unwrap();
        // The writer waits in a job; these three become one group after it, in this order.
        let queue = |job: Queued| {
            let engine = engine.clone();
            let handle = threads.spawn(move || job(&engine));
            std::thread::sleep(Duration::from_millis(100));
            handle
        };
        let before = queue(Box::new(|e| make(e, "before")));
        let losing = queue(Box::new(|e| {
            e.writer
                .submit(|turn| Err(turn.core.lost(&"a fault of the medium")))
        }));
        let after = queue(Box::new(|e| make(e, "after")));
        go.send(()).unwrap();
        let before = before.join().unwrap().unwrap_err();
        assert_eq!(
            (before.fault, before.code),
            (Fault::Unavailable, "store_unavailable")
        );
        let losing = losing.join().unwrap().unwrap_err();
        assert_eq!(losing.code, "store_unavailable");
        assert_eq!(losing.inside, "a fault of the medium");
        after.join().unwrap().unwrap();
    });
    assert!(!there(&engine, "before"));
    assert!(there(&engine, "after"));
    engine.close();
}

#[test]
fn a_reader_waits_for_the_commit_of_a_group_that_removes_rows() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    Engine::init(&home).unwrap();
    let engine = engine(&home);
    let (reads, asked) = (engine.clone(), engine.clone());
    let (started, running) = sync_channel::<()>(0);
    let (go, wait) = sync_channel::<()>(0);
    let (answer, found) = sync_channel(2);
    std::thread::scope(|threads| {
        threads.spawn(move || {
            asked.writer.submit(move |turn| {
                started.send(()).unwrap();
                wait.recv().unwrap();
                turn.core.serve_reader_meanwhile();
                started.send(()).unwrap();
                wait.recv().unwrap();
                let tenant = TenantName::new("default").unwrap();
                let main = NamespaceName::new("main").unwrap();
                let place = (tenant, main, crate::index::Partition::Trusted);
                turn.core.index.erase(place, 0);
                turn.core.serve_reader_meanwhile();
                started.send(()).unwrap();
                wait.recv().unwrap();
                Ok(())
            })
        });
        running.recv().unwrap();
        let look = |name: &'static str| {
            let (reads, answer) = (reads.clone(), answer.clone());
            threads.spawn(move || {
                reads.writer.look(|_| Ok(())).unwrap();
                answer.send(name).unwrap();
            });
            std::thread::sleep(Duration::from_millis(100));
            go.send(()).unwrap();
            running.recv().unwrap();
        };
        look("before");
        assert_eq!(found.recv().unwrap(), "before");
        look("after");
        assert!(found.try_recv().is_err(), "the group is not committed");
        go.send(()).unwrap();
        assert_eq!(found.recv().unwrap(), "after");
    });
    engine.close();
}

/// A look that has the next one wait before it ends.
fn without_end(looks: SyncSender<Look>) -> Look {
    Box::new(move |turn| {
        assert!(turn.is_ok());
        let next = without_end(looks.clone());
        // Once the engine is closed nobody takes it.
        let _end = looks.try_send(next);
    })
}

#[test]
fn readers_without_end_leave_room_for_what_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    Engine::init(&home).unwrap();
    let engine = engine(&home);
    let looks = engine.writer.looks.clone();
    looks.send(without_end(looks.clone())).unwrap();
    make(&engine, "first").unwrap();
    make(&engine, "second").unwrap();
    assert!(there(&engine, "second"));
    engine.close();
}

/// Holds the writer in a job, has it take so many more that each make a namespace, and gives what
/// one above them is told. All are answered before it returns.
fn fill(engine: &Engine, jobs: usize) -> Result<(), Refusal> {
    let (go, wait) = sync_channel::<()>(0);
    let (started, running) = sync_channel::<()>(0);
    let (done, answers) = std::sync::mpsc::channel();
    let base = engine.counts().commit_micros().sum;
    let queue = |number: usize| {
        let done = done.clone();
        let job = move |turn: &mut Turn<'_>| {
            let event = Event::NamespaceMade {
                name: NamespaceName::new(&format!("n{base}-{number}")).unwrap(),
                readers: vec![],
                writers: vec![],
            };
            turn.emit(&TenantName::new("default").unwrap(), &event)
        };
        let told = move |answer: Result<(), Refusal>| done.send(answer.is_ok()).unwrap();
        engine.writer.submit_then(job, told)
    };
    std::thread::scope(|threads| {
        threads.spawn(|| {
            engine.writer.submit(move |_| {
                started.send(()).unwrap();
                wait.recv().unwrap();
                Ok(())
            })
        });
        running.recv().unwrap();
        (0..jobs).for_each(|number| queue(number).unwrap());
        let above = queue(jobs);
        go.send(()).unwrap();
        let queued = jobs + usize::from(above.is_ok());
        (0..queued).for_each(|_| assert!(answers.recv().unwrap()));
        above
    })
}

#[test]
fn so_many_jobs_wait_and_one_above_them_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    Engine::init(&home).unwrap();
    let engine = engine(&home);
    let groups = || {
        let counts = engine.counts().group_requests().counts;
        counts.iter().map(|(_, groups)| groups).sum::<u64>()
    };
    // With the one that is running, four groups of 256 jobs each.
    let before = groups();
    fill(&engine, QUEUE_MAX - 2).unwrap();
    assert_eq!(groups() - before, 4);
    // One more is one in a fifth group.
    let before = groups();
    let refused = fill(&engine, QUEUE_MAX).unwrap_err();
    assert_eq!((refused.fault, refused.code), (Fault::Unavailable, "busy"));
    assert!(refused.outside.contains("1024"), "{refused:?}");
    assert_eq!(groups() - before, 5);
    // The room is given back.
    fill(&engine, QUEUE_MAX - 1).unwrap();
    engine.close();
}
