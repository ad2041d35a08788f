// SPDX-License-Identifier: MIT OR Apache-2.0
//! The offline verifier: recomputes every log from its leaves with nothing but a public key.
//!
//! It only reads. Memory is bounded by the number of tenants, not of leaves: a log is streamed,
//! one tile a level.

mod problem;

pub use problem::{LogCount, MISSING_LEAVES_MAX, PROBLEMS_MAX, Problem, Report};

use crate::checkpoint::{Checkpoint, SignedCheckpoint};
use crate::frontier::Frontier;
use crate::hash::{
    ControlChain, HASH_BYTES, LEAF_BYTES_MAX, LeafKind, NodeHash, empty_root, leaf_hash,
};
use crate::head::{GroupHead, TenantHead, heads_root};
use crate::note::VerifierKey;
use crate::source::{LogName, LogSource, SourceError};
use crate::tile::{TILE_WIDTH, decode_tile};
use crate::tiling::{Tile, Tiling};
use crate::witness::judge;
use core::convert::Infallible;

/// Stands for a leaf that is not there. No SHA-256 value is known that equals it.
const MISSING: NodeHash = NodeHash([0; HASH_BYTES]);

/// Recomputes all logs of a source and compares them with its tiles, heads, checkpoint and
/// witness.
#[must_use]
pub fn verify(source: &dyn LogSource, key: &VerifierKey) -> Report {
    let mut check = Check {
        source,
        report: Report::new(),
    };
    let checkpoint = check.open_checkpoint(key);
    let heads = check.tenants();
    check.heads_log(key, checkpoint.as_ref(), heads.as_deref());
    check.report
}

struct Check<'a> {
    source: &'a dyn LogSource,
    report: Report,
}

/// What streaming one log gave.
struct Scan {
    size: u64,
    root: NodeHash,
    /// Whether every leaf that the head says was there.
    complete: bool,
}

/// Sees each leaf that is there: index, body, hash.
type Visit<'a> = &'a mut dyn FnMut(&mut Report, u64, &[u8], &NodeHash);

/// Sees each tile that a step of a tiling gives.
type Each<'a> = &'a mut dyn FnMut(&Tile<'_>) -> Result<(), Infallible>;

impl Check<'_> {
    fn open_checkpoint(&mut self, key: &VerifierKey) -> Option<Checkpoint> {
        let text = self.read("checkpoint", |s| s.checkpoint())?;
        let Some(text) = text else {
            self.report.add(Problem::CheckpointMissing);
            return None;
        };
        match key.open(&text) {
            Ok(signed) => {
                let checkpoint = signed.checkpoint().clone();
                self.report.checkpoint = Some(checkpoint.clone());
                Some(checkpoint)
            }
            Err(refusal) => {
                self.report.add(Problem::CheckpointRefused(refusal));
                None
            }
        }
    }

    /// Recomputes all tenant heads; nothing when one cannot be.
    fn tenants(&mut self) -> Option<Vec<TenantHead>> {
        let mut names = self.read("tenant list", |s| s.tenants())?;
        names.sort_unstable();
        let mut heads = Vec::with_capacity(names.len());
        let mut complete = true;
        for name in names {
            match self.tenant(name) {
                Some(head) => heads.push(head),
                None => complete = false,
            }
        }
        complete.then_some(heads)
    }

    fn tenant(&mut self, tenant: String) -> Option<TenantHead> {
        let stored = self
            .read(
                &format!("head of tenant `{}`", tenant.escape_debug()),
                |s| s.head(&tenant),
            )
            .flatten();
        if stored.is_none() {
            self.report.add(Problem::HeadMissing {
                tenant: tenant.clone(),
            });
        }
        let log = LogName::Tenant(tenant.clone());
        let (mut chain, mut events) = (ControlChain::new(), 0u64);
        let scan = self.scan(
            &log,
            stored.as_ref().map(|head| head.size),
            &mut |report, index, body, hash| match LeafKind::of(body) {
                Some(LeafKind::Record) => {}
                Some(LeafKind::Control) => {
                    chain.push(hash);
                    events = events.saturating_add(1);
                }
                None => report.add(Problem::LeafKindUnknown {
                    log: log.clone(),
                    index,
                }),
            },
        )?;
        if let Some(count) = self.report.logs.last_mut() {
            count.control = events;
        }
        if !scan.complete {
            return None;
        }
        let head = TenantHead {
            tenant,
            size: scan.size,
            root: scan.root,
            control: *chain.bytes(),
        };
        if let Some(stored) = stored {
            self.compare_heads(&stored, &head, events);
        }
        Some(head)
    }

    fn compare_heads(&mut self, stored: &TenantHead, found: &TenantHead, events: u64) {
        if stored.root != found.root {
            self.report.add(Problem::HeadRootDiffers {
                tenant: found.tenant.clone(),
                expected: stored.root,
                found: found.root,
            });
        }
        if stored.control != found.control {
            self.report.add(Problem::ControlDiffers {
                tenant: found.tenant.clone(),
                events,
            });
        }
    }

    fn heads_log(
        &mut self,
        key: &VerifierKey,
        checkpoint: Option<&Checkpoint>,
        heads: Option<&[TenantHead]>,
    ) {
        let witness = self.open_witness(key);
        let witnessed = witness.as_ref().map(|w| w.checkpoint().head());
        let (mut tree, mut witness_root) = (Frontier::new(), None);
        if witnessed.is_some_and(|head| head.size == 0) {
            witness_root = Some(empty_root());
        }
        let mut last: Option<GroupHead> = None;
        let size = checkpoint.map(|c| c.size);
        let scan = self.scan(&LogName::Heads, size, &mut |report, index, body, hash| {
            tree.push(*hash);
            if witnessed.is_some_and(|head| head.size == tree.size()) {
                witness_root = Some(tree.root());
            }
            check_group(report, index, body, &mut last);
        });
        let Some(scan) = scan.filter(|scan| scan.complete) else {
            return;
        };
        if let Some(checkpoint) = checkpoint
            && checkpoint.root != scan.root
        {
            self.report.add(Problem::CheckpointRootDiffers {
                size: scan.size,
                expected: checkpoint.root,
                found: scan.root,
            });
        }
        if let Some(claimed) = witnessed {
            match judge(scan.size, witness_root, &claimed) {
                Ok(state) => self.report.witness = Some(state),
                Err(refusal) => self.report.add(Problem::Witness(refusal)),
            }
        }
        if let Some(heads) = heads {
            self.last_group(last.as_ref(), scan.size, heads);
        }
    }

    fn open_witness(&mut self, key: &VerifierKey) -> Option<SignedCheckpoint> {
        let text = self.read("witness", |s| s.witness())??;
        key.open(&text)
            .map_err(|refusal| self.report.add(Problem::WitnessUnsigned(refusal)))
            .ok()
    }

    /// Compares the recomputed heads with the last group; before the first there must be none.
    fn last_group(&mut self, last: Option<&GroupHead>, groups: u64, heads: &[TenantHead]) {
        let (expected, root) = match last {
            Some(group) => (group.tenants, group.heads_root),
            None if groups == 0 => (0, empty_root()),
            // The last leaf is malformed, which was reported.
            None => return,
        };
        let found = heads.len() as u64;
        if expected != found {
            self.report.add(Problem::TenantCount { expected, found });
        }
        match heads_root(heads) {
            Ok(found) if found == root => {}
            Ok(found) => self.report.add(Problem::HeadsRootDiffers {
                expected: root,
                found,
            }),
            Err(fault) => self.report.add(Problem::Tenants(fault)),
        }
    }

    /// Streams a log up to the size that its head says, or to its end where there is no head.
    fn scan(&mut self, log: &LogName, head: Option<u64>, visit: Visit<'_>) -> Option<Scan> {
        let extent = self.read(&log.to_string(), |s| s.extent(log))?;
        let expected = head.unwrap_or(extent);
        let mut complete = true;
        if extent < expected {
            complete = false;
            self.report.add(Problem::LogShort {
                log: log.clone(),
                expected,
                found: extent,
            });
        } else if extent > expected {
            self.report.add(Problem::LeavesBeyondHead {
                log: log.clone(),
                expected,
                found: extent,
            });
        }
        let mut tiling = Tiling::default();
        let (mut missing, mut tiles) = (0u64, 0u64);
        for index in 0..expected.min(extent) {
            let hash = match self.leaf(log, index) {
                Some(body) => {
                    let hash = leaf_hash(&body);
                    visit(&mut self.report, index, &body, &hash);
                    hash
                }
                None => {
                    complete = false;
                    missing = missing.saturating_add(1);
                    MISSING
                }
            };
            self.tiles(|each| tiling.push(hash, each), log, complete, &mut tiles);
            if missing == MISSING_LEAVES_MAX {
                self.report.add(Problem::LogAbandoned {
                    log: log.clone(),
                    index: index.saturating_add(1),
                });
                break;
            }
        }
        if missing < MISSING_LEAVES_MAX && extent >= expected {
            self.tiles(|each| tiling.finish(each), log, complete, &mut tiles);
        }
        self.report.logs.push(LogCount {
            log: log.clone(),
            leaves: tiling.size().saturating_sub(missing),
            control: 0,
            tiles,
        });
        Some(Scan {
            size: tiling.size(),
            root: tiling.root(),
            complete,
        })
    }

    /// Compares the tiles that a step of the tiling gives.
    fn tiles(
        &mut self,
        step: impl FnOnce(Each<'_>) -> Result<(), Infallible>,
        log: &LogName,
        complete: bool,
        tiles: &mut u64,
    ) {
        let Ok(()) = step(&mut |tile| {
            // Above missing leaves only level 0 can be compared.
            if (complete || tile.level == 0) && self.compare_tile(log, tile) {
                *tiles = tiles.saturating_add(1);
            }
            Ok(())
        });
    }

    /// Compares one stored tile with the leaves; says whether there was one to compare.
    fn compare_tile(&mut self, log: &LogName, tile: &Tile<'_>) -> bool {
        let width = tile.width();
        let (level, index) = (tile.level, tile.index);
        if !self.source.tiles_kept().keeps(width == TILE_WIDTH) {
            return false;
        }
        let what = format!("{log}: tile {index} of level {level}");
        let Some(stored) = self.read(&what, |s| s.tile(log, level, index, width)) else {
            return false;
        };
        let log = log.clone();
        let Some(stored) = stored else {
            self.report.add(Problem::TileMissing { log, level, index });
            return false;
        };
        match decode_tile(&stored) {
            Ok(hashes) if hashes.len() == tile.hashes.len() => {
                self.compare_hashes(&log, tile, &hashes);
            }
            _ => self.report.add(Problem::TileLength {
                log,
                level,
                index,
                expected: tile.hashes.len().saturating_mul(HASH_BYTES),
                found: stored.len(),
            }),
        }
        true
    }

    fn compare_hashes(&mut self, log: &LogName, tile: &Tile<'_>, stored: &[NodeHash]) {
        let first = tile.index.saturating_mul(u64::from(TILE_WIDTH));
        for (at, (expected, found)) in (0u64..).zip(stored.iter().zip(tile.hashes)) {
            if expected == found || *found == MISSING {
                continue;
            }
            let log = log.clone();
            if tile.level > 0 {
                return self.report.add(Problem::TileDiffers {
                    log,
                    level: tile.level,
                    index: tile.index,
                    at,
                });
            }
            self.report.add(Problem::LeafDiffers {
                log,
                index: first.saturating_add(at),
                expected: *expected,
                found: *found,
            });
        }
    }

    /// The body of a leaf; what is wrong with it is reported.
    fn leaf(&mut self, log: &LogName, index: u64) -> Option<Vec<u8>> {
        let body = match self.source.leaf(log, index) {
            Ok(Some(body)) => body,
            Ok(None) => {
                self.report.add(Problem::LeafMissing {
                    log: log.clone(),
                    index,
                });
                return None;
            }
            Err(source) => {
                let what = format!("{log}: leaf {index}");
                self.report.add(Problem::Unreadable { what, source });
                return None;
            }
        };
        if body.len() > LEAF_BYTES_MAX {
            self.report.add(Problem::LeafTooLong {
                log: log.clone(),
                index,
                bytes: body.len(),
            });
        }
        Some(body)
    }

    /// Reads from the source; an error is reported.
    fn read<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&dyn LogSource) -> Result<T, SourceError>,
    ) -> Option<T> {
        read(self.source)
            .map_err(|source| {
                self.report.add(Problem::Unreadable {
                    what: what.to_owned(),
                    source,
                });
            })
            .ok()
    }
}

/// Checks a leaf of the heads log against the one before it.
fn check_group(report: &mut Report, index: u64, body: &[u8], last: &mut Option<GroupHead>) {
    let group = match GroupHead::decode(body) {
        Ok(group) => group,
        Err(source) => {
            *last = None;
            return report.add(Problem::GroupMalformed { index, source });
        }
    };
    if group.group != index {
        report.add(Problem::GroupNumber {
            index,
            found: group.group,
        });
    }
    if let Some(before) = last.as_ref()
        && group.epoch < before.epoch
    {
        report.add(Problem::EpochFalls {
            index,
            before: before.epoch,
            found: group.epoch,
        });
    }
    *last = Some(group);
}
