// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a lexical search costs: the best 200 of a partition of 200,000 short documents.

#![allow(missing_docs, reason = "the entry points are made by macros")]

use ancile_store::bm25::Bm25;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;

const DOCUMENTS: u64 = 200_000;
const LIMIT: usize = 200;

/// Texts of 16 words, the word of rank r about once in 16 r words (Zipf).
///
/// Each octave of ranks is as likely as another. The numbers are those of a fixed linear
/// congruence, so every run indexes the same texts.
struct Texts(u64);

impl Texts {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1);
        self.0 >> 48
    }

    fn text(&mut self) -> String {
        let word = |_| {
            let octave = 1 << (self.number() & 15);
            let rank = octave | (self.number() & (octave - 1));
            format!("w{rank}")
        };
        (0..16).map(word).collect::<Vec<_>>().join(" ")
    }
}

fn bm25(criterion: &mut Criterion) {
    let mut texts = Texts(1);
    let mut index = Bm25::new();
    for doc in 0..DOCUMENTS {
        index.add(doc, &texts.text());
    }
    let documents = |term: &str| index.search(term, usize::MAX, &|_| true).len();
    for term in ["w1", "w2", "w3", "w4", "w40", "w300", "w9000"] {
        println!("{term}: in {} of {DOCUMENTS} documents", documents(term));
    }
    for (name, query) in [
        ("one rare term", "w9000"),
        (
            "eight rare terms",
            "w9000 w9001 w9002 w9003 w9004 w9005 w9006 w9007",
        ),
        ("one common term", "w1"),
        ("three common terms", "w1 w2 w3"),
        ("mixed", "w1 w2 w3 w4 w40 w300 w9000 w9001"),
        ("most postings", "w1 w2 w3 w4 w5 w6 w7"),
        ("no known term", "unknown words alone"),
    ] {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| index.search(black_box(query), LIMIT, &|_| true));
        });
    }
    criterion.bench_function("add and remove", |bencher| {
        bencher.iter_batched(
            || texts.text(),
            |text| {
                index.add(DOCUMENTS, &text);
                index.remove(DOCUMENTS);
            },
            BatchSize::SmallInput,
        );
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30);
    targets = bm25
}
criterion_main!(benches);
