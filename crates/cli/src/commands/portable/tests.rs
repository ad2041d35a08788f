// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long an import waits for a judge.

use super::{JUDGE_BUSY, taken};
use crate::failure::{Exit, Failure};
use serde_json::json;
use std::cell::Cell;
use std::time::Duration;

/// Sends entries that are refused so many times; gives how it ended, and how long it waited.
fn refused(times: u64, code: &str) -> (Result<(), String>, Duration) {
    let (left, waited) = (Cell::new(times), Cell::new(Duration::ZERO));
    let send = || match left.get() {
        0 => Ok(json!([])),
        more => {
            left.set(more - 1);
            Err(Failure::new(Exit::Unavailable, code, "no"))
        }
    };
    let wait = |time| waited.set(waited.get() + time);
    let ended = taken(send, wait).map(|_| ()).map_err(|fault| fault.code);
    (ended, waited.get())
}

#[test]
fn an_import_waits_for_a_judge_for_ten_minutes_and_no_longer() {
    let busy = || Err(JUDGE_BUSY.to_owned());
    for (times, ended, seconds) in [
        (0, Ok(()), 0),
        (1, Ok(()), 1),
        (599, Ok(()), 599),
        (600, Ok(()), 600),
        (601, busy(), 600),
    ] {
        let expected = (ended, Duration::from_secs(seconds));
        assert_eq!(refused(times, JUDGE_BUSY), expected, "{times}");
    }
    let other = (Err("forbidden".to_owned()), Duration::ZERO);
    assert_eq!(refused(1, "forbidden"), other);
}
