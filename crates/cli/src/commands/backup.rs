// SPDX-License-Identifier: MIT OR Apache-2.0
//! Backups, and restoring them.

use crate::failure::{Exit, Failure};
use crate::place::Place;
use crate::print::{self, Answer};
use ancile_engine::{BackupOptions, Kept, Present, Restored};
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// `ancile backup`
#[derive(Args)]
pub struct Backup {
    /// The directory to make; best on another disk
    dir: PathBuf,
    /// Copy the keys too: whoever has the backup then has all rights
    #[arg(long)]
    with_keys: bool,
    /// Copy a store that does not verify in spite of that
    #[arg(long)]
    accept_damage: bool,
}

/// `ancile restore`
#[derive(Args)]
pub struct Restore {
    /// A directory that `ancile backup` made
    dir: PathBuf,
    /// Restore although what happened since the backup is lost; without, it is only said
    #[arg(long)]
    accept_loss: bool,
}

/// Runs `ancile backup`.
pub fn backup(place: &Place, args: &Backup) -> Result<Answer, Failure> {
    let options = BackupOptions {
        with_keys: args.with_keys,
        accept_damage: args.accept_damage,
    };
    let made = ancile_engine::backup(&place.home, &args.dir, options)?;
    let dir = args.dir.display().to_string();
    let value = json!({
        "backup": dir, "groups": made.groups, "epoch": made.epoch, "leaves": made.leaves,
        "tenants": made.tenants, "keys": made.keys,
        "problems": made.problems,
    });
    let keys = if made.keys {
        "the keys are in it: keep it as they are kept"
    } else {
        "the keys are not in it: keep a copy of them elsewhere"
    };
    let verifies = match made.problems {
        0 => "the copy verifies".to_owned(),
        n => format!("the copy has {n} problems; ancile audit verify says which"),
    };
    let text = format!(
        "made {}: {} groups, {} leaves of {} tenants; {verifies}\n{keys}\n",
        print::line(&dir),
        made.groups,
        made.leaves,
        made.tenants
    );
    let mut answer = Answer::with(value, text);
    if made.problems > 0 {
        answer.exit = Exit::Damaged;
    }
    Ok(answer)
}

/// Runs `ancile restore`.
pub fn restore(place: &Place, args: &Restore) -> Result<Answer, Failure> {
    let restored = ancile_engine::restore(&place.home, &args.dir, args.accept_loss)?;
    let mut text = String::new();
    losses(&restored, &mut text);
    if restored.done {
        kept(&restored, &mut text);
        let epoch = restored.epoch;
        _ = writeln!(
            text,
            "restored; witness epoch {epoch} began, which the log says"
        );
    } else {
        _ = writeln!(
            text,
            "nothing was done; --accept-loss restores in spite of that"
        );
    }
    let mut answer = Answer::with(value(&restored), text);
    if !restored.done {
        answer.exit = Exit::Refused;
    }
    Ok(answer)
}

fn losses(restored: &Restored, text: &mut String) {
    let groups = restored.backup.groups;
    _ = match &restored.present {
        Present::Later => writeln!(text, "the present store went on from the backup"),
        Present::Other => writeln!(
            text,
            "the present store has another history than the backup: what differs is lost"
        ),
        Present::None => writeln!(text, "there is no present store"),
        Present::Unreadable(why) => writeln!(
            text,
            "the present store cannot be read, so that what is lost of it is not known: {}",
            print::line(why)
        ),
    };
    match restored.groups_lost {
        Some(lost) => {
            _ = writeln!(
                text,
                "lost: {lost} witnessed groups after the {groups} of the backup"
            );
        }
        None => {
            _ = writeln!(
                text,
                "no witness says how many groups came after the {groups}"
            );
        }
    }
    for (tenant, loss) in &restored.lost {
        let (entries, events) = (loss.entries, loss.events);
        _ = write!(text, "lost of tenant {tenant}: {entries} entries");
        if let (Some(first), Some(last)) = (loss.first, loss.last) {
            _ = write!(
                text,
                ", {} (leaf {}) to {} (leaf {})",
                first.0, first.1, last.0, last.1
            );
        }
        _ = writeln!(text, "; {events} other events");
    }
}

fn kept(restored: &Restored, text: &mut String) {
    let Kept {
        erased,
        sessions,
        keys,
        mandates,
        operators,
        revocations_known,
        erasures_known,
    } = &restored.kept;
    _ = writeln!(text, "erased again: {erased} entries");
    _ = writeln!(text, "closed: {sessions} sessions that were open");
    _ = writeln!(text, "revoked again: {keys} keys, {mandates} mandates");
    for id in operators {
        _ = writeln!(
            text,
            "operator key {id} was revoked since and works again, for no other operator is left; \
             make another, then revoke it"
        );
    }
    if restored.present == Present::None || !revocations_known {
        text.push_str(
            "the present store does not tell what was revoked since: revoke it again by hand\n",
        );
    }
    if !erasures_known {
        text.push_str(
            "the list of erasures beside the witness is gone: erase again what was erased since\n",
        );
    }
    text.push_str(
        "uses of mandates and answers to asks count from the backup; keys rotated since work as \
         before, and those made since are unknown\n",
    );
}

/// An entry that is lost: its id and its leaf.
fn entry<T: std::fmt::Display>(lost: Option<(T, u64)>) -> Value {
    let value = lost.map(|(id, leaf)| json!({"id": id.to_string(), "leaf": leaf}));
    value.unwrap_or(Value::Null)
}

fn value(restored: &Restored) -> Value {
    let lost: serde_json::Map<String, Value> = restored
        .lost
        .iter()
        .map(|(tenant, loss)| {
            let value = json!({
                "entries": loss.entries, "first": entry(loss.first), "last": entry(loss.last),
                "events": loss.events,
            });
            (tenant.to_string(), value)
        })
        .collect();
    let present = match &restored.present {
        Present::Later => "later",
        Present::Other => "other",
        Present::None => "none",
        Present::Unreadable(_) => "unreadable",
    };
    let kept = &restored.kept;
    json!({
        "restored": restored.done, "present": present, "groups": restored.backup.groups,
        "groups_lost": restored.groups_lost, "lost": lost, "epoch": restored.epoch,
        "erased_again": kept.erased, "sessions_closed": kept.sessions,
        "keys_revoked_again": kept.keys, "mandates_revoked_again": kept.mandates,
        "operators_not_revoked": kept.operators,
        "revocations_known": kept.revocations_known, "erasures_known": kept.erasures_known,
    })
}
