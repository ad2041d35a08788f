// SPDX-License-Identifier: MIT OR Apache-2.0
//! A store in memory that can be tampered with.

use crate::note::signer;
use ancile_ledger::{
    Checkpoint, ControlChain, GroupHead, LeafKind, LogName, LogSource, SignerKey, SourceError,
    TenantHead, TilesKept, Tree, VerifierKey, heads_root, leaf_hash,
};
use std::collections::BTreeMap;
use std::sync::OnceLock;

pub const ORIGIN: &str = "example.com/log";

type TileKey = (LogName, u8, u64, u16);

/// Rows by log and index, and all that is stored beside them.
#[derive(Clone)]
pub struct Store {
    pub leaves: BTreeMap<LogName, BTreeMap<u64, Vec<u8>>>,
    pub heads: BTreeMap<String, TenantHead>,
    pub tiles: BTreeMap<TileKey, Vec<u8>>,
    pub kept: TilesKept,
    pub checkpoint: Option<String>,
    pub witness: Option<String>,
    /// A tenant that the list of tenants names once more.
    pub listed_again: Option<String>,
    /// Reading this leaf fails.
    pub unreadable: Option<(LogName, u64)>,
}

pub fn key() -> SignerKey {
    signer(ORIGIN, 1)
}

pub fn public_key() -> VerifierKey {
    key().verifier().clone()
}

pub fn tenant(name: &str) -> LogName {
    LogName::Tenant(name.to_owned())
}

impl Store {
    /// A store without tenants or groups, with a signed checkpoint of nothing.
    pub fn empty() -> Self {
        let mut store = Self {
            leaves: BTreeMap::new(),
            heads: BTreeMap::new(),
            tiles: BTreeMap::new(),
            kept: TilesKept::All,
            checkpoint: None,
            witness: None,
            listed_again: None,
            unreadable: None,
        };
        store.sign();
        store
    }

    /// Tenants `a` with 3 leaves, `b` with 600 and `c` with 256, in 5 groups, the third of which
    /// opens a new epoch; witnessed.
    pub fn sample() -> Self {
        static SAMPLE: OnceLock<Store> = OnceLock::new();
        let sample = SAMPLE.get_or_init(|| {
            let mut store = Self::empty();
            for (group, (name, count)) in [("a", 2), ("b", 300), ("c", 256), ("b", 300), ("a", 1)]
                .into_iter()
                .enumerate()
            {
                store.group(name, count, u64::from(group >= 2));
            }
            store.witness.clone_from(&store.checkpoint);
            store
        });
        sample.clone()
    }

    /// Commits a group of `count` leaves to a tenant, every seventh a control event.
    pub fn group(&mut self, name: &str, count: u64, epoch: u64) {
        let log = tenant(name);
        for _ in 0..count {
            let index = self.size(&log);
            let kind = 1 + u8::from(index % 7 == 6);
            let body = format!("{name} {index}").into_bytes();
            self.rows(&log).insert(index, [&[kind][..], &body].concat());
        }
        self.commit(name, epoch);
    }

    /// Makes heads, tiles, the group head and the checkpoint for the rows of a tenant as they are.
    pub fn commit(&mut self, name: &str, epoch: u64) {
        self.rebuild_tenant(name);
        let group = self.size(&LogName::Heads);
        let head = self.group_head(group, epoch);
        self.rows(&LogName::Heads).insert(group, head.encode());
        self.sign();
    }

    /// Makes a tenant's head and tiles fit its rows.
    pub fn rebuild_tenant(&mut self, name: &str) {
        let log = tenant(name);
        let tree = self.tree(&log);
        let mut chain = ControlChain::new();
        for body in self.rows(&log).values() {
            if LeafKind::of(body) == Some(LeafKind::Control) {
                chain.push(&leaf_hash(body));
            }
        }
        self.store_tiles(&log, &tree);
        let head = TenantHead {
            tenant: name.to_owned(),
            size: tree.size(),
            root: tree.root(),
            control: *chain.bytes(),
        };
        self.heads.insert(name.to_owned(), head);
    }

    pub fn group_head(&self, group: u64, epoch: u64) -> GroupHead {
        GroupHead {
            group,
            epoch,
            tenants: self.heads.len() as u64,
            heads_root: heads_root(self.heads.values()).unwrap(),
        }
    }

    /// Makes the heads log's tiles and checkpoint fit its rows.
    pub fn sign(&mut self) {
        let tree = self.tree(&LogName::Heads);
        self.store_tiles(&LogName::Heads, &tree);
        let checkpoint = Checkpoint {
            origin: ORIGIN.to_owned(),
            size: tree.size(),
            root: tree.root(),
        };
        self.checkpoint = Some(key().sign(checkpoint).unwrap().text().to_owned());
    }

    pub fn size(&mut self, log: &LogName) -> u64 {
        self.rows(log).len() as u64
    }

    pub fn rows(&mut self, log: &LogName) -> &mut BTreeMap<u64, Vec<u8>> {
        self.leaves.entry(log.clone()).or_default()
    }

    fn tree(&mut self, log: &LogName) -> Tree {
        let mut tree = Tree::new();
        for body in self.rows(log).values() {
            tree.append(leaf_hash(body));
        }
        tree
    }

    fn store_tiles(&mut self, log: &LogName, tree: &Tree) {
        self.tiles.retain(|(of, ..), _| of != log);
        let mut hashes = tree.size();
        for level in 0u8.. {
            if hashes == 0 {
                break;
            }
            for index in 0..hashes.div_ceil(256) {
                let width = (hashes - index * 256).min(256) as u16;
                let tile = tree.tile(level, index, width).unwrap();
                self.tiles.insert((log.clone(), level, index, width), tile);
            }
            hashes /= 256;
        }
    }
}

impl LogSource for Store {
    fn tenants(&self) -> Result<Vec<String>, SourceError> {
        let name = |log: &LogName| match log {
            LogName::Heads => None,
            LogName::Tenant(name) => Some(name.clone()),
        };
        let names = self.leaves.keys().rev().filter_map(name);
        Ok(names.chain(self.listed_again.clone()).collect())
    }

    fn head(&self, tenant: &str) -> Result<Option<TenantHead>, SourceError> {
        Ok(self.heads.get(tenant).cloned())
    }

    fn extent(&self, log: &LogName) -> Result<u64, SourceError> {
        let last = self.leaves.get(log).and_then(|rows| rows.keys().last());
        Ok(last.map_or(0, |index| index + 1))
    }

    fn leaf(&self, log: &LogName, index: u64) -> Result<Option<Vec<u8>>, SourceError> {
        if self.unreadable == Some((log.clone(), index)) {
            return Err(SourceError("bad sector".to_owned()));
        }
        Ok(self
            .leaves
            .get(log)
            .and_then(|rows| rows.get(&index))
            .cloned())
    }

    fn tiles_kept(&self) -> TilesKept {
        self.kept
    }

    fn tile(
        &self,
        log: &LogName,
        level: u8,
        index: u64,
        width: u16,
    ) -> Result<Option<Vec<u8>>, SourceError> {
        let key = (log.clone(), level, index, width);
        Ok(self.tiles.get(&key).cloned())
    }

    fn checkpoint(&self) -> Result<Option<String>, SourceError> {
        Ok(self.checkpoint.clone())
    }

    fn witness(&self) -> Result<Option<String>, SourceError> {
        Ok(self.witness.clone())
    }
}
