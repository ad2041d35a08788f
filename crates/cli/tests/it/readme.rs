// SPDX-License-Identifier: MIT OR Apache-2.0
//! The README, as a newcomer types it.

use crate::support::{Scene, filtered};
use std::process::Command;

/// A command of the README, and what it says that is printed.
struct Typed {
    command: String,
    printed: Vec<String>,
}

fn readme() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    std::fs::read_to_string(path).unwrap()
}

/// The commands of the console blocks: `$ ` begins one, the rest is what it prints.
fn typed() -> Vec<Typed> {
    let mut within = false;
    let mut all: Vec<Typed> = Vec::new();
    for line in readme().lines() {
        match (within, line.strip_prefix("$ ")) {
            (false, _) => within = line == "```console",
            (true, _) if line == "```" => within = false,
            (true, Some(command)) => all.push(Typed {
                command: command.to_owned(),
                printed: Vec::new(),
            }),
            (true, None) => all.last_mut().unwrap().printed.push(line.to_owned()),
        }
    }
    all
}

/// Whether this was printed. What differs from run to run is left out, but for the digests of calls
/// and manifests, which do not differ.
fn compare(typed: &Typed, out: &str) {
    let mut said = out.lines();
    for line in &typed.printed {
        let printed = said.next().unwrap_or_default();
        let at = format!("{}\nprinted:\n{out}", typed.command);
        if line.trim_start().starts_with("digest: ") {
            assert_eq!(line, printed, "{at}");
        }
        assert_eq!(filtered(line), filtered(printed), "{at}");
    }
    assert_eq!(said.next(), None, "{}\nprinted:\n{out}", typed.command);
}

/// What each command prints when they are typed into one shell.
fn outputs(scene: &Scene, commands: &[Typed]) -> Vec<String> {
    const MARK: &str = "=-=-=";
    let line = |typed: &Typed| format!("{} 2>&1\necho {MARK}\n", typed.command);
    let script: String = commands.iter().map(line).collect();
    // Else the README's `PATH` could lead to an older build.
    let mut shell = scene.shell(&script);
    let ran = shell.env_remove("CARGO_TARGET_DIR").output().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let said: Vec<String> = out.split(&format!("{MARK}\n")).map(str::to_owned).collect();
    assert_eq!(said.len(), commands.len() + 1, "{out}");
    said
}

#[test]
fn the_console_blocks_print_what_they_show_on_a_fresh_home() {
    let typed = typed();
    assert!(typed.len() >= 8);
    let scene = Scene::served();
    for (typed, out) in typed.iter().zip(outputs(&scene, &typed)) {
        compare(typed, &out);
    }
}

#[test]
fn the_path_leads_to_the_binary_that_was_built() {
    let typed = typed();
    let path = typed.iter().find(|t| t.command.starts_with("export PATH="));
    let script = format!("{}\necho \"$PATH\"", path.unwrap().command);
    let first = |target: Option<&str>| {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script])
            .env_remove("CARGO_TARGET_DIR")
            .current_dir("/");
        if let Some(target) = target {
            shell.env("CARGO_TARGET_DIR", target);
        }
        let out = String::from_utf8(shell.output().unwrap().stdout).unwrap();
        out.split(':').next().unwrap().to_owned()
    };
    assert_eq!(first(Some("/built")), "/built/release");
    assert!(first(None).ends_with("/target/release"));
}
