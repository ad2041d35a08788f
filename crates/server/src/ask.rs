// SPDX-License-Identifier: MIT OR Apache-2.0
//! One authenticated request, and one answer, as the routes see them.

use crate::body;
use crate::problem::Problem;
use crate::wire::query::Query;
use crate::wire::spelled::{Spelling, echo};
use ancile_engine::api::Page;
use ancile_engine::{Caller, Engine};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a request brings besides its caller.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// The query.
    pub(crate) query: Query,
    /// The one variable part of the path, if the route has one.
    pub(crate) name: String,
    /// The session token.
    pub(crate) session: Option<String>,
    /// What the body says it is.
    pub(crate) content_type: Option<String>,
    /// The body.
    pub(crate) body: Vec<u8>,
}

/// A request whose caller is known.
pub(crate) struct Ask<'a> {
    /// Whom to ask.
    pub(crate) engine: &'a Engine,
    /// Who asks.
    pub(crate) caller: &'a Caller,
    /// The rest of the request.
    pub(crate) parts: &'a Parts,
}

impl Ask<'_> {
    /// The id or name in the path.
    pub(crate) fn named<T: Spelling>(&self) -> Result<T, Problem> {
        T::read(&self.parts.name).map_err(|fault| Problem::malformed("bad_path", fault))
    }

    /// The key's id in the path, which has no type of its own.
    pub(crate) fn name(&self) -> &str {
        &self.parts.name
    }

    /// The session token.
    pub(crate) fn session_token(&self) -> Result<&str, Problem> {
        self.parts.session.as_deref().ok_or_else(|| {
            let detail = "header `Ancile-Session` is missing; send the token that the session was \
                          opened with";
            Problem::malformed("session_token_missing", detail)
        })
    }

    /// The query, of which the route has checked that it knows each parameter.
    pub(crate) fn query(&self) -> &Query {
        &self.parts.query
    }

    /// The body as text, which must say that it is JSON.
    pub(crate) fn text(&self) -> Result<&str, Problem> {
        if self.parts.body.is_empty() {
            let detail = "the body is empty; send JSON with content-type application/json";
            return Err(Problem::malformed("body_missing", detail));
        }
        let said = self.parts.content_type.as_deref().unwrap_or_default();
        let kind = said.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            let said = echo(said);
            let detail = format!("content-type is {said}; send application/json");
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "wrong_content_type",
                detail,
            ));
        }
        body::text(&self.parts.body)
    }

    /// The body as JSON.
    pub(crate) fn json<'b, T: Deserialize<'b>>(&'b self) -> Result<T, Problem> {
        body::json(self.text()?)
    }

    /// Checks that the body is empty, or an empty object.
    pub(crate) fn no_body(&self) -> Result<(), Problem> {
        if self.parts.body.is_empty() {
            return Ok(());
        }
        self.json::<Nothing>().map(|_| ())
    }
}

/// An empty object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The status.
    pub(crate) status: StatusCode,
    /// What the body is; `None` with an empty one.
    pub(crate) content_type: Option<&'static str>,
    /// The body.
    pub(crate) body: Vec<u8>,
    /// Whether it was given before, to the same request.
    pub(crate) again: bool,
}

/// Content type of answers.
pub(crate) const JSON: &str = "application/json";
/// Content type of an export: JSON, a line each.
pub(crate) const LINES: &str = "application/x-ndjson";
/// Content type of signed notes.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

impl Reply {
    /// A JSON answer.
    pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(body).map_err(|e| Problem::internal(e.to_string()))?;
        Ok(Self {
            status,
            content_type: Some(JSON),
            body,
            again: false,
        })
    }

    /// 200 with JSON.
    pub(crate) fn ok(body: &impl Serialize) -> Result<Self, Problem> {
        Self::json(StatusCode::OK, body)
    }

    /// 201 with JSON.
    pub(crate) fn created(body: &impl Serialize) -> Result<Self, Problem> {
        Self::json(StatusCode::CREATED, body)
    }

    /// 201 with JSON, or 202 where some of what was written is held until it is judged.
    pub(crate) fn written(body: &impl Serialize, pending: bool) -> Result<Self, Problem> {
        match pending {
            true => Self::json(StatusCode::ACCEPTED, body),
            false => Self::created(body),
        }
    }

    /// 200 with a page of a list.
    pub(crate) fn page<T, W: Serialize + From<T>>(page: Page<T>) -> Result<Self, Problem> {
        let items: Vec<W> = page.items.into_iter().map(W::from).collect();
        Self::ok(&List {
            items,
            next: page.next,
        })
    }

    /// 200 with text that is one already.
    pub(crate) fn text(content_type: &'static str, text: String) -> Self {
        let body = text.into_bytes();
        Self {
            status: StatusCode::OK,
            content_type: Some(content_type),
            body,
            again: false,
        }
    }

    /// 204.
    pub(crate) fn nothing() -> Self {
        Self {
            status: StatusCode::NO_CONTENT,
            content_type: None,
            body: Vec::new(),
            again: false,
        }
    }
}

/// A list on the wire.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{W}List")]
pub(crate) struct List<W> {
    items: Vec<W>,
    /// Where the next page starts; null at the end.
    next: Option<String>,
}
