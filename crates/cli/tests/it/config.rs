// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::support::Scene;
use serde_json::Value;

fn setting(scene: &Scene, key: &str) -> Value {
    let shown = scene.json(&["config", "show", "--origin"]);
    let all = shown["settings"].as_array().unwrap();
    all.iter().find(|one| one["key"] == key).unwrap().clone()
}

fn write(scene: &Scene, name: &str, text: &str) {
    std::fs::create_dir_all(scene.path(".ancile")).unwrap();
    std::fs::write(scene.path(name), text).unwrap();
}

#[test]
fn the_file_in_the_home_or_another_says_how_a_server_runs() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    assert!(!server.welcome.contains("only log"), "{}", server.welcome);
    assert_eq!(server.signal("-TERM"), Some(0));
    write(
        &scene,
        ".ancile/ancile.toml",
        "[gates]\nmode = \"log_only\"\n",
    );
    let server = scene.serve(&[]);
    assert!(server.welcome.contains("the gates only log"));
    let health = scene.run(&["health"]);
    assert!(health.out.contains("gates: log_only"), "{}", health.out);
    assert_eq!(server.signal("-TERM"), Some(0));
    let server = scene.serve(&["--gates", "enforce"]);
    assert!(!server.welcome.contains("only log"), "{}", server.welcome);
    assert_eq!(server.signal("-TERM"), Some(0));
    write(&scene, "other.toml", "[screening]\nenabled = false\n");
    let server = scene.serve(&["--config", "other.toml"]);
    assert!(server.welcome.contains("screening is off"));
    assert!(!server.welcome.contains("only log"), "{}", server.welcome);
}

#[test]
fn a_command_without_a_server_goes_by_the_same_settings() {
    let scene = Scene::new();
    assert_eq!(scene.serve(&[]).signal("-TERM"), Some(0));
    write(
        &scene,
        ".ancile/ancile.toml",
        "[gates]\nmode = \"log_only\"\n",
    );
    let opened = scene.json(&["session", "open", "--observed"]);
    let of = |name: &str| opened[name].as_str().unwrap().to_owned();
    let (id, token) = (of("id"), of("token"));
    let args = [
        "act",
        "--session",
        &id,
        "--session-token",
        &token,
        "--tool",
        "pay",
    ];
    assert_eq!(scene.json(&args)["would_be"], "deny");
}

#[test]
fn each_setting_says_where_it_is_from() {
    let scene = Scene::new();
    write(
        &scene,
        ".ancile/ancile.toml",
        "[limits]\nbody_bytes = 2048\n",
    );
    let one = setting(&scene, "limits.body_bytes");
    assert_eq!(
        (&one["value"], &one["unit"]),
        (&2048.into(), &"bytes".into())
    );
    assert_eq!(one["from"], "file .ancile/ancile.toml line 2");
    assert_eq!(setting(&scene, "server.listen")["origin"], "default");
    let mut command = scene.command(&["config", "show", "--origin"]);
    let ran = command
        .env("ANCILE_LIMITS_BODY_BYTES", "4096")
        .output()
        .unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let line = out
        .lines()
        .find(|line| line.starts_with("body_bytes"))
        .unwrap();
    let said = "body_bytes = 4096                # env ANCILE_LIMITS_BODY_BYTES";
    assert_eq!(line, said);
    let (bytes, requests) = ("limits.body_bytes=1024", "limits.requests=7");
    let shown = scene.run(&["--set", requests, "config", "show", "--set", bytes]);
    assert!(shown.out.contains("\nbody_bytes = 1024\n"), "{}", shown.out);
    assert!(shown.out.contains("\nrequests = 7\n"), "{}", shown.out);
}

#[test]
fn a_bad_configuration_is_refused_and_every_fault_named() {
    let scene = Scene::new();
    write(
        &scene,
        ".ancile/ancile.toml",
        "[limits]\nbody_bites = 1\nrequests = 0\n",
    );
    let ran = scene.run(&["serve"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let said = "ancile: there is no setting `limits.body_bites` at `.ancile/ancile.toml` line 2; \
                the nearest is `limits.body_bytes`; write that, or remove it; \
                `ancile config reference` lists all (config)\n";
    assert_eq!(ran.err, said);
    assert!(!scene.path(".ancile/data").exists());
    let checked = scene.run(&["config", "check"]);
    assert_eq!((checked.code, checked.out.lines().count()), (2, 2));
    assert!(
        checked.out.contains("takes 1 to 4096 requests"),
        "{}",
        checked.out
    );
    write(&scene, ".ancile/ancile.toml", "");
    let mut command = scene.command(&["config", "check"]);
    let ran = command.env("ANCILE_LIMIT_REQUESTS", "1").output().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let said = "warn: the variable ANCILE_LIMIT_REQUESTS is no setting; see whether it is \
                misspelt\nok: .ancile/ancile.toml\n";
    assert_eq!((ran.status.code(), out.as_str()), (Some(0), said));
}

#[cfg(not(feature = "otlp"))]
#[test]
fn a_collector_is_refused_by_a_build_that_sends_it_nothing() {
    let scene = Scene::new();
    let endpoint = "otlp.endpoint=http://127.0.0.1:4318";
    let ran = scene.run(&["serve", "--set", endpoint]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("build it with `--features otlp`"),
        "{}",
        ran.err
    );
    assert!(!scene.path(".ancile").exists());
}
