// SPDX-License-Identifier: MIT OR Apache-2.0
//! What waits for a person: asks of the act gate, and the quarantine shelf.

use super::PageArgs;
use crate::client::segment;
use crate::failure::Failure;
use crate::place::{KeyRole, Place};
use crate::print::{self, Answer};
use clap::Subcommand;
use serde_json::json;

/// `ancile approval`
#[derive(Subcommand)]
pub enum Approval {
    /// List what was asked
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one ask: the call, its digest, and why a person must say
    Show {
        /// The ask
        id: String,
    },
    /// Approve exactly this call, once
    Approve {
        /// The ask
        id: String,
        /// The digest of the call, as `approval show` prints it
        digest: String,
    },
    /// Deny it
    Deny {
        /// The ask
        id: String,
    },
}

/// Runs `ancile approval`.
pub fn approval(place: &Place, args: &Approval) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::User)?;
    let path = |id: &str| format!("/v1/approvals/{}", segment(id));
    match args {
        Approval::List { page } => {
            let value = server.get(&format!("/v1/approvals{}", page.query(&[])))?;
            let columns = [
                "id",
                "state",
                "agent",
                "call.tool",
                "call.args",
                "class",
                "expires",
            ];
            Ok(Answer::page(value, &columns))
        }
        Approval::Show { id } => server.get(&path(id)).map(Answer::plain),
        Approval::Approve { id, digest } => {
            let body = json!({ "digest": digest });
            server
                .post(&format!("{}/approve", path(id)), &body)
                .map(Answer::plain)
        }
        Approval::Deny { id } => server
            .post(&format!("{}/deny", path(id)), &json!({}))
            .map(Answer::plain),
    }
}

/// `ancile quarantine`
#[derive(Subcommand)]
pub enum Quarantine {
    /// List the shelf; texts are shown to people only
    List {
        /// The namespace
        #[arg(long, default_value = "main")]
        namespace: String,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Let exactly this entry be recalled
    Release {
        /// The entry
        id: String,
        /// Its record hash, as `quarantine list` prints it
        digest: String,
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// Take exactly this entry away for good
    Discard {
        /// The entry
        id: String,
        /// Its record hash, as `quarantine list` prints it
        digest: String,
    },
}

/// What comes after a list of the shelf.
const NEXT: &str = "then: ancile quarantine release ID DIGEST --reason TEXT, or ancile quarantine \
                    discard ID DIGEST";

/// Runs `ancile quarantine`.
pub fn quarantine(place: &Place, args: &Quarantine) -> Result<Answer, Failure> {
    let path = |id: &str, verb: &str| format!("/v1/quarantine/{}/{verb}", segment(id));
    match args {
        Quarantine::List { namespace, page } => {
            let query = page.query(&[("namespace", Some(namespace.clone()))]);
            let server = place.connect(KeyRole::User)?;
            let value = server.get(&format!("/v1/quarantine{query}"))?;
            let columns = [
                "entry.id",
                "entry.hash as digest",
                "entry.channel",
                "reason",
                "rules",
                "since",
                "entry.text",
            ];
            Ok(Answer::page(value, &columns).note(NEXT))
        }
        Quarantine::Release { id, digest, reason } => {
            let body = json!({ "digest": digest, "reason": reason });
            let server = place.connect(KeyRole::User)?;
            server.post(&path(id, "release"), &body).map(Answer::plain)
        }
        Quarantine::Discard { id, digest } => {
            let server = place.connect(KeyRole::User)?;
            server.post(&path(id, "discard"), &json!({ "digest": digest }))?;
            let text = format!("discarded {}", print::line(id));
            Ok(Answer::with(json!({ "discarded": id }), text))
        }
    }
}
