// SPDX-License-Identifier: MIT OR Apache-2.0
//! The host around the agent: it speaks the HTTP interface, and makes only calls that it holds a
//! permit for.

use super::agent::Seen;
use super::world::{Call, World};
use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::place::{self, KeyRole};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A client for each of the four first keys.
pub struct Host {
    /// The user's.
    pub user: Client,
    /// The operator's.
    pub operator: Client,
    host: Client,
}

/// An open session.
pub struct Session {
    id: String,
    token: String,
}

/// What the act gate said of a call, and whether it was made.
#[derive(Debug, Clone)]
pub struct Said {
    /// The call.
    pub call: Call,
    /// The decision.
    pub decision: String,
    /// Rule ids and sentences.
    pub reasons: Vec<(String, String)>,
}

impl Said {
    /// Whether it was made.
    pub fn permits(&self) -> bool {
        permits(&self.decision)
    }
}

/// What became of a fired task.
pub struct Fired {
    /// The decision on the task.
    pub decision: String,
    /// Rule ids and sentences, those of its call included.
    pub reasons: Vec<(String, String)>,
    /// The session it runs in, when it may run.
    pub session: Option<Session>,
    /// The text that the agent sees.
    pub payload: Option<String>,
    /// The call it makes by itself, and what was said of it.
    pub call: Option<Said>,
}

impl Host {
    /// Takes the keys of a home.
    pub fn new(client: &Client, home: &Path) -> Result<Self, Failure> {
        let with = |role| {
            let token = place::read_key(&place::key_path(home, role), Some(role))?;
            Ok::<_, Failure>(client.with_token(token))
        };
        Ok(Self {
            user: with(KeyRole::User)?,
            operator: with(KeyRole::Operator)?,
            host: with(KeyRole::Host)?,
        })
    }

    /// Opens an interactive, observed session for the user, and shows the user's turn.
    pub fn open(&self, turn: &str) -> Result<Session, Failure> {
        let body = json!({
            "agent": "assistant", "user": "alice", "namespace": "main",
            "mode": "interactive", "observed": true,
        });
        let session = session_of(&self.host.post("/v1/sessions", &body)?)?;
        self.step(
            &session,
            vec![json!({ "op": "expose", "kind": "user_turn", "text": turn })],
        )?;
        Ok(session)
    }

    /// Sends operations, and gives their answers.
    pub fn step(&self, session: &Session, ops: Vec<Value>) -> Result<Vec<Value>, Failure> {
        let path = format!("/v1/sessions/{}/step", session.id);
        let answer = self
            .host
            .in_session(&path, &json!({ "ops": ops }), &session.token)?;
        match answer.get("results") {
            Some(Value::Array(results)) => Ok(results.clone()),
            _ => Err(unexpected("results", &answer)),
        }
    }

    /// Closes a session.
    pub fn close(&self, session: &Session) -> Result<(), Failure> {
        let path = format!("/v1/sessions/{}/close", session.id);
        self.host
            .in_session(&path, &json!({}), &session.token)
            .map(|_| ())
    }

    /// Writes an entry that the host brings in.
    pub fn bring(&self, body: &Value) -> Result<Value, Failure> {
        self.host.post("/v1/entries", body)
    }

    /// Recalls, and gives the texts that the agent sees.
    pub fn recall(
        &self,
        session: &Session,
        query: &str,
        max_class: &str,
    ) -> Result<Vec<Seen>, Failure> {
        let op = json!({ "op": "recall", "query": query, "max_class": max_class });
        let answers = self.step(session, vec![op])?;
        let items = answers
            .first()
            .and_then(|pack| pack.get("items"))
            .and_then(Value::as_array);
        let seen = items.into_iter().flatten().map(|item| Seen {
            created: item
                .get("created")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            text: item
                .get("text")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        });
        Ok(seen.collect())
    }

    /// Proposes a call, and makes it if it is permitted.
    pub fn call(
        &self,
        session: &Session,
        call: &Call,
        world: &mut World,
        number: usize,
    ) -> Result<Said, Failure> {
        let answers = self.step(session, vec![op("call", call, None)])?;
        let answer = answers.first().unwrap_or(&Value::Null);
        self.carry_out(session, call, answer, (world, number))
    }

    /// Uses the permit of an answer up, makes the call, and declares its result not shown.
    fn carry_out(
        &self,
        session: &Session,
        call: &Call,
        answer: &Value,
        (world, number): (&mut World, usize),
    ) -> Result<Said, Failure> {
        let said = Said {
            call: call.clone(),
            decision: text(answer, "decision"),
            reasons: reasons(answer),
        };
        if said.permits() {
            let permit = text(answer, "permit");
            self.step(session, vec![op("redeem", call, Some(&permit))])?;
            world.make(number, call);
            let result = json!({ "op": "result", "permit": permit, "not_shown": true });
            self.step(session, vec![result])?;
        }
        Ok(said)
    }

    /// The ids of the tasks that are due, in the order of the list.
    pub fn due(&self) -> Result<Vec<String>, Failure> {
        let page = self
            .host
            .get("/v1/tasks?namespace=main&due=true&limit=200")?;
        let items = page.get("items").and_then(Value::as_array);
        let ids = items
            .into_iter()
            .flatten()
            .filter_map(|item| item.pointer("/entry/id"));
        Ok(ids.filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Fires a task; a call that it makes by itself is carried out if permitted.
    pub fn fire(&self, id: &str, world: &mut World, number: usize) -> Result<Fired, Failure> {
        let answer = self.host.post(
            &format!("/v1/tasks/{id}/fire"),
            &json!({ "agent": "assistant", "user": "alice" }),
        )?;
        let some = |name: &str| answer.get(name).filter(|value| !value.is_null());
        let session = some("session").map(session_of).transpose()?;
        let proposed = some("proposed").map(|value| Call {
            tool: text(value, "tool"),
            args: value.get("args").cloned().unwrap_or_default(),
        });
        let call = match (&session, &proposed, some("call")) {
            (Some(session), Some(call), Some(said)) => {
                Some(self.carry_out(session, call, said, (world, number))?)
            }
            _ => None,
        };
        let mut why = reasons(&answer);
        why.extend(call.iter().flat_map(|said| said.reasons.clone()));
        Ok(Fired {
            decision: text(&answer, "decision"),
            reasons: why,
            session,
            payload: some("payload").and_then(Value::as_str).map(str::to_owned),
            call,
        })
    }
}

fn op(name: &str, call: &Call, permit: Option<&str>) -> Value {
    let mut op = Map::new();
    op.insert("op".to_owned(), json!(name));
    op.insert("tool".to_owned(), json!(call.tool));
    op.insert("args".to_owned(), call.args.clone());
    if let Some(permit) = permit {
        op.insert("permit".to_owned(), json!(permit));
    }
    Value::Object(op)
}

fn session_of(value: &Value) -> Result<Session, Failure> {
    let field = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    match (field("id"), field("token")) {
        (Some(id), Some(token)) => Ok(Session { id, token }),
        _ => Err(Failure::new(
            Exit::Unavailable,
            "demo",
            "the server opened no session",
        )),
    }
}

/// Whether a decision lets the action go ahead.
pub fn permits(decision: &str) -> bool {
    matches!(decision, "permit" | "permit_labelled")
}

/// A text field of an answer; empty if it is not there.
pub fn text(value: &Value, name: &str) -> String {
    value
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn reasons(answer: &Value) -> Vec<(String, String)> {
    let list = answer.get("reasons").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|r| (text(r, "rule"), text(r, "text")))
        .collect()
}

/// An answer without a field that it must have.
pub fn unexpected(name: &str, answer: &Value) -> Failure {
    let text = format!("an answer has no `{name}`: {answer}");
    Failure::new(Exit::Unavailable, "demo", text)
}
