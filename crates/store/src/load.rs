// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a store and compares all of it with its checkpoint before anything is used.
//!
//! The chain of trust: the key signs the checkpoint, the checkpoint binds the heads log, its last
//! group binds the tenant heads, each head binds its tree of leaf hashes and its control chain,
//! and each leaf row is compared with its hash in the tree.

use crate::damage::{
    Compared, Damage, DamageKind, Replay as Visit, ReplayLeaf, ReplayRefusal, compare,
};
use crate::fault::{DatabaseFault, OpenError};
use crate::rows::{self, Beside, Keyed, LeafRow, TilePlace, tiles_since};
use ancile_core::TenantName;
use ancile_ledger::{
    ControlChain, GroupHead, LeafKind, LogName, NodeHash, SignedCheckpoint, TILE_WIDTH, TenantHead,
    Tree, VerifierKey, decode_tile, empty_root, heads_root, leaf_hash,
};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;
use std::path::Path;

/// Damaged rows that a report lists; it counts all.
pub const DAMAGE_LISTED_MAX: usize = 1000;

/// One tenant's log in memory.
#[derive(Debug, Default)]
pub(crate) struct TenantLog {
    /// Hashes of all leaves, those of the open group included.
    pub(crate) tree: Tree,
    /// Chain over the control leaves among them.
    pub(crate) control: ControlChain,
    /// The head in the last committed group.
    pub(crate) head: Option<TenantHead>,
}

pub(crate) type Logs = BTreeMap<TenantName, TenantLog>;

/// The last committed group.
#[derive(Debug, Clone)]
pub(crate) struct Tip {
    pub(crate) group: GroupHead,
    pub(crate) checkpoint: SignedCheckpoint,
}

/// Damaged rows, of which the first [`DAMAGE_LISTED_MAX`] are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DamageList {
    pub(crate) listed: Vec<Damage>,
    pub(crate) total: u64,
}

impl DamageList {
    pub(crate) fn add(&mut self, tenant: &str, seq: i64, what: DamageKind) {
        self.total = self.total.saturating_add(1);
        if self.listed.len() < DAMAGE_LISTED_MAX {
            self.listed.push(Damage {
                tenant: tenant.to_owned(),
                seq,
                what,
            });
        }
    }
}

/// Reads from one snapshot of the database.
pub(crate) struct Loader<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) path: &'a Path,
}

impl Loader<'_> {
    /// The heads log, compared with the signed checkpoint.
    pub(crate) fn heads(&self, key: &VerifierKey) -> Result<(Tree, Tip), OpenError> {
        let fault = self.fault("reading the heads log");
        let note = rows::checkpoint(self.conn).map_err(&fault)?;
        let checkpoint = key
            .open(&note.ok_or(OpenError::CheckpointMissing)?)
            .map_err(OpenError::Checkpoint)?;
        let mut heads = Tree::new();
        let mut last = None;
        let mut statement = self
            .conn
            .prepare("SELECT \"group\", body FROM head ORDER BY \"group\"")
            .map_err(&fault)?;
        let mut found = statement.query([]).map_err(&fault)?;
        while let Some(row) = found.next().map_err(&fault)? {
            let number: i64 = row.get(0).map_err(&fault)?;
            let body = row
                .get_ref(1)
                .map_err(&fault)?
                .as_blob()
                .unwrap_or_default();
            let group = heads.size();
            let head = GroupHead::decode(body).map_err(|source| OpenError::Group {
                group,
                source: Some(source),
            })?;
            if i64::try_from(group) != Ok(number) || head.group != group {
                return Err(OpenError::Group {
                    group,
                    source: None,
                });
            }
            heads.append(leaf_hash(body));
            last = Some(head);
        }
        let (signed, stored) = (checkpoint.checkpoint().head(), heads.head());
        if signed != stored {
            return Err(OpenError::HeadsLog {
                size: signed.size,
                root: signed.root,
                found_size: stored.size,
                found_root: stored.root,
            });
        }
        let group = last.ok_or(OpenError::Group {
            group: 0,
            source: None,
        })?;
        self.check_tiles(&LogName::Heads, &heads)?;
        Ok((heads, Tip { group, checkpoint }))
    }

    /// The tenant logs without their control chains, compared with the last group.
    pub(crate) fn tenants(&self, last: &GroupHead) -> Result<Logs, OpenError> {
        let mut logs = Logs::new();
        for (name, head) in self.tenant_heads(last)? {
            let log = LogName::Tenant(head.tenant.clone());
            let tree = self.tree(&log, &head)?;
            self.check_tiles(&log, &tree)?;
            let control = ControlChain::new();
            logs.insert(
                name,
                TenantLog {
                    tree,
                    control,
                    head: Some(head),
                },
            );
        }
        self.check_tile_logs(&logs)?;
        Ok(logs)
    }

    fn tenant_heads(&self, last: &GroupHead) -> Result<Vec<(TenantName, TenantHead)>, OpenError> {
        let fault = self.fault("reading the tenant heads");
        let mut statement = self
            .conn
            .prepare("SELECT tenant, head FROM tenant ORDER BY tenant")
            .map_err(&fault)?;
        let mut found = statement.query([]).map_err(&fault)?;
        let mut heads = Vec::new();
        while let Some(row) = found.next().map_err(&fault)? {
            let name = row
                .get_ref(0)
                .map_err(&fault)?
                .as_bytes()
                .unwrap_or_default();
            let tenant = String::from_utf8_lossy(name).into_owned();
            let bytes = row
                .get_ref(1)
                .map_err(&fault)?
                .as_blob()
                .unwrap_or_default();
            let head = TenantHead::decode(bytes).map_err(|source| OpenError::TenantHead {
                tenant: tenant.clone(),
                source: Some(source),
            })?;
            match TenantName::new(&tenant) {
                Ok(name) if head.tenant == tenant => heads.push((name, head)),
                _ => {
                    return Err(OpenError::TenantHead {
                        tenant,
                        source: None,
                    });
                }
            }
        }
        // The rows are in order of their distinct names, so that the root can be made.
        let found_root =
            heads_root(heads.iter().map(|(_, head)| head)).unwrap_or_else(|_| empty_root());
        let found = heads.len() as u64;
        if found != last.tenants || found_root != last.heads_root {
            return Err(OpenError::TenantHeads {
                tenants: last.tenants,
                root: last.heads_root,
                found,
                found_root,
            });
        }
        Ok(heads)
    }

    /// Rebuilds a tenant's tree from its tiles of level 0.
    fn tree(&self, log: &LogName, head: &TenantHead) -> Result<Tree, OpenError> {
        let fault = self.fault("reading the tiles");
        let mut statement = self
            .conn
            .prepare_cached("SELECT idx, bytes FROM tile WHERE log = ?1 AND level = 0 ORDER BY idx")
            .map_err(&fault)?;
        let mut found = statement.query([rows::log_column(log)]).map_err(&fault)?;
        let mut tree = Tree::new();
        while let Some(row) = found.next().map_err(&fault)? {
            let index: i64 = row.get(0).map_err(&fault)?;
            let bytes = row
                .get_ref(1)
                .map_err(&fault)?
                .as_blob()
                .unwrap_or_default();
            let place = tree.size() / u64::from(TILE_WIDTH);
            let after_full = tree.size().is_multiple_of(u64::from(TILE_WIDTH));
            let hashes = decode_tile(bytes).ok().filter(|_| after_full);
            let (Some(hashes), Ok(true)) = (hashes, u64::try_from(index).map(|i| i == place))
            else {
                return Err(OpenError::Tile {
                    log: log.clone(),
                    level: 0,
                    index,
                });
            };
            hashes.into_iter().for_each(|hash| {
                tree.append(hash);
            });
            if tree.size() > head.size {
                break;
            }
        }
        let built = tree.head();
        if built.size != head.size || built.root != head.root {
            return Err(OpenError::TenantRoot {
                log: log.clone(),
                size: head.size,
                root: head.root,
                found_size: built.size,
                found_root: built.root,
            });
        }
        Ok(tree)
    }

    /// Compares all stored tiles of a log with its tree.
    fn check_tiles(&self, log: &LogName, tree: &Tree) -> Result<(), OpenError> {
        let fault = self.fault("reading the tiles");
        let mut statement = self
            .conn
            .prepare_cached("SELECT level, idx, bytes FROM tile WHERE log = ?1 ORDER BY level, idx")
            .map_err(&fault)?;
        let mut found = statement.query([rows::log_column(log)]).map_err(&fault)?;
        let mut expected = tiles_since(0, tree.size());
        let differs = |level, index| OpenError::Tile {
            log: log.clone(),
            level,
            index,
        };
        while let Some(row) = found.next().map_err(&fault)? {
            let level: i64 = row.get(0).map_err(&fault)?;
            let index: i64 = row.get(1).map_err(&fault)?;
            let bytes = row.get_ref(2).map_err(&fault)?.as_blob().ok();
            let fits = expected.next().is_some_and(
                |TilePlace {
                     level: l,
                     index: i,
                     width,
                 }| {
                    i64::from(l) == level
                        && i64::try_from(i) == Ok(index)
                        && tree.tile(l, i, width).as_deref() == bytes
                },
            );
            if !fits {
                return Err(differs(level, index));
            }
        }
        match expected.next() {
            Some(TilePlace { level, index, .. }) => {
                Err(differs(i64::from(level), rows::cell(index)))
            }
            None => Ok(()),
        }
    }

    /// Refuses tiles of logs that the store has not.
    fn check_tile_logs(&self, logs: &Logs) -> Result<(), OpenError> {
        let fault = self.fault("reading the tiles");
        for name in rows::names(self.conn, Keyed::Tile).map_err(fault)? {
            let log = rows::log_named(&name);
            let known = match &log {
                LogName::Heads => true,
                LogName::Tenant(name) => is_tenant(logs, name.as_bytes()),
            };
            if !known {
                return Err(OpenError::Tile {
                    log,
                    level: 0,
                    index: 0,
                });
            }
        }
        Ok(())
    }

    /// Gives the places of each tenant's log to `visit`, but for the records that are in segments,
    /// and makes the control chains.
    pub(crate) fn replay(
        &self,
        logs: &mut Logs,
        damage: &mut DamageList,
        visit: &mut dyn Visit,
    ) -> Result<(), OpenError> {
        for (tenant, log) in &mut *logs {
            let mut replay = Replay::new(tenant, &log.tree, damage, visit);
            self.replay_tenant(&mut replay)?;
            log.control = replay.finish(log.head.as_ref())?;
        }
        self.find_inserted(logs, damage)
    }

    fn replay_tenant(&self, replay: &mut Replay<'_>) -> Result<(), OpenError> {
        let (tenant, size) = (replay.tenant.as_str(), replay.tree.size());
        let sealed = self.sealed(replay)?;
        let columns = rows::leaf_columns();
        let control = format!(
            "SELECT {columns} FROM leaf l LEFT JOIN content c USING (tenant, seq) \
             WHERE l.tenant = ?1 AND l.seq >= 0 AND l.seq < ?2 \
             AND substr(l.body, 1, 1) = x'02' ORDER BY l.seq"
        );
        self.each_leaf(&control, params![tenant, rows::cell(sealed)], &mut |row| {
            replay.next = u64::try_from(row.seq).unwrap_or(replay.next);
            replay.row(row);
            true
        })?;
        let rest = format!(
            "SELECT {columns} FROM leaf l LEFT JOIN content c USING (tenant, seq) \
             WHERE l.tenant = ?1 AND l.seq >= ?2 AND l.seq < ?3 ORDER BY l.seq"
        );
        replay.next = sealed;
        let range = params![tenant, rows::cell(sealed), rows::cell(size)];
        self.each_leaf(&rest, range, &mut |row| {
            replay.row(row);
            true
        })?;
        replay.missing_until(size);
        Ok(())
    }

    /// The sequence number below which all records are in segments, as the last control event
    /// says that says so.
    fn sealed(&self, replay: &Replay<'_>) -> Result<u64, OpenError> {
        let size = replay.tree.size();
        let last = format!(
            "SELECT {} FROM leaf l LEFT JOIN content c USING (tenant, seq) \
             WHERE l.tenant = ?1 AND l.seq >= 0 AND l.seq < ?2 \
             AND substr(l.body, 1, 1) = x'02' ORDER BY l.seq DESC",
            rows::leaf_columns()
        );
        let mut sealed = None;
        let range = params![replay.tenant.as_str(), rows::cell(size)];
        self.each_leaf(&last, range, &mut |row| {
            let hash = u64::try_from(row.seq)
                .ok()
                .and_then(|s| replay.tree.leaf(s));
            if let Some(hash) = hash
                && let Compared::Intact { body, .. } = compare(&hash, row.body, row.content)
            {
                sealed = replay.visit.sealed(body);
            }
            sealed.is_none()
        })?;
        Ok(sealed.unwrap_or(0).min(size))
    }

    /// Gives the rows of a statement to `take` until it says that it has enough.
    fn each_leaf(
        &self,
        statement: &str,
        range: impl rusqlite::Params,
        take: &mut dyn FnMut(LeafRow<'_>) -> bool,
    ) -> Result<(), OpenError> {
        let fault = self.fault("reading the leaves");
        let mut statement = self.conn.prepare_cached(statement).map_err(&fault)?;
        let mut found = statement.query(range).map_err(&fault)?;
        while let Some(row) = found.next().map_err(&fault)? {
            if !take(LeafRow::of(row).map_err(&fault)?) {
                break;
            }
        }
        Ok(())
    }

    /// Lists rows where the log has no leaf.
    fn find_inserted(&self, logs: &Logs, damage: &mut DamageList) -> Result<(), OpenError> {
        for (table, keyed, what) in [
            (Beside::Leaf, Keyed::Leaf, DamageKind::Inserted),
            (Beside::Content, Keyed::Content, DamageKind::InsertedContent),
        ] {
            let fault = self.fault("looking for inserted rows");
            for name in rows::names(self.conn, keyed).map_err(&fault)? {
                let text = String::from_utf8_lossy(&name);
                let size = tenant_size(logs, &name);
                rows::each_outside(self.conn, table, (&name, size), &mut |seq| {
                    damage.add(&text, seq, what);
                })
                .map_err(&fault)?;
            }
        }
        Ok(())
    }

    fn fault(&self, step: &'static str) -> impl Fn(rusqlite::Error) -> OpenError {
        move |e| OpenError::database(self.path, DatabaseFault::of(step, e))
    }
}

/// One tenant's log on its way through a replay.
struct Replay<'a> {
    tenant: &'a TenantName,
    tree: &'a Tree,
    damage: &'a mut DamageList,
    visit: &'a mut dyn Visit,
    /// The next place in the log.
    next: u64,
    control: ControlChain,
    damaged: u64,
    first_damaged: u64,
    /// The first refusal of `visit`; after it the rest is only checked.
    refused: Option<OpenError>,
}

impl<'a> Replay<'a> {
    fn new(
        tenant: &'a TenantName,
        tree: &'a Tree,
        damage: &'a mut DamageList,
        visit: &'a mut dyn Visit,
    ) -> Self {
        Self {
            tenant,
            tree,
            damage,
            visit,
            next: 0,
            control: ControlChain::new(),
            damaged: 0,
            first_damaged: 0,
            refused: None,
        }
    }

    fn row(&mut self, row: LeafRow<'_>) {
        let Ok(seq) = u64::try_from(row.seq) else {
            return;
        };
        self.missing_until(seq);
        let Some(hash) = self.tree.leaf(seq) else {
            return;
        };
        self.next = seq.saturating_add(1);
        match compare(&hash, row.body, row.content) {
            Compared::Intact {
                kind,
                body,
                content,
            } => {
                if kind == LeafKind::Control {
                    self.control.push(&hash);
                }
                let tenant = self.tenant;
                self.give(
                    seq,
                    ReplayLeaf::Intact {
                        tenant,
                        seq,
                        kind,
                        hash,
                        body,
                        content,
                    },
                );
            }
            Compared::ContentEdited { kind, body } => {
                if kind == LeafKind::Control {
                    self.control.push(&hash);
                }
                self.damaged(seq, DamageKind::Content, hash, Some(body));
            }
            Compared::Edited => self.damaged(seq, DamageKind::Edited, hash, None),
        }
    }

    /// Reports the places up to `seq`, the last not included, as missing.
    fn missing_until(&mut self, seq: u64) {
        while self.next < seq {
            let Some(hash) = self.tree.leaf(self.next) else {
                return;
            };
            self.damaged(self.next, DamageKind::Missing, hash, None);
            self.next = self.next.saturating_add(1);
        }
    }

    fn damaged(&mut self, seq: u64, what: DamageKind, hash: NodeHash, body: Option<&[u8]>) {
        if body.is_none() {
            if self.damaged == 0 {
                self.first_damaged = seq;
            }
            self.damaged = self.damaged.saturating_add(1);
        }
        self.damage.add(self.tenant.as_str(), rows::cell(seq), what);
        let tenant = self.tenant;
        self.give(
            seq,
            ReplayLeaf::Damaged {
                tenant,
                seq,
                what,
                hash,
                body,
            },
        );
    }

    fn give(&mut self, seq: u64, leaf: ReplayLeaf<'_>) {
        if self.refused.is_some() {
            return;
        }
        if let Err(ReplayRefusal(reason)) = self.visit.leaf(leaf) {
            self.refused = Some(OpenError::Replay {
                tenant: self.tenant.clone(),
                seq,
                reason,
            });
        }
    }

    /// Compares the control chain with the head. That comes before a refusal of the reader, which
    /// a missing control leaf would explain.
    fn finish(self, head: Option<&TenantHead>) -> Result<ControlChain, OpenError> {
        if head.is_some_and(|head| head.control != *self.control.bytes()) {
            return Err(OpenError::Control {
                tenant: self.tenant.clone(),
                damaged: self.damaged,
                first: self.first_damaged,
            });
        }
        match self.refused {
            Some(refusal) => Err(refusal),
            None => Ok(self.control),
        }
    }
}

fn is_tenant(logs: &Logs, name: &[u8]) -> bool {
    tenant_size(logs, name) > 0
}

/// The leaves of a tenant's log; 0 for a name that no tenant has.
fn tenant_size(logs: &Logs, name: &[u8]) -> u64 {
    std::str::from_utf8(name)
        .ok()
        .and_then(|name| TenantName::new(name).ok())
        .and_then(|name| logs.get(&name))
        .map_or(0, |log| log.tree.size())
}
