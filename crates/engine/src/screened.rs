// SPDX-License-Identifier: MIT OR Apache-2.0
//! Screening at the gates: what a write notes of it, and what a model is shown in its place.

use crate::EngineConfig;
use crate::api::Gates;
use crate::content::Content;
use crate::refusal::{Fault, Refusal};
use crate::state::Entry;
use crate::turn::{Turn, internal};
use ancile_core::{Channel, PrincipalName, RULES_MAX, ScreeningNote};
use ancile_screen::{
    SCREEN_BYTES_MAX, ScreenInput, Screener, Screening, StageSet, Verdict, redact,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The screener that a store is opened with; none where contents are not screened.
pub(crate) fn screener(config: &EngineConfig) -> Result<Option<Arc<Screener>>, Refusal> {
    if !config.screening {
        return Ok(None);
    }
    let screener = Screener::new().map_err(|e| internal(&e))?;
    Ok(Some(Arc::new(screener.with_policy(&config.screen_policy))))
}

/// Screens a content that is to be written. With the detectors off the note says so.
pub(crate) fn note(
    turn: &Turn<'_>,
    content: &Content,
    channel: Channel,
) -> Result<ScreeningNote, Refusal> {
    let text = content.screened();
    let Some(screening) = screening(turn, &text, channel) else {
        return Ok(ScreeningNote {
            version: 0,
            instruction_like: None,
            quarantined: false,
            rules: Vec::new(),
        });
    };
    let enforce = turn.core.gates == Gates::Enforce;
    if screening.verdict == Verdict::Reject && text.len() > SCREEN_BYTES_MAX {
        let text = "the text was rejected by screening; shorten it or send it in parts";
        return Err(Refusal::new(Fault::TooLarge, "screening_rejected", text));
    }
    if screening.verdict == Verdict::Reject && enforce {
        let text = "the text carries what this store does not take in on its channel; take \
                    secrets and personal data out and send it again";
        let rules = rules_of(&screening).join(" ");
        return Err(Refusal::new(Fault::Forbidden, "screening_refused", text).inside(rules));
    }
    let quarantine = screening.verdict >= Verdict::Quarantine;
    Ok(ScreeningNote {
        version: screening.version,
        instruction_like: Some(screening.instruction_like),
        quarantined: quarantine && enforce,
        rules: rules_of(&screening),
    })
}

/// Screens a text with the rules in force; nothing with the detectors off.
pub(crate) fn screening(turn: &Turn<'_>, text: &str, channel: Channel) -> Option<Screening> {
    let screener = turn.core.screener.as_ref()?;
    Some(screener.screen(&ScreenInput {
        text,
        channel,
        stages: StageSet::ALL,
    }))
}

/// The ids of the rules that hit, sorted, each once.
fn rules_of(screening: &Screening) -> Vec<Box<str>> {
    let ids: BTreeSet<&str> = screening.findings.iter().map(|f| f.rule.as_str()).collect();
    ids.into_iter().take(RULES_MAX).map(Into::into).collect()
}

/// An entry's text as a model is shown it, with marks in place of what today's rules and policy
/// redact. What is stored stays whole, and people read it whole.
///
/// A user's own words count as such to their own agents alone; to another user's they are a text
/// of no known channel.
pub(crate) fn for_model(
    turn: &Turn<'_>,
    entry: &Entry,
    viewer: &PrincipalName,
    text: String,
) -> String {
    let record = &entry.record;
    // Screening again would find nothing where the same rules found nothing.
    let clean =
        record.screening.rules.is_empty() && record.screening.version == turn.screening_version();
    if clean || turn.core.gates != Gates::Enforce {
        return text;
    }
    let channel = match record.origin.channel {
        Channel::User if record.author != *viewer => Channel::Unknown,
        channel => channel,
    };
    match screening(turn, &text, channel) {
        Some(screening) if screening.to_redact().next().is_some() => {
            redact(&text, screening.to_redact())
        }
        _ => text,
    }
}
