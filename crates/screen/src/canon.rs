// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one canonicaliser, for rules and for grounding.

use crate::mapped::{Form, Mapped};
use ancile_core::{ArgKind, CanonicalValue};

/// The canonical form of a value of this kind; `None` when the text is no such value.
#[must_use]
pub fn canonical(kind: ArgKind, text: &str) -> Option<CanonicalValue> {
    let text = Mapped::new(text, Form::Exact).text;
    (!text.is_empty()).then(|| CanonicalValue {
        kind,
        bytes: text.as_bytes().into(),
    })
}

pub(crate) fn host(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_ascii_lowercase())
}

pub(crate) fn url_host(text: &str) -> Option<String> {
    host(text.split_once("://")?.1.split(['/', ':']).next()?)
}
