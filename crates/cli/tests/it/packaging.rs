// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is packaged beside the binary, as far as it can be checked without installing it.

use crate::support::Scene;
use std::path::PathBuf;
use std::process::Command;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../packaging")
        .join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap()
}

/// The words of the one line that begins so.
fn words(text: &str, before: &str) -> Vec<String> {
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix(before))
        .collect();
    assert_eq!(lines.len(), 1, "{before}");
    let bare = |word: &str| word.trim_matches(['[', ']', '"', ',']).to_owned();
    lines[0].split_whitespace().map(bare).collect()
}

/// The flags among these words that `ancile serve --help` does not name.
fn unknown(words: &[String]) -> Vec<String> {
    let ran = Scene::new().run(&["serve", "--help"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let help: Vec<&str> = ran
        .out
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .collect();
    let flags = words.iter().filter(|word| word.starts_with("--"));
    flags
        .filter(|flag| !help.contains(&flag.as_str()))
        .cloned()
        .collect()
}

#[test]
fn the_unit_starts_the_server_with_flags_that_it_knows() {
    let started = words(&text("ancile.service"), "ExecStart=");
    assert_eq!(started[0], "/usr/bin/ancile");
    assert!(started.contains(&"serve".to_owned()), "{started:?}");
    assert_eq!(unknown(&started), Vec::<String>::new());
    assert_eq!(unknown(&["--sockets".to_owned()]), ["--sockets"]);
}

#[test]
fn the_unit_is_hardened() {
    let unit = text("ancile.service");
    for line in [
        "DynamicUser=yes",
        "StateDirectory=ancile",
        "StateDirectoryMode=0700",
        "RuntimeDirectoryMode=0700",
        "UMask=0077",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "PrivateTmp=yes",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "MemoryDenyWriteExecute=yes",
        "SystemCallFilter=@system-service",
    ] {
        assert!(unit.lines().any(|there| there == line), "{line}");
    }
}

#[test]
fn systemd_takes_the_unit() {
    let scene = Scene::new();
    // The binary is not where it will be installed; ours stands in for it.
    let unit = text("ancile.service").replace("/usr/bin/ancile", env!("CARGO_BIN_EXE_ancile"));
    // Manual pages are not installed either.
    let unit: String = unit
        .lines()
        .filter(|line| !line.starts_with("Documentation="))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(scene.path("ancile.service"), unit).unwrap();
    let mut verify = Command::new("systemd-analyze");
    verify.arg("verify").arg(scene.path("ancile.service"));
    let Ok(ran) = verify.output() else {
        eprintln!("SKIPPED (no systemd-analyze): systemd_takes_the_unit");
        return;
    };
    let said = String::from_utf8_lossy(&ran.stderr);
    let ours: Vec<&str> = said
        .lines()
        .filter(|l| l.contains("ancile.service"))
        .collect();
    assert_eq!(ours, Vec::<&str>::new());
}

#[test]
fn the_container_runs_as_no_root_on_a_base_that_its_builder_pins() {
    let docker = text("Dockerfile");
    let from: Vec<&str> = docker.lines().filter(|l| l.starts_with("FROM ")).collect();
    assert_eq!(from, ["FROM ${BUILD_BASE} AS build", "FROM scratch"]);
    assert_eq!(words(&docker, "USER "), ["65532:65532"]);
    let entry = words(&docker, "ENTRYPOINT ");
    assert_eq!(entry[0], "/usr/local/bin/ancile");
    assert_eq!(unknown(&entry), Vec::<String>::new());
    let args = words(&docker, "CMD ");
    assert_eq!(args[0], "serve");
    assert_eq!(unknown(&args), Vec::<String>::new());
}
