// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a match must pass beyond its pattern, by name, and the decoding of blobs.

use super::{personal, secret};
use core::ops::Range;

/// A check by name in the rule table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// The last six characters are the CRC-32 of the rest after the prefix, in base 62.
    Base62Crc,
    /// A payment card number: an issuer's range and length, and the Luhn check.
    Card,
    /// A value that looks drawn, not written: no placeholder, no plain word, no reference.
    Drawn,
    /// A telephone number with an assigned country code.
    E164,
    /// An e-mail address of a person, not of a repository.
    Email,
    /// A token of GitLab that is no placeholder, and whose checksum holds where it has one.
    Gitlab,
    /// A routable token of GitLab whose checksum does not hold.
    GitlabFails,
    /// Country length and modulo 97.
    Iban,
    /// A web token whose head is JSON that names an algorithm.
    Jwt,
    /// A login in a URL whose password is no placeholder.
    Login,
    /// A telephone number of North America.
    Nanp,
    /// A social security number of the United States.
    Ssn,
    /// A token that is no placeholder.
    Varied,
}

impl Check {
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "base62_crc" => Self::Base62Crc,
            "card" => Self::Card,
            "drawn" => Self::Drawn,
            "e164" => Self::E164,
            "email" => Self::Email,
            "gitlab" => Self::Gitlab,
            "gitlab_fails" => Self::GitlabFails,
            "iban" => Self::Iban,
            "jwt" => Self::Jwt,
            "login" => Self::Login,
            "nanp" => Self::Nanp,
            "ssn" => Self::Ssn,
            "varied" => Self::Varied,
            _ => return None,
        })
    }

    /// The part of a matched text that is the value, where the match has a name before it.
    pub fn part(self, matched: &str) -> Range<usize> {
        match self {
            Self::Drawn | Self::Gitlab | Self::GitlabFails | Self::Varied => secret::value(matched),
            Self::Login => secret::password(matched),
            _ => 0..matched.len(),
        }
    }

    /// Whether a matched text passes.
    pub fn passes(self, matched: &str) -> bool {
        match self {
            Self::Base62Crc => secret::base62_crc(matched),
            Self::Card => personal::card(matched),
            Self::Drawn => secret::drawn(matched),
            Self::E164 => personal::e164(matched),
            Self::Email => personal::email(matched),
            Self::Gitlab => secret::gitlab(matched),
            Self::GitlabFails => secret::routable(matched) == secret::Routable::Fails,
            Self::Iban => personal::iban(matched),
            Self::Jwt => secret::jwt(matched),
            Self::Login => secret::login(matched),
            Self::Nanp => personal::nanp(matched),
            Self::Ssn => personal::ssn(matched),
            Self::Varied => secret::varied(matched),
        }
    }
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
pub(crate) fn from_base64(run: &str) -> Vec<u8> {
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
