// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the configuration says of a judge of stage 4, which is a program.

#[cfg(unix)]
mod command;
#[cfg(not(unix))]
#[path = "judge/command_elsewhere.rs"]
mod command;

use crate::failure::{Exit, Failure};
use crate::trusted::Untrusted;
use ancile_engine::{
    JUDGE_THREADS, JUDGE_TIME_LIMIT_MS, Judge, JudgeConfig, JudgeFailure, JudgeId, JudgeThresholds,
    PENDING_MAX,
};
use command::CommandJudge;
use std::num::{NonZeroU8, NonZeroU32};
use std::path::Path;
use std::sync::Arc;

/// What the configuration says of the judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeSettings {
    /// The program and its arguments; empty for none.
    pub command: Vec<String>,
    /// Its name and version in verdicts.
    pub id: Option<JudgeId>,
    /// Score from which a text is flagged, per mille.
    pub flag: u16,
    /// Score from which it goes to the quarantine shelf, per mille.
    pub quarantine: u16,
    /// What follows where there is no score.
    pub on_failure: JudgeFailure,
    /// How long the program may take for one text.
    pub time_limit_ms: NonZeroU32,
    /// How many of it run at once.
    pub threads: NonZeroU8,
    /// Most writes of a tenant that wait for it.
    pub pending_max: NonZeroU32,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            id: id_of(ID),
            flag: ancile_engine::FLAG_FROM,
            quarantine: ancile_engine::ESCALATE_FROM,
            on_failure: JudgeFailure::default(),
            time_limit_ms: JUDGE_TIME_LIMIT_MS,
            threads: JUDGE_THREADS,
            pending_max: PENDING_MAX,
        }
    }
}

/// The name and version of a judge where nothing is said.
pub const ID: &str = "command/1";

/// The name and version in a text such as `guard-7b/2`.
pub fn id_of(text: &str) -> Option<JudgeId> {
    let (name, version) = text.split_once('/')?;
    JudgeId::new(name, version.parse().ok()?).ok()
}

/// Says what is wrong with the text of a command.
pub fn check(command: &str) -> Result<(), String> {
    match command.split_ascii_whitespace().next() {
        Some(_) if cfg!(not(unix)) => Err("a program judges on Unix only".to_owned()),
        _ if command.contains('\0') => Err("no command has a zero byte".to_owned()),
        None => Ok(()),
        Some(program) if Path::new(program).is_absolute() => Ok(()),
        Some(_) => Err("its path is not absolute".to_owned()),
    }
}

impl JudgeSettings {
    /// Whether the thresholds are out of order.
    pub fn faults(&self) -> Option<String> {
        let fault = JudgeThresholds::new(self.flag, self.quarantine).err()?;
        Some(format!(
            "`judge.flag_per_mille` and `judge.quarantine_per_mille` do not fit together: {fault}"
        ))
    }

    /// How the engine is to judge: by a program that can be run, and that nobody else can change.
    ///
    /// # Errors
    /// As [`Self::runs`] says.
    pub fn config(&self) -> Result<JudgeConfig, Failure> {
        self.runs()?;
        let judge = CommandJudge::of(self).map(|judge| Arc::new(judge) as Arc<dyn Judge>);
        Ok(JudgeConfig {
            judge,
            thresholds: JudgeThresholds::new(self.flag, self.quarantine).unwrap_or_default(),
            on_failure: self.on_failure,
            threads: self.threads,
            time_limit_ms: self.time_limit_ms,
            pending_max: self.pending_max,
        })
    }

    /// Whether there is a program to run, and nobody else can change it or what its arguments name.
    ///
    /// # Errors
    /// What is wrong with it, and the next step.
    pub fn runs(&self) -> Result<(), Failure> {
        let Some((program, args)) = self.command.split_first() else {
            return Ok(());
        };
        command::runs(Path::new(program), args).map_err(|Untrusted { path, what }| {
            let what = match path == Path::new(program) {
                true => format!("the judge `{program}` {what}"),
                false => format!(
                    "the judge `{program}` rests on `{}`, which {what}",
                    path.display()
                ),
            };
            let text = format!("{what}, or set another `judge.command`");
            Failure::new(Exit::Usage, "judge", text)
        })
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
