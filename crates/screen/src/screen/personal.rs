// SPDX-License-Identifier: MIT OR Apache-2.0
//! Personal data: numbers whose form says whether anyone can have them.

use crate::canon::number;

/// Card numbers by issuer: first digits from and to, and the lengths (ISO/IEC 7812; the issuers'
/// own tables).
const ISSUERS: [(&str, &str, core::ops::RangeInclusive<usize>); 17] = [
    ("2200", "2204", 16..=19), // Mir
    ("2221", "2720", 16..=16), // Mastercard
    ("300", "305", 14..=19),   // Diners Club
    ("34", "34", 15..=15),     // American Express
    ("3528", "3589", 16..=19), // JCB
    ("36", "36", 14..=19),     // Diners Club
    ("37", "37", 15..=15),     // American Express
    ("38", "39", 14..=19),     // Diners Club
    ("4", "4", 13..=19),       // Visa
    ("50", "50", 12..=19),     // Maestro, RuPay
    ("51", "55", 16..=16),     // Mastercard
    ("56", "58", 12..=19),     // Maestro
    ("6011", "6011", 16..=19), // Discover
    ("62", "62", 16..=19),     // UnionPay
    ("63", "63", 12..=19),     // Maestro
    ("644", "659", 16..=19),   // Discover, RuPay
    ("676", "676", 12..=19),   // Maestro
];
/// Country calling codes in use (ITU-T E.164 list of assigned codes).
const COUNTRIES: &str = "\
    1 7 20 211 212 213 216 218 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 \
    236 237 238 239 240 241 242 243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 \
    258 260 261 262 263 264 265 266 267 268 269 27 290 291 297 298 299 30 31 32 33 34 350 351 \
    352 353 354 355 356 357 358 359 36 370 371 372 373 374 375 376 377 378 379 380 381 382 383 \
    385 386 387 389 39 40 41 420 421 423 43 44 45 46 47 48 49 500 501 502 503 504 505 506 507 \
    508 509 51 52 53 54 55 56 57 58 590 591 592 593 594 595 596 597 598 599 60 61 62 63 64 65 \
    66 670 672 673 674 675 676 677 678 679 680 681 682 683 685 686 687 688 689 690 691 692 800 \
    808 81 82 84 850 852 853 855 856 86 870 878 880 881 882 883 886 888 90 91 92 93 94 95 960 \
    961 962 963 964 965 966 967 968 970 971 972 973 974 975 976 977 979 98 992 993 994 995 996 \
    998";
/// Numbers that were printed on sample cards, and are nobody's.
const SSN_SAMPLES: [&str; 2] = ["078051120", "219099999"];

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Whether digits have an issuer's beginning and length, and pass the Luhn check.
pub(crate) fn card(matched: &str) -> bool {
    let digits = digits(matched);
    let issued = ISSUERS.iter().any(|(from, to, lengths)| {
        let head = digits.get(..from.len()).unwrap_or_default();
        lengths.contains(&digits.len()) && (*from..=*to).contains(&head)
    });
    issued && number::luhn(&digits)
}

/// Whether a text is an IBAN, blanks and hyphens aside.
pub(crate) fn iban(matched: &str) -> bool {
    let compact = matched.chars().filter(|c| !matches!(c, ' ' | '-'));
    let compact: String = compact.map(|c| c.to_ascii_uppercase()).collect();
    number::is_iban(&compact)
}

/// Whether a text is a telephone number whose country code is in use.
pub(crate) fn e164(matched: &str) -> bool {
    let Some(phone) = number::phone(matched.trim()) else {
        return false;
    };
    let number = phone.trim_start_matches('+');
    COUNTRIES
        .split_ascii_whitespace()
        .any(|code| number.starts_with(code))
}

/// Whether ten digits are a number of the North American plan: an area and an exchange that do not
/// end in 11, and no area with 9 in the middle.
pub(crate) fn nanp(matched: &str) -> bool {
    let digits = digits(matched);
    let part = |from: usize| digits.get(from..from + 3).unwrap_or_default();
    let (area, exchange) = (part(0), part(3));
    digits.len() == 10
        && !area.ends_with("11")
        && !exchange.ends_with("11")
        && area.as_bytes().get(1) != Some(&b'9')
}

/// Whether the last nine digits are a number that can have been given out: no area 000, 666 or
/// from 900, no group 00, no serial 0000.
pub(crate) fn ssn(matched: &str) -> bool {
    let digits = digits(matched);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    digits.len() == 9
        && !matches!(part(0, 3), "000" | "666")
        && !digits.starts_with('9')
        && part(3, 5) != "00"
        && part(5, 9) != "0000"
        && !SSN_SAMPLES.contains(&digits.as_str())
}

/// Whether an address is not the login of a repository host.
pub(crate) fn email(matched: &str) -> bool {
    !matched.starts_with("git@")
}
