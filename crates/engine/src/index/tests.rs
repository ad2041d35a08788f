// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done beside something else.

use super::beside;
use std::thread::{self, ThreadId};

#[test]
fn both_answer_whether_or_not_they_have_a_thread_each() {
    let there = || thread::current().id();
    let both = |apart| -> (ThreadId, ThreadId) { beside(apart, || thread::current().id(), &there) };
    let here = thread::current().id();
    assert_eq!(both(false), (here, here));
    let (first, second) = both(true);
    assert_eq!(first, here);
    assert_ne!(second, here);
}

#[test]
#[should_panic(expected = "a scan that fails")]
fn a_panic_beside_is_not_swallowed() {
    beside(true, || (), &|| panic!("a scan that fails"));
}
