// SPDX-License-Identifier: MIT OR Apache-2.0
//! Closing sessions that nobody closed, so that no text of what was shown is kept without an end.

use crate::api::SESSION_SECONDS;
use crate::core::Core;
use crate::refusal::Refusal;
use crate::state::State;
use crate::step::forget;
use crate::turn::Turn;
use ancile_core::{Micros, SessionId, TenantName};

/// How often sessions are looked through, in seconds.
pub(crate) const LOOKED_EVERY_SECONDS: i64 = 3_600;
/// Sessions closed in one commit.
const CLOSED_PER_COMMIT: usize = 64;

impl Core {
    /// Closes sessions that have been open for as long as one may be, some in a commit. Says
    /// whether there were any; once there are none, it looks again after a while.
    pub(super) fn close_old_sessions(&mut self, now: Micros) -> Result<bool, Refusal> {
        if self.upkeep.sessions_due.is_some_and(|due| now < due) {
            return Ok(false);
        }
        let old = old_sessions(&self.state, now);
        if old.is_empty() {
            let due = now.plus_seconds(LOOKED_EVERY_SECONDS);
            self.upkeep.sessions_due = Some(due);
            return Ok(false);
        }
        for (tenant, session) in &old {
            let done = forget(&mut Turn::new(self), tenant, session);
            // What was done of the group is not taken back one by one.
            done.map_err(|refusal| self.lost(&refusal.outside))?;
            tracing::info!(%tenant, %session, "closed: it was open for as long as one may be");
        }
        self.commit(0)?;
        Ok(true)
    }
}

/// Sessions that are open for too long, some of them. They lie in the order of their identifiers,
/// which begin with the moment when they were opened.
fn old_sessions(state: &State, now: Micros) -> Vec<(TenantName, SessionId)> {
    let ends = |opened: u64| {
        let opened = i64::try_from(opened).unwrap_or(i64::MAX);
        Micros(opened.saturating_mul(1_000)).plus_seconds(SESSION_SECONDS)
    };
    let of_tenant = |(name, tenant): (&TenantName, _)| {
        let tenant: &std::sync::Arc<crate::state::Tenant> = tenant;
        let name = name.clone();
        let old = tenant.sessions.iter();
        old.take_while(move |(id, _)| ends(id.unix_ms()) <= now)
            .filter(|(_, session)| !session.closed)
            .map(move |(id, _)| (name.clone(), *id))
    };
    let all = state.tenants.iter().flat_map(of_tenant);
    all.take(CLOSED_PER_COMMIT).collect()
}
