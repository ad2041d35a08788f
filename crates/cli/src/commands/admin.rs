// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys, tenants, namespaces, the manifest, and how the store stands.

use super::{PageArgs, file_or_stdin, given, json_of};
use crate::client::{Client, segment};
use crate::failure::{Exit, Failure};
use crate::place::{KeyRole, Place};
use crate::print::{self, Answer};
use crate::when;
use clap::Subcommand;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// `ancile key`
#[derive(Subcommand)]
pub enum Key {
    /// Make a key; its token is printed this once
    Create {
        /// Who it is for
        principal: String,
        /// What the principal is: user, host, agent, source, tool, scheduler or operator
        #[arg(long)]
        role: String,
        /// A namespace it reaches
        #[arg(long = "namespace", default_value = "main")]
        namespaces: Vec<String>,
        /// A channel its holder may name
        #[arg(long = "channel")]
        channels: Vec<String>,
        /// For an agent: the agent it is bound to
        #[arg(long)]
        agent: Option<String>,
        /// For a host: it relays its user's own turns
        #[arg(long)]
        relays_user: bool,
        /// When it stops working
        #[arg(long, value_parser = when::parse, value_name = "WHEN")]
        expires: Option<i64>,
    },
    /// List keys
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Make a key like another, which stops working; the new token is printed this once
    Rotate {
        /// The id of the key that ends
        id: String,
        /// How long it goes on working; at most 604800
        #[arg(long, default_value_t = 0, value_name = "SECONDS")]
        overlap: u32,
    },
    /// Revoke a key
    Revoke {
        /// The key's id
        id: String,
    },
}

/// Runs `ancile key`.
pub fn key(place: &Place, args: &Key) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::Operator)?;
    match args {
        Key::Create {
            principal,
            role,
            namespaces,
            channels,
            agent,
            relays_user,
            expires,
        } => {
            let body = given([
                ("principal", json!(principal)),
                ("role", json!(role)),
                ("namespaces", json!(namespaces)),
                ("channels", json!(channels)),
                ("agent", json!(agent)),
                ("relays_user", json!(relays_user)),
                ("expires", json!(expires)),
            ]);
            server.post("/v1/keys", &body).map(Answer::plain)
        }
        Key::List { page } => {
            let value = server.get(&format!("/v1/keys{}", page.query(&[])))?;
            let columns = [
                "id",
                "key.principal",
                "key.role",
                "key.namespaces",
                "key.channels",
                "key.expires",
                "revoked",
            ];
            Ok(Answer::page(value, &columns))
        }
        Key::Rotate { id, overlap } => {
            let path = format!("/v1/keys/{}/rotate", segment(id));
            let body = json!({ "overlap_seconds": overlap });
            server.post(&path, &body).map(Answer::plain)
        }
        Key::Revoke { id } => {
            server.post(&format!("/v1/keys/{}/revoke", segment(id)), &json!({}))?;
            let text = format!("revoked {}", print::line(id));
            Ok(Answer::with(json!({ "revoked": id }), text))
        }
    }
}

/// `ancile tenant`
#[derive(Subcommand)]
pub enum Tenant {
    /// Make a tenant; the token of its operator is printed this once
    Create {
        /// Its name
        name: String,
        /// The operator of the new tenant
        #[arg(long, default_value = "operator")]
        operator: String,
    },
    /// List tenants
    List {
        #[command(flatten)]
        page: PageArgs,
    },
}

/// Runs `ancile tenant`.
pub fn tenant(place: &Place, args: &Tenant) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::Operator)?;
    match args {
        Tenant::Create { name, operator } => {
            let body = json!({ "name": name, "operator": operator });
            server.post("/v1/tenants", &body).map(Answer::plain)
        }
        Tenant::List { page } => {
            let value = server.get(&format!("/v1/tenants{}", page.query(&[])))?;
            Ok(Answer::page(value, &["name", "namespaces", "entries"]))
        }
    }
}

/// `ancile principal`
#[derive(Subcommand)]
pub enum Principal {
    /// List the principals that keys were made for
    List {
        #[command(flatten)]
        page: PageArgs,
    },
}

/// Runs `ancile principal`.
pub fn principal(place: &Place, args: &Principal) -> Result<Answer, Failure> {
    let Principal::List { page } = args;
    let server = place.connect(KeyRole::Operator)?;
    let value = server.get(&format!("/v1/principals{}", page.query(&[])))?;
    Ok(Answer::page(value, &["name", "roles", "keys", "working"]))
}

/// `ancile namespace`
#[derive(Subcommand)]
pub enum Namespace {
    /// Make a namespace
    Create {
        /// Its name
        name: String,
        /// Who may read it; none given: every key that reaches it
        #[arg(long = "reader")]
        readers: Vec<String>,
        /// Who may write it; none given: every key that reaches it
        #[arg(long = "writer")]
        writers: Vec<String>,
    },
    /// Give a namespace other readers and writers
    Change {
        /// Its name
        name: String,
        /// Who may read it; none given: every key that reaches it
        #[arg(long = "reader")]
        readers: Vec<String>,
        /// Who may write it; none given: every key that reaches it
        #[arg(long = "writer")]
        writers: Vec<String>,
    },
    /// List namespaces
    List {
        #[command(flatten)]
        page: PageArgs,
    },
}

/// Runs `ancile namespace`.
pub fn namespace(place: &Place, args: &Namespace) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::Operator)?;
    match args {
        Namespace::Create {
            name,
            readers,
            writers,
        } => make_namespace(&server, name, readers, writers),
        Namespace::Change {
            name,
            readers,
            writers,
        } => {
            let body = json!({ "readers": readers, "writers": writers });
            server.put(&format!("/v1/namespaces/{}", segment(name)), &body)?;
            let text = format!("changed {}", print::line(name));
            Ok(Answer::with(json!({ "changed": name }), text))
        }
        Namespace::List { page } => {
            let value = server.get(&format!("/v1/namespaces{}", page.query(&[])))?;
            let columns = ["name", "readers", "writers", "reads", "writes"];
            Ok(Answer::page(value, &columns))
        }
    }
}

fn make_namespace(
    server: &Client,
    name: &str,
    readers: &[String],
    writers: &[String],
) -> Result<Answer, Failure> {
    let body = json!({ "name": name, "readers": readers, "writers": writers });
    server.post("/v1/namespaces", &body)?;
    let keys = reaching(&server.all("/v1/keys")?, name);
    let mut text = format!("made {}\n", print::line(name));
    if keys.is_empty() {
        text.push_str("no key reaches it yet: a key reaches the namespaces it was made with\n");
    } else {
        text.push_str("keys that reach it:\n");
        let columns = ["id", "key.principal", "key.role"];
        text.push_str(&print::table(&json!(keys), &columns));
    }
    let word = print::word(name);
    _ = writeln!(
        text,
        "make one: ancile key create PRINCIPAL --role ROLE --namespace {word}"
    );
    for (what, list) in [("read", readers), ("write", writers)] {
        if !list.is_empty() {
            let who = print::line(&list.join(", "));
            _ = writeln!(text, "of their principals may {what} it: {who}");
        }
    }
    let ids: Vec<&Value> = keys.iter().filter_map(|key| key.get("id")).collect();
    Ok(Answer::with(
        json!({ "namespace": name, "keys": ids }),
        text,
    ))
}

/// The keys of a list that reach a namespace and are not revoked.
fn reaching(keys: &[Value], namespace: &str) -> Vec<Value> {
    let reaches = |item: &&Value| {
        let named = item.pointer("/key/namespaces").and_then(Value::as_array);
        let named = named.is_some_and(|all| all.iter().any(|one| one == namespace));
        named && item.get("revoked") != Some(&Value::Bool(true))
    };
    keys.iter().filter(reaches).cloned().collect()
}

/// `ancile quota`
#[derive(Subcommand)]
pub enum Quota {
    /// List quotas with what is kept under each
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Set the most that may be kept; without a limit, take the quota away
    Set {
        /// Of a namespace; with a principal, of that one in it
        #[arg(long, required_unless_present = "principal")]
        namespace: Option<String>,
        /// Of a principal
        #[arg(long)]
        principal: Option<String>,
        /// Most entries
        #[arg(long)]
        entries: Option<u64>,
        /// Most bytes of contents
        #[arg(long)]
        bytes: Option<u64>,
    },
}

/// Runs `ancile quota`.
pub fn quota(place: &Place, args: &Quota) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::Operator)?;
    match args {
        Quota::List { page } => {
            let value = server.get(&format!("/v1/quotas{}", page.query(&[])))?;
            let columns = [
                "namespace",
                "principal",
                "entries",
                "used_entries",
                "bytes",
                "used_bytes",
                "untrusted_entries",
            ];
            Ok(Answer::page(value, &columns))
        }
        Quota::Set {
            namespace,
            principal,
            entries,
            bytes,
        } => {
            let body = given([
                ("namespace", json!(namespace)),
                ("principal", json!(principal)),
                ("entries", json!(entries)),
                ("bytes", json!(bytes)),
            ]);
            server.put("/v1/quotas", &body)?;
            Ok(Answer::plain(json!({ "quota": body })))
        }
    }
}

/// `ancile manifest`
#[derive(Subcommand)]
pub enum Manifest {
    /// Show the tool manifest
    Show,
    /// Set the tool manifest; mandates end for tools that it changes
    Set {
        /// A file with the manifest; `-`: standard input
        file: String,
    },
}

/// Runs `ancile manifest`.
pub fn manifest(place: &Place, args: &Manifest) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::Operator)?;
    match args {
        Manifest::Show => {
            let value = server.get("/v1/manifest")?;
            let pretty = serde_json::to_string_pretty(&value).unwrap_or_default();
            Ok(Answer::with(value, print::lines(&pretty, 0)))
        }
        Manifest::Set { file } => {
            let body = json_of(&file_or_stdin(file)?, "the manifest")?;
            server.put("/v1/manifest", &body).map(Answer::plain)
        }
    }
}

/// Runs `ancile checkpoint`.
pub fn checkpoint(place: &Place) -> Result<Answer, Failure> {
    let value = place.connect(KeyRole::User)?.get("/v1/checkpoint")?;
    let note = match &value {
        Value::String(note) => note.clone(),
        other => other.to_string(),
    };
    Ok(Answer::with(
        json!({ "checkpoint": note }),
        print::lines(&note, 0),
    ))
}

/// Runs `ancile integrity`: exit 0 where all holds, 5 where something is damaged.
pub fn integrity(place: &Place) -> Result<Answer, Failure> {
    let value = place.connect(KeyRole::Operator)?.get("/v1/integrity")?;
    let whole = value.get("integrity").and_then(Value::as_str) == Some("verified");
    let exit = if whole { Exit::Done } else { Exit::Damaged };
    let text = print::block(&value, 0);
    Ok(Answer { value, text, exit })
}

/// Runs `ancile health`: exit 0 where all holds, 5 where something is damaged, 6 without a server.
pub fn health(place: &Place) -> Result<Answer, Failure> {
    let value = place.connect_openly()?.get("/healthz")?;
    let field = |name: &str| value.get(name).and_then(Value::as_str);
    let mut text = print::block(&value, 0);
    let damaged = field("integrity") == Some("damaged");
    if damaged {
        text.push_str("something was edited or lost; ancile audit verify says what\n");
    }
    if field("integrity") == Some("pending") {
        text.push_str("the store is still compared with its log; side effects ask until then\n");
    }
    if field("gates").is_some() {
        text.push_str("the gates only log: no decision binds\n");
    }
    let exit = match field("status") {
        Some("ok") => Exit::Done,
        _ if damaged => Exit::Damaged,
        _ => Exit::Unavailable,
    };
    Ok(Answer { value, text, exit })
}
