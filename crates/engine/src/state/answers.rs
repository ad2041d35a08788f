// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers that are kept for requests which are carried out once.

use crate::api::ANSWER_SECONDS;
use crate::event::Event;
use ancile_core::{Digest, Micros};
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};

/// An answer that is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerRow {
    /// The leaf beside which it lies.
    pub seq: u64,
    pub request: Digest,
    pub at: Micros,
    /// Commitment to its salt and its encrypted bytes.
    pub answer: Digest,
    credential: Digest,
}

impl AnswerRow {
    /// Whether it is still given at a moment.
    pub(crate) fn holds_at(&self, now: Micros) -> bool {
        now < self.at.plus_seconds(ANSWER_SECONDS)
    }
}

/// The answers of a tenant, by what they are kept under and by credential and age.
#[derive(Debug, Clone)]
pub(crate) struct Answers {
    rows: HashTrieMapSync<Digest, AnswerRow>,
    order: RedBlackTreeMapSync<(Digest, u64), Digest>,
}

impl Answers {
    pub(super) fn new() -> Self {
        Self {
            rows: HashTrieMapSync::new_sync(),
            order: RedBlackTreeMapSync::new_sync(),
        }
    }

    pub(crate) fn get(&self, id: &Digest) -> Option<&AnswerRow> {
        self.rows.get(id)
    }

    /// The leaves of a credential's answers that go before one more is kept: those that hold no
    /// more, and the oldest beyond `most` with the new one.
    pub(crate) fn to_drop(&self, credential: &Digest, now: Micros, most: usize) -> Vec<u64> {
        let all: Vec<&AnswerRow> = self
            .order
            .range((*credential, 0)..=(*credential, u64::MAX))
            .filter_map(|(_, id)| self.rows.get(id))
            .collect();
        let beyond = all.len().saturating_add(1).saturating_sub(most);
        let goes = |(at, row): &(usize, &&AnswerRow)| *at < beyond || !row.holds_at(now);
        let going = all.iter().enumerate().filter(goes);
        going.map(|(_, row)| row.seq).collect()
    }

    /// Takes an answer in, and lets go of those that it replaces.
    pub(super) fn apply(&mut self, seq: u64, event: &Event) {
        let Event::Answered {
            id,
            credential,
            request,
            at,
            answer,
            drops,
        } = event
        else {
            return;
        };
        for dropped in drops {
            let place = (*credential, *dropped);
            if let Some(old) = self.order.get(&place).copied() {
                self.order.remove_mut(&place);
                self.rows.remove_mut(&old);
            }
        }
        if let Some(before) = self.rows.get(id) {
            self.order.remove_mut(&(before.credential, before.seq));
        }
        self.order.insert_mut((*credential, seq), *id);
        let row = AnswerRow {
            seq,
            request: *request,
            at: *at,
            answer: *answer,
            credential: *credential,
        };
        self.rows.insert_mut(*id, row);
    }
}

#[cfg(test)]
mod tests;
