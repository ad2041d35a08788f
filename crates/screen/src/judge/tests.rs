// SPDX-License-Identifier: MIT OR Apache-2.0
use super::{
    JUDGE_NAME_BYTES_MAX, JudgeError, JudgeId, JudgeThresholds, SCORE_MAX, Score, ThresholdsError,
};
use crate::screen::Verdict;

#[test]
fn a_score_is_at_most_a_thousand() {
    assert_eq!(Score::new(0).unwrap().per_mille(), 0);
    assert_eq!(Score::new(999).unwrap().per_mille(), 999);
    assert_eq!(Score::new(SCORE_MAX).unwrap().per_mille(), 1_000);
    assert_eq!(Score::new(1_001), Err(JudgeError::Score(1_001)));
}

#[test]
fn thresholds_hold_from_their_scores_on() {
    let by = |flag, escalate, score| {
        let thresholds = JudgeThresholds::new(flag, escalate).unwrap();
        thresholds.verdict(Score::new(score).unwrap())
    };
    for (score, verdict) in [
        (0, Verdict::Allow),
        (499, Verdict::Allow),
        (500, Verdict::Flag),
        (799, Verdict::Flag),
        (800, Verdict::Quarantine),
        (1_000, Verdict::Quarantine),
    ] {
        assert_eq!(by(500, 800, score), verdict, "{score}");
        let default = JudgeThresholds::default();
        assert_eq!(default.verdict(Score::new(score).unwrap()), verdict);
    }
    assert_eq!(by(800, 800, 799), Verdict::Allow);
    assert_eq!(by(800, 800, 800), Verdict::Quarantine);
    assert_eq!(by(1, 1_000, 999), Verdict::Flag);
}

#[test]
fn thresholds_out_of_order_are_refused() {
    for (flag, escalate) in [(1, 1), (1, 1_000), (1_000, 1_000)] {
        assert!(JudgeThresholds::new(flag, escalate).is_ok());
    }
    for (flag, escalate) in [(0, 800), (801, 800), (1, 0), (500, 1_001)] {
        let refused = ThresholdsError { flag, escalate };
        assert_eq!(JudgeThresholds::new(flag, escalate), Err(refused));
    }
}

#[test]
fn a_judge_has_a_plain_name_and_a_version() {
    let most = "a".repeat(JUDGE_NAME_BYTES_MAX);
    assert_eq!(
        JudgeId::new("local-7b", 3).unwrap().to_string(),
        "local-7b/3"
    );
    assert!(JudgeId::new("a", 0).is_ok() && JudgeId::new(&most, 1).is_ok());
    for name in ["", "a b", "a/b", "a\n", "\u{e4}", &format!("{most}a")] {
        assert_eq!(JudgeId::new(name, 1).unwrap_err().0, name.len(), "{name:?}");
    }
}
