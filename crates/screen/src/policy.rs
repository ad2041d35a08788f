// SPDX-License-Identifier: MIT OR Apache-2.0
//! What follows for a content from a finding: by stage, family or rule, and channel.

use crate::screen::{Effect, Rule, Stage, Verdict, built_in};
use ancile_core::Channel;
use core::fmt;
use core::str::FromStr;

/// Why a policy is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScreenPolicyError {
    /// A line that is not `WHAT=VERDICT` or `WHAT@CHANNEL=VERDICT`.
    #[error("`{line}` is no line of a policy; write `secret=redact` or `secret@web+tool=reject`")]
    Form {
        /// The line.
        line: String,
    },
    /// A stage, family or rule that the table does not have.
    #[error(
        "there is no stage, family or rule `{name}`; name one such as `injection:`, `secret` or \
         `secret.jwt`"
    )]
    UnknownName {
        /// The name.
        name: String,
    },
    /// A channel that is none.
    #[error("there is no channel `{name}`; name one such as `web`")]
    UnknownChannel {
        /// The name.
        name: String,
    },
    /// A verdict that is none.
    #[error(
        "there is no verdict `{name}`; say `allow`, `flag`, `redact`, `quarantine` or `reject`"
    )]
    UnknownVerdict {
        /// The name.
        name: String,
    },
    /// The built-in rule table does not load.
    #[error("{fault}")]
    Table {
        /// What is wrong with it.
        fault: String,
    },
    /// A line by which a user's own words could be blocked for how they read.
    #[error(
        "`{line}` would block a user's own words for how they read; on channel `user` only \
         findings of stage 2 may go beyond `flag`, so name the other channels"
    )]
    BlocksUser {
        /// The line.
        line: String,
    },
}

/// What a line speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Stage(Stage),
    Family(String),
    Rule(String),
}

/// One line: what it speaks of, on which channel if not on all, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    subject: Subject,
    channel: Option<Channel>,
    verdict: Verdict,
}

/// What follows for a content from a finding. Pure data: a screener asks it for each finding, and
/// the strictest answer is the verdict.
///
/// The default, which lines change:
///
/// | finding | channel `user` | channel `agent` | any other |
/// |---|---|---|---|
/// | stage 1 hidden text and templates, stage 3 | flag | flag | quarantine |
/// | stage 2 secrets | flag | redact | redact |
/// | any other | flag | flag | flag |
///
/// A line is `NAME=VERDICT` or `NAME@CHANNEL+CHANNEL=VERDICT`; a name is a stage with a colon
/// (`injection:`), a family (`secret`) or a rule (`secret.jwt`). Lines are parted by commas, blanks
/// or line breaks. The narrower name wins, then the line that names the channel, then the later
/// one. Two things no line changes: a text that is too long to be read is rejected, and a user's
/// own words are at most flagged for how they read, which is what stages 1 and 3 look at.
///
/// ```
/// use ancile_core::Channel;
/// use ancile_screen::{ScreenInput, ScreenPolicy, Screener, StageSet, Verdict};
/// let policy: ScreenPolicy = "secret@web=reject, personal@web=quarantine".parse()?;
/// let screener = Screener::new()?.with_policy(&policy);
/// let (text, stages) = ("call +49 30 123456", StageSet::ALL);
/// let screen = |channel| screener.screen(&ScreenInput { text, channel, stages }).verdict;
/// assert_eq!(screen(Channel::Web), Verdict::Quarantine);
/// assert_eq!(screen(Channel::Tool), Verdict::Flag);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScreenPolicy {
    lines: Vec<Line>,
}

impl FromStr for ScreenPolicy {
    type Err = ScreenPolicyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut policy = Self::default();
        let lines = text.split(|c: char| c == ',' || c.is_whitespace());
        for line in lines.filter(|line| !line.is_empty()) {
            policy.read(line)?;
        }
        let table = built_in().map_err(|fault| ScreenPolicyError::Table {
            fault: fault.to_string(),
        })?;
        policy.check(&table.rules)?;
        Ok(policy)
    }
}

impl ScreenPolicy {
    fn read(&mut self, line: &str) -> Result<(), ScreenPolicyError> {
        let form = || ScreenPolicyError::Form {
            line: line.to_owned(),
        };
        let (left, verdict) = line.split_once('=').ok_or_else(form)?;
        let (name, channels) = left
            .split_once('@')
            .map_or((left, None), |(a, b)| (a, Some(b)));
        let subject = subject(name)?;
        let verdict = Verdict::ALL
            .into_iter()
            .find(|v| v.name() == verdict)
            .ok_or_else(|| ScreenPolicyError::UnknownVerdict {
                name: verdict.to_owned(),
            })?;
        let channels = match channels {
            None => vec![None],
            Some(names) => names.split('+').map(channel).collect::<Result<_, _>>()?,
        };
        let lines = channels.into_iter().map(|channel| Line {
            subject: subject.clone(),
            channel,
            verdict,
        });
        self.lines.extend(lines);
        Ok(())
    }

    /// What follows from a finding of `rule` in a content that came in by `channel`.
    #[must_use]
    pub fn verdict(&self, rule: &Rule, channel: Channel) -> Verdict {
        if rule.rejects() {
            return Verdict::Reject;
        }
        let speaks = |line: &&Line| {
            line.channel.is_none_or(|c| c == channel)
                && match &line.subject {
                    Subject::Stage(stage) => *stage == rule.stage,
                    Subject::Family(family) => family == rule.id.family(),
                    Subject::Rule(id) => id == rule.id.as_str(),
                }
        };
        let narrow = |line: &&Line| {
            let subject = match line.subject {
                Subject::Stage(_) => 0,
                Subject::Family(_) => 1,
                Subject::Rule(_) => 2,
            };
            (subject, line.channel.is_some())
        };
        // Of equally narrow lines `max_by_key` takes the last.
        let said = self.lines.iter().filter(speaks).max_by_key(narrow);
        let verdict = said.map_or_else(|| default(rule.effect, channel), |line| line.verdict);
        if channel == Channel::User && rule.stage != Stage::Sensitive {
            verdict.min(Verdict::Flag)
        } else {
            verdict
        }
    }

    /// Whether every family and rule that is named is in `rules`, and no line blocks a user's own
    /// words for how they read.
    fn check(&self, rules: &[Rule]) -> Result<(), ScreenPolicyError> {
        for line in &self.lines {
            let (name, stages): (String, Vec<Stage>) = match &line.subject {
                Subject::Stage(stage) => (format!("{}:", stage.name()), vec![*stage]),
                Subject::Family(family) => {
                    let of = rules.iter().filter(|rule| rule.id.family() == family);
                    (family.clone(), of.map(|rule| rule.stage).collect())
                }
                Subject::Rule(id) => {
                    let of = rules.iter().filter(|rule| rule.id.as_str() == id);
                    (id.clone(), of.map(|rule| rule.stage).collect())
                }
            };
            if stages.is_empty() {
                return Err(ScreenPolicyError::UnknownName { name });
            }
            let words = stages.iter().any(|stage| *stage != Stage::Sensitive);
            if words && line.channel == Some(Channel::User) && line.verdict > Verdict::Flag {
                let line = format!("{name}@user={}", line.verdict);
                return Err(ScreenPolicyError::BlocksUser { line });
            }
        }
        Ok(())
    }
}

impl fmt::Display for ScreenPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, line) in self.lines.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match &line.subject {
                Subject::Stage(stage) => write!(f, "{comma}{}:", stage.name())?,
                Subject::Family(name) | Subject::Rule(name) => write!(f, "{comma}{name}")?,
            }
            if let Some(channel) = line.channel {
                write!(f, "@{}", channel.name())?;
            }
            write!(f, "={}", line.verdict)?;
        }
        Ok(())
    }
}

fn subject(name: &str) -> Result<Subject, ScreenPolicyError> {
    let unknown = || ScreenPolicyError::UnknownName {
        name: name.to_owned(),
    };
    if let Some(stage) = name.strip_suffix(':') {
        let found = Stage::ALL.into_iter().find(|s| s.name() == stage);
        return found.map(Subject::Stage).ok_or_else(unknown);
    }
    match name {
        "" => Err(unknown()),
        _ if name.contains('.') => Ok(Subject::Rule(name.to_owned())),
        _ => Ok(Subject::Family(name.to_owned())),
    }
}

fn channel(name: &str) -> Result<Option<Channel>, ScreenPolicyError> {
    let found = Channel::parse(name);
    let unknown = || ScreenPolicyError::UnknownChannel {
        name: name.to_owned(),
    };
    found.map(Some).ok_or_else(unknown)
}

/// What the table of rules asks for, and how far a channel lets it go.
const fn default(effect: Effect, channel: Channel) -> Verdict {
    match (effect, channel) {
        (Effect::Quarantine, Channel::User | Channel::Agent) => Verdict::Flag,
        (Effect::Quarantine, _) => Verdict::Quarantine,
        (Effect::Redact, Channel::User) => Verdict::Flag,
        (Effect::Redact, _) => Verdict::Redact,
        (Effect::Flag, _) => Verdict::Flag,
    }
}
