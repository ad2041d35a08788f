// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stage 1 scans: one pass over the characters of the original text.

use crate::mapped::is_invisible;
use core::ops::Range;

/// Longest line that is not remarked upon, in bytes.
const LINE_BYTES_MAX: usize = 10_000;
/// Shortest run of base64 or hexadecimal characters that counts as a blob, in bytes. Longer than
/// a SHA-512 in hexadecimal.
const BLOB_BYTES_MIN: usize = 160;
/// Shortest run that is decoded and read, in bytes.
const CODED_BYTES_MIN: usize = 24;
/// Fewest invisible characters in a row that count as hidden text.
const INVISIBLE_RUN_MIN: usize = 4;

/// A scan by name in the rule table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scan {
    /// Unicode tag characters outside a flag.
    Tags,
    /// Characters that turn the writing direction over.
    BidiOverride,
    /// Other characters that set the writing direction.
    BidiMark,
    /// Invisible characters inside an ASCII word.
    SplitWord,
    /// Several invisible characters in a row.
    InvisibleRun,
    /// Any other invisible character.
    Invisible,
    /// Control characters.
    Control,
    /// A line too long to be read.
    LongLine,
    /// A long base64 or hexadecimal run.
    Blob,
    /// A base64 or hexadecimal run that stands for an instruction.
    CodedInstruction,
    /// A text over the limit.
    TooLong,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
}

impl Scan {
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "tags" => Self::Tags,
            "bidi_override" => Self::BidiOverride,
            "bidi_mark" => Self::BidiMark,
            "split_word" => Self::SplitWord,
            "invisible_run" => Self::InvisibleRun,
            "invisible" => Self::Invisible,
            "control" => Self::Control,
            "long_line" => Self::LongLine,
            "blob" => Self::Blob,
            "coded_instruction" => Self::CodedInstruction,
            "too_long" => Self::TooLong,
            "invalid_utf8" => Self::InvalidUtf8,
            _ => return None,
        })
    }
}

/// Reports what the scans of stage 1 see; `coded` are the coded runs of the text.
pub(crate) fn scan(text: &str, coded: &[Range<usize>], report: &mut dyn FnMut(Scan, Range<usize>)) {
    if !text.is_ascii() {
        invisible(text, report);
    }
    control(text, report);
    lines(text, report);
    for run in coded.iter().filter(|run| run.len() >= BLOB_BYTES_MIN) {
        let part = text.get(run.clone()).unwrap_or_default();
        let has = |fits: fn(&u8) -> bool| part.bytes().any(|b| fits(&b));
        let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
        let hex = part.bytes().all(|b| b.is_ascii_hexdigit());
        if has(u8::is_ascii_digit) && (mixed || hex) {
            report(Scan::Blob, run.clone());
        }
    }
}

/// The runs that may be base64 or hexadecimal text, long enough to carry a sentence.
pub(crate) fn coded_runs(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let coded = |at: usize| {
        let b = bytes.get(at).copied().unwrap_or(b' ');
        b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_')
    };
    let mut out = Vec::new();
    // No run reaches over the byte before `from`. A run that is long enough and begins from there
    // on covers the last byte of the window, or begins behind that byte.
    let mut from = 0;
    while from + CODED_BYTES_MIN <= bytes.len() {
        let last = from + CODED_BYTES_MIN - 1;
        if !coded(last) {
            from = last + 1;
            continue;
        }
        let start = (from..last)
            .rev()
            .find(|at| !coded(*at))
            .map_or(from, |at| at + 1);
        let end = (last + 1..bytes.len())
            .find(|at| !coded(*at))
            .unwrap_or(bytes.len());
        if end - start >= CODED_BYTES_MIN {
            out.push(start..end);
        }
        from = end + 1;
    }
    out
}

fn control(text: &str, report: &mut dyn FnMut(Scan, Range<usize>)) {
    let plain = |b: u8| b >= b' ' && b != 0x7f || matches!(b, b'\t' | b'\n' | b'\r');
    if text.is_ascii() && text.bytes().all(plain) {
        return;
    }
    for (at, c) in text.char_indices() {
        if c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}') {
            report(Scan::Control, at..at + c.len_utf8());
        }
    }
}

fn lines(text: &str, report: &mut dyn FnMut(Scan, Range<usize>)) {
    if text.len() <= LINE_BYTES_MAX {
        return;
    }
    let mut start = 0;
    for line in text.split('\n') {
        if line.len() > LINE_BYTES_MAX {
            report(Scan::LongLine, start..start + line.len());
        }
        start += line.len() + 1;
    }
}

fn invisible(text: &str, report: &mut dyn FnMut(Scan, Range<usize>)) {
    let mut before = None;
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        if !is_invisible(c) {
            before = Some(c);
            continue;
        }
        let mut run = vec![c];
        let mut end = start + c.len_utf8();
        while let Some((at, c)) = chars.next_if(|(_, c)| is_invisible(*c)) {
            run.push(c);
            end = at + c.len_utf8();
        }
        let after = chars.peek().map(|(_, c)| *c);
        if let Some(scan) = classify(&run, before, after, start) {
            report(scan, start..end);
        }
    }
}

/// What a run of invisible characters between two visible ones is; `None` where it belongs to
/// ordinary writing: a byte order mark, joiners and variation selectors beside other scripts and
/// emoji, and the tags of a flag.
fn classify(run: &[char], before: Option<char>, after: Option<char>, at: usize) -> Option<Scan> {
    let any = |fits: fn(char) -> bool| run.iter().any(|c| fits(*c));
    let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let foreign = |c: Option<char>| c.is_some_and(|c| !c.is_ascii());
    let tag = |c: char| matches!(c, '\u{e0000}'..='\u{e007f}');
    let joiner = |c: char| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
    let flag = before == Some('\u{1f3f4}') && run.last() == Some(&'\u{e007f}') && run.len() <= 8;
    let soft = run == ['\u{ad}'];
    let keycap = before.is_some_and(|c| c.is_ascii_digit() || matches!(c, '#' | '*'))
        && after == Some('\u{20e3}');
    match () {
        () if any(tag) && flag => None,
        () if any(tag) => Some(Scan::Tags),
        () if any(|c| matches!(c, '\u{202d}' | '\u{202e}')) => Some(Scan::BidiOverride),
        () if run.iter().all(|c| *c == '\u{feff}') && at == 0 => None,
        () if run.len() >= INVISIBLE_RUN_MIN => Some(Scan::InvisibleRun),
        () if any(|c| matches!(c, '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}')) => {
            Some(Scan::BidiMark)
        }
        () if run.iter().all(|c| joiner(*c)) && (foreign(before) || keycap) => None,
        () if soft => Some(Scan::Invisible),
        () if word(before) && word(after) => Some(Scan::SplitWord),
        () => Some(Scan::Invisible),
    }
}
