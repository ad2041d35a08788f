// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a first run makes.

use crate::api::KeySpec;
use crate::event::Event;
use crate::refusal::Refusal;
use crate::turn::Turn;
use crate::{admin, name};
use ancile_core::{Channel, NamespaceName, PrincipalName, Role, TenantName};

/// Tenant, namespace and the four keys of a first run.
pub(crate) fn keys(
    turn: &mut Turn<'_>,
) -> Result<Vec<(&'static str, PrincipalName, String)>, Refusal> {
    let tenant = name(TenantName::new("default"))?;
    let operator = name(PrincipalName::new("operator"))?;
    let main = name(NamespaceName::new("main"))?;
    let first = admin::found_tenant(turn, &tenant, &operator)?;
    let namespace = Event::NamespaceMade {
        name: main.clone(),
        readers: vec![],
        writers: vec![],
    };
    turn.emit(&tenant, &namespace)?;
    let mut made = vec![("operator", operator, first.token)];
    let assistant = name(PrincipalName::new("assistant"))?;
    use Channel::{Agent, Document, Import, Paste, PeerAgent, Source, Tool, User, Web};
    let rows: [(&'static str, &str, Role, &[Channel]); 3] = [
        (
            "user",
            "alice",
            Role::User,
            &[User, Paste, Document, Import],
        ),
        (
            "host",
            "host",
            Role::Host,
            &[
                User, Paste, Document, Source, Tool, Web, Agent, PeerAgent, Import,
            ],
        ),
        ("agent", "assistant", Role::Agent, &[Agent]),
    ];
    for (file, principal, role, channels) in rows {
        let principal = name(PrincipalName::new(principal))?;
        let spec = KeySpec {
            principal: principal.clone(),
            role,
            namespaces: vec![main.clone()],
            channels: channels.to_vec(),
            agent: (role == Role::Agent).then(|| assistant.clone()),
            relays_user: role == Role::Host,
            expires: None,
        };
        let key = admin::make_key(turn, &tenant, spec)?;
        made.push((file, principal, key.token));
    }
    Ok(made)
}
