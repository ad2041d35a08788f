// SPDX-License-Identifier: MIT OR Apache-2.0
//! all-MiniLM-L6-v2: a small transformer that reads a text as a whole.

use crate::embedder::{Embedder, ModelId, TEXT_BYTES_MAX};
use crate::encoder::{DIMENSION, Encoder};
use crate::fault::{EmbedError, ModelError};
use crate::pins::{Hashed, MINILM};
use crate::tokens::{LEXICAL_WEIGHT, Tokens, direction};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::fmt;
use std::num::NonZeroUsize;

/// Version of the way from text to tokens and from tokens to a vector.
const VERSION: u32 = 1;

/// The encoder with its vocabulary.
///
/// A text is cut after [`TOKENS_MAX`](crate::TOKENS_MAX) tokens; its vector is the normalised mean
/// over what the encoder says of each. The same text gives the same bits on one machine, alone or
/// among others; another processor or number of threads may move the last bits.
pub struct MiniLm {
    id: ModelId,
    tokens: Tokens,
    encoder: Encoder,
    threads: ThreadPool,
}

impl MiniLm {
    /// Takes the bytes of `model.safetensors` and `tokenizer.json`, which must be the ones of
    /// [`MINILM`]. They are compared as they lie in memory and nothing is read later, so that no
    /// change of the files after the check can matter. Holds about 90 MB.
    ///
    /// At most `threads` threads compute at the same time, whoever asks.
    ///
    /// # Errors
    ///
    /// The bytes are others, or the threads cannot be started.
    pub fn load(
        weights: &Hashed,
        tokenizer: &Hashed,
        threads: NonZeroUsize,
    ) -> Result<Self, ModelError> {
        MINILM.check(&[weights, tokenizer])?;
        let threads = ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .thread_name(|number| format!("ancile-minilm-{number}"))
            .build()
            .map_err(|fault| ModelError::Threads(fault.to_string()))?;
        Ok(Self {
            id: ModelId {
                name: "all-MiniLM-L6-v2".to_owned(),
                version: VERSION,
                dimension: DIMENSION,
                sha256: weights.sha256(),
            },
            tokens: Tokens::read(tokenizer.bytes()).map_err(ModelError::Read)?,
            encoder: Encoder::read(weights.bytes()).map_err(|e| ModelError::Read(e.to_string()))?,
            threads,
        })
    }

    fn vector(&self, text: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(EmbedError::TextTooLong(text.len()));
        }
        let Some(tokens) = self.tokens.of(text)? else {
            return Ok(None);
        };
        let mean = self.encoder.mean(&tokens);
        let mean = mean.map_err(|fault| EmbedError::Failed(fault.to_string()))?;
        direction(&mean).map(Some)
    }
}

impl Embedder for MiniLm {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        self.threads.install(|| self.vector(text))
    }

    fn lexical_weight(&self) -> u16 {
        LEXICAL_WEIGHT
    }

    /// One text a thread, each computed as if it were alone. Whoever else asks meanwhile waits for
    /// the texts that are being computed, and not for all of them.
    fn embed_all(&self, texts: &[&str]) -> Vec<Result<Option<Vec<f32>>, EmbedError>> {
        in_rounds(&self.threads, texts, |text| self.vector(text))
    }
}

/// What follows from each text, in rounds of one text a thread. A thread takes all of one piece of
/// work before it looks for another: between the rounds comes what waits.
fn in_rounds<T: Send>(
    threads: &ThreadPool,
    texts: &[&str],
    one: impl Fn(&str) -> T + Sync,
) -> Vec<T> {
    let rounds = texts.chunks(threads.current_num_threads().max(1));
    let round = |texts: &[&str]| -> Vec<T> {
        threads.install(|| texts.par_iter().map(|text| one(text)).collect())
    };
    rounds.flat_map(round).collect()
}

impl fmt::Debug for MiniLm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.id;
        f.debug_struct("MiniLm")
            .field("id", id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
