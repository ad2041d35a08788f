// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task that fires: its records in memory, its content, and the decision over them.

use ancile_core::{
    AuthorityClass, Channel, DerivationRecord, Digest, EntryId, EntryKind, Fire, FireCell,
    IntactMemo, Lineage, Micros, NamespaceName, Origin, ParentFound, Parents, PolicyView,
    PrincipalName, RecordLeafHash, RecordSource, Role, RootSet, Salt, ScreeningNote, SessionId,
    SourceField, SourceState, TenantName, TrustRoot, content_commitment, fire, record_hash, verify,
    verify_record,
};
use anyhow::{Result, anyhow};
use std::collections::BTreeMap;

/// Length of the task's content in bytes, that of the Python gate it is compared with.
pub const CONTENT_BYTES: usize = 1_024;

const SALT: Salt = [7; 16];
const SESSION: SessionId = SessionId::from_bytes([9; 16]);
const WRITTEN: Micros = Micros(1_780_272_000_000_000);

/// No source is approved, and no other user speaks here.
struct NoSources;

impl PolicyView for NoSources {
    fn source(&self, _: &SourceField) -> SourceState {
        SourceState::None
    }

    fn other_user(&self, _: &PrincipalName) -> SourceState {
        SourceState::None
    }
}

/// Records by their hash, and the exposure log of one session.
struct Records {
    records: BTreeMap<Digest, Vec<u8>>,
    shown: Vec<Digest>,
    root: Digest,
}

impl RecordSource for Records {
    fn record(&self, hash: &Digest) -> Option<&[u8]> {
        self.records.get(hash).map(Vec::as_slice)
    }

    fn exposed(&self, session: SessionId, root: &Digest, len: u64) -> Option<&[Digest]> {
        let known = session == SESSION && self.root == *root;
        known.then(|| self.shown.get(..usize::try_from(len).ok()?))?
    }
}

/// A task of an agent's, due to fire with a side effect.
pub struct Case {
    tenant: TenantName,
    viewer: PrincipalName,
    records: Records,
    task: Digest,
    content: Vec<u8>,
    roots: RootSet,
}

/// What sets one record apart from the others.
struct Seat {
    number: u16,
    kind: EntryKind,
    by_user: bool,
    /// Length of the exposure log it was written under.
    shown: u64,
    explicit: Vec<Digest>,
}

impl Case {
    /// A chain by explicit parents: a user's own words, `depth - 1` notes of an agent's, the task.
    ///
    /// # Errors
    /// None with the names here.
    pub fn chain(depth: u16) -> Result<Self> {
        let mut case = Self::empty()?;
        let mut last = None;
        for number in 0..=depth {
            let kind = if number == depth {
                EntryKind::Task
            } else {
                EntryKind::Memory
            };
            last = Some(case.put(Seat {
                number,
                kind,
                by_user: number == 0,
                shown: 0,
                explicit: last.into_iter().collect(),
            })?);
        }
        Ok(case)
    }

    /// A task written after this many of the user's entries had been shown in its session.
    ///
    /// # Errors
    /// None with the names here.
    pub fn exposures(shown: u16) -> Result<Self> {
        let mut case = Self::empty()?;
        for number in 0..shown {
            let hash = case.put(Seat {
                number,
                kind: EntryKind::Memory,
                by_user: true,
                shown: 0,
                explicit: vec![],
            })?;
            case.records.shown.push(hash);
        }
        let joined: Vec<u8> = case.records.shown.iter().flat_map(|d| d.0).collect();
        case.records.root = Digest::sha256(&joined);
        case.put(Seat {
            number: shown,
            kind: EntryKind::Task,
            by_user: false,
            shown: u64::from(shown),
            explicit: vec![],
        })?;
        Ok(case)
    }

    fn empty() -> Result<Self> {
        let viewer = PrincipalName::new("alice")?;
        Ok(Self {
            tenant: TenantName::new("default")?,
            roots: RootSet::new([TrustRoot::User(viewer.clone())]),
            viewer,
            records: Records {
                records: BTreeMap::new(),
                shown: vec![],
                root: Digest([0; 32]),
            },
            task: Digest([0; 32]),
            content: vec![],
        })
    }

    /// Writes a record and keeps the content if it is the task's.
    fn put(&mut self, seat: Seat) -> Result<Digest> {
        let mut content = seat.number.to_be_bytes().to_vec();
        content.resize(CONTENT_BYTES, b'x');
        let exposure = (self.records.root, seat.shown);
        let (class, channel, author) = if seat.by_user {
            let user = self.viewer.clone();
            (AuthorityClass::UserAuthored, Channel::User, user)
        } else {
            let agent = PrincipalName::new("assistant")?;
            (AuthorityClass::AgentDerived, Channel::Agent, agent)
        };
        let record = DerivationRecord {
            tenant: self.tenant.clone(),
            namespace: NamespaceName::new("main")?,
            id: EntryId::from_bytes(u128::from(seat.number).to_be_bytes()),
            version: 1,
            kind: seat.kind,
            origin: Origin {
                channel,
                role: Role::Host,
                principal: PrincipalName::new("host")?,
                locator: "".into(),
                at: WRITTEN,
            },
            author,
            session: Some(SESSION),
            parents: Parents::new(exposure, seat.explicit, &|_| ParentFound::Here)?,
            roots: self.roots.clone(),
            class,
            policy_epoch: 1,
            supersedes: None,
            commitment: content_commitment(&SALT, &content),
            screening: ScreeningNote {
                version: 1,
                instruction_like: Some(false),
                quarantined: false,
                rules: vec![],
            },
            created: WRITTEN,
            valid_from: None,
            valid_until: None,
        };
        let bytes = record.encode();
        let hash = record_hash(&bytes);
        self.records.records.insert(hash, bytes);
        if seat.kind == EntryKind::Task {
            self.task = hash;
            self.content = content;
        }
        Ok(hash)
    }

    /// Bytes of all records together.
    #[must_use]
    pub fn record_bytes(&self) -> usize {
        self.records.records.values().map(Vec::len).sum()
    }

    /// A memo that knows nothing: all records are hashed.
    #[must_use]
    pub fn cold(&self) -> IntactMemo {
        IntactMemo::new(self.tenant.clone())
    }

    /// A memo that knows the task's ancestors, but not the task.
    ///
    /// # Errors
    /// None with the records here.
    pub fn warm(&self) -> Result<IntactMemo> {
        let mut memo = self.cold();
        for hash in self.records.records.keys().filter(|h| **h != self.task) {
            verify_record(hash, &self.records, &RecordLeafHash, &mut memo)
                .map_err(|broken| anyhow!("{}", broken.name()))?;
        }
        Ok(memo)
    }

    /// Verifies the task and looks it up in the fire table. With intact records the answer is
    /// [`Decision::Ask`](ancile_core::Decision::Ask): class 3, a side effect, no mandate.
    #[must_use]
    pub fn decide(&self, memo: &mut IntactMemo) -> FireCell {
        let content = (&SALT, self.content.as_slice());
        let verified = verify(&self.task, content, &self.records, &RecordLeafHash, memo);
        let (class, lineage) = match verified {
            Ok(entry) => {
                let today = self.roots.class(&NoSources, &self.viewer);
                (entry.class().meet(today), Lineage::Intact)
            }
            Err(broken) => (AuthorityClass::Untrusted, Lineage::Broken(broken)),
        };
        fire(&Fire {
            class,
            lineage,
            instruction_like: Some(false),
            side_effect: true,
            covered: false,
            unverified: false,
        })
    }
}
