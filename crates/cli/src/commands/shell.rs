// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a shell and `man` want to know of the commands.

use crate::failure::{Exit, Failure};
use crate::print::Answer;
use clap::{Args, Command};
use clap_complete::Shell;
use serde_json::json;
use std::path::PathBuf;

/// `ancile completions`
#[derive(Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs `ancile completions`.
pub fn completions(mut command: Command, args: &Completions) -> Result<Answer, Failure> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    let script = String::from_utf8(script).map_err(|fault| {
        let text = format!("the script is no text: {fault}; report this");
        Failure::new(Exit::Unavailable, "completions", text)
    })?;
    Ok(Answer::with(json!({ "script": script }), script))
}

/// `ancile man`
#[derive(Args)]
pub struct Man {
    /// The directory to write the pages into; it must be there
    directory: PathBuf,
}

/// Runs `ancile man`: writes `ancile.1` and a page for each command.
pub fn man(command: Command, args: &Man) -> Result<Answer, Failure> {
    clap_mangen::generate_to(command, &args.directory)
        .map_err(|fault| Failure::file(&args.directory, "write pages into", &fault))?;
    let place = args.directory.display().to_string();
    Ok(Answer::plain(json!({ "written": place })))
}
