// SPDX-License-Identifier: MIT OR Apache-2.0
//! Derivation graphs: small stores of records, and the shapes that a graph can have.

use super::exhaust;
use ancile_core::{
    AuthorityClass, Broken, Channel, DerivationRecord, Digest, EntryId, EntryKind, IntactMemo,
    Micros, NamespaceName, Origin, ParentFound, Parents, PrincipalName, RecordHash, RecordSource,
    Role, RootSet, Salt, ScreeningNote, SessionId, TenantName, content_commitment, verify,
};
use std::collections::{BTreeSet, HashMap};

/// The tenant of the test stores.
pub fn tenant() -> TenantName {
    TenantName::new("acme").unwrap()
}

/// The content of entry `i` and its salt.
pub fn content(i: usize) -> (Salt, [u8; 8]) {
    (
        [u8::try_from(i % 251).unwrap(); 16],
        (i as u64).to_be_bytes(),
    )
}

/// How entries name their parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// As explicit record hashes.
    Hash,
    /// As what their session was shown.
    Exposure,
}

/// The record of entry `i` with these parents.
pub fn record(i: usize, class: AuthorityClass, parents: Parents) -> DerivationRecord {
    let (salt, content) = content(i);
    let mut id = [0; 16];
    id[8..].copy_from_slice(&content);
    DerivationRecord {
        tenant: tenant(),
        namespace: NamespaceName::new("main").unwrap(),
        id: EntryId::from_bytes(id),
        version: 1,
        kind: EntryKind::Memory,
        origin: Origin {
            channel: Channel::Agent,
            role: Role::Agent,
            principal: PrincipalName::new("agent").unwrap(),
            locator: "".into(),
            at: Micros(7),
        },
        author: PrincipalName::new("agent").unwrap(),
        session: Some(SessionId::from_bytes(id)),
        parents,
        roots: RootSet::Untrusted,
        class,
        policy_epoch: 1,
        supersedes: None,
        commitment: content_commitment(&salt, &content),
        screening: ScreeningNote {
            version: 1,
            instruction_like: None,
            quarantined: false,
            rules: vec![],
        },
        created: Micros(8),
        valid_from: None,
        valid_until: None,
    }
}

/// Parents that the store was found to hold.
pub fn parents(exposure: (Digest, u64), explicit: Vec<Digest>) -> Parents {
    Parents::new(exposure, explicit, &|_| ParentFound::Here).unwrap()
}

/// The root of an exposure log: the hash of all that was shown, in order.
fn exposure_root(shown: &[Digest]) -> Digest {
    let bytes: Vec<u8> = shown.iter().flat_map(|digest| digest.0).collect();
    Digest::sha256(&bytes)
}

/// Records by their hash, and exposure logs by session.
#[derive(Default, Clone)]
pub struct Store {
    pub records: HashMap<Digest, Vec<u8>>,
    pub shown: HashMap<SessionId, Vec<Digest>>,
}

impl RecordSource for Store {
    fn record(&self, hash: &Digest) -> Option<&[u8]> {
        self.records.get(hash).map(Vec::as_slice)
    }

    fn exposed(&self, session: SessionId, root: &Digest, len: u64) -> Option<&[Digest]> {
        let shown = self
            .shown
            .get(&session)?
            .get(..usize::try_from(len).ok()?)?;
        (exposure_root(shown) == *root).then_some(shown)
    }
}

impl Store {
    /// Writes entry `i` and returns its hash.
    pub fn add<H: RecordHash>(
        &mut self,
        hasher: &H,
        (i, class): (usize, AuthorityClass),
        above: &[Digest],
        by: By,
    ) -> Digest {
        let named = match by {
            By::Hash => parents((Digest([0; 32]), 0), above.to_vec()),
            By::Exposure => parents((exposure_root(above), above.len() as u64), vec![]),
        };
        let record = record(i, class, named);
        if by == By::Exposure {
            self.shown.insert(record.session.unwrap(), above.to_vec());
        }
        let bytes = record.encode();
        let hash = hasher.digest(&bytes);
        self.records.insert(hash, bytes);
        hash
    }

    /// Whether entry `i` with this hash is intact, walked and hashed anew.
    pub fn verify<H: RecordHash>(
        &self,
        hasher: &H,
        (i, hash): (usize, &Digest),
    ) -> Result<AuthorityClass, Broken> {
        let (salt, content) = content(i);
        let mut memo = IntactMemo::new(tenant());
        verify(hash, (&salt, &content), self, hasher, &mut memo).map(|entry| entry.class())
    }
}

/// The parents of each entry; entries come after their parents.
pub type Shape = Vec<Vec<usize>>;

/// Every shape that a graph of `n` entries can have, one of each that differ in numbering alone.
pub fn shapes(n: usize) -> Vec<Shape> {
    let orders = exhaust::all(|e| e.order(n));
    let mut seen = BTreeSet::new();
    exhaust::all(|e| -> Shape {
        (0..n)
            .map(|i| (0..i).filter(|_| e.flip()).collect())
            .collect()
    })
    .into_iter()
    .filter(|shape| {
        let numbered = |order: &Vec<usize>| -> BTreeSet<(usize, usize)> {
            let edges = |i: usize| shape[i].iter().map(move |p| (order[i], order[*p]));
            (0..n).flat_map(edges).collect()
        };
        seen.insert(orders.iter().map(numbered).min())
    })
    .collect()
}

/// All ancestors of each entry.
pub fn ancestors(shape: &Shape) -> Vec<BTreeSet<usize>> {
    let mut all: Vec<BTreeSet<usize>> = Vec::new();
    for parents in shape {
        let above = parents
            .iter()
            .flat_map(|p| all[*p].iter().copied().chain([*p]));
        let above = above.collect();
        all.push(above);
    }
    all
}

#[test]
fn the_shapes_are_all_graphs_without_cycles() {
    // The numbers of unlabelled acyclic digraphs, OEIS A003087.
    let counts: Vec<usize> = (1..=5).map(|n| shapes(n).len()).collect();
    assert_eq!(counts, [1, 2, 6, 31, 302]);
}
