// SPDX-License-Identifier: MIT OR Apache-2.0
use super::in_rounds;
use rayon::ThreadPoolBuilder;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn a_question_waits_for_the_texts_that_are_computed_and_not_for_all() {
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        let done = AtomicUsize::new(0);
        let texts = vec!["a text"; 100];
        let waited = std::thread::scope(|scope| {
            scope.spawn(|| {
                in_rounds(&pool, &texts, |_| {
                    std::thread::sleep(Duration::from_millis(5));
                    done.fetch_add(1, Ordering::SeqCst)
                })
            });
            while done.load(Ordering::SeqCst) < 5 {
                std::thread::yield_now();
            }
            let before = done.load(Ordering::SeqCst);
            pool.install(|| done.load(Ordering::SeqCst)) - before
        });
        // The machine may be busy with something else for some of it.
        assert!(waited < 50, "{waited} of 95 texts came first");
    }
}

#[test]
fn rounds_keep_the_order() {
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let texts = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg"];
    for count in 0..=texts.len() {
        let lengths: Vec<usize> = (1..=count).collect();
        assert_eq!(in_rounds(&pool, &texts[..count], str::len), lengths);
    }
}
