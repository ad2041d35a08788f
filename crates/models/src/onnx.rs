// SPDX-License-Identifier: MIT OR Apache-2.0
//! all-MiniLM-L6-v2 by ONNX Runtime, a library that its user installs and names.

use crate::embedder::{Embedder, ModelId, TEXT_BYTES_MAX};
use crate::fault::{EmbedError, ModelError};
use crate::pins::{Hashed, MINILM_ONNX};
use crate::tokens::{LEXICAL_WEIGHT, Tokens, direction};
use crate::turns::Turns;
use ort::environment::Environment;
use ort::session::Session;
use ort::value::Tensor;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Version of the way from text to tokens and from tokens to a vector.
const VERSION: u32 = 1;
const DIMENSION: usize = 384;
/// What the graph is given, each one number a token.
const INPUTS: [&str; 3] = ["input_ids", "attention_mask", "token_type_ids"];
/// What it gives: one vector a token.
const OUTPUT: &str = "last_hidden_state";

/// The library of this process, and where it is from: a process can have one only.
static RUNTIME: Mutex<Option<(PathBuf, Environment)>> = Mutex::new(None);

/// The encoder as a graph, with its vocabulary.
///
/// As [`MiniLm`](crate::MiniLm), with weights that were rounded to int8: vectors of the two cannot
/// be compared. Another version of the library may move the last bits.
pub struct OnnxMiniLm {
    id: ModelId,
    tokens: Tokens,
    session: Turns<Session>,
}

impl OnnxMiniLm {
    /// Takes the path of ONNX Runtime, 1.22 or later, and the bytes of `model.onnx` and
    /// `tokenizer.json`, which must be the ones of [`MINILM_ONNX`]. What the library does is
    /// checked by nobody: it is code that runs in this process.
    ///
    /// # Errors
    ///
    /// The bytes are others, the library cannot be loaded, or another one is loaded already.
    pub fn load(
        runtime: &Path,
        weights: &Hashed,
        tokenizer: &Hashed,
        threads: NonZeroUsize,
    ) -> Result<Self, ModelError> {
        MINILM_ONNX.check(&[weights, tokenizer])?;
        let environment = environment(runtime)?;
        Ok(Self {
            id: ModelId {
                name: "all-MiniLM-L6-v2 int8 onnx".to_owned(),
                version: VERSION,
                dimension: DIMENSION,
                sha256: weights.sha256(),
            },
            tokens: Tokens::read(tokenizer.bytes()).map_err(ModelError::Read)?,
            session: Turns::new(session(&environment, weights.bytes(), threads)?),
        })
    }

    /// The sum over what the graph says of each token.
    fn sum(&self, tokens: &[u32]) -> Result<Vec<f32>, ort::Error> {
        let shape = [1, tokens.len()];
        let given = |numbers: Vec<i64>| Tensor::from_array((shape, numbers));
        let ids = tokens.iter().map(|id| i64::from(*id)).collect();
        let [ids_name, mask_name, kinds_name] = INPUTS;
        let inputs = ort::inputs![
            ids_name => given(ids)?,
            mask_name => given(vec![1; tokens.len()])?,
            kinds_name => given(vec![0; tokens.len()])?,
        ];
        let mut session = self.session.take();
        let outputs = session.run(inputs)?;
        let output = outputs.get(OUTPUT);
        let output = output.ok_or_else(|| ort::Error::new(format!("no output `{OUTPUT}`")))?;
        let (shape, numbers) = output.try_extract_tensor::<f32>()?;
        if numbers.len() != tokens.len().saturating_mul(DIMENSION) {
            return Err(ort::Error::new(format!(
                "the output has the shape {shape:?}"
            )));
        }
        let mut sum = vec![0.0; DIMENSION];
        for row in numbers.chunks(DIMENSION) {
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        Ok(sum)
    }
}

fn environment(runtime: &Path) -> Result<Environment, ModelError> {
    let mut loaded = match RUNTIME.lock() {
        Ok(loaded) => loaded,
        Err(poisoned) => poisoned.into_inner(),
    };
    if let Some((path, environment)) = loaded.as_ref() {
        if path == runtime {
            return Ok(environment.clone());
        }
        let text = format!("`{}` is loaded already", path.display());
        return Err(ModelError::Runtime(text));
    }
    let failed =
        |fault: &dyn fmt::Display| ModelError::Runtime(format!("`{}`: {fault}", runtime.display()));
    let builder = ort::init_from(runtime).map_err(|fault| failed(&fault))?;
    let environment = builder.build().map_err(|fault| failed(&fault))?;
    *loaded = Some((runtime.to_owned(), environment.clone()));
    Ok(environment)
}

fn session(
    environment: &Environment,
    weights: &[u8],
    threads: NonZeroUsize,
) -> Result<Session, ModelError> {
    let failed = |fault: &dyn fmt::Display| ModelError::Read(fault.to_string());
    let builder = Session::builder(environment).map_err(|fault| failed(&fault))?;
    let builder = builder.with_intra_threads(threads.get());
    let builder = builder.map_err(|fault| failed(&fault))?;
    let builder = builder.with_deterministic_compute(true);
    let mut builder = builder.map_err(|fault| failed(&fault))?;
    let session = builder.commit_from_memory(weights);
    session.map_err(|fault| failed(&fault))
}

impl Embedder for OnnxMiniLm {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(EmbedError::TextTooLong(text.len()));
        }
        let Some(tokens) = self.tokens.of(text)? else {
            return Ok(None);
        };
        let sum = self.sum(&tokens);
        let sum = sum.map_err(|fault| EmbedError::Failed(fault.to_string()))?;
        direction(&sum).map(Some)
    }

    fn lexical_weight(&self) -> u16 {
        LEXICAL_WEIGHT
    }
}

impl fmt::Debug for OnnxMiniLm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.id;
        f.debug_struct("OnnxMiniLm")
            .field("id", id)
            .finish_non_exhaustive()
    }
}
