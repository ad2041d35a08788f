// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an embedder is, and which one it is.

use crate::fault::EmbedError;
use std::fmt;

/// Most bytes of a text that is embedded; as much as the content of an entry may have.
pub const TEXT_BYTES_MAX: usize = 65_536;

/// Which model a vector is from. Vectors of different models cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelId {
    /// Name of the model.
    pub name: String,
    /// Version of its weights and of the way from text to tokens.
    pub version: u32,
    /// Numbers in a vector.
    pub dimension: usize,
    /// SHA-256 of the file of weights.
    pub sha256: [u8; 32],
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sha256 = hex(&self.sha256);
        let (name, version, dimension) = (&self.name, self.version, self.dimension);
        write!(
            f,
            "{name} {version}, dimension {dimension}, sha256 {sha256}"
        )
    }
}

/// Turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// The model that the vectors are from.
    fn id(&self) -> &ModelId;

    /// The vector of a text: [`ModelId::dimension`] numbers, of Euclidean length 1 within rounding
    /// to `f32`. `None` for a text of which the model knows no part, such as an empty one.
    ///
    /// The same text gives the same bits on one machine, alone or among others.
    ///
    /// # Errors
    ///
    /// The text has more than [`TEXT_BYTES_MAX`] bytes, or the model failed.
    fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, EmbedError>;

    /// How much the words of a question count beside this model where recall fuses the two, in
    /// thousandths of both, at most 1,000. The default was chosen for the built-in table, on
    /// training conversations.
    fn lexical_weight(&self) -> u16 {
        800
    }

    /// The vectors of several texts, in their order: what [`Embedder::embed`] gives for each, and
    /// sooner where a model can work on several at a time.
    fn embed_all(&self, texts: &[&str]) -> Vec<Result<Option<Vec<f32>>, EmbedError>> {
        texts.iter().map(|text| self.embed(text)).collect()
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
