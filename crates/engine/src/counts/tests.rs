// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::refusal::{Fault, Refusal};
use crate::{Engine, EngineConfig, api::Gates};
use ancile_core::NamespaceName;

fn engine() -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    Engine::init(&home).unwrap();
    let config = EngineConfig {
        home,
        gates: Gates::Enforce,
        screening: false,
        screen_policy: crate::ScreenPolicy::default(),
        judging: crate::JudgeConfig::default(),
        index: crate::IndexConfig::default(),
    };
    let (engine, _) = Engine::open(config).unwrap();
    (dir, engine)
}

/// Commits a group of one request, which counts an ask; a refused one leaves no trace.
fn commit(engine: &Engine, refused: bool) {
    let made = engine.writer.submit(move |turn| {
        let number = turn.core.counts.commit_micros().sum;
        let event = Event::NamespaceMade {
            name: NamespaceName::new(&format!("n{number}")).unwrap(),
            readers: vec![],
            writers: vec![],
        };
        turn.emit(&TenantName::new("default").unwrap(), &event)?;
        turn.core.tally.add(Total::Asked, 1);
        if refused {
            return Err(Refusal::new(Fault::Conflict, "refused", ""));
        }
        Ok(())
    });
    assert_eq!(made.is_err(), refused);
}

fn commits(buckets: &Buckets) -> u64 {
    buckets.counts.iter().map(|(_, count)| count).sum()
}

#[test]
fn only_what_was_committed_is_counted() {
    let (_dir, engine) = engine();
    let asked = || engine.counts().totals().of(Total::Asked);
    commit(&engine, false);
    assert_eq!(asked(), 1);
    commit(&engine, true);
    assert_eq!(asked(), 1);
    assert_eq!(commits(&engine.counts().commit_micros()), 1);
    assert_eq!(commits(&engine.counts().group_requests()), 1);
    // A group that held nothing was no commit.
    engine.checkpoint().unwrap();
    assert_eq!(commits(&engine.counts().commit_micros()), 1);
    engine.close();
}

#[test]
fn a_slow_commit_counts_until_enough_others_were_not() {
    let (_dir, engine) = engine();
    let counts = engine.counts();
    // So high that no real disk reaches it: what is measured is what the test says.
    counts.set_slow_commit(Duration::from_secs(3_600));
    let delay = |time: Duration| counts.delay.store(micros(time), Ordering::Relaxed);
    commit(&engine, false);
    assert_eq!(counts.slow_commit(), None);
    delay(Duration::from_secs(3_601));
    commit(&engine, false);
    let slow = counts.slow_commit().unwrap();
    assert!(slow.took > slow.limit && !slow.under_way);
    assert_eq!(slow.limit, Duration::from_secs(3_600));
    assert_eq!(
        engine.health().slow_commit.map(|s| s.limit),
        Some(slow.limit)
    );
    delay(Duration::ZERO);
    for _ in 1..SLOW_CLEARS_AFTER {
        commit(&engine, false);
    }
    assert!(counts.slow_commit().is_some());
    commit(&engine, false);
    assert_eq!((counts.slow_commit(), counts.slow_commits()), (None, 1));
    engine.close();
}

#[test]
fn a_commit_under_way_is_seen_while_the_writer_waits() {
    let counts = Counts::new();
    counts.set_slow_commit(Duration::ZERO);
    assert_eq!(counts.slow_commit(), None);
    counts.commit_begins();
    while counts.slow_commit().is_none() {
        std::hint::spin_loop();
    }
    assert!(counts.slow_commit().unwrap().under_way);
    counts.commit_ended(None);
    assert_eq!((counts.slow_commit(), counts.slow_commits()), (None, 0));
}

#[test]
fn each_total_has_a_place_of_its_own() {
    let mut all = vec![
        Total::NotEnforced,
        Total::Asked,
        Total::Redeemed,
        Total::Quarantined,
        Total::Withheld,
        Total::Held,
        Total::JudgeFailed,
    ];
    all.extend(ancile_screen::Verdict::ALL.map(Total::Judged));
    for decision in Decision::ALL {
        all.extend([Total::Call(decision), Total::Fire(decision)]);
    }
    for class in AuthorityClass::ALL {
        all.extend([Total::Written(class), Total::Recalled(class)]);
    }
    let mut places: Vec<usize> = all.iter().map(|total| total.place()).collect();
    places.sort_unstable();
    assert_eq!(places, (0..TOTALS).collect::<Vec<_>>());
}

#[test]
fn a_measurement_falls_into_the_first_bucket_that_holds_it() {
    let histogram = Histogram::new(&[10, 20]);
    for measured in [0, 10, 11, 20, 21] {
        histogram.take(measured);
    }
    let read = histogram.read();
    assert_eq!(read.counts, [(Some(10), 2), (Some(20), 2), (None, 1)]);
    assert_eq!(read.sum, 62);
}
