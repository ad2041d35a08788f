// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads beside a group: the writer answers them between jobs, and between the entries of a batch,
//! from the state of the last commit.
//!
//! So a reader waits for an entry or for a commit, and never for a batch; and readers, however
//! many, leave as much time to a group as they take from it.

use crate::core::Core;
use crate::counts::Totals;
use crate::refusal::Refusal;
use crate::state::State;
use crate::turn::Turn;
use std::sync::mpsc::Receiver;
use std::time::Instant;

/// Takes its turn, or why there is none, and answers.
pub(crate) type Look = Box<dyn FnOnce(Result<&mut Turn<'_>, Refusal>) + Send>;

/// Those who wait to read.
#[derive(Default)]
pub(crate) struct Readers {
    waiting: Option<Receiver<Look>>,
    /// The state of the last commit.
    committed: Option<State>,
    now: Now,
    /// When the group goes on until, whoever waits to read.
    rest: Option<Instant>,
}

/// What the writer does for them.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Now {
    #[default]
    Nothing,
    Looks,
    /// Looks, and was asked to write.
    HasToWrite,
}

impl Readers {
    /// Readers that come through a channel, of a state that is committed.
    pub(crate) fn of(waiting: Receiver<Look>, state: &State) -> Self {
        Self {
            waiting: Some(waiting),
            committed: Some(state.clone()),
            now: Now::Nothing,
            rest: None,
        }
    }

    /// Takes note of what was committed.
    pub(crate) fn committed(&mut self, state: &State) {
        self.committed = Some(state.clone());
    }

    /// Whether nothing may be written now; whoever looks is then answered as a job.
    pub(crate) fn only_looks(&mut self) -> bool {
        if self.now != Now::Nothing {
            self.now = Now::HasToWrite;
        }
        self.now != Now::Nothing
    }

    /// Whether the look that runs has to run again as a job.
    pub(crate) fn has_to_write(&self) -> bool {
        self.now == Now::HasToWrite
    }
}

impl Core {
    /// Answers a reader that waits, with nothing open; says whether there was one.
    pub(crate) fn serve_reader(&mut self) -> bool {
        let Some(look) = self.next_reader() else {
            return false;
        };
        match self.ready() {
            Ok(()) => self.look(look),
            Err(refusal) => look(Err(refusal)),
        }
        true
    }

    /// Answers a reader that waits, in the middle of a group, unless the one before took longer
    /// than the group had since. Rows that the group removes are still there for the state of the
    /// last commit: then readers wait for the commit.
    pub(crate) fn serve_reader_meanwhile(&mut self) {
        let rests = self
            .readers
            .rest
            .is_some_and(|until| Instant::now() < until);
        if rests || !self.is_open() || self.index.removes() {
            return;
        }
        let Some(committed) = self.readers.committed.clone() else {
            return;
        };
        let Some(look) = self.next_reader() else {
            return;
        };
        let began = Instant::now();
        let open = std::mem::replace(&mut self.state, committed);
        self.look(look);
        self.state = open;
        let ended = Instant::now();
        self.readers.rest = ended.checked_add(ended.duration_since(began));
    }

    fn next_reader(&self) -> Option<Look> {
        self.readers.waiting.as_ref()?.try_recv().ok()
    }

    /// What a look counts is counted at once: it has no part in the group.
    fn look(&mut self, look: Look) {
        let group = std::mem::replace(&mut self.tally, Totals::NONE);
        self.readers.now = Now::Looks;
        look(Ok(&mut Turn::new(self)));
        let asked = std::mem::take(&mut self.readers.now);
        let seen = std::mem::replace(&mut self.tally, group);
        if asked == Now::Looks {
            self.counts.add(&seen);
        }
    }
}

#[cfg(test)]
mod tests;
