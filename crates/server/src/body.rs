// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies: read under a limit, and parsed with a clear problem for each way to be wrong.

use crate::limits::{LINGER_BYTES_MAX, LINGER_SECONDS, Limits};
use crate::problem::Problem;
use crate::wire::operation::Rest;
use crate::wire::spelled::{Object, echo};
use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Room for the bodies of all requests, in bytes.
pub(crate) type Room = Arc<Semaphore>;

/// A body, and the room that it takes until it is dropped.
pub(crate) struct Held {
    /// The body.
    pub(crate) bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

/// Reads a body of at most `limits.body_bytes` within `limits.body`, while there is room. One that
/// says or shows to be longer is refused at once and not read to its end.
pub(crate) async fn read(body: Body, limits: &Limits, room: &Room) -> Result<Held, Problem> {
    let too_slow = |_| {
        let seconds = limits.body.as_secs();
        let detail = format!("the body did not arrive within {seconds} seconds; send it faster");
        Problem::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", detail).closing()
    };
    timeout(limits.body, read_all(body, limits.body_bytes, room))
        .await
        .map_err(too_slow)?
}

async fn read_all(mut body: Body, limit: usize, room: &Room) -> Result<Held, Problem> {
    if usize::try_from(body.size_hint().lower()).map_or(true, |announced| announced > limit) {
        return Err(too_long(body, limit));
    }
    let mut bytes = Vec::new();
    let mut taken: Option<OwnedSemaphorePermit> = None;
    while let Some(chunk) = next(&mut body).await? {
        if bytes.len().saturating_add(chunk.len()) > limit {
            return Err(too_long(body, limit));
        }
        let more = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
        let Ok(more) = Arc::clone(room).try_acquire_many_owned(more) else {
            let detail = "the server holds as many bytes of bodies as it may; try later";
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail);
            return Err(problem.closing());
        };
        match &mut taken {
            Some(taken) => taken.merge(more),
            None => taken = Some(more),
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Held {
        bytes,
        _room: taken,
    })
}

/// The next chunk; `None` at the end. Trailers are skipped.
async fn next(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    let cut = |fault: axum::Error| {
        let mut problem = Problem::malformed("body_cut", "the body ended early; send it again");
        problem.inside = fault.to_string();
        problem.closing()
    };
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        if let Ok(data) = frame.map_err(cut)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Refuses a body, and goes on reading a bounded part of it beside the answer: a connection that
/// is closed with bytes unread is reset, and the client may never see why.
fn too_long(mut body: Body, limit: usize) -> Problem {
    tokio::spawn(timeout(Duration::from_secs(LINGER_SECONDS), async move {
        let mut left = LINGER_BYTES_MAX;
        while let Ok(Some(chunk)) = next(&mut body).await {
            left = left.saturating_sub(chunk.len());
            if left == 0 {
                break;
            }
        }
    }));
    let detail = format!("the body is longer than {limit} bytes; split it into several requests");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail).closing()
}

/// Checks that bytes are UTF-8.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|fault| {
        let at = fault.valid_up_to();
        let detail = format!("the body is not UTF-8 from byte {at} on; encode it as UTF-8");
        Problem::malformed("not_utf8", detail)
    })
}

/// Parses JSON strictly: one object, no unknown and no repeated field.
pub(crate) fn json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Problem> {
    parse(text).map(|Object(value)| value)
}

/// The same for an operation of a step, without its name.
pub(crate) fn operation<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Problem> {
    parse(text).map(|Rest(value)| value)
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|fault| diagnose(fault.inner(), fault.path(), text))?;
    json.end().map_err(|fault| syntax(&fault, text))?;
    Ok(value)
}

/// A place in a body as errors begin with it; empty for the whole of it. A field that is unknown
/// is named by its message alone.
fn place(path: &Path, said: &str) -> String {
    let mut parts: Vec<&Segment> = path.iter().collect();
    if let Some(Segment::Map { key }) = parts.last()
        && said.starts_with(&format!("unknown field `{key}`"))
    {
        parts.pop();
    }
    let mut out = String::new();
    for part in parts {
        let dot = if out.is_empty() || matches!(part, Segment::Seq { .. }) {
            ""
        } else {
            "."
        };
        out = format!("{out}{dot}{part}");
    }
    if out.is_empty() {
        return out;
    }
    format!("{}: ", echo(&out))
}

/// Names what is wrong with a JSON text, and where.
fn diagnose(fault: &serde_json::Error, path: &Path, text: &str) -> Problem {
    if fault.classify() != Category::Data || has_lone_surrogate(text) {
        return syntax(fault, text);
    }
    let said = unplaced(fault);
    misfit(&place(path, &said), &said)
}

/// Names what is wrong with a text that is no JSON.
fn syntax(fault: &serde_json::Error, text: &str) -> Problem {
    if has_lone_surrogate(text) {
        let detail = "a \\u escape is half of a surrogate pair; escape both halves or none";
        return Problem::malformed("lone_surrogate", detail);
    }
    let (code, step) = match fault.classify() {
        Category::Eof => ("json_truncated", "send the whole text"),
        _ => ("json_malformed", "send one JSON value (RFC 8259)"),
    };
    Problem::malformed(code, format!("{fault}; {step}"))
}

/// A message without line and column: the path says where, and in a step they would count from
/// the operation.
fn unplaced(fault: &serde_json::Error) -> String {
    let said = fault.to_string();
    let place = format!(" at line {} column {}", fault.line(), fault.column());
    match said.strip_suffix(&place) {
        Some(bare) => bare.to_owned(),
        None => said,
    }
}

/// Tells the ways apart in which JSON does not fit, by how serde begins its message.
fn misfit(place: &str, said: &str) -> Problem {
    let kinds = [
        ("unknown field", "unknown_field", "; leave it out"),
        ("missing field", "missing_field", "; add it"),
        ("duplicate field", "duplicate_field", "; give it once"),
        ("arguments ", "arguments_refused", ""),
    ];
    let known = kinds
        .into_iter()
        .find(|(start, _, _)| said.starts_with(start));
    let (_, code, step) = known.unwrap_or(("", "invalid_field", ""));
    Problem::malformed(code, format!("{place}{said}{step}"))
}

/// Whether a text of JSON holds a `\u` escape of a surrogate that is not one of a pair.
fn has_lone_surrogate(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('\\') {
        let Some(digits) = after.strip_prefix('u') else {
            let mut chars = after.chars();
            chars.next();
            rest = chars.as_str();
            continue;
        };
        match surrogate(digits) {
            Some((High, tail)) => match tail.strip_prefix("\\u").and_then(surrogate) {
                Some((Low, tail)) => rest = tail,
                _ => return true,
            },
            Some((Low, _)) => return true,
            None => rest = digits,
        }
    }
    false
}

/// Which half of a pair an escape stands for.
enum Half {
    High,
    Low,
}
use Half::{High, Low};

/// Reads four hexadecimal digits as half a surrogate pair; also gives what follows them.
fn surrogate(digits: &str) -> Option<(Half, &str)> {
    let (four, tail) = digits.split_at_checked(4)?;
    match u16::from_str_radix(four, 16).ok()? {
        0xd800..=0xdbff => Some((High, tail)),
        0xdc00..=0xdfff => Some((Low, tail)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
