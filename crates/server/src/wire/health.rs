// SPDX-License-Identifier: MIT OR Apache-2.0
//! Health on the wire.

use ancile_engine::Engine;
use ancile_engine::api::{Gates, Health};
use ancile_engine::counts::SlowCommit;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// How the store stands; to anyone, so nothing that says what is in it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HealthBody {
    /// `ok`, `degraded` or `down`.
    pub(crate) status: &'static str,
    /// `verified`, `pending`, `damaged` or `down`.
    pub(crate) integrity: &'static str,
    /// Given only where decisions do not bind: `log_only` or `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    gates: Option<&'static str>,
    /// What is not as it should be, besides integrity; given only where something is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<CheckBody>,
}

/// Something that is not as it should be.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CheckBody {
    /// What was looked at: `commit_latency`.
    check: &'static str,
    /// `degraded`.
    status: &'static str,
    /// What was measured, in milliseconds.
    measured_milliseconds: u64,
    /// What it may be, in milliseconds.
    limit_milliseconds: u64,
    /// What to do.
    next: &'static str,
}

impl HealthBody {
    /// How it stands while a commit does not end.
    pub(crate) fn stalled(engine: &Engine, slow: &SlowCommit) -> Self {
        Self::of(
            engine.counts().integrity().name(),
            engine.gates(),
            Some(slow),
        )
    }

    fn of(integrity: &'static str, gates: Gates, slow: Option<&SlowCommit>) -> Self {
        let status = match integrity {
            // What is compared already holds, and what is not yet binds no side effect.
            "verified" | "pending" if slow.is_none() => "ok",
            "down" => "down",
            _ => "degraded",
        };
        Self {
            status,
            integrity,
            gates: match gates {
                Gates::Enforce => None,
                Gates::LogOnly => Some("log_only"),
                Gates::Off => Some("off"),
            },
            checks: slow.into_iter().map(CheckBody::from).collect(),
        }
    }
}

impl From<&SlowCommit> for CheckBody {
    fn from(slow: &SlowCommit) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            check: "commit_latency",
            status: "degraded",
            measured_milliseconds: millis(slow.took),
            limit_milliseconds: millis(slow.limit),
            next: "look at the disk under data and witness, or raise \
                   `health.slow_commit_milliseconds`",
        }
    }
}

impl From<&Health> for HealthBody {
    fn from(health: &Health) -> Self {
        Self::of(health.integrity, health.gates, health.slow_commit.as_ref())
    }
}
