// SPDX-License-Identifier: MIT OR Apache-2.0
//! A generator that visits every case once.
//!
//! The body of the loop draws numbers as it would from a random generator. The draws of one pass
//! are the digits of a number with mixed radices, and the next pass counts it up by one:
//!
//! ```text
//! let mut every = Exhaust::default();
//! while every.next_case() { let (a, b) = (every.below(3), every.below(2)); ... }
//! ```

/// The draws of one pass, and how far the current pass has come.
#[derive(Default)]
pub struct Exhaust {
    digits: Vec<Digit>,
    at: usize,
    started: bool,
}

struct Digit {
    value: usize,
    radix: usize,
}

impl Exhaust {
    /// Moves to the next case; false once all were visited.
    pub fn next_case(&mut self) -> bool {
        if !self.started {
            self.started = true;
            return true;
        }
        assert_eq!(self.at, self.digits.len(), "a pass drew less than the last");
        self.at = 0;
        while let Some(last) = self.digits.last_mut() {
            last.value += 1;
            if last.value < last.radix {
                return true;
            }
            self.digits.pop();
        }
        false
    }

    /// A number below `radix`.
    pub fn below(&mut self, radix: usize) -> usize {
        assert!(radix > 0, "nothing is below 0");
        if self.at == self.digits.len() {
            self.digits.push(Digit { value: 0, radix });
        }
        let digit = &self.digits[self.at];
        assert_eq!(
            digit.radix, radix,
            "the draws depend on more than the draws before"
        );
        self.at += 1;
        digit.value
    }

    /// True or false.
    pub fn flip(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Labels for `n` things, up to the names of the labels: every way of sharing labels, once.
    pub fn labels(&mut self, n: usize) -> Vec<u32> {
        let mut next = 0;
        (0..n)
            .map(|_| {
                let label = self.below(next + 1);
                next = next.max(label + 1);
                u32::try_from(label).unwrap()
            })
            .collect()
    }

    /// An order of `n` things, each order once: place `i` is where thing `i` comes.
    pub fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::with_capacity(n);
        for thing in 0..n {
            let place = self.below(thing + 1);
            order.insert(place, thing);
        }
        let mut places = vec![0; n];
        for (place, thing) in order.into_iter().enumerate() {
            places[thing] = place;
        }
        places
    }
}

/// All values that a generating body makes.
pub fn all<T>(mut body: impl FnMut(&mut Exhaust) -> T) -> Vec<T> {
    let mut every = Exhaust::default();
    let mut out = Vec::new();
    while every.next_case() {
        out.push(body(&mut every));
    }
    out
}

#[test]
fn every_case_comes_once() {
    let pairs = all(|e| (e.below(2), e.below(3)));
    assert_eq!(pairs, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    let dependent = all(|e| {
        let n = e.below(3);
        (0..n).map(|_| e.flip()).collect::<Vec<_>>()
    });
    assert_eq!(dependent.len(), 1 + 2 + 4);
    for (n, bell, factorial) in [(0, 1, 1), (1, 1, 1), (3, 5, 6), (5, 52, 120)] {
        let labels: std::collections::BTreeSet<_> = all(|e| e.labels(n)).into_iter().collect();
        let orders: std::collections::BTreeSet<_> = all(|e| e.order(n)).into_iter().collect();
        assert_eq!((labels.len(), orders.len()), (bell, factorial), "{n}");
    }
}
