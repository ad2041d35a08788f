// SPDX-License-Identifier: MIT OR Apache-2.0
//! Export, import, and chat messages.

use super::sessions::InSession;
use super::{file_or_stdin, given, json_of};
use crate::client::query;
use crate::failure::Failure;
use crate::place::{KeyRole, Place};
use crate::print::{self, Answer};
use clap::Args;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// Entries that one request imports.
const BATCH: usize = 64;

/// `ancile export`
#[derive(Args)]
pub struct Export {
    /// The file to write; it must not be there
    file: PathBuf,
    /// The namespace
    #[arg(long, default_value = "main")]
    namespace: String,
}

/// Runs `ancile export`: a line of JSON for each entry, and one with the checkpoint for each page.
pub fn export(place: &Place, args: &Export) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::User)?;
    let failed = |fault: &std::io::Error| Failure::file(&args.file, "write", fault);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&args.file).map_err(|e| failed(&e))?;
    let (mut entries, mut cursor) = (0_u64, None);
    loop {
        let part = query(&[
            ("namespace", Some(args.namespace.clone())),
            ("cursor", cursor),
            ("limit", Some("200".to_owned())),
        ]);
        let lines = server.text(&format!("/v1/export{part}"))?;
        file.write_all(lines.as_bytes()).map_err(|e| failed(&e))?;
        let last = lines.lines().last().unwrap_or_default();
        let end = json_of(last, "the last line of the export")?;
        let count = lines.lines().count().saturating_sub(1);
        entries = entries.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        cursor = end.get("next").and_then(Value::as_str).map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    file.sync_all().map_err(|e| failed(&e))?;
    let name = args.file.display().to_string();
    let text = format!("exported {entries} entries to {}", print::line(&name));
    Ok(Answer::with(json!({ "exported": entries }), text))
}

/// `ancile import`
#[derive(Args)]
pub struct Import {
    /// An export, or lines of JSON with `kind` and `text`; `-`: standard input
    file: String,
    /// The namespace
    #[arg(long, default_value = "main")]
    namespace: String,
}

/// Runs `ancile import`: whatever the lines say of themselves, the entries are class 4.
pub fn import(place: &Place, args: &Import) -> Result<Answer, Failure> {
    let text = file_or_stdin(&args.file)?;
    let (mut entries, mut skipped) = (Vec::new(), 0_usize);
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let what = format!("line {} of the import", at.saturating_add(1));
        match entry_of(&json_of(line, &what)?) {
            Some(entry) => entries.push(entry),
            None => skipped = skipped.saturating_add(1),
        }
    }
    // An export has the newest first.
    entries.reverse();
    let server = place.connect(KeyRole::User)?;
    let mut written = Vec::new();
    for some in entries.chunks(BATCH) {
        let body = json!({ "namespace": args.namespace, "entries": some });
        let send = || server.post("/v1/import", &body);
        let mut answer = taken(send, std::thread::sleep)?;
        if let Some(list) = answer.get_mut("written").and_then(Value::as_array_mut) {
            written.append(list);
        }
    }
    let so = |what: &str| {
        let is = |w: &&Value| w.get(what) == Some(&Value::Bool(true));
        written.iter().filter(is).count()
    };
    let (count, shelved, pending) = (written.len(), so("quarantined"), so("pending"));
    let value = json!({
        "imported": count, "quarantined": shelved, "pending": pending, "skipped": skipped,
    });
    let held = match pending {
        0 => String::new(),
        pending => format!(", {pending} held until they are judged"),
    };
    let text = format!(
        "imported {count} entries as class 4, {shelved} of them quarantined{held}; {skipped} lines \
         skipped: what is not in use, and the ends of pages"
    );
    Ok(Answer::with(value, text))
}

/// Sends some entries. While as many writes wait for a judge as may, waits until it got on.
fn taken(
    send: impl Fn() -> Result<Value, Failure>,
    wait: impl Fn(Duration),
) -> Result<Value, Failure> {
    let mut waited = Duration::ZERO;
    loop {
        match send() {
            Err(busy) if busy.code == JUDGE_BUSY && waited < JUDGE_WAIT_MAX => {
                if waited.is_zero() {
                    print::err("as many writes wait for the judge as may; waiting for it");
                }
                wait(JUDGE_PAUSE);
                waited = waited.saturating_add(JUDGE_PAUSE);
            }
            answer => return answer,
        }
    }
}

/// The code of the refusal while too many writes wait for a judge.
const JUDGE_BUSY: &str = "judge_busy";
/// How long an import waits before it sends the same entries again.
const JUDGE_PAUSE: Duration = Duration::from_secs(1);
/// How long it waits in all for a judge that does not get on.
const JUDGE_WAIT_MAX: Duration = Duration::from_mins(10);

/// The entry in a line: of an export where it is in use, else the line itself where it has a text.
fn entry_of(line: &Value) -> Option<Value> {
    let entry = match line.get("line").and_then(Value::as_str) {
        Some("entry") => line.get("entry")?,
        Some(_) => return None,
        None => line,
    };
    if entry
        .get("state")
        .is_some_and(|state| *state != json!("current"))
    {
        return None;
    }
    let field = |name: &str| entry.get(name).cloned().unwrap_or(Value::Null);
    entry.get("text").and_then(Value::as_str)?;
    Some(given([
        (
            "kind",
            entry
                .get("kind")
                .cloned()
                .unwrap_or_else(|| json!("memory")),
        ),
        ("text", field("text")),
        ("locator", field("locator")),
        ("task", field("task")),
        ("valid_from", field("valid_from")),
        ("valid_until", field("valid_until")),
    ]))
}

/// `ancile add`
#[derive(Args)]
pub struct Add {
    /// A file with a list of chat messages, or an object of `messages` and `facts`; `-`: standard
    /// input
    file: String,
    #[command(flatten)]
    session: InSession,
}

/// Runs `ancile add`.
pub fn add(place: &Place, args: &Add) -> Result<Answer, Failure> {
    let given = json_of(&file_or_stdin(&args.file)?, "the messages")?;
    let body = match given {
        Value::Array(_) => json!({ "messages": given }),
        other => other,
    };
    let server = place.connect(KeyRole::Host)?;
    let value = args.session.send(&server, "messages", &body)?;
    Ok(Answer::plain(value))
}

#[cfg(test)]
mod tests;
