// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the settings are, and whether they can be read.

use crate::config::{Config, SETTINGS, Setting, Sources, document, unknown_variables};
use crate::failure::{Exit, Failure};
use crate::print::{self, Answer};
use clap::Subcommand;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// `ancile config`
#[derive(Subcommand)]
pub enum Configuration {
    /// Print each setting in force, as a configuration file
    Show {
        /// Say of each where it is from: a flag, the environment, the file or the default
        #[arg(long)]
        origin: bool,
    },
    /// Read the configuration and name every fault
    Check,
    /// Print every setting with what it takes, its default and what it does
    Reference,
}

/// Runs `ancile config`.
pub fn run(from: &Sources, args: &Configuration) -> Result<Answer, Failure> {
    match args {
        Configuration::Show { origin } => from.load().map(|config| show(&config, *origin)),
        Configuration::Check => Ok(check(from)),
        Configuration::Reference => Ok(reference()),
    }
}

/// The settings as a configuration file.
pub fn show(config: &Config, origin: bool) -> Answer {
    let mut text = String::new();
    let mut settings = Vec::new();
    let mut section = "";
    for (row, value, from) in config.rows() {
        let (within, name) = row.key.split_once('.').unwrap_or(("", row.key));
        if within != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            _ = writeln!(text, "{gap}[{within}]");
            section = within;
        }
        let mut line = format!("{name} = {value}");
        let mut one = json!({"key": row.key, "value": value.json()});
        if let Some(one) = one.as_object_mut() {
            if !row.unit.is_empty() {
                one.insert("unit".to_owned(), row.unit.into());
            }
            if origin {
                line = format!("{line:<32} # {from}");
                one.insert("origin".to_owned(), from.kind().into());
                one.insert("from".to_owned(), from.to_string().into());
            }
        }
        _ = writeln!(text, "{}", print::line(&line));
        settings.push(one);
    }
    Answer::with(json!({ "settings": settings }), text)
}

fn reference() -> Answer {
    let row = |row: &Setting| {
        json!({
            "key": row.key, "variable": row.env(), "takes": row.kind.due(row.unit),
            "default": row.default.json(), "what": row.what,
        })
    };
    let rows: Vec<Value> = SETTINGS.iter().map(row).collect();
    Answer::with(json!({ "settings": rows }), document())
}

fn check(from: &Sources) -> Answer {
    let (config, faults) = Config::read(from, &|name| std::env::var_os(name));
    let unknown = unknown_variables(std::env::vars_os().map(|(name, _)| name));
    let mut text = String::new();
    for fault in &faults {
        _ = writeln!(text, "fail: {}", print::line(&fault.text));
    }
    for name in &unknown {
        let name = print::line(name);
        _ = writeln!(
            text,
            "warn: the variable {name} is no setting; see whether it is misspelt"
        );
    }
    let file = config.file.as_ref().map(|path| path.display().to_string());
    if faults.is_empty() {
        let read = file
            .as_deref()
            .unwrap_or("no file; flags, environment and defaults");
        _ = writeln!(text, "ok: {}", print::line(read));
    }
    let said: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
    let file = file.map_or(Value::Null, Value::from);
    let value = json!({"file": file, "faults": said, "unknown_variables": unknown});
    let mut answer = Answer::with(value, text);
    if !faults.is_empty() {
        answer.exit = Exit::Usage;
    }
    answer
}
