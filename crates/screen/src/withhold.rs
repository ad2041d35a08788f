// SPDX-License-Identifier: MIT OR Apache-2.0
//! The paragraphs of a text that are withheld, so that one bad one does not take the rest along.

use crate::mapped::is_invisible;
use crate::redact::with_marks;
use crate::screen::{ScreenInput, Screener, Screening, Verdict};
use core::ops::Range;

/// Most parts withheld of one text; a text with more is quarantined whole.
pub const WITHHELD_MAX: usize = 16;
/// What stands in place of a part.
const MARK: &str = "[withheld: quarantined]";

impl Screener {
    /// The parts of a text on which its quarantine rests, widened to whole paragraphs, those that
    /// follow each other as one; what is left may be shown without them, by [`without`].
    ///
    /// `None` where the text has to be quarantined whole: where it is rejected or not to be
    /// quarantined at all, where not every finding is listed, where more than [`WITHHELD_MAX`]
    /// parts or more than half of its bytes are bad, or where what is left, read again with the
    /// marks in it, is to be quarantined still or reads as an instruction. So nothing that only
    /// the cut joins gets through.
    ///
    /// A paragraph ends at a line that shows nothing. A finding that reaches over such a line takes
    /// all paragraphs that it touches.
    #[must_use]
    pub fn withheld(
        &self,
        input: &ScreenInput<'_>,
        screening: &Screening,
    ) -> Option<Vec<Range<usize>>> {
        if screening.verdict != Verdict::Quarantine || screening.findings_cut {
            return None;
        }
        let paragraphs = paragraphs(input.text);
        let bad = screening.findings.iter();
        let bad = bad.filter(|finding| finding.verdict >= Verdict::Quarantine);
        let mut taken = vec![false; paragraphs.len()];
        for finding in bad {
            let span = &finding.span;
            for (paragraph, taken) in paragraphs.iter().zip(&mut taken) {
                *taken |= paragraph.start < span.end && span.start < paragraph.end;
            }
        }
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut follows = false;
        for (paragraph, taken) in paragraphs.into_iter().zip(taken) {
            match parts.last_mut() {
                Some(last) if taken && follows => last.end = paragraph.end,
                _ if taken => parts.push(paragraph),
                _ => {}
            }
            follows = taken;
        }
        let bytes: usize = parts.iter().map(Range::len).sum();
        let few = !parts.is_empty() && parts.len() <= WITHHELD_MAX;
        if !few || bytes > input.text.len() / 2 {
            return None;
        }
        let left = without(input.text, &parts);
        let again = self.screen(&ScreenInput {
            text: &left,
            ..*input
        });
        let fine = again.verdict < Verdict::Quarantine && !again.instruction_like;
        fine.then_some(parts)
    }
}

/// The text with a mark in place of each part.
#[must_use]
pub fn without(text: &str, parts: &[Range<usize>]) -> String {
    with_marks(text, parts.iter().map(|part| (part.clone(), MARK)))
}

/// The paragraphs of a text, without the line breaks at their ends. A line that has characters and
/// shows none parts paragraphs as an empty one does, and belongs to the one before it, with which
/// its findings count.
fn paragraphs(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.trim_end_matches(['\n', '\r']).len();
        let shows = line.chars().any(|c| !c.is_whitespace() && !is_invisible(c));
        match out.last_mut() {
            Some(last) if end > at && (open || !shows) => last.end = end,
            _ if end > at => out.push(at..end),
            _ => {}
        }
        open = shows;
        at += line.len();
    }
    out
}
