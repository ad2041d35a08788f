// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checksum of routable tokens, and the edges of their form.

use super::{Routable, crc32, routable};
use crate::screen::{ScreenInput, Screener, StageSet, Verdict};
use ancile_core::Channel;

/// Digits of a number in base 36, padded to a width.
fn base36(mut number: u64, width: usize) -> String {
    let mut out = Vec::new();
    while number > 0 || out.len() < width {
        let digit = u32::try_from(number % 36).unwrap();
        out.push(char::from_digit(digit, 36).unwrap());
        number /= 36;
    }
    out.iter().rev().collect()
}

/// A token with a payload of so many characters.
fn token(prefix: &str, payload: usize, version: &str) -> String {
    let text: String = "q7Rk2WzL_9-".chars().cycle().take(payload).collect();
    let covered = format!(
        "{prefix}{text}.{version}{}",
        base36(u64::try_from(payload).unwrap(), 2)
    );
    let sum = base36(u64::from(crc32(covered.as_bytes())), 7);
    format!("{covered}{sum}")
}

#[test]
fn the_published_examples_hold() {
    // GitLab's design document on routable tokens has a shortest and a longest one.
    assert_eq!(
        routable("bzoxd_Rb5_cHeWe1JH56wr2FCBA.0r1pum4t4"),
        Routable::Holds
    );
    let longest = "++++++++++++++++++++YzozdzVlMTEyNjRzZ3NmCmc6M3c1ZTExMjY0c2dzZgpoOjN3NWUxMTI2NHN\
                   nc2YKajozdzVlMTEyNjRzZ3NmCms6M3c1ZTExMjY0c2dzZgpsOjN3NWUxMTI2NHNnc2YKbTozdzVlMTE\
                   yNjRzZ3NmCm86M3c1ZTExMjY0c2dzZgpwOjN3NWUxMTI2NHNnc2YKdTozdzVlMTEyNjRzZ3Nmw5bzMma\
                   yzK43Ugba9fl8T_I-nZqc5gxOGH2HsUF6-J7UesTG4lmc3PT2aoPyuiUndG5Ci5IMThAbaiNkUTR87KB\
                   B.8c1adh6iv";
    let (covered, sum) = longest.split_at(longest.len() - 7);
    assert_eq!(longest.len(), 330);
    assert_eq!(base36(u64::from(crc32(covered.as_bytes())), 7), sum);
}

#[test]
fn any_changed_character_of_a_routable_token_breaks_its_checksum_or_its_form() {
    for prefix in ["glpat-", "glrt-t1_"] {
        let good = token(prefix, 36, "01.");
        assert_eq!(routable(&good), Routable::Holds);
        for at in prefix.len()..good.len() {
            let mut bad = good.clone().into_bytes();
            bad[at] = if bad[at] == b'5' { b'6' } else { b'5' };
            let bad = String::from_utf8(bad).unwrap();
            assert_ne!(routable(&bad), Routable::Holds, "{bad}");
        }
        let mut bad = good.clone();
        let other = if bad.pop() == Some('z') { 'y' } else { 'z' };
        bad.push(other);
        assert_eq!(routable(&bad), Routable::Fails, "{bad}");
    }
}

#[test]
fn the_length_of_a_routable_payload_is_27_to_300() {
    let is = |length| routable(&token("glpat-", length, "01."));
    assert_eq!(
        [26, 27, 28, 299, 300, 301].map(is),
        [
            Routable::No,
            Routable::Holds,
            Routable::Holds,
            Routable::Holds,
            Routable::Holds,
            Routable::No
        ]
    );
}

#[test]
fn what_follows_a_token_is_no_part_of_it() {
    let good = token("glpat-", 36, "01.");
    for (after, is) in [
        (".", Routable::Holds),
        (".git", Routable::Holds),
        ("z", Routable::No),
        ("_", Routable::No),
        ("-", Routable::No),
    ] {
        assert_eq!(routable(&format!("{good}{after}")), is, "{after}");
    }
    assert_eq!(routable("glpat-q7Rk2WzLq7Rk2WzLq7Rk"), Routable::No);
    let mut cut = good;
    cut.pop();
    assert_eq!(routable(&cut), Routable::No);
}

#[test]
fn a_token_whose_checksum_fails_is_flagged_and_not_redacted() {
    let screener = Screener::new().unwrap();
    let screen = |token: &str| {
        let text = format!("clone with {token}, then build");
        let screening = screener.screen(&ScreenInput {
            text: &text,
            channel: Channel::Document,
            stages: StageSet::ALL,
        });
        let rules = screening
            .findings
            .iter()
            .map(|f| f.rule.as_str().to_owned());
        let spans = screening
            .to_redact()
            .map(|f| text.get(f.span.clone()).unwrap().to_owned());
        (
            screening.verdict,
            rules.collect::<Vec<_>>(),
            spans.collect::<Vec<_>>(),
        )
    };
    for prefix in ["glpat-", "glrt-t3_", "glcbt-1a_"] {
        for version in ["", "01.", "0z."] {
            let good = token(prefix, 40, version);
            let (verdict, rules, spans) = screen(&good);
            assert_eq!(verdict, Verdict::Redact, "{good}");
            assert_eq!(rules, ["secret.gitlab_token"], "{good}");
            assert_eq!(spans, [good.as_str()]);
            // Two characters of the payload in each other's place.
            let bad = good.replacen("q7", "7q", 1);
            let (verdict, rules, spans) = screen(&bad);
            assert_eq!(verdict, Verdict::Flag, "{bad}");
            assert_eq!(rules, ["secret.gitlab_checksum"], "{bad}");
            assert!(spans.is_empty());
        }
    }
}
