// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sources: registered connectors, approved field by field.

use crate::client::segment;
use crate::failure::Failure;
use crate::place::{KeyRole, Place};
use crate::print::{self, Answer};
use clap::{Subcommand, ValueEnum};
use serde_json::json;

/// `ancile source`
#[derive(Subcommand)]
pub enum Source {
    /// Register a source; nothing of it is approved yet
    Register {
        /// Its name
        name: String,
        /// A tool whose results it gives
        #[arg(long = "tool", required = true)]
        tools: Vec<String>,
    },
    /// Approve one output field; it counts for what is written from now on
    Approve {
        /// The source
        name: String,
        /// The tool
        tool: String,
        /// The field
        field: String,
        /// What its values count as
        #[arg(long, value_enum, default_value = "evidence")]
        grade: Grade,
    },
    /// Withdraw the approval of one field, or of all
    Revoke {
        /// The source
        name: String,
        /// The tool
        #[arg(requires = "field")]
        tool: Option<String>,
        /// The field
        field: Option<String>,
    },
    /// List sources
    List {
        #[command(flatten)]
        page: super::PageArgs,
    },
}

/// What the values of a field count as.
#[derive(Clone, Copy, ValueEnum)]
pub enum Grade {
    /// They ground values of their own kind
    Evidence,
    /// Class 2; for operators only
    Authority,
}

/// Runs `ancile source`.
pub fn run(place: &Place, args: &Source) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::Operator)?;
    match args {
        Source::Register { name, tools } => {
            server.post("/v1/sources", &json!({ "name": name, "tools": tools }))?;
            let text = format!(
                "registered {}; approve its fields one by one",
                print::line(name)
            );
            Ok(Answer::with(json!({ "registered": name }), text))
        }
        Source::Approve {
            name,
            tool,
            field,
            grade,
        } => {
            let grade = match grade {
                Grade::Evidence => "evidence",
                Grade::Authority => "authority",
            };
            let body = json!({ "tool": tool, "field": field, "grade": grade });
            server.post(&format!("/v1/sources/{}/approve", segment(name)), &body)?;
            let text = format!(
                "approved {}",
                print::line(&format!("{name}/{tool}/{field}"))
            );
            Ok(Answer::with(json!({ "approved": body }), text))
        }
        Source::Revoke { name, tool, field } => {
            let body = super::given([("tool", json!(tool)), ("field", json!(field))]);
            server.post(&format!("/v1/sources/{}/revoke", segment(name)), &body)?;
            let text = format!("revoked {}", print::line(name));
            Ok(Answer::with(json!({ "revoked": name }), text))
        }
        Source::List { page } => {
            let value = server.get(&format!("/v1/sources{}", page.query(&[])))?;
            let items = value.get("items").cloned().unwrap_or_else(|| value.clone());
            let text = match items.as_array().is_none_or(Vec::is_empty) {
                true => "none".to_owned(),
                false => print::block(&items, 0),
            };
            Ok(Answer::with(value, text))
        }
    }
}
