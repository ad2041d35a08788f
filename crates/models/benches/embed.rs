// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a vector costs: an ordinary text of 1 KiB, one of words that fall into single letters,
//! and making the embedder.

#![allow(missing_docs, reason = "the entry points are made by macros")]

use ancile_models::{Embedder, StaticEmbedder};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

const BYTES: usize = 1_024;
const ORDINARY: &str = "The dentist moved the appointment to Thursday morning, and Maria (who is \
    allergic to peanuts) asked for the invoice of the plumber; it was 1,250.00 in all. ";
const LETTERS: &str =
    "qzxjqvkzxqjvzkqxjzvqkxzjqvxkzqjxvzqkjxzvqjkxzqvjxkzqxvjzkqxjvzqkxjzvqxkjzvqx ";

fn text(of: &str) -> String {
    of.chars().cycle().take(BYTES).collect()
}

fn embed(criterion: &mut Criterion) {
    let Ok(embedder) = StaticEmbedder::builtin() else {
        return eprintln!("the built-in table does not load; run the tests of the crate");
    };
    for (name, of) in [("ordinary", ORDINARY), ("letters", LETTERS)] {
        let text = text(of);
        let name = format!("embed_1_kib/{name}");
        criterion.bench_function(&name, |b| b.iter(|| embedder.embed(black_box(&text))));
    }
    criterion.bench_function("embedder_builtin", |b| b.iter(StaticEmbedder::builtin));
}

criterion_group!(benches, embed);
criterion_main!(benches);
