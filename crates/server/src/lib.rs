// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP interface: the engine's questions and answers as JSON over HTTP/1.1.
//!
//! This crate speaks; it decides nothing. Every route is a row of [`ROUTES`]: a method, a path and
//! a plain function from a request to an answer. The async part reads a request under
//! [`Limits`], and hands it to that function on a thread that may block.
//!
//! Callers show a key as `Authorization: Bearer <key>` (RFC 6750 section 2.1) and, where a session
//! is continued, its token as `Ancile-Session: <token>`. Every refusal is
//! `application/problem+json` (RFC 9457) with a stable `code`.

mod ask;
mod body;
mod families;
pub mod limits;
mod listen;
mod metrics;
mod once;
mod openapi;
mod problem;
mod rate;
mod route;
mod routes;
mod serve;
mod wire;
mod work;

pub use families::{Family, FamilyKind, Point, PointValue};
pub use limits::Limits;
pub use listen::Listeners;
pub use metrics::{Metrics, MetricsAccess};
pub use openapi::openapi;
pub use route::{Access, Route, Verb, router};
pub use routes::ROUTES;
pub use serve::{ServerHandle, serve};
