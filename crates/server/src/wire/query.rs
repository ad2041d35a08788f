// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queries: parameters by name, each known to the route and given at most once.

use super::spelled::{Spelling, echo};
use crate::problem::Problem;
use ancile_core::{Micros, NamespaceName, ToolName};
use ancile_engine::api::{PAGE_MAX, PageSpec, ProvenLog};
use axum::extract::Query as Pairs;
use axum::http::Uri;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Items on a page where the query does not say.
pub(crate) const PAGE_DEFAULT: usize = 50;

/// The parameters of a list.
pub(crate) const PAGE: &[&str] = &[CURSOR, LIMIT];
/// The parameters of a list within a namespace.
pub(crate) const NAMESPACE_PAGE: &[&str] = &[NAMESPACE, CURSOR, LIMIT];
/// The parameters of the list of tasks.
pub(crate) const TASK_PAGE: &[&str] = &[NAMESPACE, DUE, CURSOR, LIMIT];

/// The parameters of a consistency proof.
pub(crate) const CONSISTENCY: &[&str] = &[LOG, SIZE];

/// The parameters of a report.
pub(crate) const REPORT: &[&str] = &[FROM, UNTIL, TOOL];

const FROM: &str = "from";
const UNTIL: &str = "until";
const TOOL: &str = "tool";
const LOG: &str = "log";
const SIZE: &str = "size";
const NAMESPACE: &str = "namespace";
const DUE: &str = "due";
const CURSOR: &str = "cursor";
const LIMIT: &str = "limit";

/// The parameters that a request gave.
#[derive(Debug, Default)]
pub(crate) struct Query(BTreeMap<&'static str, String>);

impl Query {
    /// Reads the query of an address, where these parameters are allowed.
    pub(crate) fn read(uri: &Uri, allowed: &'static [&'static str]) -> Result<Self, Problem> {
        let Pairs(pairs) = Pairs::<Vec<(String, String)>>::try_from_uri(uri).map_err(|fault| {
            let detail = "the query is no list of name=value; percent-encode names and values";
            let mut problem = invalid(detail);
            problem.inside = fault.body_text();
            problem
        })?;
        let mut out = BTreeMap::new();
        for (name, value) in pairs {
            let Some(known) = allowed.iter().find(|known| **known == name) else {
                return Err(unknown(&name, allowed));
            };
            if out.insert(*known, value).is_some() {
                let detail = format!("query parameter `{known}` comes twice; give it once");
                return Err(invalid(detail));
            }
        }
        Ok(Self(out))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The namespace, which must be given.
    pub(crate) fn namespace(&self) -> Result<NamespaceName, Problem> {
        let text = self.get(NAMESPACE).ok_or_else(|| {
            invalid("query parameter `namespace` is missing; add the one to list: ?namespace=main")
        })?;
        NamespaceName::read(text)
            .map_err(|fault| invalid(format!("query parameter `namespace`: {fault}")))
    }

    /// Where the page starts, as the page before said.
    pub(crate) fn cursor(&self) -> Option<&str> {
        self.get(CURSOR)
    }

    /// The range of time that a report is of.
    pub(crate) fn range(&self) -> Result<(Option<Micros>, Option<Micros>), Problem> {
        let moment = |name: &str| {
            let parse = |text: &str| {
                text.parse().map(Micros).map_err(|_| {
                    let given = echo(text);
                    invalid(format!(
                        "query parameter `{name}` is {given}; give microseconds since 1970 (UTC)"
                    ))
                })
            };
            self.get(name).map(parse).transpose()
        };
        Ok((moment(FROM)?, moment(UNTIL)?))
    }

    /// The tool that a report is of.
    pub(crate) fn tool(&self) -> Result<Option<ToolName>, Problem> {
        let read = |text: &str| {
            ToolName::read(text)
                .map_err(|fault| invalid(format!("query parameter `tool`: {fault}")))
        };
        self.get(TOOL).map(read).transpose()
    }

    /// Which log a consistency proof is of.
    pub(crate) fn log(&self) -> Result<ProvenLog, Problem> {
        match self.get(LOG) {
            None | Some("heads") => Ok(ProvenLog::Heads),
            Some("tenant") => Ok(ProvenLog::Tenant),
            Some(other) => Err(invalid(format!(
                "query parameter `log` is {}; give heads or tenant",
                echo(other)
            ))),
        }
    }

    /// The size of the earlier log, which must be given.
    pub(crate) fn size(&self) -> Result<u64, Problem> {
        let text = self.get(SIZE).ok_or_else(|| {
            invalid("query parameter `size` is missing; add the leaves of the earlier log")
        })?;
        text.parse().map_err(|_| {
            invalid(format!(
                "query parameter `size` is {}; give a whole number from 1",
                echo(text)
            ))
        })
    }

    /// Which part of a list is asked for.
    pub(crate) fn page(&self) -> Result<PageSpec<'_>, Problem> {
        Ok(PageSpec {
            cursor: self.cursor(),
            limit: self.limit()?,
        })
    }

    /// Whether only tasks that are due now are asked for.
    pub(crate) fn due(&self) -> Result<bool, Problem> {
        match self.get(DUE) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(invalid(format!(
                "query parameter `due` is {}; give true or false",
                echo(other)
            ))),
        }
    }

    /// Most items on the page, from 1 to [`PAGE_MAX`].
    pub(crate) fn limit(&self) -> Result<usize, Problem> {
        let Some(text) = self.get(LIMIT) else {
            return Ok(PAGE_DEFAULT);
        };
        let range = |code, given: &str| {
            let detail = format!(
                "query parameter `limit` is {given}; give 1 to {PAGE_MAX} and follow `next`"
            );
            Problem::malformed(code, detail)
        };
        let given: i64 = text
            .parse()
            .map_err(|_| range("invalid_query", &echo(text)))?;
        usize::try_from(given)
            .ok()
            .filter(|limit| (1..=PAGE_MAX).contains(limit))
            .ok_or_else(|| range("limit_out_of_range", &given.to_string()))
    }
}

/// A parameter as the OpenAPI document describes it.
pub(crate) fn parameter(name: &str) -> Value {
    let schema = match name {
        NAMESPACE => NamespaceName::schema().to_value(),
        FROM | UNTIL => json!({"type": "integer"}),
        TOOL => ToolName::schema().to_value(),
        LOG => json!({"type": "string", "enum": ["heads", "tenant"], "default": "heads"}),
        SIZE => json!({"type": "integer", "minimum": 1}),
        DUE => json!({"type": "boolean", "default": false}),
        LIMIT => json!({
            "type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE_DEFAULT,
        }),
        _ => json!({"type": "string"}),
    };
    let required = [NAMESPACE, SIZE].contains(&name);
    json!({"name": name, "in": "query", "required": required, "schema": schema})
}

fn invalid(detail: impl Into<String>) -> Problem {
    Problem::malformed("invalid_query", detail)
}

fn unknown(name: &str, allowed: &[&str]) -> Problem {
    let known = if allowed.is_empty() {
        "this path takes none".to_owned()
    } else {
        format!("those allowed are {}", allowed.join(", "))
    };
    let name = echo(name);
    invalid(format!(
        "query parameter {name} is not known here; {known}; leave it out"
    ))
}
