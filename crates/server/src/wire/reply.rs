// SPDX-License-Identifier: MIT OR Apache-2.0
//! An agent's reply, and what the filter took out of it.

use ancile_engine::{FilteredReply, RemovedLink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reply as the agent wrote it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplyBody {
    /// Markdown, HTML or plain text.
    pub(crate) text: String,
}

/// A reply as it may be shown.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FilteredBody {
    /// The text, with marks in place of what was removed; as it came where the gates only log.
    text: String,
    /// What was removed.
    removed: Vec<RemovedBody>,
}

/// A link or image that was removed.
#[derive(Serialize, JsonSchema)]
struct RemovedBody {
    /// Where it began, in bytes of the reply as it came.
    from: usize,
    /// Where it ended.
    to: usize,
    /// `link`, `image`, `definition`, `tag`, `bare` or `reply`.
    kind: &'static str,
    /// Where it led; the first 200 bytes.
    target: String,
    /// `not_named`, `scheme`, `unreadable`, `element`, `attribute` or `too_long`.
    reason: &'static str,
}

impl From<RemovedLink> for RemovedBody {
    fn from(link: RemovedLink) -> Self {
        Self {
            from: link.span.start,
            to: link.span.end,
            kind: link.kind.name(),
            target: link.target,
            reason: link.reason.name(),
        }
    }
}

impl From<FilteredReply> for FilteredBody {
    fn from(reply: FilteredReply) -> Self {
        Self {
            text: reply.text,
            removed: reply.removed.into_iter().map(RemovedBody::from).collect(),
        }
    }
}
