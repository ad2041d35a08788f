// SPDX-License-Identifier: MIT OR Apache-2.0
//! Embedders: from a text to a vector whose direction is what the text is about.
//!
//! A vector decides nothing; it only ranks, for recall. The crate keeps heavy dependencies away
//! from the others. It opens no connection, and no file but the library that `ort` is given:
//! [`StaticEmbedder`] carries its table in the binary, and the others take the bytes of files that
//! their user fetched and that [`FETCHED`] pins.

mod embedder;
#[cfg(feature = "minilm")]
mod encoder;
mod fault;
#[cfg(feature = "minilm")]
mod minilm;
#[cfg(feature = "ort")]
mod onnx;
mod pins;
mod static_embedder;
mod table;
#[cfg(any(feature = "minilm", feature = "ort"))]
mod tokens;
#[cfg(any(feature = "ort", test))]
mod turns;
mod wordpiece;

pub use embedder::{Embedder, ModelId, TEXT_BYTES_MAX};
#[cfg(any(feature = "minilm", feature = "ort"))]
pub use fault::ModelError;
pub use fault::{EmbedError, LoadError};
#[cfg(feature = "minilm")]
pub use minilm::MiniLm;
#[cfg(feature = "ort")]
pub use onnx::OnnxMiniLm;
pub use pins::{FETCHED, FetchedModel, FileError, HUB, Hashed, MINILM, MINILM_ONNX, ModelFile};
pub use static_embedder::{BUILTIN_SHA256, StaticEmbedder};
pub use table::{DIMENSION_MAX, FORMAT_VERSION};
#[cfg(any(feature = "minilm", feature = "ort"))]
pub use tokens::TOKENS_MAX;
pub use wordpiece::WORD_CHARS_MAX;
