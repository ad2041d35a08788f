// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions on the wire.

use super::spelled::{Spelled, spelled_list};
use ancile_core::{
    AuthorityClass, Digest, EntryId, NamespaceName, PermitId, PrincipalName, SessionId, SessionMode,
};
use ancile_engine::api::{SessionOpened, SessionSpec, SessionView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A session to be opened.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionBody {
    /// The agent.
    agent: Spelled<PrincipalName>,
    /// The user.
    user: Spelled<PrincipalName>,
    /// The namespace.
    namespace: Spelled<NamespaceName>,
    /// `interactive` or `headless`, which is the default.
    #[serde(default = "headless")]
    mode: Spelled<SessionMode>,
    /// The host reports all that is shown; not so by default, and then the session is class 4.
    #[serde(default)]
    observed: bool,
}

fn headless() -> Spelled<SessionMode> {
    Spelled(SessionMode::Headless)
}

impl From<SessionBody> for SessionSpec {
    fn from(body: SessionBody) -> Self {
        Self {
            agent: body.agent.0,
            user: body.user.0,
            namespace: body.namespace.0,
            mode: body.mode.0,
            observed: body.observed,
        }
    }
}

impl From<SessionSpec> for SessionBody {
    fn from(spec: SessionSpec) -> Self {
        Self {
            agent: Spelled(spec.agent),
            user: Spelled(spec.user),
            namespace: Spelled(spec.namespace),
            mode: Spelled(spec.mode),
            observed: spec.observed,
        }
    }
}

/// A session just opened.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionOpenedBody {
    id: Spelled<SessionId>,
    token: String,
    class: Spelled<AuthorityClass>,
    why: String,
}

impl From<SessionOpened> for SessionOpenedBody {
    fn from(opened: SessionOpened) -> Self {
        Self {
            id: Spelled(opened.id),
            token: opened.token,
            class: Spelled(opened.class),
            why: opened.why,
        }
    }
}

/// A session as its opener sees it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionViewBody {
    id: Spelled<SessionId>,
    agent: Spelled<PrincipalName>,
    user: Spelled<PrincipalName>,
    namespace: Spelled<NamespaceName>,
    mode: Spelled<SessionMode>,
    observed: bool,
    task: Option<Spelled<EntryId>>,
    closed: bool,
    class: Spelled<AuthorityClass>,
    why: String,
    exposure_root: Spelled<Digest>,
    exposure_len: u64,
    /// Exposures in which screening found something.
    flagged: u64,
    outstanding: Vec<Spelled<PermitId>>,
}

impl From<SessionView> for SessionViewBody {
    fn from(view: SessionView) -> Self {
        let spec = SessionBody::from(view.spec);
        Self {
            id: Spelled(view.id),
            agent: spec.agent,
            user: spec.user,
            namespace: spec.namespace,
            mode: spec.mode,
            observed: spec.observed,
            task: view.task.map(Spelled),
            closed: view.closed,
            class: Spelled(view.class),
            why: view.why,
            exposure_root: Spelled(view.exposure_root),
            exposure_len: view.exposure_len,
            flagged: view.flagged,
            outstanding: spelled_list(view.outstanding),
        }
    }
}
