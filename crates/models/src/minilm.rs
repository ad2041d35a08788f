// SPDX-License-Identifier: MIT OR Apache-2.0
//! all-MiniLM-L6-v2: a small transformer that reads a text as a whole.

use crate::embedder::{Embedder, ModelId, TEXT_BYTES_MAX};
use crate::encoder::{DIMENSION, Encoder};
use crate::fault::EmbedError;
use crate::pins::{FileError, MINILM, ModelFile};
use crate::static_embedder::normalised;
use crate::tokens::Tokens;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sha2::{Digest, Sha256};
use std::fmt;
use std::num::NonZeroUsize;
use thiserror::Error;

/// Version of the way from text to tokens and from tokens to a vector.
const VERSION: u32 = 1;

/// Why a model that was fetched is not used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    /// A file is not the pinned one.
    #[error(transparent)]
    File(#[from] FileError),
    /// Bytes that are the pinned ones cannot be read, or their digest was not pinned.
    #[error("the model cannot be read: {0}; use a build of another version")]
    Read(String),
    /// The threads that compute it cannot be started.
    #[error("the threads of the model cannot be started: {0}; free memory or processes")]
    Threads(String),
}

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
        weights: &[u8],
        tokenizer: &[u8],
        threads: NonZeroUsize,
    ) -> Result<Self, ModelError> {
        let [weights_file, tokenizer_file] = files()?;
        weights_file.check(weights)?;
        tokenizer_file.check(tokenizer)?;
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
                sha256: Sha256::digest(weights).into(),
            },
            tokens: Tokens::read(tokenizer).map_err(ModelError::Read)?,
            encoder: Encoder::read(weights).map_err(|e| ModelError::Read(e.to_string()))?,
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

/// The normalised vector. A model that says nothing finite has failed.
fn direction(mean: &[f32]) -> Result<Vec<f32>, EmbedError> {
    let wide: Vec<f64> = mean.iter().copied().map(f64::from).collect();
    let vector = normalised(&wide).filter(|vector| vector.iter().all(|x| x.is_finite()));
    vector.ok_or_else(|| EmbedError::Failed("it gave no finite direction".to_owned()))
}

fn files() -> Result<[ModelFile; 2], ModelError> {
    let files = <[ModelFile; 2]>::try_from(MINILM.files);
    files.map_err(|_| ModelError::Read("it should have two files".to_owned()))
}

impl Embedder for MiniLm {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        self.threads.install(|| self.vector(text))
    }

    /// One text a thread, each computed as if it were alone.
    fn embed_all(&self, texts: &[&str]) -> Vec<Result<Option<Vec<f32>>, EmbedError>> {
        let each = || texts.par_iter().map(|text| self.vector(text)).collect();
        self.threads.install(each)
    }
}

impl fmt::Debug for MiniLm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.id;
        f.debug_struct("MiniLm")
            .field("id", id)
            .finish_non_exhaustive()
    }
}
