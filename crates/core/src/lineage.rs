// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lineage: whether an entry and everything it was derived from are as they were written.

use crate::{AuthorityClass, Digest, RecordHash, RecordView, Salt, SessionId, TenantName};
use core::hash::{BuildHasherDefault, Hasher};
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

/// A record's digest is spread already, so it is not hashed again for the memo. Nobody chooses
/// where it falls: the store draws the record's id and salt, and only records found intact go in.
#[derive(Debug, Clone, Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        // Not used by digests, which write one number.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Records of one tenant whose bytes and whole ancestry were already found intact, with the class
/// each carries, so that a further walk stops at them. The holder drops it when the bytes may have
/// changed.
#[derive(Debug, Clone)]
pub struct IntactMemo {
    tenant: TenantName,
    classes: HashMap<Digest, AuthorityClass, BuildHasherDefault<FirstBytes>>,
}

impl IntactMemo {
    /// An empty memo for a tenant: everything is walked and hashed.
    #[must_use]
    pub fn new(tenant: TenantName) -> Self {
        Self {
            tenant,
            classes: HashMap::default(),
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
    let bytes = source.record(hash).ok_or(Broken::ParentMissing)?;
    let (digest, commitment) = hasher.digest_with_content(bytes, content);
    let view = view_of(bytes, digest, hash)?;
    if commitment.0 != *view.commitment {
        return Err(Broken::ContentEdited);
    }
    let class = view.class;
    Walk::new(source, hasher, memo).run(*hash, view)?;
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
    Walk::new(source, hasher, memo).run(*hash, view)
}

#[inline]
fn checked_view<'a, H: RecordHash>(
    hash: &Digest,
    source: &'a dyn RecordSource,
    hasher: &H,
) -> Result<RecordView<'a>, Broken> {
    let bytes = source.record(hash).ok_or(Broken::ParentMissing)?;
    view_of(bytes, hasher.digest(bytes), hash)
}

/// Reads a record whose digest is this, where that is the one it goes by.
#[inline]
fn view_of<'a>(bytes: &'a [u8], digest: Digest, hash: &Digest) -> Result<RecordView<'a>, Broken> {
    if digest != *hash {
        return Err(Broken::RecordEdited);
    }
    RecordView::of(bytes).map_err(|_| Broken::RecordEdited)
}

/// One record on the way down, and which of its parents comes next.
struct Frame<'a> {
    hash: Digest,
    class: AuthorityClass,
    explicit: &'a [[u8; 32]],
    exposed: &'a [Digest],
    next: usize,
}

/// Records on the way down that are looked through one by one; a longer way keeps a set besides.
const LOOKED_THROUGH_MAX: usize = 32;

struct Walk<'a, 'm, H> {
    source: &'a dyn RecordSource,
    hasher: &'a H,
    memo: &'m mut IntactMemo,
    /// The way down from the entry to the record that is being checked.
    path: Vec<Frame<'a>>,
    /// The records of the path after the first [`LOOKED_THROUGH_MAX`].
    deep: HashSet<Digest>,
    steps: usize,
}

impl<'a, 'm, H: RecordHash> Walk<'a, 'm, H> {
    fn new(source: &'a dyn RecordSource, hasher: &'a H, memo: &'m mut IntactMemo) -> Self {
        Self {
            source,
            hasher,
            memo,
            path: Vec::new(),
            deep: HashSet::new(),
            steps: 0,
        }
    }

    /// Depth first with an own stack: a record is intact once all its parents are.
    fn run(&mut self, hash: Digest, view: RecordView<'a>) -> Result<(), Broken> {
        if view.tenant != self.memo.tenant.as_str().as_bytes() {
            return Err(Broken::ForeignTenant);
        }
        if self.memo.contains(&hash) {
            return Ok(());
        }
        self.enter(hash, &view)?;
        while let Some(frame) = self.path.last_mut() {
            let Some(parent) = frame.take_parent() else {
                self.leave();
                continue;
            };
            let claimed = frame.class;
            if let Some(class) = self.memo.classes.get(&parent) {
                claim_holds(claimed, *class)?;
                continue;
            }
            if self.is_on_path(&parent) {
                return Err(Broken::Cycle);
            }
            let view = checked_view(&parent, self.source, self.hasher)?;
            if view.tenant != self.memo.tenant.as_str().as_bytes() {
                return Err(Broken::ForeignTenant);
            }
            claim_holds(claimed, view.class)?;
            self.enter(parent, &view)?;
        }
        Ok(())
    }

    fn is_on_path(&self, hash: &Digest) -> bool {
        let mut near = self.path.iter().take(LOOKED_THROUGH_MAX);
        near.any(|frame| frame.hash == *hash) || self.deep.contains(hash)
    }

    fn enter(&mut self, hash: Digest, view: &RecordView<'a>) -> Result<(), Broken> {
        self.steps = self.steps.saturating_add(1);
        if self.steps > ANCESTORS_MAX {
            return Err(Broken::TooLong);
        }
        let exposed = match view.session {
            Some(session) if view.exposure_len > 0 => {
                let session = SessionId::from_bytes(*session);
                let root = Digest(*view.exposure_root);
                let exposed = self.source.exposed(session, &root, view.exposure_len);
                exposed.ok_or(Broken::ExposureEdited)?
            }
            None if view.exposure_len > 0 => return Err(Broken::ExposureEdited),
            _ => &[],
        };
        if self.path.len() >= LOOKED_THROUGH_MAX {
            self.deep.insert(hash);
        }
        self.path.push(Frame {
            hash,
            class: view.class,
            explicit: view.explicit,
            exposed,
            next: 0,
        });
        Ok(())
    }

    /// The last record of the path is intact: all its parents are.
    fn leave(&mut self) {
        // What is on the path will be known too, unless the walk breaks off.
        self.memo.classes.reserve(self.path.len());
        if let Some(frame) = self.path.pop() {
            if self.path.len() >= LOOKED_THROUGH_MAX {
                self.deep.remove(&frame.hash);
            }
            self.memo.classes.insert(frame.hash, frame.class);
        }
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
        match self.explicit.get(at) {
            Some(parent) => Some(Digest(*parent)),
            None => {
                let at = at.saturating_sub(self.explicit.len());
                self.exposed.get(at).copied()
            }
        }
    }
}
