// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions, steps, and what was shown in them.

use super::{PageArgs, file_or_stdin, given, json_of, text_or_stdin};
use crate::client::{Client, segment};
use crate::failure::{Exit, Failure};
use crate::place::{KeyRole, Place};
use crate::print::{self, Answer};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};
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
        /// Print the session and its token as shell variables, for `eval "$(...)"`
        #[arg(long)]
        env: bool,
    },
    /// List sessions, newest first
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a session
    Show {
        /// The session
        id: String,
    },
    /// Print an agent's reply without the links and images whose host nobody named
    Reply {
        #[command(flatten)]
        session: InSession,
        /// The reply: Markdown, HTML or plain text; `-`: standard input
        text: String,
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
    #[arg(long = "session", env = SESSION, value_name = "ID")]
    id: String,
    /// Its token
    #[arg(
        long,
        env = TOKEN,
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    session_token: String,
}

/// A session that a command may run in.
#[derive(Args)]
pub struct MaybeSession {
    /// Run in this session, with the key of its host
    #[arg(long = "session", value_name = "ID", requires = "session_token")]
    id: Option<String>,
    /// Its token
    #[arg(
        long,
        env = TOKEN,
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    session_token: Option<String>,
}

impl MaybeSession {
    /// The session, if one is named.
    pub fn session(&self) -> Option<InSession> {
        let (id, session_token) = (self.id.clone()?, self.session_token.clone()?);
        Some(InSession { id, session_token })
    }
}

/// The environment variable that names the session where `--session` does not.
const SESSION: &str = "ANCILE_SESSION";
/// The environment variable that holds its token.
const TOKEN: &str = "ANCILE_SESSION_TOKEN";

impl InSession {
    /// Sends something within the session; the verb is the last part of the path.
    pub fn send(&self, server: &Client, verb: &str, body: &Value) -> Result<Value, Failure> {
        let path = format!("/v1/sessions/{}/{verb}", segment(&self.id));
        server.in_session(&path, body, &self.session_token)
    }

    /// Sends a step of one operation: its answer, and beside it the class of the session after it.
    pub fn one(&self, server: &Client, op: &Value) -> Result<Map<String, Value>, Failure> {
        let step = self.send(server, "step", &json!({ "ops": [op] }))?;
        let Some(Value::Object(answer)) = step.pointer("/results/0") else {
            let text = "the server's answer to a step of one operation holds none; is it of this \
                        release?";
            return Err(Failure::new(Exit::Unavailable, "other_release", text));
        };
        let rest = answer.iter().filter(|(name, _)| *name != "op");
        let mut answer: Map<String, Value> = rest
            .map(|(name, part)| (name.clone(), part.clone()))
            .collect();
        let class = step.get("class").cloned().unwrap_or_default();
        answer.insert("session_class".to_owned(), class);
        Ok(answer)
    }

    /// The flag that names the session, unless the environment does.
    pub fn flag(&self) -> String {
        if std::env::var(SESSION).is_ok_and(|id| id == self.id) {
            return String::new();
        }
        format!(" --session {}", print::word(&self.id))
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
            env,
        } => {
            let mode = match mode {
                Mode::Interactive => "interactive",
                Mode::Headless => "headless",
            };
            let body = json!({
                "agent": agent, "user": user, "namespace": namespace, "mode": mode,
                "observed": observed,
            });
            let value = place.connect(KeyRole::Host)?.post("/v1/sessions", &body)?;
            Ok(match env {
                true => Answer::with(value.clone(), variables(&value)),
                false => Answer::plain(value),
            })
        }
        Session::List { page } => {
            let path = format!("/v1/sessions{}", page.query(&[]));
            let value = place.connect(KeyRole::Host)?.get(&path)?;
            let columns = ["id", "agent", "user", "namespace", "class", "closed"];
            Ok(Answer::page(value, &columns))
        }
        Session::Show { id } => {
            let path = format!("/v1/sessions/{}", segment(&id));
            place.connect(KeyRole::Host)?.get(&path).map(Answer::plain)
        }
        Session::Reply { session, text } => {
            let body = json!({ "text": text_or_stdin(&text)? });
            let value = session.send(&*place.connect(KeyRole::Host)?, "reply", &body)?;
            Ok(Answer::with(value.clone(), filtered(&value)))
        }
        Session::Close { session } => {
            session.send(&*place.connect(KeyRole::Host)?, "close", &json!({}))?;
            let value = json!({ "closed": session.id });
            Ok(Answer::with(
                value,
                format!("closed {}", print::line(&session.id)),
            ))
        }
    }
}

/// A filtered reply, and below it what was taken out.
fn filtered(value: &Value) -> String {
    let cell = |row: &Value, name: &str| {
        print::line(row.get(name).and_then(Value::as_str).unwrap_or_default())
    };
    let text = value.get("text").and_then(Value::as_str);
    let mut out = print::lines(text.unwrap_or_default(), 0);
    let removed = value.get("removed").and_then(Value::as_array);
    for row in removed.into_iter().flatten() {
        let (kind, reason, target) = (cell(row, "kind"), cell(row, "reason"), cell(row, "target"));
        out.push_str(&format!("\nremoved {kind} ({reason}): {target}"));
    }
    out
}

/// A session just opened, as a shell takes it.
fn variables(opened: &Value) -> String {
    let mut out = String::new();
    for (variable, name) in [(SESSION, "id"), (TOKEN, "token")] {
        let value = opened.get(name).and_then(Value::as_str).unwrap_or_default();
        out.push_str(&format!("export {variable}={}\n", print::word(value)));
    }
    out
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
    let server = place.connect(KeyRole::Host)?;
    let value = args.session.send(&server, "step", &body)?;
    Ok(Answer::seen(value, server.speaks_for_a_person()))
}

/// `ancile expose`
#[derive(Args)]
pub struct Expose {
    #[command(flatten)]
    session: InSession,
    /// What it was: user_turn, system_prompt, tool_list, text or peer_message
    #[arg(long)]
    kind: String,
    /// The way it came in, for a text: web, document, tool and the like
    #[arg(long)]
    channel: Option<String>,
    /// Where it came from
    #[arg(long)]
    locator: Option<String>,
    /// The text; `-`: standard input
    text: String,
}

/// Runs `ancile expose`.
pub fn expose(place: &Place, args: &Expose) -> Result<Answer, Failure> {
    let op = given([
        ("op", json!("expose")),
        ("kind", json!(args.kind)),
        ("channel", json!(args.channel)),
        ("locator", json!(args.locator)),
        ("text", json!(text_or_stdin(&args.text)?)),
    ]);
    let server = place.connect(KeyRole::Host)?;
    let answer = args.session.one(&server, &op)?;
    Ok(shown(answer))
}

/// What became of something that was shown; findings are a line each.
pub fn shown(answer: Map<String, Value>) -> Answer {
    let mut rest = answer.clone();
    let findings = rest.remove("findings");
    let mut text = Answer::plain(Value::Object(rest)).text;
    let findings = findings.as_ref().and_then(Value::as_array);
    for finding in findings.into_iter().flatten() {
        let word = |name: &str| finding.get(name).and_then(Value::as_str);
        let number = |name: &str| {
            finding
                .get(name)
                .and_then(Value::as_u64)
                .unwrap_or_default()
        };
        let family = print::line(word("family").unwrap_or_default());
        let verdict = print::line(word("verdict").unwrap_or_default());
        let (start, end) = (number("start"), number("end"));
        let field = word("field").map(print::line);
        let field = field.map_or_else(String::new, |field| format!(" of {field}"));
        _ = writeln!(
            text,
            "found: {family}, bytes {start} to {end}{field} ({verdict})"
        );
    }
    Answer::with(Value::Object(answer), text)
}
