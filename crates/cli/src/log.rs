// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log of a server, on standard error.
//!
//! It carries ids, codes, counts and times, and never a content, an argument or a key.

use crate::config::{LogFormat, Settings};
use crate::failure::Failure;
use crate::otlp;
use std::io::{IsTerminal as _, stderr};
use std::panic;
use tracing::Subscriber;
use tracing::subscriber::set_global_default;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

/// The log from its start on, and what else its spans go to; that ends with this value.
pub struct Log {
    #[cfg(feature = "otlp")]
    _traces: Option<otlp::Traces>,
}

impl Log {
    /// Logs to standard error from here on, as the settings say.
    ///
    /// # Errors
    /// When the level does not read, which the settings have ruled out, or spans are to go where
    /// this build sends none.
    pub fn start(settings: &Settings) -> Result<Self, Failure> {
        let filter = EnvFilter::builder()
            .parse(&settings.log_level)
            .map_err(|fault| Failure::usage(format!("the log level does not read: {fault}")))?;
        let json = match settings.log_format {
            LogFormat::Json => true,
            LogFormat::Text => false,
            LogFormat::Auto => !stderr().is_terminal(),
        };
        // The text of a panic may hold a content; the place is enough to find it.
        panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string);
            tracing::error!(place, "a thread panicked");
        }));
        let log = registry().with(filter).with(lines(json));
        Self::begin(log, settings)
    }

    /// Ends what else the spans go to, with what is left of them.
    pub fn end(self) {}

    #[cfg(not(feature = "otlp"))]
    fn begin<S>(log: S, settings: &Settings) -> Result<Self, Failure>
    where
        S: Subscriber + Send + Sync + 'static,
    {
        otlp::refuse(settings)?;
        // A second subscriber is refused; then the first one logs.
        _ = set_global_default(log);
        Ok(Self {})
    }

    #[cfg(feature = "otlp")]
    fn begin<S>(log: S, settings: &Settings) -> Result<Self, Failure>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync + 'static,
    {
        let traces = otlp::Traces::start(settings)?;
        // A second subscriber is refused; then the first one logs.
        let spans = traces.as_ref().map(otlp::Traces::layer);
        _ = set_global_default(log.with(spans));
        Ok(Self { _traces: traces })
    }
}

/// What writes the lines.
fn lines<S>(json: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let lines = fmt::layer().with_writer(stderr);
    if json {
        let lines = lines.json().flatten_event(true);
        Box::new(lines.with_current_span(true).with_span_list(false))
    } else {
        Box::new(lines)
    }
}
