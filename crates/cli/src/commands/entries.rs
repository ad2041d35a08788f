// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing, recalling and reading entries.

use super::sessions::MaybeSession;
use super::{PageArgs, given, text_or_stdin};
use crate::client::segment;
use crate::failure::{Exit, Failure};
use crate::place::{KeyRole, Place};
use crate::print::{self, Answer};
use crate::when;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// `ancile write`
#[derive(Args)]
pub struct Write {
    /// The text; `-`: standard input
    text: String,
    /// What it is for: memory or context_file
    #[arg(long, default_value = "memory")]
    kind: String,
    /// The namespace; without it main, or that of the session
    #[arg(long)]
    namespace: Option<String>,
    /// The way it came in, where the key may say so: paste, document, web and the like; agent for
    /// what the agent of a session writes
    #[arg(long)]
    channel: Option<String>,
    /// Where it came from
    #[arg(long)]
    locator: Option<String>,
    /// The field of a registered source it came from
    #[arg(long, value_parser = source_field, value_name = "SOURCE/TOOL/FIELD")]
    field: Option<(String, String, String)>,
    /// A record hash it was derived from
    #[arg(long = "parent", value_name = "HASH")]
    parents: Vec<String>,
    /// The entry it supersedes
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    /// Not recalled before this moment
    #[arg(long, value_parser = when::parse, value_name = "WHEN")]
    from: Option<i64>,
    /// Not recalled from this moment on
    #[arg(long, value_parser = when::parse, value_name = "WHEN")]
    until: Option<i64>,
    #[command(flatten)]
    within: MaybeSession,
}

fn source_field(text: &str) -> Result<(String, String, String), String> {
    match text.split('/').collect::<Vec<_>>().as_slice() {
        [source, tool, field] => Ok(((*source).into(), (*tool).into(), (*field).into())),
        _ => Err("write source/tool/field".to_owned()),
    }
}

/// The namespace that a request names: none where its session has one.
fn namespace(given: Option<&str>, in_session: bool) -> Value {
    match given {
        None if in_session => Value::Null,
        given => json!(given.unwrap_or(NAMESPACE)),
    }
}

/// The namespace that a first run makes.
const NAMESPACE: &str = "main";

/// Runs `ancile write`.
pub fn write(place: &Place, args: &Write) -> Result<Answer, Failure> {
    let text = text_or_stdin(&args.text)?;
    let parents = listed(&args.parents);
    let field = args
        .field
        .as_ref()
        .map(|(source, tool, field)| json!({ "source": source, "tool": tool, "field": field }));
    let session = args.within.session();
    let body = given([
        ("op", json!(session.as_ref().map(|_| "write"))),
        ("kind", json!(args.kind)),
        (
            "namespace",
            namespace(args.namespace.as_deref(), session.is_some()),
        ),
        ("channel", json!(args.channel)),
        ("text", json!(text)),
        ("locator", json!(args.locator)),
        ("field", json!(field)),
        ("parents", parents),
        ("supersedes", json!(args.supersedes)),
        ("valid_from", json!(args.from)),
        ("valid_until", json!(args.until)),
    ]);
    let (value, person) = match session {
        Some(session) => {
            let server = place.connect(KeyRole::Host)?;
            let answer = session.one(&server, &body)?;
            (Value::Object(answer), server.speaks_for_a_person())
        }
        None => {
            let server = place.connect(KeyRole::User)?;
            let value = server.post("/v1/entries", &body)?;
            (value, server.speaks_for_a_person())
        }
    };
    Ok(Answer::seen(value, person))
}

/// `ancile recall`. In a session what is returned counts as shown.
#[derive(Args)]
pub struct Recall {
    /// The words to look for
    query: String,
    /// The namespace; without it main, or that of the session
    #[arg(long)]
    namespace: Option<String>,
    /// Most entries
    #[arg(long)]
    k: Option<u32>,
    /// Most tokens
    #[arg(long)]
    tokens: Option<u32>,
    /// The weakest class to show: user_authored, approved_source, agent_derived or untrusted
    #[arg(long, value_name = "CLASS")]
    max_class: Option<String>,
    /// Only entries of this kind: memory, task or context_file; may be given several times
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// Only entries that came in by this channel; may be given several times
    #[arg(long = "channel", value_name = "CHANNEL")]
    channels: Vec<String>,
    /// Only entries made from this moment on
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    created_from: Option<i64>,
    /// Only entries made before this moment
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    created_until: Option<i64>,
    /// The memory as it was at this moment
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    as_of: Option<i64>,
    /// Say why each entry has its rank; outside a session
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    within: MaybeSession,
}

/// Some texts, or nothing.
fn listed(texts: &[String]) -> Value {
    match texts {
        [] => Value::Null,
        texts => json!(texts),
    }
}

/// Runs `ancile recall`.
pub fn recall(place: &Place, args: &Recall) -> Result<Answer, Failure> {
    let session = args.within.session();
    let body = given([
        ("query", json!(args.query)),
        (
            "namespace",
            namespace(args.namespace.as_deref(), session.is_some()),
        ),
        ("k", json!(args.k)),
        ("tokens", json!(args.tokens)),
        ("max_class", json!(args.max_class)),
        ("kinds", listed(&args.kinds)),
        ("channels", listed(&args.channels)),
        ("created_from", json!(args.created_from)),
        ("created_until", json!(args.created_until)),
        ("as_of", json!(args.as_of)),
        ("explain", json!(args.explain.then_some(true))),
    ]);
    let value = match session {
        Some(session) => session.send(&*place.connect(KeyRole::Host)?, "recall", &body)?,
        None => place.connect(KeyRole::User)?.post("/v1/recall", &body)?,
    };
    let text = pack(&value);
    Ok(Answer::with(value, text))
}

/// A pack for people: each entry under a line that says where it came from.
fn pack(value: &Value) -> String {
    let mut out = String::new();
    let items = value.get("items").and_then(Value::as_array);
    for item in items.into_iter().flatten() {
        let field = |name: &str| print::cell(name, item.get(name).unwrap_or(&Value::Null));
        let text = item.get("text").and_then(Value::as_str).unwrap_or_default();
        let head = ["class", "channel", "locator", "id", "created"]
            .map(field)
            .join("  ");
        _ = write!(out, "{head}\n{}\n", print::lines(text, 2));
    }
    let count = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
    _ = writeln!(
        out,
        "{} slots, {} of them class 4; {} tokens, {} of them class 4; {} withheld; served by {}",
        count("slots_used"),
        count("untrusted_slots"),
        count("tokens_used"),
        count("untrusted_tokens"),
        count("withheld"),
        value
            .get("served_by")
            .and_then(Value::as_str)
            .unwrap_or("-"),
    );
    out
}

/// `ancile entry`
#[derive(Subcommand)]
pub enum Entry {
    /// Show an entry
    Show {
        /// The entry
        id: String,
        /// Show the proof that it is in the log instead
        #[arg(long)]
        proof: bool,
    },
    /// Destroy the content of an entry for good; its record stays
    Erase {
        /// The entry
        id: String,
    },
    /// Answer for a class 4 memory: a copy that is class 3 to you stands in its place
    Endorse {
        /// The entry
        id: String,
        /// Its record hash, as `entry show` prints it
        digest: String,
        /// A part of its text, spelled the same, that calls may rest on; may be given more often
        #[arg(long = "value", value_name = "TEXT")]
        values: Vec<String>,
    },
    /// List the entries of a namespace
    List {
        /// The namespace
        #[arg(long, default_value = "main")]
        namespace: String,
        #[command(flatten)]
        page: PageArgs,
    },
}

/// Runs `ancile entry`.
pub fn entry(place: &Place, args: &Entry) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::User)?;
    match args {
        Entry::Show { id, proof } => {
            let part = if *proof { "/proof" } else { "" };
            let value = server.get(&format!("/v1/entries/{}{part}", segment(id)))?;
            let broken = value.get("state").and_then(Value::as_str) == Some("broken");
            let mut answer = Answer::seen(value, server.speaks_for_a_person());
            if broken {
                answer.exit = Exit::Damaged;
            }
            Ok(answer)
        }
        Entry::Erase { id } => {
            let path = format!("/v1/entries/{}", segment(id));
            server.delete(&path).map(Answer::plain)
        }
        Entry::Endorse { id, digest, values } => {
            let path = format!("/v1/entries/{}/endorse", segment(id));
            let body = json!({ "digest": digest, "values": values });
            server.post(&path, &body).map(Answer::plain)
        }
        Entry::List { namespace, page } => {
            let query = page.query(&[("namespace", Some(namespace.clone()))]);
            let value = server.get(&format!("/v1/entries{query}"))?;
            Ok(Answer::page(
                value,
                &["id", "kind", "class", "channel", "state", "text"],
            ))
        }
    }
}

/// `ancile lineage`
#[derive(Args)]
pub struct Lineage {
    /// The entry
    id: String,
}

/// Runs `ancile lineage`.
pub fn lineage(place: &Place, args: &Lineage) -> Result<Answer, Failure> {
    let path = format!("/v1/entries/{}/lineage", segment(&args.id));
    let value = place.connect(KeyRole::User)?.get(&path)?;
    let text = ancestry(&value);
    Ok(Answer::with(value, text))
}

/// A lineage for people: what it rests on, then each step with its origin.
fn ancestry(value: &Value) -> String {
    let cell = |of: &Value, name: &str| print::cell(name, of.get(name).unwrap_or(&Value::Null));
    let mut out = String::new();
    let broken = cell(value, "broken");
    let lineage = if broken == "-" {
        "intact".to_owned()
    } else {
        format!("broken: {broken}")
    };
    _ = writeln!(out, "class: {}\nlineage: {lineage}", cell(value, "class"));
    for name in ["roots", "weakest"] {
        _ = writeln!(out, "{name}: {}", cell(value, name));
    }
    let nodes = value.get("nodes").and_then(Value::as_array);
    for node in nodes.into_iter().flatten() {
        let origin = ["class", "channel", "principal", "locator", "id"].map(|n| cell(node, n));
        _ = writeln!(out, "  {}", origin.join("  "));
    }
    if value.get("more") == Some(&Value::Bool(true)) {
        _ = writeln!(out, "  and more; ask for the lineage of the last");
    }
    out
}
