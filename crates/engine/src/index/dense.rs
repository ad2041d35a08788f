// SPDX-License-Identifier: MIT OR Apache-2.0
//! The dense leg: an int8 scan of each segment, rescored with exact vectors, and what is in memory
//! scored exactly.

use super::chunks::Cached;
use super::{Ask, Piece};
use ancile_kernel::{Exact, Hit, Query, VectorError, View, rescore, scan};
use ancile_models::ModelId;
use ancile_store::segment::{Model, Rows, Section, Segment, SegmentError};

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

/// Says whether what lies in a slot of a piece, under a sequence number, may be found.
type KeepSlot<'a> = &'a (dyn Fn(&Piece<'_>, u64, u32) -> bool + Sync);

/// What is to be scanned, found out before.
#[derive(Default)]
pub(super) struct Scan<'a> {
    /// None where the query has no vector.
    query: Option<Query>,
    segments: Vec<Scanned<'a>>,
    seen: u64,
    unseen: u64,
}

/// A segment to be scanned.
struct Scanned<'a> {
    piece: &'a Piece<'a>,
    segment: &'a Segment,
    rows: Rows<'a>,
    view: View<'a>,
}

/// The best of each segment, in their order.
pub(super) type Scores = Vec<Vec<Hit>>;

impl<'a> Scan<'a> {
    /// Takes the segments whose vectors are of the query's model, and reads their int8 values.
    pub(super) fn new(
        pieces: &'a [Piece<'a>],
        ask: &Ask<'_>,
        source: &Cached<'_>,
    ) -> Result<Self, SegmentError> {
        let mut out = Self::default();
        let model = ask.vector.map(|(_, id)| model_of(id));
        for piece in pieces {
            let (entries, unmade, fits) = match piece {
                Piece::Recent(tail) => {
                    let unmade = tail.unmade.len() as u64;
                    (tail.seqs.len() as u64, unmade, model.is_some())
                }
                Piece::Sealed { open, .. } => {
                    let head = open.segment.head();
                    (
                        u64::from(head.rows),
                        0,
                        model.is_some() && head.model == model,
                    )
                }
            };
            let Some((vector, _)) = ask.vector.filter(|_| fits) else {
                out.unseen = out.unseen.saturating_add(entries);
                continue;
            };
            out.seen = out.seen.saturating_add(entries.saturating_sub(unmade));
            out.unseen = out.unseen.saturating_add(unmade);
            if let Piece::Sealed { open, rows, .. } = piece {
                let segment = &open.segment;
                let codes = segment.codes(source)?;
                let view = View::new(vector.len(), segment.head().rows, codes);
                out.segments.push(Scanned {
                    piece,
                    segment,
                    rows: *rows,
                    view: view.map_err(malformed(segment, Section::Codes))?,
                });
                if out.query.is_none() {
                    let query = Query::new(vector).map_err(malformed(segment, Section::Codes))?;
                    out.query = Some(query);
                }
            }
        }
        Ok(out)
    }

    /// Values to be multiplied.
    pub(super) fn values(&self) -> usize {
        let each = self
            .segments
            .iter()
            .map(|s| s.view.dim() * s.view.rows() as usize);
        each.sum()
    }

    /// The best `limit` of each segment by int8.
    pub(super) fn run(&self, limit: usize, keep: KeepSlot<'_>) -> Result<Scores, SegmentError> {
        let Some(query) = &self.query else {
            return Ok(Vec::new());
        };
        let best = |one: &Scanned<'_>| {
            let keep = |slot: u32| {
                let row = one.rows.get(slot);
                row.is_some_and(|row| keep(one.piece, row.seq, slot))
            };
            let hits = scan(one.view, query, limit, &keep);
            hits.map_err(malformed(one.segment, Section::Codes))
        };
        self.segments.iter().map(best).collect()
    }

    /// The best `ask.limit` entries by exact vectors, of what was scanned and of what is in memory.
    pub(super) fn rescore(
        &self,
        scores: &Scores,
        pieces: &[Piece<'_>],
        (ask, source): (&Ask<'_>, &Cached<'_>),
        keep: KeepSlot<'_>,
    ) -> Result<Dense, SegmentError> {
        let mut hits = Vec::new();
        if let Some((vector, _)) = ask.vector {
            for (one, scores) in self.segments.iter().zip(scores) {
                hits.extend(in_segment(one, source, vector, scores)?);
            }
            for piece in pieces {
                if let Piece::Recent(tail) = piece {
                    let keep = |seq| keep(piece, seq, 0);
                    hits.extend(in_memory(tail, vector, ask.limit, &keep));
                }
            }
        }
        hits.retain(|(_, cosine)| *cosine >= COSINE_MIN);
        hits.sort_by_key(|(seq, cosine)| (std::cmp::Reverse(*cosine), *seq));
        hits.truncate(ask.limit);
        Ok(Dense {
            hits,
            seen: self.seen,
            unseen: self.unseen,
        })
    }
}

fn malformed(segment: &Segment, section: Section) -> impl FnOnce(VectorError) -> SegmentError {
    let (segment, section) = (*segment.digest(), section.number());
    move |_| SegmentError::Malformed { segment, section }
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

/// What a segment's best by int8 are, exactly.
fn in_segment(
    one: &Scanned<'_>,
    source: &Cached<'_>,
    query: &[f32],
    hits: &[Hit],
) -> Result<Vec<(u64, i64)>, SegmentError> {
    let mut bytes = Vec::new();
    for hit in hits {
        bytes.append(&mut one.segment.exact(source, hit.row)?);
    }
    let count = u32::try_from(hits.len()).unwrap_or(u32::MAX);
    let places: Vec<Hit> = (0..count).map(|row| Hit { row, score: 0.0 }).collect();
    let scored = Exact::new(query.len(), count, &bytes)
        .and_then(|exact| rescore(exact, query, &places, hits.len()))
        .map_err(malformed(one.segment, Section::Exact))?;
    let named = scored.iter().filter_map(|hit| {
        let row = one.rows.get(hits.get(hit.row as usize)?.row)?;
        Some((row.seq, millionths(hit.score)))
    });
    Ok(named.collect())
}
