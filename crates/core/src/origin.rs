// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where an entry came from, and the golden class table.

use crate::{AuthorityClass, Micros, PrincipalName};
use core::fmt;

macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$vdoc:meta])* $variant:ident = $code:literal $text:literal),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// All values, in table order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name on the wire.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The byte in records; fixed for ever.
            #[must_use]
            pub const fn code(self) -> u8 {
                match self { $(Self::$variant => $code),+ }
            }

            /// The value with this record byte.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }

            /// The value with this wire name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use named_enum;

named_enum!(
    /// The way a text came in, fixed from the authenticated connection.
    Channel {
        /// A user's own words.
        User = 1 "user",
        /// Text a user pasted.
        Paste = 2 "paste",
        /// An ingested document.
        Document = 3 "document",
        /// A registered connector.
        Source = 4 "source",
        /// A tool's result.
        Tool = 5 "tool",
        /// A web page.
        Web = 6 "web",
        /// An agent's own words.
        Agent = 7 "agent",
        /// Another agent's message.
        PeerAgent = 8 "peer_agent",
        /// An import.
        Import = 9 "import",
        /// Not named, or not one the credential may use.
        Unknown = 10 "unknown",
    }
);

named_enum!(
    /// What a principal is.
    Role {
        /// A person.
        User = 1 "user",
        /// The program around the model.
        Host = 2 "host",
        /// The model.
        Agent = 3 "agent",
        /// A connector.
        Source = 4 "source",
        /// A tool.
        Tool = 5 "tool",
        /// The part that fires due tasks.
        Scheduler = 6 "scheduler",
        /// Who runs the store.
        Operator = 7 "operator",
    }
);

named_enum!(
    /// What today's policy says of the (source, tool, field) a text came from.
    SourceState {
        /// Not from a registered source.
        None = 1 "none",
        /// Registered, not approved; or an undeclared or free-text field.
        Registered = 2 "registered",
        /// Approved with grade `evidence`: a declared typed field.
        Evidence = 3 "evidence",
        /// Approved with grade `authority`.
        Authority = 4 "authority",
        /// Approval withdrawn.
        Revoked = 5 "revoked",
    }
);

named_enum!(
    /// What an entry is for.
    EntryKind {
        /// Something remembered.
        Memory = 1 "memory",
        /// Something to be done later.
        Task = 2 "task",
        /// A file that is put into every context.
        ContextFile = 3 "context_file",
    }
);

/// What a credential lets its holder say about channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelGrant {
    /// The role behind the credential.
    pub role: Role,
    /// The operator marked this host as one that relays its user's own turns.
    pub relays_user: bool,
    /// The channels the credential lists.
    pub channels: Vec<Channel>,
}

impl ChannelGrant {
    /// Fixes the channel of a text: what the caller asks for if its credential may use it, else
    /// [`Channel::Unknown`]. Only a user, or a host marked `relays_user`, yields
    /// [`Channel::User`]; agents yield [`Channel::Agent`] whatever they ask for.
    #[must_use]
    pub fn channel(&self, asked: Option<Channel>) -> Channel {
        match (self.role, asked) {
            (Role::Agent, _) => Channel::Agent,
            (Role::User, None | Some(Channel::User)) => Channel::User,
            (Role::User, Some(Channel::Agent | Channel::PeerAgent | Channel::Source)) => {
                Channel::Unknown
            }
            (Role::User, Some(other)) => other,
            (Role::Host, Some(Channel::User)) if !self.relays_user => Channel::Unknown,
            (_, Some(Channel::User)) if self.role != Role::Host => Channel::Unknown,
            (_, Some(channel)) if self.channels.contains(&channel) => channel,
            _ => Channel::Unknown,
        }
    }
}

/// The strongest class that a text of this origin can have: the golden class table. Anything not
/// listed is [`AuthorityClass::Untrusted`]. What an agent wrote is further met with all that its
/// session was shown.
#[must_use]
pub const fn class_of(channel: Channel, role: Role, state: SourceState) -> AuthorityClass {
    match (channel, role, state) {
        (Channel::User, Role::User | Role::Host, SourceState::None) => AuthorityClass::UserAuthored,
        (Channel::Agent, Role::Agent | Role::Host, SourceState::None) => {
            AuthorityClass::AgentDerived
        }
        (Channel::Source, Role::Source | Role::Host, SourceState::Authority)
        | (Channel::Tool, Role::Tool | Role::Host, SourceState::Authority) => {
            AuthorityClass::ApprovedSource
        }
        (Channel::Source, Role::Source | Role::Host, SourceState::Evidence)
        | (Channel::Tool, Role::Tool | Role::Host, SourceState::Evidence) => {
            AuthorityClass::AgentDerived
        }
        _ => AuthorityClass::Untrusted,
    }
}

/// Longest locator, in bytes.
pub const LOCATOR_BYTES_MAX: usize = 2_048;

/// Where an entry came from, fixed at write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The way in.
    pub channel: Channel,
    /// The role of the credential that brought it.
    pub role: Role,
    /// The principal of that credential.
    pub principal: PrincipalName,
    /// Address, file or connector, from the host's transport; empty when there is none. It only
    /// subdivides a cap that its principal already has.
    pub locator: Box<str>,
    /// When it came in.
    pub at: Micros,
}

/// The unit that caps are counted by: channel, principal, and registrable domain, tool or
/// connector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OriginKey {
    /// The way in.
    pub channel: Channel,
    /// Who brought it.
    pub principal: PrincipalName,
    /// Registrable domain, tool or connector; empty when there is none.
    pub part: Box<str>,
}
