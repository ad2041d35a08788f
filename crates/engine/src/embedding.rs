// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model behind the dense leg, and the vectors it made last.

use ancile_models::{EmbedError, Embedder, ModelId, TEXT_BYTES_MAX};
use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard};

/// Vectors kept: those of the texts and queries of the requests that wait.
const KEPT: NonZeroUsize = match NonZeroUsize::new(2_048) {
    Some(kept) => kept,
    None => NonZeroUsize::MIN,
};

/// The model failed on a text, which has no vector until another try: it is found by its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unmade;

/// The vector of a text; none where the model knows no part of it.
pub(crate) type Made = Result<Vector, Unmade>;

type Vector = Option<Arc<[f32]>>;
type Kept = LruCache<Box<str>, Vector>;

/// How texts become vectors; clones share it. Without a model there are none.
#[derive(Clone, Default)]
pub(crate) struct Embedding(Option<Arc<Shared>>);

struct Shared {
    model: Arc<dyn Embedder>,
    made: Mutex<Kept>,
}

impl Embedding {
    pub(crate) fn new(model: Option<Arc<dyn Embedder>>) -> Self {
        Self(model.map(|model| {
            let made = Mutex::new(LruCache::new(KEPT));
            Arc::new(Shared { model, made })
        }))
    }

    /// The model, if there is one.
    pub(crate) fn model(&self) -> Option<&ModelId> {
        self.0.as_ref().map(|shared| shared.model.id())
    }

    /// How much words count beside the model, in thousandths; all where there is no model.
    pub(crate) fn lexical_weight(&self) -> u16 {
        self.0
            .as_ref()
            .map_or(1_000, |shared| shared.model.lexical_weight())
    }

    /// Makes the vectors of texts that a request is about, so that a slow model keeps its caller
    /// waiting and not the writer.
    pub(crate) fn warm<'t>(&self, texts: impl IntoIterator<Item = &'t str>) {
        let Some(shared) = self.0.as_ref() else {
            return;
        };
        let short = |text: &&str| text.len() <= TEXT_BYTES_MAX;
        let mut asked: Vec<&str> = Vec::new();
        for text in texts.into_iter().filter(short).take(KEPT.get()) {
            if !asked.contains(&text) && !shared.made().contains(text) {
                asked.push(text);
            }
        }
        for (text, made) in asked.iter().zip(self.vectors(&asked)) {
            if let Ok(vector) = made {
                shared.made().put((*text).into(), vector);
            }
        }
    }

    /// The vector of a text, made now or before. A text that is too long for the model has none:
    /// it is found by its words.
    pub(crate) fn vector(&self, text: &str) -> Made {
        let Some(shared) = self.0.as_ref() else {
            return Ok(None);
        };
        if let Some(vector) = shared.made().get(text) {
            return Ok(vector.clone());
        }
        let vector = taken(shared.model.embed(text))?;
        shared.made().put(text.into(), vector.clone());
        Ok(vector)
    }

    /// The vectors of several texts, which are not kept.
    pub(crate) fn vectors(&self, texts: &[&str]) -> Vec<Made> {
        match self.0.as_ref() {
            Some(shared) => shared
                .model
                .embed_all(texts)
                .into_iter()
                .map(taken)
                .collect(),
            None => texts.iter().map(|_| Ok(None)).collect(),
        }
    }
}

fn taken(made: Result<Option<Vec<f32>>, EmbedError>) -> Made {
    match made {
        Ok(vector) => Ok(vector.map(Arc::from)),
        Err(fault @ EmbedError::TextTooLong(_)) => {
            tracing::warn!(%fault, "a text has no vector");
            Ok(None)
        }
        Err(fault @ EmbedError::Failed(_)) => {
            tracing::error!(%fault, "a text has no vector until another try");
            Err(Unmade)
        }
    }
}

impl Shared {
    fn made(&self) -> MutexGuard<'_, Kept> {
        match self.made.lock() {
            Ok(made) => made,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

impl std::fmt::Debug for Embedding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Embedding({:?})", self.model())
    }
}
