// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words written with letters of another script that look like ASCII letters.

use crate::mapped::Mapped;
use unicode_security::confusable_detection::skeleton;

/// Folded text with its look-alike letters read as the ASCII letters they pass for; none for text
/// that has no such letters.
///
/// The UTS 39 skeleton is no normaliser: it maps ASCII as well, `m` to `rn` and `I` to `l`, so that
/// phrases in plain ASCII no longer match. Here ASCII stays as it is, and only other letters are
/// mapped, those to one ASCII letter. A stroke that passes for `l` also passes for `i`; then there
/// are two readings.
pub(crate) fn readings(folded: &Mapped<'_>) -> Vec<Mapped<'static>> {
    if folded.text.is_ascii() {
        return Vec::new();
    }
    let mut known = Known::default();
    let mut seen = false;
    let mut strokes = false;
    for c in folded.text.chars().filter(|c| !c.is_ascii()) {
        let plain = known.ascii(c);
        seen |= plain.is_some();
        strokes |= plain == Some('l');
    }
    let mut read = |stroke| {
        folded.map_chars(|c| match known.ascii(c) {
            Some('l') => stroke,
            Some(plain) => plain,
            None => c,
        })
    };
    match (seen, strokes) {
        (false, _) => Vec::new(),
        (true, false) => vec![read('l')],
        (true, true) => vec![read('l'), read('i')],
    }
}

/// What the characters of a text pass for, so that each is looked up about once.
struct Known([(char, Option<char>); 256]);

impl Default for Known {
    fn default() -> Self {
        Self([('\0', None); 256])
    }
}

impl Known {
    fn ascii(&mut self, c: char) -> Option<char> {
        if c.is_ascii() {
            return None;
        }
        let place = usize::try_from(u32::from(c) % 256).unwrap_or_default();
        let Some(held) = self.0.get_mut(place) else {
            return ascii(c);
        };
        if held.0 != c {
            *held = (c, ascii(c));
        }
        held.1
    }
}

/// The ASCII letter or digit that a character outside ASCII passes for.
fn ascii(c: char) -> Option<char> {
    if c.is_ascii() {
        return None;
    }
    let mut bytes = [0; 4];
    let mut prototype = skeleton(c.encode_utf8(&mut bytes));
    let first = prototype.next()?.to_ascii_lowercase();
    (first.is_ascii_alphanumeric() && prototype.next().is_none()).then_some(first)
}
