// SPDX-License-Identifier: MIT OR Apache-2.0
//! What follows from one event of a tenant's log.

use super::{
    ApprovalRow, MandateRow, Most, Namespace, PermitRow, Replacement, Scope, Sealed, Shelf, Tenant,
};
use crate::api::{ApprovalState, KeySpec, SessionSpec};
use crate::endorse::Endorsement;
use crate::event::{Decided, Event, Parked, SealedSegment, roots_from_text};
use crate::index::Partition;
use crate::session::Session;
use ancile_core::{Decision, SessionMode, ToolName};
use ancile_policy::{Mandate, MandateDraft, Manifest};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Tenant {
    pub(super) fn apply(
        &mut self,
        seq: u64,
        event: &Event,
        texts: &BTreeMap<usize, String>,
    ) -> Result<(), String> {
        match event {
            Event::TenantMade { .. }
            | Event::KeyMade { .. }
            | Event::KeyRevoked { .. }
            | Event::KeyEnds { .. } => Err("event belongs to the whole store".to_owned()),
            Event::NamespaceMade { .. }
            | Event::NamespaceChanged { .. }
            | Event::QuotaSet { .. }
            | Event::Answered { .. } => self.apply_own(seq, event),
            Event::ManifestSet { .. }
            | Event::ToolModeSet { .. }
            | Event::MandateGranted { .. }
            | Event::MandateRevoked { .. }
            | Event::SourceRegistered { .. }
            | Event::SourceGraded { .. } => self.apply_policy(event),
            Event::SessionOpened { .. }
            | Event::SessionClosed { .. }
            | Event::Exposed { .. }
            | Event::NotShown { .. } => self.apply_session(seq, event, texts),
            Event::Decided(decided) => self.apply_decided(decided),
            Event::Redeemed { permit } => {
                let row = self.permits.get_mut(permit).ok_or("no such permit")?;
                row.redeemed = true;
                Ok(())
            }
            Event::Parked(parked) => self.apply_parked(parked),
            Event::ApprovalAnswered { id, approved, .. } => {
                let row = self.approvals.get_mut(id).ok_or("no such approval")?;
                row.state = if *approved {
                    ApprovalState::Approved
                } else {
                    ApprovalState::Denied
                };
                Ok(())
            }
            Event::Sealed { .. } | Event::SegmentsMerged { .. } => {
                self.apply_segments(event);
                Ok(())
            }
            Event::Superseded { .. }
            | Event::Quarantined { .. }
            | Event::Pending { .. }
            | Event::Judged { .. }
            | Event::Released { .. }
            | Event::Endorsed { .. }
            | Event::Discarded { .. }
            | Event::Cancelled { .. }
            | Event::Erased { .. }
            | Event::Evicted { .. }
            | Event::Fired { .. } => self.apply_entry(event),
        }
    }

    fn apply_parked(&mut self, parked: &Parked) -> Result<(), String> {
        self.session_mut(&parked.session)?.asks.push(parked.id);
        let row = ApprovalRow {
            parked: Arc::new(parked.clone()),
            state: ApprovalState::Waiting,
        };
        self.approvals.insert_mut(parked.id, row);
        Ok(())
    }

    /// What is the tenant's own: its namespaces, quotas and kept answers.
    fn apply_own(&mut self, seq: u64, event: &Event) -> Result<(), String> {
        match event {
            Event::NamespaceMade {
                name,
                readers,
                writers,
            }
            | Event::NamespaceChanged {
                name,
                readers,
                writers,
                ..
            } => {
                let namespace = Namespace {
                    readers: readers.clone(),
                    writers: writers.clone(),
                };
                self.namespaces.insert_mut(name.clone(), namespace);
            }
            Event::QuotaSet {
                namespace,
                principal,
                entries,
                bytes,
                ..
            } => {
                let scope = Scope {
                    namespace: namespace.clone(),
                    principal: principal.clone(),
                };
                let most = Most {
                    entries: *entries,
                    bytes: *bytes,
                };
                self.set_quota(scope, most);
            }
            Event::Answered { .. } => {
                self.answers.apply(seq, event);
            }
            _ => return Err("not an event of the tenant's own".to_owned()),
        }
        Ok(())
    }

    fn set_quota(&mut self, scope: Scope, most: Most) {
        if most.entries.is_none() && most.bytes.is_none() {
            self.usage.quotas.remove_mut(&scope);
        } else {
            self.usage.quotas.insert_mut(scope, most);
        }
    }

    fn apply_policy(&mut self, event: &Event) -> Result<(), String> {
        // One more mandate weakens nothing, so that permits and asks stand.
        if !matches!(
            event,
            Event::MandateGranted { .. } | Event::SourceRegistered { .. }
        ) {
            self.epoch = self.epoch.saturating_add(1);
        }
        match event {
            Event::ManifestSet { json, .. } => {
                self.manifest = Arc::new(Manifest::parse(json).map_err(|e| e.to_string())?);
                // A tool that goes and comes back is enforced.
                let gone: Vec<ToolName> = self
                    .log_only
                    .iter()
                    .filter(|tool| self.manifest.tool(tool).is_none())
                    .cloned()
                    .collect();
                for tool in &gone {
                    self.log_only.remove_mut(tool);
                }
            }
            Event::ToolModeSet { tool, log_only, .. } => {
                if *log_only {
                    self.log_only.insert_mut(tool.clone());
                } else {
                    self.log_only.remove_mut(tool);
                }
            }
            Event::MandateGranted { draft, manifest } => {
                let draft = MandateDraft::from_json(draft).map_err(|e| e.to_string())?;
                let row = MandateRow {
                    draft: Arc::new(draft.clone()),
                    uses: 0,
                    revoked: false,
                };
                self.mandate_rows.insert_mut(draft.id, row);
                if *manifest != self.manifest.digest() {
                    return Err("mandate was made for another manifest".to_owned());
                }
                let mandate = Mandate::parse(draft, &self.manifest, &crate::Canon)
                    .map_err(|e| e.to_string())?;
                Arc::make_mut(&mut self.mandates)
                    .insert(mandate)
                    .map_err(|e| e.to_string())?;
            }
            Event::MandateRevoked { id, .. } => {
                let row = self.mandate_rows.get_mut(id).ok_or("no such mandate")?;
                row.revoked = true;
                Arc::make_mut(&mut self.mandates).remove(*id);
            }
            Event::SourceRegistered { name, tools } => {
                let mut row = self.sources.get(name).cloned().unwrap_or_default();
                row.tools.extend(tools.iter().cloned());
                self.sources.insert_mut(name.clone(), row);
            }
            Event::SourceGraded { field, state, .. } => {
                let row = self
                    .sources
                    .get_mut(&field.source)
                    .ok_or("no such source")?;
                row.fields.insert(field.clone(), *state);
            }
            _ => return Err("not a policy event".to_owned()),
        }
        Ok(())
    }

    fn apply_session(
        &mut self,
        seq: u64,
        event: &Event,
        texts: &BTreeMap<usize, String>,
    ) -> Result<(), String> {
        match event {
            Event::SessionOpened {
                id,
                token,
                host,
                agent,
                user,
                namespace,
                interactive,
                observed,
                task,
            } => {
                let mode = if *interactive {
                    SessionMode::Interactive
                } else {
                    SessionMode::Headless
                };
                let spec = SessionSpec {
                    agent: agent.clone(),
                    user: user.clone(),
                    namespace: namespace.clone(),
                    mode,
                    observed: *observed,
                };
                let session = Session::new(*id, spec, host.clone(), *token, *task);
                self.sessions.insert_mut(*id, Arc::new(session));
            }
            Event::SessionClosed { id } => self.session_mut(id)?.closed = true,
            Event::Exposed {
                session,
                items,
                result_of,
                ..
            } => {
                let session = self.session_mut(session)?;
                if let Some(permit) = result_of {
                    session.outstanding.remove(permit);
                }
                if !texts.is_empty() {
                    session.text_leaves.push_back_mut(seq);
                }
                for (at, item) in items.iter().enumerate() {
                    session.expose(item, texts.get(&at).map(String::as_str))?;
                }
            }
            Event::NotShown { session, permit } => {
                self.session_mut(session)?.outstanding.remove(permit);
            }
            _ => return Err("not a session event".to_owned()),
        }
        Ok(())
    }

    fn apply_decided(&mut self, decided: &Decided) -> Result<(), String> {
        self.refusals.count(decided);
        if let Some(permit) = decided.permit {
            self.session_mut(&decided.session)?
                .outstanding
                .insert(permit);
            let row = PermitRow {
                session: decided.session,
                decided: Arc::new(decided.clone()),
                redeemed: false,
            };
            self.permits.insert_mut(permit, row);
            decided
                .wrote
                .iter()
                .for_each(|value| self.wrote.insert_mut(*value));
        }
        if let (Some(mandate), Some(_)) = (decided.mandate, decided.permit) {
            let row = self
                .mandate_rows
                .get_mut(&mandate)
                .ok_or("no such mandate")?;
            row.uses = row.uses.saturating_add(1);
        }
        if let Some(approval) = decided.approval {
            let row = self
                .approvals
                .get_mut(&approval)
                .ok_or("no such approval")?;
            row.state = ApprovalState::Used;
        }
        Ok(())
    }

    fn apply_segments(&mut self, event: &Event) {
        let known = |one: &SealedSegment| Sealed {
            namespace: one.namespace.clone(),
            side: if one.untrusted {
                Partition::Untrusted
            } else {
                Partition::Trusted
            },
            digest: one.digest,
            rows: one.rows,
        };
        let segments = Arc::make_mut(&mut self.segments);
        match event {
            Event::Sealed {
                upto,
                anew,
                segments: new,
            } => {
                if *anew {
                    segments.clear();
                }
                segments.extend(new.iter().map(known));
                self.sealed = self.sealed.max(*upto);
                self.drop_sealed();
            }
            Event::SegmentsMerged { of, into } => {
                let first = segments.iter().position(|s| of.contains(&s.digest));
                segments.retain(|s| !of.contains(&s.digest));
                let at = first.unwrap_or(segments.len()).min(segments.len());
                segments.insert(at, known(into));
            }
            _ => {}
        }
    }

    /// Forgets the entries that are in segments now.
    fn drop_sealed(&mut self) {
        let sealed = self
            .entries
            .iter()
            .take_while(|(seq, _)| **seq < self.sealed);
        let gone: Vec<_> = sealed
            .map(|(seq, entry)| (*seq, entry.record.id, entry.hash))
            .collect();
        for (seq, id, hash) in gone {
            self.entries.remove_mut(&seq);
            self.by_id.remove_mut(&id);
            self.by_hash.remove_mut(&hash);
        }
    }

    /// The content of an entry was destroyed.
    fn apply_gone(&mut self, event: &Event) {
        match event {
            Event::Evicted {
                entry, at, stood, ..
            } => {
                self.erase(entry, *at, *stood);
                self.edit_fate(entry, |fate| fate.evicted = true);
            }
            Event::Erased {
                entry, at, stood, ..
            } => self.erase(entry, *at, *stood),
            _ => {}
        }
    }

    /// What came on the quarantine shelf or left it.
    fn apply_shelf(&mut self, event: &Event) {
        match event {
            Event::Quarantined {
                entry,
                reason,
                rules,
                at,
                parts,
            } => {
                let shelf = Shelf {
                    reason: reason.clone(),
                    rules: rules.clone(),
                    at: *at,
                    parts: parts.iter().map(|(from, to)| *from..*to).collect(),
                };
                self.edit_fate(entry, |fate| {
                    let place = match shelf.parts.is_empty() {
                        true => &mut fate.shelf,
                        false => &mut fate.parts,
                    };
                    *place = Some(Arc::new(shelf));
                });
                self.shelf.insert_mut(*entry, ());
            }
            Event::Released { entry, .. } => self.release(entry),
            Event::Discarded { entry, .. } => {
                self.edit_fate(entry, |fate| {
                    fate.shelf = None;
                    fate.parts = None;
                    fate.discarded = true;
                });
                self.shelf.remove_mut(entry);
                self.let_go(entry);
            }
            _ => {}
        }
    }

    fn apply_entry(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Superseded {
                entry,
                by,
                class,
                roots,
                same_origin,
            } => {
                let mut list = self.replacements.get(entry).cloned().unwrap_or_default();
                list.push(Replacement {
                    by: *by,
                    class: *class,
                    roots: roots_from_text(roots),
                    same_origin: *same_origin,
                });
                self.replacements.insert_mut(*entry, list);
            }
            Event::Quarantined { .. } | Event::Released { .. } | Event::Discarded { .. } => {
                self.apply_shelf(event);
            }
            Event::Pending { .. } | Event::Judged { .. } => self.apply_held(event)?,
            Event::Endorsed {
                hash,
                of,
                by,
                named,
                ..
            } => {
                let act = Endorsement {
                    of: *of,
                    by: by.clone(),
                    named: named.iter().map(|(from, to)| *from..*to).collect(),
                };
                self.endorsements.insert_mut(*hash, Arc::new(act));
            }
            Event::Evicted { .. } | Event::Erased { .. } => self.apply_gone(event),
            Event::Cancelled { task, .. } => {
                self.edit_fate(task, |fate| fate.cancelled = true);
            }
            Event::Fired {
                task, at, decision, ..
            } => {
                if *decision != Decision::Deny {
                    self.edit_fate(task, |fate| {
                        fate.fired = fate.fired.saturating_add(1);
                        fate.last_fired = Some(*at);
                    });
                }
            }
            _ => return Err("not an entry event".to_owned()),
        }
        Ok(())
    }
}

/// What a key was made for.
pub(super) fn key_spec(event: &Event) -> Option<KeySpec> {
    let Event::KeyMade {
        principal,
        role,
        namespaces,
        channels,
        agent,
        relays_user,
        expires,
        ..
    } = event
    else {
        return None;
    };
    Some(KeySpec {
        principal: principal.clone(),
        role: *role,
        namespaces: namespaces.clone(),
        channels: channels.clone(),
        agent: agent.clone(),
        relays_user: *relays_user,
        expires: *expires,
    })
}
