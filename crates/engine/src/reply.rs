// SPDX-License-Identifier: MIT OR Apache-2.0
//! An agent's reply, without the links and images that nobody named.

use crate::api::Gates;
use crate::refusal::Refusal;
use crate::session::GroundItem;
use crate::turn::within;
use crate::{Caller, Engine, FilteredReply};
use ancile_core::SessionId;
use ancile_screen::{REPLY_BYTES_MAX, filter_reply};
use std::sync::Arc;

impl Engine {
    /// Takes out of an agent's reply each link and image whose host the grounding set of its
    /// session does not name. Where the gates only log, the text is the reply as it came, beside
    /// what would have been removed.
    ///
    /// The grounding set is taken on the writer's thread, and the reply is read on the caller's,
    /// so that a long one keeps nobody waiting.
    ///
    /// # Errors
    /// [`Refusal`] where the key is not the session's host's, the session is not open under this
    /// token, or the reply is longer than [`REPLY_BYTES_MAX`].
    pub fn filter_reply(
        &self,
        by: &Caller,
        id: SessionId,
        token: &str,
        reply: &str,
    ) -> Result<FilteredReply, Refusal> {
        within(reply, REPLY_BYTES_MAX, "text")?;
        let token = token.to_owned();
        let (grounds, gates) = self.with(by, move |turn, key| {
            let tenant = turn.tenant(&key.tenant)?;
            let session = turn.session(key, &id, &token)?;
            let grounds: Vec<Arc<GroundItem>> = session.standing(tenant).cloned().collect();
            Ok((grounds, turn.core.gates))
        })?;
        let named = |value: &_| grounds.iter().any(|item| item.names(value));
        let mut out = filter_reply(reply, &named);
        if gates != Gates::Enforce {
            reply.clone_into(&mut out.text);
        }
        Ok(out)
    }
}
