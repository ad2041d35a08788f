// SPDX-License-Identifier: MIT OR Apache-2.0
use super::open_within;
use crate::failure::Exit;
use ancile_engine::{Engine, EngineConfig, Gates, IndexConfig};
use std::time::Duration;

#[test]
fn a_store_that_stays_held_is_an_error_that_names_the_holder() {
    let dir = tempfile::tempdir().unwrap();
    let config = EngineConfig {
        home: dir.path().join("home"),
        gates: Gates::Enforce,
        screening: false,
        screen_policy: ancile_engine::ScreenPolicy::default(),
        judging: ancile_engine::JudgeConfig::default(),
        index: IndexConfig::default(),
    };
    Engine::init(&config.home).unwrap();
    let (held, _) = open_within(&config, Duration::ZERO).unwrap();
    let failure = open_within(&config, Duration::from_millis(1)).unwrap_err();
    assert_eq!(
        (failure.exit, failure.code.as_str()),
        (Exit::Unavailable, "store_locked")
    );
    let lock = config.home.join("data/lock");
    let said = format!(
        "`{}` is in use by process {}; speak to that process, or stop it; waited 0 s for it",
        lock.display(),
        std::process::id()
    );
    assert_eq!(failure.text, said);
    held.close();
    open_within(&config, Duration::ZERO).unwrap().0.close();
}
