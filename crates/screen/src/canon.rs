// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one canonicaliser, for rules and for grounding.
//!
//! Two texts are the same value of a kind exactly when their canonical forms are equal. What may
//! differ between them:
//!
//! | kind | the same | told apart |
//! |---|---|---|
//! | account | spaces and hyphens in a number; case and spaces in an IBAN that passes mod 97 | case and every character of any other id |
//! | email | case, `mailto:`, a display name, punycode and Unicode hosts | sub-addresses, dots |
//! | host | case, a closing dot, punycode and Unicode | `www.`, subdomains |
//! | url | scheme and host case, default port, percent-encoded unreserved characters | scheme, port, path case, query, fragment |
//! | phone | separators, `00` for `+`, `(0)` after a country code | with and without a country code |
//! | amount | zeros at the ends, thousands separators, place of the currency | currencies; with and without one |
//! | date | ISO, dotted and worded forms | a day with and without a year or a time |
//! | name | case, spaces | every letter, accents included |
//! | path, free, secret | NFC | everything else |
//!
//! In the kinds down to *name*, compatibility forms such as full-width digits are folded (NFKC)
//! and invisible characters are dropped, but a URL's path, query and fragment compare exactly
//! after NFC. Letters of two scripts that look alike are never the same.

pub(crate) mod date;
pub(crate) mod number;
pub(crate) mod place;

use crate::mapped::{Form, Mapped};
use ancile_core::{ArgKind, CanonicalValue};

/// The canonical form of a value of this kind; `None` when the text is no such value, and so can
/// never be grounded. A list is not a value: give its elements one by one.
///
/// ```
/// # use ancile_core::ArgKind;
/// # use ancile_screen::canonical;
/// let iban = canonical(ArgKind::Account, "de89 3704 0044 0532 0130 00");
/// assert_eq!(iban, canonical(ArgKind::Account, "DE89370400440532013000"));
/// assert_ne!(canonical(ArgKind::Amount, "12.50"), canonical(ArgKind::Amount, "1250"));
/// assert_eq!(canonical(ArgKind::Email, "a@b.c, d@e.f"), None);
/// ```
#[must_use]
pub fn canonical(kind: ArgKind, text: &str) -> Option<CanonicalValue> {
    let form = match kind {
        ArgKind::Url | ArgKind::Path | ArgKind::Free | ArgKind::Secret => Form::Exact,
        _ => Form::Clean,
    };
    let mapped = Mapped::new(text, form);
    let text = mapped.text.as_ref();
    let bytes = match kind {
        ArgKind::Account => number::account(text.trim()),
        ArgKind::Email => place::email(text.trim()),
        ArgKind::Url => place::url(text.trim()).map(|url| url.text),
        ArgKind::Host => place::host(text.trim()),
        ArgKind::Phone => number::phone(text.trim()),
        ArgKind::Amount => number::amount(text.trim()),
        ArgKind::Date => date::date(text.trim()),
        ArgKind::Name => name(text),
        ArgKind::Path | ArgKind::Free | ArgKind::Secret => {
            (!text.is_empty()).then(|| text.to_owned())
        }
    }?;
    let bytes = bytes.into_bytes().into();
    Some(CanonicalValue { kind, bytes })
}

/// A name: lower case, one space between words.
pub(crate) fn name(clean: &str) -> Option<String> {
    let words: Vec<String> = clean.split_whitespace().map(str::to_lowercase).collect();
    (!words.is_empty()).then(|| words.join(" "))
}
