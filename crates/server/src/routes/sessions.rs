// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions, steps, tasks.

use crate::ask::{Ask, Reply};
use crate::problem::Problem;
use crate::wire::act::{CallAnswerBody, FireAnswerBody, FireBody, ProposeBody};
use crate::wire::chat::{AddedBody, MessagesBody};
use crate::wire::entry::TaskViewBody;
use crate::wire::recall::{RecallBody, SessionPackBody};
use crate::wire::reply::{FilteredBody, ReplyBody};
use crate::wire::session::{SessionBody, SessionOpenedBody, SessionViewBody};
use crate::wire::step::{StepAnswerBody, StepBody};
use crate::work::Done;
use ancile_engine::Refusal;
use ancile_engine::api::{StepAnswer, StepOp, StepResult, TaskFilter};

/// Opens a session.
pub(crate) fn open(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let spec = ask.json::<SessionBody>()?.into();
    let opened = ask.engine.open_session(ask.caller, spec)?;
    Reply::created(&SessionOpenedBody::from(opened))
}

/// Lists the sessions that the caller sees.
pub(crate) fn list(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let page = ask.engine.sessions(ask.caller, ask.query().page()?)?;
    Reply::page::<_, SessionViewBody>(page)
}

/// Shows a session to its opener.
pub(crate) fn show(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let view = ask.engine.session(ask.caller, ask.named()?)?;
    Reply::ok(&SessionViewBody::from(view))
}

/// Takes operations in order, in one transaction.
pub(crate) fn step(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let (id, token) = (ask.named()?, ask.session_token()?);
    let ops = ask.json::<StepBody<'_>>()?.ops()?;
    let answer = ask.engine.step(ask.caller, id, token, ops)?;
    Reply::ok(&StepAnswerBody::from(answer))
}

/// Decides on one call: a step of one operation.
pub(crate) fn act(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let propose = ask.json::<ProposeBody>()?.propose();
    called(only(ask, StepOp::Call(propose))?)
}

/// The same without waiting.
pub(crate) fn act_then(ask: &Ask<'_>, done: Done) -> Result<(), Problem> {
    let op = StepOp::Call(ask.json::<ProposeBody>()?.propose());
    let (id, token) = (ask.named()?, ask.session_token()?);
    let done = |answer: Result<StepAnswer, Refusal>| {
        let one = answer.map_err(Problem::from).and_then(the_one);
        done(one.and_then(called));
    };
    ask.engine
        .step_then(ask.caller, (id, token), vec![op], done)?;
    Ok(())
}

fn called(result: StepResult) -> Result<Reply, Problem> {
    match result {
        StepResult::Called(answer) => Reply::ok(&CallAnswerBody::from(answer)),
        other => Err(unlike(&other)),
    }
}

/// Recalls into a session: a step of one operation.
pub(crate) fn recall(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let recall = ask.json::<RecallBody>()?.in_session()?;
    let (id, token) = (ask.named()?, ask.session_token()?);
    let step = vec![StepOp::Recall(recall)];
    let answer = ask.engine.step(ask.caller, id, token, step)?;
    let class = answer.class;
    match the_one(answer)? {
        StepResult::Recalled(pack) => Reply::ok(&SessionPackBody::of(pack, class)),
        other => Err(unlike(&other)),
    }
}

/// Takes links and images whose host nobody named out of a reply.
pub(crate) fn reply(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let (id, token) = (ask.named()?, ask.session_token()?);
    let text = ask.json::<ReplyBody>()?.text;
    let filtered = ask.engine.filter_reply(ask.caller, id, token, &text)?;
    Reply::ok(&FilteredBody::from(filtered))
}

fn only(ask: &Ask<'_>, op: StepOp) -> Result<StepResult, Problem> {
    let (id, token) = (ask.named()?, ask.session_token()?);
    the_one(ask.engine.step(ask.caller, id, token, vec![op])?)
}

fn the_one(mut answer: StepAnswer) -> Result<StepResult, Problem> {
    let none = || Problem::internal("a step of one operation has no answer");
    answer.results.pop().ok_or_else(none)
}

fn unlike(result: &StepResult) -> Problem {
    Problem::internal(format!("the answer is of another operation: {result:?}"))
}

/// Closes a session.
pub(crate) fn close(ask: &Ask<'_>) -> Result<Reply, Problem> {
    ask.no_body()?;
    ask.engine
        .close_session(ask.caller, ask.named()?, ask.session_token()?)?;
    Ok(Reply::nothing())
}

/// Takes chat messages and facts.
pub(crate) fn add_messages(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let (id, token) = (ask.named()?, ask.session_token()?);
    let (messages, facts) = ask.json::<MessagesBody>()?.parts()?;
    let added = ask
        .engine
        .add_messages(ask.caller, (id, token), messages, facts)?;
    let messages = added.messages.iter().filter_map(|m| m.written.as_ref());
    let pending = messages.chain(&added.facts).any(|one| one.pending);
    Reply::written(&AddedBody::from(added), pending)
}

/// Lists tasks.
pub(crate) fn tasks(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let query = ask.query();
    let filter = TaskFilter {
        namespace: query.namespace()?,
        due_only: query.due()?,
    };
    let page = ask
        .engine
        .tasks(ask.caller, filter, query.cursor(), query.limit()?)?;
    Reply::page::<_, TaskViewBody>(page)
}

/// Has a task fire no more.
pub(crate) fn cancel(ask: &Ask<'_>) -> Result<Reply, Problem> {
    ask.no_body()?;
    ask.engine.cancel_task(ask.caller, ask.named()?)?;
    Ok(Reply::nothing())
}

/// Fires a task.
pub(crate) fn fire(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let id = ask.named()?;
    let spec = ask.json::<FireBody>()?.into();
    let answer = ask.engine.fire(ask.caller, id, spec)?;
    Reply::ok(&FireAnswerBody::from(answer))
}
