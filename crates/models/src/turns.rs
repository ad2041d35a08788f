// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thing that many threads use, and none twice while another waits.

use std::sync::{Mutex, MutexGuard};

/// As a [`Mutex`], but that a thread which takes it again and again lets one that waits come first:
/// a lock alone may go to whoever had it before.
pub(crate) struct Turns<T> {
    /// Held by whoever comes next.
    next: Mutex<()>,
    inner: Mutex<T>,
}

impl<T> Turns<T> {
    pub(crate) const fn new(inner: T) -> Self {
        Self {
            next: Mutex::new(()),
            inner: Mutex::new(inner),
        }
    }

    pub(crate) fn take(&self) -> MutexGuard<'_, T> {
        let _next = lock(&self.next);
        lock(&self.inner)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}

#[cfg(test)]
mod tests;
