// SPDX-License-Identifier: MIT OR Apache-2.0
use super::Turns;
use std::time::Duration;

#[test]
fn who_takes_it_again_lets_one_that_waits_come_between() {
    for round in 0..20 {
        let turns = Turns::new(0_u32);
        let between = std::thread::scope(|scope| {
            let mine = turns.take();
            scope.spawn(|| *turns.take() += 1);
            // Until the other one waits.
            for _ in 0..1_000 {
                if turns.next.try_lock().is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(mine);
            *turns.take()
        });
        assert_eq!(between, 1, "round {round}");
    }
}
