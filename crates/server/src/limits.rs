// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one caller may take of the server.

use crate::metrics::MetricsAccess;
use std::time::Duration;

/// Longest body of a request, in bytes.
pub const BODY_BYTES_MAX: usize = 1_048_576;
/// Most bytes of bodies that are held at the same time, over all requests; further ones are
/// answered with 503.
pub const BODIES_BYTES_MAX: usize = 67_108_864;
/// Longest request line and headers together, in bytes. They are measured as they are read, so
/// that a head of up to twice this may pass; a longer one is answered with 431.
pub const HEAD_BYTES_MAX: usize = 32_768;
/// Most requests that are worked on at the same time; further ones are answered with 503.
pub const REQUESTS_MAX: usize = 256;
/// Most open connections; further ones wait to be accepted.
pub const CONNECTIONS_MAX: usize = 1_024;
/// How long a client may take to send request line and headers, in seconds. It is also how long a
/// connection may idle.
pub const HEAD_SECONDS: u64 = 15;
/// How long a client may take to send a body, in seconds.
pub const BODY_SECONDS: u64 = 20;
/// How long the engine may take for one request, in seconds.
pub const WORK_SECONDS: u64 = 30;
/// How long requests under way may take once the server is told to stop, in seconds.
pub const STOP_SECONDS: u64 = 10;
/// Most bytes of an oversized body that are read and thrown away, so that the client can see the
/// answer; the connection is closed after them.
pub const LINGER_BYTES_MAX: usize = 4_194_304;
/// How long an oversized body is read and thrown away, in seconds.
pub const LINGER_SECONDS: u64 = 2;
/// Seconds after which a refused client may try again.
pub const RETRY_SECONDS: u32 = 1;

/// How fast one key may ask, in requests a second.
pub const RATE_PER_SECOND: u32 = 10_000;
/// Requests of one key that may come at once.
pub const RATE_BURST: u32 = 20_000;

/// How fast one key may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests a second, over time; 0 is none after the burst.
    pub per_second: u32,
    /// Requests at once, after a time without any.
    pub burst: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self {
            per_second: RATE_PER_SECOND,
            burst: RATE_BURST,
        }
    }
}

/// The limits of one server; the default is the constants of this module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest body of a request, in bytes: [`BODY_BYTES_MAX`].
    pub body_bytes: usize,
    /// Most bytes of bodies held at the same time: [`BODIES_BYTES_MAX`].
    pub bodies_bytes: usize,
    /// Most requests worked on at the same time: [`REQUESTS_MAX`].
    pub requests: usize,
    /// Most open connections: [`CONNECTIONS_MAX`].
    pub connections: usize,
    /// For request line and headers: [`HEAD_SECONDS`].
    pub head: Duration,
    /// For the body: [`BODY_SECONDS`].
    pub body: Duration,
    /// For the engine's work: [`WORK_SECONDS`].
    pub work: Duration,
    /// For requests under way at the end: [`STOP_SECONDS`].
    pub stop: Duration,
    /// For each key: [`RATE_PER_SECOND`] and [`RATE_BURST`].
    pub rate: Rate,
    /// Who may read the metrics: the operator.
    pub metrics: MetricsAccess,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: BODY_BYTES_MAX,
            bodies_bytes: BODIES_BYTES_MAX,
            requests: REQUESTS_MAX,
            connections: CONNECTIONS_MAX,
            head: Duration::from_secs(HEAD_SECONDS),
            body: Duration::from_secs(BODY_SECONDS),
            work: Duration::from_secs(WORK_SECONDS),
            stop: Duration::from_secs(STOP_SECONDS),
            rate: Rate::default(),
            metrics: MetricsAccess::Operator,
        }
    }
}
