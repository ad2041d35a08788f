// SPDX-License-Identifier: MIT OR Apache-2.0
//! The open store: leaves are appended in groups, and a group is committed, witnessed, and only
//! then answered.

use crate::damage::{Compared, Content, Damage, DamageKind, compare};
use crate::fault::{CommitError, DatabaseFault, ReadError, WriteError, chain};
#[cfg(test)]
use crate::group::Hook;
use crate::group::{Done, Mark, OpenGroup, Savepoint, Step, check_leaf, seal, writing};
use crate::load::{Logs, Tip};
use crate::lock::DirectoryLock;
use crate::rows;
use ancile_core::{Salt, TenantName};
use ancile_ledger::{
    GroupHead, LeafKind, LogName, NodeHash, SignedCheckpoint, SignerKey, TenantHead, Tree, Witness,
    WitnessState, leaf_hash,
};
use core::fmt;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Where a store is, and whose.
#[derive(Debug)]
pub struct StoreConfig<'a> {
    /// The data directory.
    pub dir: &'a Path,
    /// The witness file, outside the data directory.
    pub witness: &'a Path,
    /// The key that signs checkpoints.
    pub signer: SignerKey,
    /// The name of the store in its checkpoints; it must be the key's name.
    pub origin: &'a str,
}

/// An open store, and the exclusive lock on its data directory.
///
/// It has one owner, who writes and reads. Leaves of the open group can be read, and are gone
/// when the store is dropped without [`Store::commit`]. After a fault of the database or the
/// witness the handle is dead: every call says so, and the owner opens the store again.
pub struct Store {
    // Dropped in this order: the lock ends last.
    pub(crate) conn: Connection,
    pub(crate) lock: DirectoryLock,
    pub(crate) witness: PathBuf,
    pub(crate) signer: SignerKey,
    pub(crate) logs: Logs,
    pub(crate) heads: Tree,
    pub(crate) tip: Tip,
    pub(crate) open: Option<OpenGroup>,
    /// Number of the next savepoint; never used twice by one handle.
    pub(crate) next_savepoint: u64,
    /// The first fault.
    pub(crate) dead: Option<String>,
    #[cfg(test)]
    pub(crate) hook: Option<Hook>,
}

/// What opening found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReport {
    /// Committed groups.
    pub groups: u64,
    /// The witness epoch.
    pub epoch: u64,
    /// Tenants.
    pub tenants: u64,
    /// Leaves of all tenants.
    pub leaves: u64,
    /// How the witness stood; one that was a group behind has been brought up.
    pub witness: WitnessState,
    /// The first [`crate::DAMAGE_LISTED_MAX`] damaged rows.
    pub damage: Vec<Damage>,
    /// The number of damaged rows, those not listed included.
    pub damage_total: u64,
}

/// A leaf that was appended to the open group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Appended {
    /// Its sequence number in the tenant's log, from 0.
    pub seq: u64,
    /// Its hash.
    pub leaf: NodeHash,
    /// Whether rows that someone had inserted at its place were removed.
    pub replaced: bool,
}

/// A leaf as it is stored, compared with the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLeaf {
    /// Record or control event.
    pub kind: LeafKind,
    /// The body.
    pub body: Vec<u8>,
    /// The content, checked against the commitment in its record; of a control event unchecked.
    /// Whether there should be one is for the caller, who knows what was erased.
    pub content: Option<StoredContent>,
}

/// The erasable part of a stored leaf.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredContent {
    /// The salt of the commitment.
    pub salt: Salt,
    /// The content.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for StoredContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredContent({} bytes)", self.bytes.len())
    }
}

/// A committed and witnessed group. Only [`Store::commit`] makes one; without it nothing may be
/// answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct CommitReceipt {
    group: u64,
    checkpoint: SignedCheckpoint,
}

impl CommitReceipt {
    /// The last committed group.
    #[must_use]
    pub const fn group(&self) -> u64 {
        self.group
    }

    /// The checkpoint that covers it.
    #[must_use]
    pub const fn checkpoint(&self) -> &SignedCheckpoint {
        &self.checkpoint
    }
}

impl Store {
    /// Appends a leaf to a tenant's log in the open group, which it begins if there is none. A
    /// tenant is made by its first leaf.
    ///
    /// The content of a record must be the one that the record commits to.
    ///
    /// # Errors
    /// [`WriteError`]. After `Database`, unless it was busy, the handle is dead; after any other
    /// nothing has changed.
    pub fn append(
        &mut self,
        tenant: &TenantName,
        body: &[u8],
        content: Option<Content<'_>>,
    ) -> Result<Appended, WriteError> {
        self.alive()?;
        let kind = check_leaf(body, content)?;
        let seq = self.logs.get(tenant).map_or(0, |log| log.tree.size());
        let row = i64::try_from(seq).map_err(|_| WriteError::LogFull {
            tenant: tenant.clone(),
        })?;
        self.begin()?;
        let strays = rows::put_leaf(&self.conn, (tenant.as_str(), row), body, content)
            .map_err(|e| self.fail("writing a leaf", e))?;
        let leaf = leaf_hash(body);
        let log = self.logs.entry(tenant.clone()).or_default();
        let control_before = log.control;
        log.tree.append(leaf);
        if kind == LeafKind::Control {
            log.control.push(&leaf);
        }
        self.done(Done::Appended {
            tenant: tenant.clone(),
            control_before,
        });
        Ok(Appended {
            seq,
            leaf,
            replaced: strays > 0,
        })
    }

    /// Removes the content and salt beside a leaf, if they are there; the leaf stays. That it was
    /// removed must be said by a leaf of the same group.
    ///
    /// # Errors
    /// [`WriteError`], as for [`Store::append`].
    pub fn remove_content(&mut self, tenant: &TenantName, seq: u64) -> Result<(), WriteError> {
        self.alive()?;
        let no_leaf = || WriteError::NoLeaf {
            tenant: tenant.clone(),
            seq,
        };
        let log = self.logs.get(tenant).filter(|log| seq < log.tree.size());
        log.ok_or_else(no_leaf)?;
        let row = i64::try_from(seq).map_err(|_| no_leaf())?;
        self.begin()?;
        rows::remove_content(&self.conn, (tenant.as_str(), row))
            .map_err(|e| self.fail("removing content", e))?;
        self.done(Done::ContentRemoved);
        Ok(())
    }

    /// Marks a place in the open group, which it begins if there is none. Savepoints nest.
    ///
    /// # Errors
    /// [`WriteError`], as for [`Store::append`].
    pub fn savepoint(&mut self) -> Result<Savepoint, WriteError> {
        self.alive()?;
        self.begin()?;
        let number = self.next_savepoint;
        self.next_savepoint = number.saturating_add(1);
        self.conn
            .execute_batch(&format!("SAVEPOINT s{number}"))
            .map_err(|e| self.fail("setting a savepoint", e))?;
        if let Some(group) = &mut self.open {
            let done = group.done.len();
            group.savepoints.push(Mark { number, done });
        }
        Ok(Savepoint { number })
    }

    /// Undoes all that was done since the savepoint, later savepoints included.
    ///
    /// # Errors
    /// [`WriteError::SavepointOver`]; otherwise as for [`Store::append`].
    pub fn rollback(&mut self, savepoint: Savepoint) -> Result<(), WriteError> {
        let undone = self.end_savepoint(&savepoint, true)?;
        for done in undone.into_iter().rev() {
            let Done::Appended {
                tenant,
                control_before,
            } = done
            else {
                continue;
            };
            let Some(log) = self.logs.get_mut(&tenant) else {
                continue;
            };
            log.tree.truncate(log.tree.size().saturating_sub(1));
            log.control = control_before;
            if log.tree.size() == 0 {
                self.logs.remove(&tenant);
            }
        }
        Ok(())
    }

    /// Keeps what was done since the savepoint; it and later ones are over.
    ///
    /// # Errors
    /// [`WriteError::SavepointOver`]; otherwise as for [`Store::append`].
    pub fn release(&mut self, savepoint: Savepoint) -> Result<(), WriteError> {
        let kept = self.end_savepoint(&savepoint, false)?;
        if let Some(group) = &mut self.open {
            group.done.extend(kept);
        }
        Ok(())
    }

    /// Ends a savepoint in the database and takes what was done since out of the group.
    fn end_savepoint(
        &mut self,
        savepoint: &Savepoint,
        undo: bool,
    ) -> Result<Vec<Done>, WriteError> {
        self.alive()?;
        let group = self.open.as_mut().ok_or(WriteError::SavepointOver)?;
        let at = group.position(savepoint).ok_or(WriteError::SavepointOver)?;
        let from = group.savepoints.get(at).map_or(0, |mark| mark.done);
        group.savepoints.truncate(at);
        let since = group.done.split_off(from.min(group.done.len()));
        let number = savepoint.number;
        let statement = if undo {
            format!("ROLLBACK TO s{number}; RELEASE s{number}")
        } else {
            format!("RELEASE s{number}")
        };
        self.conn
            .execute_batch(&statement)
            .map_err(|e| self.fail("ending a savepoint", e))?;
        Ok(since)
    }

    /// Commits the open group, then writes the witness. Only then may its items be answered.
    ///
    /// A group in which nothing was done commits nothing; the receipt is that of the group before.
    ///
    /// # Errors
    /// [`CommitError`]; the handle is dead and nothing of the group may be answered.
    pub fn commit(&mut self) -> Result<CommitReceipt, CommitError> {
        if let Some(first) = &self.dead {
            return Err(CommitError::Dead {
                first: first.clone(),
            });
        }
        let result = match self.open.take() {
            None => Ok(()),
            Some(group) if group.done.is_empty() => self
                .sql("ROLLBACK", "ending an empty group")
                .map_err(CommitError::Database),
            Some(group) => self.commit_group(group, self.tip.group.epoch),
        };
        self.settle(result)
    }

    /// Commits a group that says nothing but that a new witness epoch begins.
    /// Its number is above `epoch` too.
    pub(crate) fn commit_epoch(&mut self, epoch: u64) -> Result<CommitReceipt, CommitError> {
        let last = self.tip.group.epoch.max(epoch);
        let epoch = last.checked_add(1).ok_or(CommitError::LogFull);
        let result = epoch.and_then(|epoch| {
            self.sql("BEGIN IMMEDIATE", "beginning a group")
                .map_err(CommitError::Database)?;
            self.commit_group(OpenGroup::default(), epoch)
        });
        self.settle(result)
    }

    fn settle(&mut self, result: Result<(), CommitError>) -> Result<CommitReceipt, CommitError> {
        match result {
            Ok(()) => Ok(CommitReceipt {
                group: self.tip.group.group,
                checkpoint: self.tip.checkpoint.clone(),
            }),
            Err(error) => {
                self.dead = Some(chain(&error));
                Err(error)
            }
        }
    }

    fn commit_group(&mut self, group: OpenGroup, epoch: u64) -> Result<(), CommitError> {
        self.reach(Step::BeforeSeal)?;
        let appended = |done| match done {
            Done::Appended { tenant, .. } => Some(tenant),
            Done::ContentRemoved | Done::SegmentChanged => None,
        };
        let touched: BTreeSet<TenantName> = group.done.into_iter().filter_map(appended).collect();
        for tenant in touched {
            self.write_head(tenant)
                .map_err(writing("writing a tenant's head"))?;
        }
        let tip = seal(&self.conn, &self.signer, &self.logs, &mut self.heads, epoch)?;
        self.reach(Step::BeforeCommit)?;
        self.sql("COMMIT", "committing a group")
            .map_err(CommitError::Database)?;
        self.reach(Step::AfterCommit)?;
        Witness::write(&self.witness, &tip.checkpoint).map_err(|source| CommitError::Witness {
            group: tip.group.group,
            source,
        })?;
        self.reach(Step::AfterWitness)?;
        self.tip = tip;
        Ok(())
    }

    /// Writes the head and the new tiles of a tenant's log.
    fn write_head(&mut self, tenant: TenantName) -> rusqlite::Result<()> {
        let Some(log) = self.logs.get_mut(&tenant) else {
            return Ok(());
        };
        let before = log.head.as_ref().map_or(0, |head| head.size);
        let head = TenantHead {
            tenant: tenant.as_str().to_owned(),
            size: log.tree.size(),
            root: log.tree.root(),
            control: *log.control.bytes(),
        };
        rows::put_tenant_head(&self.conn, &head)?;
        let name = LogName::Tenant(head.tenant.clone());
        rows::put_tiles(&self.conn, &name, &log.tree, before)?;
        log.head = Some(head);
        Ok(())
    }

    /// Reads a leaf of the log, those of the open group included, and compares it with the log.
    ///
    /// # Errors
    /// [`ReadError::NoLeaf`] for a place outside the log, [`ReadError::Tampered`] when the row is
    /// gone, edited or moved, or the content is not the one that its record commits to.
    pub fn read(&self, tenant: &TenantName, seq: u64) -> Result<StoredLeaf, ReadError> {
        if let Some(first) = &self.dead {
            return Err(ReadError::Dead {
                first: first.clone(),
            });
        }
        let no_leaf = || ReadError::NoLeaf {
            tenant: tenant.clone(),
            seq,
        };
        let expected = self.logs.get(tenant).and_then(|log| log.tree.leaf(seq));
        let expected = expected.ok_or_else(no_leaf)?;
        let row = i64::try_from(seq).map_err(|_| no_leaf())?;
        rows::with_leaf(&self.conn, (tenant.as_str(), row), |found| {
            let Some(found) = found else {
                return Err(DamageKind::Missing);
            };
            match compare(&expected, found.body, found.content) {
                Compared::Intact {
                    kind,
                    body,
                    content,
                } => Ok(StoredLeaf {
                    kind,
                    body: body.to_vec(),
                    content: content.map(|c| StoredContent {
                        salt: c.salt,
                        bytes: c.bytes.to_vec(),
                    }),
                }),
                Compared::ContentEdited { .. } => Err(DamageKind::Content),
                Compared::Edited => Err(DamageKind::Edited),
            }
        })
        .map_err(|e| ReadError::Database(DatabaseFault::of("reading a leaf", e)))?
        .map_err(|what| ReadError::Tampered {
            tenant: tenant.clone(),
            seq,
            what,
        })
    }

    /// The tenants, in order of their names.
    pub fn tenants(&self) -> impl Iterator<Item = &TenantName> {
        self.logs.keys()
    }

    /// The number of leaves in a tenant's log, those of the open group included.
    #[must_use]
    pub fn size(&self, tenant: &TenantName) -> u64 {
        self.logs.get(tenant).map_or(0, |log| log.tree.size())
    }

    /// The hash of a leaf in a tenant's log, those of the open group included.
    #[must_use]
    pub fn leaf(&self, tenant: &TenantName, seq: u64) -> Option<NodeHash> {
        self.logs.get(tenant)?.tree.leaf(seq)
    }

    /// The last committed group.
    #[must_use]
    pub const fn group(&self) -> &GroupHead {
        &self.tip.group
    }

    /// The signed checkpoint of the last committed group.
    #[must_use]
    pub const fn checkpoint(&self) -> &SignedCheckpoint {
        &self.tip.checkpoint
    }

    /// The first fault, if the handle is dead.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.dead.as_deref()
    }

    /// Writes into the lock file, for people, at which address this process serves the store.
    ///
    /// # Errors
    /// What the system says when the lock file cannot be written.
    pub fn set_address(&mut self, address: &str) -> io::Result<()> {
        self.lock.describe(Some(address))
    }

    pub(crate) fn alive(&self) -> Result<(), WriteError> {
        match &self.dead {
            Some(first) => Err(WriteError::Dead {
                first: first.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Begins a group if there is none. A busy database leaves the handle alive.
    pub(crate) fn begin(&mut self) -> Result<(), WriteError> {
        if self.open.is_some() {
            return Ok(());
        }
        match self.sql("BEGIN IMMEDIATE", "beginning a group") {
            Ok(()) => {
                self.open = Some(OpenGroup::default());
                Ok(())
            }
            Err(fault @ DatabaseFault::Busy { .. }) => Err(WriteError::Database(fault)),
            Err(fault) => Err(self.kill(fault)),
        }
    }

    pub(crate) fn done(&mut self, done: Done) {
        if let Some(group) = &mut self.open {
            group.done.push(done);
        }
    }

    fn sql(&self, statement: &str, step: &'static str) -> Result<(), DatabaseFault> {
        self.conn
            .execute_batch(statement)
            .map_err(|e| DatabaseFault::of(step, e))
    }

    pub(crate) fn fail(&mut self, step: &'static str, error: rusqlite::Error) -> WriteError {
        self.kill(DatabaseFault::of(step, error))
    }

    fn kill(&mut self, fault: DatabaseFault) -> WriteError {
        self.dead.get_or_insert_with(|| chain(&fault));
        WriteError::Database(fault)
    }

    /// A step of a commit, at which only tests do something.
    #[cfg(not(test))]
    #[allow(clippy::unnecessary_wraps, reason = "in tests it stops the commit")]
    fn reach(&mut self, _step: Step) -> Result<(), CommitError> {
        Ok(())
    }

    #[cfg(test)]
    fn reach(&mut self, step: Step) -> Result<(), CommitError> {
        match self.hook.as_mut().is_some_and(|hook| hook(step)) {
            true => Err(CommitError::Stopped),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("lock", &self.lock.path())
            .field("group", &self.tip.group)
            .field("dead", &self.dead)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
