// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one list of routes, and the way of a request through it.

use crate::ask::{Ask, JSON, LINES, Parts, Reply, TEXT};
use crate::body;
use crate::limits::Limits;
use crate::metrics::{CONTENT_TYPE as METRICS_TEXT, Metrics, MetricsAccess};
use crate::once;
use crate::problem::Problem;
use crate::rate::Buckets;
use crate::routes::ROUTES;
use crate::wire::query::Query;
use crate::work::{Done, run, told};
use ancile_core::Role;
use ancile_engine::Engine;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{Instrument as _, Span};

/// The header that carries a session token.
pub(crate) const SESSION: &str = "ancile-session";
/// The path of the metrics. It is no part of the interface of [`ROUTES`]: it is of the whole
/// store, and what is counted may change.
const METRICS: &str = "/metrics";
/// The header that carries the request id of an answer.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The header of an answer that was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// GET, and with it HEAD.
    Get,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// DELETE.
    Delete,
}

impl Verb {
    /// Its name in HTTP.
    const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// Where a connection comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Who may ask; what the caller's role may do is the engine's to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone.
    Open,
    /// The holder of a key.
    Key,
    /// The holder of a key and of the token of the session in the path.
    Session,
}

/// One route.
pub struct Route {
    /// Its method.
    pub verb: Verb,
    /// Its path, as axum writes it: a variable part stands in braces.
    pub path: &'static str,
    /// Who may ask.
    pub access: Access,
    /// The query parameters it takes; any other is refused.
    pub query: &'static [&'static str],
    /// What it does, in a few words.
    pub summary: &'static str,
    /// What it takes and gives.
    pub(crate) shape: Shape,
    does: Does,
}

/// Makes the schema of a type of the wire.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The forms of a request and its answer.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// The body of the request, if it takes one.
    pub(crate) takes: Option<SchemaOf>,
    /// The status of the answer.
    pub(crate) status: StatusCode,
    /// The body of the answer, if it has one: its content type and form.
    pub(crate) gives: Option<(&'static str, SchemaOf)>,
    /// Whether it is answered with 202 and the same body where what was written is pending.
    pub(crate) may_pend: bool,
}

impl Route {
    /// With a way that keeps no thread waiting.
    pub(crate) const fn or_then(mut self, then: Then) -> Self {
        if let Does::Keyed(does, _) = self.does {
            self.does = Does::Keyed(does, Some(then));
        }
        self
    }

    /// With a query.
    pub(crate) const fn with_query(mut self, query: &'static [&'static str]) -> Self {
        self.query = query;
        self
    }

    /// With a body of the request.
    pub(crate) const fn takes<T: JsonSchema>(mut self) -> Self {
        self.shape.takes = Some(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// Answered with 200 and JSON.
    pub(crate) const fn gives<T: JsonSchema>(self) -> Self {
        self.answers(StatusCode::OK, JSON, SchemaGenerator::subschema_for::<T>)
    }

    /// Answered with 201 and JSON.
    pub(crate) const fn creates<T: JsonSchema>(self) -> Self {
        self.answers(
            StatusCode::CREATED,
            JSON,
            SchemaGenerator::subschema_for::<T>,
        )
    }

    /// Answered with 201 and JSON, or with 202 where some of what was written is held until it is
    /// judged.
    pub(crate) const fn writes<T: JsonSchema>(mut self) -> Self {
        self.shape.may_pend = true;
        self.creates::<T>()
    }

    /// Answered with a text that is a signed note.
    pub(crate) const fn gives_text(self) -> Self {
        self.answers(
            StatusCode::OK,
            TEXT,
            SchemaGenerator::subschema_for::<String>,
        )
    }

    /// Answered with lines of JSON.
    pub(crate) const fn gives_lines(self) -> Self {
        self.answers(
            StatusCode::OK,
            LINES,
            SchemaGenerator::subschema_for::<String>,
        )
    }

    const fn answers(mut self, status: StatusCode, kind: &'static str, of: SchemaOf) -> Self {
        self.shape.status = status;
        self.shape.gives = Some((kind, of));
        self
    }
}

/// What a route does.
#[derive(Clone, Copy)]
enum Does {
    /// Answers anyone.
    Open(fn(&Engine) -> Result<Reply, Problem>),
    /// Answers a caller; with the second as well, where it can.
    Keyed(Keyed, Option<Then>),
}

type PathParams = Result<RawPathParams, RawPathParamsRejection>;
pub(crate) type Keyed = fn(&Ask<'_>) -> Result<Reply, Problem>;
/// Does the same without waiting.
pub(crate) type Then = fn(&Ask<'_>, Done) -> Result<(), Problem>;

/// The path of a request that no route takes, in the log.
const NO_ROUTE: &str = "none";
/// Longest body that is read where other requests wait for it: 16 KiB.
const AT_ONCE_BYTES_MAX: usize = 16_384;
/// What a route is before its forms are said: it is answered with 204.
const BARE: Shape = Shape {
    takes: None,
    status: StatusCode::NO_CONTENT,
    gives: None,
    may_pend: false,
};

const fn keyed(verb: Verb, path: &'static str, summary: &'static str, does: Keyed) -> Route {
    Route {
        verb,
        path,
        access: Access::Key,
        query: &[],
        summary,
        shape: BARE,
        does: Does::Keyed(does, None),
    }
}

pub(crate) const fn get(path: &'static str, summary: &'static str, does: Keyed) -> Route {
    keyed(Verb::Get, path, summary, does)
}

pub(crate) const fn put(path: &'static str, summary: &'static str, does: Keyed) -> Route {
    keyed(Verb::Put, path, summary, does)
}

pub(crate) const fn delete(path: &'static str, summary: &'static str, does: Keyed) -> Route {
    keyed(Verb::Delete, path, summary, does)
}

pub(crate) const fn post(path: &'static str, summary: &'static str, does: Keyed) -> Route {
    keyed(Verb::Post, path, summary, does)
}

pub(crate) const fn in_session(path: &'static str, summary: &'static str, does: Keyed) -> Route {
    Route {
        access: Access::Session,
        ..keyed(Verb::Post, path, summary, does)
    }
}

pub(crate) const fn open(
    path: &'static str,
    summary: &'static str,
    does: fn(&Engine) -> Result<Reply, Problem>,
) -> Route {
    Route {
        verb: Verb::Get,
        path,
        access: Access::Open,
        query: &[],
        summary,
        shape: BARE,
        does: Does::Open(does),
    }
}

/// What all requests share.
#[derive(Clone)]
struct Shared {
    engine: Engine,
    limits: Limits,
    slots: Arc<Semaphore>,
    bodies: body::Room,
    ids: Arc<RequestIds>,
    metrics: Metrics,
    rates: Arc<Buckets>,
}

/// The router over [`ROUTES`]; anything else is answered with a problem. What it answers is counted
/// in `metrics`.
pub fn router(engine: Engine, limits: Limits, metrics: Metrics) -> Router {
    let slots = Arc::new(Semaphore::new(limits.requests));
    let bodies = Arc::new(Semaphore::new(limits.bodies_bytes));
    let shared = Shared {
        engine,
        limits,
        slots,
        bodies,
        ids: Arc::new(RequestIds::new()),
        metrics,
        rates: Arc::new(Buckets::new(limits.rate)),
    };
    let mut router = Router::new();
    for route in ROUTES {
        let filter = match route.verb {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
            Verb::Put => MethodFilter::PUT,
            Verb::Delete => MethodFilter::DELETE,
        };
        let take = move |State(shared): State<Shared>, params: PathParams, request: Request| {
            take(shared, route, params, request)
        };
        router = router.route(route.path, on(filter, take));
    }
    router
        .route(METRICS, on(MethodFilter::GET, metrics_text))
        .method_not_allowed_fallback(wrong_method)
        .fallback(no_route)
        .with_state(shared)
}

async fn no_route(State(shared): State<Shared>) -> Response {
    let begun = shared.begin(NO_ROUTE, NO_ROUTE);
    begun.finish(Err(unknown_route()))
}

fn unknown_route() -> Problem {
    let detail = "there is no such path; the paths begin with /v1/, and /healthz";
    Problem::new(StatusCode::NOT_FOUND, "unknown_route", detail)
}

async fn wrong_method(State(shared): State<Shared>) -> Response {
    let detail = "the path does not take this method; header `allow` lists those it takes";
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", detail);
    shared.begin(NO_ROUTE, NO_ROUTE).finish(Err(problem))
}

async fn metrics_text(State(shared): State<Shared>, request: Request) -> Response {
    let begun = shared.begin("GET", METRICS);
    begun.finish(shared.metrics(&request))
}

async fn take(
    shared: Shared,
    route: &'static Route,
    params: PathParams,
    request: Request,
) -> Response {
    let begun = shared.begin(route.verb.name(), route.path);
    let answer = async {
        match route.does {
            Does::Open(does) => {
                let engine = shared.engine.clone();
                run(shared.limits.work, None, move || does(&engine)).await
            }
            Does::Keyed(does, then) => shared.keyed((route, does, then), params, request).await,
        }
    };
    let result = answer.instrument(begun.span.clone()).await;
    begun.finish(result)
}

impl Shared {
    /// Reads a request and has it answered. A request without a good key is refused before its
    /// body is read.
    async fn keyed(
        &self,
        (route, does, then): (&'static Route, Keyed, Option<Then>),
        params: PathParams,
        request: Request,
    ) -> Result<Reply, Problem> {
        let (head, body) = request.into_parts();
        let caller = self.engine.authenticate(bearer(&head.headers)?)?;
        self.rates.take(caller.credential())?;
        let once = match route.verb {
            Verb::Post => once::key(&head.headers)?,
            _ => None,
        };
        let mut parts = Parts {
            name: variable(params)?,
            session: text_of(&head.headers, SESSION),
            content_type: text_of(&head.headers, CONTENT_TYPE.as_str()),
            query: Query::read(&head.uri, route.query)?,
            body: Vec::new(),
        };
        let mut held = body::read(body, &self.limits, &self.bodies).await?;
        parts.body = std::mem::take(&mut held.bytes);
        // Taken only now, so that bodies that trickle in hold no place.
        let slot = self.slot()?;
        let engine = self.engine.clone();
        let short = parts.body.len() <= AT_ONCE_BYTES_MAX;
        if let (Some(then), None) = (then.filter(|_| short), &once) {
            let ask = Ask {
                engine: &engine,
                caller: &caller,
                parts: &parts,
            };
            return told(self.limits.work, (slot, held), |done| then(&ask, done)).await;
        }
        let answer = move || {
            let answer = match once {
                Some(key) => once::answer(&engine, caller, parts, (route.path, &key, does)),
                None => does(&Ask {
                    engine: &engine,
                    caller: &caller,
                    parts: &parts,
                }),
            };
            drop(held);
            answer
        };
        run(self.limits.work, Some(slot), answer).await
    }

    /// Takes one of the places for requests that are worked on.
    fn slot(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.slots).try_acquire_owned().map_err(|_| {
            let most = self.limits.requests;
            let detail = format!("{most} requests are under way, the most there may be; try later");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
        })
    }

    /// Gives a request its id, and its place in the log.
    fn begin(&self, method: &'static str, path: &'static str) -> Begun {
        let id = self.ids.next();
        let metrics = self.metrics.clone();
        // At the highest level, so that whatever is logged within says which request it was.
        let span = tracing::error_span!("request", request_id = id, method, path);
        let since = Instant::now();
        Begun {
            id,
            route: (method, path),
            span,
            since,
            metrics,
        }
    }

    /// The metrics, for whom they are.
    fn metrics(&self, request: &Request) -> Result<Reply, Problem> {
        let peer = request.extensions().get::<Peer>();
        let here = peer.is_some_and(|peer| peer.0.to_canonical().is_loopback());
        match self.limits.metrics {
            MetricsAccess::Off => return Err(unknown_route()),
            MetricsAccess::Loopback if here => {}
            _ => {
                let caller = self.engine.authenticate(bearer(request.headers())?)?;
                let operator = caller.role() == Role::Operator;
                if !operator || !self.engine.counts().is_first(caller.tenant()) {
                    let detail = "this key may not read the metrics; use the key of the first \
                                  tenant's operator";
                    return Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", detail));
                }
            }
        }
        self.metrics
            .text()
            .map(|text| Reply::text(METRICS_TEXT, text))
    }
}

/// A request that has begun.
struct Begun {
    id: String,
    route: (&'static str, &'static str),
    span: Span,
    since: Instant,
    metrics: Metrics,
}

impl Begun {
    /// Makes the response and logs it: never a text of the request, which may be a secret.
    fn finish(self, result: Result<Reply, Problem>) -> Response {
        let _within = self.span.enter();
        let elapsed_us = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut response = match result {
            Ok(reply) => {
                self.metrics.answered(self.route, reply.status, None);
                let status = reply.status.as_u16();
                tracing::debug!(status, elapsed_us, "answered");
                plain(reply)
            }
            Err(problem) => {
                self.metrics
                    .answered(self.route, problem.status, Some(&problem));
                log(elapsed_us, &problem);
                refusal(&self.id, &problem)
            }
        };
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Ok(id) = HeaderValue::from_str(&self.id) {
            headers.insert(REQUEST_ID, id);
        }
        response
    }
}

fn plain(reply: Reply) -> Response {
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() = reply.status;
    if reply.again {
        let headers = response.headers_mut();
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
    }
    if let Some(kind) = reply.content_type {
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response
}

fn refusal(request_id: &str, problem: &Problem) -> Response {
    let mut response = Response::new(Body::from(problem.body(request_id)));
    *response.status_mut() = problem.status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    );
    if problem.status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(seconds) = problem.retry_after() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if problem.closes {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn log(elapsed_us: u64, problem: &Problem) {
    let (status, code, inside) = (problem.status.as_u16(), problem.code, &problem.inside);
    if problem.grave {
        tracing::error!(status, code, inside, elapsed_us, "refused");
    } else {
        tracing::info!(status, code, inside, elapsed_us, "refused");
    }
}

/// The variable part of a path; empty where the route has none.
fn variable(params: PathParams) -> Result<String, Problem> {
    let params = params.map_err(|_| {
        let detail = "the path is not UTF-8 once percent-decoded; encode it as UTF-8";
        Problem::malformed("bad_path", detail)
    })?;
    let first = params.iter().next().map(|(_, value)| value.to_owned());
    Ok(first.unwrap_or_default())
}

/// The one key that a request shows.
fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let one = match (all.next(), all.next()) {
        (Some(one), None) => one.to_str().ok(),
        _ => None,
    };
    let key = one
        .and_then(|text| text.split_once(' '))
        .and_then(|(scheme, key)| {
            (scheme.eq_ignore_ascii_case("bearer") && !key.trim().is_empty()).then_some(key.trim())
        });
    key.ok_or_else(|| {
        let detail = "header `Authorization` is due once, as `Bearer` and a key; send yours";
        Problem::unauthenticated("key_missing", detail)
    })
}

/// A header as text; none that is not ASCII.
fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// Request ids: when the server started, and a count.
struct RequestIds {
    started: u64,
    count: AtomicU64,
}

impl RequestIds {
    fn new() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            started: since.as_secs(),
            count: AtomicU64::new(0),
        }
    }

    fn next(&self) -> String {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        format!("{:x}-{count:x}", self.started)
    }
}

#[cfg(test)]
mod tests;
