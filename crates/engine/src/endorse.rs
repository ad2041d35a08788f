// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endorsement: a user answers for an entry by its exact digest. A copy is written that stands in
//! the entry's place; it rests on that act, and so it is class 3 to that user and class 4 to
//! everybody else. It grounds only the values that the user retyped.

use crate::api::{ENDORSED_VALUES_MAX, Written};
use crate::content::Content;
use crate::event::Event;
use crate::home::random;
use crate::refusal::{Fault, Refusal};
use crate::state::{Entry, Key, Tenant};
use crate::turn::{Turn, USERS_KEY, forbidden, internal, tampered};
use crate::write::{finish, replace};
use ancile_core::{
    ArgKind, AuthorityClass, DerivationRecord, Digest, EntryId, EntryKind, Parents, PrincipalName,
    Role, RootSet, Salt, ScreeningNote, TrustRoot, content_commitment,
};
use ancile_screen::{GroundText, canonical};
use std::ops::Range;
use std::sync::Arc;

/// Stands between the values that one endorsement names, so that no two read as one.
const BETWEEN: &str = " ;\n";

/// A user's act that named an exact digest: the copy that was written of it rests on that.
#[derive(Debug, Clone)]
pub(crate) struct Endorsement {
    /// Record hash of what was copied.
    pub of: Digest,
    pub by: PrincipalName,
    /// The parts of the text, in bytes, that the user retyped.
    pub named: Vec<Range<usize>>,
}

/// Writes the copy that a user answers for. `values` are parts of the text, spelled as it has
/// them, that may ground calls of the user's sessions which are shown the copy.
pub(crate) fn endorse(
    turn: &mut Turn<'_>,
    key: &Key,
    id: &EntryId,
    digest: &Digest,
    values: &[String],
) -> Result<Written, Refusal> {
    if key.spec.role != Role::User {
        return Err(forbidden("endorse entries", USERS_KEY));
    }
    let entry = turn.entry(key, id)?;
    turn.reach(key, &entry.record.namespace, true)?;
    let user = &key.spec.principal;
    endorsable(turn, key, &entry, digest)?;
    let read = match turn.verified(&key.tenant, &entry)? {
        Ok(read) => read,
        Err(broken) => return Err(tampered(broken)),
    };
    let content = Content::decode(entry.record.kind, &read.bytes).map_err(|e| internal(&e))?;
    let named = named(&content.text, values)?;
    let salt: Salt = random()?;
    let record = copy(turn, &entry, user, content_commitment(&salt, &read.bytes))?;
    let written = finish(turn, key, record, &salt, &read.bytes)?;
    replace(turn, key, &entry, &written.id)?;
    let event = Event::Endorsed {
        entry: written.id,
        hash: written.hash,
        of: entry.hash,
        by: user.clone(),
        at: turn.now,
        named: named.iter().map(|part| (part.start, part.end)).collect(),
    };
    turn.emit(&key.tenant, &event)?;
    Ok(written)
}

/// Whether a user may answer for the entry, with exactly this digest, today.
fn endorsable(turn: &Turn<'_>, key: &Key, entry: &Entry, digest: &Digest) -> Result<(), Refusal> {
    let conflict = |code, text: &str| Err(Refusal::new(Fault::Conflict, code, text));
    if entry.record.kind != EntryKind::Memory {
        let text = "only memories are endorsed, since a task or context file acts by itself; \
                    write it in your own words";
        return Err(Refusal::new(Fault::Forbidden, "not_endorsable", text));
    }
    if entry.hash != *digest {
        let text = "the digest is not the entry's; look at it again, then name its digest";
        return conflict("other_digest", text);
    }
    let tenant = turn.tenant(&key.tenant)?;
    let fate = tenant.fate(&entry.record.id);
    if fate.discarded || fate.erased.is_some() {
        return conflict(
            "entry_gone",
            "the entry was discarded or erased; it cannot be endorsed",
        );
    }
    if fate.pending {
        let text = "the entry is held until it is judged; wait for the verdict, or release it";
        return conflict("entry_pending", text);
    }
    if tenant.shelf_of(entry).is_some() {
        let text = "the entry, or a part of it, is on the quarantine shelf; release it first";
        return conflict("entry_quarantined", text);
    }
    if tenant.superseded(entry, &key.spec.principal) {
        return conflict(
            "entry_superseded",
            "another entry stands in its place; endorse that one",
        );
    }
    if entry
        .record
        .valid_until
        .is_some_and(|until| until <= turn.now)
    {
        return conflict(
            "entry_expired",
            "the entry is not valid any more; write what is true now",
        );
    }
    if tenant.class_today(entry, &key.spec.principal) != AuthorityClass::Untrusted {
        let text = "the entry is class 3 or stronger to you already; nothing needs endorsing";
        return conflict("not_untrusted", text);
    }
    Ok(())
}

/// The record of the copy: where the text came from stays, and what it rests on is the act. It has
/// no parents, since it may be stronger than what it copies; the root names that.
fn copy(
    turn: &mut Turn<'_>,
    entry: &Entry,
    user: &PrincipalName,
    commitment: Digest,
) -> Result<DerivationRecord, Refusal> {
    let old = entry.record.as_ref();
    let root = TrustRoot::Endorsed {
        user: user.clone(),
        digest: entry.hash,
    };
    let none = Parents::new((Digest([0; 32]), 0), Vec::new(), &|_| {
        ancile_core::ParentFound::Nowhere
    });
    Ok(DerivationRecord {
        id: turn.fresh(EntryId::at)?,
        version: old.version.saturating_add(1),
        author: user.clone(),
        session: None,
        parents: none.map_err(|e| internal(&e))?,
        roots: RootSet::new([root]),
        class: AuthorityClass::AgentDerived,
        policy_epoch: turn.tenant(&old.tenant)?.epoch,
        supersedes: Some(entry.hash),
        commitment,
        // What it says was screened, and the person looked at what screening held back.
        screening: ScreeningNote {
            quarantined: false,
            ..old.screening.clone()
        },
        created: turn.now,
        ..old.clone()
    })
}

/// Where the text has each value, as a whole word or number.
fn named(text: &str, values: &[String]) -> Result<Vec<Range<usize>>, Refusal> {
    if values.len() > ENDORSED_VALUES_MAX {
        let text = format!(
            "{} values; give at most {ENDORSED_VALUES_MAX}; name those that matter",
            values.len()
        );
        return Err(Refusal::new(Fault::Malformed, "count_out_of_range", text));
    }
    let whole = GroundText::new(text);
    let place = |(at, value): (usize, &String)| {
        let found = text.find(value.as_str()).filter(|_| names(&whole, value));
        found
            .map(|from| from..from.saturating_add(value.len()))
            .ok_or_else(|| {
                let text = format!(
                    "values[{at}] is not in the text as a whole word or number; spell it as the \
                     text does"
                );
                Refusal::new(Fault::Malformed, "value_not_in_text", text)
            })
    };
    values.iter().enumerate().map(place).collect()
}

/// Whether the text names what is spelled so: as one of the typed values it can be, or else as a
/// word.
fn names(text: &GroundText, value: &str) -> bool {
    let typed = |kind: &&ArgKind| !matches!(kind, ArgKind::Free | ArgKind::Name | ArgKind::Secret);
    let mut read = ArgKind::ALL
        .iter()
        .filter(typed)
        .filter_map(|kind| canonical(*kind, value))
        .peekable();
    match read.peek() {
        Some(_) => read.any(|value| text.names(&value)),
        None => canonical(ArgKind::Free, value).is_some_and(|value| text.names(&value)),
    }
}

impl Tenant {
    /// What an endorsed entry grounds for this user: the values that they retyped.
    pub(crate) fn endorsed_values(
        &self,
        entry: &Entry,
        text: &str,
        user: &PrincipalName,
    ) -> Option<String> {
        let act: &Arc<Endorsement> = self.endorsements.get(&entry.hash)?;
        let parts = act.named.iter().map(|part| text.get(part.clone()));
        let parts: Option<Vec<&str>> = parts.collect();
        let parts = parts.filter(|parts| act.by == *user && !parts.is_empty())?;
        Some(parts.join(BETWEEN))
    }
}
