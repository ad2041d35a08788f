// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `ancile` binary: a thin face over the HTTP interface.
//!
//! Every command speaks HTTP, to the server that holds the data directory or, when none runs, to
//! one it starts inside itself for the length of the command. So there is one code path, and a
//! command answers the same whether a server runs or not.

mod client;
mod commands;
mod config;
mod demo;
mod failure;
mod judge;
mod log;
mod model;
mod otlp;
mod place;
mod print;
mod signals;
#[cfg(unix)]
mod socket;
#[cfg(not(unix))]
#[path = "socket_elsewhere.rs"]
mod socket;
mod trusted;
mod unseen;
mod when;

use clap::{CommandFactory as _, Parser, Subcommand};
use commands::config::Configuration;
use commands::{
    admin, audit, backup, calls, doctor, entries, index, mandates, migrate, model as models,
    portable, review, serve, sessions, shell, sources, tasks, tools,
};
use config::{Flag, Sources};
use failure::{Exit, Failure};
use place::Place;
use std::path::PathBuf;
use std::process::ExitCode;

/// Memory for agents that an attacker can write to but cannot act through.
#[derive(Parser)]
#[command(name = "ancile", version, after_help = EXIT_CODES, propagate_version = true)]
struct Cli {
    /// Where data, keys and witness lie
    #[arg(
        long,
        global = true,
        env = "ANCILE_HOME",
        default_value = ".ancile",
        value_name = "DIR"
    )]
    home: PathBuf,
    /// The configuration; without, `ancile.toml` in the home if it is there
    #[arg(long, global = true, env = "ANCILE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set one setting, before the environment and the file; `ancile config reference` lists them
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = commands::pair)]
    set: Vec<(String, String)>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    /// Speak with this local key; it goes before --key-file. Without either, each command takes the
    /// key of the role it needs
    #[arg(id = "as", long = "as", global = true, value_enum, value_name = "ROLE")]
    role: Option<place::KeyRole>,
    /// Speak with the key in this file
    #[arg(long, global = true, env = "ANCILE_KEY_FILE", value_name = "FILE")]
    key_file: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server; the first run makes data, keys and witness
    Serve(serve::Serve),
    /// Show an attack on a memory coming back, and being stopped
    Demo(demo::Demo),
    /// Verify the store from outside, or start a new witness epoch
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Open, list, show or close sessions
    #[command(subcommand)]
    Session(sessions::Session),
    /// Send one round trip: exposures, recall, calls, results and writes, in order
    Step(sessions::Step),
    /// Report one thing that was shown in a session
    Expose(sessions::Expose),
    /// Ask the act gate about one call
    Act(calls::Act),
    /// Use a permit up, just before its call is made
    Redeem(calls::Redeem),
    /// Report what a permitted call gave
    Result(calls::Report),
    /// Write an entry
    Write(entries::Write),
    /// Recall entries
    Recall(entries::Recall),
    /// Show, list, endorse or erase entries
    #[command(subcommand)]
    Entry(entries::Entry),
    /// Show where an entry came from
    Lineage(entries::Lineage),
    /// Add, list, cancel or fire tasks
    #[command(subcommand)]
    Task(tasks::Task),
    /// Grant, draft, list or revoke mandates
    #[command(subcommand)]
    Mandate(mandates::Mandate),
    /// Show or set the tool manifest
    #[command(subcommand)]
    Manifest(admin::Manifest),
    /// Answer what the act gate asks
    #[command(subcommand)]
    Approval(review::Approval),
    /// Register sources and approve their fields
    #[command(subcommand)]
    Source(sources::Source),
    /// List, release or discard quarantined entries
    #[command(subcommand)]
    Quarantine(review::Quarantine),
    /// Make, list, rotate or revoke keys
    #[command(subcommand)]
    Key(admin::Key),
    /// Make or list tenants
    #[command(subcommand)]
    Tenant(admin::Tenant),
    /// Make, change or list namespaces
    #[command(subcommand)]
    Namespace(admin::Namespace),
    /// Show or check the settings
    #[command(subcommand)]
    Config(Configuration),
    /// List principals
    #[command(subcommand)]
    Principal(admin::Principal),
    /// Look at home, keys, configuration, store, witness, server and disk, and say what to mend
    Doctor(doctor::Doctor),
    /// Copy the store into a new directory, also while it is served, and verify the copy
    Backup(backup::Backup),
    /// Bring the store of an earlier release up to this one's format; a copy is kept
    Migrate,
    /// Put a backup in the place of the store, and say what is lost
    Restore(backup::Restore),
    /// List or set quotas
    #[command(subcommand)]
    Quota(admin::Quota),
    /// Write a namespace's entries to a file, with all that proves them
    Export(portable::Export),
    /// Write entries from elsewhere; each is class 4
    Import(portable::Import),
    /// Take chat messages into a session, and facts of single user turns
    Add(portable::Add),
    /// List tools, or set whether decisions on their calls bind
    #[command(subcommand)]
    Tool(tools::Tool),
    /// Report what was refused, or would have been
    Report(tools::Report),
    /// Print the signed head of the log
    Checkpoint,
    /// Say how the store stands
    Health,
    /// Say in detail how the store stands, as its operator
    Integrity,
    /// Fetch or list models that find entries by meaning
    #[command(subcommand)]
    Model(models::Model),
    /// Make the index of recall anew from the log, as after a change of the model
    Reindex,
    /// Print completions for a shell
    Completions(shell::Completions),
    /// Write man pages
    Man(shell::Man),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(fault) => return not_understood(&fault),
    };
    let json = cli.json;
    match run(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            print::failure(&failure, json);
            failure.exit.into()
        }
    }
}

/// Answers a command line that is none, or that asks for help; in JSON where it says so.
fn not_understood(fault: &clap::Error) -> ExitCode {
    let json = std::env::args_os().any(|arg| arg == "--json");
    if !fault.use_stderr() || !json {
        fault.exit();
    }
    let said = fault.to_string();
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    let failure = Failure::usage(said.split_whitespace().collect::<Vec<_>>().join(" "));
    print::failure(&failure, json);
    failure.exit.into()
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    let Cli {
        home,
        config,
        set: _,
        json,
        role,
        key_file,
        command,
    } = cli;
    let sources = Sources {
        home: home.clone(),
        file: config,
        flags: Flag::all_of(std::env::args_os()),
    };
    let place = Place::new(home, role, key_file, sources);
    let answer = match command {
        Command::Serve(args) => return serve::run(&place, &args, json),
        Command::Demo(args) => return demo::run(&args, json),
        Command::Audit(args) => audit::run(&place, &args),
        Command::Session(args) => sessions::session(&place, args),
        Command::Step(args) => sessions::step(&place, &args),
        Command::Expose(args) => sessions::expose(&place, &args),
        Command::Act(args) => calls::act(&place, &args),
        Command::Redeem(args) => calls::redeem(&place, &args),
        Command::Result(args) => calls::result(&place, &args),
        Command::Write(args) => entries::write(&place, &args),
        Command::Recall(args) => entries::recall(&place, &args),
        Command::Entry(args) => entries::entry(&place, &args),
        Command::Lineage(args) => entries::lineage(&place, &args),
        Command::Task(args) => tasks::run(&place, args),
        Command::Mandate(args) => mandates::run(&place, &args, json),
        Command::Manifest(args) => admin::manifest(&place, &args),
        Command::Approval(args) => review::approval(&place, &args),
        Command::Source(args) => sources::run(&place, &args),
        Command::Quarantine(args) => review::quarantine(&place, &args),
        Command::Key(args) => admin::key(&place, &args),
        Command::Tenant(args) => admin::tenant(&place, &args),
        Command::Namespace(args) => admin::namespace(&place, &args),
        Command::Config(args) => commands::config::run(&place.sources, &args),
        Command::Principal(args) => admin::principal(&place, &args),
        Command::Doctor(args) => Ok(doctor::run(&place, &args)),
        Command::Backup(args) => backup::backup(&place, &args),
        Command::Migrate => migrate::run(&place),
        Command::Restore(args) => backup::restore(&place, &args),
        Command::Quota(args) => admin::quota(&place, &args),
        Command::Export(args) => portable::export(&place, &args),
        Command::Import(args) => portable::import(&place, &args),
        Command::Add(args) => portable::add(&place, &args),
        Command::Tool(args) => tools::tool(&place, &args),
        Command::Report(args) => tools::report(&place, &args),
        Command::Checkpoint => admin::checkpoint(&place),
        Command::Health => admin::health(&place),
        Command::Integrity => admin::integrity(&place),
        Command::Model(args) => models::run(&place, &args),
        Command::Reindex => index::reindex(&place),
        Command::Completions(args) => shell::completions(Cli::command(), &args),
        Command::Man(args) => shell::man(Cli::command(), &args),
    }?;
    answer.print(json);
    Ok(answer.exit)
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done, permitted
  1  refused, or the act gate denied
  2  the command line or the request does not make sense
  3  the act gate asks a person first
  4  there is no such thing, as far as the key can see
  5  the store is damaged, or was edited behind its back
  6  no store here, no server answers, or it cannot answer now

Flags go before the environment (ANCILE_HOME, ANCILE_CONFIG, ANCILE_KEY_FILE,
ANCILE_SESSION, ANCILE_SESSION_TOKEN and one for each setting), and that before the
configuration file.";
