// SPDX-License-Identifier: MIT OR Apache-2.0
//! The content of an entry as bytes: a memory is its text; a task is JSON of text, time and call.

use crate::api::TaskSpec;
use crate::value_json;
use ancile_core::{EntryKind, Micros};
use serde_json::json;

impl TaskSpec {
    /// When the task comes due again after it fired at a moment: the first multiple of its
    /// interval that lies later; missed runs are not made up for.
    pub(crate) fn next_due(&self, fired: Micros) -> Option<Micros> {
        let every = i64::from(self.every_seconds?)
            .checked_mul(1_000_000)
            .filter(|e| *e > 0)?;
        let behind = fired.0.saturating_sub(self.due.0).max(0);
        let runs = behind.checked_div(every)?.checked_add(1)?;
        self.due.0.checked_add(runs.checked_mul(every)?).map(Micros)
    }
}

/// A content, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    pub text: String,
    pub task: Option<TaskSpec>,
}

impl Content {
    /// The bytes that are committed to.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Some(task) = &self.task else {
            return self.text.clone().into_bytes();
        };
        json!({
            "text": self.text,
            "due": task.due.0,
            "every_seconds": task.every_seconds,
            "call": task.call.as_ref().map(value_json::call_to_json),
        })
        .to_string()
        .into_bytes()
    }

    /// Reads what [`Self::encode`] writes.
    pub(crate) fn decode(kind: EntryKind, bytes: &[u8]) -> Result<Self, String> {
        if kind != EntryKind::Task {
            let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
            return Ok(Self {
                text: text.to_owned(),
                task: None,
            });
        }
        let json: serde_json::Value = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        let text = json
            .get("text")
            .and_then(|t| t.as_str())
            .ok_or("task without text")?;
        let due = json
            .get("due")
            .and_then(serde_json::Value::as_i64)
            .ok_or("task without time")?;
        let every = match json.get("every_seconds") {
            None | Some(serde_json::Value::Null) => None,
            Some(n) => Some(
                n.as_u64()
                    .and_then(|n| u32::try_from(n).ok())
                    .ok_or("interval out of range")?,
            ),
        };
        let call = match json.get("call") {
            None | Some(serde_json::Value::Null) => None,
            Some(call) => Some(value_json::call_from_json(call)?),
        };
        let task = TaskSpec {
            due: Micros(due),
            every_seconds: every,
            call,
        };
        Ok(Self {
            text: text.to_owned(),
            task: Some(task),
        })
    }

    /// Everything that screening reads: the text, and the texts among the arguments of a call.
    pub(crate) fn screened(&self) -> String {
        let mut parts = vec![self.text.clone()];
        if let Some(call) = self.task.as_ref().and_then(|t| t.call.as_ref()) {
            call.args
                .values()
                .for_each(|value| value_json::leaves(value, &mut parts));
        }
        parts.join("\n")
    }
}
