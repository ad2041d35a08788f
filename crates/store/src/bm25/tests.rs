// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use crate::tokenize::terms;
use proptest::prelude::*;
use rusqlite::Connection;

/// Words that FTS5 and this crate cut alike and that are their own stems.
const WORDS: [&str; 12] = [
    "alpha", "bravo", "delta", "tango", "kilo", "lima", "papa", "zulu", "hotel", "victor", "x1",
    "42",
];

fn index(docs: &[(u64, String)]) -> Bm25 {
    let mut index = Bm25::new();
    for (doc, text) in docs {
        index.add(*doc, text);
    }
    index
}

fn all(index: &Bm25, query: &str) -> Vec<Hit> {
    index.search(query, usize::MAX, &|_| true)
}

fn found(index: &Bm25, query: &str) -> Vec<u64> {
    all(index, query).iter().map(|hit| hit.doc).collect()
}

/// Documents with words drawn so that the first are common.
fn corpus(size: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(u64, String)>> {
    let word = (0_usize..12, 0_usize..12).prop_map(|(a, b)| WORDS[a.min(b)]);
    let text = prop::collection::vec(word, 0..14).prop_map(|words| words.join(" "));
    prop::collection::vec(text, size).prop_map(|texts| {
        texts
            .into_iter()
            .enumerate()
            .map(|(i, t)| (10 + i as u64, t))
            .collect()
    })
}

fn query() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 0..6).prop_map(|words| words.join(" "))
}

/// BM25 by the formula of the module, in `f64`, over every document; (document, score).
fn naive(docs: &[(u64, String)], query: &str) -> BTreeMap<u64, f64> {
    let cut: Vec<(u64, Vec<String>)> = docs.iter().map(|(doc, t)| (*doc, terms(t))).collect();
    let count = cut.len() as f64;
    let average = cut.iter().map(|(_, terms)| terms.len()).sum::<usize>() as f64 / count;
    let mut scores = BTreeMap::new();
    for wanted in terms(query).into_iter().collect::<BTreeSet<_>>() {
        let df = cut
            .iter()
            .filter(|(_, terms)| terms.contains(&wanted))
            .count() as f64;
        let idf = (1.0 + (count - df + 0.5) / (df + 0.5)).ln();
        for (doc, terms) in &cut {
            let tf = terms.iter().filter(|term| **term == wanted).count() as f64;
            if tf > 0.0 {
                let norm = 1.2 * (0.25 + 0.75 * terms.len() as f64 / average);
                *scores.entry(*doc).or_default() += idf * 2.2 * tf / (tf + norm);
            }
        }
    }
    scores
}

/// The same documents, scores alike to rounding, and in the order of the scores.
fn agree(hits: &[Hit], expected: &BTreeMap<u64, f64>) -> Result<(), TestCaseError> {
    prop_assert_eq!(hits.len(), expected.len());
    for hit in hits {
        let right = expected.get(&hit.doc).copied().unwrap_or(f64::NAN) * 1e6;
        let error = (hit.score as f64 - right).abs();
        prop_assert!(error <= 8.0 + right * 1e-5, "{hit:?} is off {right}");
    }
    for pair in hits.windows(2) {
        let ordered = pair[0].score > pair[1].score
            || (pair[0].score == pair[1].score && pair[0].doc < pair[1].doc);
        prop_assert!(ordered, "{pair:?}");
    }
    Ok(())
}

/// The scores of FTS5, whose inverse document frequency is exchanged for ours.
///
/// FTS5 takes ln((N - df + 0.5) / (df + 0.5)), at least 1e-6, so the rest of a term's share is
/// its bm25() divided by that.
fn fts5(docs: &[(u64, String)], query: &str) -> BTreeMap<u64, f64> {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch("create virtual table t using fts5(body, tokenize = 'unicode61')")
        .unwrap();
    for (doc, text) in docs {
        let row = i64::try_from(*doc).unwrap();
        db.execute("insert into t (rowid, body) values (?1, ?2)", (row, text))
            .unwrap();
    }
    let count = docs.len() as f64;
    let mut scores = BTreeMap::new();
    for word in query.split_whitespace().collect::<BTreeSet<_>>() {
        let mut rows = db
            .prepare("select rowid, -bm25(t) from t where t match ?1")
            .unwrap();
        let rows: Vec<(i64, f64)> = rows
            .query_map([format!("\"{word}\"")], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let df = rows.len() as f64;
        let theirs = ((count - df + 0.5) / (df + 0.5)).ln();
        let theirs = if theirs <= 0.0 { 1e-6 } else { theirs };
        let ours = (1.0 + (count - df + 0.5) / (df + 0.5)).ln();
        for (row, score) in rows {
            *scores.entry(u64::try_from(row).unwrap()).or_default() += score / theirs * ours;
        }
    }
    scores
}

proptest! {
    #[test]
    fn scores_are_those_of_the_formula(docs in corpus(0..40), query in query()) {
        agree(&all(&index(&docs), &query), &naive(&docs, &query))?;
    }

    #[test]
    fn scores_are_those_of_fts5(docs in corpus(1..25), query in query()) {
        agree(&all(&index(&docs), &query), &fts5(&docs, &query))?;
    }

    #[test]
    fn the_best_are_the_head_of_all(
        docs in corpus(0..40), query in query(), limit in 0_usize..50, step in 1_u64..4,
    ) {
        let index = index(&docs);
        let keep = |doc: u64| doc.is_multiple_of(step);
        let mut expected = all(&index, &query);
        expected.retain(|hit| keep(hit.doc));
        expected.truncate(limit);
        prop_assert_eq!(index.search(&query, limit, &keep), expected);
    }

    #[test]
    fn removing_undoes_adding(
        kept in corpus(0..20), gone in corpus(0..20), query in query(), seed in any::<u64>(),
    ) {
        let gone: Vec<_> = gone.into_iter().map(|(doc, text)| (doc + 1000, text)).collect();
        // Any order of arrival, the removed among the others.
        let mut both = [kept.clone(), gone.clone()].concat();
        both.sort_by_key(|(doc, _)| doc.wrapping_mul(seed | 1).rotate_left(20));
        let mut mixed = index(&both);
        gone.iter().for_each(|(doc, _)| mixed.remove(*doc));
        let plain = index(&kept);
        prop_assert_eq!(statistics(&mixed), statistics(&plain));
        prop_assert_eq!(all(&mixed, &query), all(&plain, &query));
        mixed.compact();
        prop_assert_eq!(statistics(&mixed), statistics(&plain));
        prop_assert_eq!(all(&mixed, &query), all(&plain, &query));
        // What was removed can come back.
        gone.iter().for_each(|(doc, text)| mixed.add(*doc, text));
        prop_assert_eq!(all(&mixed, &query), all(&index(&both), &query));
        both.iter().for_each(|(doc, _)| mixed.remove(*doc));
        prop_assert_eq!(format!("{mixed:?}"), format!("{:?}", Bm25::new()));
    }

    #[test]
    fn any_text_is_indexed_and_found_by_itself(texts in prop::collection::vec("\\PC{0,30}", 1..8)) {
        let docs: Vec<_> = texts.into_iter().enumerate().map(|(i, t)| (i as u64, t)).collect();
        let index = index(&docs);
        for (doc, text) in &docs {
            prop_assert_eq!(found(&index, text).contains(doc), !terms(text).is_empty());
        }
    }

    #[test]
    fn weights_are_those_of_the_logarithm(documents in 1_u64..1 << 32, shift in 0_u32..32) {
        let df = (documents >> shift).max(1);
        let (n, d) = (documents as f64, df as f64);
        let right = ((n - d + 0.5) / (d + 0.5)).ln_1p() * 2.2e6;
        let ours = fixed::weight(documents, df);
        prop_assert!((ours as f64 - right).abs() <= 1.01, "{ours} is off {right}");
        prop_assert!(ours < 1 << 26);
    }
}

/// Documents, terms in all, and document frequencies by term.
fn statistics(index: &Bm25) -> (usize, u64, BTreeMap<String, (u32, usize)>) {
    let frequencies = index.terms.iter().map(|(term, id)| {
        let postings = &index.postings[*id as usize];
        let live = postings
            .list
            .iter()
            .filter(|posting| posting.tf > 0)
            .count();
        (term.to_string(), (postings.df, live))
    });
    let seen = frequencies.filter(|(_, (df, _))| *df > 0).collect();
    (index.len(), index.length_total, seen)
}

#[test]
fn a_golden_corpus_has_golden_scores() {
    let docs = [
        (1, "The user prefers window seats on morning flights"),
        (2, "Flight LH 455 leaves at 10:45; the seat is 12A"),
        (3, "Invoice INV-2024-0042 of 1,250.00 EUR is paid"),
        (5, "bob.lee@example.com moved to 東京都 last spring"),
        (8, "Seats, seats, seats: a note on seats"),
    ];
    let docs = docs.map(|(doc, text)| (doc, text.to_owned()));
    let index = index(&docs);
    let golden: Vec<(&str, Vec<(u64, u64)>)> = vec![
        (
            "window seat",
            vec![(1, 2_066_165), (8, 957_007), (2, 488_986)],
        ),
        ("flights", vec![(1, 939_527), (2, 794_239)]),
        ("inv-2024-0042", vec![(3, 5_452_240)]),
        ("bob at example.com", vec![(5, 3_924_735), (2, 1_257_669)]),
        ("東京", vec![(5, 1_308_245)]),
        (
            "the seats is on a note",
            vec![(8, 5_059_613), (1, 2_457_489), (2, 2_077_464), (3, 860_796)],
        ),
    ];
    for (query, expected) in golden {
        let hits: Vec<_> = all(&index, query)
            .iter()
            .map(|hit| (hit.doc, hit.score))
            .collect();
        assert_eq!(hits, expected, "{query}");
        agree(&all(&index, query), &naive(&docs, query)).unwrap();
    }
}

#[test]
fn an_empty_index_and_an_empty_query_find_nothing() {
    let mut index = Bm25::new();
    assert!(index.is_empty() && !index.contains(1));
    assert_eq!(all(&index, "alpha"), []);
    index.remove(1);
    index.add(1, "");
    index.add(2, "alpha");
    assert!(index.contains(1) && index.len() == 2);
    for query in ["", " \n", "?!", "bravo"] {
        assert_eq!(all(&index, query), [], "{query:?}");
    }
    assert_eq!(index.search("alpha", 0, &|_| true), []);
    assert_eq!(index.search("alpha", 9, &|_| false), []);
    index.remove(2);
    assert_eq!(all(&index, "alpha"), []);
    assert_eq!(index.len(), 1, "a document without terms counts");
}

#[test]
fn a_number_added_twice_is_replaced() {
    let mut index = Bm25::new();
    index.add(7, "alpha bravo");
    index.add(7, "delta");
    assert_eq!(index.len(), 1);
    assert_eq!(all(&index, "alpha bravo"), []);
    assert_eq!(found(&index, "delta"), [7]);
}

#[test]
fn two_character_words_and_emoji_are_found() {
    let mut index = Bm25::new();
    index.add(1, "他住在东京都，喜欢寿司");
    index.add(2, "京都の桜");
    index.add(3, "오늘 한국어 수업");
    index.add(4, "launch party 🎉");
    index.add(5, "東");
    assert_eq!(found(&index, "东京"), [1]);
    assert_eq!(found(&index, "京都"), [2, 1]);
    assert_eq!(found(&index, "寿司"), [1]);
    assert_eq!(found(&index, "한국"), [3]);
    assert_eq!(found(&index, "🎉"), [4]);
    assert_eq!(found(&index, "東"), [5]);
}

#[test]
fn equal_scores_come_by_ascending_number() {
    let mut index = Bm25::new();
    for doc in [9, 3, 7, u64::MAX, 0] {
        index.add(doc, "alpha");
    }
    assert_eq!(found(&index, "alpha"), [0, 3, 7, 9, u64::MAX]);
    let two = index.search("alpha", 2, &|doc| doc != 3);
    assert_eq!(two.iter().map(|hit| hit.doc).collect::<Vec<_>>(), [0, 7]);
}

#[test]
fn a_query_is_read_to_its_limit() {
    let mut index = Bm25::new();
    index.add(1, "alpha");
    for (padding, expected) in [
        (QUERY_BYTES_MAX - 6, vec![1]),
        (QUERY_BYTES_MAX - 5, vec![1]),
        (QUERY_BYTES_MAX - 4, vec![]),
    ] {
        assert_eq!(
            found(&index, &format!("{}alpha", " ".repeat(padding))),
            expected
        );
    }
    let huge = "東京 ".repeat(1 << 20) + "alpha";
    assert_eq!(all(&index, &huge), []);
}

#[test]
fn the_rarest_terms_of_a_long_query_score() {
    for count in [QUERY_TERMS_MAX - 1, QUERY_TERMS_MAX, QUERY_TERMS_MAX + 1] {
        let mut index = Bm25::new();
        // Document i has the first i words, so word 0 is the commonest.
        let words: Vec<String> = (0..count).map(|i| format!("w{i}")).collect();
        for i in 1..=count {
            index.add(i as u64, &words[..i].join(" "));
        }
        let commonest_scores = found(&index, &words.join(" ")).contains(&1);
        assert_eq!(commonest_scores, count <= QUERY_TERMS_MAX, "{count} terms");
    }
}

#[test]
fn common_terms_score_only_in_small_partitions_or_alone() {
    for size in [LARGE - 1, LARGE, LARGE + 1] {
        let mut index = Bm25::new();
        let common = size / COMMON_SHARE;
        for doc in 0..size {
            let under = if doc < common { "below" } else { "" };
            let over = if doc <= common { "above" } else { "" };
            let rare = if doc == size - 1 { "rare" } else { "" };
            index.add(doc as u64, &format!("{under} {over} {rare}"));
        }
        let hits = |query| all(&index, query).len();
        let dropped = if size < LARGE { common + 1 } else { 0 };
        assert_eq!(hits("rare above"), 1 + dropped, "{size}");
        assert_eq!(hits("rare below"), 1 + common, "{size}");
        assert_eq!(hits("above"), common + 1, "{size}");
    }
}

#[test]
fn the_postings_of_a_query_have_a_limit() {
    // All documents have `a`; the other terms have what is left of the limit, one more or less.
    let size = POSTINGS_MAX / 2 + 10;
    let left = POSTINGS_MAX - size;
    let mut index = Bm25::new();
    for doc in 0..size {
        let [b, c, d] = [("b", left - 1), ("c", left), ("d", left + 1)]
            .map(|(term, count)| if doc < count { term } else { "" });
        index.add(doc as u64, &format!("a {b} {c} {d}"));
    }
    for (query, expected) in [("a b", 2), ("a c", 2), ("a d", 1), ("a", 1)] {
        let Ok(terms) = chosen(&[&index], query, index.len() as u64);
        assert_eq!(terms.len(), expected, "{query}");
        assert_eq!(index.search(query, 1, &|_| true).len(), 1);
    }
}

#[test]
fn occurrences_count_to_their_limit() {
    let mut index = Bm25::new();
    for (doc, times) in [(1, TF_MAX - 1), (2, TF_MAX), (3, TF_MAX + 1)] {
        index.add(doc, &"a ".repeat(times as usize));
        let id = index.terms["a"];
        let posting = index.postings[id as usize].list.last().copied().unwrap();
        assert_eq!(posting.tf, times.min(TF_MAX));
    }
    assert_eq!(found(&index, "a").len(), 3);
}

#[test]
fn the_slots_of_removed_documents_are_taken_back() {
    let mut index = Bm25::new();
    for doc in 0..10_000_u64 {
        index.add(doc, &format!("alpha w{doc}"));
        if doc >= 10 {
            index.remove(doc - 10);
        }
        assert!(index.docs.len() <= 2 * index.len() + DEAD_SLACK + 1);
    }
    assert_eq!(index.len(), 10);
    assert!(
        index.terms.len() <= 1 + index.docs.len(),
        "terms no document has are dropped"
    );
    assert_eq!(
        found(&index, "alpha"),
        (9_990..10_000).collect::<Vec<u64>>()
    );
    assert_eq!(found(&index, "w9995"), [9_995]);
}
