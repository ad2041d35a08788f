// SPDX-License-Identifier: MIT OR Apache-2.0
//! all-MiniLM-L6-v2 on candle, against what `crates/models/distill/encoder.py` computed in `f64`
//! with numpy and the Python package `tokenizers`.
//!
//! `ANCILE_MINILM` names the directory with the model's files.

use ancile_models::{
    EmbedError, Embedder, FileError, Hashed, MINILM, MiniLm, ModelError, TEXT_BYTES_MAX, TOKENS_MAX,
};
use serde_json::Value;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::LazyLock;

const CASES: &str = include_str!("../cases/minilm.json");
const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// The bytes of both files, where they are there.
static FILES: LazyLock<Option<[Hashed; 2]>> = LazyLock::new(|| {
    let dir = std::env::var_os("ANCILE_MINILM")?;
    let read = |name| Hashed::of(std::fs::read(Path::new(&dir).join(name)).unwrap());
    Some([read("model.safetensors"), read("tokenizer.json")])
});

static MODEL: LazyLock<Option<MiniLm>> = LazyLock::new(|| {
    let [weights, tokenizer] = FILES.as_ref()?;
    Some(MiniLm::load(weights, tokenizer, TWO).unwrap())
});

fn model(name: &str) -> Option<&'static MiniLm> {
    if MODEL.is_none() {
        println!("SKIPPED (no ANCILE_MINILM): {name}");
    }
    MODEL.as_ref()
}

fn cases() -> Vec<Value> {
    serde_json::from_str(CASES).unwrap()
}

fn vector(model: &MiniLm, text: &str) -> Vec<f32> {
    model.embed(text).unwrap().unwrap()
}

fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let products = one.iter().zip(other);
    products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[test]
fn minilm_gives_what_the_reference_gives() {
    let Some(model) = model("minilm_gives_what_the_reference_gives") else {
        return;
    };
    let mut first = None;
    let mut furthest = 0.0_f64;
    for case in cases() {
        let text = case["text"].as_str().unwrap();
        let found = model.embed(text).unwrap();
        let Some(expected) = case["vector"].as_array() else {
            assert_eq!(found, None, "{text:?}");
            continue;
        };
        let found = found.unwrap();
        assert_eq!(found.len(), model.id().dimension);
        let length = cosine(&found, &found);
        assert!((length - 1.0).abs() < 1e-6, "{text:?}: {length}");
        let first = first.get_or_insert_with(|| found.clone());
        let numbers = found.iter().copied().map(f64::from).zip(expected);
        let cosines = (cosine(&found, first), &case["cosine"]);
        for (found, expected) in numbers.chain([cosines]) {
            let apart = (found - expected.as_f64().unwrap()).abs();
            furthest = furthest.max(apart);
            assert!(apart < 1e-5, "{text:?}: {found} and {expected}");
        }
    }
    println!("furthest from the reference: {furthest:.1e}");
    let published = [0.694_577_3, 0.942_915_1, 0.256_876_1];
    let one = vector(model, "That is a happy person");
    let others = [
        "That is a happy dog",
        "That is a very happy person",
        "Today is a sunny day",
    ];
    for (other, published) in others.iter().zip(published) {
        let found = cosine(&one, &vector(model, other));
        assert!((found - published).abs() < 1e-5, "{other}: {found}");
    }
}

#[test]
fn minilm_gives_the_same_bits_alone_and_among_others() {
    let Some(model) = model("minilm_gives_the_same_bits_alone_and_among_others") else {
        return;
    };
    let cases = cases();
    let texts: Vec<&str> = cases.iter().map(|c| c["text"].as_str().unwrap()).collect();
    let together = model.embed_all(&texts);
    assert_eq!(together.len(), texts.len());
    for (text, found) in texts.iter().zip(together) {
        assert_eq!(model.embed(text), found, "{text:?}");
    }
    assert!(model.embed_all(&[]).is_empty());
}

#[test]
fn minilm_looks_at_no_more_than_its_limit_of_tokens() {
    let Some(model) = model("minilm_looks_at_no_more_than_its_limit_of_tokens") else {
        return;
    };
    // Every text has one token before and one after it.
    let words = |count: usize| "word ".repeat(count);
    let most = TOKENS_MAX - 2;
    let full = vector(model, &words(most));
    assert_ne!(vector(model, &words(most - 1)), full);
    assert_eq!(vector(model, &words(most + 1)), full);
    assert_eq!(vector(model, &format!("{}other", words(most))), full);
    let short = format!("{}other", words(most - 1));
    assert_ne!(vector(model, &short), full);
    for (bytes, fits) in [(TEXT_BYTES_MAX, true), (TEXT_BYTES_MAX + 1, false)] {
        let text: String = "ab ".chars().cycle().take(bytes).collect();
        let found = model.embed(&text);
        let too_long = EmbedError::TextTooLong(bytes);
        assert_eq!(found.as_ref().err(), (!fits).then_some(&too_long));
    }
}

#[test]
fn minilm_takes_no_special_token_from_a_text() {
    let Some(model) = model("minilm_takes_no_special_token_from_a_text") else {
        return;
    };
    // Were it the end of the text to the model, or nothing, the name would have no letters.
    let named = vector(model, "pay [SEP] now");
    let spelled = vector(model, "pay [ sep ] now");
    assert_eq!(named, spelled);
}

#[test]
fn minilm_tells_meanings_apart() {
    let Some(model) = model("minilm_tells_meanings_apart") else {
        return;
    };
    let facts = [
        "The dentist moved the appointment to Thursday morning.",
        "Alice is allergic to peanuts and shellfish.",
        "The spare key is under the blue flower pot.",
        "The rent is due on the first of each month.",
    ];
    let questions = [
        "When do I get my teeth checked?",
        "Which food makes her ill?",
        "How do I get in if I lock myself out?",
        "By when do I have to pay my landlord?",
    ];
    let facts: Vec<Vec<f32>> = facts.iter().map(|text| vector(model, text)).collect();
    for (number, question) in questions.iter().enumerate() {
        let asked = vector(model, question);
        let scores: Vec<f64> = facts.iter().map(|fact| cosine(&asked, fact)).collect();
        let best = scores.iter().copied().fold(f64::MIN, f64::max);
        assert!(scores[number] >= best, "{question}: {scores:?}");
    }
}

#[test]
fn minilm_takes_no_other_bytes() {
    let of = |bytes: &[u8]| Hashed::of(bytes.to_vec());
    let other = MiniLm::load(&of(b"weights"), &of(b"words"), TWO).unwrap_err();
    let length = |file: usize, found| FileError::Length {
        name: MINILM.files[file].name,
        found,
        expected: MINILM.files[file].bytes,
    };
    assert_eq!(other, ModelError::File(length(0, 7)));
    let Some([weights, tokenizer]) = FILES.as_ref() else {
        println!("SKIPPED (no ANCILE_MINILM): minilm_takes_no_other_bytes");
        return;
    };
    let short = MiniLm::load(weights, &of(&tokenizer.bytes()[1..]), TWO).unwrap_err();
    assert_eq!(
        short,
        ModelError::File(length(1, MINILM.files[1].bytes - 1))
    );
    let mut edited = weights.bytes().to_vec();
    edited[80_000_000] ^= 1;
    let edited = MiniLm::load(&Hashed::of(edited), tokenizer, TWO).unwrap_err();
    let said = edited.to_string();
    assert!(said.contains("sha256") && said.contains("fetch"), "{said}");
}
