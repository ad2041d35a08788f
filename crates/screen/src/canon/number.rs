// SPDX-License-Identifier: MIT OR Apache-2.0
//! Account numbers, telephone numbers and amounts.

use std::net::Ipv4Addr;

/// Shortest account id, in characters.
const ACCOUNT_CHARS_MIN: usize = 4;
/// Longest account id, in characters.
const ACCOUNT_CHARS_MAX: usize = 64;
/// Fewest and most digits of a telephone number (ITU-T E.164 allows 15).
const PHONE_DIGITS: core::ops::RangeInclusive<usize> = 7..=15;
/// Most digits of an amount.
const AMOUNT_DIGITS_MAX: usize = 30;

/// Length of an IBAN by country (ISO 13616 registry), in order of country, five bytes each.
const IBAN_LENGTHS: &str = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 \
    CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 \
    GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 \
    LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 \
    RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 \
    VG24 XK20 YE30 ";

/// Length of an IBAN of the country that `text` starts with.
pub(crate) fn iban_length(text: &str) -> Option<usize> {
    let country: [u8; 2] = *text.as_bytes().first_chunk()?;
    let country = country.map(|letter| letter.to_ascii_uppercase());
    let (rows, _) = IBAN_LENGTHS.as_bytes().as_chunks::<5>();
    let row = rows.binary_search_by_key(&country, |[a, b, ..]| [*a, *b]);
    let [_, _, tens, ones, _] = rows.get(row.ok()?)?;
    Some(usize::from(tens - b'0') * 10 + usize::from(ones - b'0'))
}

/// Whether a compact upper-case text is an IBAN: its country's length, and 1 modulo 97 (ISO 7064).
pub(crate) fn is_iban(compact: &str) -> bool {
    if iban_length(compact) != Some(compact.len()) {
        return false;
    }
    let Some((head, tail)) = compact.split_at_checked(4) else {
        return false;
    };
    let mut rest = 0_u32;
    for c in tail.chars().chain(head.chars()) {
        match c.to_digit(36) {
            Some(digit) if digit < 10 => rest = (rest * 10 + digit) % 97,
            Some(letter) => rest = (rest * 100 + letter) % 97,
            None => return false,
        }
    }
    rest == 1 && head.chars().skip(2).all(|c| c.is_ascii_digit())
}

/// Whether digits pass the Luhn check (ISO/IEC 7812-1).
pub(crate) fn luhn(digits: &str) -> bool {
    let mut sum = 0;
    for (place, c) in digits.chars().rev().enumerate() {
        let Some(digit) = c.to_digit(10) else {
            return false;
        };
        sum += match (place % 2, digit) {
            (0, d) => d,
            (_, d) if d > 4 => d * 2 - 9,
            (_, d) => d * 2,
        };
    }
    sum % 10 == 0
}

/// An account: an IBAN, a number in groups, or an id of letters, digits, `_`, `-` and `/`.
pub(crate) fn account(clean: &str) -> Option<String> {
    let gap = |c: char| matches!(c, ' ' | '-');
    let compact: String = clean.chars().filter(|c| !gap(*c)).collect();
    let upper = compact.to_ascii_uppercase();
    if is_iban(&upper) {
        return Some(upper);
    }
    let ends = clean.starts_with(gap) || clean.ends_with(gap);
    let in_range = |n: usize| (ACCOUNT_CHARS_MIN..=ACCOUNT_CHARS_MAX).contains(&n);
    if ends || !in_range(compact.len()) {
        return None;
    }
    if compact.bytes().all(|b| b.is_ascii_digit()) {
        return Some(compact);
    }
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"_-/".contains(&b);
    let digits = clean.bytes().filter(u8::is_ascii_digit).count();
    (clean.bytes().all(fits) && digits >= 2).then(|| clean.to_owned())
}

/// A telephone number as its digits, after `+` when it has a country code.
pub(crate) fn phone(clean: &str) -> Option<String> {
    let clean = super::place::strip_label(clean, "tel:");
    let (plus, rest) = match clean.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, clean),
    };
    let rest = match rest.split_once("(0)") {
        Some((code, rest)) if plus && is_country(code.trim_end()) => format!("{code}{rest}"),
        _ => rest.to_owned(),
    };
    let fits = |c: char| c.is_ascii_digit() || " -()./".contains(c);
    if !rest.chars().all(fits) || !rest.ends_with(|c: char| c.is_ascii_digit() || c == ')') {
        return None;
    }
    let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
    let (plus, digits) = match digits.strip_prefix("00") {
        Some(rest) if !plus && rest.len() > *PHONE_DIGITS.start() => (true, rest),
        _ => (plus, digits.as_str()),
    };
    let sign = if plus { "+" } else { "" };
    (PHONE_DIGITS.contains(&digits.len()) && !(plus && digits.starts_with('0')))
        .then(|| format!("{sign}{digits}"))
}

/// Whether these digits are a whole country code with a trunk zero behind it. Only then is `(0)`
/// no digit: in `+4(0)9` it would make another country's number.
fn is_country(code: &str) -> bool {
    const CODES: &str = "20 27 30 31 32 33 34 36 40 41 43 44 45 46 47 48 49 51 52 53 54 55 \
        56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98 351 352 353 \
        354 358 359 420 421";
    CODES.split_ascii_whitespace().any(|known| known == code)
}

/// An amount: a number, with or without a currency on either side.
pub(crate) fn amount(clean: &str) -> Option<String> {
    let (before, number, after) = split_amount(clean)?;
    let unit = match (currency(before), currency(after)) {
        (Some(unit), None) if after.is_empty() => Some(unit),
        (None, Some(unit)) if before.is_empty() => Some(unit),
        (None, None) if before.is_empty() && after.is_empty() => None,
        _ => return None,
    };
    let number = decimal(number, unit)?;
    Some(with_unit(&number, unit))
}

/// The canonical amount with its unit, if it has one.
pub(crate) fn with_unit(number: &str, unit: Option<&str>) -> String {
    match unit {
        Some(unit) => format!("{number} {unit}"),
        None => number.to_owned(),
    }
}

/// Splits what stands before, in and after the number; one space may stand between.
pub(crate) fn split_amount(text: &str) -> Option<(&str, &str, &str)> {
    let part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '\u{2212}');
    let start = text.find(part)?;
    let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
    let before = text.get(..start)?;
    let after = text.get(end..)?;
    Some((
        before.strip_suffix(' ').unwrap_or(before),
        text.get(start..end)?,
        after.strip_prefix(' ').unwrap_or(after),
    ))
}

/// The currency that a code, sign or word names. A bare `$` or yen sign is its own unit, since
/// several currencies use it; a per cent sign is a unit too.
pub(crate) fn currency(text: &str) -> Option<&str> {
    const CODES: &str = "AED ARS AUD BGN BHD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF \
        IDR ILS INR IQD JOD JPY KES KRW KWD LYD MAD MXN MYR NGN NOK NZD OMR PHP PKR PLN QAR RON \
        RUB SAR SEK SGD THB TND TRY TWD UAH USD VND ZAR";
    let word = |word: &str| text.eq_ignore_ascii_case(word);
    match text {
        "$" | "%" | "\u{a5}" => Some(text),
        "\u{20ac}" => Some("EUR"),
        "\u{a3}" => Some("GBP"),
        "\u{20b9}" => Some("INR"),
        "\u{20bf}" => Some("BTC"),
        _ if word("percent") => Some("%"),
        _ if word("US$") => Some("USD"),
        _ if word("euro") || word("euros") => Some("EUR"),
        _ if word("dollar") || word("dollars") => Some("$"),
        _ if text.len() == 3 => CODES.split_ascii_whitespace().find(|code| word(code)),
        _ => None,
    }
}

/// Whether a word multiplies the number before it.
pub(crate) fn is_scale(word: &str) -> bool {
    const SCALES: &str = "hundred thousand million millions billion billions trillion dozen k m mn \
        mio bn mrd tsd lakh crore";
    SCALES
        .split_ascii_whitespace()
        .any(|scale| scale.eq_ignore_ascii_case(word))
}

/// The number in plain decimal, without zeros at its ends.
///
/// One separator before three digits could mean either: a comma then groups thousands; a dot does
/// so only beside a currency whose smallest unit is not a thousandth, and else is a decimal point.
pub(crate) fn decimal(number: &str, unit: Option<&str>) -> Option<String> {
    if number.parse::<Ipv4Addr>().is_ok() {
        return None;
    }
    let (sign, number) = match number.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let seps: Vec<char> = number.chars().filter(|c| !c.is_ascii_digit()).collect();
    let last = seps.last().copied();
    let thousandths = matches!(
        unit,
        Some("BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND")
    );
    let money = unit.is_some_and(|unit| unit != "%") && !thousandths;
    let point = match last {
        None => None,
        Some(c) if seps.len() > 1 && seps.iter().filter(|s| **s == c).count() > 1 => None,
        Some(c @ (',' | '.')) if seps.len() > 1 => Some(c),
        Some(',') if groups(number, ',') => None,
        Some('.') if money && groups(number, '.') => None,
        Some(c @ (',' | '.')) => Some(c),
        Some(_) => None,
    };
    let (whole, fraction) = match point {
        Some(c) => number.rsplit_once(c)?,
        None => (number, ""),
    };
    let mark = whole.chars().find(|c| !c.is_ascii_digit());
    if mark.is_some_and(|mark| !groups(whole, mark)) || whole.is_empty() {
        return None;
    }
    let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let empty = point.is_some() && fraction.is_empty();
    if empty || !digits(fraction) || whole.len() + fraction.len() > AMOUNT_DIGITS_MAX {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    };
    Some(match fraction.trim_end_matches('0') {
        "" if whole == "0" => "0".to_owned(),
        "" => format!("{sign}{whole}"),
        rest => format!("{sign}{whole}.{rest}"),
    })
}

/// Whether `mark` alone groups thousands: three digits last, two or three between (Indian
/// grouping), one to three first, which do not start with a zero.
fn groups(number: &str, mark: char) -> bool {
    let parts: Vec<&str> = number.split(mark).collect();
    let digits = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    let [first, middle @ .., last] = parts.as_slice() else {
        return false;
    };
    matches!(mark, ',' | '.' | ' ' | '\'' | '\u{2019}')
        && parts.iter().all(digits)
        && (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && (middle.iter().all(|part| part.len() == 3)
            || (mark == ',' && middle.iter().all(|part| part.len() == 2)))
        && last.len() == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_country_has_its_length_and_no_other_has_one() {
        let rows: Vec<&str> = IBAN_LENGTHS.split_ascii_whitespace().collect();
        for (first, second) in ('A'..='Z').flat_map(|a| ('A'..='Z').map(move |b| (a, b))) {
            let country = format!("{first}{second}");
            let length = rows.iter().find_map(|row| row.strip_prefix(&country));
            let length = length.map(|length| length.parse().unwrap());
            assert_eq!(iban_length(&format!("{country}0000")), length, "{country}");
            assert_eq!(iban_length(&country.to_lowercase()), length, "{country}");
        }
        for text in ["", "D", "D\u{e9}", "\u{e9}", "1234", "D 89"] {
            assert_eq!(iban_length(text), None, "{text}");
        }
    }
}
