// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moments, handed in by the caller: this crate reads no clock.

/// A moment in microseconds since 1970-01-01 00:00 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub i64);

impl Micros {
    /// The moment this many seconds later; saturates at the end of time.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }
}
