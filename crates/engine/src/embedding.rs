// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model behind the dense leg, and the vectors it made last.

use crate::api::StepOp;
use ancile_models::{Embedder, ModelId, TEXT_BYTES_MAX};
use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard};

/// Vectors kept: those of the texts and queries of the requests that wait.
const KEPT: NonZeroUsize = match NonZeroUsize::new(2_048) {
    Some(kept) => kept,
    None => NonZeroUsize::MIN,
};

type Vector = Option<Arc<[f32]>>;

/// How texts become vectors; clones share it. Without a model there are none.
#[derive(Clone, Default)]
pub(crate) struct Embedding(Option<Arc<Shared>>);

struct Shared {
    model: Arc<dyn Embedder>,
    made: Mutex<LruCache<Box<str>, Vector>>,
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

    /// Makes the vectors of texts that a request is about, so that a slow model keeps its caller
    /// waiting and not the writer.
    pub(crate) fn warm<'t>(&self, texts: impl IntoIterator<Item = &'t str>) {
        if self.0.is_some() {
            let short = |text: &&str| text.len() <= TEXT_BYTES_MAX;
            for text in texts.into_iter().filter(short).take(KEPT.get()) {
                let _kept = self.vector(text);
            }
        }
    }

    /// The same of the texts and queries of a step.
    pub(crate) fn warm_for(&self, ops: &[StepOp]) {
        self.warm(ops.iter().filter_map(|op| match op {
            StepOp::Recall(recall) => Some(recall.query.as_str()),
            StepOp::Write(write) => Some(write.text.as_str()),
            _ => None,
        }));
    }

    /// The vector of a text, made now or before. A text of which the model knows nothing, or that
    /// is too long for it, has none: it is found by its words.
    pub(crate) fn vector(&self, text: &str) -> Vector {
        let shared = self.0.as_ref()?;
        if let Some(vector) = shared.made().get(text) {
            return vector.clone();
        }
        let vector = match shared.model.embed(text) {
            Ok(vector) => vector.map(Arc::from),
            Err(fault) => {
                tracing::warn!(%fault, "a text has no vector");
                None
            }
        };
        shared.made().put(text.into(), vector.clone());
        vector
    }
}

impl Shared {
    fn made(&self) -> MutexGuard<'_, LruCache<Box<str>, Vector>> {
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
