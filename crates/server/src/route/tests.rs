// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

#[test]
fn request_ids_differ() {
    let ids = RequestIds::new();
    assert_ne!(ids.next(), ids.next());
}
