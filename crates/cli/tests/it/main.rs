// SPDX-License-Identifier: MIT OR Apache-2.0
//! The binary as people run it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails by panicking"
)]

mod backup;
mod commands;
mod config;
mod demo;
mod doctor;
mod judge;
mod logs;
mod model;
mod once;
#[cfg(feature = "otlp")]
mod otlp;
mod packaging;
mod readme;
mod running;
mod socket;
mod support;
mod walk;

#[test]
fn every_file_here_is_compiled() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut names: Vec<String> = std::fs::read_dir(here)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "backup.rs",
            "commands.rs",
            "config.rs",
            "demo.rs",
            "doctor.rs",
            "judge.rs",
            "logs.rs",
            "main.rs",
            "model.rs",
            "once.rs",
            "otlp.rs",
            "packaging.rs",
            "readme.rs",
            "running.rs",
            "socket.rs",
            "support.rs",
            "walk.rs"
        ]
    );
}
