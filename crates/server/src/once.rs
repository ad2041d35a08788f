// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that are carried out once: header `Idempotency-Key`, and answers as bytes to keep.

use crate::ask::{Ask, JSON, Parts, Reply, TEXT};
use crate::problem::Problem;
use crate::route::Keyed;
use ancile_core::Digest;
use ancile_engine::{Caller, Engine, Once};
use axum::http::{HeaderMap, StatusCode};

/// The header that makes a request one that is carried out once.
pub(crate) const KEY: &str = "idempotency-key";

/// Bytes before the body of a kept answer: status, then which content type.
const HEAD_BYTES: usize = 3;
/// The content types that answers have, by their number.
const KINDS: [Option<&str>; 3] = [None, Some(JSON), Some(TEXT)];

/// The idempotency key of a request, if it has one.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut all = headers.get_all(KEY).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => match one.to_str() {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(bad("it is not ASCII")),
        },
        (Some(_), Some(_)) => Err(bad("it comes twice")),
    }
}

fn bad(what: &str) -> Problem {
    let detail = format!("header `Idempotency-Key`: {what}; give one, of visible ASCII characters");
    Problem::malformed("idempotency_key", detail)
}

/// The digest of all that a request says.
fn request(path: &str, parts: &Parts) -> Digest {
    let mut bytes = Vec::new();
    let session = parts.session.as_deref().unwrap_or_default();
    let texts = [path, &parts.name, session];
    for text in texts.map(str::as_bytes) {
        bytes.extend_from_slice(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        bytes.extend_from_slice(text);
    }
    bytes.extend_from_slice(&parts.body);
    Digest::sha256(&bytes)
}

/// Has a request answered once; a later one like it gets the same answer.
pub(crate) fn answer(
    engine: &Engine,
    caller: Caller,
    parts: Parts,
    (path, key, does): (&str, &str, Keyed),
) -> Result<Reply, Problem> {
    let once = Once::new(key, request(path, &parts))?;
    let by = caller.clone();
    let answer = engine.once(&by, once, move |engine| {
        let reply = does(&Ask {
            engine,
            caller: &caller,
            parts: &parts,
        })?;
        encode(&reply)
    })?;
    let mut reply = decode(&answer.bytes)?;
    reply.again = answer.again;
    Ok(reply)
}

fn encode(reply: &Reply) -> Result<Vec<u8>, Problem> {
    let kind = KINDS.iter().position(|kind| *kind == reply.content_type);
    let kind = kind.and_then(|kind| u8::try_from(kind).ok());
    let kind = kind.ok_or_else(|| Problem::internal("an answer of another type cannot be kept"))?;
    let mut bytes = reply.status.as_u16().to_be_bytes().to_vec();
    bytes.push(kind);
    bytes.extend_from_slice(&reply.body);
    Ok(bytes)
}

fn decode(bytes: &[u8]) -> Result<Reply, Problem> {
    let unreadable = || Problem::internal("a kept answer does not read");
    let (head, body) = bytes.split_at_checked(HEAD_BYTES).ok_or_else(unreadable)?;
    let [high, low, kind] = head else {
        return Err(unreadable());
    };
    let status = StatusCode::from_u16(u16::from_be_bytes([*high, *low]));
    Ok(Reply {
        status: status.map_err(|_| unreadable())?,
        content_type: *KINDS.get(usize::from(*kind)).ok_or_else(unreadable)?,
        body: body.to_vec(),
        again: false,
    })
}

#[cfg(test)]
mod tests;
