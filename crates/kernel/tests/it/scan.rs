// SPDX-License-Identifier: MIT OR Apache-2.0
//! The best rows of a scan.

use crate::naive;
use ancile_kernel::{Hit, Quantised, Query, VectorError, scan};
use proptest::collection::vec;
use proptest::prelude::*;
use std::cell::RefCell;

/// Scans and has the slow scan agree, bit for bit.
fn check(rows: &Quantised, query: &[f32], k: usize, keep: &dyn Fn(u32) -> bool) -> Vec<Hit> {
    let dim = query.len();
    let hits = scan(rows.view(), &Query::new(query).unwrap(), k, keep).unwrap();
    let as_row = Quantised::new(dim, [query]).unwrap();
    let as_row = naive::rows(dim, as_row.as_bytes()).remove(0);
    let slow = naive::scan(&naive::rows(dim, rows.as_bytes()), &as_row, k, keep);
    assert_eq!(hits, slow);
    // Equality of floats does not tell -0.0 from 0.0.
    assert!(hits.iter().all(|hit| hit.score.to_bits() != 1 << 63));
    hits
}

fn all(_: u32) -> bool {
    true
}

#[test]
fn equal_scores_come_by_rising_row() {
    let rows = Quantised::new(2, [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]).unwrap();
    let found = |k| check(&rows, &[1.0, 0.0], k, &all);
    let by_row = |hits: Vec<Hit>| hits.iter().map(|hit| hit.row).collect::<Vec<_>>();
    assert_eq!(by_row(found(4)), [1, 3, 0, 2]);
    assert_eq!(by_row(found(3)), [1, 3, 0]);
    assert_eq!(by_row(found(1)), [1]);
}

#[test]
fn k_may_be_0_or_more_than_there_are() {
    let rows = Quantised::new(1, [[1.0], [2.0]]).unwrap();
    assert!(check(&rows, &[1.0], 0, &all).is_empty());
    assert_eq!(check(&rows, &[1.0], 3, &all).len(), 2);
    assert_eq!(check(&rows, &[1.0], usize::MAX, &all).len(), 2);
    assert!(check(&rows, &[1.0], 2, &|_| false).is_empty());
    let none: [[f32; 1]; 0] = [];
    assert!(check(&Quantised::new(1, none).unwrap(), &[1.0], 5, &all).is_empty());
}

#[test]
fn zeros_score_0_with_a_positive_sign() {
    let rows = Quantised::new(2, [[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]).unwrap();
    let hits = check(&rows, &[0.0, 0.0], 3, &all);
    assert_eq!(
        hits.iter().map(|hit| hit.row).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert!(hits.iter().all(|hit| hit.score.to_bits() == 0));
}

#[test]
fn the_largest_and_smallest_numbers_have_finite_scores() {
    for size in [f32::MAX, f32::MIN_POSITIVE, f32::from_bits(200)] {
        let rows = Quantised::new(384, [vec![size; 384], vec![-size; 384]]).unwrap();
        let hits = check(&rows, &[size; 384], 2, &all);
        assert!(hits[0].score > 0.0 && hits[0].score.is_finite());
        assert_eq!(hits[1].score, -hits[0].score);
    }
}

#[test]
fn a_row_is_asked_for_once_at_most_and_in_order() {
    let rows: Vec<[f32; 1]> = (0u8..=255).map(|row| [f32::from(row)]).collect();
    let rows = Quantised::new(1, rows).unwrap();
    let asked = RefCell::new(Vec::new());
    let keep = |row| {
        asked.borrow_mut().push(row);
        row % 2 == 0
    };
    let hits = scan(rows.view(), &Query::new(&[1.0]).unwrap(), 3, &keep).unwrap();
    let found: Vec<u32> = hits.iter().map(|hit| hit.row).collect();
    assert_eq!(found, [254, 252, 250]);
    let asked = asked.into_inner();
    assert!(asked.is_sorted_by(|a, b| a < b));
}

#[test]
fn a_query_of_another_length_is_refused() {
    let rows = Quantised::new(3, [[1.0; 3]]).unwrap();
    let fault = scan(rows.view(), &Query::new(&[1.0; 2]).unwrap(), 1, &all).unwrap_err();
    assert_eq!(fault, VectorError::QueryLength { found: 2, dim: 3 });
    assert_eq!(
        fault.to_string(),
        "the query has 2 dimensions, the rows 3; embed both with one model"
    );
}

/// Whole numbers from a fixed sequence, from -1000 to 1000.
fn sequence(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 16) % 2001) as f32 - 1000.0
    };
    (0..count).map(next).collect()
}

/// The same on every machine: rows and the bits of their scores, as they were first seen.
#[test]
fn a_fixed_input_gives_these_bits_on_every_machine() {
    let values = sequence(385 * 1000);
    let (query, values) = values.split_at(384);
    let rows = Quantised::new(384, values.chunks_exact(384)).unwrap();
    let hits = check(&rows, query, 5, &|row| row != 48);
    let found: Vec<(u32, u64)> = hits
        .iter()
        .map(|hit| (hit.row, hit.score.to_bits()))
        .collect();
    let want = [
        (717, 4_717_109_518_189_955_650),
        (95, 4_715_678_449_579_859_385),
        (746, 4_715_623_643_914_389_030),
        (949, 4_715_362_664_694_258_200),
        (72, 4_715_335_341_328_606_212),
    ];
    assert_eq!(found, want);
}

/// Values with many ties and zeros, or with none.
fn values(count: usize) -> impl Strategy<Value = Vec<f32>> {
    let few = prop_oneof![Just(0.0f32), Just(1.0), Just(-1.0), Just(127.0)];
    prop_oneof![vec(few, count), vec(-1.0f32..1.0, count)]
}

fn inputs() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
    let dims = prop_oneof![6 => 1usize..=70, 1 => Just(384)];
    let shape = (dims, 0usize..=40);
    shape.prop_flat_map(|(dim, rows)| (values(dim), values(dim * rows)))
}

proptest! {
    #[test]
    fn a_scan_is_the_slow_scan(
        (query, values) in inputs(),
        k in 0usize..=45,
        kept in any::<u64>(),
    ) {
        let rows = Quantised::new(query.len(), values.chunks_exact(query.len())).unwrap();
        let keep = |row: u32| kept >> row & 1 == 1;
        let hits = check(&rows, &query, k, &keep);
        prop_assert!(hits.iter().all(|hit| keep(hit.row)));
        check(&rows, &query, k, &all);
    }
}
