// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is held until it is judged.

use super::{Fate, State, Tenant};
use crate::event::Event;
use crate::judging::{Held, Judgement};
use ancile_core::{EntryId, TenantName};
use ancile_screen::{SCORE_MAX, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Tenant {
    /// An entry was held, or judged.
    pub(super) fn apply_held(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { entry, .. } => {
                self.edit_fate(entry, |fate| fate.pending = true);
                self.pending.insert_mut(*entry, ());
            }
            Event::Judged {
                entry,
                judge,
                score,
                verdict,
                failure,
                at,
            } => {
                let judgement = Judgement {
                    judge: judge.clone(),
                    score: *score,
                    verdict: *verdict,
                    failure: failure.clone(),
                    at: *at,
                };
                let known = [Verdict::Allow, Verdict::Flag, Verdict::Quarantine];
                if !known.contains(verdict) || score.is_some_and(|score| score > SCORE_MAX) {
                    return Err("a verdict or score is not one of a judge".to_owned());
                }
                self.let_go(entry);
                if let Some(shelf) = judgement.shelf() {
                    self.edit_fate(entry, |fate| fate.shelf = Some(Arc::new(shelf)));
                    self.shelf.insert_mut(*entry, ());
                }
                // Most is allowed, and what a judge said of it stays in the log alone.
                if *verdict != Verdict::Allow {
                    self.edit_fate(entry, |fate| fate.judged = Some(Arc::new(judgement)));
                }
            }
            _ => return Err("not an event of what is held".to_owned()),
        }
        Ok(())
    }

    /// A person let an entry out. Where the whole was held or on the shelf, that was what they
    /// looked at: parts of its text that are there by themselves stay until they are released too.
    pub(super) fn release(&mut self, id: &EntryId) {
        let fate = self.fate(id);
        let whole = fate.pending || fate.shelf.is_some();
        let stays = whole && fate.parts.is_some();
        self.edit_fate(id, |fate| {
            fate.shelf = None;
            fate.parts = fate.parts.take().filter(|_| stays);
            fate.released = true;
        });
        if !stays {
            self.shelf.remove_mut(id);
        }
        self.let_go(id);
    }

    /// An entry is held no more, whoever says so.
    pub(super) fn let_go(&mut self, id: &EntryId) {
        if self.pending.remove_mut(id) {
            self.edit_fate(id, |fate| fate.pending = false);
            if self.fate(id) == Fate::default() {
                self.fates.remove_mut(id);
            }
        }
    }
}

impl State {
    /// All that is held, in order of tenant and time.
    pub(crate) fn pending(&self) -> impl Iterator<Item = Held> + '_ {
        self.tenants.iter().flat_map(|(name, tenant)| {
            let ids = tenant.pending.keys();
            ids.map(|id| (name.clone(), *id))
        })
    }

    /// Takes an event into one tenant.
    pub(super) fn apply_in(
        &mut self,
        name: &TenantName,
        seq: u64,
        event: &Event,
        texts: &BTreeMap<usize, String>,
    ) -> Result<(), String> {
        let tenant = self.tenant_mut(name)?;
        let before = tenant.pending.size() as u64;
        tenant.apply(seq, event, texts)?;
        let after = tenant.pending.size() as u64;
        self.held = self.held.saturating_sub(before).saturating_add(after);
        Ok(())
    }
}
