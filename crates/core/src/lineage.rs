// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lineage: whether an entry and everything it was derived from are as they were written.

use crate::{
    AuthorityClass, Digest, RecordHash, RecordView, Salt, SessionId, TenantName, content_commitment,
};
use std::collections::{HashMap, HashSet};

/// Most records that are walked for one entry, the entry itself included.
pub const ANCESTORS_MAX: usize = 65_536;

/// Why a lineage is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Broken {
    /// The record's bytes do not have the hash they are known by, or do not read as a record.
    RecordEdited,
    /// The content does not match the record's commitment, or is gone.
    ContentEdited,
    /// A parent is not there.
    ParentMissing,
    /// A parent belongs to another tenant.
    ForeignTenant,
    /// The entry is among its own ancestors.
    Cycle,
    /// The exposure log it was written under is not the session's.
    ExposureEdited,
    /// The record claims a stronger class than a parent has.
    ClassTooStrong,
    /// The walk would take more than [`ANCESTORS_MAX`] records.
    TooLong,
}

impl Broken {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::RecordEdited,
        Self::ContentEdited,
        Self::ParentMissing,
        Self::ForeignTenant,
        Self::Cycle,
        Self::ExposureEdited,
        Self::ClassTooStrong,
        Self::TooLong,
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RecordEdited => "record_edited",
            Self::ContentEdited => "content_edited",
            Self::ParentMissing => "parent_missing",
            Self::ForeignTenant => "foreign_tenant",
            Self::Cycle => "cycle",
            Self::ExposureEdited => "exposure_edited",
            Self::ClassTooStrong => "class_too_strong",
            Self::TooLong => "too_long",
        }
    }
}

/// The state of an entry's lineage. Shared ancestors are normal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lineage {
    /// The entry and all its ancestors are as they were written.
    Intact,
    /// They are not.
    Broken(Broken),
}

/// Where records and exposure logs are looked up.
pub trait RecordSource {
    /// The encoded record known by this hash. The bytes are checked by the caller.
    fn record(&self, hash: &Digest) -> Option<&[u8]>;
    /// The records shown in a session up to a length, if its exposure log has this root there.
    fn exposed(&self, session: SessionId, root: &Digest, len: u64) -> Option<&[Digest]>;
}

/// Records of one tenant whose bytes and whole ancestry were already found intact, with the class
/// each carries, so that a further walk stops at them. The holder drops it when the bytes may have
/// changed.
#[derive(Debug, Clone)]
pub struct IntactMemo {
    tenant: TenantName,
    classes: HashMap<Digest, AuthorityClass>,
}

impl IntactMemo {
    /// An empty memo for a tenant: everything is walked and hashed.
    #[must_use]
    pub fn new(tenant: TenantName) -> Self {
        Self {
            tenant,
            classes: HashMap::new(),
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.classes.clear();
    }

    /// Whether a record is known to be intact.
    #[must_use]
    pub fn contains(&self, hash: &Digest) -> bool {
        self.classes.contains_key(hash)
    }
}

/// An entry whose content, record and ancestors were all verified. Only [`verify`] makes it.
#[derive(Debug, Clone, Copy)]
pub struct IntactEntry {
    hash: Digest,
    class: AuthorityClass,
}

impl IntactEntry {
    /// The record hash.
    #[must_use]
    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// The class at write.
    #[must_use]
    pub fn class(&self) -> AuthorityClass {
        self.class
    }
}

/// Verifies an entry: its content against the commitment, its record against its hash, and every
/// ancestor, through explicit parents and exposure logs. No ancestor may be weaker than a record
/// derived from it says, and nothing derived may be stronger than class 3.
///
/// # Errors
/// The first [`Broken`] found.
pub fn verify<H: RecordHash>(
    hash: &Digest,
    content: (&Salt, &[u8]),
    source: &dyn RecordSource,
    hasher: &H,
    memo: &mut IntactMemo,
) -> Result<IntactEntry, Broken> {
    let view = checked_view(hash, source, hasher)?;
    if content_commitment(content.0, content.1).0 != *view.commitment {
        return Err(Broken::ContentEdited);
    }
    let class = view.class;
    Walk {
        source,
        hasher,
        memo,
        path: HashSet::new(),
        steps: 0,
    }
    .run(*hash, view)?;
    Ok(IntactEntry { hash: *hash, class })
}

/// Verifies a record and its ancestry without its content: for explanation, and for ancestors
/// whose content was erased.
///
/// # Errors
/// The first [`Broken`] found.
pub fn verify_record<H: RecordHash>(
    hash: &Digest,
    source: &dyn RecordSource,
    hasher: &H,
    memo: &mut IntactMemo,
) -> Result<(), Broken> {
    let view = checked_view(hash, source, hasher)?;
    Walk {
        source,
        hasher,
        memo,
        path: HashSet::new(),
        steps: 0,
    }
    .run(*hash, view)
}

fn checked_view<'a, H: RecordHash>(
    hash: &Digest,
    source: &'a dyn RecordSource,
    hasher: &H,
) -> Result<RecordView<'a>, Broken> {
    let bytes = source.record(hash).ok_or(Broken::ParentMissing)?;
    if hasher.digest(bytes) != *hash {
        return Err(Broken::RecordEdited);
    }
    RecordView::of(bytes).map_err(|_| Broken::RecordEdited)
}

/// One record on the way down, and which of its parents comes next.
struct Frame<'a> {
    hash: Digest,
    view: RecordView<'a>,
    exposed: &'a [Digest],
    next: usize,
}

struct Walk<'a, 'm, H> {
    source: &'a dyn RecordSource,
    hasher: &'a H,
    memo: &'m mut IntactMemo,
    path: HashSet<Digest>,
    steps: usize,
}

impl<'a, H: RecordHash> Walk<'a, '_, H> {
    /// Depth first with an own stack: a record is intact once all its parents are.
    fn run(&mut self, hash: Digest, view: RecordView<'a>) -> Result<(), Broken> {
        if view.tenant != self.memo.tenant.as_str().as_bytes() {
            return Err(Broken::ForeignTenant);
        }
        if self.memo.contains(&hash) {
            return Ok(());
        }
        let mut stack = vec![self.enter(hash, view)?];
        while let Some(frame) = stack.last_mut() {
            let Some(parent) = frame.take_parent() else {
                self.path.remove(&frame.hash);
                self.memo.classes.insert(frame.hash, frame.view.class);
                stack.pop();
                continue;
            };
            if self.path.contains(&parent) {
                return Err(Broken::Cycle);
            }
            let claimed = frame.view.class;
            if let Some(class) = self.memo.classes.get(&parent) {
                claim_holds(claimed, *class)?;
                continue;
            }
            let view = checked_view(&parent, self.source, self.hasher)?;
            if view.tenant != self.memo.tenant.as_str().as_bytes() {
                return Err(Broken::ForeignTenant);
            }
            claim_holds(claimed, view.class)?;
            stack.push(self.enter(parent, view)?);
        }
        Ok(())
    }

    fn enter(&mut self, hash: Digest, view: RecordView<'a>) -> Result<Frame<'a>, Broken> {
        self.steps = self.steps.saturating_add(1);
        if self.steps > ANCESTORS_MAX {
            return Err(Broken::TooLong);
        }
        self.path.insert(hash);
        let exposed = match view.session {
            Some(session) if view.exposure_len > 0 => self
                .source
                .exposed(session, &Digest(*view.exposure_root), view.exposure_len)
                .ok_or(Broken::ExposureEdited)?,
            _ => &[],
        };
        Ok(Frame {
            hash,
            view,
            exposed,
            next: 0,
        })
    }
}

/// What is derived is at most class 3, and at most the class of its parent.
fn claim_holds(claimed: AuthorityClass, parent: AuthorityClass) -> Result<(), Broken> {
    let strongest = AuthorityClass::AgentDerived.meet(parent);
    if strongest.covers(claimed) {
        Ok(())
    } else {
        Err(Broken::ClassTooStrong)
    }
}

impl Frame<'_> {
    fn take_parent(&mut self) -> Option<Digest> {
        let at = self.next;
        self.next = at.saturating_add(1);
        let explicit = self.view.explicit;
        match explicit.get(at) {
            Some(parent) => Some(Digest(*parent)),
            None => self.exposed.get(at.saturating_sub(explicit.len())).copied(),
        }
    }
}
