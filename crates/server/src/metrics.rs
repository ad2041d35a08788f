// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened, in numbers, in the Prometheus text format 0.0.4.
//!
//! They are of the whole store, all tenants together, and hold no name of any of them.

use crate::families::{Family, FamilyKind, Point, PointValue, counter, of_engine};
use crate::problem::Problem;
use ancile_engine::Engine;
use axum::http::StatusCode;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::fmt::Error;
use std::sync::{Arc, Mutex};

pub(crate) use prometheus_client::encoding::prometheus_text::CONTENT_TYPE;

/// Who may read the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsAccess {
    /// The operator of the first tenant, by key.
    Operator,
    /// Besides, whoever connects from this machine, without a key.
    Loopback,
    /// Nobody: there is no such path.
    Off,
}

/// The metrics of one server; clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    engine: Engine,
    answers: Arc<Mutex<Answers>>,
}

/// What was answered.
#[derive(Debug, Default)]
struct Answers {
    /// By method, path and status.
    requests: BTreeMap<(&'static str, &'static str, u16), u64>,
    /// By the code of the problem.
    refused: BTreeMap<&'static str, u64>,
}

impl Metrics {
    /// Those of a server over this engine, before its first request.
    #[must_use]
    pub fn new(engine: Engine) -> Self {
        let answers = Arc::default();
        Self { engine, answers }
    }

    /// All there is, as it stands.
    #[must_use]
    pub fn families(&self) -> Vec<Family> {
        let mut all = self.answered_so_far();
        all.extend(of_engine(self.engine.counts()));
        all
    }

    fn answered_so_far(&self) -> Vec<Family> {
        let answers = match self.answers.lock() {
            Ok(answers) => answers,
            Err(poisoned) => poisoned.into_inner(),
        };
        let requests = answers.requests.iter().map(|(key, count)| {
            let (method, path, status) = key;
            let status = status.to_string();
            let labels = [("method", *method), ("path", path), ("status", &status)];
            Point::whole(&labels, *count)
        });
        let refused = answers.refused.iter();
        let refused = refused.map(|(code, count)| Point::whole(&[("reason", code)], *count));
        vec![
            counter(REQUESTS, requests.collect()),
            counter(REFUSED, refused.collect()),
        ]
    }

    /// Counts an answer.
    pub(crate) fn answered(
        &self,
        (method, path): (&'static str, &'static str),
        status: StatusCode,
        problem: Option<&Problem>,
    ) {
        let mut answers = match self.answers.lock() {
            Ok(answers) => answers,
            Err(poisoned) => poisoned.into_inner(),
        };
        let key = (method, path, status.as_u16());
        *answers.requests.entry(key).or_default() += 1;
        if let Some(problem) = problem {
            *answers.refused.entry(problem.code).or_default() += 1;
        }
    }

    /// All of it, as text.
    pub(crate) fn text(&self) -> Result<String, Problem> {
        let mut registry = Registry::with_prefix("ancile");
        registry.register_collector(Box::new(Families(self.families())));
        let mut out = String::new();
        encode(&mut out, &registry).map_err(|e| Problem::internal(e.to_string()))?;
        Ok(out)
    }
}

/// Families as the library writes them.
#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        for family in &self.0 {
            let (kind, unit) = match family.kind {
                FamilyKind::Counter => (MetricType::Counter, None),
                FamilyKind::Gauge => (MetricType::Gauge, None),
                FamilyKind::Numbers => (MetricType::Histogram, None),
                FamilyKind::Seconds => (MetricType::Histogram, Some(&Unit::Seconds)),
            };
            let mut out = encoder.encode_descriptor(family.name, family.help, unit, kind)?;
            for point in &family.points {
                if point.labels.is_empty() {
                    put(&mut out, family.kind, &point.value)?;
                } else {
                    let labels: Vec<(&str, &str)> = point
                        .labels
                        .iter()
                        .map(|(name, value)| (*name, value.as_str()))
                        .collect();
                    put(&mut out.encode_family(&labels)?, family.kind, &point.value)?;
                }
            }
        }
        Ok(())
    }
}

fn put(out: &mut MetricEncoder<'_>, kind: FamilyKind, value: &PointValue) -> Result<(), Error> {
    match value {
        PointValue::Whole(value) if kind == FamilyKind::Gauge => out.encode_gauge(value),
        PointValue::Whole(value) => out.encode_counter::<NoLabelSet, _, u64>(value, None),
        PointValue::Buckets {
            bounds,
            counts,
            sum,
        } => {
            // The library takes the greatest number for no bound.
            let bounds = bounds.iter().copied().chain([f64::MAX]);
            let buckets: Vec<(f64, u64)> = bounds.zip(counts.iter().copied()).collect();
            let count = counts.iter().sum();
            out.encode_histogram::<NoLabelSet>(*sum, count, &buckets, None)
        }
    }
}

const REQUESTS: (&str, &str) = (
    "http_requests",
    "Requests by method, path as the documents write it, and status",
);
const REFUSED: (&str, &str) = (
    "http_refused",
    "Requests refused, by the code of the problem",
);
