// SPDX-License-Identifier: MIT OR Apache-2.0
//! all-MiniLM-L6-v2 by ONNX Runtime, whose weights are rounded, against what
//! `crates/models/distill/encoder.py` computed without rounding.
//!
//! `ANCILE_MINILM_ONNX` names the directory with the model's files, `ANCILE_ONNX_RUNTIME` the
//! library.

use ancile_models::{Embedder, Hashed, MINILM_ONNX, ModelError, OnnxMiniLm};
use serde_json::Value;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

const CASES: &str = include_str!("../cases/minilm.json");
const ONE: NonZeroUsize = NonZeroUsize::MIN;
/// Most by which a number or a cosine may differ from the one without rounding.
const APART_MAX: f64 = 0.02;

/// The library and the bytes of both files, where they are there.
fn given(name: &str) -> Option<(PathBuf, [Hashed; 2])> {
    let dir = std::env::var_os("ANCILE_MINILM_ONNX").map(PathBuf::from);
    let library = std::env::var_os("ANCILE_ONNX_RUNTIME").map(PathBuf::from);
    let Some((dir, library)) = dir.zip(library) else {
        println!("SKIPPED (no ANCILE_MINILM_ONNX and ANCILE_ONNX_RUNTIME): {name}");
        return None;
    };
    let read = |name| Hashed::of(std::fs::read(dir.join(name)).unwrap());
    Some((library, [read("model.onnx"), read("tokenizer.json")]))
}

fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let products = one.iter().zip(other);
    products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[test]
fn onnx_minilm_gives_nearly_what_the_reference_gives() {
    let name = "onnx_minilm_gives_nearly_what_the_reference_gives";
    let Some((library, [weights, tokenizer])) = given(name) else {
        return;
    };
    // A library that is not there, or is none, is refused before another one is loaded.
    for no_library in [Path::new("/nowhere/libonnxruntime.so"), Path::new(file!())] {
        let fault = OnnxMiniLm::load(no_library, &weights, &tokenizer, ONE).unwrap_err();
        assert!(matches!(fault, ModelError::Runtime(_)), "{fault}");
        assert!(fault.to_string().contains("index.onnx_runtime"), "{fault}");
    }
    let model = OnnxMiniLm::load(&library, &weights, &tokenizer, ONE).unwrap();
    let again = OnnxMiniLm::load(&library, &weights, &tokenizer, ONE).unwrap();
    let other = OnnxMiniLm::load(Path::new("/other.so"), &weights, &tokenizer, ONE);
    assert!(matches!(other, Err(ModelError::Runtime(_))));
    let mut edited = weights.bytes().to_vec();
    edited[1_000_000] ^= 1;
    let edited = OnnxMiniLm::load(&library, &Hashed::of(edited), &tokenizer, ONE);
    assert!(matches!(edited, Err(ModelError::File(_))));

    let sha256 = MINILM_ONNX.files[0].sha256;
    assert!(model.id().to_string().ends_with(sha256), "{}", model.id());
    let mut first = None;
    let mut furthest = 0.0_f64;
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    for case in &cases {
        let text = case["text"].as_str().unwrap();
        let found = model.embed(text).unwrap();
        assert_eq!(again.embed(text).unwrap(), found, "{text:?}");
        let Some(expected) = case["vector"].as_array() else {
            assert_eq!(found, None, "{text:?}");
            continue;
        };
        let found = found.unwrap();
        assert_eq!(found.len(), model.id().dimension);
        let first = first.get_or_insert_with(|| found.clone());
        let numbers = found.iter().copied().map(f64::from).zip(expected);
        let cosines = (cosine(&found, first), &case["cosine"]);
        for (found, expected) in numbers.chain([cosines]) {
            let apart = (found - expected.as_f64().unwrap()).abs();
            furthest = furthest.max(apart);
            assert!(apart < APART_MAX, "{text:?}: {found} and {expected}");
        }
    }
    println!("furthest from the reference: {furthest:.1e}");
}
