// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened, in numbers, in the Prometheus text format 0.0.4.
//!
//! They are of the whole store, all tenants together, and hold no name of any of them.

use crate::problem::Problem;
use ancile_core::{AuthorityClass, Decision};
use ancile_engine::Engine;
use ancile_engine::counts::{Buckets, Counts, Integrity, Total};
use axum::http::StatusCode;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::{Registry, Unit};
use std::fmt::Error;

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

/// The metrics of one server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    refused: Family<Refused, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    path: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    reason: &'static str,
}

impl Metrics {
    pub(crate) fn new(engine: Engine) -> Self {
        let (requests, refused) = (Family::default(), Family::default());
        let mut registry = Registry::with_prefix("ancile");
        registry.register(
            "http_requests",
            "Requests by method, path as the documents write it, and status",
            Family::clone(&requests),
        );
        registry.register(
            "http_refused",
            "Requests refused, by the code of the problem",
            Family::clone(&refused),
        );
        registry.register_collector(Box::new(Store(engine)));
        Self {
            registry,
            requests,
            refused,
        }
    }

    /// Counts an answer.
    pub(crate) fn answered(
        &self,
        (method, path): (&'static str, &'static str),
        status: StatusCode,
        problem: Option<&Problem>,
    ) {
        let status = status.as_u16();
        let labels = Answered {
            method,
            path,
            status,
        };
        self.requests.get_or_create(&labels).inc();
        if let Some(problem) = problem {
            let reason = problem.code;
            self.refused.get_or_create(&Refused { reason }).inc();
        }
    }

    /// All of it, as text.
    pub(crate) fn text(&self) -> Result<String, Problem> {
        let mut out = String::new();
        encode(&mut out, &self.registry).map_err(|e| Problem::internal(e.to_string()))?;
        Ok(out)
    }
}

/// The numbers of the engine, read when they are asked for.
#[derive(Debug)]
struct Store(Engine);

impl Collector for Store {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut out = Out(encoder);
        let counts = self.0.counts();
        out.decisions(counts)?;
        out.entries(counts)?;
        out.plain(
            ("slow_commits", "Commits that took longer than they may"),
            counts.slow_commits(),
        )?;
        let latency = "Time of a commit, its witness included";
        out.seconds(("commit", latency), &counts.commit_micros())?;
        let latency = "Time of a step from being asked to being answered";
        out.seconds(("step", latency), &counts.step_micros())?;
        out.histogram(
            ("group_requests", "Requests that one commit held", None),
            &counts.group_requests(),
            1.0,
        )?;
        out.integrity(counts.integrity())?;
        out.build()
    }
}

/// A name, without unit and `_total`, and what it is of.
type Described = (&'static str, &'static str);

struct Out<'a>(DescriptorEncoder<'a>);

impl Out<'_> {
    fn decisions(&mut self, counts: &Counts) -> Result<(), Error> {
        let totals = counts.totals();
        let help = "Decisions on calls of sessions and on tasks that fired";
        let mut family = self
            .0
            .encode_descriptor("decisions", help, None, MetricType::Counter)?;
        for decision in Decision::ALL {
            let of = [
                ("call", Total::Call(decision)),
                ("fire", Total::Fire(decision)),
            ];
            for (what, total) in of {
                let labels = [("of", what), ("decision", decision.name())];
                family
                    .encode_family(&labels)?
                    .encode_counter::<NoLabelSet, _, u64>(&totals.of(total), None)?;
            }
        }
        self.plain(
            (
                "decisions_not_enforced",
                "Decisions that would have been others, had the gates been enforced",
            ),
            totals.of(Total::NotEnforced),
        )?;
        let asked = ("asks", "Calls that were parked until a person answers");
        self.plain(asked, totals.of(Total::Asked))?;
        let redeemed = ("permits_redeemed", "Permits that were used up");
        self.plain(redeemed, totals.of(Total::Redeemed))
    }

    fn entries(&mut self, counts: &Counts) -> Result<(), Error> {
        let totals = counts.totals();
        let written = ("entries_written", "Entries written, by class at write");
        self.by_class(written, |class| totals.of(Total::Written(class)))?;
        let recalled = (
            "entries_recalled",
            "Entries returned by recall, by class as their viewer sees them",
        );
        self.by_class(recalled, |class| totals.of(Total::Recalled(class)))?;
        let quarantined = ("entries_quarantined", "Entries that were shelved");
        self.plain(quarantined, totals.of(Total::Quarantined))?;
        let withheld = ("entries_withheld", "Entries that recall found and withheld");
        self.plain(withheld, totals.of(Total::Withheld))
    }

    fn by_class(
        &mut self,
        (name, help): Described,
        of: impl Fn(AuthorityClass) -> u64,
    ) -> Result<(), Error> {
        let mut family = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        for class in AuthorityClass::ALL {
            family
                .encode_family(&[("class", class.name())])?
                .encode_counter::<NoLabelSet, _, u64>(&of(class), None)?;
        }
        Ok(())
    }

    fn plain(&mut self, (name, help): Described, value: u64) -> Result<(), Error> {
        self.0
            .encode_descriptor(name, help, None, MetricType::Counter)?
            .encode_counter::<NoLabelSet, _, u64>(&value, None)
    }

    fn seconds(&mut self, (name, help): Described, of: &Buckets) -> Result<(), Error> {
        self.histogram((name, help, Some(&Unit::Seconds)), of, MICROS_PER_SECOND)
    }

    fn histogram(
        &mut self,
        (name, help, unit): (&str, &str, Option<&Unit>),
        of: &Buckets,
        per_unit: f64,
    ) -> Result<(), Error> {
        let scaled = |bound: Option<u64>| bound.map_or(f64::MAX, |b| b as f64 / per_unit);
        let buckets: Vec<(f64, u64)> = of
            .counts
            .iter()
            .map(|(bound, count)| (scaled(*bound), *count))
            .collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        self.0
            .encode_descriptor(name, help, unit, MetricType::Histogram)?
            .encode_histogram::<NoLabelSet>(of.sum as f64 / per_unit, count, &buckets, None)
    }

    fn integrity(&mut self, is: Integrity) -> Result<(), Error> {
        let help = "1 for the state that the store is in";
        let mut family = self
            .0
            .encode_descriptor("integrity", help, None, MetricType::Gauge)?;
        for state in Integrity::ALL {
            family
                .encode_family(&[("state", state.name())])?
                .encode_gauge(&i64::from(state == is))?;
        }
        Ok(())
    }

    fn build(&mut self) -> Result<(), Error> {
        let help = "Always 1; the version is a label";
        self.0
            .encode_descriptor("build", help, None, MetricType::Gauge)?
            .encode_family(&[("version", env!("CARGO_PKG_VERSION"))])?
            .encode_gauge(&1_i64)
    }
}

const MICROS_PER_SECOND: f64 = 1e6;
