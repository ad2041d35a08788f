// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marks in place of spans, for a text that is shown or logged.

use crate::screen::Finding;
use core::ops::Range;

/// The text with `[redacted: ..]` in place of the span of each finding, for showing and for logs;
/// what is stored stays whole.
///
/// The mark names the rule without its family, `_` as `-`. Spans that overlap become one mark,
/// which names the rule of the finding that stands first in the list: of rules that hit at the
/// same place, the more particular stands before the general one. A span that is not of this text,
/// or cuts a character, is widened to where it fits, so that nothing of a secret is left.
///
/// ```
/// # use ancile_core::Channel;
/// # use ancile_screen::{ScreenInput, Screener, StageSet, redact};
/// let text = "Log in as bob with password=tr0ub4dor3x now";
/// let (channel, stages) = (Channel::Tool, StageSet::ALL);
/// let found = Screener::new()?.screen(&ScreenInput { text, channel, stages });
/// assert_eq!(
///     redact(text, found.to_redact()),
///     "Log in as bob with password=[redacted: assignment] now"
/// );
/// # Ok::<(), ancile_screen::RuleTableError>(())
/// ```
#[must_use]
pub fn redact<'f>(text: &str, findings: impl IntoIterator<Item = &'f Finding>) -> String {
    let spans = findings.into_iter().enumerate().map(|(place, finding)| {
        let name = finding.rule.as_str();
        let name = name.split_once('.').map_or(name, |(_, name)| name);
        (finding.span.clone(), place, name)
    });
    let mut spans: Vec<_> = spans.collect();
    spans.sort_by_key(|(span, place, _)| (span.start, *place));
    let mut marks: Vec<(Range<usize>, usize, String)> = Vec::new();
    for (span, place, name) in spans {
        let mark = format!("[redacted: {}]", name.replace('_', "-"));
        match marks.last_mut() {
            Some((last, first, held)) if span.start < last.end => {
                last.end = last.end.max(span.end);
                if place < *first {
                    (*first, *held) = (place, mark);
                }
            }
            _ => marks.push((span, place, mark)),
        }
    }
    let marks = marks
        .iter()
        .map(|(span, _, mark)| (span.clone(), mark.as_str()));
    with_marks(text, marks)
}

/// The text with marks in place of spans, which are in order and do not overlap.
pub(crate) fn with_marks<'m>(
    text: &str,
    marks: impl Iterator<Item = (Range<usize>, &'m str)>,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, mark) in marks {
        let start = text.floor_char_boundary(span.start).max(at);
        let end = text.ceil_char_boundary(span.end.max(start));
        out.push_str(text.get(at..start).unwrap_or_default());
        out.push_str(mark);
        at = end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
