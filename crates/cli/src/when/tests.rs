// SPDX-License-Identifier: MIT OR Apache-2.0
use super::{at, show};

#[test]
fn moments_read_and_print_the_same() {
    for (text, seconds) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2000-02-29T12:34:56Z", 951_827_696),
        ("2027-01-31T08:30:00Z", 1_801_384_200),
        ("2100-03-01T00:00:00Z", 4_107_542_400),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
    ] {
        assert_eq!(at(text, 0), Some(seconds * 1_000_000), "{text}");
        assert_eq!(show(seconds * 1_000_000), text);
    }
    assert_eq!(at("2027-01-31", 0), at("2027-01-31T00:00:00Z", 0));
    assert_eq!(show(-1), "-1");
    assert_eq!(show(i64::MAX), i64::MAX.to_string());
}

#[test]
fn every_day_of_four_centuries_reads_back() {
    for day in 0..146_097_i64 {
        let micros = day * 86_400_000_000;
        assert_eq!(at(&show(micros), 0), Some(micros));
    }
}

#[test]
fn relative_moments_count_from_now() {
    let cases = [
        ("now", 0),
        ("+0s", 0),
        ("+90s", 90),
        ("+30m", 1_800),
        ("+7d", 604_800),
    ];
    for (text, seconds) in cases {
        assert_eq!(at(text, 5), Some(5 + seconds * 1_000_000), "{text}");
    }
    assert_eq!(at("+999999999d", i64::MAX), None);
}

#[test]
fn anything_else_is_refused() {
    for text in [
        "",
        "+",
        "+s",
        "+-1s",
        "+1w",
        "+1\u{fc}",
        "tomorrow",
        "2027-02-29",
        "2027-13-01",
        "2027-00-01",
        "2027-01-00",
        "1969-12-31",
        "2027-01-01T24:00:00Z",
        "2027-01-01T00:00:00",
        "2027-01-01T00:00Z",
        "2027-01-01-01",
        "+1234567890s",
    ] {
        assert_eq!(at(text, 0), None, "{text}");
    }
}
