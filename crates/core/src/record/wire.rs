// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes of a record. The part that lineage reads comes first, so that it can be read alone.

use super::{
    DecodeError, DerivationRecord, PARENTS_MAX, Parents, RECORD_BYTES_MAX, RULE_BYTES_MAX,
    RULES_MAX, RecordView, ScreeningNote,
};
use crate::{
    AuthorityClass, Channel, Digest, EntryId, EntryKind, FieldName, LOCATOR_BYTES_MAX, Micros,
    NamespaceName, Origin, PrincipalName, Role, RootSet, SessionId, SourceField, SourceName,
    TenantName, ToolName, TrustRoot,
};

/// Leaf kind of a record in the tenant's log.
const LEAF_RECORD: u8 = 1;
/// Version of this encoding.
const VERSION: u8 = 1;

pub(super) fn encode(r: &DerivationRecord) -> Vec<u8> {
    let mut out = Vec::with_capacity(320);
    out.extend_from_slice(&[LEAF_RECORD, VERSION]);
    put_text(&mut out, r.tenant.as_str());
    put_option(&mut out, r.session.map(|s| *s.bytes()));
    out.extend_from_slice(&r.parents.exposure_root.0);
    out.extend_from_slice(&r.parents.exposure_len.to_be_bytes());
    put_count(&mut out, r.parents.explicit.len());
    r.parents
        .explicit
        .iter()
        .for_each(|d| out.extend_from_slice(&d.0));
    out.push(r.class.number());
    out.extend_from_slice(&r.commitment.0);
    put_identity(&mut out, r);
    put_roots(&mut out, &r.roots);
    out.extend_from_slice(&r.policy_epoch.to_be_bytes());
    put_option(&mut out, r.supersedes.map(|d| d.0));
    put_screening(&mut out, &r.screening);
    out.extend_from_slice(&r.created.0.to_be_bytes());
    put_option(&mut out, r.valid_from.map(|t| t.0.to_be_bytes()));
    put_option(&mut out, r.valid_until.map(|t| t.0.to_be_bytes()));
    out
}

fn put_identity(out: &mut Vec<u8>, r: &DerivationRecord) {
    put_text(out, r.namespace.as_str());
    out.extend_from_slice(r.id.bytes());
    out.extend_from_slice(&r.version.to_be_bytes());
    out.extend_from_slice(&[r.kind.code(), r.origin.channel.code(), r.origin.role.code()]);
    put_text(out, r.origin.principal.as_str());
    put_text(out, &r.origin.locator);
    out.extend_from_slice(&r.origin.at.0.to_be_bytes());
    put_text(out, r.author.as_str());
}

fn put_roots(out: &mut Vec<u8>, roots: &RootSet) {
    let RootSet::Trusted(roots) = roots else {
        put_count(out, 0);
        return;
    };
    put_count(out, roots.as_slice().len());
    for root in roots.as_slice() {
        match root {
            TrustRoot::User(user) => {
                out.push(1);
                put_text(out, user.as_str());
            }
            TrustRoot::Source(field) => {
                out.push(2);
                put_text(out, field.source.as_str());
                put_text(out, field.tool.as_str());
                put_text(out, field.field.as_str());
            }
            TrustRoot::Endorsed { user, digest } => {
                out.push(3);
                put_text(out, user.as_str());
                out.extend_from_slice(&digest.0);
            }
        }
    }
}

fn put_screening(out: &mut Vec<u8>, note: &ScreeningNote) {
    out.extend_from_slice(&note.version.to_be_bytes());
    out.push(match note.instruction_like {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    });
    out.push(u8::from(note.quarantined));
    put_count(out, note.rules.len());
    note.rules.iter().for_each(|rule| put_text(out, rule));
}

/// A two-byte big-endian count. Callers hold counts far below the limit.
fn put_count(out: &mut Vec<u8>, count: usize) {
    let count = u16::try_from(count).unwrap_or(u16::MAX);
    out.extend_from_slice(&count.to_be_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_count(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn put_option<const N: usize>(out: &mut Vec<u8>, value: Option<[u8; N]>) {
    match value {
        None => out.push(0),
        Some(bytes) => {
            out.push(1);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Reads fields from the front of a slice.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) = self.0.split_at_checked(n).ok_or(DecodeError::Truncated)?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], DecodeError> {
        let (head, tail) = self
            .0
            .split_first_chunk::<N>()
            .ok_or(DecodeError::Truncated)?;
        self.0 = tail;
        Ok(head)
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[b]| *b)
    }

    fn count(&mut self, max: usize, field: &'static str) -> Result<usize, DecodeError> {
        let count = usize::from(u16::from_be_bytes(*self.array()?));
        if count > max {
            Err(DecodeError::Field(field))
        } else {
            Ok(count)
        }
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(|b| u32::from_be_bytes(*b))
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(|b| u64::from_be_bytes(*b))
    }

    fn micros(&mut self) -> Result<Micros, DecodeError> {
        self.array().map(|b| Micros(i64::from_be_bytes(*b)))
    }

    fn text(&mut self, max: usize, field: &'static str) -> Result<&'a str, DecodeError> {
        let len = self.count(max, field)?;
        core::str::from_utf8(self.bytes(len)?).map_err(|_| DecodeError::Field(field))
    }

    fn name<T, E>(
        &mut self,
        new: impl Fn(&str) -> Result<T, E>,
        field: &'static str,
    ) -> Result<T, DecodeError> {
        new(self.text(crate::NAME_BYTES_MAX, field)?).map_err(|_| DecodeError::Field(field))
    }

    fn option<T>(
        &mut self,
        field: &'static str,
        read: impl Fn(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        match self.byte()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(DecodeError::Field(field)),
        }
    }

    fn digest(&mut self) -> Result<Digest, DecodeError> {
        self.array().map(|b| Digest(*b))
    }
}

/// Reads the leading, lineage part; leaves the reader at the identity part.
fn read_view<'a>(r: &mut Reader<'a>) -> Result<RecordView<'a>, DecodeError> {
    for expected in [LEAF_RECORD, VERSION] {
        let byte = r.byte()?;
        if byte != expected {
            return Err(DecodeError::Version(byte));
        }
    }
    let len = r.count(crate::NAME_BYTES_MAX, "tenant")?;
    let tenant = r.bytes(len)?;
    let session = r.option("session", Reader::array)?;
    let exposure_root = r.array()?;
    let exposure_len = r.u64()?;
    let count = r.count(PARENTS_MAX, "parents")?;
    let (explicit, _) = r.bytes(count.saturating_mul(32))?.as_chunks::<32>();
    let class = match r.byte()? {
        n @ 1..=4 => AuthorityClass::from_number(n),
        _ => return Err(DecodeError::Field("class")),
    };
    let commitment = r.array()?;
    Ok(RecordView {
        tenant,
        session,
        exposure_root,
        exposure_len,
        explicit,
        class,
        commitment,
    })
}

pub(super) fn view(bytes: &[u8]) -> Result<RecordView<'_>, DecodeError> {
    if bytes.len() > RECORD_BYTES_MAX {
        return Err(DecodeError::TooLong(bytes.len()));
    }
    read_view(&mut Reader(bytes))
}

pub(super) fn decode(bytes: &[u8]) -> Result<DerivationRecord, DecodeError> {
    if bytes.len() > RECORD_BYTES_MAX {
        return Err(DecodeError::TooLong(bytes.len()));
    }
    let mut r = Reader(bytes);
    let view = read_view(&mut r)?;
    let tenant = core::str::from_utf8(view.tenant).map_err(|_| DecodeError::Field("tenant"))?;
    let namespace = r.name(NamespaceName::new, "namespace")?;
    let id = EntryId::from_bytes(*r.array()?);
    let version = r.u32()?;
    let kind = EntryKind::from_code(r.byte()?).ok_or(DecodeError::Field("kind"))?;
    let origin = read_origin(&mut r)?;
    let author = r.name(PrincipalName::new, "author")?;
    let roots = read_roots(&mut r)?;
    let policy_epoch = r.u64()?;
    let supersedes = r.option("supersedes", Reader::digest)?;
    let screening = read_screening(&mut r)?;
    let created = r.micros()?;
    let valid_from = r.option("valid_from", Reader::micros)?;
    let valid_until = r.option("valid_until", Reader::micros)?;
    if !r.0.is_empty() {
        return Err(DecodeError::Trailing);
    }
    let explicit: Vec<Digest> = view.explicit.iter().map(|d| Digest(*d)).collect();
    if !explicit.is_sorted_by(|a, b| a < b) {
        return Err(DecodeError::Field("parents"));
    }
    Ok(DerivationRecord {
        tenant: TenantName::new(tenant).map_err(|_| DecodeError::Field("tenant"))?,
        namespace,
        id,
        version,
        kind,
        origin,
        author,
        session: view.session.map(|b| SessionId::from_bytes(*b)),
        parents: Parents {
            exposure_root: Digest(*view.exposure_root),
            exposure_len: view.exposure_len,
            explicit,
        },
        roots,
        class: view.class,
        policy_epoch,
        supersedes,
        commitment: Digest(*view.commitment),
        screening,
        created,
        valid_from,
        valid_until,
    })
}

fn read_origin(r: &mut Reader<'_>) -> Result<Origin, DecodeError> {
    Ok(Origin {
        channel: Channel::from_code(r.byte()?).ok_or(DecodeError::Field("channel"))?,
        role: Role::from_code(r.byte()?).ok_or(DecodeError::Field("role"))?,
        principal: r.name(PrincipalName::new, "principal")?,
        locator: r.text(LOCATOR_BYTES_MAX, "locator")?.into(),
        at: r.micros()?,
    })
}

fn read_roots(r: &mut Reader<'_>) -> Result<RootSet, DecodeError> {
    let count = r.count(crate::ROOTS_MAX, "roots")?;
    let mut roots = Vec::with_capacity(count);
    for _ in 0..count {
        roots.push(match r.byte()? {
            1 => TrustRoot::User(r.name(PrincipalName::new, "root")?),
            2 => TrustRoot::Source(SourceField {
                source: r.name(SourceName::new, "root")?,
                tool: r.name(ToolName::new, "root")?,
                field: r.name(FieldName::new, "root")?,
            }),
            3 => TrustRoot::Endorsed {
                user: r.name(PrincipalName::new, "root")?,
                digest: r.digest()?,
            },
            _ => return Err(DecodeError::Field("root")),
        });
    }
    Ok(RootSet::new(roots))
}

fn read_screening(r: &mut Reader<'_>) -> Result<ScreeningNote, DecodeError> {
    let version = r.u32()?;
    let instruction_like = match r.byte()? {
        0 => None,
        1 => Some(false),
        2 => Some(true),
        _ => return Err(DecodeError::Field("instruction_like")),
    };
    let quarantined = match r.byte()? {
        0 => false,
        1 => true,
        _ => return Err(DecodeError::Field("quarantined")),
    };
    let count = r.count(RULES_MAX, "rules")?;
    let rules = (0..count)
        .map(|_| r.text(RULE_BYTES_MAX, "rule").map(Into::into))
        .collect::<Result<Vec<Box<str>>, _>>()?;
    Ok(ScreeningNote {
        version,
        instruction_like,
        quarantined,
        rules,
    })
}
