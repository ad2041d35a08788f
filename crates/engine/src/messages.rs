// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chat messages as a host has them, and the facts that it extracted from single user turns.
//!
//! A message is reported as shown and kept, each by its own origin. A fact is written in a fresh
//! session that was shown that one turn and nothing else: so it is worth what the turn is worth,
//! whatever else the conversation was shown.

use crate::api::{
    Added, ChatMessage, ChatRole, Expose, ExposureKind, Fact, MESSAGES_MAX, MessageAdded,
    SessionSpec, ToolResult, Write, Written,
};
use crate::before::Noted;
use crate::refusal::{Fault, Refusal};
use crate::result::take_result;
use crate::state::Key;
use crate::step::{self, In};
use crate::turn::Turn;
use crate::write;
use ancile_core::{Channel, SessionId, SessionMode};

/// Takes messages and facts into a session, in order, all or none.
pub(crate) fn add(
    turn: &mut Turn<'_>,
    key: &Key,
    (id, token): (SessionId, &str),
    (messages, facts): (Vec<ChatMessage>, Vec<Fact>),
) -> Result<Added, Refusal> {
    let session = turn.session(key, &id, token)?;
    turn.reach(key, &session.spec.namespace, false)?;
    for (what, count) in [("messages", messages.len()), ("facts", facts.len())] {
        if count > MESSAGES_MAX {
            let text = format!("{count} {what}; limit is {MESSAGES_MAX}; send several requests");
            return Err(Refusal::new(Fault::Malformed, "count_out_of_range", text));
        }
    }
    let at = In { key, id };
    let turns: Vec<Option<String>> = messages.iter().map(words_of_user).collect();
    let mut added = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        let one = one(turn, &at, message);
        added.push(one.map_err(|refusal| within(&format!("message {index}"), refusal))?);
    }
    let mut written = Vec::with_capacity(facts.len());
    for (index, fact) in facts.into_iter().enumerate() {
        let place = usize::try_from(fact.message).unwrap_or(usize::MAX);
        let of = turns.get(place).cloned().flatten().zip(added.get(place));
        let one = match of {
            Some((words, shown)) => extracted(turn, &at, (words, shown), fact),
            None => Err(Refusal::new(
                Fault::Malformed,
                "fact_of_no_turn",
                "`message` is the number of a user turn of this request, from 0; a fact of \
                 anything else is written in the session",
            )),
        };
        written.push(one.map_err(|refusal| within(&format!("fact {index}"), refusal))?);
    }
    let session = at.session(turn)?;
    Ok(Added {
        messages: added,
        facts: written,
        class: session.class(turn.tenant(&key.tenant)?),
        exposure_root: session.root,
        exposure_len: session.len,
    })
}

fn within(place: &str, refusal: Refusal) -> Refusal {
    Refusal {
        outside: format!("{place}: {}", refusal.outside),
        ..refusal
    }
}

fn words_of_user(message: &ChatMessage) -> Option<String> {
    (message.role == ChatRole::User).then(|| message.content.clone())
}

/// Reports one message as shown, and keeps it.
fn one(turn: &mut Turn<'_>, at: &In<'_>, message: ChatMessage) -> Result<MessageAdded, Refusal> {
    let ChatMessage {
        role,
        content,
        tool,
        permit,
    } = message;
    if (role == ChatRole::Tool) != tool.is_some() || (permit.is_some() && tool.is_none()) {
        let text = "a message of role `tool`, and only one, names its tool in `name`, and may name \
                    the permit of its call";
        return Err(Refusal::new(Fault::Malformed, "message_fields", text));
    }
    let locator = tool.map(|tool| format!("tool:{tool}")).unwrap_or_default();
    let shown = |kind, channel| Expose {
        kind,
        channel,
        text: content.clone(),
        locator: locator.clone(),
    };
    let (shown, kept) = match role {
        ChatRole::User => (
            Some(step::expose(
                turn,
                at,
                shown(ExposureKind::UserTurn, None),
                Noted::default(),
            )?),
            Some(Channel::User),
        ),
        ChatRole::System => {
            let shown = shown(ExposureKind::SystemPrompt, None);
            (Some(step::expose(turn, at, shown, Noted::default())?), None)
        }
        // Its own words show an agent nothing new.
        ChatRole::Assistant => (None, Some(Channel::Agent)),
        ChatRole::Tool => {
            let class = match permit {
                Some(permit) => {
                    take_result(turn, at, (permit, ToolResult::Text(content.clone())), &[])?
                }
                None => {
                    let shown = shown(ExposureKind::Text, Some(Channel::Tool));
                    Some(step::expose(turn, at, shown, Noted::default())?)
                }
            };
            (class, Some(Channel::Tool))
        }
    };
    let written = match kept.filter(|_| !content.trim().is_empty()) {
        Some(channel) => {
            let op = memory(channel, content, locator);
            Some(write::write(turn, at.key, Some(at.id), op)?)
        }
        None => None,
    };
    Ok(MessageAdded { shown, written })
}

fn memory(channel: Channel, text: String, locator: String) -> Write {
    Write {
        channel: Some(channel),
        locator,
        ..Write::memory(text)
    }
}

/// Writes a fact in a fresh session that was shown one user turn.
fn extracted(
    turn: &mut Turn<'_>,
    at: &In<'_>,
    (words, shown): (String, &MessageAdded),
    fact: Fact,
) -> Result<Written, Refusal> {
    let spec = SessionSpec {
        mode: SessionMode::Headless,
        ..at.session(turn)?.spec.clone()
    };
    let opened = step::open(turn, at.key, spec, None)?;
    let alone = In {
        key: at.key,
        id: opened.id,
    };
    let seen = Expose {
        kind: ExposureKind::UserTurn,
        channel: None,
        text: words,
        locator: String::new(),
    };
    step::expose(turn, &alone, seen, Noted::default())?;
    let mut op = memory(Channel::Agent, fact.text, String::new());
    // What the turn is worth bounds the fact once more: a quarantined or weaker one shows in it.
    op.parents = shown.written.iter().map(|w| w.hash).collect();
    let written = write::write(turn, at.key, Some(opened.id), op)?;
    step::forget(turn, &at.key.tenant, &opened.id)?;
    Ok(written)
}
