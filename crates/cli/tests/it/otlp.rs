// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server whose collector is this test.

use crate::support::Scene;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::{Metric, metric, number_data_point};
use prost::Message as _;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Path and body of each request.
type Taken = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Takes what comes, and says that all is well.
fn collector() -> (String, Taken) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let taken = Taken::default();
    let into = Arc::clone(&taken);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let into = Arc::clone(&into);
            std::thread::spawn(move || while take(stream.as_ref().unwrap(), &into) {});
        }
    });
    (format!("http://{address}"), taken)
}

/// Takes one request; says whether there was one.
fn take(mut stream: &TcpStream, into: &Taken) -> bool {
    let mut lines = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if lines.read_line(&mut head).unwrap_or(0) == 0 {
            return false;
        }
    }
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let head = head.to_lowercase();
    assert!(
        head.contains("content-type: application/x-protobuf"),
        "{head}"
    );
    let (_, length) = head.split_once("content-length: ").unwrap();
    let length = length.split_once("\r\n").unwrap().0.parse().unwrap();
    let mut body = vec![0; length];
    lines.read_exact(&mut body).unwrap();
    into.lock().unwrap().push((path, body));
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        .is_ok()
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|v| v.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn labels(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let each = attributes.iter();
    each.map(|a| (a.key.clone(), text(a.value.as_ref())))
        .collect()
}

#[test]
fn traces_and_metrics_reach_a_collector_without_a_content() {
    let (address, taken) = collector();
    let scene = Scene::new();
    let server = scene.serve(&["--set", &format!("otlp.endpoint={address}")]);
    scene.json(&["write", "the zebra code is 7319"]);
    let refused = scene.run(&["entry", "show", "nothing-7319"]);
    assert_ne!(refused.code, 0);
    assert_eq!(server.signal("-TERM"), Some(0));
    let taken = taken.lock().unwrap();
    for (path, body) in taken.iter() {
        let body = String::from_utf8_lossy(body);
        let leaks = body.contains("nothing-7319") || body.contains("zebra");
        assert!(!leaks, "{path}: {body}");
    }
    let of = |path: &'static str| taken.iter().filter(move |(p, _)| p == path);
    let (_, last) = of("/v1/metrics").next_back().unwrap();
    metrics(last);
    let traces: Vec<&[u8]> = of("/v1/traces").map(|(_, body)| body.as_slice()).collect();
    spans(&traces);
}

fn metrics(body: &[u8]) {
    let request = ExportMetricsServiceRequest::decode(body).unwrap();
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    let find = |name: &str| metrics.iter().find(|m| m.name == name).unwrap();
    assert_eq!(written(find("ancile.entries_written"), "user_authored"), 1);
    let commit = find("ancile.commit");
    let Some(metric::Data::Histogram(histogram)) = &commit.data else {
        panic!("{commit:?}");
    };
    let point = &histogram.data_points[0];
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
}

fn written(metric: &Metric, class: &str) -> i64 {
    let Some(metric::Data::Sum(sum)) = &metric.data else {
        panic!("{metric:?}");
    };
    assert!(sum.is_monotonic);
    let of = |attributes| labels(attributes)["class"] == class;
    let point = sum.data_points.iter().find(|p| of(&p.attributes)).unwrap();
    match point.value {
        Some(number_data_point::Value::AsInt(value)) => value,
        _ => panic!("{point:?}"),
    }
}

fn spans(bodies: &[&[u8]]) {
    let mut spans = Vec::new();
    for body in bodies {
        let request = ExportTraceServiceRequest::decode(*body).unwrap();
        let scopes = request
            .resource_spans
            .into_iter()
            .flat_map(|r| r.scope_spans);
        spans.extend(scopes.flat_map(|scope| scope.spans));
    }
    let requests = spans.iter().filter(|span| span.name == "request");
    let paths: Vec<String> = requests
        .map(|span| labels(&span.attributes)["path"].clone())
        .collect();
    assert!(paths.contains(&"/v1/entries".to_owned()), "{paths:?}");
    let events = spans.iter().flat_map(|span| &span.events);
    let codes: Vec<String> = events
        .filter_map(|event| labels(&event.attributes).remove("code"))
        .collect();
    assert_eq!(codes, ["bad_path"]);
}
