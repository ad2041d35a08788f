// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a match must pass beyond its pattern, and the decoding of blobs.

use crate::canon::number;

/// A check by name in the rule table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// The Luhn check.
    Luhn,
    /// Country length and modulo 97.
    Iban,
    /// A telephone number.
    Phone,
    /// A value that looks drawn, not written: no placeholder, no plain word.
    Drawn,
}

impl Check {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "luhn" => Some(Self::Luhn),
            "iban" => Some(Self::Iban),
            "phone" => Some(Self::Phone),
            "drawn" => Some(Self::Drawn),
            _ => None,
        }
    }

    /// Whether a matched text passes.
    pub fn passes(self, matched: &str) -> bool {
        match self {
            Self::Luhn => {
                let digits: String = matched.chars().filter(char::is_ascii_digit).collect();
                number::luhn(&digits) && digits.bytes().any(|b| Some(b) != digits.bytes().next())
            }
            Self::Iban => {
                let compact = matched.chars().filter(|c| !matches!(c, ' ' | '-'));
                let compact: String = compact.map(|c| c.to_ascii_uppercase()).collect();
                number::is_iban(&compact)
            }
            Self::Phone => number::phone(matched.trim()).is_some(),
            Self::Drawn => drawn(matched),
        }
    }
}

/// Whether the value after the last `=`, `:` or blank of an assignment is likely a real secret.
fn drawn(assignment: &str) -> bool {
    let value = assignment
        .trim_end_matches(['"', '\'', '`'])
        .rsplit(['=', ':', ' ', '"', '\'', '`'])
        .next()
        .unwrap_or_default();
    let lower = value.to_ascii_lowercase();
    let placeholder = [
        "example",
        "your",
        "xxx",
        "redacted",
        "placeholder",
        "changeme",
        "...",
        "***",
    ];
    let code = ['<', '>', '$', '{', '}', '(', ')', '[', ']', '%'];
    let has = |fits: fn(&u8) -> bool| value.bytes().any(|b| fits(&b));
    !value.contains(code)
        && !placeholder.iter().any(|word| lower.contains(word))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
}

/// The text that a base64 or hexadecimal run stands for, when it is a text: at least nine bytes
/// in ten are printable ASCII.
pub(crate) fn decoded_text(run: &str) -> Option<String> {
    let hex = run.len().is_multiple_of(2) && run.bytes().all(|b| b.is_ascii_hexdigit());
    let bytes = if hex { from_hex(run) } else { from_base64(run) };
    let printable = |b: &&u8| matches!(b, b' '..=b'~' | b'\n' | b'\r' | b'\t');
    let good = bytes.iter().filter(printable).count();
    let text = String::from_utf8_lossy(&bytes);
    (!bytes.is_empty() && good * 10 >= bytes.len() * 9).then(|| text.into_owned())
}

fn from_hex(run: &str) -> Vec<u8> {
    let digits: Vec<u32> = run.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks_exact(2)
        .filter_map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        })
        .collect()
}

/// Base64 in the usual and the URL alphabet (RFC 4648 sections 4 and 5); padding is not looked at.
fn from_base64(run: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(run.len() * 3 / 4);
    let mut bits = 0_u32;
    let mut held = 0_u32;
    for byte in run.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        bits = (bits & 0xffff) << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from(bits >> held & 0xff).unwrap_or_default());
        }
    }
    out
}
