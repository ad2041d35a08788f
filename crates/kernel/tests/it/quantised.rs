// SPDX-License-Identifier: MIT OR Apache-2.0
//! From f32 to int8.

use crate::naive;
use ancile_kernel::{DIM_MAX, Quantised, Query, ROWS_MAX, VectorError, View};
use proptest::collection::vec;
use proptest::prelude::*;

/// The values and the scale of one row.
fn one(values: &[f32]) -> (Vec<i64>, f32) {
    let rows = Quantised::new(values.len(), [values]).unwrap();
    naive::rows(values.len(), rows.as_bytes()).remove(0)
}

#[test]
fn the_largest_magnitude_is_127_and_halves_go_away_from_zero() {
    assert_eq!(one(&[254.0, -254.0]), (vec![127, -127], 2.0));
    assert_eq!(
        one(&[127.0, 0.5, -0.5, 0.49, 1.5]),
        (vec![127, 1, -1, 0, 2], 1.0)
    );
    assert_eq!(one(&[-1.0]), (vec![-127], 1.0 / 127.0));
}

#[test]
fn a_zero_vector_has_scale_0() {
    assert_eq!(one(&[0.0, -0.0, 0.0]), (vec![0, 0, 0], 0.0));
}

#[test]
fn the_smallest_and_largest_numbers_quantise() {
    assert_eq!(one(&[f32::MAX, f32::MIN]).0, [127, -127]);
    assert_eq!(one(&[f32::MIN_POSITIVE, 0.0]).0, [127, 0]);
    let tiny = f32::from_bits(1);
    assert_eq!(one(&[tiny, -tiny]), (vec![0, 0], 0.0));
    let least = f32::from_bits(64);
    assert_eq!(one(&[least, -least]), (vec![127, -127], tiny));
}

#[test]
fn what_is_not_finite_is_refused_with_its_index() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let rows = [[0.0, 1.0, 2.0], [0.0, 1.0, bad]];
        let fault = Quantised::new(3, rows).unwrap_err();
        assert_eq!(fault, VectorError::RowNotFinite { row: 1, index: 2 });
        assert_eq!(
            fault.to_string(),
            "row 1 is not a finite number at index 2; embed its text again"
        );
        let fault = Query::new(&[bad, bad]).unwrap_err();
        assert_eq!(fault, VectorError::QueryNotFinite { index: 0 });
    }
}

#[test]
fn dimensions_have_limits() {
    for dim in [0, DIM_MAX + 1] {
        let fault = VectorError::Dimensions { dim };
        assert_eq!(Quantised::new(dim, [vec![1.0; dim]]).unwrap_err(), fault);
        assert_eq!(Query::new(&vec![1.0; dim]).unwrap_err(), fault);
        assert_eq!(View::new(dim, 0, &[]).unwrap_err(), fault);
    }
    for dim in [1, DIM_MAX - 1, DIM_MAX] {
        let rows = Quantised::new(dim, [vec![1.0; dim]]).unwrap();
        assert_eq!((rows.view().dim(), rows.view().rows()), (dim, 1));
        assert_eq!(Query::new(&vec![1.0; dim]).unwrap().dim(), dim);
    }
    assert_eq!(
        VectorError::Dimensions { dim: 5000 }.to_string(),
        "a vector of 5000 dimensions; limit is 1 to 4096; take an embedder within it"
    );
}

#[test]
fn rows_are_of_one_length() {
    let fault = Quantised::new(2, [vec![1.0; 2], vec![1.0; 3]]).unwrap_err();
    let (row, found, dim) = (1, 3, 2);
    assert_eq!(fault, VectorError::RowLength { row, found, dim });
}

#[test]
fn rows_have_a_limit() {
    let of = |rows: u32| Quantised::new(1, std::iter::repeat_n([1.0], rows as usize));
    assert_eq!(of(ROWS_MAX - 1).unwrap().view().rows(), ROWS_MAX - 1);
    assert_eq!(of(ROWS_MAX).unwrap().view().rows(), ROWS_MAX);
    assert_eq!(of(ROWS_MAX + 1).unwrap_err(), VectorError::TooManyRows);
}

#[test]
fn there_may_be_no_rows() {
    let none: [[f32; 3]; 0] = [];
    let rows = Quantised::new(3, none).unwrap();
    assert_eq!(rows.view().rows(), 0);
    assert!(rows.into_bytes().is_empty());
}

proptest! {
    #[test]
    fn a_value_is_within_half_a_scale(values in vec(-1e3f32..1e3, 1..=70)) {
        let (levels, scale) = one(&values);
        for (value, level) in values.iter().zip(levels) {
            prop_assert!((-127..=127).contains(&level));
            let error = (f64::from(*value) - level as f64 * f64::from(scale)).abs();
            // The scale itself is rounded to f32, which moves 127 of it by less than 1e-5.
            prop_assert!(error <= f64::from(scale) * 0.500_01, "{value} is {level} of {scale}");
        }
    }
}
