// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks: something to be done later.

use super::{CallArgs, PageArgs, calls, given, text_or_stdin};
use crate::client::segment;
use crate::failure::{Exit, Failure};
use crate::place::{Connection, KeyRole, Place};
use crate::print::{self, Answer};
use crate::when;
use clap::Subcommand;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// `ancile task`
#[derive(Subcommand)]
pub enum Task {
    /// Add a task; without a tool it notifies its own user
    Add {
        /// The text; `-`: standard input
        text: String,
        /// When it is due
        #[arg(long, value_parser = when::parse, value_name = "WHEN")]
        due: i64,
        /// It comes due again after so many seconds
        #[arg(long, value_name = "SECONDS")]
        every: Option<u32>,
        #[command(flatten)]
        call: CallArgs,
        /// The namespace
        #[arg(long, default_value = "main")]
        namespace: String,
    },
    /// List tasks
    List {
        /// Only those that are due
        #[arg(long)]
        due: bool,
        /// The namespace
        #[arg(long, default_value = "main")]
        namespace: String,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Have a task fire no more
    Cancel {
        /// The task
        id: String,
    },
    /// Fire a due task: exit 0 permitted, 1 it or its call denied, 3 it or its call asked
    Fire {
        /// The task
        id: String,
        /// The agent that is to run it
        #[arg(long, default_value = "assistant")]
        agent: String,
        /// The user it runs for
        #[arg(long, default_value = "alice")]
        user: String,
    },
}

/// Runs `ancile task`.
pub fn run(place: &Place, args: Task) -> Result<Answer, Failure> {
    match args {
        Task::Add {
            text,
            due,
            every,
            call,
            namespace,
        } => {
            let call = call
                .call()?
                .map(|(tool, args)| json!({ "tool": tool, "args": args }));
            let task = given([
                ("due", json!(due)),
                ("every_seconds", json!(every)),
                ("call", json!(call)),
            ]);
            let body = json!({
                "kind": "task", "namespace": namespace, "text": text_or_stdin(&text)?,
                "task": task,
            });
            let server = place.connect(KeyRole::User)?;
            let value = server.post("/v1/entries", &body)?;
            Ok(Answer::seen(value, server.speaks_for_a_person()))
        }
        Task::List {
            due,
            namespace,
            page,
        } => {
            let due = due.then(|| "true".to_owned());
            let query = page.query(&[("namespace", Some(namespace)), ("due", due)]);
            let value = place
                .connect(KeyRole::User)?
                .get(&format!("/v1/tasks{query}"))?;
            let columns = [
                "entry.id",
                "entry.class",
                "next_due",
                "fired",
                "entry.state",
                "entry.text",
            ];
            Ok(Answer::page(value, &columns))
        }
        Task::Cancel { id } => {
            let path = format!("/v1/tasks/{}/cancel", segment(&id));
            place.connect(KeyRole::User)?.post(&path, &json!({}))?;
            let text = format!("cancelled {}", print::line(&id));
            Ok(Answer::with(json!({ "cancelled": id }), text))
        }
        Task::Fire { id, agent, user } => {
            let path = format!("/v1/tasks/{}/fire", segment(&id));
            let body = json!({ "agent": agent, "user": user });
            let server = place.connect(KeyRole::Host)?;
            let value = server.post(&path, &body)?;
            let text = fired(&value, &server);
            let exit = exit(&value);
            Ok(Answer { value, text, exit })
        }
    }
}

/// The call that a fired task makes, with what was decided on it; none where it makes none.
fn called(value: &Value) -> Option<&Value> {
    value.get("call").filter(|call| !call.is_null())
}

/// Denied if the task or its call is; else asked if either is.
fn exit(value: &Value) -> Exit {
    let task = calls::exit(value);
    match (task, called(value).map(calls::exit)) {
        (Exit::Refused, _) | (_, Some(Exit::Refused)) => Exit::Refused,
        (Exit::Asked, _) | (_, Some(Exit::Asked)) => Exit::Asked,
        _ => task,
    }
}

/// A fired task for people.
fn fired(value: &Value, server: &Connection) -> String {
    let mut out = calls::name(value);
    if let Some(call) = called(value) {
        _ = write!(out, "; its call: {}", calls::name(call));
    }
    _ = write!(out, "\n{}", calls::reasoned(value, 2));
    let cell = |name: &str| print::cell(name, value.get(name).unwrap_or(&Value::Null));
    if cell("quarantined") == "true" {
        out.push_str("  the task went to the quarantine shelf\n");
    }
    if let Some(payload) = value.get("payload").and_then(Value::as_str) {
        _ = write!(out, "  payload:\n{}", print::lines(payload, 4));
    }
    for name in ["session", "proposed"] {
        if let Some(part) = value.get(name).filter(|part| !part.is_null()) {
            _ = write!(out, "  {name}:\n{}", print::block(part, 4));
        }
    }
    if let Some(call) = called(value) {
        _ = write!(out, "  call:\n{}", calls::reasoned(call, 4));
        out.push_str(&calls::next(call, server, &flags(value)));
    }
    out
}

/// The flags that name the session and the call of a fired task.
fn flags(value: &Value) -> String {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let session = text("/session/id").unwrap_or_default();
    let args = value.pointer("/proposed/args").unwrap_or(&Value::Null);
    let call = calls::call_flags(text("/proposed/tool").unwrap_or_default(), args);
    format!(" --session {}{call}", print::word(session))
}
