// SPDX-License-Identifier: MIT OR Apache-2.0
//! Coverage by mandates and grounding of sensitive arguments, combined from opaque canonical
//! bytes: this crate compares, it never canonicalises.

use crate::{ArgKind, AuthorityClass, MandateId};
use std::collections::BTreeSet;

/// What a tool does to the world. A tool that no manifest lists has side effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Reads only; it changes nothing and sends nothing to a host the call chooses.
    ReadOnly,
    /// Changes something of the user's.
    Write,
    /// Reaches the outside: sends, pays, publishes, or fetches from a host the call chooses.
    External,
}

impl Effect {
    /// Whether a call has a side effect.
    #[must_use]
    pub const fn has_side_effect(self) -> bool {
        !matches!(self, Self::ReadOnly)
    }

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Write => "write",
            Self::External => "external",
        }
    }
}

/// One mandate that covers one call: every condition of the mandate held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The mandate.
    pub mandate: MandateId,
    /// The weakest class of session it covers: `AgentDerived` unless it says `Untrusted`.
    pub weakest: AuthorityClass,
    /// The arguments whose value the mandate fixes by equality or an enumerated set, and whose
    /// value in this call is one of those.
    pub fixed: BTreeSet<Box<str>>,
    /// Whether `fixed` names every argument of the call.
    pub fixes_all: bool,
}

/// The mandates that cover one call, in the order they were granted; empty when none does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The covering mandates.
    pub grants: Vec<Grant>,
}

/// A value in canonical form: equal bytes under the same kind are the same value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalValue {
    /// What kind of value it is.
    pub kind: ArgKind,
    /// The canonical bytes.
    pub bytes: Box<[u8]>,
}

/// A sensitive argument of a call, element by element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensitiveArg {
    /// The argument's name.
    pub name: Box<str>,
    /// The canonical elements; a list has one for each element, `None` where an element has no
    /// canonical form and so can never be grounded.
    pub elements: Vec<Option<CanonicalValue>>,
}

/// One user turn, class 1 or 2 entry, or declared evidence field, as the values it names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ground {
    /// The canonical values it names.
    pub values: BTreeSet<CanonicalValue>,
}

impl Ground {
    /// Whether this one ground names every element of the argument; an empty list is never named.
    #[must_use]
    pub fn names(&self, arg: &SensitiveArg) -> bool {
        !arg.elements.is_empty()
            && arg
                .elements
                .iter()
                .all(|e| e.as_ref().is_some_and(|value| self.values.contains(value)))
    }
}
