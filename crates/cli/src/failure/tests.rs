// SPDX-License-Identifier: MIT OR Apache-2.0
use super::{Exit, Failure};
use ancile_engine::{Fault, Refusal};

#[test]
fn what_only_the_log_sees_is_said_once() {
    for (inside, said) in [
        ("", "the lock is held; wait"),
        ("the lock is held; wait", "the lock is held; wait"),
        (
            "the lock is held; wait: interrupted",
            "the lock is held; wait: interrupted",
        ),
        (
            "the medium is full",
            "the lock is held; wait (the medium is full)",
        ),
    ] {
        let refusal = Refusal::new(Fault::Unavailable, "code", "the lock is held; wait");
        let failure = Failure::from(refusal.inside(inside));
        assert_eq!(failure, Failure::new(Exit::Unavailable, "code", said));
    }
}
