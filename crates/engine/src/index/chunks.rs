// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chunks of segments that were compared with their digest, kept while there is room.

use ancile_core::Digest;
use ancile_store::segment::{CHUNK_BYTES, ChunkSource};
use ancile_store::{Chunks, ReadError};
use lru::LruCache;
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Most bytes of kept chunks: 256 MiB.
const CACHE_BYTES_MAX: usize = 268_435_456;
/// As many chunks.
const CHUNKS_MAX: NonZeroUsize = match NonZeroUsize::new(CACHE_BYTES_MAX / CHUNK_BYTES) {
    Some(most) => most,
    None => NonZeroUsize::MIN,
};

type Key = (Digest, u8, i64);

/// Chunks of postings and exact vectors, the least recently used of which go first.
pub(crate) struct ChunkCache(RefCell<LruCache<Key, Arc<[u8]>>>);

impl Default for ChunkCache {
    fn default() -> Self {
        Self(RefCell::new(LruCache::new(CHUNKS_MAX)))
    }
}

/// The segments of a tenant, through the cache.
pub(crate) struct Cached<'a> {
    chunks: Chunks<'a>,
    cache: &'a ChunkCache,
}

impl<'a> Cached<'a> {
    pub(crate) fn new(chunks: Chunks<'a>, cache: &'a ChunkCache) -> Self {
        Self { chunks, cache }
    }
}

impl ChunkSource for Cached<'_> {
    fn fetch(
        &self,
        segment: &Digest,
        section: u8,
        chunk: i64,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        self.chunks.fetch(segment, section, chunk)
    }

    fn cached(&self, segment: &Digest, section: u8, chunk: i64) -> Option<Arc<[u8]>> {
        let mut cache = self.cache.0.borrow_mut();
        cache.get(&(*segment, section, chunk)).cloned()
    }

    fn keep(&self, segment: &Digest, section: u8, chunk: i64, bytes: &Arc<[u8]>) {
        let mut cache = self.cache.0.borrow_mut();
        cache.put((*segment, section, chunk), Arc::clone(bytes));
    }
}
