// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making a store, opening one, and beginning a new witness epoch.

use crate::damage::{Replay, ReplayLeaf};
use crate::fault::{DatabaseFault, OpenError};
use crate::group::seal;
use crate::load::{DamageList, Loader, Logs};
use crate::lock::DirectoryLock;
use crate::schema::{self, DATABASE_FILE};
use crate::store::{OpenReport, Store, StoreConfig};
use ancile_ledger::{Tree, Witness, WitnessRefusal, WitnessState, witness};
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// What an operator accepted by beginning a new witness epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEpoch {
    /// The epoch that begins.
    pub epoch: u64,
    /// The group that logs it.
    pub group: u64,
    /// The text of the witness that was replaced, if there was one.
    pub replaced: Option<String>,
    /// What the old witness would have refused, if it would.
    pub refused: Option<WitnessRefusal>,
}

impl Store {
    /// Makes a store with its first group, which is empty, and its witness. The data directory is
    /// made if it is not there; the witness's must be there.
    ///
    /// # Errors
    /// [`OpenError`]; a store or a witness that is there already is refused. If only the witness
    /// could not be written, the store is there and asks for a new witness epoch.
    pub fn create(cfg: StoreConfig<'_>) -> Result<Self, OpenError> {
        check_origin(&cfg)?;
        make_directory(cfg.dir).map_err(|e| OpenError::io(cfg.dir, "making the directory", e))?;
        check_witness_place(&cfg)?;
        let lock = DirectoryLock::take(cfg.dir)?;
        let path = cfg.dir.join(DATABASE_FILE);
        if path.symlink_metadata().is_ok() {
            return Err(OpenError::Exists { path });
        }
        if Witness::read(cfg.witness)
            .map_err(OpenError::Witness)?
            .is_some()
        {
            return Err(OpenError::WitnessExists {
                path: cfg.witness.to_owned(),
            });
        }
        let mut heads = Tree::new();
        let tip = write_first(&cfg, &path, &mut heads)?;
        let conn = schema::open_writable(&path)?;
        Witness::write(cfg.witness, &tip.checkpoint).map_err(OpenError::Witness)?;
        Ok(Self {
            conn,
            lock,
            witness: cfg.witness.to_owned(),
            signer: cfg.signer,
            logs: Logs::new(),
            heads,
            tip,
            open: None,
            next_savepoint: 0,
            dead: None,
            #[cfg(test)]
            hook: None,
        })
    }

    /// Opens a store: compares it with its checkpoint, its witness and itself, and gives the places
    /// of every tenant's log to `visit`, tenant by tenant in order of their names: all of them, but
    /// for the records that `visit` says are in segments. Those are compared when they are read,
    /// and all together by [`crate::Beside::compare`].
    ///
    /// A damaged record is given as [`ReplayLeaf::Damaged`] and listed in the report; everything
    /// else that does not hold refuses the whole store. What `visit` was given before an error
    /// must not be used.
    ///
    /// # Errors
    /// [`OpenError`] names the fault, what was compared and the next step.
    pub fn open(
        cfg: StoreConfig<'_>,
        visit: &mut dyn Replay,
    ) -> Result<(Self, OpenReport), OpenError> {
        check_witness_place(&cfg)?;
        let mut state = None;
        let (store, damage) = load(cfg, visit, &mut |heads, cfg| {
            state = Some(compare_witness(heads, cfg)?);
            Ok(())
        })?;
        let witness = state.unwrap_or(WitnessState::Current);
        if witness == WitnessState::OneBehind {
            Witness::write(&store.witness, store.checkpoint()).map_err(OpenError::Witness)?;
        }
        let report = OpenReport {
            groups: store.heads.size(),
            epoch: store.tip.group.epoch,
            tenants: store.logs.len() as u64,
            leaves: store.logs.values().map(|log| log.tree.size()).sum(),
            witness,
            damage: damage.listed,
            damage_total: damage.total,
        };
        Ok((store, report))
    }

    /// Accepts a store as it is, in spite of its witness: an operator's act after a loss. It is
    /// logged as a group with the next epoch number, and a new witness is written. All but the
    /// witness must hold.
    ///
    /// # Errors
    /// [`OpenError`], as for [`Store::open`].
    pub fn new_witness_epoch(cfg: StoreConfig<'_>) -> Result<NewEpoch, OpenError> {
        Self::new_witness_epoch_after(cfg, 0)
    }

    /// The same with a number above `epoch`: that of a store whose place a copy takes.
    ///
    /// # Errors
    /// [`OpenError`], as for [`Store::open`].
    pub fn new_witness_epoch_after(
        cfg: StoreConfig<'_>,
        epoch: u64,
    ) -> Result<NewEpoch, OpenError> {
        check_witness_place(&cfg)?;
        let mut refused = None;
        let (mut store, _) = load(cfg, &mut |_: ReplayLeaf<'_>| Ok(()), &mut |heads, cfg| {
            match compare_witness(heads, cfg) {
                Err(OpenError::WitnessRefused(refusal)) => refused = Some(refusal),
                Ok(_) | Err(OpenError::WitnessUnsigned(_)) => {}
                Err(other) => return Err(other),
            }
            Ok(())
        })?;
        let replaced = Witness::read(&store.witness).map_err(OpenError::Witness)?;
        let receipt = store.commit_epoch(epoch).map_err(OpenError::Commit)?;
        Ok(NewEpoch {
            epoch: store.tip.group.epoch,
            group: receipt.group(),
            replaced,
            refused,
        })
    }
}

/// Judges the witness against the heads log.
type JudgeWitness<'a> = &'a mut dyn FnMut(&Tree, &StoreConfig<'_>) -> Result<(), OpenError>;

/// Takes the lock and reads everything.
fn load(
    cfg: StoreConfig<'_>,
    visit: &mut dyn Replay,
    judge_witness: JudgeWitness<'_>,
) -> Result<(Store, DamageList), OpenError> {
    check_origin(&cfg)?;
    let path = cfg.dir.join(DATABASE_FILE);
    schema::check_file(&path)?;
    let lock = DirectoryLock::take(cfg.dir)?;
    let conn = schema::open_writable(&path)?;
    let fault = |step| {
        move |e| OpenError::Database {
            path: cfg.dir.join(DATABASE_FILE),
            fault: DatabaseFault::of(step, e),
        }
    };
    let snapshot = conn
        .unchecked_transaction()
        .map_err(fault("beginning to read"))?;
    let loader = Loader {
        conn: &snapshot,
        path: &path,
    };
    let (heads, tip) = loader.heads(cfg.signer.verifier())?;
    judge_witness(&heads, &cfg)?;
    let mut logs = loader.tenants(&tip.group)?;
    let mut damage = DamageList::default();
    loader.replay(&mut logs, &mut damage, visit)?;
    snapshot.finish().map_err(fault("ending to read"))?;
    let store = Store {
        conn,
        lock,
        witness: cfg.witness.to_owned(),
        signer: cfg.signer,
        logs,
        heads,
        tip,
        open: None,
        next_savepoint: 0,
        dead: None,
        #[cfg(test)]
        hook: None,
    };
    Ok((store, damage))
}

fn compare_witness(heads: &Tree, cfg: &StoreConfig<'_>) -> Result<WitnessState, OpenError> {
    let text = Witness::read(cfg.witness).map_err(OpenError::Witness)?;
    let text = text.ok_or(OpenError::WitnessRefused(WitnessRefusal::Missing {
        store: heads.size(),
    }))?;
    let signed = cfg
        .signer
        .verifier()
        .open(&text)
        .map_err(OpenError::WitnessUnsigned)?;
    witness::compare(heads, &signed).map_err(OpenError::WitnessRefused)
}

fn check_origin(cfg: &StoreConfig<'_>) -> Result<(), OpenError> {
    let key = cfg.signer.verifier().name();
    if cfg.origin == key {
        return Ok(());
    }
    Err(OpenError::Origin {
        origin: cfg.origin.to_owned(),
        key: key.to_owned(),
    })
}

/// Refuses a witness inside the data directory.
fn check_witness_place(cfg: &StoreConfig<'_>) -> Result<(), OpenError> {
    let parent = match cfg.witness.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // A directory that is not there holds nothing; that it is missing is said by whoever needs it.
    let (Ok(parent), Ok(dir)) = (parent.canonicalize(), cfg.dir.canonicalize()) else {
        return Ok(());
    };
    if parent.starts_with(&dir) {
        return Err(OpenError::WitnessInside {
            path: cfg.witness.to_owned(),
        });
    }
    Ok(())
}

/// Writes a database with the first group beside its place, then moves it there, so that there is
/// a whole store or none.
fn write_first(
    cfg: &StoreConfig<'_>,
    path: &Path,
    heads: &mut Tree,
) -> Result<crate::load::Tip, OpenError> {
    let temp = cfg.dir.join(DATABASE_FILE_NEW);
    let journal = cfg.dir.join(DATABASE_FILE_NEW_JOURNAL);
    for leftover in [&journal, &temp] {
        match fs::remove_file(leftover) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(OpenError::io(leftover, "removing a leftover", e));
            }
            _ => {}
        }
    }
    create_private(&temp).map_err(|e| OpenError::io(&temp, "creating the database", e))?;
    let fault = |step| {
        let temp = temp.clone();
        move |e| OpenError::Database {
            path: temp.clone(),
            fault: DatabaseFault::of(step, e),
        }
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&temp, flags).map_err(fault("opening the database"))?;
    schema::harden(&conn)
        .and_then(|()| schema::sync_fully(&conn))
        .map_err(fault("configuring the connection"))?;
    let new = conn
        .unchecked_transaction()
        .map_err(fault("beginning the first group"))?;
    schema::create_tables(&new).map_err(fault("making the tables"))?;
    let tip = seal(&new, &cfg.signer, &Logs::new(), heads, 0).map_err(OpenError::Commit)?;
    new.commit().map_err(fault("committing the first group"))?;
    conn.close()
        .map_err(|(_, e)| fault("closing the database")(e))?;
    fs::rename(&temp, path)
        .and_then(|()| ancile_ledger::sync_directory(cfg.dir))
        .map_err(|e| OpenError::io(path, "moving the database to its place", e))?;
    Ok(tip)
}

/// Makes a directory that only its owner can read, and those above it.
fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes an empty file that only its owner can read; the database gives its mode to the files
/// that it makes beside it.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Name of the database while its first group is written.
const DATABASE_FILE_NEW: &str = "store.db.new";

const DATABASE_FILE_NEW_JOURNAL: &str = "store.db.new-journal";
