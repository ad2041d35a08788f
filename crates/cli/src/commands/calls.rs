// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single calls: asking the act gate, using a permit up, reporting what came back.

use super::sessions::InSession;
use super::{CallArgs, given, pair, text_or_stdin};
use crate::failure::{Exit, Failure};
use crate::place::{Connection, KeyRole, Place};
use crate::print::{self, Answer};
use clap::{ArgGroup, Args};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// `ancile act`
#[derive(Args)]
pub struct Act {
    #[command(flatten)]
    session: InSession,
    #[command(flatten)]
    call: CallArgs,
    /// An approval that this call was given once
    #[arg(long)]
    approval: Option<String>,
}

/// Runs `ancile act`: exit 0 permitted, 1 denied, 3 asked.
pub fn act(place: &Place, args: &Act) -> Result<Answer, Failure> {
    let (tool, arguments) = named(&args.call)?;
    let body = given([
        ("tool", json!(tool)),
        ("args", arguments.clone()),
        ("approval", json!(args.approval)),
    ]);
    let server = place.connect(KeyRole::Host)?;
    let value = args.session.send(&server, "act", &body)?;
    let flags = format!("{}{}", args.session.flag(), call_flags(&tool, &arguments));
    let text = format!(
        "{}\n{}{}",
        name(&value),
        reasoned(&value, 2),
        next(&value, &server, &flags)
    );
    let exit = exit(&value);
    Ok(Answer { value, text, exit })
}

/// The call that flags name.
fn named(call: &CallArgs) -> Result<(String, Value), Failure> {
    let missing = || Failure::usage("no call is named; name its tool by --tool");
    call.call()?.ok_or_else(missing)
}

/// `ancile redeem`
#[derive(Args)]
pub struct Redeem {
    #[command(flatten)]
    session: InSession,
    /// The permit, as `ancile act` prints it
    permit: String,
    #[command(flatten)]
    call: CallArgs,
}

/// Runs `ancile redeem`.
pub fn redeem(place: &Place, args: &Redeem) -> Result<Answer, Failure> {
    let (tool, arguments) = named(&args.call)?;
    let op = json!({
        "op": "redeem", "permit": args.permit, "tool": tool, "args": arguments,
    });
    let server = place.connect(KeyRole::Host)?;
    let answer = args.session.one(&server, &op)?;
    let text = format!(
        "redeemed; make the call now, once\n  then: ancile result{} {} --text TEXT, or \
         --field NAME=VALUE, or --not-shown\n",
        args.session.flag(),
        print::word(&args.permit)
    );
    Ok(Answer::with(Value::Object(answer), text))
}

/// `ancile result`
#[derive(Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub struct Report {
    #[command(flatten)]
    session: InSession,
    /// The permit of the call
    permit: String,
    /// All that came back, as one text; `-`: standard input
    #[arg(long, group = "what")]
    text: Option<String>,
    /// One field of what came back
    #[arg(long = "field", group = "what", value_name = "NAME=VALUE", value_parser = pair)]
    fields: Vec<(String, String)>,
    /// Nothing of it was shown to the model
    #[arg(long, group = "what")]
    not_shown: bool,
}

/// Runs `ancile result`.
pub fn result(place: &Place, args: &Report) -> Result<Answer, Failure> {
    let mut fields = Map::new();
    for (name, value) in &args.fields {
        if fields.insert(name.clone(), json!(value)).is_some() {
            return Err(Failure::usage(format!(
                "field `{name}` comes twice; give it once"
            )));
        }
    }
    let text = args.text.as_deref().map(text_or_stdin).transpose()?;
    let op = given([
        ("op", json!("result")),
        ("permit", json!(args.permit)),
        ("text", json!(text)),
        ("fields", json!((!fields.is_empty()).then_some(fields))),
        ("not_shown", json!(args.not_shown.then_some(true))),
    ]);
    let server = place.connect(KeyRole::Host)?;
    let answer = args.session.one(&server, &op)?;
    Ok(super::sessions::shown(answer))
}

/// How a command ends that was given this decision.
pub fn exit(value: &Value) -> Exit {
    match value.get("decision").and_then(Value::as_str) {
        Some("permit" | "permit_labelled") => Exit::Done,
        Some("ask") => Exit::Asked,
        _ => Exit::Refused,
    }
}

/// The name of a decision, in capitals.
pub fn name(value: &Value) -> String {
    print::cell("decision", value.get("decision").unwrap_or(&Value::Null)).to_uppercase()
}

/// What stands beside a decision, and its reasons, for people.
pub fn reasoned(value: &Value, indent: usize) -> String {
    let mut out = String::new();
    for name in [
        "would_be",
        "class",
        "digest",
        "permit",
        "permit_expires",
        "approval",
        "mandate",
    ] {
        if let Some(given) = value.get(name).filter(|given| !given.is_null()) {
            _ = writeln!(out, "{:indent$}{name}: {}", "", print::cell(name, given));
        }
    }
    let reasons = value.get("reasons").and_then(Value::as_array);
    for reason in reasons.into_iter().flatten() {
        let part = |name: &str| print::cell(name, reason.get(name).unwrap_or(&Value::Null));
        _ = writeln!(
            out,
            "{:indent$}because {}: {}",
            "",
            part("rule"),
            part("text")
        );
        if part("entries") != "-" {
            _ = writeln!(out, "{:indent$}  entries: {}", "", part("entries"));
        }
    }
    out
}

/// A call as flags give it.
pub fn call_flags(tool: &str, args: &Value) -> String {
    let mut out = format!(" --tool {}", print::word(tool));
    for (name, value) in args.as_object().into_iter().flatten() {
        let (sign, value) = match value {
            Value::String(text) => ("=", text.clone()),
            other => (":=", other.to_string()),
        };
        let (name, value) = (print::word(name), print::word(&value));
        _ = write!(out, " --arg {name}{sign}{value}");
    }
    out
}

/// The command that comes next after a decision; the flags name session and call.
pub fn next(value: &Value, server: &Connection, flags: &str) -> String {
    let id = |name: &str| value.get(name).and_then(Value::as_str).map(print::word);
    if let Some(approval) = id("approval") {
        return format!(
            "  a person says by: ancile approval show {approval}\n  then: ancile act{flags} \
             --approval {approval}\n"
        );
    }
    match id("permit") {
        None => String::new(),
        Some(_) if server.ends_here() => {
            "  the permit ends with this command, for no server runs; start one by ancile serve, \
             and ask again\n"
                .to_owned()
        }
        Some(permit) => format!("  next: ancile redeem{flags} {permit}\n"),
    }
}
