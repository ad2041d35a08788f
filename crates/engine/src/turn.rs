// SPDX-License-Identifier: MIT OR Apache-2.0
//! One job's turn on the writer thread: the moment, checked callers, and the ways to change state.

mod find;
mod verify;

pub(crate) use find::index_damaged;
pub(crate) use verify::rests_on;

use crate::before::Noted;
use crate::caller::Caller;
use crate::core::{Core, entry_of, index_entry};
use crate::counts::Total;
use crate::event::{Event, Shown};
use crate::home::random;
use crate::refusal::{Fault, Refusal};
use crate::session::Session;
use crate::state::{Key, Piece, Tenant, Usage, whose};
use ancile_core::{
    ArgKind, Broken, CanonicalValue, DerivationRecord, Digest, Micros, NamespaceName, Salt,
    SessionId, TenantName, content_commitment,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use subtle::ConstantTimeEq as _;

/// Microseconds since 1970, from the system clock.
pub(crate) fn clock() -> Micros {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

pub(crate) fn unauthenticated() -> Refusal {
    Refusal::new(
        Fault::Unauthenticated,
        "key_refused",
        "the key is unknown, expired or revoked; use a current key",
    )
}

pub(crate) fn not_found(what: &str) -> Refusal {
    let text =
        format!("there is no such {what} that this key can see; check the id, or use another key");
    Refusal::new(Fault::NotFound, "not_found", text)
}

/// Whose key does what only operators may.
pub(crate) const OPERATORS_KEY: &str = "the key of an operator";
/// Whose key does what people may.
pub(crate) const PERSONS_KEY: &str = "the key of a user or operator";
/// Whose key does what only users may.
pub(crate) const USERS_KEY: &str = "the key of a user";

/// Refuses what a key's role or reach does not allow; says whose key would do.
pub(crate) fn forbidden(what: &str, whose: &str) -> Refusal {
    let text = format!("this key may not {what}; use {whose}");
    Refusal::new(Fault::Forbidden, "forbidden", text)
}

pub(crate) fn internal(fault: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(
        Fault::Unavailable,
        "undecided",
        "the request could not be decided; retry",
    )
    .inside(fault)
}

pub(crate) fn tampered(broken: Broken) -> Refusal {
    let text = format!(
        "the entry's lineage is broken ({}); it is refused",
        broken.name()
    );
    Refusal::new(Fault::Tampered, "lineage_broken", text)
}

/// Refuses a text that is too long.
pub(crate) fn within(text: &str, max: usize, what: &str) -> Result<(), Refusal> {
    if text.len() <= max {
        return Ok(());
    }
    let text = format!("{what} is {} bytes; limit is {max}; split it", text.len());
    Err(Refusal::new(Fault::TooLarge, "too_long", text))
}

/// One job's turn.
pub(crate) struct Turn<'a> {
    pub core: &'a mut Core,
    pub now: Micros,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(core: &'a mut Core) -> Self {
        let now = clock().max(core.last);
        core.last = now;
        Self { core, now }
    }

    /// Checks a credential against today's keys.
    pub(crate) fn check(&self, caller: &Caller) -> Result<Key, Refusal> {
        let key = self
            .core
            .state
            .keys
            .get(&caller.hash)
            .ok_or_else(unauthenticated)?;
        if key.works_at(self.now) {
            Ok(key.clone())
        } else {
            Err(unauthenticated())
        }
    }

    pub(crate) fn tenant(&self, name: &TenantName) -> Result<&Tenant, Refusal> {
        self.core
            .state
            .tenants
            .get(name)
            .map(Arc::as_ref)
            .ok_or_else(|| not_found("tenant"))
    }

    /// Makes an identifier that comes after all made before it: within a millisecond by a counter
    /// that begins at a random number (RFC 9562, section 6.2, method 1).
    pub(crate) fn fresh<T>(&self, make: fn(u64, [u8; 10]) -> T) -> Result<T, Refusal> {
        let mut random: [u8; 10] = random()?;
        let now = u64::try_from(self.now.0 / 1_000).unwrap_or(0);
        let (last, count) = self.core.last_id.get();
        let [r0, r1, ..] = &mut random;
        let (ms, count) = match count.checked_add(1).filter(|count| *count <= COUNT_MAX) {
            _ if now > last => (now, u16::from_be_bytes([*r0, *r1]) & (COUNT_MAX >> 1)),
            Some(count) => (last, count),
            None => (last.saturating_add(1), 0),
        };
        [*r0, *r1] = count.to_be_bytes();
        self.core.last_id.set((ms, count));
        Ok(make(ms, random))
    }

    /// Whether a key reaches a namespace, to read or to write it.
    pub(crate) fn reach(
        &self,
        key: &Key,
        name: &NamespaceName,
        write: bool,
    ) -> Result<(), Refusal> {
        let namespace = self.tenant(&key.tenant)?.namespaces.get(name);
        let Some(namespace) = namespace.filter(|_| key.spec.namespaces.contains(name)) else {
            return Err(forbidden(
                "reach this namespace",
                "a key that was made for it: the operator makes keys",
            ));
        };
        let list = if write {
            &namespace.writers
        } else {
            &namespace.readers
        };
        if list.is_empty() || list.contains(&key.spec.principal) {
            Ok(())
        } else {
            let (what, list) = if write {
                ("write this namespace", "writers")
            } else {
                ("read this namespace", "readers")
            };
            Err(forbidden(what, &format!("the key of one of its {list}")))
        }
    }

    /// The session behind an id and its token, as the key may use it.
    pub(crate) fn session(
        &self,
        key: &Key,
        id: &SessionId,
        token: &str,
    ) -> Result<Arc<Session>, Refusal> {
        let session = self.tenant(&key.tenant)?.sessions.get(id);
        let session = session.ok_or_else(|| not_found("session"))?;
        let offered = Digest::sha256(token.as_bytes());
        let mine = session.host == key.spec.principal;
        if !mine || !bool::from(offered.0.ct_eq(&session.token.0)) {
            return Err(not_found("session"));
        }
        if session.closed {
            let text = "the session is closed; open a new one";
            return Err(Refusal::new(Fault::Conflict, "session_closed", text));
        }
        Ok(Arc::clone(session))
    }

    /// Logs an event and lets the state follow.
    pub(crate) fn emit(&mut self, tenant: &TenantName, event: &Event) -> Result<(), Refusal> {
        self.emit_beside(tenant, event, None)
    }

    /// Logs an event with a content that its body commits to.
    pub(crate) fn emit_with(
        &mut self,
        tenant: &TenantName,
        event: &Event,
        content: (&Salt, &[u8]),
    ) -> Result<(), Refusal> {
        self.emit_beside(tenant, event, Some(content))
    }

    fn emit_beside(
        &mut self,
        tenant: &TenantName,
        event: &Event,
        content: Option<(&Salt, &[u8])>,
    ) -> Result<(), Refusal> {
        let body = readable(event)?;
        let seq = self.append(tenant, &body, content)?;
        let none = std::collections::BTreeMap::new();
        self.core
            .state
            .apply(tenant, seq, event, &none)
            .map_err(|e| internal(&e))?;
        self.core.tally.event(event);
        Ok(())
    }

    /// Logs exposures, a few to a leaf. Texts that ground are kept as erasable content, salted.
    pub(crate) fn expose(
        &mut self,
        tenant: &TenantName,
        session: SessionId,
        items: Vec<Exposure>,
        result_of: Option<ancile_core::PermitId>,
    ) -> Result<(), Refusal> {
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            let few: Vec<Exposure> = items.by_ref().take(SHOWN_PER_LEAF).collect();
            let last = items.peek().is_none();
            self.expose_few(tenant, session, few, result_of.filter(|_| last))?;
        }
        Ok(())
    }

    fn expose_few(
        &mut self,
        tenant: &TenantName,
        session: SessionId,
        items: Vec<Exposure>,
        result_of: Option<ancile_core::PermitId>,
    ) -> Result<(), Refusal> {
        let salt: Salt = random()?;
        let items: Vec<(Shown, Option<String>)> =
            items.into_iter().map(|item| item.commit(&salt)).collect();
        let texts = texts_of(&items);
        let shown = items.into_iter().map(|(item, _)| item).collect();
        let bytes = serde_json::to_vec(&texts).map_err(|e| internal(&e))?;
        let kept = (!texts.is_empty()).then_some((&salt, bytes.as_slice()));
        let texts_commitment = kept.map(|(salt, bytes)| content_commitment(salt, bytes));
        let event = Event::Exposed {
            session,
            items: shown,
            texts: texts_commitment,
            result_of,
        };
        let body = readable(&event)?;
        let seq = self.append(tenant, &body, kept)?;
        self.core
            .state
            .apply(tenant, seq, &event, &texts)
            .map_err(|e| internal(&e))
    }

    /// Logs a record with its content, and lets state and index follow.
    pub(crate) fn put(
        &mut self,
        record: DerivationRecord,
        salt: &Salt,
        bytes: &[u8],
    ) -> Result<(u64, Digest), Refusal> {
        let tenant = record.tenant.clone();
        let tally = &mut self.core.tally;
        tally.add(Total::Written(record.class), 1);
        tally.add(Total::Quarantined, u64::from(record.screening.quarantined));
        let body = record.encode();
        let hash = ancile_core::record_hash(&body);
        let seq = self.append(&tenant, &body, Some((salt, bytes)))?;
        let print = |text: &str| self.core.prints.take(text);
        let (entry, text) = entry_of((seq, hash), record, Some((salt, bytes)), &print);
        let (place, piece) = (whose(&entry.record), Piece::of(&entry));
        if let Some(text) = text {
            let vector = self.core.embedding.vector(&text);
            index_entry(&mut self.core.index, &entry, &text, &vector);
        }
        self.core
            .state
            .add_record(&tenant, entry)
            .map_err(|e| internal(&e))?;
        self.usage_mut(&tenant)?.add(place, piece);
        Ok((seq, hash))
    }

    /// What a tenant keeps, to be counted on.
    pub(crate) fn usage_mut(&mut self, tenant: &TenantName) -> Result<&mut Usage, Refusal> {
        let tenant = self.core.state.tenant_mut(tenant);
        tenant.map(|t| &mut t.usage).map_err(|e| internal(&e))
    }

    fn append(
        &mut self,
        tenant: &TenantName,
        body: &[u8],
        content: Option<(&Salt, &[u8])>,
    ) -> Result<u64, Refusal> {
        if self.core.readers.only_looks() {
            return Err(internal(&"a reader has to write, and is answered as a job"));
        }
        let content = content.map(|(salt, bytes)| ancile_store::Content { salt: *salt, bytes });
        let appended = self.core.store()?.append(tenant, body, content);
        match appended {
            Ok(appended) => {
                if appended.replaced {
                    tracing::error!(%tenant, seq = appended.seq, "inserted rows were removed");
                }
                Ok(appended.seq)
            }
            Err(ancile_store::WriteError::BodyTooLong { .. }) => Err(Refusal::new(
                Fault::TooLarge,
                "leaf_too_long",
                "the request makes a log entry over 65535 bytes; send less at once",
            )),
            Err(fault) => Err(self.core.lost(&fault)),
        }
    }

    /// Version of the screening rules in force; 0 with the detectors off.
    pub(crate) fn screening_version(&self) -> u32 {
        self.core.screener.as_ref().map_or(0, |s| s.version())
    }

    /// Keyed hashes of everything a text can be read as: the whole under each kind, and every typed
    /// value in it.
    pub(crate) fn readings(&self, text: &str) -> BTreeSet<Digest> {
        let whole = ArgKind::ALL
            .iter()
            .filter_map(|kind| ancile_screen::canonical(*kind, text));
        let parts = ancile_screen::values(text)
            .into_iter()
            .map(|found| found.value);
        whole
            .chain(parts)
            .map(|value| self.value_hash(&value))
            .collect()
    }

    /// Keyed hash of a typed value.
    pub(crate) fn value_hash(&self, value: &CanonicalValue) -> Digest {
        value_hash(&self.core.value_key, value)
    }
}

/// The leaf body of an event, once it is sure that it reads back as the same event: what could not
/// be replayed must not be logged.
fn readable(event: &Event) -> Result<Vec<u8>, Refusal> {
    let body = event.encode().map_err(|e| internal(&e))?;
    let again = Event::decode(&body).map_err(|e| internal(&e))?;
    if again == *event {
        Ok(body)
    } else {
        Err(internal(&"an event does not read back as itself"))
    }
}

/// The items of an exposure whose text is kept, for [`crate::state::State::apply`].
fn texts_of(items: &[(Shown, Option<String>)]) -> std::collections::BTreeMap<usize, String> {
    let texts = items.iter().enumerate();
    texts
        .filter_map(|(at, (_, text))| text.clone().map(|t| (at, t)))
        .collect()
}

/// Keyed hash of a typed value.
fn value_hash(key: &[u8; 32], value: &CanonicalValue) -> Digest {
    let mut bytes = b"ancile value v1\0".to_vec();
    bytes.extend_from_slice(key);
    bytes.push(value.kind.code());
    bytes.extend_from_slice(&value.bytes);
    Digest::sha256(&bytes)
}

/// Something about to be shown.
pub(crate) struct Exposure {
    pub kind: &'static str,
    pub channel: ancile_core::Channel,
    pub class: ancile_core::AuthorityClass,
    pub roots: ancile_core::RootSet,
    pub entry: Option<Digest>,
    /// Who wrote it, if it is an entry.
    pub by: Option<ancile_core::PrincipalName>,
    pub from: String,
    pub text: String,
    pub values: Vec<Digest>,
    /// `text`, `value:<kind>`, or nothing.
    pub grounds: String,
    /// Whether it grounds whatever was shown before it.
    pub alone: bool,
    /// What screening says of it, where it is no entry.
    pub noted: Noted,
}

impl Exposure {
    fn commit(self, salt: &Salt) -> (Shown, Option<String>) {
        let commitment = ancile_core::content_commitment(salt, self.text.as_bytes());
        let keep = !self.grounds.is_empty();
        let shown = Shown {
            kind: self.kind.to_owned(),
            channel: self.channel,
            class: self.class,
            roots: crate::event::roots_text(&self.roots),
            entry: self.entry,
            by: self.by,
            from: self.from.chars().take(CONTENT_FROM_CHARS).collect(),
            commitment,
            values: self.values,
            grounds: self.grounds,
            alone: self.alone,
            rules: self.noted.rules,
            screening: self.noted.version,
        };
        (shown, keep.then_some(self.text))
    }
}

/// Highest counter within a millisecond: twelve bits.
const COUNT_MAX: u16 = 0x0fff;
/// Most exposures in one leaf; with [`VALUES_PER_SHOWN`] values each they stay below its limit.
const SHOWN_PER_LEAF: usize = 8;
/// Most hashes of typed values kept for one class 4 exposure.
pub(crate) const VALUES_PER_SHOWN: usize = 64;
/// Most characters kept of where an exposure came from.
const CONTENT_FROM_CHARS: usize = 200;

#[cfg(test)]
mod tests;
