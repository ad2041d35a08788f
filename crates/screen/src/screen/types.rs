// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes into screening and what comes out.

use ancile_core::Channel;
use core::fmt;
use core::ops::Range;

/// A screening stage. Of stage 4, the classifier or judge, this crate has the
/// [trait](crate::Judge) alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Stage 1: invisible and control characters, hidden text, chat templates, blobs.
    Structure,
    /// Stage 2: secrets and personal data, with checksums where the format has one.
    Sensitive,
    /// Stage 3: deterministic injection rules on normalised text.
    Injection,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 3] = [Self::Structure, Self::Sensitive, Self::Injection];

    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Sensitive => "sensitive",
            Self::Injection => "injection",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Structure => 1,
            Self::Sensitive => 2,
            Self::Injection => 4,
        }
    }
}

/// A set of stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StageSet(u8);

impl StageSet {
    /// No stage: every text is allowed and nothing is found.
    pub const NONE: Self = Self(0);
    /// Every stage.
    pub const ALL: Self = Self(0b111);

    /// This set without one stage.
    #[must_use]
    pub const fn without(self, stage: Stage) -> Self {
        Self(self.0 & !stage.bit())
    }

    /// This set with one stage more.
    #[must_use]
    pub const fn with(self, stage: Stage) -> Self {
        Self(self.0 | stage.bit())
    }

    /// The stages in both sets.
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether the stage is in the set.
    #[must_use]
    pub const fn contains(self, stage: Stage) -> bool {
        self.0 & stage.bit() != 0
    }
}

impl Default for StageSet {
    fn default() -> Self {
        Self::ALL
    }
}

/// The stable id of a rule, such as `override.ignore_previous`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub(crate) &'static str);

impl RuleId {
    /// The id as text: `family.name`, at most 64 bytes of `a-z 0-9 _ .`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// The family: the part of the id before the dot.
    #[must_use]
    pub fn family(self) -> &'static str {
        self.0.split_once('.').map_or(self.0, |(family, _)| family)
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// One place in a text where one rule holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Finding {
    /// The stage of the rule.
    pub stage: Stage,
    /// The rule.
    pub rule: RuleId,
    /// Where, in bytes of the original text; both ends lie on character boundaries. Of an
    /// assignment or a login it is the value alone.
    pub span: Range<usize>,
    /// What follows from this finding alone, by the policy and on the channel of the text.
    pub verdict: Verdict,
}

/// What screening says of a text as content, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Nothing to say.
    Allow,
    /// Kept, with findings worth showing.
    Flag,
    /// Kept whole, and shown to a model with marks in place of the spans.
    Redact,
    /// Kept where only a person can let it out.
    Quarantine,
    /// Not taken in.
    Reject,
}

impl Verdict {
    /// All verdicts, mildest first.
    pub const ALL: [Self; 5] = [
        Self::Allow,
        Self::Flag,
        Self::Redact,
        Self::Quarantine,
        Self::Reject,
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Flag => "flag",
            Self::Redact => "redact",
            Self::Quarantine => "quarantine",
            Self::Reject => "reject",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text to be screened.
#[derive(Debug, Clone, Copy)]
pub struct ScreenInput<'a> {
    /// The text.
    pub text: &'a str,
    /// The way it came in.
    pub channel: Channel,
    /// The stages to run.
    pub stages: StageSet,
}

/// What screening found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screening {
    /// The findings by stage, then rule in table order, then place; at most
    /// [`FINDINGS_MAX`](crate::FINDINGS_MAX).
    pub findings: Vec<Finding>,
    /// What follows for the text as content.
    pub verdict: Verdict,
    /// Whether the text tries to instruct an agent, by its content alone, whatever the channel;
    /// `false` when stage 3 did not run.
    pub instruction_like: bool,
    /// Version of the rule set.
    pub version: u32,
    /// Whether there were more findings than are listed.
    pub findings_cut: bool,
}

impl Screening {
    /// The findings whose spans are to be marked where the text is shown or logged, for
    /// [`redact`](crate::redact): those with the verdict redact, and those of stage 2 with a
    /// stricter one. None is missing, listed or not: the last span then reaches to the end of the
    /// last one found.
    pub fn to_redact(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| {
            finding.verdict == Verdict::Redact
                || finding.stage == Stage::Sensitive && finding.verdict > Verdict::Redact
        })
    }
}
