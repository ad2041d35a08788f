// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stage 4 of screening: what a judge is, and what follows from its score. A judge is a classifier
//! or a model; none is in this crate, which reads and asks nothing.

use crate::screen::Verdict;
use ancile_core::Channel;
use core::fmt;
use thiserror::Error;

/// Highest score.
pub const SCORE_MAX: u16 = 1_000;
/// Score from which a content goes to the quarantine shelf, unless the thresholds say otherwise.
pub const ESCALATE_FROM: u16 = 800;
/// Score from which a content is flagged, unless the thresholds say otherwise.
pub const FLAG_FROM: u16 = 500;
/// Longest name of a judge, in bytes.
pub const JUDGE_NAME_BYTES_MAX: usize = 64;

/// How much a content reads as an attack, per mille: 0 not at all, [`SCORE_MAX`] for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score(u16);

impl Score {
    /// A score of 0 to [`SCORE_MAX`].
    ///
    /// # Errors
    /// [`JudgeError::Score`] above.
    pub const fn new(per_mille: u16) -> Result<Self, JudgeError> {
        if per_mille > SCORE_MAX {
            return Err(JudgeError::Score(per_mille));
        }
        Ok(Self(per_mille))
    }

    /// The number, per mille.
    #[must_use]
    pub const fn per_mille(self) -> u16 {
        self.0
    }
}

/// Which judge gave a score, and which version of it: two that can give other scores for the same
/// content have another name or version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JudgeId {
    name: Box<str>,
    version: u32,
}

impl JudgeId {
    /// A name of 1 to [`JUDGE_NAME_BYTES_MAX`] bytes of `A-Z a-z 0-9 . _ -`, and a version.
    ///
    /// # Errors
    /// [`JudgeIdError`] for another name.
    pub fn new(name: &str, version: u32) -> Result<Self, JudgeIdError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if !(1..=JUDGE_NAME_BYTES_MAX).contains(&name.len()) || !name.bytes().all(fits) {
            return Err(JudgeIdError(name.len()));
        }
        Ok(Self {
            name: name.into(),
            version,
        })
    }
}

impl fmt::Display for JudgeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name, self.version)
    }
}

/// Why a text is not the name of a judge; the field is its length in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the name of a judge has {0} bytes; give 1 to {JUDGE_NAME_BYTES_MAX} of A-Z a-z 0-9 . _ -")]
pub struct JudgeIdError(pub usize);

/// A content to be judged.
#[derive(Debug, Clone, Copy)]
pub struct JudgeInput<'a> {
    /// The text, as a model would be shown it: what screening redacts is marked.
    pub text: &'a str,
    /// The way it came in.
    pub channel: Channel,
}

/// Why a judge gave no score. No variant has anything of the content in it: they are logged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JudgeError {
    /// It could not be asked.
    #[error("the judge cannot be reached: {0}; see that it runs, and that its address is right")]
    Unreachable(String),
    /// It did not answer in its own time.
    #[error("the judge did not answer in time; see how loaded it is, or raise its limit")]
    TimedOut,
    /// It answered, and the answer is no score.
    #[error("the answer of the judge is no score: {0}; see that it is the judge that was meant")]
    Unreadable(String),
    /// It scored outside the range.
    #[error("the judge scored {0} per mille; scores are 0 to {SCORE_MAX}; see how it counts")]
    Score(u16),
    /// It does not take a content so long.
    #[error("the judge takes {limit} bytes and the content has {bytes}; raise its limit")]
    TooLong {
        /// Bytes of the content.
        bytes: usize,
        /// Most that it takes.
        limit: usize,
    },
}

impl JudgeError {
    /// The stable name, as the log of events has it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::TimedOut => "timed_out",
            Self::Unreadable(_) => "unreadable",
            Self::Score(_) => "score_out_of_range",
            Self::TooLong { .. } => "too_long",
        }
    }
}

/// Says of a content how much it reads as an attack. It is asked on threads of its own, for
/// several contents at once, and the content is held unrecallable meanwhile.
///
/// An implementation must return by itself in bounded time, and must not panic: a program that is
/// built to abort on a panic ends there, and asks again after its next start.
pub trait Judge: Send + Sync {
    /// Which judge, and which version of it.
    fn id(&self) -> &JudgeId;

    /// The score of a content.
    ///
    /// # Errors
    /// [`JudgeError`] says why there is none; what follows for the content then is for the policy
    /// of whoever asked to say.
    fn judge(&self, input: &JudgeInput<'_>) -> Result<Score, JudgeError>;

    /// Whoever asks closes: what is being judged may be given up, and counts for nothing. It may
    /// come while threads are in [`Judge::judge`], and is not waited for long.
    fn close(&self) {}
}

impl fmt::Debug for dyn Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Judge({})", self.id())
    }
}

/// From which scores a content is flagged, and from which it goes to the quarantine shelf.
///
/// ```
/// # use ancile_screen::{JudgeThresholds, Score, Verdict};
/// let thresholds = JudgeThresholds::new(500, 800)?;
/// assert_eq!(thresholds.verdict(Score::new(499)?), Verdict::Allow);
/// assert_eq!(thresholds.verdict(Score::new(799)?), Verdict::Flag);
/// assert_eq!(thresholds.verdict(Score::new(800)?), Verdict::Quarantine);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgeThresholds {
    flag: u16,
    escalate: u16,
}

impl JudgeThresholds {
    /// Thresholds per mille, each inclusive: 1 to `escalate` for `flag`, at most [`SCORE_MAX`] for
    /// `escalate`. Where both are equal nothing is flagged.
    ///
    /// # Errors
    /// [`ThresholdsError`] where they are not in this order: a content with score 0 could not be
    /// allowed, or none could be escalated.
    pub const fn new(flag: u16, escalate: u16) -> Result<Self, ThresholdsError> {
        if flag == 0 || flag > escalate || escalate > SCORE_MAX {
            return Err(ThresholdsError { flag, escalate });
        }
        Ok(Self { flag, escalate })
    }

    /// What follows from a score: allow, flag or quarantine.
    #[must_use]
    pub const fn verdict(self, score: Score) -> Verdict {
        if score.0 >= self.escalate {
            Verdict::Quarantine
        } else if score.0 >= self.flag {
            Verdict::Flag
        } else {
            Verdict::Allow
        }
    }
}

impl Default for JudgeThresholds {
    fn default() -> Self {
        Self {
            flag: FLAG_FROM,
            escalate: ESCALATE_FROM,
        }
    }
}

/// Why two thresholds are not in order.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "thresholds flag {flag} and escalate {escalate} per mille; \
     give 1 <= flag <= escalate <= {SCORE_MAX}"
)]
pub struct ThresholdsError {
    /// Score from which to flag.
    pub flag: u16,
    /// Score from which to quarantine.
    pub escalate: u16,
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a test stops where what it expects is not there"
)]
mod tests;
