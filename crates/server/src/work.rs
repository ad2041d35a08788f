// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work for a request, and waiting for it.

use crate::ask::Reply;
use crate::problem::Problem;
use axum::http::StatusCode;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::timeout;
use tracing::Span;

/// Takes the answer to a request, from whichever thread has it.
pub(crate) type Done = Box<dyn FnOnce(Result<Reply, Problem>) + Send>;

/// Runs work that may block, and waits for it within the limit. The place is kept until the work
/// ends, also when nobody waits for it any more.
pub(crate) async fn run(
    limit: Duration,
    slot: Option<OwnedSemaphorePermit>,
    work: impl FnOnce() -> Result<Reply, Problem> + Send + 'static,
) -> Result<Reply, Problem> {
    let span = Span::current();
    let running = tokio::task::spawn_blocking(move || {
        let answer = span.in_scope(work);
        drop(slot);
        answer
    });
    // What a panic says may be a text of the request.
    within(limit, async {
        let ended = |_| {
            Err(Problem::internal(
                "the work for the request ended by a panic",
            ))
        };
        running.await.unwrap_or_else(ended)
    })
    .await
}

/// Has work begun that gives its answer later, and waits for that within the limit. What is held
/// for the request is let go when its answer is there. Work that is given up without one was given
/// up by a writer that stops, before it ran.
pub(crate) async fn told(
    limit: Duration,
    held: impl Send + 'static,
    begin: impl FnOnce(Done) -> Result<(), Problem>,
) -> Result<Reply, Problem> {
    let (tell, answer) = oneshot::channel();
    begin(Box::new(move |result| {
        drop(held);
        // Nobody waits any more after the limit.
        let _late = tell.send(result);
    }))?;
    within(limit, async {
        answer.await.unwrap_or_else(|_| Err(stopping()))
    })
    .await
}

fn stopping() -> Problem {
    let detail = "the store is stopping; try again later";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", detail)
}

async fn within(
    limit: Duration,
    answer: impl Future<Output = Result<Reply, Problem>>,
) -> Result<Reply, Problem> {
    match timeout(limit, answer).await {
        Ok(answer) => answer,
        Err(_) => {
            let seconds = limit.as_secs();
            let detail = format!(
                "no answer within {seconds} seconds; the request may still be carried out: read \
                 back before sending it again"
            );
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Err(Problem::new(status, "timeout", detail))
        }
    }
}

#[cfg(test)]
mod tests;
