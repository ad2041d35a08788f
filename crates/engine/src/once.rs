// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that are carried out once, however often they are sent: the answer is kept in the log,
//! in the same group as what it tells of, so that nothing can come between them.
//!
//! Answers hold tokens and texts. They are kept for a day and encrypted under the credential's
//! token, of which the store has only the hash: nobody but its holder reads them again.

use crate::Engine;
use crate::api::{ANSWER_BYTES_MAX, ANSWERS_MAX};
use crate::caller::Caller;
use crate::event::Event;
use crate::home::random;
use crate::refusal::{Fault, Refusal};
use crate::state::Key;
use crate::turn::{Turn, internal};
use ancile_core::{Digest, Salt, content_commitment};

/// Longest idempotency key, in bytes.
pub const ONCE_KEY_BYTES_MAX: usize = 128;

/// What makes two requests of one credential the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    key: String,
    request: Digest,
}

impl Once {
    /// A key that the caller chose, 1 to [`ONCE_KEY_BYTES_MAX`] visible ASCII characters, and the
    /// digest of all that the request says.
    ///
    /// # Errors
    /// [`Refusal`] for another key.
    pub fn new(key: &str, request: Digest) -> Result<Self, Refusal> {
        let fits = (1..=ONCE_KEY_BYTES_MAX).contains(&key.len())
            && key.bytes().all(|byte| byte.is_ascii_graphic());
        if !fits {
            let text = format!(
                "an idempotency key is 1 to {ONCE_KEY_BYTES_MAX} visible ASCII characters; choose \
                 another"
            );
            return Err(Refusal::new(Fault::Malformed, "idempotency_key", text));
        }
        Ok(Self {
            key: key.to_owned(),
            request,
        })
    }

    /// Under what the answer is kept: the same key of another credential is another.
    fn id(&self, credential: &Digest) -> Digest {
        let mut bytes = b"ancile once v1\0".to_vec();
        bytes.extend_from_slice(&credential.0);
        bytes.extend_from_slice(self.key.as_bytes());
        Digest::sha256(&bytes)
    }
}

/// The answer to a request that is carried out once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnceAnswer {
    /// The bytes that the request was answered with.
    pub bytes: Vec<u8>,
    /// Whether they were kept from an earlier request.
    pub again: bool,
}

impl Engine {
    /// Carries a request out once. `answer` asks the engine, any number of times, and gives the
    /// bytes of the answer; all of it is one transaction, which also keeps the answer. The same
    /// request under the same key is answered with the same bytes for a day.
    ///
    /// # Errors
    /// What `answer` refuses, of which nothing is kept; and a [`Refusal`] where the key was used
    /// for another request, or the answer is too long to be kept.
    pub fn once<E: From<Refusal> + Send + 'static>(
        &self,
        by: &Caller,
        once: Once,
        answer: impl FnOnce(&Self) -> Result<Vec<u8>, E> + Send + 'static,
    ) -> Result<OnceAnswer, E> {
        let (engine, by) = (self.clone(), by.clone());
        self.writer.whole(move || -> Result<OnceAnswer, E> {
            let known = {
                let (by, once) = (by.clone(), once.clone());
                engine.with(&by.clone(), move |t, k| kept(t, k, &by, &once))
            };
            if let Some(bytes) = known? {
                return Ok(OnceAnswer { bytes, again: true });
            }
            let bytes = answer(&engine)?;
            let keeping = bytes.clone();
            engine.with(&by.clone(), move |t, k| keep(t, k, (&by, &once), &keeping))?;
            Ok(OnceAnswer {
                bytes,
                again: false,
            })
        })
    }
}

/// The answer that is kept for a request, if there is one.
fn kept(
    turn: &mut Turn<'_>,
    key: &Key,
    by: &Caller,
    once: &Once,
) -> Result<Option<Vec<u8>>, Refusal> {
    let id = once.id(&key.hash);
    let row = turn.tenant(&key.tenant)?.answers.get(&id).cloned();
    let Some(row) = row.filter(|row| row.holds_at(turn.now)) else {
        return Ok(None);
    };
    let conflict = |code, text: &str| Err(Refusal::new(Fault::Conflict, code, text));
    if row.request != once.request {
        return conflict(
            "idempotency_key_reused",
            "the idempotency key was used for another request; choose a new key for this one",
        );
    }
    let read = turn.core.store()?.read(&key.tenant, row.seq);
    let content = read.map_err(|fault| internal(&fault))?.content;
    let whole = content.filter(|c| content_commitment(&c.salt, &c.bytes) == row.answer);
    match whole {
        Some(content) => Ok(Some(by.cipher(&content.salt, content.bytes))),
        None => conflict(
            "answer_lost",
            "the request was carried out and its answer is kept no more; read back what it made",
        ),
    }
}

/// Keeps an answer, and drops those of the credential that are too old or too many.
fn keep(
    turn: &mut Turn<'_>,
    key: &Key,
    (by, once): (&Caller, &Once),
    bytes: &[u8],
) -> Result<(), Refusal> {
    if bytes.len() > ANSWER_BYTES_MAX {
        let text = format!(
            "the answer is {} bytes; limit for one that is kept is {ANSWER_BYTES_MAX}; ask for \
             less, or send no idempotency key",
            bytes.len()
        );
        return Err(Refusal::new(Fault::TooLarge, "answer_too_long", text));
    }
    let salt: Salt = random()?;
    let secret = by.cipher(&salt, bytes.to_vec());
    let drops = turn
        .tenant(&key.tenant)?
        .answers
        .to_drop(&key.hash, turn.now, ANSWERS_MAX);
    for seq in &drops {
        let removed = turn.core.store()?.remove_content(&key.tenant, *seq);
        removed.map_err(|fault| turn.core.lost(&fault))?;
    }
    let event = Event::Answered {
        id: once.id(&key.hash),
        credential: key.hash,
        request: once.request,
        at: turn.now,
        answer: content_commitment(&salt, &secret),
        drops,
    };
    turn.emit_with(&key.tenant, &event, (&salt, &secret))
}
