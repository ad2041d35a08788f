// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments read from bytes.

use ancile_kernel::{Exact, Quantised, Query, ROWS_MAX, VectorError, View, exact_bytes, scan};

const ROWS: [[f32; 3]; 4] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 0.0],
    [0.5, -0.5, 2.0],
];

#[test]
fn the_layout_is_rows_then_scales() {
    let bytes = Quantised::new(2, [[127.0, -1.0], [0.0, 254.0]])
        .unwrap()
        .into_bytes();
    let values = [127, 0xff, 0, 127];
    let scales = [1.0f32.to_le_bytes(), 2.0f32.to_le_bytes()].concat();
    assert_eq!(bytes, [values.as_slice(), &scales].concat());
    let bytes = exact_bytes(1, [[1.5], [-2.0]]).unwrap();
    assert_eq!(bytes, [0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0]);
}

#[test]
fn bytes_too_few_or_too_many_are_refused() {
    let bytes = Quantised::new(3, ROWS).unwrap().into_bytes();
    let floats = exact_bytes(3, ROWS).unwrap();
    let fault = |needed: u64, found: usize| VectorError::BytesLength {
        rows: 4,
        dim: 3,
        needed,
        found,
    };
    for found in (0..28).chain(29..40) {
        let mut bytes = bytes.clone();
        bytes.resize(found, 0);
        assert_eq!(View::new(3, 4, &bytes).unwrap_err(), fault(28, found));
    }
    for found in (0..48).chain(49..60) {
        let mut floats = floats.clone();
        floats.resize(found, 0);
        assert_eq!(Exact::new(3, 4, &floats).unwrap_err(), fault(48, found));
    }
    assert_eq!(
        fault(28, 27).to_string(),
        "4 rows of 3 dimensions are 28 bytes, not 27; read them again"
    );
    assert!(View::new(3, 4, &bytes).is_ok());
    assert!(Exact::new(3, 4, &floats).is_ok());
}

#[test]
fn rows_have_a_limit() {
    let count = ROWS_MAX as usize;
    let bytes = vec![0; (count + 1) * 5];
    let view = |rows: u32, len: usize| View::new(1, rows, &bytes[..len]);
    assert_eq!(
        view(ROWS_MAX - 1, (count - 1) * 5).unwrap().rows(),
        ROWS_MAX - 1
    );
    assert_eq!(view(ROWS_MAX, count * 5).unwrap().rows(), ROWS_MAX);
    let fault = view(ROWS_MAX + 1, (count + 1) * 5).unwrap_err();
    assert_eq!(fault, VectorError::TooManyRows);
    let fault = Exact::new(1, u32::MAX, &bytes).unwrap_err();
    assert_eq!(fault, VectorError::TooManyRows);
    let floats = |rows: usize| exact_bytes(1, std::iter::repeat_n([1.0], rows));
    assert_eq!(floats(count - 1).unwrap().len(), (count - 1) * 4);
    assert_eq!(floats(count).unwrap().len(), count * 4);
    assert_eq!(floats(count + 1).unwrap_err(), VectorError::TooManyRows);
}

#[test]
fn a_scale_that_no_writer_writes_is_refused_with_its_row() {
    let good = Quantised::new(3, ROWS).unwrap().into_bytes();
    for bad in [-1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut bytes = good.clone();
        bytes[12 + 3 * 4..].copy_from_slice(&bad.to_le_bytes());
        let fault = View::new(3, 4, &bytes).unwrap_err();
        assert_eq!(fault, VectorError::Scale { row: 3 }, "{bad}");
    }
}

#[test]
fn bytes_may_lie_at_any_address() {
    let segment = Quantised::new(3, ROWS).unwrap();
    let query = Query::new(&[0.3, 0.2, 0.1]).unwrap();
    let want = scan(segment.view(), &query, 4, &|_| true).unwrap();
    for offset in 0..8 {
        let mut bytes = vec![0; offset];
        bytes.extend(segment.as_bytes());
        let view = View::new(3, 4, &bytes[offset..]).unwrap();
        assert_eq!(scan(view, &query, 4, &|_| true).unwrap(), want);
    }
}

#[test]
fn a_value_of_minus_128_is_taken_as_it_is() {
    let mut bytes = vec![0x80, 0x80];
    bytes.extend(1.0f32.to_le_bytes());
    let view = View::new(2, 1, &bytes).unwrap();
    let query = Query::new(&[127.0, 127.0]).unwrap();
    let hits = scan(view, &query, 1, &|_| true).unwrap();
    assert_eq!(hits[0].score, -128.0 * 127.0 * 2.0);
}

#[test]
fn a_score_of_0_is_positive_whatever_the_bytes() {
    for (value, scale) in [(-1i8, 0.0f32), (1, -0.0)] {
        let mut bytes = vec![value.cast_unsigned()];
        bytes.extend(scale.to_le_bytes());
        let view = View::new(1, 1, &bytes).unwrap();
        let hits = scan(view, &Query::new(&[1.0]).unwrap(), 1, &|_| true).unwrap();
        assert_eq!(hits[0].score.to_bits(), 0);
    }
}
