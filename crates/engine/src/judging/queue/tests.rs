// SPDX-License-Identifier: MIT OR Apache-2.0
use super::{Held, Queue};
use ancile_core::{EntryId, TenantName};
use std::time::Duration;

/// Long enough that nothing is overdue.
const LONG: Duration = Duration::from_hours(1);

fn held(tenant: &str, number: u8) -> Held {
    let tenant = TenantName::new(tenant).unwrap();
    (tenant, EntryId::at(u64::from(number), [number; 10]))
}

#[test]
fn tenants_come_in_turn_whoever_has_more() {
    let queue = Queue::new(1);
    queue.push((0..3).map(|n| held("busy", n)));
    queue.push([held("quiet", 9)]);
    let taken: Vec<Held> = (0..4).filter_map(|_| queue.take(0)).collect();
    let expected = [
        held("busy", 0),
        held("quiet", 9),
        held("busy", 1),
        held("busy", 2),
    ];
    assert_eq!(taken, expected);
}

#[test]
fn an_entry_waits_once_until_it_is_done() {
    let queue = Queue::new(1);
    queue.push([held("a", 1), held("a", 1)]);
    assert_eq!(queue.take(0), Some(held("a", 1)));
    // It is being asked about; then it is done, and may come again.
    queue.push([held("a", 1), held("a", 2)]);
    assert_eq!(queue.take(0), Some(held("a", 2)));
    queue.done(&held("a", 1));
    queue.push([held("a", 1)]);
    assert_eq!(queue.take(0), Some(held("a", 1)));
    queue.again(held("a", 1));
    assert_eq!(queue.take(0), Some(held("a", 1)));
}

#[test]
fn only_what_is_asked_about_is_overdue_while_a_thread_is_free() {
    let queue = Queue::new(2);
    queue.push((1..4).map(|n| held("a", n)));
    assert_eq!(queue.take(0), Some(held("a", 1)));
    // Reading the content is not the judge's time.
    assert_eq!(queue.overdue(Duration::ZERO).0, []);
    queue.asks(0);
    assert_eq!(queue.overdue(LONG).0, []);
    assert_eq!(queue.overdue(Duration::ZERO).0, [held("a", 1)]);
    assert_eq!(queue.overdue(Duration::ZERO).0, [], "once");
    assert!(
        !queue.answered(0),
        "an answer that comes later counts no more"
    );
    // The thread is free again, and asks about the next.
    assert_eq!(queue.take(0), Some(held("a", 2)));
    queue.asks(0);
    assert!(queue.answered(0));
}

#[test]
fn an_answer_at_the_end_counts_for_nothing() {
    let queue = Queue::new(2);
    queue.push([held("a", 1), held("a", 2)]);
    for thread in 0..2 {
        queue.take(thread);
        queue.asks(thread);
    }
    assert!(queue.answered(0));
    queue.stop();
    assert!(!queue.answered(1));
    assert_eq!(queue.take(0), None);
}

#[test]
fn what_waits_is_overdue_once_every_thread_hangs() {
    let queue = Queue::new(2);
    queue.push((1..5).map(|n| held("a", n)));
    for thread in 0..2 {
        queue.take(thread);
        queue.asks(thread);
    }
    let all: Vec<Held> = (1..5).map(|n| held("a", n)).collect();
    assert_eq!(queue.overdue(Duration::ZERO).0, all);
    queue.push([held("b", 7)]);
    let (over, look) = queue.overdue(LONG);
    assert_eq!(over, []);
    assert!(look.next.is_some(), "it is looked at again");
    assert_eq!(queue.overdue(Duration::ZERO).0, [held("b", 7)]);
    // A thread comes back: what is new waits for it.
    assert!(!queue.answered(0));
    queue.push([held("b", 8)]);
    assert_eq!(queue.overdue(Duration::ZERO).0, []);
    assert_eq!(queue.take(0), Some(held("b", 8)));
}

#[test]
fn the_watch_misses_nothing_that_came_after_its_look() {
    let queue = Queue::new(1);
    let (_, look) = queue.overdue(LONG);
    queue.push([held("a", 1)]);
    assert!(queue.watch(&look), "it does not wait");
    let (_, look) = queue.overdue(LONG);
    queue.stop();
    assert!(!queue.watch(&look) && !queue.pause(LONG));
    assert_eq!(queue.take(0), None, "what waits is found again at open");
}
