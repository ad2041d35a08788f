// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tools that only log, and the report of what would have been refused.

use crate::world::{MANIFEST, World, text, tool_call};
use ancile_core::{AuthorityClass, Channel, Decision, Micros, ProposedCall, SessionMode, ToolName};
use ancile_engine::Fault;
use ancile_engine::api::{PageSpec, RefusalReport, StepOp, ToolMode};

const ALL: PageSpec<'static> = PageSpec {
    cursor: None,
    limit: 200,
};

fn ping() -> ProposedCall {
    tool_call("ping", &[])
}

fn name(tool: &str) -> ToolName {
    ToolName::new(tool).unwrap()
}

fn report(w: &World) -> RefusalReport {
    let range = (None, None);
    w.engine.refusal_report(&w.operator, range, None).unwrap()
}

fn set(w: &World, tool: &str, mode: ToolMode) {
    w.engine
        .set_tool_mode(&w.operator, name(tool), mode)
        .unwrap();
}

/// A session of class 4.
fn tainted(w: &World) -> ancile_engine::api::SessionOpened {
    let s = w.session(SessionMode::Headless);
    w.says(&s, "Do what is to be done.");
    w.sees(&s, Channel::Web, "A page.");
    s
}

#[test]
fn a_tool_that_only_logs_is_permitted_and_counted_and_no_other_is() {
    let w = World::new();
    let s = tainted(&w);
    assert_eq!(w.call(&s, ping()).decision, Decision::Deny);
    set(&w, "ping", ToolMode::LogOnly);
    let would = w.call(&s, ping());
    assert_eq!(
        (would.decision, would.would_be),
        (Decision::Permit, Some(Decision::Deny))
    );
    let permit = would.permit.unwrap();
    w.one(&s, StepOp::Redeem(permit, ping()));
    let mail = tool_call(
        "send_email",
        &[("to", ancile_core::Value::List(vec![text("x@y.example")]))],
    );
    assert_eq!(w.call(&s, mail).decision, Decision::Deny, "another tool");
    let unknown = tool_call("unheard_of", &[]);
    assert_eq!(w.call(&s, unknown).decision, Decision::Deny);
    let report = report(&w);
    let row = |tool: &str, enforced| {
        let mut rows = report.decisions.iter();
        rows.find(|r| r.tool == name(tool) && r.enforced == enforced)
            .map(|r| (r.class, r.decision, r.count))
    };
    let one = Some((AuthorityClass::Untrusted, Decision::Deny, 1));
    assert_eq!(row("ping", true), one);
    assert_eq!(row("ping", false), one);
    assert_eq!(row("send_email", true), one);
    assert_eq!(row("send_email", false), None);
    let by_rule = |rule: &str| -> u64 {
        let rows = report.rules.iter();
        let rows = rows.filter(|r| r.tool == name("ping") && r.rule.as_deref() == Some(rule));
        rows.map(|r| r.count).sum()
    };
    assert_eq!(by_rule("call.class_4.side_effect"), 2);
    assert_eq!(by_rule("call.no_mandate"), 2);
    let w = w.reopen();
    assert_eq!(crate::report::report(&w), report, "the log has it");
}

#[test]
fn enforcing_again_voids_what_was_permitted_meanwhile() {
    let w = World::new();
    set(&w, "ping", ToolMode::LogOnly);
    let s = tainted(&w);
    let permit = w.call(&s, ping()).permit.unwrap();
    set(&w, "ping", ToolMode::Enforce);
    let refused = w
        .step(&s, vec![StepOp::Redeem(permit, ping())])
        .unwrap_err();
    assert_eq!(refused.code, "permit_policy_changed");
    let s = tainted(&w);
    assert_eq!(w.call(&s, ping()).decision, Decision::Deny);
    let w = w.reopen();
    let s = tainted(&w);
    assert_eq!(w.call(&s, ping()).decision, Decision::Deny);
}

#[test]
fn the_mode_is_the_operators_and_ends_with_the_tool() {
    let w = World::new();
    for by in [&w.user, &w.host, &w.agent] {
        let refused = w.engine.set_tool_mode(by, name("ping"), ToolMode::LogOnly);
        assert_eq!(refused.unwrap_err().fault, Fault::Forbidden);
        let refused = w.engine.refusal_report(by, (None, None), None);
        assert_eq!(refused.unwrap_err().fault, Fault::Forbidden);
    }
    let unknown = w
        .engine
        .set_tool_mode(&w.operator, name("other"), ToolMode::LogOnly);
    assert_eq!(unknown.unwrap_err().fault, Fault::NotFound);
    set(&w, "ping", ToolMode::LogOnly);
    let modes = |w: &World| -> Vec<(String, ToolMode)> {
        let tools = w.engine.tools(&w.agent, ALL).unwrap().items;
        tools.iter().map(|t| (t.name.to_string(), t.mode)).collect()
    };
    assert!(modes(&w).contains(&("ping".to_owned(), ToolMode::LogOnly)));
    let empty = r#"{"version":1,"tools":[]}"#;
    w.engine.set_manifest(&w.operator, empty).unwrap();
    let s = tainted(&w);
    assert_eq!(w.call(&s, ping()).decision, Decision::Deny);
    w.engine.set_manifest(&w.operator, MANIFEST).unwrap();
    assert!(modes(&w).contains(&("ping".to_owned(), ToolMode::Enforce)));
    let w = w.reopen();
    assert!(modes(&w).contains(&("ping".to_owned(), ToolMode::Enforce)));
}

#[test]
fn a_report_is_of_a_time_and_of_a_tool() {
    let w = World::new();
    let s = tainted(&w);
    w.call(&s, ping());
    let ask = |from: i64, until: i64, tool: Option<&str>| {
        let range = (Some(Micros(from)), Some(Micros(until)));
        w.engine.refusal_report(&w.operator, range, tool.map(name))
    };
    let rows = |from, until, tool| ask(from, until, tool).unwrap().decisions.len();
    assert_eq!(rows(0, i64::MAX, None), 1);
    assert_eq!(rows(0, i64::MAX, Some("ping")), 1);
    assert_eq!(rows(0, i64::MAX, Some("pay")), 0);
    assert_eq!(rows(0, 1, None), 0);
    assert_eq!(rows(4_102_444_800_000_000, i64::MAX, None), 0);
    assert_eq!(ask(5, 5, None).unwrap_err().code, "validity_empty");
}
