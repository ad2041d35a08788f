// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rescoring by exact values.

use crate::naive;
use ancile_kernel::{
    DIM_MAX, Exact, Hit, Quantised, Query, VectorError, exact_bytes, rescore, scan,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn hits(rows: &[u32]) -> Vec<Hit> {
    let hit = |row: &u32| Hit {
        row: *row,
        score: 0.0,
    };
    rows.iter().map(hit).collect()
}

#[test]
fn the_exact_order_replaces_the_quantised_one() {
    // Both rows are quantised alike; the second is a little nearer.
    let rows = [[1.0, 0.5000], [1.0, 0.5001]];
    let query = [1.0, 1.0];
    let segment = Quantised::new(2, rows).unwrap();
    let found = scan(segment.view(), &Query::new(&query).unwrap(), 2, &|_| true).unwrap();
    assert_eq!(found.iter().map(|hit| hit.row).collect::<Vec<_>>(), [0, 1]);

    let floats = exact_bytes(2, rows).unwrap();
    let exact = Exact::new(2, 2, &floats).unwrap();
    let best = rescore(exact, &query, &found, 2).unwrap();
    let want = f64::from(1.0f32) + f64::from(0.5001f32);
    assert_eq!(
        best[0],
        Hit {
            row: 1,
            score: want
        }
    );
    assert_eq!(best[1], Hit { row: 0, score: 1.5 });
    assert_eq!(rescore(exact, &query, &found, 1).unwrap(), best[..1]);
    assert!(rescore(exact, &query, &found, 0).unwrap().is_empty());
    assert!(rescore(exact, &query, &[], 2).unwrap().is_empty());
}

#[test]
fn equal_scores_come_by_row_and_a_row_once() {
    let floats = exact_bytes(1, [[1.0], [2.0], [1.0]]).unwrap();
    let exact = Exact::new(1, 3, &floats).unwrap();
    let best = rescore(exact, &[1.0], &hits(&[2, 1, 0, 2, 1]), 5).unwrap();
    assert_eq!(
        best.iter().map(|hit| hit.row).collect::<Vec<_>>(),
        [1, 0, 2]
    );
    let best = rescore(exact, &[-0.0], &hits(&[2, 0]), 5).unwrap();
    assert!(best.iter().all(|hit| hit.score.to_bits() == 0));
}

#[test]
fn sums_are_taken_in_the_order_of_the_dimensions() {
    // Large ones first gives 2, small ones first 0.
    let rows = [[1e16f32, 1.0, -1e16, 1.0]];
    let floats = exact_bytes(4, rows).unwrap();
    let exact = Exact::new(4, 1, &floats).unwrap();
    let best = rescore(exact, &[1e10, 1.0, 1e10, 1.0], &hits(&[0]), 1).unwrap();
    assert_eq!(best[0].score, 1.0);
}

#[test]
fn the_largest_numbers_have_a_finite_score() {
    let floats = exact_bytes(DIM_MAX, [vec![f32::MAX; DIM_MAX]]).unwrap();
    let exact = Exact::new(DIM_MAX, 1, &floats).unwrap();
    let best = rescore(exact, &[f32::MAX; DIM_MAX], &hits(&[0]), 1).unwrap();
    assert!(best[0].score.is_finite());
}

#[test]
fn faults_are_refused_with_their_place() {
    let mut floats = exact_bytes(2, [[1.0, 2.0], [3.0, 4.0]]).unwrap();
    let exact = Exact::new(2, 2, &floats).unwrap();
    let query = [1.0, 1.0];
    let refused = |query: &[f32], row: u32| rescore(exact, query, &hits(&[0, row]), 1).unwrap_err();
    for row in [2, u32::MAX] {
        assert_eq!(refused(&query, row), VectorError::NoRow { row, rows: 2 });
    }
    let found = 3;
    let fault = VectorError::QueryLength { found, dim: 2 };
    assert_eq!(refused(&[1.0; 3], 1), fault);
    let fault = VectorError::QueryNotFinite { index: 1 };
    assert_eq!(refused(&[1.0, f32::NAN], 1), fault);
    let fault = VectorError::Dimensions { dim: 0 };
    assert_eq!(refused(&[], 1), fault);

    floats[12..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    let exact = Exact::new(2, 2, &floats).unwrap();
    assert!(rescore(exact, &query, &hits(&[0]), 1).is_ok());
    let fault = rescore(exact, &query, &hits(&[0, 1]), 1).unwrap_err();
    assert_eq!(fault, VectorError::RowNotFinite { row: 1, index: 1 });
    let fault = exact_bytes(2, [[1.0, f32::NAN]]).unwrap_err();
    assert_eq!(fault, VectorError::RowNotFinite { row: 0, index: 1 });
}

proptest! {
    #[test]
    fn rescoring_all_rows_is_the_slow_order(
        rows in (1usize..=70).prop_flat_map(|dim| vec(vec(-1e6f32..1e6, dim), 1..=20)),
        k in 0usize..=25,
    ) {
        let (query, dim, count) = (&rows[0], rows[0].len(), rows.len() as u32);
        let floats = exact_bytes(dim, &rows).unwrap();
        let exact = Exact::new(dim, count, &floats).unwrap();
        let all: Vec<u32> = (0..count).rev().collect();
        let best = rescore(exact, query, &hits(&all), k).unwrap();
        prop_assert_eq!(best, naive::rescore(&rows, query, k));
    }
}
