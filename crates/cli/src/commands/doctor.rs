// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a store and all around it, and what to do about it.

use super::audit;
use crate::config::{Config, Settings, unknown_variables};
use crate::failure::{Exit, Failure};
use crate::model;
use crate::place::{self, Place};
use crate::print::{self, Answer};
use ancile_engine::{HomePart, PartKind, home_parts};
use ancile_models::FetchedModel;
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// `ancile doctor`
#[derive(Args)]
pub struct Doctor {
    /// Leave out what reads all of the store
    #[arg(long)]
    quick: bool,
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Ok,
    Warn,
    Fail,
}

impl Status {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What was found; a text that is not `ok` ends with the next step.
struct Findings {
    rows: Vec<(Status, &'static str, String)>,
    /// How the command ends when something failed: by the first that did.
    exit: Exit,
}

/// Runs `ancile doctor`.
pub fn run(place: &Place, args: &Doctor) -> Answer {
    let mut found = Findings {
        rows: Vec::new(),
        exit: Exit::Done,
    };
    found.config(place);
    let home = &place.home;
    if home.join("data").exists() || home.join("keys").exists() {
        found.layout(home);
        found.modes(home);
        found.server(place);
        found.store(home, args.quick);
        found.space("data", &home.join("data"));
        found.space("witness", &home.join("witness"));
    } else {
        let home = home.display();
        let text = format!(
            "there is no store in `{home}`; run `ancile serve` once to make it, or name another by \
             --home"
        );
        found.fail("home", Exit::Unavailable, text);
    }
    found.answer()
}

impl Findings {
    fn ok(&mut self, check: &'static str, text: impl Into<String>) {
        self.rows.push((Status::Ok, check, text.into()));
    }

    fn warn(&mut self, check: &'static str, text: impl Into<String>) {
        self.rows.push((Status::Warn, check, text.into()));
    }

    fn fail(&mut self, check: &'static str, exit: Exit, text: impl Into<String>) {
        self.rows.push((Status::Fail, check, text.into()));
        if self.exit == Exit::Done {
            self.exit = exit;
        }
    }

    fn failure(&mut self, check: &'static str, failure: Failure) {
        self.fail(check, failure.exit, failure.text);
    }

    fn config(&mut self, place: &Place) {
        let (config, faults) = Config::read(&place.sources, &|name| std::env::var_os(name));
        for name in unknown_variables(std::env::vars_os().map(|(name, _)| name)) {
            let text = format!("the variable {name} is no setting; see whether it is misspelt");
            self.warn("config", text);
        }
        let whole = faults.is_empty();
        for fault in faults {
            self.failure("config", fault);
        }
        if !config.settings.judge.command.is_empty() {
            match config.settings.judge.runs() {
                Ok(()) => self.ok(
                    "judge",
                    "its program is there; nobody else can change it or what its arguments name",
                ),
                Err(failure) => self.failure("judge", failure),
            }
        }
        if let Some(model) = config.settings.fetched {
            self.model(&place.home, model, &config.settings);
        }
        let Some(path) = config.file else {
            if whole {
                self.ok(
                    "config",
                    "there is no file; flags, environment and defaults hold",
                );
            }
            return;
        };
        let file = ancile_engine::key_file(&path);
        if file.others_write() {
            let (path, mode) = (path.display(), file.mode.unwrap_or_default());
            let text = format!(
                "`{path}` has mode {mode:04o}: others can turn the gates off; `chmod go-w` it"
            );
            self.fail("config", Exit::Refused, text);
        } else if whole {
            self.ok("config", format!("`{}` reads", path.display()));
        }
    }

    /// The model that the settings name, by loading it as a store that is opened does.
    fn model(&mut self, home: &Path, model: &FetchedModel, settings: &Settings) {
        let name = model.name;
        match model::embedder(home, model, settings) {
            Ok(_) => self.ok("model", format!("`{name}` is here and as it should be")),
            Err(failure) => self.failure("model", failure),
        }
    }

    fn layout(&mut self, home: &Path) {
        if ancile_engine::restore_pending(home) {
            let text =
                "a restore was stopped and waits for its end; `ancile serve` brings it there";
            return self.warn("home", text);
        }
        let mut whole = true;
        for part in home_parts(home).iter().filter(|part| !part.there) {
            whole = false;
            let path = part.path.display();
            let missing = |next: &str| format!("`{path}` is missing; {next}");
            match part.kind {
                PartKind::Token => {
                    let next = "make another by `ancile key create`; the operator's only a copy \
                                brings back";
                    self.warn("home", missing(next));
                }
                PartKind::Secret => {
                    let text = missing("restore it from a copy: without it the store is closed");
                    self.fail("home", Exit::Unavailable, text);
                }
                PartKind::Directory | PartKind::File => {
                    let text = missing("restore it from a copy");
                    self.fail("home", Exit::Unavailable, text);
                }
            }
        }
        if whole {
            self.ok("home", format!("`{}` has all its parts", home.display()));
        }
    }

    fn modes(&mut self, home: &Path) {
        let before = self.rows.len();
        let parts = home_parts(home);
        if parts.iter().all(|part| part.mode.is_none()) {
            let text = "not checked, since this system has no modes; see to it that only you can \
                        read `keys` and change `data` and `witness`";
            return self.warn("modes", text);
        }
        for part in parts {
            match part.kind {
                PartKind::Secret | PartKind::Token => {
                    let Some(text) = place::loose(&part) else {
                        continue;
                    };
                    if part.others_write() {
                        self.fail("modes", Exit::Refused, text);
                    } else {
                        self.warn("modes", text);
                    }
                }
                PartKind::Directory | PartKind::File => self.writable(&part),
            }
        }
        if self.rows.len() == before {
            self.ok("modes", "nobody else can read the keys or change the store");
        }
    }

    fn writable(&mut self, part: &HomePart) {
        if part.others_write() {
            let (path, mode) = (part.path.display(), part.mode.unwrap_or_default());
            let text = format!(
                "`{path}` has mode {mode:04o}: others on this machine can change it; \
                 `chmod go-w` it"
            );
            self.fail("modes", Exit::Refused, text);
        }
    }

    fn server(&mut self, place: &Place) {
        let holder = match ancile_engine::lock_holder(&place.home) {
            Ok(holder) => holder,
            Err(refusal) => return self.failure("server", refusal.into()),
        };
        let Some(holder) = holder else {
            return self.ok("server", "none runs, and nobody holds the store");
        };
        let Some(address) = place::running(&place.home) else {
            let text = format!(
                "{holder} holds the store and answers nowhere; if that lasts, end that process"
            );
            return self.warn("server", text);
        };
        let health = place.connect_openly().and_then(|c| c.get("/healthz"));
        match health {
            Ok(health) if health.get("status") == Some(&json!("ok")) => {
                self.ok("server", format!("answers at {address}"));
            }
            Ok(health) => {
                let said = print::one_line_json(&health);
                let text = format!("answers at {address}, but not as well as it may: {said}");
                self.warn(
                    "server",
                    format!("{text}; docs/operations.md says what each means"),
                );
            }
            Err(failure) => self.failure("server", failure),
        }
    }

    fn store(&mut self, home: &Path, quick: bool) {
        match ancile_engine::store_format(home) {
            Ok(format) if format.found == format.supported => {
                self.ok("format", format!("version {}", format.found));
            }
            Ok(format) => {
                let (found, supported) = (format.found, format.supported);
                let next = if found > supported {
                    "use the build that wrote it, or a newer one"
                } else {
                    "bring it up by `ancile migrate`"
                };
                let text = format!("version {found}, this build has {supported}; {next}");
                return self.fail("format", Exit::Unavailable, text);
            }
            Err(refusal) => return self.failure("format", refusal.into()),
        }
        match ancile_engine::witnessed_groups(home) {
            Ok(groups) => self.ok(
                "witness",
                format!("has seen {groups} groups, signed by our key"),
            ),
            Err(refusal) => {
                self.fail("witness", Exit::Damaged, refusal.outside);
            }
        }
        if quick {
            return;
        }
        match audit::verify(home, None) {
            Ok(answer) if answer.exit == Exit::Done => {
                self.ok(
                    "integrity",
                    "every leaf, tree, content and the witness fit together",
                );
            }
            Ok(answer) => {
                let problems = answer.value.get("problems").and_then(Value::as_array);
                let first = problems.and_then(|all| all.first()).and_then(Value::as_str);
                let text = format!(
                    "{}; `ancile audit verify` says all",
                    first.unwrap_or("the store does not verify")
                );
                self.fail("integrity", Exit::Damaged, text);
            }
            Err(failure) => self.failure("integrity", failure),
        }
    }

    fn space(&mut self, what: &str, path: &Path) {
        if !path.exists() {
            // That was said.
            return;
        }
        let free = match free_bytes(path) {
            Ok(free) => free,
            Err(fault) => {
                let text = format!("free space for {what} was not checked: {fault}; look at it");
                return self.warn("disk", text);
            }
        };
        let mib = free / MIB;
        let text = format!("{mib} MiB are free for {what}");
        let next = "free some, or move it to a larger disk";
        match space_status(free) {
            Status::Ok => self.ok("disk", text),
            Status::Warn => self.warn("disk", format!("{text}; {next}")),
            Status::Fail => self.fail("disk", Exit::Unavailable, format!("{text}; {next}")),
        }
    }

    fn answer(self) -> Answer {
        let mut text = String::new();
        for (status, check, said) in &self.rows {
            let status = status.name();
            _ = writeln!(text, "{status:<5} {check}: {}", print::line(said));
        }
        let count = |is| {
            self.rows
                .iter()
                .filter(|(status, ..)| *status == is)
                .count()
        };
        let (warned, failed) = (count(Status::Warn), count(Status::Fail));
        _ = writeln!(text, "failed: {failed}, warned: {warned}");
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|(status, check, said)| {
                json!({"check": check, "status": status.name(), "text": said})
            })
            .collect();
        let value = json!({"ok": failed == 0, "checks": rows});
        Answer {
            value,
            text,
            exit: self.exit,
        }
    }
}

/// Bytes that are free for this user where a path lies.
#[cfg(unix)]
fn free_bytes(path: &Path) -> std::io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// The same on systems where it is not asked for.
#[cfg(not(unix))]
fn free_bytes(_: &Path) -> std::io::Result<u64> {
    Err(std::io::Error::other("this build does not ask this system"))
}

/// How so many free bytes are.
const fn space_status(free: u64) -> Status {
    match free {
        ..FREE_FAIL => Status::Fail,
        FREE_FAIL..FREE_WARN => Status::Warn,
        _ => Status::Ok,
    }
}

const MIB: u64 = 1_048_576;
/// Below this many free bytes writes are about to fail.
const FREE_FAIL: u64 = 64 * MIB;
/// Below this many free bytes it is time to make room.
const FREE_WARN: u64 = 1_024 * MIB;

#[cfg(test)]
mod tests {
    use super::{FREE_FAIL, FREE_WARN, Status, space_status};

    #[test]
    fn little_space_is_warned_of_and_none_is_a_fault() {
        for (free, status) in [
            (0, Status::Fail),
            (FREE_FAIL - 1, Status::Fail),
            (FREE_FAIL, Status::Warn),
            (FREE_WARN - 1, Status::Warn),
            (FREE_WARN, Status::Ok),
        ] {
            assert_eq!(space_status(free), status, "{free}");
        }
    }
}
