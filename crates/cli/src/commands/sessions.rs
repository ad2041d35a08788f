// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions, steps and single calls.

use super::{CallArgs, file_or_stdin, given, json_of};
use crate::client::segment;
use crate::failure::Failure;
use crate::place::{KeyRole, Place};
use crate::print::{self, Answer};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// `ancile session`
#[derive(Subcommand)]
pub enum Session {
    /// Open a session; the session token that is printed is for the host, never for the model
    Open {
        /// The agent that runs in it
        #[arg(long, default_value = "assistant")]
        agent: String,
        /// The user it runs for
        #[arg(long, default_value = "alice")]
        user: String,
        /// The namespace it reads and writes
        #[arg(long, default_value = "main")]
        namespace: String,
        /// Whether the host can ask its user at once
        #[arg(long, value_enum, default_value = "headless")]
        mode: Mode,
        /// The host reports all that is shown; without it the session is class 4
        #[arg(long)]
        observed: bool,
    },
    /// Show a session
    Show {
        /// The session
        id: String,
    },
    /// Close a session
    Close {
        #[command(flatten)]
        session: InSession,
    },
}

/// Whether a host can ask its user at once.
#[derive(Clone, Copy, ValueEnum)]
pub enum Mode {
    /// It can
    Interactive,
    /// It cannot
    Headless,
}

/// Which session, and the proof that it is ours.
#[derive(Args)]
pub struct InSession {
    /// The session
    #[arg(long = "session", value_name = "ID")]
    id: String,
    /// Its token
    #[arg(
        long,
        env = "ANCILE_SESSION_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    session_token: String,
}

impl InSession {
    /// The session with this id and token.
    pub const fn new(id: String, session_token: String) -> Self {
        Self { id, session_token }
    }

    fn send(&self, place: &Place, verb: &str, body: &Value) -> Result<Value, Failure> {
        let path = format!("/v1/sessions/{}/{verb}", segment(&self.id));
        place
            .connect(KeyRole::Host)?
            .in_session(&path, body, &self.session_token)
    }

    /// Recalls within the session.
    pub fn recall(&self, place: &Place, body: &Value) -> Result<Value, Failure> {
        self.send(place, "recall", body)
    }
}

/// Runs `ancile session`.
pub fn session(place: &Place, args: Session) -> Result<Answer, Failure> {
    match args {
        Session::Open {
            agent,
            user,
            namespace,
            mode,
            observed,
        } => {
            let mode = match mode {
                Mode::Interactive => "interactive",
                Mode::Headless => "headless",
            };
            let body = json!({
                "agent": agent, "user": user, "namespace": namespace, "mode": mode,
                "observed": observed,
            });
            place
                .connect(KeyRole::Host)?
                .post("/v1/sessions", &body)
                .map(Answer::plain)
        }
        Session::Show { id } => {
            let path = format!("/v1/sessions/{}", segment(&id));
            place.connect(KeyRole::Host)?.get(&path).map(Answer::plain)
        }
        Session::Close { session } => {
            session.send(place, "close", &json!({}))?;
            let value = json!({ "closed": session.id });
            Ok(Answer::with(
                value,
                format!("closed {}", print::line(&session.id)),
            ))
        }
    }
}

/// `ancile step`
#[derive(Args)]
pub struct Step {
    #[command(flatten)]
    session: InSession,
    /// A file with `{"ops": [...]}` or the list alone; `-`: standard input
    file: String,
}

/// Runs `ancile step`.
pub fn step(place: &Place, args: &Step) -> Result<Answer, Failure> {
    let body = match json_of(&file_or_stdin(&args.file)?, "the step")? {
        list @ Value::Array(_) => json!({ "ops": list }),
        other => other,
    };
    args.session.send(place, "step", &body).map(Answer::plain)
}

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
    let Some((tool, arguments)) = args.call.call()? else {
        return Err(Failure::usage(
            "no call to ask about; name its tool by --tool",
        ));
    };
    let approval = json!(args.approval);
    let body = given([
        ("tool", json!(tool)),
        ("args", arguments),
        ("approval", approval),
    ]);
    let value = args.session.send(place, "act", &body)?;
    let text = decision(&value);
    Ok(Answer::with(value, text).deciding())
}

/// A decision with its reasons, for people.
pub fn decision(value: &Value) -> String {
    let field = |name: &str| print::cell(name, value.get(name).unwrap_or(&Value::Null));
    let mut out = format!("{}\n", field("decision").to_uppercase());
    for name in [
        "would_be",
        "class",
        "digest",
        "permit",
        "permit_expires",
        "approval",
        "mandate",
    ] {
        if value.get(name).is_some_and(|value| !value.is_null()) {
            _ = writeln!(out, "  {name}: {}", field(name));
        }
    }
    for reason in value
        .get("reasons")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let part = |name: &str| print::cell(name, reason.get(name).unwrap_or(&Value::Null));
        _ = writeln!(out, "  because {}: {}", part("rule"), part("text"));
        if part("entries") != "-" {
            _ = writeln!(out, "    entries: {}", part("entries"));
        }
    }
    if let Some(approval) = value.get("approval").and_then(Value::as_str) {
        let id = print::line(approval);
        _ = writeln!(out, "  a person says by: ancile approval show {id}");
    }
    out
}
