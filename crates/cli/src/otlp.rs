// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces and metrics to an OpenTelemetry collector, by OTLP over HTTP.
//!
//! Spans and their events are those of the log, metrics those of `/metrics`; so neither has a
//! content, an argument or a key. Without the cargo feature `otlp` only the refusal is built.

#[cfg(feature = "otlp")]
mod export;

#[cfg(feature = "otlp")]
pub use export::{Exported, Traces};

#[cfg(not(feature = "otlp"))]
use crate::config::Settings;
#[cfg(not(feature = "otlp"))]
use crate::failure::Failure;

/// Refuses an endpoint that nothing would be sent to.
#[cfg(not(feature = "otlp"))]
pub fn refuse(settings: &Settings) -> Result<(), Failure> {
    if settings.otlp_endpoint.is_empty() {
        return Ok(());
    }
    let text = "`otlp.endpoint` is set, and this build exports nothing; build it with \
                `--features otlp`, or leave the setting out";
    Err(Failure::usage(text))
}
