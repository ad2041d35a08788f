// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a text says, before anyone acts on it: the one canonicaliser for rules and grounding,
//! typed values in text, near-duplicates, screening stages 1 to 3, and what a judge of stage 4 is.
//!
//! Everything here is deterministic and takes time linear in its input. Nothing here is
//! load-bearing: with every stage off, the gates still hold. Findings are about *content*; what
//! may be *done* is decided elsewhere.

mod canon;
mod domain;
mod fingerprint;
mod ground;
mod judge;
mod mapped;
mod policy;
mod redact;
mod reply;
mod screen;
mod withhold;

pub use canon::{canonical, is_bare};
pub use domain::registrable_domain;
pub use fingerprint::{Fingerprint, fingerprint};
pub use ground::{FoundValue, GroundText, VALUES_MAX, values};
pub use judge::{
    ESCALATE_FROM, FLAG_FROM, JUDGE_NAME_BYTES_MAX, Judge, JudgeError, JudgeId, JudgeIdError,
    JudgeInput, JudgeThresholds, SCORE_MAX, Score, ThresholdsError,
};
pub use policy::{ScreenPolicy, ScreenPolicyError};
pub use redact::redact;
pub use reply::{FilteredReply, LinkKind, LinkReason, REPLY_BYTES_MAX, RemovedLink, filter_reply};
pub use screen::{
    Effect, FINDINGS_MAX, Finding, Rule, RuleId, RuleTableError, SCREEN_BYTES_MAX, ScreenInput,
    Screener, Screening, Stage, StageSet, Verdict,
};
pub use withhold::{WITHHELD_MAX, without};
