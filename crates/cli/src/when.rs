// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moments as people write them: `now`, `+90s`, `+30m`, `+2h`, `+7d`, `2027-01-31`,
//! `2027-01-31T08:30:00Z`. Always UTC; on the wire they are integer microseconds.

use std::time::{SystemTime, UNIX_EPOCH};

const MICROS: i64 = 1_000_000;
const DAY: i64 = 86_400;

/// The present moment in microseconds since 1970-01-01 UTC; 0 on a clock set before that.
pub fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Reads a moment; for clap.
///
/// # Errors
/// The sentence says which forms there are.
pub fn parse(text: &str) -> Result<i64, String> {
    at(text, now()).ok_or_else(|| {
        "not a moment; write now, +90s, +30m, +2h, +7d, 2027-01-31 or 2027-01-31T08:30:00Z"
            .to_owned()
    })
}

fn at(text: &str, now: i64) -> Option<i64> {
    if text == "now" {
        return Some(now);
    }
    if let Some(rest) = text.strip_prefix('+') {
        let unit = rest.chars().last()?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => DAY,
            _ => return None,
        };
        let count = digits(rest.strip_suffix(unit)?)?;
        return now.checked_add(count.checked_mul(seconds)?.checked_mul(MICROS)?);
    }
    let (date, time) = text.split_once('T').unwrap_or((text, "00:00:00Z"));
    let seconds = days(date)?.checked_mul(DAY)?.checked_add(of_day(time)?)?;
    seconds.checked_mul(MICROS)
}

fn digits(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn of_day(text: &str) -> Option<i64> {
    let mut parts = text.strip_suffix('Z')?.split(':').map(digits);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let fits = parts.next().is_none() && hour < 24 && minute < 60 && second < 60;
    fits.then_some(hour * 3_600 + minute * 60 + second)
}

const fn leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

const fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 if leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to the first of January of this year.
const fn year_start(year: i64) -> i64 {
    let before = year - 1;
    let leaps = before / 4 - before / 100 + before / 400;
    before * 365 + leaps - 719_162
}

fn days(date: &str) -> Option<i64> {
    let mut parts = date.split('-').map(digits);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let fits = parts.next().is_none()
        && (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=month_days(year, month)).contains(&day);
    let months: i64 = (1..month).map(|m| month_days(year, m)).sum();
    fits.then_some(year_start(year) + months + day - 1)
}

/// A moment as people read it, to the second; the number itself outside the years 1970 to 9999.
pub fn show(micros: i64) -> String {
    let seconds = micros.div_euclid(MICROS);
    let (day, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    if !(0..year_start(10_000)).contains(&day) {
        return micros.to_string();
    }
    let mut year = 1970 + day / 366;
    while year_start(year + 1) <= day {
        year += 1;
    }
    let (mut month, mut left) = (1, day - year_start(year));
    while left >= month_days(year, month) {
        left -= month_days(year, month);
        month += 1;
    }
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!(
        "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z",
        left + 1
    )
}

#[cfg(test)]
mod tests;
