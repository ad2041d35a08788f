// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why the engine did not do what was asked.

use core::fmt;

/// Whose fault it is, and so how it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The request does not make sense.
    Malformed,
    /// No key, an unknown, expired or revoked one.
    Unauthenticated,
    /// The key may not do this.
    Forbidden,
    /// There is no such thing, as far as this key can see.
    NotFound,
    /// The state does not allow it (any more).
    Conflict,
    /// Over a size limit.
    TooLarge,
    /// Over a count limit.
    Limit,
    /// The store cannot answer now.
    Unavailable,
    /// The store was edited behind its back.
    Tampered,
}

/// A refusal: a stable code, a sentence for the caller, and what only the log sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Whose fault it is.
    pub fault: Fault,
    /// Stable code.
    pub code: &'static str,
    /// The sentence for the caller: the fault, the limit, the next step.
    pub outside: String,
    /// Details for the log; never sent.
    pub inside: String,
}

impl Refusal {
    /// A refusal whose sentence says all there is.
    #[must_use]
    pub fn new(fault: Fault, code: &'static str, outside: impl Into<String>) -> Self {
        Self {
            fault,
            code,
            outside: outside.into(),
            inside: String::new(),
        }
    }

    /// Adds what only the log may see.
    #[must_use]
    pub fn inside(mut self, detail: impl fmt::Display) -> Self {
        self.inside = detail.to_string();
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.outside, self.code)
    }
}

impl std::error::Error for Refusal {}

/// An error and all its causes in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
