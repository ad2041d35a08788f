// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a command ends.

use ancile_engine::{Fault, Refusal};
use std::process::ExitCode;

/// The exit codes, as `--help` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, permitted.
    Done = 0,
    /// Refused, or the act gate denied.
    Refused = 1,
    /// The command line or the request does not make sense.
    Usage = 2,
    /// The act gate asks a person first.
    Asked = 3,
    /// There is no such thing.
    NotFound = 4,
    /// The store is damaged.
    Damaged = 5,
    /// No store, no server, or it cannot answer now.
    Unavailable = 6,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Refused => 1,
            Exit::Usage => 2,
            Exit::Asked => 3,
            Exit::NotFound => 4,
            Exit::Damaged => 5,
            Exit::Unavailable => 6,
        })
    }
}

/// Why a command did not do what was asked: the fault and the next step in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// How the command ends.
    pub exit: Exit,
    /// Stable code.
    pub code: String,
    /// The sentence.
    pub text: String,
}

impl Failure {
    /// A failure with its code and sentence.
    pub fn new(exit: Exit, code: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            exit,
            code: code.into(),
            text: text.into(),
        }
    }

    /// A request that does not make sense.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", text)
    }

    /// A file that the command line names and that could not be read or written.
    pub fn file(path: &std::path::Path, doing: &str, fault: &std::io::Error) -> Self {
        let text = format!("cannot {doing} `{}`: {fault}; name another", path.display());
        Self::new(Exit::Usage, "file", text)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let exit = match refusal.fault {
            Fault::Unavailable if refusal.code == STORE_REFUSED => Exit::Damaged,
            Fault::Malformed | Fault::TooLarge => Exit::Usage,
            Fault::Unauthenticated | Fault::Forbidden | Fault::Conflict | Fault::Limit => {
                Exit::Refused
            }
            Fault::NotFound => Exit::NotFound,
            Fault::Unavailable => Exit::Unavailable,
            Fault::Tampered => Exit::Damaged,
        };
        // Whoever opens the store by themselves reads their own log: both texts are theirs.
        let text = match refusal.inside {
            inside if inside.is_empty() => refusal.outside,
            // The same with its causes.
            inside if inside.starts_with(&refusal.outside) => inside,
            inside => format!("{} ({inside})", refusal.outside),
        };
        Self::new(exit, refusal.code, text)
    }
}

/// The engine's code for a store that does not hold: against its log, checkpoint or witness.
const STORE_REFUSED: &str = "store_refused";

#[cfg(test)]
mod tests;
