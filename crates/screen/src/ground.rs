// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed values in text, and the question whether a text names a value.

mod find;
mod token;

use crate::canon;
use crate::mapped::{Form, Mapped};
use ancile_core::{ArgKind, CanonicalValue};
use core::ops::Range;

/// Most typed values taken from one text, in the order they stand; later ones are not seen.
pub const VALUES_MAX: usize = 1_024;

/// A typed value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FoundValue {
    /// The value.
    pub value: CanonicalValue,
    /// Where, in bytes of the original text, on character boundaries.
    pub span: Range<usize>,
}

/// A user turn, or a text of class 1 or 2, prepared for many grounding questions.
///
/// ```
/// # use ancile_core::ArgKind;
/// # use ancile_screen::{GroundText, canonical};
/// let turn = GroundText::new("Send 12.50 EUR to bob@example.com.");
/// let names = |kind, text| canonical(kind, text).is_some_and(|value| turn.names(&value));
/// assert!(names(ArgKind::Amount, "12.5"));
/// assert!(!names(ArgKind::Amount, "1250"));
/// assert!(!names(ArgKind::Email, "bob@example.com.evil.io"));
/// ```
#[derive(Debug, Clone)]
pub struct GroundText {
    values: Vec<FoundValue>,
    exact: Box<str>,
    names: Box<str>,
}

impl GroundText {
    /// Prepares a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let clean = Mapped::new(text, Form::Clean);
        Self {
            values: values(text),
            exact: Mapped::new(text, Form::Exact).text.into(),
            names: canon::name(&clean.text).unwrap_or_default().into(),
        }
    }

    /// Whether the text names this value, as a whole token. Names, paths, free texts and secrets
    /// are looked for as they are; in scripts that put no space between words they are found only
    /// beside punctuation or spaces.
    #[must_use]
    pub fn names(&self, value: &CanonicalValue) -> bool {
        let text = match value.kind {
            ArgKind::Name => &self.names,
            ArgKind::Free | ArgKind::Path | ArgKind::Secret => &self.exact,
            _ => return self.values.iter().any(|found| found.value == *value),
        };
        str::from_utf8(&value.bytes).is_ok_and(|wanted| token::holds(text, wanted))
    }

    /// The typed values in the text.
    #[must_use]
    pub fn values(&self) -> &[FoundValue] {
        &self.values
    }
}

/// All typed values in a text: whole tokens that are accounts, e-mail addresses, URLs, hosts,
/// telephone numbers, paths, amounts or dates, in the order they stand, at most [`VALUES_MAX`].
///
/// One token may be several values: an amount with a currency is also the bare amount, a URL also
/// names its host, a date with a time also names its day, a host or URL written without a scheme
/// also its `https` form, and a plain number may be an amount, an account or a telephone number.
#[must_use]
pub fn values(text: &str) -> Vec<FoundValue> {
    let mut found = Vec::new();
    let clean = Mapped::new(text, Form::Clean);
    let exact = Mapped::new(text, Form::Exact);
    find::typed(&clean, &mut found);
    find::places(&exact, &mut found);
    found.sort_by(|a, b| (a.span.start, &a.value).cmp(&(b.span.start, &b.value)));
    found.dedup();
    found.truncate(VALUES_MAX);
    found
}
