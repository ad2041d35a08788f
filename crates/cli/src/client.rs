// SPDX-License-Identifier: MIT OR Apache-2.0
//! The HTTP client of every command.

use crate::failure::{Exit, Failure};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use ureq::http::{Request, StatusCode};

/// Longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// How long one request may take. A write waits for its commit, which on a slow disk is seconds.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Items of one page where a whole list is asked for: the most there can be.
const PAGE_ITEMS: &str = "200";
/// The header that carries the session token.
const SESSION_HEADER: &str = "Ancile-Session";

/// How the tokens of people begin.
const PERSONS: [&str; 2] = ["ank_user_", "ank_operator_"];

/// A server, and the key to speak to it with.
pub struct Client {
    agent: ureq::Agent,
    address: SocketAddr,
    token: Option<String>,
}

impl Client {
    /// A client of the server at this address.
    pub fn new(address: SocketAddr, token: Option<String>) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(REQUEST_TIMEOUT))
            .proxy(None)
            .build();
        Self {
            agent: config.into(),
            address,
            token,
        }
    }

    /// The same server with another key. Connections are shared.
    pub fn with_token(&self, token: String) -> Self {
        Self {
            agent: self.agent.clone(),
            address: self.address,
            token: Some(token),
        }
    }

    /// Whether the key is a person's, who is shown more than a program: a token names its role.
    pub fn speaks_for_a_person(&self) -> bool {
        let token = self.token.as_deref().unwrap_or_default();
        PERSONS.iter().any(|start| token.starts_with(start))
    }

    /// Asks for something.
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send("GET", path, None, None)
    }

    /// Asks for all items of a list, page by page.
    pub fn all(&self, path: &str) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        let mut cursor = None;
        loop {
            let part = query(&[("cursor", cursor), ("limit", Some(PAGE_ITEMS.to_owned()))]);
            let mut page = self.get(&format!("{path}{part}"))?;
            if let Some(found) = page.get_mut("items").and_then(Value::as_array_mut) {
                items.append(found);
            }
            cursor = page.get("next").and_then(Value::as_str).map(str::to_owned);
            if cursor.is_none() {
                return Ok(items);
            }
        }
    }

    /// Asks for something that is text.
    pub fn text(&self, path: &str) -> Result<String, Failure> {
        self.send_text("GET", path, None, None)
    }

    /// Sends something.
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.send("POST", path, Some(body), None)
    }

    /// Puts something in the place of what is there.
    pub fn put(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.send("PUT", path, Some(body), None)
    }

    /// Has something destroyed.
    pub fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.send("DELETE", path, None, None)
    }

    /// Sends something within a session.
    pub fn in_session(&self, path: &str, body: &Value, session: &str) -> Result<Value, Failure> {
        self.send("POST", path, Some(body), Some(session))
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        session: Option<&str>,
    ) -> Result<Value, Failure> {
        let text = self.send_text(method, path, body, session)?;
        Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    fn send_text(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        session: Option<&str>,
    ) -> Result<String, Failure> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("Accept", "application/json");
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        if let Some(session) = session {
            request = request.header(SESSION_HEADER, session);
        }
        if body.is_some() {
            request = request.header("Content-Type", "application/json");
        }
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let request = request
            .body(bytes)
            .map_err(|fault| Failure::usage(format!("no request can be made of that: {fault}")))?;
        let mut answer = self
            .agent
            .run(request)
            .map_err(|fault| self.unreachable(&fault))?;
        let status = answer.status();
        let limited = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let text = limited
            .read_to_string()
            .map_err(|fault| self.unreachable(&fault))?;
        if status.is_success() {
            return Ok(text);
        }
        Err(problem(status, &text))
    }

    fn unreachable(&self, fault: &ureq::Error) -> Failure {
        let text = format!(
            "the server at {} does not answer: {fault}; see its log, or stop it and try again",
            self.address
        );
        Failure::new(Exit::Unavailable, "unreachable", text)
    }
}

/// Reads a problem (RFC 9457) as the server writes it.
fn problem(status: StatusCode, text: &str) -> Failure {
    let body: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let field = |name: &str| body.get(name).and_then(Value::as_str);
    let code = field("code").unwrap_or("http").to_owned();
    let exit = match status.as_u16() {
        _ if code == TAMPERED => Exit::Damaged,
        400 | 405 | 411 | 413 | 414 | 415 | 422 | 431 => Exit::Usage,
        404 => Exit::NotFound,
        500..=599 => Exit::Unavailable,
        _ => Exit::Refused,
    };
    let said = field("detail").or_else(|| field("title"));
    let text = match said {
        Some(said) => said.to_owned(),
        None if field("status") == Some("down") => DOWN.to_owned(),
        None => format!("the server answers {status} without saying why; see its log"),
    };
    Failure::new(exit, code, text)
}

/// What is said of a server whose health is `down`.
const DOWN: &str = "the server runs, but its store is down and takes nothing; see its log, then \
                    start it again";
/// The code of an answer that was refused since the store was edited behind its back.
const TAMPERED: &str = "lineage_broken";

/// A text as one segment of a path: all but letters, digits and `-._` is percent-encoded
/// (RFC 3986, section 2.3).
pub fn segment(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A query of those parameters that are given.
pub fn query(parameters: &[(&str, Option<String>)]) -> String {
    let given = parameters.iter().filter_map(|(name, value)| {
        value
            .as_ref()
            .map(|value| format!("{name}={}", segment(value)))
    });
    match given.collect::<Vec<_>>().join("&") {
        none if none.is_empty() => none,
        some => format!("?{some}"),
    }
}

#[cfg(test)]
mod tests;
