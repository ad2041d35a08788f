// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log of a server, on standard error.
//!
//! It carries ids, codes, counts and times, and never a content, an argument or a key.

use crate::config::{LogFormat, Settings};
use crate::failure::Failure;
use std::io::{IsTerminal as _, stderr};
use std::panic;
use tracing_subscriber::EnvFilter;

/// Logs to standard error from here on, as the settings say.
///
/// # Errors
/// When the level does not read, which the settings have ruled out.
pub fn to_stderr(settings: &Settings) -> Result<(), Failure> {
    let filter = EnvFilter::builder()
        .parse(&settings.log_level)
        .map_err(|fault| Failure::usage(format!("the log level does not read: {fault}")))?;
    let json = match settings.log_format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !stderr().is_terminal(),
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr);
    // A second subscriber is refused; then the first one logs.
    _ = if json {
        let log = log.json().flatten_event(true);
        log.with_current_span(true).with_span_list(false).try_init()
    } else {
        log.try_init()
    };
    // The text of a panic may hold a content; the place is enough to find it.
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "a thread panicked");
    }));
    Ok(())
}
