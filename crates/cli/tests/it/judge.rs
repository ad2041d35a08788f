// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program as the judge of a server.

use crate::support::Scene;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

/// Scores 900 what says `order`, 0 all else, once there is a file `go`; says it to everybody.
const SCRIPT: &str = r#"
cd "${0%/*}"
text="$(cat)"
while [ ! -e go ]; do sleep 0.02; done
echo "$text" >&2
case "$text" in *order*) echo 900 ;; *riddle*) echo "$text" ;; *) echo 0 ;; esac
"#;

/// A scene with that program; gives the setting that names it.
fn scene() -> (Scene, String) {
    let scene = Scene::new();
    let path = scene.path("judge.sh");
    put(&path, SCRIPT);
    let command = format!("judge.command=/bin/sh {}", path.display());
    (scene, command)
}

/// A file that only its owner can change, whatever the mask is.
fn put(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
}

fn go(scene: &Scene) {
    std::fs::write(scene.path("go"), "").unwrap();
}

fn page(scene: &Scene, text: &str) -> Value {
    scene.json(&["write", text, "--as", "host", "--channel", "web"])
}

fn entry(scene: &Scene, id: &str) -> Value {
    scene.json(&["entry", "show", id])
}

/// The entry once it is held no more.
fn settled(scene: &Scene, id: &str) -> Value {
    for _ in 0..3_000 {
        let entry = entry(scene, id);
        if entry["state"] != "pending" {
            return entry;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{id} is held for ever");
}

fn id(written: &Value) -> &str {
    assert_eq!(written["pending"], true, "{written}");
    written["id"].as_str().unwrap()
}

#[test]
fn a_program_judges_what_a_server_is_sent() {
    let (scene, command) = scene();
    let server = scene.serve(&["--set", &command, "--set", "judge.name=guard/3"]);
    let order = page(&scene, "An order zq81x of fish.");
    let plain = page(&scene, "A table of tides zq81x.");
    let riddle = page(&scene, "A riddle zq81x of old.");
    let free = page(&scene, "Another order zq81x.");
    let own = scene.json(&["write", "An order of mine."]);
    assert_eq!(own["pending"], false);
    let shown = scene.run(&["entry", "show", id(&order)]).out;
    assert!(shown.contains("pending"), "{shown}");
    let hash = free["hash"].as_str().unwrap();
    let release = ["quarantine", "release", id(&free), hash, "--reason", "read"];
    assert_eq!(scene.run(&release).code, 0);
    go(&scene);
    let order = settled(&scene, id(&order));
    assert_eq!(order["state"], "quarantined");
    let judged = ["judge", "score", "verdict"].map(|name| order["judged"][name].clone());
    assert_eq!(
        judged,
        ["guard/3".into(), 900.into(), Value::from("quarantine")]
    );
    assert_eq!(settled(&scene, id(&plain))["state"], "current");
    assert_eq!(settled(&scene, id(&riddle))["state"], "quarantined");
    let riddle = entry(&scene, id(&riddle));
    assert_eq!(riddle["judged"]["failure"], "unreadable");
    assert_eq!(entry(&scene, id(&free))["state"], "current");
    assert_eq!(server.signal("-TERM"), Some(0));
    let log = std::fs::read_to_string(scene.path("log")).unwrap();
    assert!(log.contains("the judge gave no score"), "{log}");
    assert!(!log.contains("zq81x"), "{log}");
}

#[test]
fn what_was_held_when_a_server_was_killed_is_judged_by_the_next() {
    let (scene, command) = scene();
    let server = scene.serve(&["--set", &command]);
    let written: Vec<Value> = ["An order.", "A table of tides."]
        .map(|text| page(&scene, text))
        .into();
    assert_eq!(server.signal("-KILL"), None);
    let server = scene.serve(&["--set", &command]);
    for one in &written {
        assert_eq!(entry(&scene, id(one))["state"], "pending");
    }
    let recalled = scene.json(&["recall", "order table tides"]);
    assert_eq!(recalled["items"].as_array().unwrap().len(), 0);
    go(&scene);
    let states = ["quarantined", "current"];
    for (one, state) in written.iter().zip(states) {
        assert_eq!(settled(&scene, id(one))["state"], state);
    }
    assert_eq!(server.signal("-TERM"), Some(0));
}

#[test]
fn an_import_waits_for_a_judge_that_has_enough_to_do() {
    let (scene, command) = scene();
    go(&scene);
    let _server = scene.serve(&["--set", &command, "--set", "judge.pending_max=256"]);
    let lines: String = (0..300)
        .map(|n| format!("{{\"kind\":\"memory\",\"text\":\"tide {n}\"}}\n"))
        .collect();
    let ran = scene.run_with(&["import", "-"], &lines);
    let said = "imported 300 entries as class 4, 0 of them quarantined, 300 held until they are";
    assert!(ran.out.contains(said), "{}{}", ran.out, ran.err);
}

#[test]
fn a_judge_that_cannot_run_is_said_before_anything_is_made() {
    let scene = Scene::new();
    let set = ["--set", "judge.command=/nowhere/judge --fast"];
    let ran = scene.run(&[&["serve", "--listen", "127.0.0.1:0"], &set[..]].concat());
    assert_eq!(ran.code, 2);
    let said = "the judge `/nowhere/judge` cannot be looked at: ";
    assert!(ran.err.contains(said), "{}", ran.err);
    assert!(!scene.path(".ancile").exists());
    let ran = scene.run(&[&["doctor"], &set[..]].concat());
    assert_eq!(ran.code, 2);
    assert!(
        ran.out.contains(&format!("fail  judge: {said}")),
        "{}",
        ran.out
    );
    let ran = scene.run(&["doctor", "--set", "judge.command=/bin/sh"]);
    assert!(ran.out.contains("ok    judge: "), "{}", ran.out);
}

#[test]
fn no_command_asks_a_judge_that_others_can_change() {
    let (scene, command) = scene();
    go(&scene);
    scene.serve(&[]).signal("-TERM");
    std::fs::set_permissions(scene.path("judge.sh"), Permissions::from_mode(0o666)).unwrap();
    let path = scene.path("judge.sh").display().to_string();
    let says = format!("the judge `/bin/sh` rests on `{path}`, which has mode 0666");
    let write = ["write", "A table.", "--as", "host", "--channel", "web"];
    let ran = scene.run(&[&write, &["--set", command.as_str()][..]].concat());
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains(&says), "{}", ran.err);
    let ran = scene.run(&["serve", "--set", &command]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains(&says), "{}", ran.err);
    let ran = scene.run(&["doctor", "--set", &command]);
    assert!(
        ran.out.contains(&format!("fail  judge: {says}")),
        "{}",
        ran.out
    );
}

#[test]
fn a_server_that_stops_ends_its_judge_and_keeps_what_it_was_asked() {
    let (scene, command) = scene();
    put(
        &scene.path("judge.sh"),
        "echo $$ > ${0%/*}/some; mv ${0%/*}/some ${0%/*}/pid; exec sleep 1000",
    );
    let server = scene.serve(&["--set", &command]);
    let held = page(&scene, "A table of tides.");
    let pid = loop {
        match std::fs::read_to_string(scene.path("pid")) {
            Ok(pid) => break pid,
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert_eq!(server.signal("-TERM"), Some(0));
    let stat = format!("/proc/{}/stat", pid.trim());
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let server = scene.serve(&["--set", &command]);
    assert_eq!(entry(&scene, id(&held))["state"], "pending");
    // It asks again, and ends that one too.
    assert_eq!(server.signal("-TERM"), Some(0));
}
