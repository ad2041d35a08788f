// SPDX-License-Identifier: MIT OR Apache-2.0
//! Erasure: content, salt and postings of an entry are destroyed; its record stays, with an event
//! that says so. The list of what was erased also lies with the witness, outside the data
//! directory, so that a restored copy does not bring anything back.

use crate::api::{Descendant, Erasure};
use crate::core::{Core, place_of};
use crate::event::Event;
use crate::home::Home;
use crate::refusal::{Fault, Refusal};
use crate::review::reviews;
use crate::state::{Entry, Key, Piece, Tenant, whose};
use crate::turn::{PERSONS_KEY, Turn, forbidden, internal, not_found, rests_on};
use ancile_core::{Digest, EntryId, PrincipalName, Role, SessionId, TenantName};
use std::collections::HashSet;
use std::sync::Arc;

/// Most descendants listed with one erasure, in its event and in its answer.
const DESCENDANTS_LISTED: usize = 256;

/// One erasure, as the list beside the witness has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ErasedLine {
    pub tenant: TenantName,
    pub entry: EntryId,
    pub hash: Digest,
    pub by: PrincipalName,
}

impl ErasedLine {
    /// The line, without its end.
    pub(crate) fn text(&self) -> String {
        let Self {
            tenant,
            entry,
            hash,
            by,
        } = self;
        format!("{tenant} {entry} {hash} {by}")
    }

    /// Reads a line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let read = Self {
            tenant: TenantName::new(words.next()?).ok()?,
            entry: EntryId::parse(words.next()?).ok()?,
            hash: Digest::parse_hex(words.next()?)?,
            by: PrincipalName::new(words.next()?).ok()?,
        };
        words.next().is_none().then_some(read)
    }
}

/// Destroys the content of an entry, and says what was derived from it and is kept. A user erases
/// what they wrote and what is class 4, where they may write; an operator anything.
pub(crate) fn erase(turn: &mut Turn<'_>, key: &Key, id: &EntryId) -> Result<Erasure, Refusal> {
    let entry = erasable(turn, key, id)?;
    let tenant = turn.tenant(&key.tenant)?;
    let derived = descendants(turn, &key.tenant, &entry)?;
    let mut closed = Vec::new();
    let at = match tenant.fate(id).erased {
        Some(at) => at,
        None => {
            closed = open_sessions_with(tenant, &entry.hash);
            for session in &closed {
                crate::step::forget(turn, &key.tenant, session)?;
            }
            let by = key.spec.principal.clone();
            let kept = derived.iter().map(|e| e.record.id);
            let kept = kept.take(DESCENDANTS_LISTED).collect();
            destroy(turn, &key.tenant, &entry, (by, kept))?;
            turn.now
        }
    };
    let seen = derived
        .iter()
        .filter(|e| key.spec.role == Role::Operator || reaches(turn, key, e));
    let views: Vec<Descendant> = seen.map(|e| descendant(e)).collect();
    Ok(Erasure {
        id: *id,
        hash: entry.hash,
        at,
        descendants_total: u64::try_from(views.len()).unwrap_or(u64::MAX),
        descendants: views.into_iter().take(DESCENDANTS_LISTED).collect(),
        sessions_closed: closed,
    })
}

fn reaches(turn: &Turn<'_>, key: &Key, entry: &Entry) -> bool {
    turn.reach(key, &entry.record.namespace, false).is_ok()
}

fn erasable(turn: &Turn<'_>, key: &Key, id: &EntryId) -> Result<Arc<Entry>, Refusal> {
    match key.spec.role {
        Role::Operator => {
            let entry = turn.entry_by_id(&key.tenant, id)?;
            entry.ok_or_else(|| not_found("entry"))
        }
        Role::User => {
            let entry = turn.entry(key, id)?;
            turn.reach(key, &entry.record.namespace, true)?;
            if reviews(key, &entry) {
                Ok(entry)
            } else {
                Err(forbidden(
                    "erase what another wrote",
                    "the key of its author or of an operator",
                ))
            }
        }
        _ => Err(forbidden("erase entries", PERSONS_KEY)),
    }
}

/// Everything that was derived from an entry, however far, oldest first. All later records are
/// looked at: about a microsecond each, and nothing else is written meanwhile.
fn descendants(
    turn: &Turn<'_>,
    tenant: &TenantName,
    entry: &Entry,
) -> Result<Vec<Arc<Entry>>, Refusal> {
    let known = turn.tenant(tenant)?;
    let mut derived: HashSet<Digest> = HashSet::from([entry.hash]);
    let mut out = Vec::new();
    let later = entry.seq.saturating_add(1);
    let mut sealed = Vec::new();
    turn.core
        .reading()?
        .each_record(tenant, (later, known.sealed), &mut |seq, hash, record| {
            let shown = record.session().and_then(|id| {
                let (root, length) = record.exposure();
                known.sessions.get(&id)?.exposed(&root, length)
            });
            let shown = shown.into_iter().flatten().copied();
            let copied = known.endorsements.get(&hash).map(|act| act.of);
            if record
                .explicit()
                .chain(shown)
                .chain(copied)
                .any(|parent| derived.contains(&parent))
            {
                derived.insert(hash);
                sealed.push(seq);
            }
        })
        .map_err(|fault| internal(&fault))?;
    for seq in sealed {
        out.extend(turn.entry_at(tenant, seq)?);
    }
    for (_, later) in known.entries.range(later..) {
        let parents = rests_on(known, later);
        if parents.iter().any(|parent| derived.contains(parent)) {
            derived.insert(later.hash);
            out.push(Arc::clone(later));
        }
    }
    Ok(out)
}

fn descendant(entry: &Entry) -> Descendant {
    let record = &entry.record;
    Descendant {
        id: record.id,
        hash: entry.hash,
        kind: record.kind,
        namespace: record.namespace.clone(),
        class_at_write: record.class,
    }
}

/// Open sessions that keep texts and were shown an entry: its text may be among them.
fn open_sessions_with(tenant: &Tenant, hash: &Digest) -> Vec<SessionId> {
    let keeps = |s: &&Arc<crate::session::Session>| {
        !s.closed && !s.text_leaves.is_empty() && s.shown().any(|shown| shown == hash)
    };
    tenant
        .sessions
        .values()
        .filter(keeps)
        .map(|s| s.id)
        .collect()
}

fn destroy(
    turn: &mut Turn<'_>,
    tenant: &TenantName,
    entry: &Entry,
    (by, kept): (PrincipalName, Vec<EntryId>),
) -> Result<(), Refusal> {
    let removed = turn.core.store()?.remove_content(tenant, entry.seq);
    removed.map_err(|fault| turn.core.lost(&fault))?;
    turn.usage_mut(tenant)?
        .remove(&whose(&entry.record), Piece::of(entry));
    turn.core.index.erase(place_of(entry), entry.seq);
    turn.core.purge(tenant, entry.seq, entry.record.id);
    let stood = turn.tenant(tenant)?.entry_in_use(entry);
    let event = Event::Erased {
        stood,
        entry: entry.record.id,
        hash: entry.hash,
        by,
        at: turn.now,
        kept,
    };
    turn.emit(tenant, &event)
}

/// Brings the log and the list beside the witness together after opening: what only the log says
/// is listed, and what only the list says is erased again, since an older copy was restored.
pub(crate) fn reconcile(core: &mut Core) -> Result<(), Refusal> {
    let listed = core.home.erased()?;
    let said: HashSet<ErasedLine> = core.state.erased.iter().cloned().collect();
    let known: HashSet<&ErasedLine> = listed.iter().collect();
    let missing: Vec<ErasedLine> = core
        .state
        .erased
        .iter()
        .filter(|line| !known.contains(line))
        .cloned()
        .collect();
    core.home.list_erased(&missing)?;
    core.erased_listed = core.state.erased.len();
    let back: Vec<ErasedLine> = listed
        .iter()
        .filter(|line| !said.contains(line))
        .cloned()
        .collect();
    let mut again = 0_u32;
    let mut turn = Turn::new(core);
    for line in back {
        if turn.tenant(&line.tenant).is_err() {
            continue;
        }
        let found = turn.entry_by_id(&line.tenant, &line.entry)?;
        let Some(entry) = found.filter(|e| e.hash == line.hash) else {
            continue;
        };
        destroy(&mut turn, &line.tenant, &entry, (line.by, Vec::new()))?;
        again = again.saturating_add(1);
    }
    if again > 0 {
        tracing::warn!(
            entries = again,
            "a restored copy had erased entries; erased again"
        );
        // They are on the list already.
        core.erased_listed = core.state.erased.len();
        core.scrub_due = true;
        core.commit(0)?;
    }
    Ok(())
}

impl Core {
    /// Lists, beside the witness, what the group just committed erased, and cleans what the
    /// database still has of it.
    pub(crate) fn list_erasures(&mut self) -> Result<(), Refusal> {
        let erased = &self.state.erased;
        if self.erased_listed < erased.len() {
            let new: Vec<ErasedLine> = erased.iter().skip(self.erased_listed).cloned().collect();
            self.home.list_erased(&new)?;
            self.erased_listed = erased.len();
            self.scrub_due = true;
        }
        if self.scrub_due {
            match self.store()?.scrub() {
                Ok(clean) => self.scrub_due = !clean,
                Err(fault) => return Err(self.lost(&fault)),
            }
        }
        Ok(())
    }
}

/// A list of erasures without its last line where that was cut off: the process died as it wrote,
/// and its group comes again.
pub(crate) fn whole_lines(text: &str) -> &str {
    text.rsplit_once('\n').map_or("", |(whole, _)| whole)
}

impl Home {
    /// The list of what was erased, which lies beside the witness.
    pub(crate) fn erased(&self) -> Result<Vec<ErasedLine>, Refusal> {
        let text = self.erased_text()?;
        let read = |line: &str| {
            ErasedLine::parse(line).ok_or_else(|| {
                let text = "the list of erased entries beside the witness does not read as one; \
                            restore it";
                Refusal::new(Fault::Unavailable, "erasures_unreadable", text)
                    .inside(format!("`{}`", line.escape_debug()))
            })
        };
        whole_lines(&text).lines().map(read).collect()
    }

    /// Adds to that list, and has it on the medium before it answers.
    pub(crate) fn list_erased(&self, lines: &[ErasedLine]) -> Result<(), Refusal> {
        if lines.is_empty() {
            return Ok(());
        }
        let text: String = lines.iter().map(|line| line.text() + "\n").collect();
        self.append_erased(&text)
    }
}
