// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rule table as text, and its reading.

/// Why the built-in rule table does not load.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleTableError {
    /// A line that the table format does not know.
    #[error("rule table line {line}: {fault}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        fault: String,
    },
}
