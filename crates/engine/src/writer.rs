// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one writer thread: jobs in, one commit for a group of them, answers out.
//!
//! Each job runs inside a savepoint of the store, a clone of the state and a journal of the index,
//! so that a refused job leaves no trace. Readers are answered in between; nobody else is answered
//! before the group is committed and the witness has its checkpoint. After a failed commit the
//! store is opened anew.

use crate::core::{Core, down};
use crate::counts::Totals;
use crate::index::Mark;
use crate::readers::{Look, Readers};
use crate::refusal::{Fault, Refusal};
use crate::state::State;
use crate::turn::Turn;
use crate::upkeep::{LOOKED_EVERY_SECONDS, Next};
use ancile_store::Savepoint;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Most jobs in one commit.
const GROUP_MAX: usize = 256;
/// How often the writer looks whether the upkeep of the index has something for it.
const UPKEEP_POLL: Duration = Duration::from_millis(20);
/// How long it waits after the upkeep could not go on.
const UPKEEP_RETRY: Duration = Duration::from_secs(1);
/// How long it waits for a job before it looks whether a session is to be closed.
const IDLE_LOOK: Duration = Duration::from_secs(LOOKED_EVERY_SECONDS.unsigned_abs());
/// Most jobs that wait.
const QUEUE_MAX: usize = 1_024;

/// Sends the answer, once it is known whether the group was committed.
type Reply = Box<dyn FnOnce(Result<(), Refusal>) + Send>;
/// Runs, unless it is refused at once, and says whether it is to be kept.
type Run = Box<dyn FnOnce(Result<&mut Turn<'_>, Refusal>) -> (bool, Reply) + Send>;

/// The same, for one that asks the engine itself.
type Whole = Box<dyn FnOnce(Result<(), Refusal>) -> (bool, Reply) + Send>;

/// What lies open while a job of that kind runs on the writer's thread.
struct Open {
    core: Core,
    /// The first refusal of what it asked.
    refused: Option<Refusal>,
}

thread_local! {
    static OPEN: RefCell<Option<Open>> = const { RefCell::new(None) };
}

enum Job {
    Run(Run),
    Whole(Whole),
    /// Somebody waits to read.
    Look,
    Stop,
}

/// The writer's door.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    jobs: SyncSender<Job>,
    looks: SyncSender<Look>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Job")
    }
}

fn gone() -> Refusal {
    Refusal::new(
        Fault::Unavailable,
        "stopping",
        "the store is stopping; try again later",
    )
}

impl Writer {
    /// Starts the thread over an opened core.
    pub(crate) fn start(core: Core) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (jobs, inbox) = sync_channel(QUEUE_MAX);
        let (looks, waiting) = sync_channel(QUEUE_MAX);
        let mut core = core;
        core.readers = Readers::of(waiting, &core.state);
        let thread = std::thread::Builder::new()
            .name("ancile-writer".to_owned())
            .spawn(move || run(core, &inbox))?;
        Ok((Self { jobs, looks }, thread))
    }

    /// Runs `f` on the writer thread and answers once its group is committed.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Turn<'_>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        if let Some(mut open) = OPEN.take() {
            let result = f(&mut Turn::new(&mut open.core));
            if let (Err(refusal), None) = (&result, &open.refused) {
                open.refused = Some(refusal.clone());
            }
            OPEN.set(Some(open));
            return result;
        }
        let (answer, wait) = sync_channel::<Result<T, Refusal>>(1);
        let job = job(f, move |result| {
            // A caller that went away needs no answer.
            let _gone = answer.send(result);
        });
        self.jobs.send(job).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }

    /// Runs `f` on the writer thread, which gives the answer to `done` once its group is committed.
    /// Does not wait, for which it is refused when [`QUEUE_MAX`] jobs do.
    pub(crate) fn submit_then<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Turn<'_>) -> Result<T, Refusal> + Send + 'static,
        done: impl FnOnce(Result<T, Refusal>) + Send + 'static,
    ) -> Result<(), Refusal> {
        self.jobs
            .try_send(job(f, done))
            .map_err(|fault| match fault {
                TrySendError::Disconnected(_) => gone(),
                TrySendError::Full(_) => {
                    let text =
                        format!("{QUEUE_MAX} requests wait, the most there may be; try later");
                    Refusal::new(Fault::Unavailable, "busy", text)
                }
            })
    }

    /// Runs `f` on the writer thread as soon as a job or an entry of a batch is done, on the state
    /// of the last commit; where it has to write, as a job.
    pub(crate) fn look<T: Send + 'static>(
        &self,
        f: impl Fn(&mut Turn<'_>) -> Result<T, Refusal> + Send + Sync + 'static,
    ) -> Result<T, Refusal> {
        if OPEN.with_borrow(Option::is_some) {
            return self.submit(f);
        }
        let f = Arc::new(f);
        let again = Arc::clone(&f);
        let (answer, wait) = sync_channel::<Option<Result<T, Refusal>>>(1);
        let span = tracing::Span::current();
        let look: Look = Box::new(move |turn| {
            let found = match turn {
                Ok(turn) => {
                    let found = span.in_scope(|| f(turn));
                    (!turn.core.readers.has_to_write()).then_some(found)
                }
                Err(refusal) => Some(Err(refusal)),
            };
            // A caller that went away needs no answer.
            let _gone = answer.send(found);
        });
        self.looks.send(look).map_err(|_| gone())?;
        match self.jobs.try_send(Job::Look) {
            // With so many jobs before it, the writer looks for readers after each.
            Ok(()) | Err(TrySendError::Full(_)) => {}
            Err(TrySendError::Disconnected(_)) => return Err(gone()),
        }
        match wait.recv().map_err(|_| gone())? {
            Some(found) => found,
            None => self.submit(move |turn| again(turn)),
        }
    }

    /// Runs `f`, which may ask the engine any number of times, on the writer thread as one job: a
    /// refusal of anything it asks, or its own, takes all of it back.
    pub(crate) fn whole<T: Send + 'static, E: From<Refusal> + Send + 'static>(
        &self,
        f: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (answer, wait) = sync_channel::<Result<T, E>>(1);
        let span = tracing::Span::current();
        let run: Whole = Box::new(move |may| {
            let result = match may {
                Ok(()) => span.in_scope(f),
                Err(refusal) => Err(refusal.into()),
            };
            let keep = result.is_ok();
            let reply: Reply = Box::new(move |committed| {
                // A caller that went away needs no answer.
                let _gone = answer.send(match committed {
                    Ok(()) => result,
                    Err(refusal) => result.and(Err(refusal.into())),
                });
            });
            (keep, reply)
        });
        self.jobs.send(Job::Whole(run)).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }

    /// Ends the thread after the jobs before this.
    pub(crate) fn stop(&self) {
        let _already_gone = self.jobs.send(Job::Stop);
    }
}

/// A job that gives its answer to `done`.
fn job<T: Send + 'static>(
    f: impl FnOnce(&mut Turn<'_>) -> Result<T, Refusal> + Send + 'static,
    done: impl FnOnce(Result<T, Refusal>) + Send + 'static,
) -> Job {
    let span = tracing::Span::current();
    Job::Run(Box::new(move |turn| {
        let result = turn.and_then(|turn| span.in_scope(|| f(turn)));
        let keep = result.is_ok();
        let reply: Reply = Box::new(move |committed| {
            done(match committed {
                Ok(()) => result,
                Err(refusal) => result.and(Err(refusal)),
            });
        });
        (keep, reply)
    }))
}

fn run(core: Core, inbox: &Receiver<Job>) {
    let mut core = core;
    loop {
        let served = core.serve_reader();
        let first = match core.upkeep() {
            // There may be more; what waits to write comes first.
            _ if served => inbox.recv_timeout(Duration::ZERO),
            Next::Idle => inbox.recv_timeout(IDLE_LOOK),
            Next::Wait => inbox.recv_timeout(UPKEEP_POLL),
            Next::Later => inbox.recv_timeout(UPKEEP_RETRY),
            Next::More => inbox.recv_timeout(Duration::ZERO),
        };
        let first = match first {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut replies: Vec<Reply> = Vec::new();
        let mut stop = false;
        let mut taken = 0;
        let mut next = Some(first);
        while let Some(job) = next {
            core.serve_reader_meanwhile();
            match job {
                Job::Look => {}
                Job::Stop => stop = true,
                Job::Run(run) => replies.extend(core.guarded(run)),
                Job::Whole(run) => {
                    let (back, reply) = core.whole(run);
                    core = back;
                    replies.extend(reply);
                }
            }
            if !core.is_open() {
                // What ran before in this group is gone with the store: the next job opens it
                // anew, without them.
                for reply in replies.drain(..) {
                    reply(Err(down()));
                }
            }
            taken += 1;
            // What came meanwhile shares the commit.
            let more = taken < GROUP_MAX && !stop;
            next = more.then(|| inbox.try_recv().ok()).flatten();
        }
        let outcome = core.commit(replies.len());
        for reply in replies {
            reply(outcome.clone());
        }
        if stop {
            return;
        }
    }
}

impl Core {
    /// Runs one job inside a savepoint; what a refused one did is undone. Gives the reply that is
    /// due after the commit, unless it was given.
    fn guarded(&mut self, run: Run) -> Option<Reply> {
        let before = match self.before() {
            Ok(before) => before,
            Err(refusal) => {
                let (_, reply) = run(Err(refusal.clone()));
                reply(Err(refusal));
                return None;
            }
        };
        let (keep, reply) = run(Ok(&mut Turn::new(self)));
        match self.after(before, keep) {
            Ok(()) => Some(reply),
            Err(refusal) => {
                reply(Err(refusal));
                None
            }
        }
    }

    /// The same for a job that asks the engine itself: meanwhile the core lies open for it.
    fn whole(mut self, run: Whole) -> (Self, Option<Reply>) {
        let before = match self.before() {
            Ok(before) => before,
            Err(refusal) => {
                let (_, reply) = run(Err(refusal.clone()));
                reply(Err(refusal));
                return (self, None);
            }
        };
        OPEN.set(Some(Open {
            core: self,
            refused: None,
        }));
        let (keep, reply) = run(Ok(()));
        let open = OPEN.take();
        let Some(Open { mut core, refused }) = open else {
            // Whoever takes the core puts it back, unless the thread ends by a panic meanwhile.
            std::process::abort();
        };
        let after = core.after(before, keep && refused.is_none());
        match (after, refused) {
            (Err(refusal), _) => reply(Err(refusal)),
            // An answer that says otherwise is not given.
            (Ok(()), Some(refusal)) if keep => reply(Err(refusal)),
            (Ok(()), _) => return (core, Some(reply)),
        }
        (core, None)
    }

    /// Opens the savepoint of a job.
    fn before(&mut self) -> Result<Before, Refusal> {
        self.ready()?;
        // The first of a group waits here for another program that holds the database.
        self.counts.commit_begins();
        let savepoint = self.store().map(ancile_store::Store::savepoint);
        self.counts.waited();
        let savepoint = match savepoint? {
            Ok(savepoint) => savepoint,
            // Another program held the database too long; nothing is lost but this try.
            Err(fault) if self.store()?.fault().is_none() => return Err(down().inside(fault)),
            Err(fault) => return Err(self.lost(&fault)),
        };
        Ok(Before {
            savepoint,
            state: self.state.clone(),
            tally: self.tally,
            mark: self.index.mark(),
        })
    }

    /// Closes the savepoint of a job; what one did that is not kept is undone.
    fn after(&mut self, before: Before, keep: bool) -> Result<(), Refusal> {
        let Before {
            savepoint,
            state,
            tally,
            mark,
        } = before;
        if keep {
            if let Err(fault) = self.store()?.release(savepoint) {
                return Err(self.lost(&fault));
            }
        } else {
            self.state = state;
            self.tally = tally;
            self.index.rollback(mark);
            if self.is_open()
                && let Err(fault) = self.store()?.rollback(savepoint)
            {
                return Err(self.lost(&fault));
            }
        }
        Ok(())
    }
}

/// What a job that is not kept goes back to.
struct Before {
    savepoint: Savepoint,
    state: State,
    tally: Totals,
    mark: Mark,
}

#[cfg(test)]
mod tests;
