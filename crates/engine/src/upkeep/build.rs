// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making segments: of what is in memory, of other segments, and of the log.

use crate::core::{entry_of, place_of};
use crate::embedding::Embedding;
use crate::index::{Facts, Place, Tail, exact_bytes, model_of, validity};
use crate::prints::print_of;
use crate::state::Entry;
use ancile_core::{DerivationRecord, Digest, EntryKind, TenantName, record_hash};
use ancile_kernel::Quantised;
use ancile_ledger::NodeHash;
use ancile_models::ModelId;
use ancile_store::Beside;
use ancile_store::segment::{
    Built, ChunkSource, Draft, Part, QUARANTINED, Row, Segment, SegmentError, TASK, Vectors,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn text(fault: impl std::fmt::Display) -> String {
    fault.to_string()
}

/// A place, its entries that are to be sealed, and their texts and vectors, the oldest first.
pub(super) type Sealing = (Place, Vec<Arc<Entry>>, Vec<Arc<Tail>>);

/// Texts on which the model failed, by their leaves.
pub(super) type Late = BTreeMap<u64, NodeHash>;

/// Vectors that the model made at another try, by sequence number.
pub(super) type MadeLate = BTreeMap<u64, Option<Arc<[f32]>>>;

/// Gives the model another try at texts on which it failed.
pub(super) fn made_late(
    db: &Beside,
    tenant: &TenantName,
    late: &Late,
    embedding: &Embedding,
) -> Result<MadeLate, String> {
    let mut made = MadeLate::new();
    for (seq, hash) in late {
        let text = record_of(db, tenant, (*seq, hash))?.and_then(|(_, text)| text);
        let vector = text.map_or(Ok(None), |text| embedding.vector(&text));
        if let Ok(vector) = vector {
            made.insert(*seq, vector);
        }
    }
    Ok(made)
}

/// Segments of what is in memory, one for each place.
pub(super) fn seal(
    parts: Vec<Sealing>,
    model: Option<&ModelId>,
    late: &MadeLate,
) -> Result<Vec<(Place, Built)>, String> {
    let built = parts.into_iter().map(|(place, entries, tails)| {
        let built = of_tails(&entries, &tails, model, late)?;
        Ok((place, built))
    });
    built.collect()
}

/// A segment of entries by ascending sequence number, with their texts and vectors. Where the
/// model failed on one of them it has no vectors at all: what a rebuild has to make is counted by
/// segments.
fn of_tails(
    entries: &[Arc<Entry>],
    tails: &[Arc<Tail>],
    model: Option<&ModelId>,
    late: &MadeLate,
) -> Result<Built, String> {
    let mut unmade = tails.iter().flat_map(|tail| tail.unmade.iter());
    let failed = unmade.find(|seq| !late.contains_key(seq));
    if let Some(seq) = failed {
        tracing::error!(
            seq,
            "a segment has no vectors: the model failed; run `ancile reindex`"
        );
    }
    let model = model.filter(|_| failed.is_none());
    let mut draft = Draft::new(model.map(model_of)).map_err(text)?;
    let mut rows = BTreeMap::new();
    let vector = |seq| {
        let late = late.get(&seq).and_then(Option::as_deref).map(exact_bytes);
        late.or_else(|| {
            tails
                .iter()
                .find_map(|tail| tail.vector(seq))
                .map(Box::from)
        })
    };
    let length = |seq| tails.iter().find_map(|tail| tail.lexical.length_of(seq));
    for entry in entries {
        let exact = model.map(|model| exact_of(vector(entry.seq).as_deref(), model.dimension));
        let codes = exact.as_deref().map(quantise).transpose()?;
        let vectors = exact.as_deref().zip(codes.as_ref());
        let row = draft.add(Part {
            row: row_of(entry),
            facts: &Facts::of(entry).encode(),
            hash: entry.hash,
            length: length(entry.seq).unwrap_or(0),
            vectors: vectors.map(|(exact, (codes, scale))| Vectors {
                codes,
                scale: *scale,
                exact,
            }),
        });
        rows.insert(entry.seq, row.map_err(text)?);
    }
    for tail in tails {
        tail.lexical.each_term(&mut |term, docs| {
            let known = |(seq, tf): &(u64, u32)| rows.get(seq).map(|row| (*row, *tf));
            let mut sorted: Vec<(u32, u32)> = docs.iter().filter_map(known).collect();
            sorted.sort_unstable();
            let mut each = sorted.into_iter();
            each.try_for_each(|(row, tf)| draft.post(term, row, tf).map_err(text))
        })?;
    }
    draft.finish().map_err(text)
}

fn row_of(entry: &Entry) -> Row {
    let record = &entry.record;
    let (valid_from, valid_until) = validity(record);
    let task = if record.kind == EntryKind::Task {
        TASK
    } else {
        0
    };
    let quarantined = if record.screening.quarantined {
        QUARANTINED
    } else {
        0
    };
    Row {
        seq: entry.seq,
        id: record.id,
        facts: 0,
        flags: task | quarantined,
        valid_from,
        valid_until,
    }
}

/// The bytes of an exact vector; zeros, which are found by nothing, where a text has none.
fn exact_of(vector: Option<&[u8]>, dimension: usize) -> Vec<u8> {
    let bytes = dimension.saturating_mul(4);
    match vector {
        Some(vector) if vector.len() == bytes => vector.to_vec(),
        _ => vec![0; bytes],
    }
}

/// One row of int8, and its scale.
fn quantise(exact: &[u8]) -> Result<(Vec<u8>, [u8; 4]), String> {
    let values: Vec<f32> = exact
        .as_chunks()
        .0
        .iter()
        .map(|b| f32::from_le_bytes(*b))
        .collect();
    let dim = values.len();
    let mut bytes = Quantised::new(dim, [values]).map_err(text)?.into_bytes();
    let scale = bytes.split_off(dim.min(bytes.len()));
    let scale = scale.as_slice().try_into().map_err(text)?;
    Ok((bytes, scale))
}

/// One segment of several that follow each other in one place. They are of one model, or the new
/// one has no vectors.
pub(super) fn merge(
    db: &Beside,
    tenant: &TenantName,
    of: &[Digest],
    erased: &BTreeSet<u64>,
) -> Result<Built, String> {
    let source = db.chunks(tenant);
    let segments: Result<Vec<Segment>, SegmentError> = of
        .iter()
        .map(|digest| Segment::open(&source, *digest))
        .collect();
    let segments = segments.map_err(text)?;
    let first = segments.first().and_then(|s| s.head().model.clone());
    let model = first.filter(|model| {
        segments
            .iter()
            .all(|s| s.head().model.as_ref() == Some(model))
    });
    let mut draft = Draft::new(model).map_err(text)?;
    let (mut starts, mut gone) = (Vec::new(), Vec::new());
    for segment in &segments {
        starts.push(u32::try_from(draft.len()).map_err(text)?);
        gone.push(copy_rows(segment, &source, erased, &mut draft)?);
    }
    for ((segment, start), gone) in segments.iter().zip(starts).zip(gone) {
        segment
            .each_term::<Fault>(&source, &mut |term, place| {
                for (row, tf) in segment.postings(&source, place)? {
                    let row = start.saturating_add(row);
                    if gone.contains(&row) {
                        continue;
                    }
                    draft
                        .post(term, row, tf)
                        .map_err(|e| Fault(e.to_string()))?;
                }
                Ok(())
            })
            .map_err(|fault| fault.0)?;
    }
    draft.finish().map_err(text)
}

/// A fault as text.
struct Fault(String);

impl From<SegmentError> for Fault {
    fn from(fault: SegmentError) -> Self {
        Self(fault.to_string())
    }
}

/// Copies the rows of a segment, and gives those that keep no word and no vector.
fn copy_rows(
    segment: &Segment,
    source: &dyn ChunkSource,
    erased: &BTreeSet<u64>,
    draft: &mut Draft,
) -> Result<BTreeSet<u32>, String> {
    let facts = segment.facts(source).map_err(text)?;
    let hashes = segment.record_hashes(source).map_err(text)?;
    let lengths = segment.lengths(source).map_err(text)?;
    let model = segment.head().model.clone().filter(|_| draft.has_vectors());
    let dim = model.map_or(0, |model| usize::from(model.dim));
    let codes = if dim > 0 {
        segment.codes(source).map_err(text)?
    } else {
        &[]
    };
    let rows = segment.rows(source).map_err(text)?;
    let (values, scales) = codes
        .split_at_checked(rows.iter().len().saturating_mul(dim))
        .unwrap_or_default();
    let mut scales = scales.as_chunks::<4>().0.iter();
    let mut values = values.chunks(dim.max(1));
    let nothing = (vec![0; dim], vec![0; dim.saturating_mul(4)]);
    let mut gone = BTreeSet::new();
    for (number, row) in (0_u32..).zip(rows.iter()) {
        let malformed = || format!("index segment {} cannot be read", segment.digest());
        let at = number as usize;
        let exact = if dim > 0 {
            segment.exact(source, number).map_err(text)?
        } else {
            Vec::new()
        };
        let vectors = values
            .next()
            .zip(scales.next())
            .map(|(codes, scale)| Vectors {
                codes,
                scale: *scale,
                exact: &exact,
            });
        let is_gone = erased.contains(&row.seq);
        if is_gone {
            gone.insert(u32::try_from(draft.len()).map_err(text)?);
        }
        let zeros = (dim > 0).then_some(Vectors {
            codes: &nothing.0,
            scale: [0; 4],
            exact: &nothing.1,
        });
        let length = lengths.get(at).ok_or_else(malformed)?;
        let part = Part {
            row,
            facts: facts.get(row.facts as usize).ok_or_else(malformed)?,
            hash: Digest(*hashes.get(at).ok_or_else(malformed)?),
            length: if is_gone {
                0
            } else {
                u32::from_le_bytes(*length)
            },
            vectors: if is_gone { zeros } else { vectors },
        };
        draft.add(part).map_err(text)?;
    }
    Ok(gone)
}

/// Records from which one stretch of a rebuild makes segments.
const STRETCH: usize = 131_072;
/// Texts that are embedded together.
const TEXTS_AT_ONCE: usize = 64;
/// How often a rebuild says how far it is.
const TOLD_EVERY: Duration = Duration::from_millis(200);

/// What a rebuild gives.
pub(super) enum Stage {
    /// It is at this sequence number.
    At(u64),
    /// Segments of a stretch that ends there.
    Made {
        made: Vec<(Place, Built)>,
        upto: u64,
        last: bool,
    },
}

/// A record at a place of the log, with its text; nothing where it is not what was written.
fn record_of(
    db: &Beside,
    tenant: &TenantName,
    (seq, hash): (u64, &NodeHash),
) -> Result<Option<(Entry, Option<String>)>, String> {
    let Some((body, content)) = db.leaf(tenant, seq, hash).map_err(text)? else {
        return Ok(None);
    };
    let Ok(record) = DerivationRecord::decode(&body) else {
        return Ok(None);
    };
    let kept = content.as_ref().map(|c| (&c.salt, c.bytes.as_slice()));
    Ok(Some(entry_of(
        (seq, record_hash(&body)),
        record,
        kept,
        &print_of,
    )))
}

/// A stretch while it is read.
#[derive(Default)]
struct Stretch {
    parts: BTreeMap<Place, (Vec<Arc<Entry>>, Tail)>,
    /// Texts that have no vector yet, in order.
    waiting: Vec<(Place, u64, String)>,
}

impl Stretch {
    fn take(&mut self, entry: Entry, text: Option<String>) {
        let place = place_of(&entry);
        let seq = entry.seq;
        let (entries, _) = self.parts.entry(place.clone()).or_default();
        entries.push(Arc::new(entry));
        self.waiting.extend(text.map(|text| (place, seq, text)));
    }

    fn embed(&mut self, embedding: &Embedding) {
        let waiting = std::mem::take(&mut self.waiting);
        let texts: Vec<&str> = waiting.iter().map(|(_, _, text)| text.as_str()).collect();
        let vectors = embedding.vectors(&texts);
        for ((place, seq, text), vector) in waiting.iter().zip(vectors) {
            // A model that failed gets another try.
            let vector = vector.or_else(|_| embedding.vector(text));
            if let Some((_, tail)) = self.parts.get_mut(place) {
                tail.add(*seq, text, &vector);
            }
        }
    }

    fn made(self, model: Option<&ModelId>) -> Result<Vec<(Place, Built)>, String> {
        let nothing = MadeLate::new();
        let built = self.parts.into_iter().map(|(place, (entries, tail))| {
            let built = of_tails(&entries, &[Arc::new(tail)], model, &nothing)?;
            Ok((place, built))
        });
        built.collect()
    }
}

/// Makes all segments of a tenant from the log, stretch by stretch. Records that are not what was
/// written are in none.
pub(super) fn rebuild(
    db: &Beside,
    (tenant, leaves): (&TenantName, &[NodeHash]),
    embedding: &Embedding,
    each: &dyn Fn(Stage),
) -> Result<(), String> {
    let mut next = 0_u64;
    let mut told = Instant::now();
    let total = leaves.len() as u64;
    for leaves in leaves.chunks(STRETCH) {
        let mut stretch = Stretch::default();
        for hash in leaves {
            let seq = next;
            next = next.saturating_add(1);
            if let Some((entry, text)) = record_of(db, tenant, (seq, hash))? {
                stretch.take(entry, text);
            }
            if stretch.waiting.len() >= TEXTS_AT_ONCE {
                stretch.embed(embedding);
            }
            if told.elapsed() >= TOLD_EVERY {
                told = Instant::now();
                each(Stage::At(next));
            }
        }
        stretch.embed(embedding);
        each(Stage::Made {
            made: stretch.made(embedding.model())?,
            upto: next,
            last: next == total,
        });
    }
    if leaves.is_empty() {
        each(Stage::Made {
            made: Vec::new(),
            upto: 0,
            last: true,
        });
    }
    Ok(())
}
