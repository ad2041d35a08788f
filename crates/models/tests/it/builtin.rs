// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in table: which one it is, and that its vectors are those of the recipe, to the bit.

use ancile_models::{BUILTIN_SHA256, EmbedError, Embedder, StaticEmbedder, TEXT_BYTES_MAX};
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

pub const TABLE: &[u8] = include_bytes!("../../data/static-minilm-l6-v2-128.bin");
const WORDPIECE: &str = include_str!("../cases/wordpiece.json");
const VECTORS: &str = include_str!("../cases/vectors.json");

/// SHA-256 over the vectors of all texts of `wordpiece.json`, as big endian bytes.
const VECTORS_SHA256: &str = "ea860bca2cac7576d95ea03b5daf6dcb977a089ac4c72eeb0cc71af0de0755ca";

pub static BUILTIN: LazyLock<StaticEmbedder> = LazyLock::new(|| StaticEmbedder::builtin().unwrap());

pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn embed(text: &str) -> Option<Vec<f32>> {
    BUILTIN.embed(text).unwrap()
}

fn cases(json: &str) -> Vec<Value> {
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_built_in_table_is_the_pinned_one() {
    assert_eq!(sha256(TABLE), BUILTIN_SHA256);
    let id = BUILTIN.id();
    let told = format!("static-minilm-l6-v2 1, dimension 128, sha256 {BUILTIN_SHA256}");
    assert_eq!(id.to_string(), told);
    for line in ["source: sentence-transformers/all-MiniLM-L6-v2", "weights:"] {
        assert!(BUILTIN.about().contains(line), "{line}");
    }
}

#[test]
fn vectors_are_those_of_the_recipe() {
    for case in cases(VECTORS) {
        let text = case["text"].as_str().unwrap();
        let found = embed(text);
        let Some(expected) = case["vector"].as_array() else {
            assert_eq!(found, None, "{text}");
            continue;
        };
        let found = found.unwrap();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            let apart = f64::from(*found) - expected.as_f64().unwrap();
            assert!(apart.abs() < 1e-7, "{text}: {found} and {expected}");
        }
    }
}

#[test]
fn vectors_are_the_same_bits_everywhere() {
    let mut bytes = Vec::new();
    for case in cases(WORDPIECE) {
        let vector = embed(case["text"].as_str().unwrap()).unwrap_or_default();
        bytes.extend(vector.iter().flat_map(|x| x.to_be_bytes()));
    }
    assert_eq!(sha256(&bytes), VECTORS_SHA256);
}

#[test]
fn a_text_without_a_known_token_has_no_vector() {
    let long = "a".repeat(101);
    for text in ["", " \n\t", "\0\u{200b}", "\u{1f600}\u{1f600}", &long] {
        assert_eq!(embed(text), None, "{text:?}");
    }
    assert!(embed("\u{1f600} a").is_some());
}

#[test]
fn a_text_is_embedded_up_to_its_limit() {
    let text = |bytes| "cat ".chars().cycle().take(bytes).collect::<String>();
    assert!(embed(&text(TEXT_BYTES_MAX - 1)).is_some());
    assert!(embed(&text(TEXT_BYTES_MAX)).is_some());
    let over = BUILTIN.embed(&text(TEXT_BYTES_MAX + 1)).unwrap_err();
    assert_eq!(over, EmbedError::TextTooLong(TEXT_BYTES_MAX + 1));
    let told = "text has 65537 bytes; limit is 65536; embed it in parts";
    assert_eq!(over.to_string(), told);
}

proptest! {
    #[test]
    fn any_text_has_a_vector_of_length_one_or_none(text in any::<String>()) {
        if let Some(vector) = embed(&text) {
            let length: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
            prop_assert_eq!(vector.len(), BUILTIN.id().dimension);
            prop_assert!((length - 1.0).abs() < 1e-6, "{}", length);
        }
    }

    #[test]
    fn case_accents_and_white_space_do_not_matter(
            words in prop::collection::vec("[a-z]{1,9}", 1..9),
        ) {
        let plain = words.join(" ");
        let other = words.join("\u{301}\n\u{a0} ").to_uppercase();
        prop_assert_eq!(embed(&plain), embed(&other));
    }
}
