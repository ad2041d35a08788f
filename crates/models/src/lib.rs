// SPDX-License-Identifier: MIT OR Apache-2.0
//! Embedders: from a text to a vector whose direction is what the text is about.
//!
//! No gate needs a model, and a vector decides nothing; it only ranks. The crate keeps heavy
//! dependencies away from the others. It opens no file and no connection: the one embedder so
//! far, [`StaticEmbedder`], carries its table in the binary.

mod embedder;
mod fault;
mod static_embedder;
mod table;
mod wordpiece;

pub use embedder::{Embedder, ModelId, TEXT_BYTES_MAX};
pub use fault::{EmbedError, LoadError};
pub use static_embedder::{BUILTIN_SHA256, StaticEmbedder};
pub use table::{DIMENSION_MAX, FORMAT_VERSION};
pub use wordpiece::WORD_CHARS_MAX;
