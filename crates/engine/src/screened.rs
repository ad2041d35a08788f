// SPDX-License-Identifier: MIT OR Apache-2.0
//! Screening at the gates: what a write notes of it, and what a model is shown in its place.

use crate::EngineConfig;
use crate::api::{Gates, Written};
use crate::content::Content;
use crate::event::Event;
use crate::judging;
use crate::refusal::{Fault, Refusal};
use crate::state::{Entry, Key};
use crate::turn::{Turn, internal};
use crate::write::Standing;
use ancile_core::{
    AuthorityClass, Channel, EntryKind, NamespaceName, PrincipalName, RULES_MAX, ScreeningNote,
};
use ancile_screen::{
    SCREEN_BYTES_MAX, ScreenInput, Screener, Screening, Stage, StageSet, Verdict, redact,
};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The screener that a store is opened with; none where contents are not screened.
pub(crate) fn screener(config: &EngineConfig) -> Result<Option<Arc<Screener>>, Refusal> {
    if !config.screening {
        return Ok(None);
    }
    let screener = Screener::new().map_err(|e| internal(&e))?;
    Ok(Some(Arc::new(screener.with_policy(&config.screen_policy))))
}

/// Parts of a text, in bytes.
type Parts = Vec<Range<usize>>;

/// What is to be done beside a record once it is written.
#[derive(Default)]
pub(crate) struct Beside {
    /// To be withheld where the rest need not be quarantined.
    parts: Parts,
    /// To be held until it is judged.
    judge: bool,
}

/// Screens a content that is to be written: the note for its record, and what follows beside it.
/// With the detectors off the note says so, and nothing follows.
pub(crate) fn note(
    turn: &Turn<'_>,
    content: &Content,
    standing: &Standing,
    (key, namespace, kind): (&Key, &NamespaceName, EntryKind),
) -> Result<(ScreeningNote, Beside), Refusal> {
    let text = content.screened();
    let Some(screening) = screening(turn, &text, standing.channel) else {
        let note = ScreeningNote {
            version: 0,
            instruction_like: None,
            quarantined: false,
            rules: Vec::new(),
        };
        return Ok((note, Beside::default()));
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
    let quarantine = screening.verdict >= Verdict::Quarantine && enforce;
    // A task and a context file run as a whole, so they are held as a whole.
    let cut = quarantine
        && kind == EntryKind::Memory
        && standing.class == AuthorityClass::Untrusted
        && text == content.text;
    let parts = match &turn.core.screener {
        Some(screener) if cut => screener.withheld(&input(&text, standing.channel), &screening),
        _ => None,
    };
    let note = ScreeningNote {
        version: screening.version,
        instruction_like: Some(screening.instruction_like),
        quarantined: quarantine && parts.is_none(),
        rules: rules_of(&screening),
    };
    let mut found = screening.findings.iter();
    let flagged = screening.instruction_like
        || found.any(|f| f.stage == Stage::Injection && f.verdict > Verdict::Allow);
    // What the rules quarantine waits for a person; no judge lets it out.
    let judge =
        !note.quarantined && judging::wanted(turn, &key.tenant, standing, (namespace, flagged))?;
    let parts = parts.unwrap_or_default();
    Ok((note, Beside { parts, judge }))
}

/// Puts parts of an entry just written on the quarantine shelf, and holds it until it is judged,
/// as screening says.
pub(crate) fn beside(
    turn: &mut Turn<'_>,
    key: &Key,
    written: &mut Written,
    beside: Beside,
) -> Result<(), Refusal> {
    written.withheld = shelve_parts(turn, key, written, beside.parts)?;
    if beside.judge {
        judging::hold(turn, &key.tenant, &written.id)?;
        written.pending = true;
    }
    Ok(())
}

/// Puts parts of an entry just written on the quarantine shelf; says how many.
fn shelve_parts(
    turn: &mut Turn<'_>,
    key: &Key,
    written: &Written,
    parts: Parts,
) -> Result<usize, Refusal> {
    if parts.is_empty() {
        return Ok(0);
    }
    let entry = turn.entry_by_id(&key.tenant, &written.id)?;
    let entry = entry.ok_or_else(|| internal(&"a written entry is not there"))?;
    let rules = entry.record.screening.rules.iter();
    let event = Event::Quarantined {
        entry: written.id,
        reason: "screening at write: parts".to_owned(),
        rules: rules.map(ToString::to_string).collect(),
        at: turn.now,
        parts: parts.iter().map(|part| (part.start, part.end)).collect(),
    };
    turn.emit(&key.tenant, &event)?;
    Ok(parts.len())
}

/// Screens a text with the rules in force; nothing with the detectors off.
pub(crate) fn screening(turn: &Turn<'_>, text: &str, channel: Channel) -> Option<Screening> {
    let screener = turn.core.screener.as_ref()?;
    Some(screener.screen(&input(text, channel)))
}

pub(crate) const fn input(text: &str, channel: Channel) -> ScreenInput<'_> {
    ScreenInput {
        text,
        channel,
        stages: StageSet::ALL,
    }
}

/// The ids of the rules that hit, sorted, each once.
pub(crate) fn rules_of(screening: &Screening) -> Vec<Box<str>> {
    let ids: BTreeSet<&str> = screening.findings.iter().map(|f| f.rule.as_str()).collect();
    ids.into_iter().take(RULES_MAX).map(Into::into).collect()
}

/// An entry's text as a model is shown it, with marks in place of what today's rules and policy
/// redact. What is stored stays whole, and people read it whole.
///
/// A user's own words count as such to their own agents alone; to another user's, and where another
/// user endorsed them, they are a text of no known channel.
pub(crate) fn for_model(
    turn: &Turn<'_>,
    key: &Key,
    entry: &Entry,
    viewer: &PrincipalName,
    text: String,
) -> Result<String, Refusal> {
    let record = &entry.record;
    // Screening again would find nothing where the same rules found nothing.
    let clean =
        record.screening.rules.is_empty() && record.screening.version == turn.screening_version();
    if clean || turn.core.gates != Gates::Enforce {
        return Ok(text);
    }
    let copied = turn
        .tenant(&key.tenant)?
        .endorsements
        .contains_key(&entry.hash);
    let channel = match record.origin.channel {
        Channel::User if record.author != *viewer || copied => Channel::Unknown,
        channel => channel,
    };
    Ok(match screening(turn, &text, channel) {
        Some(screening) if screening.to_redact().next().is_some() => {
            redact(&text, screening.to_redact())
        }
        _ => text,
    })
}
