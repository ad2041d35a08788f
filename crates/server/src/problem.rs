// SPDX-License-Identifier: MIT OR Apache-2.0
//! Refusals as `application/problem+json` (RFC 9457).

use crate::limits::RETRY_SECONDS;
use ancile_engine::{Fault, Refusal};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

/// Why a request was not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The status.
    pub(crate) status: StatusCode,
    /// Stable code; the end of the problem's type.
    pub(crate) code: &'static str,
    /// The sentence for the caller: the fault, the limit, the next step.
    pub(crate) detail: String,
    /// For the log alone.
    pub(crate) inside: String,
    /// Whether the connection is closed after the answer.
    pub(crate) closes: bool,
    /// Seconds after which to try again, where that is known.
    pub(crate) retry: Option<u32>,
    /// Whether someone has to look at the server: it failed, or its store was edited.
    pub(crate) grave: bool,
}

impl Problem {
    /// A problem whose sentence says all there is.
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
            inside: String::new(),
            closes: false,
            retry: None,
            grave: status.is_server_error(),
        }
    }

    /// A request that makes no sense.
    pub(crate) fn malformed(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// A request without what proves who asks.
    pub(crate) fn unauthenticated(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, code, detail)
    }

    /// A fault of the server's own.
    pub(crate) fn internal(inside: impl Into<String>) -> Self {
        let detail = "the server failed; look for the request id in its log";
        let mut problem = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail);
        problem.inside = inside.into();
        problem
    }

    /// Says where in the request the fault is.
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.detail = format!("{place}: {}", self.detail);
        self
    }

    /// Has the connection closed after the answer.
    pub(crate) fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    /// Seconds after which it is worth trying again, if it is.
    pub(crate) fn retry_after(&self) -> Option<u32> {
        let later = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        let usual = later.contains(&self.status).then_some(RETRY_SECONDS);
        self.retry.or(usual)
    }

    /// The body.
    pub(crate) fn body(&self, request_id: &str) -> Vec<u8> {
        let body = Body {
            kind: format!("urn:ancile:problem:{}", self.code),
            title: self.code.replace('_', " "),
            status: self.status.as_u16(),
            detail: &self.detail,
            code: self.code,
            request_id,
        };
        // Texts and a number cannot fail to serialise; if they do, the status still tells.
        serde_json::to_vec(&body).unwrap_or_default()
    }
}

/// The members of RFC 9457 section 3.1, and two of our own.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct Body<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    detail: &'a str,
    code: &'static str,
    request_id: &'a str,
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self {
            status: status_of(refusal.fault),
            code: refusal.code,
            detail: refusal.outside,
            inside: refusal.inside,
            closes: false,
            retry: None,
            grave: matches!(refusal.fault, Fault::Tampered | Fault::Unavailable),
        }
    }
}

/// The status that tells whose fault it is.
fn status_of(fault: Fault) -> StatusCode {
    match fault {
        Fault::Malformed => StatusCode::BAD_REQUEST,
        Fault::Unauthenticated => StatusCode::UNAUTHORIZED,
        Fault::Forbidden => StatusCode::FORBIDDEN,
        Fault::NotFound => StatusCode::NOT_FOUND,
        Fault::Conflict | Fault::Tampered => StatusCode::CONFLICT,
        Fault::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Fault::Limit => StatusCode::TOO_MANY_REQUESTS,
        Fault::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

#[cfg(test)]
mod tests;
