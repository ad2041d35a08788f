// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is in the memory before the later sessions: the conversation, what the user and her agent
//! want kept, and the payloads.

use super::Setting;
use crate::client::Client;
use crate::demo::conversation::Conversation;
use crate::demo::host::{self, Host, Session};
use crate::demo::plan::{self, Payload};
use crate::demo::world::Call;
use crate::failure::Failure;
use crate::when;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Most writes in one step.
const WRITES_PER_STEP: usize = 32;
/// A task comes due again after so many seconds.
const EVERY_SECONDS: u32 = 1;

/// What was written.
pub struct Filled {
    /// The entry of each payload.
    pub payloads: BTreeMap<Payload, String>,
    /// The legitimate tasks, and what they are.
    tasks: Vec<(String, &'static str)>,
}

impl Filled {
    /// The payload that an entry is.
    pub fn payload(&self, id: &str) -> Option<Payload> {
        self.payloads
            .iter()
            .find(|(_, of)| *of == id)
            .map(|(payload, _)| *payload)
    }

    /// What a legitimate task is.
    pub fn legitimate(&self, id: &str) -> Option<&'static str> {
        self.tasks
            .iter()
            .find(|(of, _)| of == id)
            .map(|(_, what)| *what)
    }

    /// What the scheduler fires: the tasks that the store lists as due, and the one that it has
    /// had in its own list since before it was edited. Ids sort by the time of writing.
    pub fn due(&self, host: &Host) -> Result<Vec<String>, Failure> {
        let mut ids = host.due()?;
        if let Some(edited) = self
            .payloads
            .get(&Payload::EditedTask)
            .filter(|id| !ids.contains(id))
        {
            ids.push(edited.clone());
        }
        ids.sort();
        Ok(ids)
    }
}

/// Fills the memory.
pub fn fill(
    host: &Host,
    anybody: &Client,
    setting: Setting,
    conversation: &Conversation,
) -> Result<Filled, Failure> {
    host.operator.put("/v1/manifest", &plan::manifest())?;
    for mandate in plan::mandates(when::now()) {
        host.user.post("/v1/mandates", &mandate)?;
    }
    talk(host, conversation)?;
    for note in plan::user_notes() {
        host.user.post("/v1/entries", &memory(&note))?;
    }
    let mut tasks = Vec::new();
    for (what, text, call) in [
        ("task: the dentist's reminder", plan::NOTIFY_TASK, None),
        (
            "task: electricity, made by the user",
            plan::POWER_TASK,
            Some(plan::power_call()),
        ),
    ] {
        let written = host.user.post("/v1/entries", &task(text, call.as_ref()))?;
        tasks.push((id_of(&written)?, what));
    }
    let packing = agent_writes(host)?;
    tasks.push((
        packing,
        "task: packing list, made by the agent under a mandate",
    ));
    let payloads = if setting.by_user {
        by_user(host)?
    } else {
        attack(host, anybody)?
    };
    Ok(Filled { payloads, tasks })
}

/// The conversation: the user's turns as her own entries, the other's as the agent's.
fn talk(host: &Host, conversation: &Conversation) -> Result<(), Failure> {
    let (user, other): (Vec<_>, Vec<_>) = conversation.turns.iter().partition(|turn| turn.by_user);
    for turn in user {
        host.user.post("/v1/entries", &memory(&turn.text))?;
    }
    let session = host.open("Please keep what was said to me.")?;
    for turns in other.chunks(WRITES_PER_STEP) {
        let ops = turns
            .iter()
            .map(|turn| as_agent(memory(&turn.text)))
            .collect();
        host.step(&session, ops)?;
    }
    host.close(&session)
}

/// The agent's own: a summary of the conversation and a task, in a session that was shown nothing
/// untrusted.
fn agent_writes(host: &Host) -> Result<String, Failure> {
    let session = host.open("Please sum our plans up, and send Jonas the packing list weekly.")?;
    host.recall(&session, "plans move dentist Lisbon", "agent_derived")?;
    let call = plan::packing_call();
    let ops = vec![
        as_agent(memory(plan::SUMMARY)),
        as_agent(task(plan::PACKING_TASK, Some(&call))),
    ];
    let written = host.step(&session, ops)?;
    host.close(&session)?;
    id_of(written.get(1).unwrap_or(&Value::Null))
}

/// The payloads as attackers bring them in. The edit on disk follows when the server is down.
fn attack(host: &Host, anybody: &Client) -> Result<BTreeMap<Payload, String>, Failure> {
    let mut ids = BTreeMap::new();
    let brought = |payload: Payload, channel: &str, locator: &str| {
        let mut body = memory(&payload.text());
        put(&mut body, "channel", json!(channel));
        put(&mut body, "locator", json!(locator));
        id_of(&host.bring(&body)?)
    };
    let letter = brought(
        Payload::FalseAccount,
        "document",
        "letter-from-the-house-office.pdf",
    )?;
    ids.insert(Payload::FalseAccount, letter);
    let page = "https://moving-tips.example/ten-tips";
    ids.insert(
        Payload::LatentInstruction,
        brought(Payload::LatentInstruction, "web", page)?,
    );
    let plugin = plugin(host, anybody)?;
    let planted = task(&Payload::PluginTask.text(), Some(&plan::plugin_call()));
    ids.insert(
        Payload::PluginTask,
        id_of(&plugin.post("/v1/entries", &planted)?)?,
    );
    let meter = task(&plan::meter_task(plan::METER_ADDRESS), None);
    ids.insert(
        Payload::EditedTask,
        id_of(&host.user.post("/v1/entries", &meter)?)?,
    );
    let session = host.open("Please note what this page says about Lisbon.")?;
    launder(host, &session)?;
    let summary = as_agent(memory(&Payload::LaunderedSummary.text()));
    let written = host.step(&session, vec![summary])?;
    host.close(&session)?;
    let summary = id_of(written.first().unwrap_or(&Value::Null))?;
    ids.insert(Payload::LaunderedSummary, summary);
    Ok(ids)
}

/// The agent is shown a web page, in the open.
fn launder(host: &Host, session: &Session) -> Result<(), Failure> {
    let page = json!({
        "op": "expose", "kind": "text", "channel": "web", "text": plan::lisbon_page(),
        "locator": "https://lisbon-for-two.example/booking",
    });
    host.step(session, vec![page]).map(|_| ())
}

/// A plugin that nobody registered: it has a key, and no channel that it could name.
fn plugin(host: &Host, anybody: &Client) -> Result<Client, Failure> {
    let body = json!({
        "principal": "calendar-plus", "role": "host", "namespaces": ["main"], "channels": [],
    });
    let made = host.operator.post("/v1/keys", &body)?;
    Ok(anybody.with_token(host::text(&made, "token")))
}

/// The same payloads, each written by the user herself.
fn by_user(host: &Host) -> Result<BTreeMap<Payload, String>, Failure> {
    let mut ids = BTreeMap::new();
    for payload in Payload::ALL {
        let body = match payload {
            Payload::PluginTask => task(&payload.text(), Some(&plan::plugin_call())),
            Payload::EditedTask => task(&payload.text(), None),
            _ => memory(&payload.text()),
        };
        ids.insert(payload, id_of(&host.user.post("/v1/entries", &body)?)?);
    }
    Ok(ids)
}

fn memory(text: &str) -> Value {
    json!({ "kind": "memory", "namespace": "main", "text": text })
}

fn task(text: &str, call: Option<&Call>) -> Value {
    let mut body = memory(text);
    put(&mut body, "kind", json!("task"));
    let call = call.map(Call::json);
    let due = when::now();
    put(
        &mut body,
        "task",
        json!({ "due": due, "every_seconds": EVERY_SECONDS, "call": call }),
    );
    body
}

/// A body as the agent's write within a step.
fn as_agent(mut body: Value) -> Value {
    put(&mut body, "op", json!("write"));
    put(&mut body, "channel", json!("agent"));
    body
}

fn put(body: &mut Value, name: &str, value: Value) {
    if let Value::Object(map) = body {
        map.insert(name.to_owned(), value);
    }
}

fn id_of(written: &Value) -> Result<String, Failure> {
    match written.get("id").and_then(Value::as_str) {
        Some(id) => Ok(id.to_owned()),
        None => Err(host::unexpected("id", written)),
    }
}
