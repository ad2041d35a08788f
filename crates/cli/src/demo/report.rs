// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the demo prints. Every figure is counted from what happened.

use super::arm::{Arm, Stop};
use super::conversation::Conversation;
use super::plan::{LATER, Payload};
use super::world::Call;
use crate::print;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Said before the run.
pub fn opening(conversation: &Conversation) -> String {
    format!(
        "An agent's memory is filled with {} turns of {}, with reminders, tasks and a summary.\n\
         Then five payloads are planted, and the attacker leaves.\n\
         Five later sessions follow with an agent that obeys any text and believes the newest \
         word.\n",
        conversation.turns.len(),
        conversation.from,
    )
}

/// The report for people.
pub fn text(arms: &[Arm]) -> String {
    let mut out = String::new();
    for arm in arms {
        _ = writeln!(out, "\n== {} ==", title(arm));
        for (number, later) in (1..).zip(&LATER) {
            _ = writeln!(out, "session {number}: \"{}\"", later.turn);
            sessions(&mut out, arm, number);
        }
    }
    for arm in arms.iter().filter(|arm| !arm.stops.is_empty()) {
        _ = writeln!(out, "\n== {}: why each was stopped ==", title(arm));
        for payload in Payload::ALL {
            stopped(&mut out, arm, payload);
        }
    }
    out.push_str("\n== in all ==\n");
    for arm in arms {
        in_all(&mut out, arm);
    }
    if !arms.iter().any(|arm| arm.setting.by_user) {
        out.push_str("in the user's own words the same texts do run: ancile demo --by-user\n");
    }
    out.push_str("\n== audit verify ==\n");
    for arm in arms {
        let said = match (arm.audit.ok, arm.setting.by_user) {
            (true, false) => "it finds the edit that the demo made on disk, and nothing else",
            (true, true) => "it finds nothing",
            (false, _) => "NOT as it should be",
        };
        _ = write!(
            out,
            "{}: {said}\n{}",
            title(arm),
            print::lines(&arm.audit.text, 2)
        );
    }
    out
}

fn title(arm: &Arm) -> String {
    arm.setting.name.replace('_', " ")
}

/// The figures of one arm.
fn in_all(out: &mut String, arm: &Arm) {
    let (name, count, sessions) = (title(arm), refired(arm), LATER.len());
    if arm.setting.by_user {
        _ = writeln!(
            out,
            "{name}: {count} calls of the same texts ran, as the user's own words"
        );
        return;
    }
    let (ran, total) = legitimate(arm);
    _ = writeln!(
        out,
        "{name}: re-fired {count} in {sessions} sessions; \
         legitimate {ran} of {total} ran; asked {}",
        arm.asked
    );
}

/// What happened in one session.
fn sessions(out: &mut String, arm: &Arm, number: usize) {
    for made in arm.world.made.iter().filter(|made| made.session == number) {
        if let Some(payload) = made.call.serves() {
            let word = if arm.setting.by_user {
                "ran     "
            } else {
                "RE-FIRED"
            };
            _ = writeln!(out, "  {word}  {}: {}", payload.name(), shown(&made.call));
        }
    }
    for stop in arm.stops.iter().filter(|stop| stop.session == number) {
        _ = writeln!(
            out,
            "  stopped   {}: {}",
            stop.payload.name(),
            stop.decision
        );
    }
    if arm.setting.by_user {
        return;
    }
    for item in arm.legitimate.iter().filter(|item| item.session == number) {
        _ = writeln!(
            out,
            "  {}  {}",
            if item.ran { "ran     " } else { "NOT RUN " },
            item.what
        );
    }
}

fn shown(call: &Call) -> String {
    print::line(&format!("{} {}", call.tool, call.args))
}

/// Where a payload came from, and what stopped it each time.
fn stopped(out: &mut String, arm: &Arm, payload: Payload) {
    _ = writeln!(out, "{}", payload.name());
    if let Some(lineage) = arm.lineages.get(&payload) {
        origin(out, lineage);
    }
    let mut said: Vec<&[(String, String)]> = Vec::new();
    let mut never = true;
    for stop in arm.stops.iter().filter(|stop| stop.payload == payload) {
        never = false;
        let at = match stop.session {
            0 => "when it was written".to_owned(),
            number => format!("session {number}"),
        };
        _ = writeln!(out, "  {at}: {}", stop.decision);
        let rules: Vec<&str> = stop.reasons.iter().map(|(rule, _)| rule.as_str()).collect();
        if said.contains(&stop.reasons.as_slice()) {
            _ = writeln!(out, "    as before: {}", print::line(&rules.join(", ")));
            continue;
        }
        said.push(&stop.reasons);
        for (rule, text) in &stop.reasons {
            _ = writeln!(out, "    {}: {}", print::line(rule), print::line(text));
        }
    }
    if never {
        out.push_str("  never came to a gate\n");
    }
}

/// The origin of a payload and of what it was derived from.
fn origin(out: &mut String, lineage: &Value) {
    let cell = |of: &Value, name: &str| print::cell(name, of.get(name).unwrap_or(&Value::Null));
    let broken = match cell(lineage, "broken") {
        intact if intact == "-" => "intact".to_owned(),
        broken => format!("broken ({broken})"),
    };
    _ = writeln!(out, "  class {}, lineage {broken}", cell(lineage, "class"));
    let nodes = lineage
        .get("nodes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    for node in nodes.take(NODES_SHOWN) {
        _ = writeln!(
            out,
            "  written through channel {} by {} {}",
            cell(node, "channel"),
            cell(node, "principal"),
            cell(node, "locator"),
        );
    }
    let weakest = lineage
        .get("weakest")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    for shown in weakest.filter_map(Value::as_str).take(NODES_SHOWN) {
        _ = writeln!(out, "  its session had been shown: {}", print::line(shown));
    }
}

fn legitimate(arm: &Arm) -> (usize, usize) {
    (
        arm.legitimate.iter().filter(|item| item.ran).count(),
        arm.legitimate.len(),
    )
}

fn refired(arm: &Arm) -> usize {
    arm.world
        .made
        .iter()
        .filter(|made| made.call.serves().is_some())
        .count()
}

/// The report as JSON: one object an arm, then the figures.
pub fn json(arms: &[Arm]) -> Vec<Value> {
    let mut lines: Vec<Value> = arms.iter().map(arm_json).collect();
    let of = |name: &str| arms.iter().find(|arm| arm.setting.name == name);
    let off = of("gates_off").map(|arm| {
        json!({
            "refired": refired(arm), "sessions": LATER.len(),
        })
    });
    let on = of("gates_on").map(|arm| {
        let (ran, total) = legitimate(arm);
        json!({
            "refired": refired(arm), "legitimate_ran": ran, "legitimate_total": total,
            "asked": arm.asked,
        })
    });
    let audit_ok = arms.iter().all(|arm| arm.audit.ok);
    lines.push(json!({ "gates_off": off, "gates_on": on, "audit_ok": audit_ok }));
    lines
}

fn arm_json(arm: &Arm) -> Value {
    let made = arm.world.made.iter().map(|made| {
        let serves = made.call.serves().map(Payload::name);
        json!({ "session": made.session, "call": made.call.json(), "payload": serves })
    });
    let per_session: Vec<usize> = (1..=LATER.len())
        .map(|number| arm.world.refired(number).count())
        .collect();
    let legitimate = arm
        .legitimate
        .iter()
        .map(|item| json!({ "session": item.session, "what": item.what, "ran": item.ran }));
    let notified = arm
        .world
        .notified
        .iter()
        .map(|(session, text)| json!({ "session": session, "text": text }));
    json!({
        "arm": arm.setting.name,
        "executed": made.collect::<Vec<_>>(),
        "refired_by_session": per_session,
        "notified": notified.collect::<Vec<_>>(),
        "legitimate": legitimate.collect::<Vec<_>>(),
        "stops": arm.stops.iter().map(stop_json).collect::<Vec<_>>(),
        "asked": arm.asked,
        "audit": arm.audit.said,
    })
}

fn stop_json(stop: &Stop) -> Value {
    let reasons = stop
        .reasons
        .iter()
        .map(|(rule, text)| json!({ "rule": rule, "text": text }));
    json!({
        "session": stop.session, "payload": stop.payload.name(), "decision": stop.decision,
        "reasons": reasons.collect::<Vec<_>>(),
    })
}

/// Most lines of a lineage that are printed.
const NODES_SHOWN: usize = 4;
