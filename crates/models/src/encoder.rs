// SPDX-License-Identifier: MIT OR Apache-2.0
//! The encoder of all-MiniLM-L6-v2 over candle's tensors.
//!
//! Devlin et al., "BERT", 2019, and Wang et al., "MiniLM", 2020: six layers, twelve heads, each
//! sum normalised after it. One text at a time and no padding, so that what else is embedded
//! cannot move a result.

use candle_core::{Device, Result, Tensor};
use candle_nn::ops::{layer_norm, softmax_last_dim};
use std::collections::HashMap;

/// Numbers in a vector.
pub(crate) const DIMENSION: usize = 384;
const LAYERS: usize = 6;
const HEADS: usize = 12;
/// Numbers between the two halves of a layer's second part.
const INNER: usize = 1_536;
const WORDS: usize = 30_522;
/// Places the model has vectors for.
const PLACES: usize = 512;
const LAYER_NORM_EPSILON: f32 = 1e-12;

/// Weights by name, as they are read.
struct Weights(HashMap<String, Tensor>);

impl Weights {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let found = self.0.remove(name);
        let tensor = found.ok_or_else(|| candle_core::Error::Msg(format!("no `{name}`")))?;
        if tensor.dims() != shape || tensor.dtype() != candle_core::DType::F32 {
            let (dims, dtype) = (tensor.dims(), tensor.dtype());
            let said = format!("`{name}` is {dims:?} of {dtype:?}, and not {shape:?} of F32");
            return Err(candle_core::Error::Msg(said));
        }
        Ok(tensor)
    }

    fn linear(&mut self, name: &str, (from, to): (usize, usize)) -> Result<Linear> {
        Ok(Linear {
            weight: self.take(&format!("{name}.weight"), &[to, from])?.t()?,
            bias: self.take(&format!("{name}.bias"), &[to])?,
        })
    }

    fn norm(&mut self, name: &str) -> Result<Norm> {
        Ok(Norm {
            weight: self.take(&format!("{name}.weight"), &[DIMENSION])?,
            bias: self.take(&format!("{name}.bias"), &[DIMENSION])?,
        })
    }
}

struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    fn of(&self, rows: &Tensor) -> Result<Tensor> {
        rows.matmul(&self.weight)?.broadcast_add(&self.bias)
    }
}

struct Norm {
    weight: Tensor,
    bias: Tensor,
}

impl Norm {
    fn of(&self, rows: &Tensor) -> Result<Tensor> {
        layer_norm(rows, &self.weight, &self.bias, LAYER_NORM_EPSILON)
    }
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    mixed: Linear,
    mixed_norm: Norm,
    widened: Linear,
    narrowed: Linear,
    norm: Norm,
}

impl Layer {
    fn read(weights: &mut Weights, number: usize) -> Result<Self> {
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let same = (DIMENSION, DIMENSION);
        Ok(Self {
            query: weights.linear(&name("attention.self.query"), same)?,
            key: weights.linear(&name("attention.self.key"), same)?,
            value: weights.linear(&name("attention.self.value"), same)?,
            mixed: weights.linear(&name("attention.output.dense"), same)?,
            mixed_norm: weights.norm(&name("attention.output.LayerNorm"))?,
            widened: weights.linear(&name("intermediate.dense"), (DIMENSION, INNER))?,
            narrowed: weights.linear(&name("output.dense"), (INNER, DIMENSION))?,
            norm: weights.norm(&name("output.LayerNorm"))?,
        })
    }

    fn of(&self, rows: &Tensor) -> Result<Tensor> {
        let mixed = self.mixed.of(&self.attention(rows)?)?;
        let rows = self.mixed_norm.of(&(mixed + rows)?)?;
        let inner = self.widened.of(&rows)?.gelu_erf()?;
        self.norm.of(&(self.narrowed.of(&inner)? + rows)?)
    }

    /// Each row as a mixture of all, by twelve heads.
    fn attention(&self, rows: &Tensor) -> Result<Tensor> {
        let (count, width) = (rows.dim(0)?, DIMENSION / HEADS);
        let heads = |part: &Linear| {
            let rows = part.of(rows)?.reshape((count, HEADS, width))?;
            rows.transpose(0, 1)?.contiguous()
        };
        let (query, key, value) = (heads(&self.query)?, heads(&self.key)?, heads(&self.value)?);
        let scale = 1.0 / f64::from(u8::try_from(width).unwrap_or(1)).sqrt();
        let scores = (query.matmul(&key.t()?)? * scale)?;
        let mixed = softmax_last_dim(&scores)?.matmul(&value)?;
        mixed.transpose(0, 1)?.reshape((count, DIMENSION))
    }
}

/// The encoder.
pub(crate) struct Encoder {
    words: Tensor,
    places: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
}

impl Encoder {
    /// Reads the weights from a file in the safetensors format.
    pub fn read(file: &[u8]) -> Result<Self> {
        let mut weights = Weights(candle_core::safetensors::load_buffer(file, &Device::Cpu)?);
        let table = |name: &str| format!("embeddings.{name}.weight");
        let words = weights.take(&table("word_embeddings"), &[WORDS, DIMENSION])?;
        let places = weights.take(&table("position_embeddings"), &[PLACES, DIMENSION])?;
        // Every text is of the first kind, so that its vector is added to each place once.
        let kinds = weights.take(&table("token_type_embeddings"), &[2, DIMENSION])?;
        let places = places.broadcast_add(&kinds.get(0)?)?;
        let norm = weights.norm("embeddings.LayerNorm")?;
        let layers = (0..LAYERS).map(|number| Layer::read(&mut weights, number));
        Ok(Self {
            words,
            places,
            norm,
            layers: layers.collect::<Result<_>>()?,
        })
    }

    /// The mean over what the encoder says of each token.
    pub fn mean(&self, tokens: &[u32]) -> Result<Vec<f32>> {
        let tokens = Tensor::new(tokens, &Device::Cpu)?;
        let places = self.places.narrow(0, 0, tokens.elem_count())?;
        let rows = (self.words.index_select(&tokens, 0)? + places)?;
        let mut rows = self.norm.of(&rows)?;
        for layer in &self.layers {
            rows = layer.of(&rows)?;
        }
        rows.mean(0)?.to_vec1()
    }
}
