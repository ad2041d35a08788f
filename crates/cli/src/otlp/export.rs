// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sends traces and metrics.

use crate::config::Settings;
use crate::failure::{Exit, Failure};
use ancile_server::{Family, FamilyKind, Metrics, Point, PointValue};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use prost::Message as _;
use std::future::{self, Future};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

/// How long a collector may take for one request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// What a server calls itself.
const SERVICE: &str = "ancile";

/// Spans on their way to a collector; what is left is sent when this is dropped.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Where spans go, if the settings say so.
    ///
    /// # Errors
    /// When no exporter can be made.
    pub fn start(settings: &Settings) -> Result<Option<Self>, Failure> {
        if settings.otlp_endpoint.is_empty() {
            return Ok(None);
        }
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new())
            .with_endpoint(format!("{}/v1/traces", settings.otlp_endpoint))
            .with_timeout(TIMEOUT)
            .build()
            .map_err(|fault| failed(&fault))?;
        let resource = opentelemetry_sdk::Resource::builder()
            .with_service_name(SERVICE)
            .build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_batch_exporter(exporter)
            .build();
        Ok(Some(Self(provider)))
    }

    /// What takes the spans of the log.
    pub fn layer<S>(&self) -> OpenTelemetryLayer<S, SdkTracer>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer(SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(fault) = self.0.shutdown() {
            tracing::warn!(%fault, "the last spans could not be exported");
        }
    }
}

/// Metrics that are sent again and again, and once more when this is dropped.
#[derive(Debug)]
pub struct Exported {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Exported {
    /// Sends them, if the settings say so.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn start(settings: &Settings, metrics: Metrics) -> Result<Option<Self>, Failure> {
        if settings.otlp_endpoint.is_empty() {
            return Ok(None);
        }
        let (stop, stopped) = channel();
        let sender = MetricSender {
            metrics,
            address: format!("{}/v1/metrics", settings.otlp_endpoint),
            client: Client::new(),
            started: now(),
        };
        let interval = settings.otlp_interval;
        let thread = std::thread::Builder::new()
            .name("ancile-otlp".to_owned())
            .spawn(move || sender.run(interval, &stopped))
            .map_err(|fault| failed(&fault))?;
        Ok(Some(Self {
            stop: Some(stop),
            thread: Some(thread),
        }))
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the thread that exports metrics ended by a panic");
        }
    }
}

fn failed(fault: &dyn std::fmt::Display) -> Failure {
    let text = format!("OTLP cannot be started: {fault}; leave `otlp.endpoint` out");
    Failure::new(Exit::Unavailable, "otlp", text)
}

/// Sends metrics.
struct MetricSender {
    metrics: Metrics,
    address: String,
    client: Client,
    /// When counting began, in nanoseconds since 1970.
    started: u64,
}

impl MetricSender {
    fn run(&self, interval: Duration, stopped: &Receiver<()>) {
        loop {
            let waited = stopped.recv_timeout(interval);
            self.send();
            if waited != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    fn send(&self) {
        let body = self.request(now()).encode_to_vec();
        let request = Request::post(&self.address)
            .header("content-type", "application/x-protobuf")
            .body(Bytes::from(body));
        let sent = request
            .map_err(HttpError::from)
            .and_then(|request| self.client.send(request));
        match sent {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => {
                let status = answer.status().as_u16();
                tracing::warn!(status, "the collector refused the metrics");
            }
            Err(fault) => tracing::warn!(%fault, "metrics could not be exported"),
        }
    }

    /// All metrics in the form of OTLP 1.
    fn request(&self, at: u64) -> ExportMetricsServiceRequest {
        let metrics = self.metrics.families();
        let metrics = metrics.iter().map(|family| self.metric(family, at));
        let scope = InstrumentationScope {
            name: SERVICE.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(Resource {
                    attributes: vec![attribute("service.name", SERVICE)],
                    ..Resource::default()
                }),
                scope_metrics: vec![ScopeMetrics {
                    scope: Some(scope),
                    metrics: metrics.collect(),
                    ..ScopeMetrics::default()
                }],
                ..ResourceMetrics::default()
            }],
        }
    }

    fn metric(&self, family: &Family, at: u64) -> Metric {
        let numbers = || family.points.iter().filter_map(|p| self.number(p, at));
        let buckets = || family.points.iter().filter_map(|p| self.histogram(p, at));
        let temporality = AggregationTemporality::Cumulative.into();
        let (unit, data) = match family.kind {
            FamilyKind::Counter => (
                "1",
                metric::Data::Sum(Sum {
                    data_points: numbers().collect(),
                    aggregation_temporality: temporality,
                    is_monotonic: true,
                }),
            ),
            FamilyKind::Gauge => (
                "1",
                metric::Data::Gauge(Gauge {
                    data_points: numbers().collect(),
                }),
            ),
            FamilyKind::Seconds | FamilyKind::Numbers => (
                if family.kind == FamilyKind::Seconds {
                    "s"
                } else {
                    "1"
                },
                metric::Data::Histogram(Histogram {
                    data_points: buckets().collect(),
                    aggregation_temporality: temporality,
                }),
            ),
        };
        Metric {
            name: format!("{SERVICE}.{}", family.name),
            description: family.help.to_owned(),
            unit: unit.to_owned(),
            data: Some(data),
            ..Metric::default()
        }
    }

    fn number(&self, point: &Point, at: u64) -> Option<NumberDataPoint> {
        let PointValue::Whole(value) = point.value else {
            return None;
        };
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        Some(NumberDataPoint {
            attributes: attributes(point),
            start_time_unix_nano: self.started,
            time_unix_nano: at,
            value: Some(number_data_point::Value::AsInt(value)),
            ..NumberDataPoint::default()
        })
    }

    fn histogram(&self, point: &Point, at: u64) -> Option<HistogramDataPoint> {
        let PointValue::Buckets {
            bounds,
            counts,
            sum,
        } = &point.value
        else {
            return None;
        };
        Some(HistogramDataPoint {
            attributes: attributes(point),
            start_time_unix_nano: self.started,
            time_unix_nano: at,
            count: counts.iter().sum(),
            sum: Some(*sum),
            bucket_counts: counts.clone(),
            explicit_bounds: bounds.clone(),
            ..HistogramDataPoint::default()
        })
    }
}

fn attributes(point: &Point) -> Vec<KeyValue> {
    let labels = point.labels.iter();
    labels.map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    KeyValue {
        key: name.to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(value.to_owned())),
        }),
        ..KeyValue::default()
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

/// The client of the commands, as the exporter takes it; it blocks the thread of the exporter.
#[derive(Debug)]
struct Client(ureq::Agent);

impl Client {
    fn new() -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .proxy(None)
            .build();
        Self(config.into())
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let request = ureq::http::Request::from_parts(head, body.to_vec());
        let (head, mut body) = self.0.run(request)?.into_parts();
        let body = body.read_to_vec()?;
        Ok(Response::from_parts(head, Bytes::from(body)))
    }
}

impl HttpClient for Client {
    fn send_bytes<'a, 'async_trait>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'async_trait>>
    where
        'a: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(future::ready(self.send(request)))
    }
}
