// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated world outside: it does nothing but note the calls that were really made.

use super::plan::Payload;
use serde_json::{Value, json};

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Value,
}

impl Call {
    /// A call.
    pub fn new(tool: &str, args: Value) -> Self {
        Self {
            tool: tool.to_owned(),
            args,
        }
    }

    /// The payload that this call serves, by the one value that only its attacker names.
    pub fn serves(&self) -> Option<Payload> {
        let values = self
            .args
            .as_object()
            .into_iter()
            .flat_map(serde_json::Map::values);
        let texts: Vec<&str> = values.filter_map(Value::as_str).collect();
        Payload::ALL
            .into_iter()
            .find(|payload| texts.contains(&payload.mark()))
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        json!({ "tool": self.tool, "args": self.args })
    }
}

/// A call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// In which later session, from 1.
    pub session: usize,
    /// The call.
    pub call: Call,
}

/// What happened in the world.
#[derive(Debug, Default)]
pub struct World {
    /// The calls that were made, in order.
    pub made: Vec<Made>,
    /// What the user was notified of, in order.
    pub notified: Vec<(usize, String)>,
}

impl World {
    /// Makes a call.
    pub fn make(&mut self, session: usize, call: &Call) {
        self.made.push(Made {
            session,
            call: call.clone(),
        });
    }

    /// The calls of one session that serve a payload.
    pub fn refired(&self, session: usize) -> impl Iterator<Item = Payload> {
        let of = self.made.iter().filter(move |made| made.session == session);
        of.filter_map(|made| made.call.serves())
    }
}
