// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trust roots: what the authority of an entry rests on, and how it falls when policy changes.

use crate::{
    AuthorityClass, Channel, Digest, FieldName, PrincipalName, Role, SourceName, SourceState,
    ToolName, class_of,
};

/// Most trust roots of one entry; one more makes the entry untrusted.
pub const ROOTS_MAX: usize = 32;

/// One output field of one tool of a source: the unit that approval is given to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceField {
    /// The source.
    pub source: SourceName,
    /// The tool.
    pub tool: ToolName,
    /// The field of the tool's result.
    pub field: FieldName,
}

/// One origin that an entry's authority rests on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrustRoot {
    /// A user's own words.
    User(PrincipalName),
    /// An approved field of a source.
    Source(SourceField),
    /// A user's act that named an exact digest.
    Endorsed {
        /// The user who acted.
        user: PrincipalName,
        /// The digest that was named.
        digest: Digest,
    },
}

/// The trust roots of an entry. Anything untrusted in the set makes all of it untrusted, so that
/// case carries no list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootSet {
    /// At least one root is untrusted or unknown, there is none, or there are too many.
    Untrusted,
    /// One to [`ROOTS_MAX`] roots, sorted, each once.
    Trusted(TrustedRoots),
}

/// The sorted, bounded list inside [`RootSet::Trusted`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedRoots(Vec<TrustRoot>);

impl TrustedRoots {
    /// The roots, sorted.
    #[must_use]
    pub fn as_slice(&self) -> &[TrustRoot] {
        &self.0
    }
}

impl RootSet {
    /// Sorts and bounds the roots: none, or more than [`ROOTS_MAX`], is untrusted.
    #[must_use]
    pub fn new(roots: impl IntoIterator<Item = TrustRoot>) -> Self {
        let mut roots: Vec<TrustRoot> = roots.into_iter().collect();
        roots.sort_unstable();
        roots.dedup();
        if roots.is_empty() || roots.len() > ROOTS_MAX {
            Self::Untrusted
        } else {
            Self::Trusted(TrustedRoots(roots))
        }
    }

    /// All that either rests on: the union, or untrusted.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Trusted(a), Self::Trusted(b)) if a == b => self.clone(),
            (Self::Trusted(a), Self::Trusted(b)) => {
                Self::new(a.0.iter().chain(b.0.iter()).cloned())
            }
            _ => Self::Untrusted,
        }
    }

    /// Whether everything in `other` is also in this set, so that this can be no stronger.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Untrusted, _) => true,
            (Self::Trusted(_), Self::Untrusted) => false,
            (Self::Trusted(a), Self::Trusted(b)) => {
                b.0.iter().all(|root| a.0.binary_search(root).is_ok())
            }
        }
    }

    /// The class of the set under a policy, as `viewer` sees it: the meet over the roots.
    #[must_use]
    pub fn class(&self, policy: &dyn PolicyView, viewer: &PrincipalName) -> AuthorityClass {
        match self {
            Self::Untrusted => AuthorityClass::Untrusted,
            Self::Trusted(roots) => roots
                .0
                .iter()
                .map(|root| root.class(policy, viewer))
                .fold(AuthorityClass::UserAuthored, AuthorityClass::meet),
        }
    }
}

/// What today's policy says of users and sources.
pub trait PolicyView {
    /// The state of a source's field; `None` when nothing is registered under it.
    fn source(&self, field: &SourceField) -> SourceState;
    /// The state of another user's words in this namespace: `Evidence` or `Authority` where the
    /// owner registered that user as a source, else `None`.
    fn other_user(&self, user: &PrincipalName) -> SourceState;
}

impl TrustRoot {
    /// The class of one root under a policy, as `viewer` sees it.
    #[must_use]
    pub fn class(&self, policy: &dyn PolicyView, viewer: &PrincipalName) -> AuthorityClass {
        match self {
            Self::User(user) if user == viewer => AuthorityClass::UserAuthored,
            Self::User(user) => graded(policy.other_user(user)),
            Self::Source(field) => graded(policy.source(field)),
            Self::Endorsed { user, .. } if user == viewer => AuthorityClass::AgentDerived,
            Self::Endorsed { .. } => AuthorityClass::Untrusted,
        }
    }
}

/// The class that the golden table gives to a source in this state.
fn graded(state: SourceState) -> AuthorityClass {
    class_of(Channel::Source, Role::Source, state)
}
