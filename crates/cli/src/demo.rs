// SPDX-License-Identifier: MIT OR Apache-2.0
//! The demo: an attack on a memory that comes back after the attacker has left, with the gates off
//! and on.
//!
//! Everything goes through the public HTTP interface of servers inside this process, on temporary
//! homes. Every figure that is printed was counted in the run.

mod agent;
mod arm;
mod conversation;
mod host;
mod plan;
mod report;
mod tamper;
mod world;

use crate::failure::{Exit, Failure};
use crate::print;
use ancile_engine::Gates;
use arm::{Arm, Setting};
use clap::Args;
use conversation::Conversation;
use std::path::PathBuf;

/// `ancile demo`
#[derive(Args)]
pub struct Demo {
    /// A directory with `locomo/locomo10.json`: use its first conversation
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Also run with gates that only log: the same calls are made as with the gates off
    #[arg(long)]
    log_only: bool,
    /// Also run with the gates on and every detector off: the gates hold without
    #[arg(long)]
    no_screening: bool,
    /// Have the user write the same payloads: they run, since origin decides and content never
    #[arg(long)]
    by_user: bool,
}

/// Runs `ancile demo`.
pub fn run(args: &Demo, json: bool) -> Result<Exit, Failure> {
    let conversation = Conversation::load(args.data.as_deref())?;
    let mut settings = vec![
        Setting::attacked(Gates::Off),
        Setting::attacked(Gates::Enforce),
    ];
    if args.log_only {
        settings.push(Setting::attacked(Gates::LogOnly));
    }
    if args.no_screening {
        settings.push(Setting::unscreened());
    }
    if args.by_user {
        settings.push(Setting::by_user());
    }
    if !json {
        print::out(report::opening(&conversation).trim_end());
    }
    let arms = all(&settings, &conversation)?;
    if json {
        for line in report::json(&arms) {
            print::out(&print::one_line_json(&line));
        }
    } else {
        print::out(report::text(&arms).trim_end());
    }
    let fine = arms.iter().all(|arm| arm.audit.ok);
    Ok(if fine { Exit::Done } else { Exit::Damaged })
}

/// Runs the settings side by side, each on a home of its own.
fn all(settings: &[Setting], conversation: &Conversation) -> Result<Vec<Arm>, Failure> {
    std::thread::scope(|scope| {
        let running: Vec<_> = settings
            .iter()
            .map(|setting| scope.spawn(|| arm::run(*setting, conversation)))
            .collect();
        let ended = running.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| {
                Err(Failure::new(
                    Exit::Unavailable,
                    "demo",
                    "a part of the demo ended early",
                ))
            })
        });
        ended.collect()
    })
}
