// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a text to the tokens of a BERT encoder, by the `tokenizers` library.

use crate::fault::EmbedError;
use crate::static_embedder::normalised;
use tokenizers::{Tokenizer, TruncationParams};

/// Most tokens of a text that the model looks at, the two around them included; the rest of a
/// longer text does not count. The model was trained on no more.
pub const TOKENS_MAX: usize = 256;
/// How much words count beside all-MiniLM-L6-v2, in thousandths: the best of eleven on the training
/// half of LoCoMo (`scripts/full minilm`).
pub(crate) const LEXICAL_WEIGHT: u16 = 700;
/// What stands for a word that the vocabulary lacks.
const UNKNOWN: &str = "[UNK]";
/// What stands before and after each text.
const AROUND: [&str; 2] = ["[CLS]", "[SEP]"];

/// The vocabulary and rules of a model.
pub(crate) struct Tokens {
    tokenizer: Tokenizer,
    /// Tokens that say nothing of what a text is about.
    empty: [u32; 3],
}

impl Tokens {
    /// Reads a description. What it says of padding and truncation is for batches of short
    /// sentences and does not hold here.
    pub fn read(description: &[u8]) -> Result<Self, String> {
        let mut tokenizer = Tokenizer::from_bytes(description).map_err(|e| e.to_string())?;
        tokenizer.with_padding(None);
        let truncation = TruncationParams {
            max_length: TOKENS_MAX,
            ..TruncationParams::default()
        };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(|e| e.to_string())?;
        // A text that names a special token has that name as a word: it cannot end itself early.
        tokenizer.set_encode_special_tokens(true);
        let id = |token: &str| {
            let id = tokenizer.token_to_id(token);
            id.ok_or_else(|| format!("the vocabulary has no `{token}`"))
        };
        let [first, last] = AROUND;
        let empty = [id(first)?, id(last)?, id(UNKNOWN)?];
        Ok(Self { tokenizer, empty })
    }

    /// The tokens of a text, at most [`TOKENS_MAX`]; nothing where none of them says anything.
    pub fn of(&self, text: &str) -> Result<Option<Vec<u32>>, EmbedError> {
        let encoded = self.tokenizer.encode_fast(text, true);
        let encoded = encoded.map_err(|fault| EmbedError::Failed(fault.to_string()))?;
        let ids = encoded.get_ids();
        let says = |id: &u32| !self.empty.contains(id);
        Ok(ids.iter().any(says).then(|| ids.to_vec()))
    }
}

/// The normalised vector. A model that says nothing finite has failed.
pub(crate) fn direction(mean: &[f32]) -> Result<Vec<f32>, EmbedError> {
    let wide: Vec<f64> = mean.iter().copied().map(f64::from).collect();
    let vector = normalised(&wide).filter(|vector| vector.iter().all(|x| x.is_finite()));
    vector.ok_or_else(|| EmbedError::Failed("it gave no finite direction".to_owned()))
}
