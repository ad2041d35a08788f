// SPDX-License-Identifier: MIT OR Apache-2.0
//! The dense leg: an int8 scan of each segment, rescored with exact vectors, and what is in memory
//! scored exactly.

use super::chunks::Cached;
use super::{Ask, Piece};
use ancile_kernel::{Exact, Hit, Query, VectorError, View, rescore, scan};
use ancile_models::ModelId;
use ancile_store::segment::{Model, Section, Segment, SegmentError};

/// Entries below this cosine are not found, in millionths.
const COSINE_MIN: i64 = 300_000;

/// What the dense leg found.
#[derive(Default)]
pub(super) struct Dense {
    /// Sequence number and cosine in millionths, best first.
    pub hits: Vec<(u64, i64)>,
    pub seen: u64,
    pub unseen: u64,
}

/// How a segment names a model.
pub(crate) fn model_of(id: &ModelId) -> Model {
    Model {
        name: id.to_string(),
        dim: dim_of(id),
    }
}

/// Dimensions of a model's vectors.
pub(crate) fn dim_of(id: &ModelId) -> u16 {
    u16::try_from(id.dimension).unwrap_or(u16::MAX)
}

type KeepSlot<'a> = &'a dyn Fn(&Piece<'_>, u64, u32) -> bool;

/// The best `ask.limit` entries whose vectors are of the query's model.
pub(super) fn search(
    pieces: &[Piece<'_>],
    ask: &Ask<'_>,
    source: &Cached<'_>,
    keep: KeepSlot<'_>,
) -> Result<Dense, SegmentError> {
    let mut out = Dense::default();
    let model = ask.vector.map(|(_, id)| model_of(id));
    for piece in pieces {
        let fits = match piece {
            Piece::Recent(_) => model.is_some(),
            Piece::Sealed { open, .. } => model.is_some() && open.segment.head().model == model,
        };
        let (entries, unmade) = match piece {
            Piece::Recent(tail) => (tail.seqs.len() as u64, tail.unmade.len() as u64),
            Piece::Sealed { open, .. } => (u64::from(open.segment.head().rows), 0),
        };
        let Some((vector, _)) = ask.vector.filter(|_| fits) else {
            out.unseen = out.unseen.saturating_add(entries);
            continue;
        };
        out.seen = out.seen.saturating_add(entries.saturating_sub(unmade));
        out.unseen = out.unseen.saturating_add(unmade);
        let found = match piece {
            Piece::Recent(tail) => in_memory(tail, vector, ask.limit, &|seq| keep(piece, seq, 0)),
            Piece::Sealed { open, part, .. } => {
                let keep = |slot: u32| {
                    part.rows()
                        .get(slot)
                        .is_some_and(|row| keep(piece, row.seq, slot))
                };
                in_segment(&open.segment, source, vector, (ask.limit, &keep))?
            }
        };
        out.hits.extend(found);
    }
    out.hits.retain(|(_, cosine)| *cosine >= COSINE_MIN);
    out.hits
        .sort_by_key(|(seq, cosine)| (std::cmp::Reverse(*cosine), *seq));
    out.hits.truncate(ask.limit);
    Ok(out)
}

fn millionths(cosine: f64) -> i64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cosine of two vectors of length 1 is near -1 to 1"
    )]
    let rounded = (cosine * 1e6).round() as i64;
    rounded
}

/// What was written since the last seal, exactly.
fn in_memory(
    tail: &super::Tail,
    query: &[f32],
    limit: usize,
    keep: &dyn Fn(u64) -> bool,
) -> Vec<(u64, i64)> {
    let exact = |bytes: &[u8]| -> Result<f64, VectorError> {
        let rows = Exact::new(query.len(), 1, bytes)?;
        let hit = Hit { row: 0, score: 0.0 };
        let scored = rescore(rows, query, &[hit], 1)?;
        Ok(scored.first().map_or(0.0, |hit| hit.score))
    };
    // A vector of another length is of another model, and is not comparable.
    let scored = tail
        .vectors
        .iter()
        .filter_map(|(seq, bytes)| Some((*seq, millionths(exact(bytes).ok()?))));
    let mut scored: Vec<(u64, i64)> = scored.filter(|(_, cosine)| *cosine >= COSINE_MIN).collect();
    scored.sort_by_key(|(seq, cosine)| (std::cmp::Reverse(*cosine), *seq));
    scored
        .into_iter()
        .filter(|(seq, _)| keep(*seq))
        .take(limit)
        .collect()
}

/// The best of a segment by int8, scored exactly.
fn in_segment(
    segment: &Segment,
    source: &Cached<'_>,
    query: &[f32],
    (limit, keep): (usize, &dyn Fn(u32) -> bool),
) -> Result<Vec<(u64, i64)>, SegmentError> {
    let malformed = |section: Section| {
        let number = section.number();
        move |_: VectorError| SegmentError::Malformed {
            segment: *segment.digest(),
            section: number,
        }
    };
    let (rows, dim) = (segment.head().rows, query.len());
    let view = View::new(dim, rows, segment.codes(source)?).map_err(malformed(Section::Codes))?;
    let quantised = Query::new(query).map_err(malformed(Section::Codes))?;
    let hits = scan(view, &quantised, limit, keep).map_err(malformed(Section::Codes))?;
    let mut bytes = Vec::new();
    for hit in &hits {
        bytes.append(&mut segment.exact(source, hit.row)?);
    }
    let count = u32::try_from(hits.len()).unwrap_or(u32::MAX);
    let exact = Exact::new(dim, count, &bytes).map_err(malformed(Section::Exact))?;
    let places: Vec<Hit> = (0..count).map(|row| Hit { row, score: 0.0 }).collect();
    let scored = rescore(exact, query, &places, hits.len()).map_err(malformed(Section::Exact))?;
    let rows = segment.rows(source)?;
    let named = scored.iter().filter_map(|hit| {
        let row = rows.get(hits.get(hit.row as usize)?.row)?;
        Some((row.seq, millionths(hit.score)))
    });
    Ok(named.collect())
}
