// SPDX-License-Identifier: MIT OR Apache-2.0
//! A restore that is stopped at each of its steps leaves the old store or the new one.

use super::*;
use crate::{BackupOptions, backup};
use std::cell::Cell;

thread_local! {
    /// The step at which a restore stops.
    pub(super) static STOP_AT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// The steps of [`reach`].
const STEPS: u32 = 5;

fn open(home: &Path) -> Engine {
    let config = EngineConfig {
        home: home.to_owned(),
        gates: Gates::Enforce,
        screening: false,
        screen_policy: crate::ScreenPolicy::default(),
        judging: crate::JudgeConfig::default(),
        index: crate::IndexConfig::default(),
    };
    Engine::open(config).unwrap().0
}

fn make(engine: &Engine, name: &'static str) {
    let made = engine.writer.submit(move |turn| {
        let event = Event::NamespaceMade {
            name: ancile_core::NamespaceName::new(name).unwrap(),
            readers: vec![],
            writers: vec![],
        };
        turn.emit(&TenantName::new("default").unwrap(), &event)
    });
    made.unwrap();
}

fn there(engine: &Engine, name: &'static str) -> bool {
    let found = engine.writer.submit(move |turn| {
        let tenant = turn.tenant(&TenantName::new("default").unwrap())?;
        let name = ancile_core::NamespaceName::new(name).unwrap();
        Ok(tenant.namespaces.contains_key(&name))
    });
    found.unwrap()
}

#[test]
fn a_restore_that_is_stopped_leaves_the_old_store_or_the_new_one() {
    for step in 0..STEPS {
        let dir = tempfile::tempdir().unwrap();
        let (home, copy) = (dir.path().join("home"), dir.path().join("copy"));
        Engine::init(&home).unwrap();
        let engine = open(&home);
        make(&engine, "before");
        backup(&home, &copy, BackupOptions::default()).unwrap();
        make(&engine, "after");
        engine.close();
        STOP_AT.set(Some(step));
        let stopped = restore(&home, &copy, true).unwrap_err();
        assert_eq!(stopped.code, "undecided");
        STOP_AT.set(None);
        let audited = audit(&home, None);
        // Only before it is decided is there a store to look at.
        assert_eq!(audited.is_ok_and(|a| a.ok), step == 0, "step {step}");
        let engine = open(&home);
        assert_eq!(there(&engine, "after"), step == 0, "step {step}");
        assert!(there(&engine, "before"));
        engine.close();
        assert!(!home.join(STAGED).exists() && !home.join(DECIDED).exists());
        assert!(audit(&home, None).unwrap().ok);
        // And it can be done to its end.
        let done = restore(&home, &copy, true).unwrap();
        assert!(done.done);
        let engine = open(&home);
        assert!(!there(&engine, "after"));
        engine.close();
    }
}
