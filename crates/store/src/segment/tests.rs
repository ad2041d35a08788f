// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments against the index in memory, edited pieces, and limits.

use super::*;
use crate::bm25::{Bm25, search};
use crate::fault::ReadError;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Pieces in memory.
#[derive(Default, Clone)]
struct Pieces(BTreeMap<(Digest, u8, i64), Vec<u8>>);

impl Pieces {
    fn put(&mut self, built: &Built) -> Digest {
        let digest = built.digest();
        for (section, chunk, bytes) in built.pieces() {
            self.0.insert((digest, section, chunk), bytes);
        }
        digest
    }
}

impl ChunkSource for Pieces {
    fn fetch(
        &self,
        segment: &Digest,
        section: u8,
        chunk: i64,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(self.0.get(&(*segment, section, chunk)).cloned())
    }
}

fn row(seq: u64) -> Row {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&(seq.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes());
    Row {
        seq,
        id: EntryId::from_bytes(id),
        facts: 0,
        flags: u32::from(seq.is_multiple_of(3)),
        valid_from: i64::MIN,
        valid_until: i64::MAX,
    }
}

fn hash(seq: u64) -> Digest {
    Digest::sha256(&seq.to_le_bytes())
}

/// A segment of texts, each under its number, with vectors that count from the number.
fn build(texts: &[(u64, String)]) -> Built {
    let model = Model {
        name: "count".to_owned(),
        dim: 2,
    };
    let mut index = Bm25::new();
    let mut draft = Draft::new(Some(model)).expect("a model");
    let mut rows = BTreeMap::new();
    for (seq, text) in texts {
        index.add(*seq, text);
        let exact: Vec<u8> = [*seq as f32, 1.0]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        let part = Part {
            row: row(*seq),
            facts: if seq.is_multiple_of(2) {
                b"even"
            } else {
                b"odd"
            },
            hash: hash(*seq),
            length: index.length_of(*seq).expect("it was added"),
            vectors: Some(Vectors {
                codes: &seq.to_le_bytes()[..2],
                scale: 1.0_f32.to_le_bytes(),
                exact: &exact,
            }),
        };
        rows.insert(*seq, draft.add(part).expect("it fits"));
    }
    index
        .each_term::<DraftError>(&mut |term, docs| {
            docs.iter()
                .try_for_each(|(doc, tf)| draft.post(term, rows[doc], *tf))
        })
        .expect("rows come in order");
    draft.finish().expect("all have vectors")
}

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["red", "green", "blue", "north", "south", "x1"]);
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn segments_and_memory_together_find_what_one_index_finds(
        texts in prop::collection::vec(words(), 1..40),
        cuts in prop::collection::vec(0_usize..40, 0..4),
        query in words(),
        limit in 1_usize..12,
    ) {
        let texts: Vec<(u64, String)> = (10..).step_by(3).zip(texts).collect();
        let mut oracle = Bm25::new();
        texts.iter().for_each(|(seq, text)| oracle.add(*seq, text));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(texts.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Pieces::default();
        let (mut segments, mut from) = (Vec::new(), 0);
        for cut in cuts {
            if cut > from {
                let digest = pieces.put(&build(&texts[from..cut]));
                segments.push(Segment::open(&pieces, digest).expect("it was put"));
                from = cut;
            }
        }
        let mut tail = Bm25::new();
        texts[from..].iter().for_each(|(seq, text)| tail.add(*seq, text));
        let mut parts: Vec<Index<'_>> = segments
            .iter()
            .map(|s| Index::Segment(SegmentPart::new(s, &pieces).expect("it reads")))
            .collect();
        parts.push(Index::Memory(&tail));
        for odd_only in [false, true] {
            let keep = |doc: u64| !odd_only || doc % 2 == 1;
            let found = search(&parts, &query, limit, &|f| keep(f.doc)).expect("it reads");
            let found: Vec<(u64, u64)> = found.iter().map(|f| (f.doc, f.score)).collect();
            let wanted = oracle.search(&query, limit, &keep);
            let wanted: Vec<(u64, u64)> = wanted.iter().map(|h| (h.doc, h.score)).collect();
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn rows_are_found_by_id_and_hash(seqs in prop::collection::btree_set(0_u64..500, 1..60)) {
        let texts: Vec<_> = seqs.iter().map(|s| (*s, format!("word{s}"))).collect();
        let mut pieces = Pieces::default();
        let digest = pieces.put(&build(&texts));
        let segment = Segment::open(&pieces, digest).expect("it was put");
        let facts = segment.facts(&pieces).expect("it reads");
        for seq in 0..500 {
            let by_id = segment.find_id(&pieces, &row(seq).id).expect("it reads");
            let by_hash = segment.find_hash(&pieces, &hash(seq)).expect("it reads");
            prop_assert_eq!(by_id.map(|r| r.seq), seqs.contains(&seq).then_some(seq));
            prop_assert_eq!(by_id, by_hash);
            if let Some(found) = by_id {
                let fact = facts[found.facts as usize].as_slice();
                let wanted: &[u8] = if seq.is_multiple_of(2) { b"even" } else { b"odd" };
                prop_assert_eq!(fact, wanted);
            }
        }
        let listed = segment.listed(&pieces).expect("it reads");
        let listed: Vec<u64> = listed.iter().map(|r| r.seq).collect();
        let wanted: Vec<u64> = seqs.iter().copied().filter(|s| s.is_multiple_of(3)).collect();
        prop_assert_eq!(listed, wanted);
    }
}

/// Reads everything that a segment has.
fn read_all(source: &dyn ChunkSource, digest: Digest) -> Result<(), SegmentError> {
    let segment = Segment::open(source, digest)?;
    segment.facts(source)?;
    segment.listed(source)?;
    segment.find_id(source, &row(1).id)?;
    segment.find_hash(source, &hash(1))?;
    segment.lengths(source)?;
    segment.codes(source)?;
    let mut places = Vec::new();
    segment.each_term::<SegmentError>(source, &mut |_, place| {
        places.push(place);
        Ok(())
    })?;
    for place in places {
        segment.postings(source, place)?;
    }
    for at in 0..segment.head().rows {
        segment.exact(source, at)?;
    }
    Ok(())
}

#[test]
fn an_edit_or_removal_of_any_piece_is_found() {
    let texts: Vec<_> = (0..3000).map(|s| (s, format!("word{s} same"))).collect();
    let built = build(&texts);
    let mut pieces = Pieces::default();
    let digest = pieces.put(&built);
    read_all(&pieces, digest).expect("nothing was edited");
    assert!(pieces.0.len() > 21, "some sections have several chunks");
    for key in pieces.0.keys().copied().collect::<Vec<_>>() {
        let mut removed = pieces.clone();
        removed.0.remove(&key);
        let fault = read_all(&removed, digest).expect_err("a piece is gone");
        assert!(
            matches!(fault, SegmentError::Missing { .. }),
            "{key:?}: {fault}"
        );
        let length = pieces.0[&key].len();
        for at in [0, length / 2, length - 1] {
            let mut edited = pieces.clone();
            if let Some(byte) = edited.0.get_mut(&key).and_then(|b| b.get_mut(at)) {
                *byte ^= 1;
            }
            let fault = read_all(&edited, digest).expect_err("a piece was edited");
            assert!(
                matches!(fault, SegmentError::Edited { .. }),
                "{key:?} {at}: {fault}"
            );
        }
    }
}

#[test]
fn two_segments_do_not_pass_for_each_other() {
    let mut pieces = Pieces::default();
    let one = pieces.put(&build(&[(1, "red".to_owned())]));
    let two = pieces.put(&build(&[(2, "red".to_owned())]));
    for (section, chunk) in pieces.0.keys().filter(|k| k.0 == one).map(|k| (k.1, k.2)) {
        let mut swapped = pieces.clone();
        let other = pieces.0[&(two, section, chunk)].clone();
        let same = other == pieces.0[&(one, section, chunk)];
        swapped.0.insert((one, section, chunk), other);
        assert_eq!(
            read_all(&swapped, one).is_ok(),
            same,
            "section {section} chunk {chunk}"
        );
    }
}

#[test]
fn a_draft_refuses_what_does_not_fit() {
    let part = |seq| Part {
        row: row(seq),
        facts: b"",
        hash: hash(seq),
        length: 0,
        vectors: None,
    };
    let mut draft = Draft::new(None).expect("no model");
    draft.add(part(5)).expect("the first fits");
    assert_eq!(
        draft.add(part(5)),
        Err(DraftError::Order { seq: 5, last: 5 })
    );
    draft.post("a", 0, 1).expect("the first fits");
    assert!(matches!(
        draft.post("a", 0, 1),
        Err(DraftError::PostingOrder { .. })
    ));

    let model = |bytes: usize| {
        Draft::new(Some(Model {
            name: "m".repeat(bytes),
            dim: 2,
        }))
    };
    assert!(model(head::MODEL_BYTES_MAX - 1).is_ok());
    assert!(model(head::MODEL_BYTES_MAX).is_ok());
    let long = head::MODEL_BYTES_MAX + 1;
    assert_eq!(
        model(long).err(),
        Some(DraftError::ModelName { bytes: long })
    );

    let mut draft = model(3).expect("it is short");
    draft
        .add(part(1))
        .expect("the count is looked at in the end");
    let fault = DraftError::VectorCount {
        vectors: 0,
        rows: 1,
    };
    assert_eq!(draft.finish().err(), Some(fault));
}

#[test]
fn a_head_reads_back_and_nothing_else_does() {
    let head = build(&[(1, "red".to_owned()), (9, "blue".to_owned())])
        .head()
        .clone();
    let bytes = head.encode();
    assert_eq!(Head::decode(&bytes), Some(head));
    for length in 0..bytes.len() {
        assert_eq!(Head::decode(&bytes[..length]), None, "cut at {length}");
    }
    assert_eq!(Head::decode(&[bytes.as_slice(), b"x"].concat()), None);
}
