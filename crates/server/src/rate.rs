// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast one credential may ask: a token bucket each.

use crate::limits::Rate;
use crate::problem::Problem;
use ancile_core::Digest;
use axum::http::StatusCode;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Parts of a token, so that refilling needs no fractions: one a nanosecond at a token a second.
const TOKEN: u64 = 1_000_000_000;
/// Buckets from which full ones are dropped before another is made.
const BUCKETS_MANY: usize = 10_000;
/// What `Retry-After` says at most, in seconds.
const RETRY_SECONDS_MAX: u64 = 3_600;

/// The bucket of one credential.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// In parts of a token.
    level: u64,
    at: Instant,
}

/// The buckets of all credentials.
#[derive(Debug)]
pub(crate) struct Buckets {
    rate: Rate,
    each: Mutex<HashMap<Digest, Bucket>>,
}

impl Buckets {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            rate,
            each: Mutex::new(HashMap::new()),
        }
    }

    /// Takes a token of a credential, or says when to come back.
    pub(crate) fn take(&self, credential: &Digest) -> Result<(), Problem> {
        self.take_at(credential, Instant::now())
    }

    fn take_at(&self, credential: &Digest, now: Instant) -> Result<(), Problem> {
        let full = u64::from(self.rate.burst).saturating_mul(TOKEN);
        let mut each = match self.each.lock() {
            Ok(each) => each,
            Err(poisoned) => poisoned.into_inner(),
        };
        if each.len() >= BUCKETS_MANY && !each.contains_key(credential) {
            each.retain(|_, bucket| self.level(bucket, now, full) < full);
        }
        let bucket = each.entry(*credential).or_insert(Bucket {
            level: full,
            at: now,
        });
        bucket.level = self.level(bucket, now, full);
        bucket.at = now;
        match bucket.level.checked_sub(TOKEN) {
            Some(left) => {
                bucket.level = left;
                Ok(())
            }
            None => Err(self.refuse(bucket.level)),
        }
    }

    /// What a bucket holds at a moment.
    fn level(&self, bucket: &Bucket, now: Instant, full: u64) -> u64 {
        let since = now.saturating_duration_since(bucket.at);
        let since = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        let more = since.saturating_mul(u64::from(self.rate.per_second));
        bucket.level.saturating_add(more).min(full)
    }

    fn refuse(&self, level: u64) -> Problem {
        let Rate { per_second, burst } = self.rate;
        let missing = TOKEN.saturating_sub(level);
        let wait = missing.checked_div(u64::from(per_second));
        let wait = wait.map_or(Duration::MAX, Duration::from_nanos);
        let seconds = wait.as_secs().saturating_add(1).min(RETRY_SECONDS_MAX);
        let detail = format!(
            "this key asks too fast; limit is {per_second} requests a second, {burst} at once; try \
             again in {seconds} seconds"
        );
        let mut problem =
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail).closing();
        problem.retry = u32::try_from(seconds).ok();
        problem
    }
}

#[cfg(test)]
mod tests;
