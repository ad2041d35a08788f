// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::support::Scene;
use serde_json::{Value, json};
use std::sync::OnceLock;

/// One run with every arm, as its lines.
fn lines() -> &'static [Value] {
    static LINES: OnceLock<Vec<Value>> = OnceLock::new();
    LINES.get_or_init(|| {
        let args = [
            "demo",
            "--json",
            "--log-only",
            "--by-user",
            "--no-screening",
        ];
        let ran = Scene::new().run(&args);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        ran.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    })
}

fn arm(name: &str) -> &'static Value {
    lines().iter().find(|line| line["arm"] == name).unwrap()
}

const PAYLOADS: [&str; 5] = [
    "false account number",
    "latent instruction",
    "laundered summary",
    "task edited on disk",
    "task from an unknown plugin",
];

/// The payloads that calls of this arm served, each once.
fn served(arm: &Value) -> Vec<&str> {
    let executed = arm["executed"].as_array().unwrap();
    let mut names: Vec<&str> = executed
        .iter()
        .filter_map(|call| call["payload"].as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn the_last_line_has_the_agreed_shape() {
    let last = lines().last().unwrap();
    let keys = |value: &Value| {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(last), ["audit_ok", "gates_off", "gates_on"]);
    assert_eq!(keys(&last["gates_off"]), ["refired", "sessions"]);
    let on = ["asked", "legitimate_ran", "legitimate_total", "refired"];
    assert_eq!(keys(&last["gates_on"]), on);
    assert_eq!(last["gates_off"]["sessions"], 5);
    assert_eq!(last["gates_on"]["asked"], arm("gates_on")["asked"]);
    assert_eq!(last["audit_ok"], true);
}

#[test]
fn with_gates_off_every_payload_re_fires_and_some_in_each_session() {
    let off = arm("gates_off");
    assert_eq!(served(off), PAYLOADS);
    let by_session = off["refired_by_session"].as_array().unwrap();
    assert_eq!(by_session.len(), 5);
    assert!(
        by_session.iter().all(|count| count.as_u64().unwrap() > 0),
        "{by_session:?}"
    );
    let total: u64 = by_session.iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(lines().last().unwrap()["gates_off"]["refired"], total);
}

#[test]
fn with_gates_on_nothing_re_fires_and_all_that_is_legitimate_runs() {
    let last = &lines().last().unwrap()["gates_on"];
    assert_eq!(last["refired"], 0);
    assert!(last["legitimate_total"].as_u64().unwrap() >= 20);
    assert_eq!(last["legitimate_ran"], last["legitimate_total"]);
    let on = arm("gates_on");
    assert_eq!(served(on), [""; 0]);
    let mut stopped: Vec<&str> = on["stops"]
        .as_array()
        .unwrap()
        .iter()
        .inspect(|stop| assert_ne!(stop["reasons"], json!([]), "{stop}"))
        .map(|stop| stop["payload"].as_str().unwrap())
        .collect();
    stopped.sort_unstable();
    stopped.dedup();
    assert_eq!(stopped, PAYLOADS);
}

#[test]
fn the_gates_hold_with_every_detector_off() {
    let arm = arm("no_screening");
    assert_eq!(arm["refired_by_session"], json!([0, 0, 0, 0, 0]));
    let legitimate = arm["legitimate"].as_array().unwrap();
    assert!(legitimate.iter().all(|item| item["ran"] == true));
}

#[test]
fn log_only_makes_the_same_calls_as_gates_off() {
    assert_eq!(arm("log_only")["executed"], arm("gates_off")["executed"]);
}

#[test]
fn the_same_payloads_written_by_the_user_do_run() {
    let by_user = arm("by_user");
    assert_eq!(served(by_user), PAYLOADS);
    assert_eq!(by_user["stops"], json!([]));
    assert_eq!(by_user["asked"], 0);
    assert_eq!(by_user["audit"]["ok"], true);
}

#[test]
fn the_audit_finds_the_edit_on_disk_and_nothing_else() {
    for name in ["gates_off", "gates_on", "log_only", "no_screening"] {
        let audit = &arm(name)["audit"];
        let problems = audit["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 1, "{name}: {problems:?}");
        let said = problems[0].as_str().unwrap();
        assert!(said.contains("is not what its leaf commits to"), "{said}");
        assert_eq!(audit["ok"], false);
    }
}

#[test]
fn a_real_conversation_gives_the_same_answer() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data =
        std::env::var_os("ANCILE_DATA").map_or_else(|| root.join("../shared/data"), Into::into);
    if !data.join("locomo/locomo10.json").exists() {
        eprintln!("SKIPPED (no data): a_real_conversation_gives_the_same_answer");
        return;
    }
    let ran = Scene::new().run(&["demo", "--json", "--data", data.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["gates_on"]["refired"], 0);
    assert_eq!(
        last["gates_on"]["legitimate_ran"],
        last["gates_on"]["legitimate_total"]
    );
    assert!(last["gates_off"]["refired"].as_u64().unwrap() >= 5);
    assert_eq!(last["audit_ok"], true);
}

#[test]
fn a_data_directory_without_the_conversation_is_named() {
    let ran = Scene::new().run(&["demo", "--data", "nowhere"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err
            .contains("cannot read `nowhere/locomo/locomo10.json`"),
        "{}",
        ran.err
    );
}
