// SPDX-License-Identifier: MIT OR Apache-2.0
//! What many entries of a segment share: class at write, kind, channel and trust roots.

use crate::event::{roots_from_text, roots_text};
use crate::state::{Entry, Tenant};
use ancile_core::{AuthorityClass, Channel, DerivationRecord, EntryKind, PrincipalName, RootSet};

/// What recall looks at before it reads an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    pub class: AuthorityClass,
    pub kind: EntryKind,
    pub channel: Channel,
    pub roots: RootSet,
    /// Content or record did not hold when it was sealed.
    pub damaged: bool,
}

impl Facts {
    pub(crate) fn of(entry: &Entry) -> Self {
        let record = &entry.record;
        Self {
            class: record.class,
            kind: record.kind,
            channel: record.origin.channel,
            roots: record.roots.clone(),
            damaged: entry.damaged.is_some(),
        }
    }

    /// The class today, as `viewer` sees it.
    pub(crate) fn class_today(&self, tenant: &Tenant, viewer: &PrincipalName) -> AuthorityClass {
        if self.damaged {
            return AuthorityClass::Untrusted;
        }
        self.class.meet(self.roots.class(tenant, viewer))
    }

    /// Four bytes, then the roots a line each.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![
            self.class.number(),
            self.kind.code(),
            self.channel.code(),
            u8::from(self.damaged),
        ];
        out.extend(roots_text(&self.roots).join("\n").into_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let ([class, kind, channel, damaged], roots) = bytes.split_first_chunk()?;
        let lines = std::str::from_utf8(roots).ok()?.lines();
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        let roots = match lines.as_slice() {
            [] => RootSet::Untrusted,
            lines => roots_from_text(lines),
        };
        let class = AuthorityClass::ALL
            .into_iter()
            .find(|c| c.number() == *class)?;
        let facts = Self {
            class,
            kind: EntryKind::from_code(*kind)?,
            channel: Channel::from_code(*channel)?,
            roots,
            damaged: *damaged != 0,
        };
        (facts.encode() == bytes).then_some(facts)
    }
}

/// Microseconds from which a record is valid, and from which no more.
pub(crate) fn validity(record: &DerivationRecord) -> (i64, i64) {
    let from = record.valid_from.map_or(i64::MIN, |at| at.0);
    let until = record.valid_until.map_or(i64::MAX, |at| at.0);
    (from, until)
}
