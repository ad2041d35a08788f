// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queries of lists.

use super::spelled::Spelled;
use crate::problem::Problem;
use ancile_core::NamespaceName;
use ancile_engine::api::PAGE_MAX;
use serde::Deserialize;

/// Items on a page where the query does not say.
pub(crate) const PAGE_DEFAULT: usize = 50;

/// `?cursor=&limit=`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageQuery {
    /// Where the page starts, as the page before said.
    pub(crate) cursor: Option<String>,
    /// Most items.
    limit: Option<i64>,
}

/// `?namespace=&cursor=&limit=`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamespaceQuery {
    /// The namespace.
    pub(crate) namespace: Spelled<NamespaceName>,
    /// Where the page starts, as the page before said.
    pub(crate) cursor: Option<String>,
    /// Most items.
    limit: Option<i64>,
}

/// `?namespace=&due=&cursor=&limit=`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskQuery {
    /// The namespace.
    pub(crate) namespace: Spelled<NamespaceName>,
    /// Only the tasks that are due now.
    #[serde(default)]
    pub(crate) due: bool,
    /// Where the page starts, as the page before said.
    pub(crate) cursor: Option<String>,
    /// Most items.
    limit: Option<i64>,
}

macro_rules! limited {
    ($($name:ident),+) => { $(impl $name {
        /// Most items on the page, from 1 to [`PAGE_MAX`].
        pub(crate) fn limit(&self) -> Result<usize, Problem> {
            limit(self.limit)
        }
    })+ };
}
limited!(PageQuery, NamespaceQuery, TaskQuery);

fn limit(given: Option<i64>) -> Result<usize, Problem> {
    let Some(given) = given else {
        return Ok(PAGE_DEFAULT);
    };
    usize::try_from(given)
        .ok()
        .filter(|limit| (1..=PAGE_MAX).contains(limit))
        .ok_or_else(|| {
            let detail = format!("`limit` is {given}; give 1 to {PAGE_MAX} and follow `next`");
            Problem::malformed("limit_out_of_range", detail)
        })
}
