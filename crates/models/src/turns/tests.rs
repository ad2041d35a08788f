// SPDX-License-Identifier: MIT OR Apache-2.0
use super::Turns;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the other thread takes it in all.
const ALL: u32 = 300;

#[test]
fn who_takes_it_again_and_again_lets_others_come_between() {
    let turns = Turns::new(0_u32);
    let done = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..ALL {
                let mut count = turns.take();
                *count += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            done.store(true, Ordering::SeqCst);
        });
        let mut seen = 0;
        while !done.load(Ordering::SeqCst) {
            let count = turns.take();
            seen += 1;
            drop(count);
            std::thread::sleep(Duration::from_micros(100));
        }
        seen
    });
    assert_eq!(*turns.take(), ALL);
    assert!(seen > ALL / 10, "it came between {seen} times");
}
