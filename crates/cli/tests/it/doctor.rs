// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::support::Scene;
use std::os::unix::fs::PermissionsExt as _;

/// The lines of a check, with its status.
fn lines(scene: &Scene, check: &str) -> (i32, Vec<String>) {
    let ran = scene.run(&["doctor"]);
    let of = format!(" {check}: ");
    let lines = ran.out.lines().filter(|line| line.contains(&of));
    (ran.code, lines.map(str::to_owned).collect())
}

fn chmod(scene: &Scene, path: &str, mode: u32) {
    let path = scene.path(".ancile").join(path);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Checks that a check ends a line with this status and text.
#[track_caller]
fn says(scene: &Scene, check: &str, code: i32, starts: &str, has: &str) {
    let (is, lines) = lines(scene, check);
    let fits = |line: &String| line.starts_with(starts) && line.contains(has);
    assert!(is == code && lines.iter().any(fits), "{is} {lines:#?}");
}

#[test]
fn a_store_in_order_is_so_with_a_server_and_without() {
    let mut scene = Scene::served();
    let ran = scene.run(&["doctor"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(
        ran.out.contains("ok    server: answers at 127.0.0.1:"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("ok    integrity: "), "{}", ran.out);
    scene.stop();
    let said = scene.json(&["doctor", "--quick"]);
    assert_eq!(said["ok"], true);
    let checks = said["checks"].as_array().unwrap();
    let names: Vec<&str> = checks
        .iter()
        .map(|c| c["check"].as_str().unwrap())
        .collect();
    let due = [
        "config", "home", "modes", "server", "format", "witness", "disk", "disk",
    ];
    assert_eq!(names, due);
    says(
        &scene,
        "server",
        0,
        "ok ",
        "none runs, and nobody holds the store",
    );
}

#[test]
fn no_store_is_said() {
    let scene = Scene::new();
    says(
        &scene,
        "home",
        6,
        "fail ",
        "there is no store in `.ancile`; run `ancile serve`",
    );
}

#[test]
fn keys_that_others_can_read_or_change_are_named_and_warned_of_everywhere() {
    let mut scene = Scene::served();
    chmod(&scene, "keys/user.key", 0o666);
    says(
        &scene,
        "modes",
        1,
        "fail ",
        "user.key` has mode 0666: others on this machine can read",
    );
    let ran = scene.run(&["recall", "x"]);
    let said = "ancile: warning: key file `.ancile/keys/user.key` has mode 0666: others on this \
                machine can read and change it; make it its owner's alone by `chmod 600`, and make \
                another key if others may have seen it\n";
    assert_eq!((ran.code, ran.err.as_str()), (0, said));
    scene.stop();
    let ran = scene.run(&["recall", "x"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, said));
    let server = scene.serve(&[]);
    let log = std::fs::read_to_string(scene.path("log")).unwrap();
    assert!(log.contains("user.key` has mode 0666"), "{log}");
    drop(server);
    chmod(&scene, "keys/user.key", 0o600);
    chmod(&scene, "keys/store.key", 0o640);
    says(
        &scene,
        "modes",
        0,
        "warn ",
        "store.key` has mode 0640: others on this machine can read",
    );
    chmod(&scene, "keys/store.key", 0o600);
    chmod(&scene, "witness", 0o777);
    says(&scene, "modes", 1, "fail ", "witness` has mode 0777");
    chmod(&scene, "witness", 0o700);
    let (code, lines) = lines(&scene, "modes");
    assert_eq!((code, lines.len()), (0, 1));
    std::fs::copy(scene.path(".ancile/keys/user.key"), scene.path("mine")).unwrap();
    std::fs::set_permissions(scene.path("mine"), std::fs::Permissions::from_mode(0o604)).unwrap();
    let ran = scene.run(&["recall", "x", "--key-file", "mine"]);
    assert!(
        ran.err.contains("key file `mine` has mode 0604"),
        "{}",
        ran.err
    );
}

#[test]
fn what_is_missing_is_named_with_the_next_step() {
    let mut scene = Scene::served();
    scene.stop();
    let home = scene.path(".ancile");
    let agent = std::fs::read(home.join("keys/agent.key")).unwrap();
    std::fs::remove_file(home.join("keys/agent.key")).unwrap();
    says(
        &scene,
        "home",
        0,
        "warn ",
        "agent.key` is missing; make another by `ancile key create`",
    );
    std::fs::write(home.join("keys/agent.key"), agent).unwrap();
    chmod(&scene, "keys/agent.key", 0o600);
    let witness = std::fs::read(home.join("witness/checkpoint")).unwrap();
    std::fs::remove_file(home.join("witness/checkpoint")).unwrap();
    says(
        &scene,
        "witness",
        6,
        "fail ",
        "is missing; bring it back, or accept the store",
    );
    std::fs::write(home.join("witness/checkpoint"), "no note").unwrap();
    says(&scene, "witness", 5, "fail ", "");
    std::fs::write(home.join("witness/checkpoint"), witness).unwrap();
    std::fs::rename(home.join("keys/store.key"), scene.path("store.key")).unwrap();
    says(
        &scene,
        "home",
        6,
        "fail ",
        "store.key` is missing; restore it from a copy",
    );
}

#[test]
fn an_edit_and_a_bad_configuration_are_found() {
    let mut scene = Scene::served();
    scene.json(&["write", "the boiler man comes on Friday"]);
    scene.stop();
    scene.edit(b"Friday", b"Sunday");
    says(
        &scene,
        "integrity",
        5,
        "fail ",
        "`ancile audit verify` says all",
    );
    std::fs::write(scene.path(".ancile/ancile.toml"), "[gate]\n").unwrap();
    says(&scene, "config", 2, "fail ", "there is no setting `gate`");
    std::fs::write(scene.path(".ancile/ancile.toml"), "").unwrap();
    chmod(&scene, "ancile.toml", 0o666);
    says(
        &scene,
        "config",
        1,
        "fail ",
        "others can turn the gates off",
    );
}
