// SPDX-License-Identifier: MIT OR Apache-2.0
//! The buckets at moments that the tests choose.

use super::{BUCKETS_MANY, Buckets};
use crate::limits::Rate;
use ancile_core::Digest;
use std::time::{Duration, Instant};

fn id(number: u64) -> Digest {
    Digest::sha256(&number.to_le_bytes())
}

#[test]
fn a_burst_passes_and_then_as_much_as_flows_in() {
    let buckets = Buckets::new(Rate {
        per_second: 2,
        burst: 3,
    });
    let start = Instant::now();
    let take = |who, ms| buckets.take_at(&id(who), start + Duration::from_millis(ms));
    for _ in 0..3 {
        take(1, 0).unwrap();
    }
    let refused = take(1, 0).unwrap_err();
    assert_eq!((refused.code, refused.retry), ("rate_limited", Some(1)));
    take(2, 0).unwrap();
    assert!(take(1, 499).is_err(), "one below");
    take(1, 500).unwrap();
    assert!(take(1, 999).is_err());
    take(1, 1_001).unwrap();
    // However long nobody asks, no more than a burst gathers.
    for _ in 0..3 {
        take(1, 3_600_000).unwrap();
    }
    assert!(take(1, 3_600_000).is_err());
    // A clock that goes back gives nothing.
    assert!(take(1, 0).is_err());
}

#[test]
fn one_that_never_refills_says_so() {
    let buckets = Buckets::new(Rate {
        per_second: 0,
        burst: 1,
    });
    buckets.take(&id(1)).unwrap();
    assert_eq!(buckets.take(&id(1)).unwrap_err().retry, Some(3_600));
    let none = Buckets::new(Rate {
        per_second: 1,
        burst: 0,
    });
    assert!(none.take(&id(1)).is_err());
}

#[test]
fn full_buckets_are_forgotten() {
    let buckets = Buckets::new(Rate {
        per_second: 1,
        burst: 1,
    });
    let start = Instant::now();
    for number in 0..u64::try_from(BUCKETS_MANY).unwrap() {
        buckets.take_at(&id(number), start).unwrap();
    }
    let later = start + Duration::from_secs(2);
    buckets.take_at(&id(u64::MAX), later).unwrap();
    assert_eq!(buckets.each.lock().unwrap().len(), 1);
}
