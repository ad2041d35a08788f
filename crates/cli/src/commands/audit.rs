// SPDX-License-Identifier: MIT OR Apache-2.0
//! Verifying a store from outside, with the public key alone.

use crate::failure::{Exit, Failure};
use crate::place::Place;
use crate::print::{self, Answer};
use clap::Subcommand;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// `ancile audit`
#[derive(Subcommand)]
pub enum Audit {
    /// Verify all of a store: read-only, offline, with the public key alone
    Verify {
        /// The verifier key; without it that of the home
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Accept the store as it stands where the witness is missing or disagrees; this is logged
    WitnessEpoch,
}

/// Runs `ancile audit`.
pub fn run(place: &Place, args: &Audit) -> Result<Answer, Failure> {
    match args {
        Audit::Verify { key } => verify(&place.home, key.as_deref()),
        Audit::WitnessEpoch => {
            let said = ancile_engine::new_witness_epoch(&place.home)?;
            let text = print::lines(&said, 0);
            Ok(Answer::with(json!({ "witness_epoch": said }), text))
        }
    }
}

/// Verifies a store.
pub fn verify(home: &Path, key: Option<&Path>) -> Result<Answer, Failure> {
    let summary = ancile_engine::audit(home, key)?;
    let mut text = String::new();
    for line in &summary.checked {
        _ = writeln!(text, "checked  {}", print::line(line));
    }
    for line in &summary.problems {
        _ = writeln!(text, "PROBLEM  {}", print::line(line));
    }
    let said = if summary.ok {
        "the store verifies"
    } else {
        "the store does NOT verify"
    };
    _ = writeln!(text, "{said}; problems: {}", summary.problems_total);
    let value = json!({
        "ok": summary.ok, "checked": summary.checked, "problems": summary.problems,
        "problems_total": summary.problems_total,
    });
    let exit = if summary.ok {
        Exit::Done
    } else {
        Exit::Damaged
    };
    Ok(Answer { value, text, exit })
}
