// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of the vocabulary for tests. Each list names every variant once: a new variant does not
//! compile until it has its place here, and with it its rows in the tables.

use ancile_core::{
    ArgKind, AuthorityClass, Broken, CanonicalValue, Decision, Effect, EntryEffect, Grant, Ground,
    MandateId, SensitiveArg, SessionMode,
};

macro_rules! every {
    ($list:ident, $place:ident: [$kind:ident; $n:literal] = $($variant:ident),+) => {
        pub const $list: [$kind; $n] = [$($kind::$variant),+];

        /// Fails to compile when a variant is not in the list.
        const fn $place(value: $kind) {
            match value { $($kind::$variant => {}),+ }
        }
        const _: () = $place($list[0]);
    };
}

every!(CLASSES, class_listed: [AuthorityClass; 4] =
    UserAuthored, ApprovedSource, AgentDerived, Untrusted);
every!(DECISIONS, decision_listed: [Decision; 4] = Permit, PermitLabelled, Ask, Deny);
every!(BROKEN, broken_listed: [Broken; 8] =
    RecordEdited, ContentEdited, ParentMissing, ForeignTenant, Cycle, ExposureEdited,
    ClassTooStrong, TooLong);
every!(EFFECTS, effect_listed: [Effect; 3] = ReadOnly, Write, External);

/// The modes of a session with their names in the tables.
pub const MODES: [(SessionMode, &str); 2] = [
    (SessionMode::Interactive, mode(SessionMode::Interactive)),
    (SessionMode::Headless, mode(SessionMode::Headless)),
];

const fn mode(mode: SessionMode) -> &'static str {
    match mode {
        SessionMode::Interactive => "interactive",
        SessionMode::Headless => "other",
    }
}

/// What screening can say of a text; `None` with the detectors off.
pub const LOOKS: [Option<bool>; 3] = [Some(false), Some(true), None];

/// The column of a [`LOOKS`] value.
pub const fn look(instruction_like: Option<bool>) -> &'static str {
    match instruction_like {
        Some(false) => "not instruction-like",
        Some(true) => "instruction-like",
        None => "detectors off",
    }
}

/// The name of a decision in the tables.
pub const fn decision(decision: Decision) -> &'static str {
    decision.name()
}

/// The name of an entry effect in the tables.
pub const fn effect(effect: EntryEffect) -> &'static str {
    match effect {
        EntryEffect::Keep => "keep",
        EntryEffect::Quarantine => "quarantine",
    }
}

/// What surrounds a call.
#[derive(Debug, Clone)]
pub struct World {
    pub coverage: Vec<Grant>,
    pub sensitive: Vec<SensitiveArg>,
    pub grounds: Vec<Ground>,
}

/// A value in canonical form.
pub fn value(text: &str) -> CanonicalValue {
    CanonicalValue {
        kind: ArgKind::Free,
        bytes: text.as_bytes().into(),
    }
}

/// A sensitive argument with these elements; `?` has no canonical form.
pub fn arg(name: &str, elements: &[&str]) -> SensitiveArg {
    SensitiveArg {
        name: name.into(),
        elements: elements
            .iter()
            .map(|text| (*text != "?").then(|| value(text)))
            .collect(),
    }
}

/// A ground that names these values.
pub fn ground(values: &[&str]) -> Ground {
    Ground {
        values: values.iter().map(|text| value(text)).collect(),
    }
}

/// A mandate that covers the call down to a class; its id says what it is.
pub fn grant(weakest: AuthorityClass, fixed: &[&str], fixes_all: bool) -> Grant {
    let mut id = [0; 16];
    id[0] = weakest.number();
    id[1] = u8::try_from(fixed.len()).unwrap();
    id[2] = u8::from(fixes_all);
    Grant {
        mandate: MandateId::from_bytes(id),
        weakest,
        fixed: fixed.iter().map(|name| (*name).into()).collect(),
        fixes_all,
    }
}
