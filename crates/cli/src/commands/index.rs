// SPDX-License-Identifier: MIT OR Apache-2.0
//! The index of recall.

use crate::failure::Failure;
use crate::place::{KeyRole, Place};
use crate::print::{self, Answer};
use serde_json::{Value, json};
use std::time::Duration;

/// How often the progress is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Runs `ancile reindex`: waits until the index is made anew, and says how far it is.
pub fn reindex(place: &Place) -> Result<Answer, Failure> {
    let server = place.connect(KeyRole::Operator)?;
    let mut state = server.post("/v1/index/rebuild", &json!({}))?;
    let mut said = None;
    while state.get("busy").and_then(Value::as_bool) == Some(true) {
        let progress = progress(&state);
        if progress.is_some() && progress != said {
            print::err(&format!("{}\n", progress.as_deref().unwrap_or_default()));
            said = progress;
        }
        std::thread::sleep(LOOK);
        state = server.get("/v1/index")?;
    }
    Ok(Answer::plain(state))
}

/// How far it is, in a line.
fn progress(state: &Value) -> Option<String> {
    let rebuild = state.get("rebuild").filter(|rebuild| rebuild.is_object())?;
    let count = |name| rebuild.get(name).and_then(Value::as_u64).unwrap_or(0);
    Some(format!("{} of {} records", count("done"), count("total")))
}
