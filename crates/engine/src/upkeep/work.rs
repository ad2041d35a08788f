// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread beside the writer. It only reads.

use super::build::{Late, Sealing, Stage, made_late, merge, rebuild, seal};
use crate::embedding::Embedding;
use crate::index::Place;
use ancile_core::{Digest, TenantName};
use ancile_ledger::{LeafKind, NodeHash};
use ancile_store::segment::Built;
use ancile_store::{Beside, DamageKind, Place as Found};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

/// Work for the thread.
pub(super) enum Job {
    /// Make segments of what is in memory.
    Seal {
        tenant: TenantName,
        upto: u64,
        parts: Vec<Sealing>,
        /// Texts on which the model failed.
        late: Late,
        embedding: Embedding,
    },
    /// Make one segment of several.
    Merge {
        tenant: TenantName,
        place: Place,
        of: Vec<Digest>,
        /// Entries of which no word is kept.
        erased: BTreeSet<u64>,
    },
    /// Make all segments of a tenant from the log.
    Rebuild {
        tenant: TenantName,
        leaves: Vec<NodeHash>,
        embedding: Embedding,
    },
    /// Compare rows with the log.
    Compare {
        tenant: TenantName,
        from: u64,
        leaves: Vec<NodeHash>,
    },
}

/// What came of it.
pub(super) enum Done {
    Sealed {
        tenant: TenantName,
        upto: u64,
        made: Vec<(Place, Built)>,
    },
    Merged {
        tenant: TenantName,
        of: Vec<Digest>,
        made: (Place, Built),
    },
    /// A stretch of a rebuild, up to a sequence number.
    Rebuilt {
        tenant: TenantName,
        made: Vec<(Place, Built)>,
        upto: u64,
        last: bool,
    },
    /// How far a rebuild is.
    Rebuilding {
        tenant: TenantName,
        upto: u64,
    },
    Compared {
        tenant: TenantName,
        found: Vec<(u64, Compared)>,
        to: u64,
    },
    Failed {
        tenant: TenantName,
        fault: String,
    },
}

/// What is not as it was written at one place of a log.
pub(super) enum Compared {
    Damaged(DamageKind),
    /// A record has no content.
    Bare,
}

/// The thread's two ends.
pub(super) struct Worker {
    jobs: Sender<Job>,
    done: Receiver<Done>,
}

impl Worker {
    /// Starts the thread over a data directory. It ends when this is dropped.
    pub(super) fn start(dir: PathBuf) -> std::io::Result<Self> {
        let (jobs, inbox) = channel::<Job>();
        let (out, done) = channel();
        std::thread::Builder::new()
            .name("ancile-index".to_owned())
            .spawn(move || {
                // A writer that went away needs no answer.
                let say = |done| drop(out.send(done));
                while let Ok(job) = inbox.recv() {
                    run(&dir, job, &say);
                }
            })?;
        Ok(Self { jobs, done })
    }

    pub(super) fn give(&self, job: Job) {
        // A thread that ended answers nothing: the store goes on without upkeep.
        let _ended = self.jobs.send(job);
    }

    /// What was done since; an end of the thread is an error.
    pub(super) fn take(&self) -> Result<Done, TryRecvError> {
        self.done.try_recv()
    }
}

fn run(dir: &Path, job: Job, say: &dyn Fn(Done)) {
    let (tenant, outcome) = match job {
        Job::Seal {
            tenant,
            upto,
            parts,
            late,
            embedding,
        } => {
            let late = match late.is_empty() {
                true => Ok(BTreeMap::new()),
                false => beside(dir).and_then(|db| made_late(&db, &tenant, &late, &embedding)),
            };
            let made = late.and_then(|late| seal(parts, embedding.model(), &late));
            (
                tenant.clone(),
                made.map(|made| Done::Sealed { tenant, upto, made }),
            )
        }
        Job::Merge {
            tenant,
            place,
            of,
            erased,
        } => {
            let made = beside(dir).and_then(|db| merge(&db, &tenant, &of, &erased));
            let done = made.map(|built| Done::Merged {
                tenant: tenant.clone(),
                of,
                made: (place, built),
            });
            (tenant, done)
        }
        Job::Rebuild {
            tenant,
            leaves,
            embedding,
        } => {
            let each = |stage| {
                let tenant = tenant.clone();
                say(match stage {
                    Stage::At(upto) => Done::Rebuilding { tenant, upto },
                    Stage::Made { made, upto, last } => Done::Rebuilt {
                        tenant,
                        made,
                        upto,
                        last,
                    },
                });
            };
            let db = beside(dir);
            match db.and_then(|db| rebuild(&db, (&tenant, &leaves), &embedding, &each)) {
                Ok(()) => return,
                Err(fault) => (tenant, Err(fault)),
            }
        }
        Job::Compare {
            tenant,
            from,
            leaves,
        } => {
            let found = beside(dir).and_then(|db| compare(&db, &tenant, from, &leaves));
            let to = from.saturating_add(leaves.len() as u64);
            (
                tenant.clone(),
                found.map(|found| Done::Compared { tenant, found, to }),
            )
        }
    };
    say(outcome.unwrap_or_else(|fault| Done::Failed { tenant, fault }));
}

fn beside(dir: &Path) -> Result<Beside, String> {
    Beside::open(dir).map_err(|e| e.to_string())
}

/// Lists what is not as it was written.
fn compare(
    db: &Beside,
    tenant: &TenantName,
    from: u64,
    leaves: &[NodeHash],
) -> Result<Vec<(u64, Compared)>, String> {
    let mut found = Vec::new();
    db.compare(tenant, from, leaves, &mut |seq, place| match place {
        Found::Whole | Found::Bare(LeafKind::Control) => {}
        Found::Bare(LeafKind::Record) => found.push((seq, Compared::Bare)),
        Found::Damaged(what) => found.push((seq, Compared::Damaged(what))),
    })
    .map_err(|e| e.to_string())?;
    Ok(found)
}
