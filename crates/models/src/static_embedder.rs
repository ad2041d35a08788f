// SPDX-License-Identifier: MIT OR Apache-2.0
//! The embedder that needs no download: one fixed vector a token, summed.

use crate::embedder::{Embedder, ModelId, TEXT_BYTES_MAX, hex};
use crate::fault::{EmbedError, LoadError};
use crate::table::Table;
use crate::wordpiece::WordPiece;
use sha2::{Digest, Sha256};
use std::fmt;

/// SHA-256 of the built-in table, in hexadecimal.
pub const BUILTIN_SHA256: &str = "aac4c372ea94d04cd6f1eaa3bd5db33aac622da50d24fe4b70b4ed779bb9a6ee";

/// Made by `scripts/distill`.
const BUILTIN: &[u8] = include_bytes!("../data/static-minilm-l6-v2-128.bin");

/// A table of one vector a token; a text is the normalised sum over its tokens.
///
/// The order of words is lost, and so is most of what a word's neighbours say about it. The sum
/// is made in `f64` in the order of the tokens, with IEEE 754 operations alone that round one way
/// everywhere, so that every machine gets the same bits. Time is linear in the text.
pub struct StaticEmbedder {
    id: ModelId,
    about: String,
    wordpiece: WordPiece,
    scales: Vec<f32>,
    values: Vec<i8>,
}

impl StaticEmbedder {
    /// The table that is part of the binary: 128 dimensions, distilled from all-MiniLM-L6-v2.
    ///
    /// Checks 4 MB against [`BUILTIN_SHA256`] and builds the vocabulary, a few milliseconds; make
    /// it once and share it.
    ///
    /// # Errors
    ///
    /// As [`StaticEmbedder::load`], if the binary is damaged.
    pub fn builtin() -> Result<Self, LoadError> {
        Self::load(BUILTIN, BUILTIN_SHA256)
    }

    /// Reads a table in the format of `docs/formats/embedding.md`, of which the caller knows the
    /// SHA-256 in lower-case hexadecimal. What is kept is a copy.
    ///
    /// # Errors
    ///
    /// The bytes have another digest, or are not such a table.
    pub fn load(bytes: &[u8], sha256: &str) -> Result<Self, LoadError> {
        let digest: [u8; 32] = Sha256::digest(bytes).into();
        let found = hex(&digest);
        if found != sha256 {
            let expected = sha256.to_owned();
            return Err(LoadError::Sha256 { found, expected });
        }
        let table = Table::read(bytes)?;
        let version = table.field("version")?.parse();
        let id = ModelId {
            name: table.field("name")?.to_owned(),
            version: version.map_err(|_| LoadError::Metadata("version"))?,
            dimension: table.dimension,
            sha256: digest,
        };
        Ok(Self {
            id,
            about: table.about.to_owned(),
            wordpiece: WordPiece::new(&table.tokens)?,
            scales: table.scales,
            values: table.values,
        })
    }

    /// Where the table came from: lines `key: value` with the digests of what it was made of and
    /// the parameters of the recipe.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Adds the vector of a token. A row outside the table cannot be, and would add nothing.
    fn add(&self, row: usize, sum: &mut [f64]) {
        let from = row.saturating_mul(self.id.dimension);
        let to = from.saturating_add(self.id.dimension);
        let scale = self.scales.get(row);
        if let (Some(scale), Some(values)) = (scale, self.values.get(from..to)) {
            let scale = f64::from(*scale);
            for (sum, value) in sum.iter_mut().zip(values) {
                *sum += f64::from(*value) * scale;
            }
        }
    }
}

impl Embedder for StaticEmbedder {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(EmbedError::TextTooLong(text.len()));
        }
        let mut sum = vec![0.0; self.id.dimension];
        self.wordpiece.each_row(text, |row| self.add(row, &mut sum));
        Ok(normalised(&sum))
    }
}

impl fmt::Debug for StaticEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.id;
        f.debug_struct("StaticEmbedder")
            .field("id", id)
            .finish_non_exhaustive()
    }
}

/// The direction of a vector; nothing for the one that has none.
pub(crate) fn normalised(vector: &[f64]) -> Option<Vec<f32>> {
    // One order of addition, so `sum` must not be replaced by anything that reorders.
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let direction = |x: &f64| {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "at most 1 in size; rounding to f32 is what is wanted"
        )]
        let rounded = (x / length) as f32;
        rounded
    };
    (length > 0.0).then(|| vector.iter().map(direction).collect())
}
