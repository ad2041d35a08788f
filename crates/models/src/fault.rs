// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a text gets no vector, and why a table is refused.

use crate::embedder::TEXT_BYTES_MAX;
#[cfg(any(feature = "minilm", feature = "ort"))]
use crate::pins::FileError;
use crate::table::{DIMENSION_MAX, FORMAT_VERSION};
use thiserror::Error;

/// Why a text was not embedded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EmbedError {
    /// The text is over [`TEXT_BYTES_MAX`].
    #[error("text has {0} bytes; limit is {TEXT_BYTES_MAX}; embed it in parts")]
    TextTooLong(usize),
    /// The model itself failed; another try may not.
    #[error("the model failed: {0}; run `ancile reindex` once it works again")]
    Failed(String),
}

#[cfg(any(feature = "minilm", feature = "ort"))]
/// Why a model that was fetched is not used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    /// A file is not the pinned one.
    #[error(transparent)]
    File(#[from] FileError),
    /// Bytes that are the pinned ones cannot be read, or their digest was not pinned.
    #[error("the model cannot be read: {0}; use a build of another version")]
    Read(String),
    /// The library that computes it cannot be loaded or begun.
    #[error(
        "the runtime of the model cannot be used: {0}; set `index.onnx_runtime` to the path of \
         ONNX Runtime 1.22 or later, and start again"
    )]
    Runtime(String),
    /// The threads that compute it cannot be started.
    #[error("the threads of the model cannot be started: {0}; free memory or processes")]
    Threads(String),
}

/// Why an embedding table was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// The bytes are not those that were asked for.
    #[error(
        "embedding table has sha256 `{found}` and should have `{expected}`; \
         it is damaged or another one; get it again from where it came"
    )]
    Sha256 {
        /// SHA-256 of the bytes, in hexadecimal.
        found: String,
        /// The one asked for.
        expected: String,
    },
    /// The first bytes are not those of an embedding table.
    #[error("not an embedding table: it does not begin with `ANCILEMB`; give another file")]
    NotATable,
    /// A later version of the format.
    #[error(
        "embedding table has format version {0}; \
         this build reads {FORMAT_VERSION}; use a build that knows it"
    )]
    Format(u16),
    /// No or too many numbers in a row.
    #[error("embedding table has dimension {0}; from 1 to {DIMENSION_MAX} is read; make it again")]
    Dimension(u16),
    /// The parts that the head announces do not fill the file exactly.
    #[error("embedding table has {found} bytes and its head announces {expected}; make it again")]
    Length {
        /// Bytes there are.
        found: usize,
        /// Bytes there should be.
        expected: u64,
    },
    /// A text in the table is not UTF-8.
    #[error("the {0} of the embedding table is not UTF-8; make it again")]
    NotUtf8(&'static str),
    /// A line of the metadata is missing or cannot be read.
    #[error("the metadata of the embedding table has no line `{0}: ...` that reads; make it again")]
    Metadata(&'static str),
    /// There are not as many tokens as rows.
    #[error("embedding table has {tokens} tokens for {rows} rows; make it again")]
    Tokens {
        /// Lines of the vocabulary.
        tokens: usize,
        /// Rows announced.
        rows: usize,
    },
    /// A token is empty or comes twice.
    #[error("token `{0}` of the embedding table is empty or there twice; make it again")]
    Token(String),
    /// A scale is not a positive number.
    #[error("row {0} of the embedding table has a scale that is no positive number; make it again")]
    Scale(usize),
}
