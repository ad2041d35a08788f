// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lower-case hexadecimal digits, written in one piece: digests and identifiers are written often.

use core::fmt;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes the bytes, with a hyphen before each place that `hyphens` names.
pub(crate) fn write(bytes: &[u8], hyphens: &[usize], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text =
        String::with_capacity(bytes.len().saturating_mul(2).saturating_add(hyphens.len()));
    for (at, byte) in bytes.iter().enumerate() {
        if hyphens.contains(&at) {
            text.push('-');
        }
        text.push(digit(byte >> 4));
        text.push(digit(byte & 0x0f));
    }
    f.write_str(&text)
}

fn digit(value: u8) -> char {
    DIGITS
        .get(usize::from(value))
        .map_or('?', |digit| char::from(*digit))
}

/// The value of a digit of either case.
pub(crate) fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(digit.wrapping_sub(b'a').wrapping_add(10)),
        b'A'..=b'F' => Some(digit.wrapping_sub(b'A').wrapping_add(10)),
        _ => None,
    }
}
