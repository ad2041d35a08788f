// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on which no program judges: there nothing ends all that one started. The settings refuse
//! a command there, so that none comes here.

use super::JudgeSettings;
use crate::trusted::{self, Untrusted};
use ancile_engine::{Judge, JudgeError, JudgeId, JudgeInput, Score};
use std::path::Path;

/// A program that judges; there is none here.
pub enum CommandJudge {}

impl CommandJudge {
    /// No settings name one.
    pub const fn of(_: &JudgeSettings) -> Option<Self> {
        None
    }
}

impl Judge for CommandJudge {
    fn id(&self) -> &JudgeId {
        match *self {}
    }

    fn judge(&self, _: &JudgeInput<'_>) -> Result<Score, JudgeError> {
        match *self {}
    }
}

/// Whether a program is there; no settings name one.
pub fn runs(program: &Path, _: &[String]) -> Result<(), Untrusted> {
    trusted::check(program)
}
