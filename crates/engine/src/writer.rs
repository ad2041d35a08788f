// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one writer thread: jobs in, one commit for a group of them, answers out.
//!
//! Each job runs inside a savepoint of the store, a clone of the state and a journal of the index,
//! so that a refused job leaves no trace. Nobody is answered before the group is committed and
//! the witness has its checkpoint. After a failed commit the store is opened anew.

use crate::core::{Core, down};
use crate::counts::Totals;
use crate::index::Mark;
use crate::refusal::{Fault, Refusal};
use crate::state::State;
use crate::turn::Turn;
use crate::upkeep::Next;
use ancile_store::Savepoint;
use std::cell::RefCell;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Most jobs in one commit.
const GROUP_MAX: usize = 256;
/// How often the writer looks whether the upkeep of the index has something for it.
const UPKEEP_POLL: Duration = Duration::from_millis(20);
/// How long it waits after the upkeep could not go on.
const UPKEEP_RETRY: Duration = Duration::from_secs(1);
/// Most jobs that wait.
const QUEUE_MAX: usize = 1_024;

/// Sends the answer, once it is known whether the group was committed.
type Reply = Box<dyn FnOnce(Result<(), Refusal>) + Send>;
/// Runs and says whether it is to be kept.
type Run = Box<dyn FnOnce(&mut Turn<'_>) -> (bool, Reply) + Send>;

/// The same, for one that asks the engine itself.
type Whole = Box<dyn FnOnce() -> (bool, Reply) + Send>;

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
    Run(Run, Box<dyn FnOnce(Refusal) + Send>),
    Whole(Whole, Box<dyn FnOnce(Refusal) + Send>),
    Stop,
}

/// The writer's door.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    jobs: SyncSender<Job>,
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
        let thread = std::thread::Builder::new()
            .name("ancile-writer".to_owned())
            .spawn(move || run(core, &inbox))?;
        Ok((Self { jobs }, thread))
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
        let refuse = answer.clone();
        let span = tracing::Span::current();
        let run: Run = Box::new(move |turn| {
            let result = span.in_scope(|| f(turn));
            let keep = result.is_ok();
            let reply: Reply = Box::new(move |committed| {
                // A caller that went away needs no answer.
                let _gone = answer.send(match committed {
                    Ok(()) => result,
                    Err(refusal) => result.and(Err(refusal)),
                });
            });
            (keep, reply)
        });
        let refused = Box::new(move |refusal| {
            let _gone = refuse.send(Err(refusal));
        });
        self.jobs.send(Job::Run(run, refused)).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }

    /// Runs `f`, which may ask the engine any number of times, on the writer thread as one job: a
    /// refusal of anything it asks, or its own, takes all of it back.
    pub(crate) fn whole<T: Send + 'static, E: From<Refusal> + Send + 'static>(
        &self,
        f: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (answer, wait) = sync_channel::<Result<T, E>>(1);
        let refuse = answer.clone();
        let span = tracing::Span::current();
        let run: Whole = Box::new(move || {
            let result = span.in_scope(f);
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
        let refused = Box::new(move |refusal: Refusal| {
            let _gone = refuse.send(Err(refusal.into()));
        });
        self.jobs
            .send(Job::Whole(run, refused))
            .map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }

    /// Ends the thread after the jobs before this.
    pub(crate) fn stop(&self) {
        let _already_gone = self.jobs.send(Job::Stop);
    }
}

fn run(core: Core, inbox: &Receiver<Job>) {
    let mut core = core;
    loop {
        let first = match core.upkeep() {
            Next::Idle => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Next::Wait => inbox.recv_timeout(UPKEEP_POLL),
            Next::Later => inbox.recv_timeout(UPKEEP_RETRY),
            Next::More => inbox.recv_timeout(Duration::ZERO),
        };
        let first = match first {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut group = vec![first];
        while group.len() < GROUP_MAX
            && let Ok(job) = inbox.try_recv()
        {
            group.push(job);
        }
        let mut replies: Vec<Reply> = Vec::new();
        let mut stop = false;
        for job in group {
            match job {
                Job::Stop => stop = true,
                Job::Run(run, refused) => match core.guarded(run) {
                    Ok(reply) => replies.push(reply),
                    Err(refusal) => refused(refusal),
                },
                Job::Whole(run, refused) => match core.whole(run) {
                    (back, Ok(reply)) => {
                        core = back;
                        replies.push(reply);
                    }
                    (back, Err(refusal)) => {
                        core = back;
                        refused(refusal);
                    }
                },
            }
            if !core.is_open() {
                // What ran before in this group is gone with the store: the next job opens it
                // anew, without them.
                for reply in replies.drain(..) {
                    reply(Err(down()));
                }
            }
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
    /// Runs one job inside a savepoint; what a refused one did is undone.
    fn guarded(&mut self, run: Run) -> Result<Reply, Refusal> {
        let before = self.before()?;
        let (keep, reply) = run(&mut Turn::new(self));
        self.after(before, keep)?;
        Ok(reply)
    }

    /// The same for a job that asks the engine itself: meanwhile the core lies open for it.
    fn whole(mut self, run: Whole) -> (Self, Result<Reply, Refusal>) {
        let before = match self.before() {
            Ok(before) => before,
            Err(refusal) => return (self, Err(refusal)),
        };
        OPEN.set(Some(Open {
            core: self,
            refused: None,
        }));
        let (keep, reply) = run();
        let open = OPEN.take();
        let Some(Open { mut core, refused }) = open else {
            // Whoever takes the core puts it back, unless the thread ends by a panic meanwhile.
            std::process::abort();
        };
        let after = core.after(before, keep && refused.is_none());
        match (after, refused) {
            (Err(refusal), _) => (core, Err(refusal)),
            // An answer that says otherwise is not given.
            (Ok(()), Some(refusal)) if keep => (core, Err(refusal)),
            (Ok(()), _) => (core, Ok(reply)),
        }
    }

    /// Opens the savepoint of a job.
    fn before(&mut self) -> Result<Before, Refusal> {
        self.ready()?;
        let savepoint = match self.store()?.savepoint() {
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
