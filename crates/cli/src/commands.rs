// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands, one module a subject.

pub mod admin;
pub mod audit;
pub mod backup;
pub mod calls;
pub mod config;
pub mod doctor;
pub mod entries;
pub mod index;
pub mod mandates;
pub mod migrate;
pub mod model;
pub mod portable;
pub mod review;
pub mod serve;
pub mod sessions;
pub mod shell;
pub mod sources;
pub mod tasks;
pub mod tools;

use crate::client::query;
use crate::failure::Failure;
use clap::Args;
use serde_json::{Map, Value};

/// Which part of a list.
#[derive(Args)]
pub struct PageArgs {
    /// Go on where an earlier page ended
    #[arg(long)]
    cursor: Option<String>,
    /// Most items; at most 200
    #[arg(long)]
    limit: Option<u32>,
}

impl PageArgs {
    /// The query of a list, with further parameters.
    fn query(&self, more: &[(&str, Option<String>)]) -> String {
        let mut all = more.to_vec();
        all.push(("cursor", self.cursor.clone()));
        all.push(("limit", self.limit.map(|limit| limit.to_string())));
        query(&all)
    }
}

/// An object of those fields that have a value: absent ones are left to the server's defaults.
fn given<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let some = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(
        some.map(|(name, value)| (name.to_owned(), value))
            .collect::<Map<_, _>>(),
    )
}

/// Reads a text given on the command line, or standard input for `-`.
fn text_or_stdin(text: &str) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    std::io::read_to_string(std::io::stdin())
        .map_err(|fault| Failure::usage(format!("cannot read standard input: {fault}")))
}

/// Reads a file, or standard input for `-`.
fn file_or_stdin(path: &str) -> Result<String, Failure> {
    if path == "-" {
        return text_or_stdin(path);
    }
    let path = std::path::Path::new(path);
    std::fs::read_to_string(path).map_err(|fault| Failure::file(path, "read", &fault))
}

/// Reads JSON that the command line gives; `what` names it in the error.
fn json_of(text: &str, what: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|fault| Failure::usage(format!("{what} is not JSON: {fault}; correct it")))
}

/// Splits `name=value`; for clap.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write name=value".to_owned()),
    }
}

/// A call as flags give it: a tool and `name=value` or `name:=json` arguments.
#[derive(Args)]
pub struct CallArgs {
    /// The tool
    #[arg(long)]
    tool: Option<String>,
    /// An argument: `name=text`, or `name:=json` for a number, a list and the like
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = pair, requires = "tool")]
    args: Vec<(String, String)>,
}

impl CallArgs {
    /// The call, if a tool is named.
    fn call(&self) -> Result<Option<(String, Value)>, Failure> {
        let Some(tool) = self.tool.clone() else {
            return Ok(None);
        };
        let mut args = Map::new();
        for (name, value) in &self.args {
            let (name, value) = match name.strip_suffix(':') {
                Some(name) => (name, json_of(value, &format!("argument `{name}`"))?),
                None => (name.as_str(), Value::String(value.clone())),
            };
            if args.insert(name.to_owned(), value).is_some() {
                let text = format!("argument `{name}` comes twice; give a list by `{name}:=[...]`");
                return Err(Failure::usage(text));
            }
        }
        Ok(Some((tool, Value::Object(args))))
    }
}

#[cfg(test)]
mod tests;
