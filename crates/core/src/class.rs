// SPDX-License-Identifier: MIT OR Apache-2.0
//! The four authority classes.

use core::fmt;

/// How much authority an origin carries. The derived order puts the strongest first, so that the
/// greater of two classes is the weaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuthorityClass {
    /// Class 1: written by the session's own user.
    UserAuthored,
    /// Class 2: from a source approved with grade `authority`.
    ApprovedSource,
    /// Class 3: derived by an agent from nothing weaker than this.
    AgentDerived,
    /// Class 4: everything else.
    Untrusted,
}

impl AuthorityClass {
    /// All classes, strongest first.
    pub const ALL: [Self; 4] = [
        Self::UserAuthored,
        Self::ApprovedSource,
        Self::AgentDerived,
        Self::Untrusted,
    ];

    /// The weaker of the two: authority only falls.
    #[must_use]
    pub fn meet(self, other: Self) -> Self {
        self.max(other)
    }

    /// Whether this is at least as strong as `other`.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self <= other
    }

    /// The class number, 1 to 4.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::UserAuthored => 1,
            Self::ApprovedSource => 2,
            Self::AgentDerived => 3,
            Self::Untrusted => 4,
        }
    }

    /// The class with this number; anything outside 1 to 3 is [`Self::Untrusted`].
    #[must_use]
    pub const fn from_number(number: u8) -> Self {
        match number {
            1 => Self::UserAuthored,
            2 => Self::ApprovedSource,
            3 => Self::AgentDerived,
            _ => Self::Untrusted,
        }
    }

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserAuthored => "user_authored",
            Self::ApprovedSource => "approved_source",
            Self::AgentDerived => "agent_derived",
            Self::Untrusted => "untrusted",
        }
    }

    /// The class with this wire name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

impl fmt::Display for AuthorityClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
