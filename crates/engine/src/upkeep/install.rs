// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bringing finished segments into the store, a few pieces a commit, and then their events.

use super::PIECES_PER_COMMIT;
use crate::core::Core;
use crate::event::{Event, SealedSegment};
use crate::index::{Partition, Place};
use crate::refusal::Refusal;
use crate::turn::Turn;
use ancile_core::{Digest, TenantName};
use ancile_store::segment::{Built, Piece};
use std::collections::VecDeque;

/// Segments named by one event, which stays below the limit of a leaf.
const SEGMENTS_PER_EVENT: usize = 128;

/// Segments that the worker made, on their way into the store.
pub(super) struct Install {
    pub(super) tenant: TenantName,
    pub(super) pieces: VecDeque<(Digest, Piece)>,
    pub(super) events: Vec<Event>,
    /// Segments that the events replace.
    pub(super) gone: Vec<Digest>,
    pub(super) kind: Kind,
}

/// What an installation does beside the events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What was set aside in memory is in segments.
    Seal,
    /// All segments were made anew: what they list is read again, and what was wrong with the old
    /// ones is over.
    Rebuild,
    /// Nothing.
    Other,
}

impl Core {
    /// Stores some pieces; after the last one the event, by which the segment counts.
    pub(super) fn install_some(&mut self) -> Result<(), Refusal> {
        let Some(mut install) = self.upkeep.install.take() else {
            return Ok(());
        };
        let few = install.pieces.len().min(PIECES_PER_COMMIT as usize);
        for (digest, piece) in install.pieces.drain(..few) {
            let put = self.store()?.put_piece(&install.tenant, &digest, &piece);
            put.map_err(|e| self.lost(&e))?;
        }
        if !install.pieces.is_empty() {
            self.upkeep.install = Some(install);
            return self.commit(0);
        }
        for event in &install.events {
            let said = Turn::new(self).emit(&install.tenant, event);
            said.map_err(|fault| self.lost(&fault.outside))?;
        }
        self.commit(0)?;
        match install.kind {
            Kind::Seal => self.index.thaw(&install.tenant),
            Kind::Rebuild => {
                let segments = format!("tenant `{}`: index", install.tenant);
                self.problems.retain(|line| !line.starts_with(&segments));
                self.list_segments(&install.tenant)?;
                self.count_integrity();
            }
            Kind::Other => {}
        }
        self.upkeep.installed = true;
        for digest in install.gone {
            self.index.forget(&digest);
            self.upkeep
                .sweep
                .push_back((install.tenant.clone(), digest));
        }
        Ok(())
    }
}

impl Install {
    /// The pieces of segments, without an event.
    pub(super) fn new(tenant: TenantName, made: &[(Place, Built)]) -> Self {
        let pieces = made.iter().flat_map(|(_, built)| {
            let digest = built.digest();
            built.pieces().map(move |piece| (digest, piece))
        });
        Self {
            tenant,
            pieces: pieces.collect(),
            events: Vec::new(),
            gone: Vec::new(),
            kind: Kind::Other,
        }
    }
}

/// How the log names a segment.
pub(super) fn segment_of((place, built): &(Place, Built)) -> SealedSegment {
    SealedSegment {
        namespace: place.1.clone(),
        untrusted: place.2 == Partition::Untrusted,
        digest: built.digest(),
        rows: built.head().rows,
    }
}

/// Events that name segments, a few each; all belong into one group.
pub(super) fn sealed_events(segments: &[SealedSegment], upto: u64, anew: bool) -> Vec<Event> {
    let event = |(at, some): (usize, &[SealedSegment])| Event::Sealed {
        upto,
        anew: anew && at == 0,
        segments: some.to_vec(),
    };
    let events: Vec<Event> = segments
        .chunks(SEGMENTS_PER_EVENT)
        .enumerate()
        .map(event)
        .collect();
    if events.is_empty() {
        return vec![event((0, &[]))];
    }
    events
}
