// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bringing a store up to this build's format.

use crate::failure::Failure;
use crate::place::Place;
use crate::print::{self, Answer};
use serde_json::json;

/// Runs `ancile migrate`.
pub fn run(place: &Place) -> Result<Answer, Failure> {
    let done = ancile_engine::migrate(&place.home)?;
    let copy = done.copy.map(|path| path.display().to_string());
    let value = json!({"from": done.from, "to": done.to, "copy": copy});
    let text = match copy {
        None => format!("the store has format {} already\n", done.to),
        Some(copy) => format!(
            "the store has format {} now; it was {}\nas it was it lies in {}; what is erased from \
             now on is still in there, so remove it once all works\n",
            done.to,
            done.from,
            print::line(&copy)
        ),
    };
    Ok(Answer::with(value, text))
}
