// SPDX-License-Identifier: MIT OR Apache-2.0
//! Backups and restores as people run them, and as they are killed.

use crate::support::Scene;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn texts(scene: &Scene) -> Vec<String> {
    let listed = scene.json(&["entry", "list"]);
    let items = listed["items"].as_array().unwrap().iter();
    let mut texts: Vec<String> = items
        .map(|item| item["text"].as_str().unwrap_or("erased").to_owned())
        .collect();
    texts.sort();
    texts
}

#[test]
fn a_served_store_is_backed_up_and_restored_with_what_is_lost_said() {
    let mut scene = Scene::served();
    scene.json(&["write", "One"]);
    let secret = scene.json(&["write", "The code is 7319"]);
    let made = scene.run(&["backup", "copy"]);
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(made.out.starts_with("made copy: "), "{}", made.out);
    assert!(made.out.contains("the keys are not in it"), "{}", made.out);
    let again = scene.run(&["backup", "copy"]);
    assert_eq!(again.code, 1);
    assert!(
        again.err.contains("is there already; name another"),
        "{}",
        again.err
    );
    let secret = secret["id"].as_str().unwrap().to_owned();
    scene.json(&["entry", "erase", &secret]);
    let later = scene.json(&["write", "Two"]);
    let later = later["id"].as_str().unwrap();
    let busy = scene.run(&["restore", "copy", "--accept-loss"]);
    assert_eq!(busy.code, 6, "{}", busy.out);
    scene.stop();
    let asked = scene.run(&["restore", "copy"]);
    assert_eq!(asked.code, 1, "{}", asked.err);
    let said = |line: &str| assert!(asked.out.contains(line), "{line}: {}", asked.out);
    said("the present store went on from the backup\n");
    said("lost: 2 witnessed groups after the ");
    said(&format!(
        "lost of tenant default: 1 entries, {later} (leaf "
    ));
    said("; 1 other events\n");
    said("nothing was done; --accept-loss restores in spite of that\n");
    assert_eq!(texts(&scene), ["One", "Two", "erased"]);
    let done = scene.run(&["restore", "copy", "--accept-loss"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(
        done.out.contains("erased again: 1 entries\n"),
        "{}",
        done.out
    );
    assert!(
        done.out
            .ends_with("restored; witness epoch 1 began, which the log says\n")
    );
    assert_eq!(texts(&scene), ["One", "erased"]);
    assert_eq!(scene.run(&["audit", "verify"]).code, 0);
    let value = scene.json(&["restore", "copy", "--accept-loss"]);
    assert_eq!(
        (&value["restored"], &value["epoch"]),
        (&true.into(), &2.into())
    );
}

#[test]
fn what_is_no_backup_is_named() {
    let mut scene = Scene::served();
    scene.stop();
    let none = scene.run(&["restore", "nowhere"]);
    assert_eq!(none.code, 2);
    assert!(
        none.err.contains("`nowhere` is no backup: "),
        "{}",
        none.err
    );
    let inside = scene.run(&["backup", ".ancile/data/copy"]);
    assert_eq!(inside.code, 1);
    assert!(
        inside.err.contains("inside the data directory"),
        "{}",
        inside.err
    );
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, target).unwrap();
        }
    }
}

/// Runs a command and kills it after so long; says whether it had ended by itself.
fn killed(mut command: Command, after: Duration) -> bool {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let ended = child.try_wait().unwrap().is_some();
    child.kill().unwrap();
    child.wait().unwrap();
    ended
}

/// Longest time before a kill, in steps of the time below.
const KILLS: u32 = 2_000;
const KILL_STEP: Duration = Duration::from_millis(7);

/// A scene with a backup of one entry and a store of two.
fn two() -> Scene {
    let mut scene = Scene::served();
    scene.json(&["write", "One"]);
    scene.json(&["backup", "copy"]);
    scene.json(&["write", "Two"]);
    scene.stop();
    scene
}

#[test]
fn a_restore_that_is_killed_leaves_the_old_store_or_the_new_one() {
    let scene = two();
    copy(&scene.path(".ancile"), &scene.path("whole"));
    for round in 0..KILLS {
        std::fs::remove_dir_all(scene.path(".ancile")).unwrap();
        copy(&scene.path("whole"), &scene.path(".ancile"));
        let command = scene.command(&["restore", "copy", "--accept-loss"]);
        let ended = killed(command, KILL_STEP * round);
        let texts = texts(&scene);
        let fits = texts == ["One"] || (!ended && texts == ["One", "Two"]);
        assert!(fits, "round {round}: {texts:?}");
        let audited = scene.run(&["audit", "verify"]);
        assert_eq!(audited.code, 0, "round {round}: {}", audited.out);
        if ended {
            return;
        }
    }
    panic!("no restore ended");
}

#[test]
fn a_backup_that_is_killed_is_none_or_a_whole_one() {
    let scene = two();
    for round in 0..KILLS {
        let command = scene.command(&["backup", "killed"]);
        let ended = killed(command, KILL_STEP * round);
        if scene.path("killed").exists() {
            let said = scene.json(&["restore", "killed"]);
            assert_eq!(
                (&said["restored"], &said["present"]),
                (&true.into(), &"later".into())
            );
            std::fs::remove_dir_all(scene.path("killed")).unwrap();
        } else {
            assert!(!ended, "round {round}");
        }
        assert_eq!(texts(&scene), ["One", "Two"]);
        if ended {
            return;
        }
    }
    panic!("no backup ended");
}

#[test]
fn a_store_of_an_earlier_release_is_brought_up_by_a_command() {
    let scene = Scene::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy(
        &here.join("../store/tests/fixtures/v1"),
        &scene.path(".ancile"),
    );
    let refused = scene.run(&["recall", "plumber"]);
    assert_eq!(refused.code, 6, "{}", refused.out);
    let said = "has format version 1, this build reads ";
    assert!(refused.err.contains(said), "{}", refused.err);
    assert!(
        refused.err.contains("bring it up by `ancile migrate`"),
        "{}",
        refused.err
    );
    let doctor = scene.run(&["doctor"]);
    assert!(
        doctor.out.contains("fail  format: version 1, "),
        "{}",
        doctor.out
    );
    let done = scene.run(&["migrate"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(
        done.out
            .contains("it was 1\nas it was it lies in .ancile/format-1; ")
    );
    let pack = scene.json(&["recall", "plumber"]);
    assert_eq!(pack["items"][0]["text"], "The plumber comes on Friday");
    let again = scene.run(&["migrate"]);
    assert!(again.out.contains(" already\n"), "{}", again.out);
}

#[test]
fn a_migration_that_is_killed_leaves_the_old_format_or_the_new_one() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fixture = here.join("../store/tests/fixtures/v1");
    for round in 0..KILLS {
        let scene = Scene::new();
        copy(&fixture, &scene.path(".ancile"));
        let ended = killed(scene.command(&["migrate"]), KILL_STEP * round);
        let again = scene.run(&["migrate"]);
        assert_eq!(again.code, 0, "round {round}: {}", again.err);
        assert!(
            scene.path(".ancile/format-1/store.db").exists(),
            "round {round}"
        );
        assert!(
            !scene.path(".ancile/format-1.partial").exists(),
            "round {round}"
        );
        assert_eq!(scene.run(&["audit", "verify"]).code, 0, "round {round}");
        assert_eq!(texts(&scene).len(), 4, "round {round}");
        if ended {
            return;
        }
    }
    panic!("no migration ended");
}
