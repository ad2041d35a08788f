// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::support::{Scene, Server, filtered};
use serde_json::json;
use std::process::{Command, Stdio};

const WELCOME: &str =
    "  operator  .ancile/keys/operator.key  (keys, tenants, manifest, source grades)
  user      .ancile/keys/user.key  (alice: her entries, mandates and approvals)
  host      .ancile/keys/host.key  (the program around the model: sessions and steps)
  agent     .ancile/keys/agent.key  (assistant: what the model may do by itself)
listening on http://127.0.0.1:<port>

a first call:
  curl -sS -H \"Authorization: Bearer $(cat .ancile/keys/user.key)\" \
-H 'Content-Type: application/json' \
-d '{\"kind\":\"memory\",\"namespace\":\"main\",\"text\":\"The dentist is on Tuesday\"}' \
http://127.0.0.1:<port>/v1/entries

an attack that comes back, and is stopped:
  <ancile> demo";

#[test]
fn a_first_and_a_second_run_say_where_all_is() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    let made = "made a store in .ancile: data, keys, witness\n";
    assert_eq!(welcome(&server), format!("{made}{WELCOME}"));
    assert_eq!(server.signal("-INT"), Some(0));
    let server = scene.serve(&[]);
    assert_eq!(
        welcome(&server),
        format!("opened the store in .ancile\n{WELCOME}")
    );
    assert_eq!(server.signal("-TERM"), Some(0));
}

fn welcome(server: &Server) -> String {
    filtered(&server.welcome).replace(env!("CARGO_BIN_EXE_ancile"), "<ancile>")
}

#[test]
fn the_demo_is_named_as_a_command_that_works() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    let line = server.welcome.lines().last().unwrap();
    let mut shell = Command::new("sh");
    let ran = shell
        .args(["-c", &format!("{line} --help")])
        .env_remove("PATH")
        .current_dir(scene.path(""))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{line}");
    assert!(String::from_utf8(ran.stdout).unwrap().contains("--by-user"));
}

#[test]
fn a_log_level_that_does_not_read_is_refused() {
    let scene = Scene::new();
    let serve = |level: &str| {
        let mut command = scene.command(&["serve", "--listen", "192.0.2.1:0"]);
        let ran = command.env("ANCILE_LOG", level).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    let (code, said) = serve("bogus===");
    assert_eq!(code, Some(2));
    assert!(
        said.starts_with("ancile: ANCILE_LOG is `bogus===`: "),
        "{said}"
    );
    for level in ["", "debug", "info,ancile_engine=debug"] {
        assert_eq!(serve(level).0, Some(6), "{level}");
    }
}

#[test]
fn the_first_call_works_as_it_is_printed() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    let curl = server
        .welcome
        .lines()
        .find(|line| line.trim().starts_with("curl"))
        .unwrap();
    let mut shell = Command::new("sh");
    let ran = shell
        .args(["-c", curl])
        .current_dir(scene.path(""))
        .output()
        .unwrap();
    if ran.status.code() == Some(127) {
        eprintln!("SKIPPED (no curl): the_first_call_works_as_it_is_printed");
        return;
    }
    let written: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(written["class"], "user_authored");
    let pack = scene.json(&["recall", "dentist"]);
    assert_eq!(pack["items"][0]["text"], "The dentist is on Tuesday");
}

#[test]
fn commands_find_the_server_and_answer_the_same_without_it() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    scene.json(&["write", "The key is under the mat"]);
    let with = scene.run(&["recall", "mat"]);
    let lock = std::fs::read_to_string(scene.path(".ancile/data/lock")).unwrap();
    assert!(lock.contains(&server.address()), "{lock}");
    assert_eq!(server.signal("-TERM"), Some(0));
    let without = scene.run(&["recall", "mat"]);
    assert_eq!((with.code, &with.out), (0, &without.out));
    assert!(
        with.out.contains("  The key is under the mat\n"),
        "{}",
        with.out
    );
}

#[test]
fn the_address_of_a_killed_server_is_not_believed() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    let address = server.address();
    scene.json(&["write", "Tea at four"]);
    assert_eq!(server.signal("-KILL"), None);
    // Somebody else takes the port, and would get our key.
    let listener = std::net::TcpListener::bind(&address).unwrap();
    assert_eq!(
        scene.json(&["recall", "tea"])["items"][0]["text"],
        "Tea at four"
    );
    listener.set_nonblocking(true).unwrap();
    let heard = listener.accept().map(|(mut taken, _)| {
        let mut bytes = Vec::new();
        _ = std::io::Read::read_to_end(&mut taken, &mut bytes);
        bytes
    });
    assert_eq!(heard.unwrap_or_default(), b"");
}

#[test]
fn an_address_in_the_data_directory_is_not_believed() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    scene.json(&["write", "Tea at four"]);
    // Who can write the store listens for our key.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let lock = format!("pid 1\naddress {}\n", listener.local_addr().unwrap());
    std::fs::write(scene.path(".ancile/data/lock"), &lock).unwrap();
    assert_eq!(
        scene.json(&["recall", "tea"])["items"][0]["text"],
        "Tea at four"
    );
    assert_eq!(server.signal("-TERM"), Some(0));
    std::fs::write(scene.path(".ancile/data/lock"), &lock).unwrap();
    assert_eq!(scene.run(&["recall", "tea"]).code, 0);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
}

#[test]
fn a_second_server_is_refused_and_the_first_is_named() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    let ran = scene.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    assert!(ran.err.contains(&server.address()), "{}", ran.err);
    assert_eq!(scene.run(&["health"]).code, 0);
}

#[test]
fn an_address_that_cannot_be_used_is_named_and_nothing_is_made() {
    let scene = Scene::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    // RFC 5737: an address of no machine.
    for address in [&taken, "192.0.2.1:0"] {
        let ran = scene.run(&["serve", "--listen", address]);
        assert_eq!(ran.code, 6);
        let said = format!("cannot listen on {address}: ");
        assert!(
            ran.err.contains(&said) && ran.err.contains("--listen"),
            "{}",
            ran.err
        );
        assert!(!scene.path(".ancile").exists());
    }
    assert!(scene.serve(&[]).welcome.starts_with("made a store"));
}

#[test]
fn the_address_of_the_server_itself_is_no_riddle() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    let address = server.address();
    let ran = scene.run(&["serve", "--listen", &address]);
    assert_eq!(ran.code, 6);
    let said = format!("ancile: `.ancile` is served at {address} already; ");
    assert!(ran.err.starts_with(&said), "{}", ran.err);
}

#[test]
fn an_address_without_its_form_is_refused_with_it() {
    for address in ["foo", "7878", "127.0.0.1", ":7878"] {
        let ran = Scene::new().run(&["serve", "--listen", address]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("such as 127.0.0.1:7878"), "{}", ran.err);
    }
}

#[test]
fn commands_without_a_server_wait_for_each_other() {
    let scene = Scene::new();
    assert_eq!(scene.serve(&[]).signal("-TERM"), Some(0));
    let running: Vec<_> = (0..COMMANDS_AT_ONCE)
        .map(|i| {
            let mut command = scene.command(&["write", &format!("note {i}")]);
            command
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for one in running {
        let ended = one.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), said.as_str()), (Some(0), ""));
    }
    let listed = scene.json(&["entry", "list"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), COMMANDS_AT_ONCE);
}

/// More than the machine has processors, so that they meet.
const COMMANDS_AT_ONCE: usize = 8;

#[test]
fn health_ends_as_the_store_stands() {
    let mut scene = Scene::served();
    let written = scene.json(&["write", "the boiler man comes on Friday"]);
    scene.settled();
    let health = scene.run(&["health"]);
    let well = "status: ok\nintegrity: verified\n";
    assert_eq!((health.code, health.out.as_str()), (0, well));
    scene.stop();
    let none = scene.run(&["health"]);
    assert_eq!((none.code, none.out.as_str()), (6, ""));
    let said = "no server runs for `.ancile`; start one by `ancile serve`";
    assert!(none.err.contains(said), "{}", none.err);
    scene.edit(b"Friday", b"Sunday");
    let server = scene.serve(&["--gates", "log-only"]);
    scene.settled();
    let damaged = scene.run(&["health"]);
    let said = "status: degraded\nintegrity: damaged\ngates: log_only\nsomething was edited or \
                lost; ancile audit verify says what\nthe gates only log: no decision binds\n";
    assert_eq!((damaged.code, damaged.out.as_str()), (5, said));
    let shown = scene.run(&["entry", "show", written["id"].as_str().unwrap()]);
    assert_eq!(shown.code, 5);
    let said = |line| assert!(shown.out.contains(line), "{}", shown.out);
    said("\nstate: broken\n");
    said("\nclass: untrusted\n");
    let pack = scene.json(&["recall", "boiler"]);
    assert_eq!((&pack["items"], &pack["withheld"]), (&json!([]), &json!(1)));
    assert_eq!(server.signal("-TERM"), Some(0));
}

#[test]
fn log_only_is_said_and_binds_nothing() {
    let scene = Scene::new();
    let server = scene.serve(&["--gates", "log-only"]);
    assert!(
        server
            .welcome
            .contains("the gates only log: no decision binds\n")
    );
    let opened = scene.json(&["session", "open", "--observed"]);
    let (id, token) = (
        opened["id"].as_str().unwrap(),
        opened["token"].as_str().unwrap(),
    );
    let args = [
        "act",
        "--session",
        id,
        "--session-token",
        token,
        "--tool",
        "pay",
    ];
    let answer = scene.json(&args);
    assert_eq!(
        (answer["decision"].as_str(), answer["would_be"].as_str()),
        (Some("permit"), Some("deny"))
    );
}
