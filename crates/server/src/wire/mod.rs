// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wire forms: what requests and answers look like in JSON. Unknown and repeated fields are
//! refused; moments are microseconds since 1970-01-01 UTC.

pub(crate) mod act;
pub(crate) mod chat;
pub(crate) mod entry;
pub(crate) mod health;
pub(crate) mod key;
pub(crate) mod lists;
pub(crate) mod mandate;
pub(crate) mod operation;
pub(crate) mod query;
pub(crate) mod recall;
pub(crate) mod reply;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod session;
pub(crate) mod source;
pub(crate) mod spelled;
pub(crate) mod step;
pub(crate) mod value;

use crate::problem::Problem;
use ancile_core::Micros;
use std::ops::RangeInclusive;

/// Moments as numbers.
fn micros(moment: Option<Micros>) -> Option<i64> {
    moment.map(|at| at.0)
}

/// Takes a count that the wire lets be negative, so that a negative one gets a clear answer.
fn count(
    name: &str,
    value: Option<i64>,
    range: RangeInclusive<u32>,
) -> Result<Option<u32>, Problem> {
    let fits = |given: i64| {
        u32::try_from(given)
            .ok()
            .filter(|count| range.contains(count))
            .ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                let detail =
                    format!("`{name}` is {given}; give a whole number from {least} to {most}");
                Problem::malformed("count_out_of_range", detail)
            })
    };
    value.map(fits).transpose()
}
