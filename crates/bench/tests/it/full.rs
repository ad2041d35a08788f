// SPDX-License-Identifier: MIT OR Apache-2.0
//! A part of `scripts/full` is recorded only where every command in it passed: each part is run
//! with stand-ins for what it calls, of which one call after the other fails.

#![cfg(unix)]

use crate::tree::root;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Counts its calls, fails at the one that `FAILS_AT` names, and prints a line of each kind that is
/// kept of some part. Git is not a part's command, so it always passes.
const STAND_IN: &str = r#"#!/bin/sh
case "$0" in */git) echo abc; exit ;; esac
calls=$(($(cat "$CALLS") + 1))
echo "$calls" >"$CALLS"
[ "$calls" -ne "$FAILS_AT" ] || exit 9
case "$*" in *target-libdir*) echo "$PWD"; exit ;; esac
[ -n "$MUTE" ] || echo "==1== Collected : ${calls}000" >&2
echo "running $TESTS tests"
echo "test model ... ok"
echo "bytes equal"
echo "ok modes"
echo "== as a user"
echo "ratio 1"
"#;

const COMMANDS: &[&str] = &[
    "bin/git",
    "bin/cargo",
    "bin/rustc",
    "bin/valgrind",
    "bin/python3",
    "bin/zig",
    "bin/llvm-ar",
    "bin/x86_64-w64-mingw32-gcc",
    "bin/x86_64-w64-mingw32-ar",
    "scripts/contract",
    "scripts/dist",
    "scripts/distill",
    "target/release/ancile",
];

/// What the stand-ins are told.
#[derive(Clone, Copy)]
struct Told {
    /// Which call fails, from 1; 0 for none.
    fails_at: usize,
    /// Whether valgrind says no number.
    mute: bool,
    /// How many tests cargo says that it runs.
    tests: usize,
}

const PASSES: Told = Told {
    fails_at: 0,
    mute: false,
    tests: 1,
};

/// What a run of one part came to.
struct Ran {
    passed: bool,
    recorded: bool,
    calls: usize,
    said: String,
}

fn place() -> TempDir {
    let place = tempfile::tempdir().expect("a directory is made");
    let write = |path: &str, text: &str| {
        let path = place.path().join(path);
        let parent = path.parent().expect("it lies in the directory");
        fs::create_dir_all(parent).expect("a directory is made");
        fs::write(&path, text).expect("a file is written");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("a mode is set");
    };
    for command in COMMANDS {
        write(command, STAND_IN);
    }
    let script = fs::read_to_string(root().join("scripts/full")).expect("the script reads");
    write("scripts/full", &script);
    let wheels = "target/ancile-minilm/onnxruntime/onnxruntime/capi/libonnxruntime.so.1";
    write(wheels, "");
    place
}

fn run(place: &Path, part: &str, told: Told) -> Ran {
    let calls = place.join("calls");
    let recorded = place.join(format!("results/{part}.txt"));
    fs::write(&calls, "0").expect("the count is written");
    drop(fs::remove_file(&recorded));
    let path = std::env::var("PATH").expect("there is a PATH");
    let output = Command::new("bash")
        .args(["scripts/full", part])
        .current_dir(place)
        .env("PATH", format!("{}/bin:{path}", place.display()))
        .env("CARGO_TARGET_DIR", place.join("target"))
        .env("ANCILE_DATA", place)
        .env("CALLS", &calls)
        .env("FAILS_AT", told.fails_at.to_string())
        .env("MUTE", if told.mute { "yes" } else { "" })
        .env("TESTS", told.tests.to_string())
        .output()
        .expect("bash runs");
    let count = fs::read_to_string(&calls).expect("the count reads");
    Ran {
        passed: output.status.success(),
        recorded: recorded.exists(),
        calls: count.trim().parse().expect("the count is a number"),
        said: String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
    }
}

/// The parts, as the script names them.
fn parts() -> Vec<String> {
    let script = fs::read_to_string(root().join("scripts/full")).expect("the script reads");
    let named = |line: &str| line.trim().strip_prefix("record ").map(str::to_owned);
    let part = |rest: String| rest.split(' ').next().unwrap_or("").to_owned();
    script.lines().filter_map(named).map(part).collect()
}

#[test]
fn a_command_that_fails_in_a_part_fails_the_part() {
    let place = place();
    let parts = parts();
    assert!(parts.len() >= 14, "{parts:?}");
    for part in &parts {
        let whole = run(place.path(), part, PASSES);
        assert!(whole.passed && whole.recorded, "{part}: {}", whole.said);
        assert!(whole.calls > 0, "{part} calls nothing: {}", whole.said);
        assert!(!whole.said.contains("SKIPPED"), "{part}: {}", whole.said);
        for fails_at in 1..=whole.calls {
            let told = Told { fails_at, ..PASSES };
            let ran = run(place.path(), part, told);
            let what = format!("call {fails_at} of {part} fails: {}", ran.said);
            assert!(
                !ran.passed && !ran.recorded && ran.calls == fails_at,
                "{what}"
            );
        }
    }
}

#[test]
fn a_part_that_measured_nothing_fails() {
    let place = place();
    let check = |part: &str, told: Told| {
        let ran = run(place.path(), part, told);
        assert!(!ran.passed && !ran.recorded, "{part}: {}", ran.said);
    };
    check(
        "exposures",
        Told {
            mute: true,
            ..PASSES
        },
    );
    check("packing", Told { tests: 0, ..PASSES });
    check("nonsense", PASSES);
}
