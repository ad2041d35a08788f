// SPDX-License-Identifier: MIT OR Apache-2.0
//! The threads that ask the judge, and the one that watches how long they take. None of them is the
//! writer's: each verdict is a job for it like any other.

use super::{
    Asked, BROKEN, Held, Outcome, PANICKED, Queue, TIMED_OUT, asked, settle, settle_without,
};
use crate::config::JudgeConfig;
use crate::refusal::{Fault, Refusal};
use crate::turn::{Turn, internal};
use crate::writer::Writer;
use ancile_core::Channel;
use ancile_screen::{
    Judge, JudgeError, JudgeId, JudgeInput, ScreenInput, Screener, StageSet, redact,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::thread::Builder;
use std::time::Duration;

/// How long a thread waits after a verdict could not be written.
const RETRY: Duration = Duration::from_secs(1);

/// The threads of an open store. They end when this goes, but for those that are in the judge:
/// these end when it returns, and nobody waits for them.
pub(crate) struct Judges {
    queue: Arc<Queue>,
    judge: Option<Arc<dyn Judge>>,
    /// The threads know the writer by this alone, so that they do not keep the store open.
    _writer: Arc<Writer>,
}

impl Drop for Judges {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Judges {
    /// Starts the threads; without a judge, lets the failure policy follow for what is held.
    pub(crate) fn start(writer: &Writer, config: &JudgeConfig) -> Result<Self, Refusal> {
        let queue = writer.submit(|turn| Ok(Arc::clone(&turn.core.judging.queue)))?;
        let writer = Arc::new(writer.clone());
        if let Some(judge) = &config.judge {
            let asker = Asker {
                judge: Arc::clone(judge),
                id: judge.id().clone(),
                queue: Arc::clone(&queue),
                writer: Arc::downgrade(&writer),
            };
            let limit = Duration::from_millis(config.time_limit_ms.get().into());
            asker.spawn(usize::from(config.threads.get()), limit)?;
        } else if let Err(fault) = settle_all(&writer) {
            // A store that takes no writes is read all the same; what is held stays so.
            tracing::warn!(%fault, inside = fault.inside,
                "entries stay held for a judge that is not there: that could not be written");
        }
        Ok(Self {
            queue,
            judge: config.judge.clone(),
            _writer: writer,
        })
    }

    /// Has the threads end; what the judge is at counts for nothing from here on.
    pub(crate) fn stop(&self) {
        self.queue.stop();
        if let Some(judge) = &self.judge {
            judge.close();
        }
    }
}

/// Without a judge nothing stays held.
fn settle_all(writer: &Writer) -> Result<(), Refusal> {
    let mut all = 0_usize;
    loop {
        let some = writer.submit(settle_without)?;
        if some == 0 {
            break;
        }
        all = all.saturating_add(some);
    }
    if all > 0 {
        tracing::warn!(
            entries = all,
            "entries were held for a judge, and there is none; the policy for its failure was \
             applied; look at the quarantine shelf, or configure the judge again"
        );
    }
    Ok(())
}

/// What each thread has.
#[derive(Clone)]
struct Asker {
    judge: Arc<dyn Judge>,
    /// Asked for once, so that nothing of the judge runs on the writer's thread.
    id: JudgeId,
    queue: Arc<Queue>,
    writer: Weak<Writer>,
}

/// Whether an entry is dealt with.
enum Dealt {
    /// It is.
    Done,
    /// Not by this thread: the watch does where it took too long, the next start where it was cut
    /// short.
    Elsewhere,
}

impl Asker {
    fn spawn(self, threads: usize, limit: Duration) -> Result<(), Refusal> {
        for thread in 0..threads {
            let asker = self.clone();
            let started = Builder::new()
                .name(format!("ancile-judge-{thread}"))
                .spawn(move || asker.work(thread));
            started.map_err(|e| internal(&e))?;
        }
        let started = Builder::new()
            .name("ancile-judge-watch".to_owned())
            .spawn(move || self.watch(limit));
        started.map(|_| ()).map_err(|e| internal(&e))
    }

    /// Runs on the writer's thread.
    fn submit<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Turn<'_>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        match self.writer.upgrade() {
            Some(writer) => writer.submit(f),
            None => Err(Refusal::new(
                Fault::Unavailable,
                "stopping",
                "the store is closed",
            )),
        }
    }

    fn work(&self, thread: usize) {
        while let Some(held) = self.queue.take(thread) {
            match self.one(thread, &held) {
                Ok(Dealt::Done) => self.queue.done(&held),
                Ok(Dealt::Elsewhere) => {}
                Err(fault) => {
                    tracing::warn!(tenant = %held.0, entry = %held.1, %fault, inside = fault.inside,
                        "an entry stays held: its verdict could not be written");
                    self.queue.again(held);
                    if !self.queue.pause(RETRY) {
                        return;
                    }
                }
            }
        }
    }

    fn one(&self, thread: usize, held: &Held) -> Result<Dealt, Refusal> {
        let what = held.clone();
        let outcome = match self.submit(move |turn| asked(turn, &what))? {
            Asked::Moot => return Ok(Dealt::Done),
            Asked::Broken => Outcome::Failed(BROKEN),
            Asked::Content {
                text,
                channel,
                screener,
            } => {
                let text = as_shown(screener.as_deref(), text, channel);
                self.queue.asks(thread);
                let outcome = self.ask(held, &text, channel);
                if !self.queue.answered(thread) {
                    return Ok(Dealt::Elsewhere);
                }
                outcome
            }
        };
        self.settle(held, outcome)?;
        Ok(Dealt::Done)
    }

    fn settle(&self, held: &Held, outcome: Outcome) -> Result<(), Refusal> {
        let (held, judge) = (held.clone(), self.id.clone());
        self.submit(move |turn| settle(turn, &held, Some(&judge), outcome))
    }

    fn ask(&self, (tenant, id): &Held, text: &str, channel: Channel) -> Outcome {
        let input = JudgeInput { text, channel };
        // The judge is behind a shared reference and answers for its own state; of ours it has
        // nothing that a panic could leave half done.
        match catch_unwind(AssertUnwindSafe(|| self.judge.judge(&input))) {
            Ok(Ok(score)) => Outcome::Score(score),
            Ok(Err(fault)) => {
                tracing::warn!(%tenant, entry = %id, judge = %self.id, %fault,
                    "the judge gave no score");
                Outcome::Failed(JudgeError::name(&fault))
            }
            Err(_) => {
                tracing::error!(%tenant, entry = %id, judge = %self.id,
                    "the judge panicked");
                Outcome::Failed(PANICKED)
            }
        }
    }

    /// Deals with what takes too long.
    fn watch(&self, limit: Duration) {
        loop {
            let (over, look) = self.queue.overdue(limit);
            for held in over {
                match self.settle(&held, Outcome::Failed(TIMED_OUT)) {
                    Ok(()) => self.queue.done(&held),
                    Err(fault) => {
                        tracing::warn!(%fault, inside = fault.inside,
                            "an entry stays held: its time-out could not be written");
                        self.queue.again(held);
                    }
                }
            }
            if !self.queue.watch(&look) {
                return;
            }
        }
    }
}

/// The text with marks in place of secrets, as a model would be shown it.
fn as_shown(screener: Option<&Screener>, text: String, channel: Channel) -> String {
    let Some(screener) = screener else {
        return text;
    };
    let screening = screener.screen(&ScreenInput {
        text: &text,
        channel,
        stages: StageSet::ALL,
    });
    match screening.to_redact().next() {
        Some(_) => redact(&text, screening.to_redact()),
        None => text,
    }
}
