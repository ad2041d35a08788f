// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mandates: what a user lets an agent do.

use super::{PageArgs, given, pair};
use crate::client::segment;
use crate::failure::{Exit, Failure};
use crate::place::{KeyRole, Place};
use crate::print::{self, Answer};
use crate::when;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};
use std::io::{BufRead as _, IsTerminal as _, Write as _};

/// `ancile mandate`
#[derive(Subcommand)]
pub enum Mandate {
    /// Show the Cedar text of a mandate, ask at the terminal, then store it
    Grant {
        #[command(flatten)]
        terms: Terms,
        /// Store it without asking; needed where standard input is no terminal
        #[arg(long)]
        yes: bool,
    },
    /// Show the Cedar text of a mandate and store nothing
    Draft {
        #[command(flatten)]
        terms: Terms,
    },
    /// List mandates
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Revoke a mandate
    Revoke {
        /// The mandate
        id: String,
    },
}

/// The weakest class of session that a mandate covers.
#[derive(Clone, Copy, ValueEnum)]
pub enum Weakest {
    /// Sessions that were shown nothing untrusted
    #[value(name = "agent_derived")]
    AgentDerived,
    /// Also sessions that were; then every sensitive argument must be fixed or grounded
    #[value(name = "untrusted")]
    Untrusted,
}

/// What a mandate is made from.
#[derive(Args)]
pub struct Terms {
    /// The agent
    #[arg(long, default_value = "assistant")]
    agent: String,
    /// The tool
    #[arg(long)]
    tool: String,
    /// An argument must have this value; give the same argument again for more values
    #[arg(long = "fix", value_name = "ARG=VALUE", value_parser = pair)]
    fixed: Vec<(String, String)>,
    /// An argument must match this pattern; `*` stands for any run of characters
    #[arg(long = "allow", value_name = "ARG=PATTERN", value_parser = pair)]
    allowed: Vec<(String, String)>,
    /// An amount must be at most this, such as `100.00 EUR`
    #[arg(long = "max", value_name = "ARG=AMOUNT", value_parser = pair)]
    most: Vec<(String, String)>,
    /// Most uses
    #[arg(long)]
    uses: Option<u32>,
    /// The first moment it holds
    #[arg(long, value_parser = when::parse, value_name = "WHEN", default_value = "now")]
    from: i64,
    /// The first moment it no longer holds
    #[arg(long, value_parser = when::parse, value_name = "WHEN")]
    until: i64,
    /// The weakest class of session it covers
    #[arg(long, value_enum, default_value = "agent_derived")]
    weakest: Weakest,
    /// A file with Cedar text of your own in place of the one made from --allow and --max
    #[arg(long, value_name = "FILE", conflicts_with_all = ["allowed", "most"])]
    cedar: Option<String>,
}

impl Terms {
    fn body(&self) -> Result<Value, Failure> {
        let weakest = match self.weakest {
            Weakest::AgentDerived => "agent_derived",
            Weakest::Untrusted => "untrusted",
        };
        let cedar = self
            .cedar
            .as_deref()
            .map(super::file_or_stdin)
            .transpose()?;
        Ok(given([
            ("agent", json!(self.agent)),
            ("tool", json!(self.tool)),
            ("weakest", json!(weakest)),
            ("not_before", json!(self.from)),
            ("not_after", json!(self.until)),
            ("uses_max", json!(self.uses)),
            ("fixed", sets(&self.fixed)),
            ("allow", single(&self.allowed, "--allow")?),
            ("amount_max", single(&self.most, "--max")?),
            ("cedar", json!(cedar)),
        ]))
    }
}

/// The values of each argument.
fn sets(pairs: &[(String, String)]) -> Value {
    let mut map = Map::new();
    for (arg, value) in pairs {
        if let Value::Array(list) = map.entry(arg.clone()).or_insert_with(|| json!([])) {
            list.push(json!(value));
        }
    }
    Value::Object(map)
}

/// One value an argument; a second one would weaken the first, so it is refused.
fn single(pairs: &[(String, String)], flag: &str) -> Result<Value, Failure> {
    let mut map = Map::new();
    for (arg, value) in pairs {
        if map.insert(arg.clone(), json!(value)).is_some() {
            let text = format!("{flag} names `{arg}` twice; grant two mandates for two patterns");
            return Err(Failure::usage(text));
        }
    }
    Ok(Value::Object(map))
}

/// Runs `ancile mandate`.
pub fn run(place: &Place, args: &Mandate, json: bool) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::User)?;
    match args {
        Mandate::Grant { terms, yes } => {
            let body = terms.body()?;
            let draft = server.post("/v1/mandates/draft", &body)?;
            // With --json standard output holds the answer alone.
            let shown = shown(&draft, &body);
            if json {
                print::err(shown.trim_end());
            } else {
                print::out(shown.trim_end());
            }
            if !yes && !agreed()? {
                return Err(Failure::new(
                    Exit::Refused,
                    "not_agreed",
                    "nothing was stored",
                ));
            }
            let value = server.post("/v1/mandates", &body)?;
            let id = print::cell("id", value.get("id").unwrap_or(&Value::Null));
            Ok(Answer::with(
                value,
                format!("granted {id}; ancile mandate revoke {id} ends it"),
            ))
        }
        Mandate::Draft { terms } => {
            let body = terms.body()?;
            let draft = server.post("/v1/mandates/draft", &body)?;
            let text = shown(&draft, &body);
            Ok(Answer::with(draft, text))
        }
        Mandate::List { page } => {
            let value = server.get(&format!("/v1/mandates{}", page.query(&[])))?;
            let columns = [
                "id",
                "agent",
                "tool",
                "weakest",
                "fixed",
                "uses",
                "uses_max",
                "not_after",
                "revoked",
            ];
            Ok(Answer::page(value, &columns))
        }
        Mandate::Revoke { id } => {
            server.post(&format!("/v1/mandates/{}/revoke", segment(id)), &json!({}))?;
            let text = format!("revoked {}", print::line(id));
            Ok(Answer::with(json!({ "revoked": id }), text))
        }
    }
}

/// All that a mandate says: the Cedar text, then the conditions that stand beside it.
fn shown(draft: &Value, terms: &Value) -> String {
    let cedar = draft
        .get("cedar")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut out = print::lines(cedar, 0);
    for name in ["fixed", "weakest", "uses_max", "not_before", "not_after"] {
        if let Some(value) = terms.get(name) {
            let mut one = Map::new();
            one.insert(name.to_owned(), value.clone());
            out.push_str(&print::block(&Value::Object(one), 0));
        }
    }
    out
}

/// Asks a person at a terminal. Without one nobody has agreed.
fn agreed() -> Result<bool, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        let text = "nothing was stored: standard input is no terminal to ask at; read the text, \
                    then give --yes";
        return Err(Failure::usage(text));
    }
    let asked = |fault: std::io::Error| Failure::usage(format!("cannot ask: {fault}; give --yes"));
    let mut to = std::io::stderr();
    to.write_all(b"store this mandate? [y/N] ")
        .and_then(|()| to.flush())
        .map_err(asked)?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).map_err(asked)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
