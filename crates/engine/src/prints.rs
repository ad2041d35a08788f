// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fingerprints of texts that are about to be written, taken on the threads of their callers.

use crate::api::CONTENT_BYTES_MAX;
use ancile_core::Digest;
use ancile_screen::{Fingerprint, fingerprint};
use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard};

/// Fingerprints kept: those of the texts of the requests that wait.
const KEPT: NonZeroUsize = match NonZeroUsize::new(2_048) {
    Some(kept) => kept,
    None => NonZeroUsize::MIN,
};

/// Most typed values in one that is kept: the texts of refused requests stay for a while.
const VALUES_MAX: usize = 64;

/// By the SHA-256 of their texts.
type Kept = LruCache<Digest, Arc<Fingerprint>>;

/// The fingerprints taken beforehand; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Prints(Arc<Mutex<Kept>>);

impl Default for Prints {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(LruCache::new(KEPT))))
    }
}

impl Prints {
    /// Takes the fingerprints of texts that are about to be written. One that is refused for its
    /// size is not looked at.
    pub(crate) fn warm<'t>(&self, texts: impl IntoIterator<Item = &'t str>) {
        let fits = |text: &&str| text.len() <= CONTENT_BYTES_MAX;
        for text in texts.into_iter().filter(fits).take(KEPT.get()) {
            let print = print_of(text);
            if print.values().len() <= VALUES_MAX {
                self.kept().put(key(text), print);
            }
        }
    }

    /// The fingerprint of a text, taken before or now, which is not kept any longer.
    pub(crate) fn take(&self, text: &str) -> Arc<Fingerprint> {
        let kept = self.kept().pop(&key(text));
        kept.unwrap_or_else(|| print_of(text))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        match self.0.lock() {
            Ok(kept) => kept,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

/// The fingerprint of a text, taken now.
pub(crate) fn print_of(text: &str) -> Arc<Fingerprint> {
    Arc::new(fingerprint(text))
}

fn key(text: &str) -> Digest {
    Digest::sha256(text.as_bytes())
}
