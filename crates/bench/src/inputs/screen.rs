// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts of exactly 1 KiB: ordinary notes, in which no rule hits and every rule has to look.

/// Length of the texts in bytes.
pub const TEXT_BYTES: usize = 1_024;

const ASCII: &str = "Met with Dana on Tuesday about the rental flat on Mill Street. The rent is \
    due on the first of each month and the deposit was paid in March. She asked whether we could \
    move the inspection to next Friday at 10:30; I said that I would look at the calendar. The \
    new boiler works, but the timer has to be set again after each power cut. ";

const NOT_ASCII: &str = include_str!("not_ascii.txt");

/// Plain English.
#[must_use]
pub fn ascii() -> String {
    repeated(ASCII)
}

/// German, French, Russian and Japanese.
#[must_use]
pub fn not_ascii() -> String {
    repeated(NOT_ASCII)
}

/// The beginnings of a text, from 64 bytes to all of it, each twice as long as the one before.
#[must_use]
pub fn beginnings(text: &str) -> Vec<&str> {
    let lengths = (6..).map(|power| 1 << power);
    lengths
        .take_while(|length| *length <= text.len())
        .filter_map(|length| text.get(..text.floor_char_boundary(length)))
        .collect()
}

/// Repeats a text up to the length, filling up with dots where a character would be cut.
fn repeated(text: &str) -> String {
    let mut out = String::with_capacity(TEXT_BYTES);
    for c in text.chars().cycle() {
        if out.len() + c.len_utf8() > TEXT_BYTES {
            break;
        }
        out.push(c);
    }
    while out.len() < TEXT_BYTES {
        out.push('.');
    }
    out
}
