// SPDX-License-Identifier: MIT OR Apache-2.0
//! Restoring a backup. A plain older copy of the data directory is refused as a rollback; this
//! way an operator accepts the loss, which is logged as a new witness epoch, and what must not
//! come back does not: what was erased, sessions and revoked credentials.
//!
//! The restored store is made whole in `restore.new`, a home beside the present one. Renaming that
//! to `restore` decides it. From then on whoever opens the home first puts its files in their
//! place; until then it counts for nothing. So a stop at any moment leaves the old store or the
//! new one.

use crate::backup::{Backup, ERASED, KEYS, clear, copy_keys, extent, unreadable};
use crate::erase::whole_lines;
use crate::event::Event;
use crate::home::{Home, copy_file, io, private_dir, private_file, sync_dir};
use crate::refusal::{Fault, Refusal};
use crate::turn::Turn;
use crate::{Engine, EngineConfig, Gates, audit};
use ancile_core::{
    DerivationRecord, Digest, EntryId, MandateId, PrincipalName, Role, SessionId, TenantName,
};
use ancile_ledger::LeafKind;
use ancile_store::{DATABASE_FILE, FORMAT_VERSION, Hold, Newer, OpenError, Store};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Where a restored store is made.
const STAGED: &str = "restore.new";
/// Where it lies once it is decided.
const DECIDED: &str = "restore";

/// What restoring loses of one tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loss {
    /// Entries.
    pub entries: u64,
    /// The first of them in the log: its id and sequence number.
    pub first: Option<(EntryId, u64)>,
    /// The last of them.
    pub last: Option<(EntryId, u64)>,
    /// All else that happened: decisions, sessions, keys, approvals.
    pub events: u64,
}

/// How the present store stands to the backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Present {
    /// It went on from the backup.
    Later,
    /// It has another history: each place that differs counts as lost.
    Other,
    /// There is none.
    None,
    /// It cannot be read, and why: what is lost of it is not known.
    Unreadable(String),
}

/// What a restore did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Whether it was done.
    pub done: bool,
    /// The backup.
    pub backup: Backup,
    /// What it takes the place of.
    pub present: Present,
    /// Groups that were witnessed and are not in the backup; nothing where no witness tells.
    pub groups_lost: Option<u64>,
    /// What is lost of each tenant.
    pub lost: BTreeMap<TenantName, Loss>,
    /// The witness epoch that began.
    pub epoch: u64,
    /// What did not come back.
    pub kept: Kept,
}

/// What a restore keeps from coming back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Entries that were erased after the backup, and were erased again.
    pub erased: u64,
    /// Sessions that were open in the backup, and were closed.
    pub sessions: u64,
    /// Keys that were revoked after the backup, and were revoked again.
    pub keys: u64,
    /// Mandates that were revoked after the backup, and were revoked again.
    pub mandates: u64,
    /// Operator keys that were revoked after the backup and work again, since no other operator
    /// would be left.
    pub operators: Vec<String>,
    /// Whether revocations are known: the present store verifies.
    pub revocations_known: bool,
    /// Whether erasures since the backup are known: their list is there.
    pub erasures_known: bool,
}

/// Restores a backup into a home that nobody serves. Without `accept_loss` it only says what
/// would be lost, where anything would.
///
/// # Errors
/// [`Refusal`] when the backup does not verify, the keys are missing, or the store is in use; the
/// home is as it was.
pub fn restore(home: &Path, from: &Path, accept_loss: bool) -> Result<Restored, Refusal> {
    let backup = Backup::read(from)?;
    let place = Home::new(home);
    private_dir(place.data())?;
    let hold = Hold::take(place.data()).map_err(unreadable)?;
    finish(&place)?;
    clear(&home.join(STAGED))?;
    let keys = keys_of(&place, from)?;
    let staged = stage(&place, from, &keys)?;
    let data = staged.join("data");
    if backup.store_format < FORMAT_VERSION {
        bring_up(&data)?;
    }
    check(&data, &keys, backup.problems)?;
    let mut plan = Plan::make(&place, &data, backup)?;
    if !accept_loss && plan.loses() {
        clear(&staged)?;
        return Ok(plan.said);
    }
    plan.begin_epoch(&staged)?;
    plan.settle(&staged, from)?;
    sync_all(&staged)?;
    reach(0)?;
    let decided = home.join(DECIDED);
    fs::rename(&staged, &decided).map_err(|e| io("move", &staged, &e))?;
    sync_dir(home)?;
    finish(&place)?;
    drop(hold);
    plan.said.done = true;
    Ok(plan.said)
}

/// Whose keys are used: those of the home, or those of the backup where the home has none.
fn keys_of(place: &Home, from: &Path) -> Result<PathBuf, Refusal> {
    let there = |keys: &Path| keys.join("store.key").exists();
    for keys in [place.keys(), from.join(KEYS)] {
        if there(&keys) {
            return Ok(keys);
        }
    }
    let text = format!(
        "there is no `store.key` in `{}`, nor in the backup; bring the keys back first",
        place.keys().display()
    );
    Err(Refusal::new(Fault::Unavailable, "no_keys", text))
}

/// Brings the copy of a backup of an earlier format up to this build's; the backup stays as it is.
fn bring_up(data: &Path) -> Result<(), Refusal> {
    let before = data.join("before");
    ancile_store::migrate(data, &before, || Ok::<(), OpenError>(())).map_err(unreadable)?;
    fs::remove_file(&before).map_err(|e| io("remove", &before, &e))
}

/// Audits the copy of a backup with the public key: it has no more problems than were accepted.
fn check(from: &Path, keys: &Path, accepted: u64) -> Result<(), Refusal> {
    let found = audit::audit_at(from, None, &keys.join("store.pub"))?;
    if found.ok || found.problems_total <= accepted {
        return Ok(());
    }
    let first = found.problems.first().map_or("", String::as_str);
    let text = format!("the backup does not verify: {first}; restore another");
    Err(Refusal::new(Fault::Tampered, "backup_damaged", text))
}

/// What is known before anything is done.
struct Plan {
    said: Restored,
    /// The epoch of the present store.
    epoch: u64,
    /// Revocations in the present store and not in the backup.
    revoked: Vec<(TenantName, Revoked)>,
}

#[derive(Debug, Clone)]
enum Revoked {
    Key(Digest),
    Mandate(MandateId, PrincipalName),
}

impl Plan {
    fn make(place: &Home, from: &Path, backup: Backup) -> Result<Self, Refusal> {
        let mut plan = Self {
            said: Restored {
                done: false,
                backup,
                present: Present::None,
                groups_lost: None,
                lost: BTreeMap::new(),
                epoch: 0,
                kept: Kept::default(),
            },
            epoch: 0,
            revoked: Vec::new(),
        };
        let said = &mut plan.said;
        said.kept.erasures_known = place.erased_list().parent().is_some_and(Path::exists);
        if let Ok(seen) = crate::look::witnessed_groups_of(place) {
            said.groups_lost = Some(seen.saturating_sub(said.backup.groups));
        }
        if place.data().join(DATABASE_FILE).exists() {
            plan.compare(place, from);
        }
        Ok(plan)
    }

    /// Compares the present store with the backup.
    fn compare(&mut self, place: &Home, from: &Path) {
        match extent(place, place.data()) {
            Ok(extent) => self.epoch = extent.epoch,
            Err(refusal) => {
                self.said.present = Present::Unreadable(refusal.outside);
                return;
            }
        }
        let (lost, revoked) = (&mut self.said.lost, &mut self.revoked);
        let earlier = ancile_store::newer(place.data(), from, &mut |leaf| {
            lose(lost.entry(leaf.tenant.clone()).or_default(), &leaf);
            revoked.extend(revocation(&leaf).map(|r| (leaf.tenant.clone(), r)));
        });
        self.said.present = match earlier {
            Ok(true) => Present::Later,
            Ok(false) => Present::Other,
            Err(fault) => Present::Unreadable(fault.to_string()),
        };
        let audit = audit::audit_at(place.data(), None, &place.public_key());
        let verifies = audit.is_ok_and(|found| found.ok);
        // One who can write the store must not be able to take the operator's key away.
        self.said.kept.revocations_known = verifies;
        if !verifies {
            self.revoked.clear();
        }
    }

    /// Whether anything would be lost, or nobody can tell.
    fn loses(&self) -> bool {
        let unknown = matches!(self.said.present, Present::Unreadable(_));
        unknown || !self.said.lost.is_empty() || self.said.groups_lost.is_some_and(|n| n > 0)
    }

    fn begin_epoch(&mut self, staged: &Path) -> Result<(), Refusal> {
        let place = Home::new(staged);
        let began = Store::new_witness_epoch_after(place.store_config()?, self.epoch);
        self.said.epoch = began.map_err(unreadable)?.epoch;
        Ok(())
    }

    /// Opens the staged store, which erases again what is on the list, and ends what must not
    /// come back.
    fn settle(&mut self, staged: &Path, from: &Path) -> Result<(), Refusal> {
        let config = EngineConfig {
            home: staged.to_owned(),
            gates: Gates::Enforce,
            screening: false,
            screen_policy: crate::ScreenPolicy::default(),
            index: crate::IndexConfig::default(),
            judging: crate::JudgeConfig::default(),
        };
        let before: HashSet<String> = lines(&from.join(ERASED))?;
        let (engine, _) = Engine::open_unjudged(config)?;
        let revoked = std::mem::take(&mut self.revoked);
        let done = engine.writer.submit(move |turn| {
            let mut kept = Kept::default();
            for (tenant, session) in open_sessions(turn) {
                crate::step::forget(turn, &tenant, &session)?;
                kept.sessions = kept.sessions.saturating_add(1);
            }
            for (tenant, revoked) in revoked {
                revoke(turn, &tenant, revoked, &mut kept)?;
            }
            let erased = turn.core.state.erased.iter();
            let again = erased.filter(|line| !before.contains(&line.text()));
            kept.erased = u64::try_from(again.count()).unwrap_or(u64::MAX);
            Ok(kept)
        });
        engine.close();
        let kept = done?;
        self.said.kept = Kept {
            revocations_known: self.said.kept.revocations_known,
            erasures_known: self.said.kept.erasures_known,
            ..kept
        };
        Ok(())
    }
}

/// Counts a leaf as lost.
fn lose(loss: &mut Loss, leaf: &Newer<'_>) {
    let record = match leaf.kind {
        LeafKind::Record => DerivationRecord::decode(leaf.body).ok(),
        LeafKind::Control => None,
    };
    match record {
        Some(record) => {
            let place = (record.id, leaf.seq);
            loss.entries = loss.entries.saturating_add(1);
            loss.first.get_or_insert(place);
            loss.last = Some(place);
        }
        None => loss.events = loss.events.saturating_add(1),
    }
}

fn revocation(leaf: &Newer<'_>) -> Option<Revoked> {
    if leaf.kind != LeafKind::Control {
        return None;
    }
    match Event::decode(leaf.body).ok()? {
        Event::KeyRevoked { hash } => Some(Revoked::Key(hash)),
        Event::MandateRevoked { id, by } => Some(Revoked::Mandate(id, by)),
        _ => None,
    }
}

fn open_sessions(turn: &Turn<'_>) -> Vec<(TenantName, SessionId)> {
    let tenants = turn.core.state.tenants.iter();
    let open = tenants.flat_map(|(name, tenant)| {
        let open = tenant.sessions.values().filter(|s| !s.closed);
        open.map(|s| (name.clone(), s.id))
    });
    open.collect()
}

/// Revokes again what was revoked after the backup, but for the last operator of a tenant.
fn revoke(
    turn: &mut Turn<'_>,
    tenant: &TenantName,
    revoked: Revoked,
    kept: &mut Kept,
) -> Result<(), Refusal> {
    match revoked {
        Revoked::Key(hash) => {
            let keys = &turn.core.state.keys;
            let Some(key) = keys.get(&hash).filter(|key| !key.revoked) else {
                return Ok(());
            };
            let other = keys.iter().any(|(other, k)| {
                let works = !k.revoked && k.spec.expires.is_none_or(|at| turn.now < at);
                works && *other != hash && k.tenant == *tenant && k.spec.role == Role::Operator
            });
            if key.spec.role == Role::Operator && !other {
                kept.operators.push(key.id());
                return Ok(());
            }
            kept.keys = kept.keys.saturating_add(1);
            turn.emit(tenant, &Event::KeyRevoked { hash })
        }
        Revoked::Mandate(id, by) => {
            let found = turn.core.state.tenants.get(tenant);
            let row = found.and_then(|t| t.mandate_rows.get(&id));
            if row.is_none_or(|row| row.revoked) {
                return Ok(());
            }
            kept.mandates = kept.mandates.saturating_add(1);
            turn.emit(tenant, &Event::MandateRevoked { id, by })
        }
    }
}

/// Makes a home of the backup beside the present one, with the erasures of both.
fn stage(place: &Home, from: &Path, keys: &Path) -> Result<PathBuf, Refusal> {
    let staged = place.root().join(STAGED);
    let (data, witness) = (staged.join("data"), staged.join("witness"));
    for dir in [&data, &witness] {
        private_dir(dir)?;
    }
    copy_file(&from.join(DATABASE_FILE), &data.join(DATABASE_FILE))?;
    let erased = place.erased_text()?;
    let mut erased: Vec<String> = whole_lines(&erased).lines().map(str::to_owned).collect();
    let known: HashSet<String> = erased.iter().cloned().collect();
    let more = lines(&from.join(ERASED))?;
    erased.extend(more.into_iter().filter(|line| !known.contains(line)));
    if !erased.is_empty() {
        private_file(&witness.join(ERASED), &erased.join("\n"))?;
    }
    let to = staged.join(KEYS);
    if keys == place.keys() {
        let keys = keys.canonicalize().map_err(|e| io("find", keys, &e))?;
        link(&keys, &to)?;
    } else {
        copy_keys(keys, &to)?;
    }
    Ok(staged)
}

#[cfg(unix)]
fn link(keys: &Path, to: &Path) -> Result<(), Refusal> {
    std::os::unix::fs::symlink(keys, to).map_err(|e| io("link the keys to", to, &e))
}

#[cfg(not(unix))]
fn link(keys: &Path, to: &Path) -> Result<(), Refusal> {
    copy_keys(keys, to)
}

fn lines(path: &Path) -> Result<HashSet<String>, Refusal> {
    let text = fs::read_to_string(path).map_err(|e| io("read", path, &e))?;
    let whole = text.lines().filter(|line| !line.is_empty());
    Ok(whole.map(str::to_owned).collect())
}

fn sync_all(staged: &Path) -> Result<(), Refusal> {
    for dir in [staged.join("data"), staged.join("witness")] {
        for entry in fs::read_dir(&dir).map_err(|e| io("read", &dir, &e))? {
            let path = entry.map_err(|e| io("read", &dir, &e))?.path();
            ancile_ledger::sync_file(&path).map_err(|e| io("sync", &path, &e))?;
        }
        sync_dir(&dir)?;
    }
    sync_dir(staged)
}

/// Puts the files of a decided restore in their place. Each step can be done again after a stop.
fn finish(place: &Home) -> Result<(), Refusal> {
    let decided = place.root().join(DECIDED);
    if !decided.exists() {
        return Ok(());
    }
    let database = place.data().join(DATABASE_FILE);
    if decided.join("data").join(DATABASE_FILE).exists() {
        // The log of the old database must not be taken for the new one's.
        for suffix in ["-wal", "-shm"] {
            let mut path = database.as_os_str().to_owned();
            path.push(suffix);
            let path = PathBuf::from(path);
            match fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(io("remove", &path, &e));
                }
                _ => {}
            }
        }
        sync_dir(place.data())?;
        reach(1)?;
        put(&decided.join("data").join(DATABASE_FILE), &database)?;
    }
    reach(2)?;
    let witness = place.witness().parent().unwrap_or(place.root()).to_owned();
    private_dir(&witness)?;
    for name in ["checkpoint", ERASED] {
        let from = decided.join("witness").join(name);
        if from.exists() {
            put(&from, &witness.join(name))?;
        }
        reach(3)?;
    }
    let keys = decided.join(KEYS);
    if !place.keys().exists() && keys.is_dir() && !keys.is_symlink() {
        put(&keys, &place.keys())?;
    }
    reach(4)?;
    clear(&decided)?;
    sync_dir(place.root())
}

/// Moves a file or directory to its place, also from one medium to another.
fn put(from: &Path, to: &Path) -> Result<(), Refusal> {
    match fs::rename(from, to) {
        Err(e) if e.kind() == std::io::ErrorKind::CrossesDevices && from.is_file() => {
            let mut beside = to.as_os_str().to_owned();
            beside.push(".restored");
            let beside = PathBuf::from(beside);
            match fs::remove_file(&beside) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(io("remove", &beside, &e));
                }
                _ => {}
            }
            copy_file(from, &beside)?;
            fs::rename(&beside, to).map_err(|e| io("move", &beside, &e))?;
        }
        moved => moved.map_err(|e| io("move", from, &e))?,
    }
    sync_dir(to.parent().unwrap_or(Path::new(".")))
}

/// Whether a restore of this home was decided and not brought to its end; the next command that
/// opens the store does.
#[must_use]
pub fn restore_pending(home: &Path) -> bool {
    Home::new(home).restore_pending()
}

impl Home {
    /// Brings a restore that was decided to its end, and removes one that was not, before the
    /// store is opened.
    pub(crate) fn end_restore(&self) -> Result<(), Refusal> {
        let staged = self.root().join(STAGED);
        if !self.restore_pending() && !staged.exists() {
            return Ok(());
        }
        private_dir(self.data())?;
        let _hold = Hold::take(self.data()).map_err(unreadable)?;
        finish(self)?;
        clear(&staged)
    }

    fn restore_pending(&self) -> bool {
        self.root().join(DECIDED).exists()
    }

    /// Refuses what only reads while a restore waits for its end.
    pub(crate) fn no_restore_pending(&self) -> Result<(), Refusal> {
        if !self.restore_pending() {
            return Ok(());
        }
        let text = "a restore was stopped and waits for its end; `ancile serve`, or any command \
                    that opens the store, brings it there";
        Err(Refusal::new(Fault::Unavailable, "restore_pending", text))
    }
}

/// A step at which only tests stop.
#[cfg(not(test))]
#[allow(clippy::unnecessary_wraps, reason = "in tests it stops the restore")]
fn reach(_step: u32) -> Result<(), Refusal> {
    Ok(())
}

#[cfg(test)]
fn reach(step: u32) -> Result<(), Refusal> {
    if tests::STOP_AT.get() == Some(step) {
        return Err(crate::turn::internal(&"stopped by a test"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
