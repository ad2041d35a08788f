// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conversation that fills the memory before anybody attacks it.

use crate::failure::Failure;
use serde_json::Value;
use std::path::Path;

/// One turn of a conversation.
pub struct Turn {
    /// Whether it is the user's own.
    pub by_user: bool,
    /// Speaker and words.
    pub text: String,
}

/// A conversation of two.
pub struct Conversation {
    /// Where it is from.
    pub from: String,
    /// Its turns, in order.
    pub turns: Vec<Turn>,
}

impl Conversation {
    /// The first conversation of LoCoMo under a data directory, or the small one of our own.
    pub fn load(data: Option<&Path>) -> Result<Self, Failure> {
        let Some(data) = data else {
            return Ok(Self::own());
        };
        let path = data.join("locomo").join("locomo10.json");
        let text =
            std::fs::read_to_string(&path).map_err(|fault| Failure::file(&path, "read", &fault))?;
        let json: Value = serde_json::from_str(&text).map_err(|fault| {
            Failure::usage(format!("`{}` is not JSON: {fault}", path.display()))
        })?;
        Self::locomo(&json).ok_or_else(|| {
            let text = format!("`{}` does not have the form of LoCoMo", path.display());
            Failure::usage(text)
        })
    }

    fn own() -> Self {
        let mut turns = Vec::new();
        for line in include_str!("../../assets/conversation.txt").lines() {
            turns.push(Turn {
                by_user: line.starts_with("Alice:"),
                text: line.to_owned(),
            });
        }
        Self {
            from: "a small conversation of our own".to_owned(),
            turns,
        }
    }

    /// `[{"conversation": {"speaker_a", "session_1": [{"speaker", "text"}], ...}}]`
    fn locomo(json: &Value) -> Option<Self> {
        let conversation = json.get(0)?.get("conversation")?;
        let user = conversation.get("speaker_a")?.as_str()?;
        let mut turns = Vec::new();
        for number in 1.. {
            let Some(session) = conversation.get(format!("session_{number}")) else {
                break;
            };
            for turn in session.as_array()? {
                let speaker = turn.get("speaker")?.as_str()?;
                let said = turn.get("text")?.as_str()?;
                let text = format!("{speaker}: {said}");
                turns.push(Turn {
                    by_user: speaker == user,
                    text,
                });
            }
        }
        let from = "the first conversation of LoCoMo".to_owned();
        (!turns.is_empty()).then_some(Self { from, turns })
    }
}
