// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tools that only log, and the report of refusals.

use super::PageArgs;
use crate::client::{query, segment};
use crate::failure::Failure;
use crate::place::{KeyRole, Place};
use crate::print::{self, Answer};
use crate::when;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

/// `ancile tool`
#[derive(Subcommand)]
pub enum Tool {
    /// List the tools of the manifest
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Set whether decisions on a tool's calls bind
    Mode {
        /// The tool
        name: String,
        /// Whether they bind
        #[arg(value_enum)]
        mode: Mode,
    },
}

/// Whether decisions bind.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Mode {
    /// They bind
    Enforce,
    /// They are made, logged and counted, and none binds
    LogOnly,
}

/// Runs `ancile tool`.
pub fn tool(place: &Place, args: &Tool) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::Operator)?;
    match args {
        Tool::List { page } => {
            let value = server.get(&format!("/v1/tools{}", page.query(&[])))?;
            Ok(Answer::page(value, &["name", "effect", "mode"]))
        }
        Tool::Mode { name, mode } => {
            let mode = match mode {
                Mode::Enforce => "enforce",
                Mode::LogOnly => "log_only",
            };
            let path = format!("/v1/tools/{}/mode", segment(name));
            server.put(&path, &json!({ "mode": mode }))?;
            let text = match mode {
                "log_only" => format!(
                    "{}: no decision on its calls binds from now on; see ancile report",
                    print::line(name)
                ),
                _ => format!("{}: decisions on its calls bind", print::line(name)),
            };
            Ok(Answer::with(json!({ "tool": name, "mode": mode }), text))
        }
    }
}

/// `ancile report`
#[derive(Args)]
pub struct Report {
    /// From this moment on, in whole hours
    #[arg(long, value_parser = when::parse, value_name = "WHEN")]
    since: Option<i64>,
    /// Until this moment
    #[arg(long, value_parser = when::parse, value_name = "WHEN")]
    until: Option<i64>,
    /// Of this tool alone
    #[arg(long)]
    tool: Option<String>,
}

/// Runs `ancile report`.
pub fn report(place: &Place, args: &Report) -> Result<Answer, Failure> {
    let part = query(&[
        ("from", args.since.map(|at| at.to_string())),
        ("until", args.until.map(|at| at.to_string())),
        ("tool", args.tool.clone()),
    ]);
    let server = place.connect(KeyRole::Operator)?;
    let value = server.get(&format!("/v1/report/refusals{part}"))?;
    let list = |name: &str| value.get(name).cloned().unwrap_or(Value::Null);
    let decisions = ["count", "tool", "class", "decision", "enforced"];
    let rules = ["count", "tool", "class", "decision", "enforced", "rule"];
    let mut text = print::table(&list("decisions"), &decisions);
    text.push_str("\nby rule; where enforced is false it would have been refused:\n");
    text.push_str(&print::table(&list("rules"), &rules));
    if value.get("more") == Some(&Value::Bool(true)) {
        text.push_str("there are more: ask for a shorter time, or for one tool\n");
    }
    Ok(Answer::with(value, text))
}
