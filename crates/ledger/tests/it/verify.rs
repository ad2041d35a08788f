// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::note::signer;
use crate::store::{ORIGIN, Store, key, public_key, tenant};
use ancile_ledger::verify::{LogCount, MISSING_LEAVES_MAX, PROBLEMS_MAX, Problem, Report, verify};
use ancile_ledger::{
    CheckpointError, GroupHead, HeadError, LEAF_BYTES_MAX, LogName, NodeHash, NoteError,
    SourceError, TilesKept, WitnessRefusal, WitnessState, leaf_hash,
};
use proptest::prelude::*;

/// The problems of the sample store after `tamper`.
fn problems(tamper: impl FnOnce(&mut Store)) -> Vec<Problem> {
    let mut store = Store::sample();
    tamper(&mut store);
    let report = verify(&store, &public_key());
    assert_eq!(report.ok(), report.problems().is_empty());
    assert_eq!(report.problems_total(), report.problems().len() as u64);
    report.problems().to_vec()
}

fn is_root(problem: &Problem, name: &str) -> bool {
    matches!(problem, Problem::HeadRootDiffers { tenant, .. } if tenant == name)
}

fn is_heads_root(problem: &Problem) -> bool {
    matches!(problem, Problem::HeadsRootDiffers { .. })
}

fn differs(log: LogName, index: u64, before: &[u8], after: &[u8]) -> Problem {
    Problem::LeafDiffers {
        log,
        index,
        expected: leaf_hash(before),
        found: leaf_hash(after),
    }
}

fn counts(report: &Report) -> Vec<(String, u64, u64, u64)> {
    let row = |c: &LogCount| (c.log.to_string(), c.leaves, c.control, c.tiles);
    report.logs().iter().map(row).collect()
}

#[test]
fn an_honest_store_is_ok_and_counted() {
    let report = verify(&Store::sample(), &public_key());
    assert!(report.ok(), "{:?}", report.problems());
    let expected = [
        ("log of tenant `a`", 3, 0, 1),
        ("log of tenant `b`", 600, 85, 4),
        ("log of tenant `c`", 256, 36, 2),
        ("heads log", 5, 0, 1),
    ];
    assert_eq!(
        counts(&report),
        expected.map(|(l, a, b, c)| (l.to_owned(), a, b, c))
    );
    assert_eq!(report.witness(), Some(WitnessState::Current));
    assert_eq!(report.checkpoint().unwrap().size, 5);
    let empty = verify(&Store::empty(), &public_key());
    assert!(empty.ok(), "{:?}", empty.problems());
}

#[test]
fn tiles_are_asked_for_only_where_they_are_kept() {
    let mut store = Store::sample();
    store.kept = TilesKept::Full;
    store.tiles.retain(|(.., width), _| *width == 256);
    let report = verify(&store, &public_key());
    assert!(report.ok(), "{:?}", report.problems());
    assert_eq!(report.logs().iter().map(|c| c.tiles).sum::<u64>(), 3);
    store.tiles.clear();
    assert_eq!(verify(&store, &public_key()).problems_total(), 3);
    store.kept = TilesKept::None;
    assert!(verify(&store, &public_key()).ok());
}

#[test]
fn an_edited_leaf_is_named() {
    let found = problems(|s| *s.rows(&tenant("b")).get_mut(&257).unwrap() = b"\x01edited".to_vec());
    assert_eq!(
        found[0],
        differs(tenant("b"), 257, b"\x01b 257", b"\x01edited")
    );
    let tile = Problem::TileDiffers {
        log: tenant("b"),
        level: 1,
        index: 0,
        at: 1,
    };
    assert_eq!(found[1], tile);
    assert!(is_root(&found[2], "b") && is_heads_root(&found[3]));
    assert_eq!(found.len(), 4);
    assert!(
        found[0]
            .to_string()
            .starts_with("log of tenant `b`: leaf 257 hashes to")
    );
}

#[test]
fn a_swapped_pair_is_named() {
    let found = problems(|s| {
        let rows = s.rows(&tenant("a"));
        let (first, second) = (rows[&0].clone(), rows[&1].clone());
        rows.insert(0, second);
        rows.insert(1, first);
    });
    assert_eq!(found[0], differs(tenant("a"), 0, b"\x01a 0", b"\x01a 1"));
    assert_eq!(found[1], differs(tenant("a"), 1, b"\x01a 1", b"\x01a 0"));
    assert!(is_root(&found[2], "a") && is_heads_root(&found[3]));
}

#[test]
fn a_removed_leaf_is_named_and_other_edits_beside_it() {
    let found = problems(|s| {
        s.rows(&tenant("b")).remove(&3);
        s.rows(&tenant("b")).insert(5, b"\x01edited".to_vec());
    });
    let missing = Problem::LeafMissing {
        log: tenant("b"),
        index: 3,
    };
    let edited = differs(tenant("b"), 5, b"\x01b 5", b"\x01edited");
    assert_eq!(found, [missing, edited]);
}

#[test]
fn a_cut_log_is_named() {
    let found = problems(|s| drop(s.rows(&tenant("c")).remove(&255)));
    let short = Problem::LogShort {
        log: tenant("c"),
        expected: 256,
        found: 255,
    };
    assert_eq!(found, [short]);
}

#[test]
fn an_inserted_leaf_is_named() {
    for index in [3, 4, u64::MAX - 1] {
        let found = problems(|s| drop(s.rows(&tenant("a")).insert(index, b"\x01new".to_vec())));
        let beyond = Problem::LeavesBeyondHead {
            log: tenant("a"),
            expected: 3,
            found: index + 1,
        };
        assert_eq!(found, [beyond]);
    }
}

#[test]
fn an_inserted_leaf_with_its_head_and_tiles_is_caught_by_the_group() {
    let found = problems(|s| {
        s.rows(&tenant("a")).insert(3, b"\x01new".to_vec());
        s.rebuild_tenant("a");
    });
    assert!(is_heads_root(&found[0]));
    assert_eq!(found.len(), 1);
}

#[test]
fn a_whole_rewrite_without_the_key_is_caught_by_the_checkpoint() {
    let found = problems(|s| {
        s.rows(&tenant("a")).insert(1, b"\x01edited".to_vec());
        s.rebuild_tenant("a");
        let head = s.group_head(4, 1);
        s.rows(&LogName::Heads).insert(4, head.encode());
        let checkpoint = s.checkpoint.clone();
        s.sign();
        s.checkpoint = checkpoint;
        s.witness = None;
    });
    assert!(matches!(
        found[0],
        Problem::CheckpointRootDiffers { size: 5, .. }
    ));
    assert_eq!(found.len(), 1);
}

#[test]
fn a_whole_rewrite_with_the_key_is_caught_by_the_witness() {
    let found = problems(|s| {
        s.rows(&tenant("a")).insert(1, b"\x01edited".to_vec());
        s.rebuild_tenant("a");
        let head = s.group_head(4, 1);
        s.rows(&LogName::Heads).insert(4, head.encode());
        s.sign();
    });
    let forked = WitnessRefusal::Forked {
        store: 5,
        witness: 5,
    };
    assert_eq!(found, [Problem::Witness(forked)]);
}

#[test]
fn an_added_and_a_removed_tenant_are_caught() {
    let count = |found| Problem::TenantCount { expected: 3, found };
    let found = problems(|s| {
        s.rows(&tenant("d")).insert(0, b"\x01new".to_vec());
        s.rebuild_tenant("d");
    });
    assert_eq!(found[0], count(4));
    assert!(is_heads_root(&found[1]));
    let found = problems(|s| {
        s.leaves.remove(&tenant("c"));
        s.heads.remove("c");
    });
    assert_eq!(found[0], count(2));
    assert!(is_heads_root(&found[1]));
    let found = problems(|s| {
        let rows = s.leaves.remove(&tenant("c")).unwrap();
        s.leaves.insert(tenant("d"), rows);
        s.heads.remove("c");
        s.rebuild_tenant("d");
    });
    assert!(is_heads_root(&found[0]));
    assert_eq!(found.len(), 1);
}

#[test]
fn changed_heads_are_named() {
    let head = |name: &str| Problem::HeadMissing {
        tenant: name.to_owned(),
    };
    assert_eq!(problems(|s| drop(s.heads.remove("a"))), [head("a")]);
    let found = problems(|s| s.heads.get_mut("b").unwrap().root = leaf_hash(b"x"));
    assert!(is_root(&found[0], "b") && found.len() == 1);
    let found = problems(|s| s.heads.get_mut("b").unwrap().control = [0; 32]);
    let control = Problem::ControlDiffers {
        tenant: "b".to_owned(),
        events: 85,
    };
    assert_eq!(found, [control]);
    let found = problems(|s| s.heads.get_mut("a").unwrap().size = 2);
    assert!(matches!(
        found[0],
        Problem::LeavesBeyondHead {
            expected: 2,
            found: 3,
            ..
        }
    ));
}

#[test]
fn changed_and_missing_tiles_are_named() {
    let key = (tenant("b"), 1u8, 0u64, 2u16);
    let found = problems(|s| s.tiles.get_mut(&key).unwrap()[32] ^= 1);
    let differs = Problem::TileDiffers {
        log: tenant("b"),
        level: 1,
        index: 0,
        at: 1,
    };
    assert_eq!(found, [differs]);
    let found = problems(|s| drop(s.tiles.remove(&key)));
    let missing = Problem::TileMissing {
        log: tenant("b"),
        level: 1,
        index: 0,
    };
    assert_eq!(found, [missing]);
    for length in [0, 32, 63, 65, 96] {
        let found = problems(|s| s.tiles.get_mut(&key).unwrap().resize(length, 0));
        let wrong = Problem::TileLength {
            log: tenant("b"),
            level: 1,
            index: 0,
            expected: 64,
            found: length,
        };
        assert_eq!(found, [wrong]);
    }
    let found = problems(|s| {
        let tile = s.tiles.get_mut(&(tenant("c"), 0, 0, 256)).unwrap();
        tile[32 * 200] ^= 0x80;
    });
    assert!(matches!(&found[0], Problem::LeafDiffers { index: 200, .. }));
    assert_eq!(found.len(), 1);
}

#[test]
fn leaves_of_unknown_kind_are_named() {
    for body in [&b""[..], b"\0", b"\x03", b"\xff"] {
        let mut store = Store::sample();
        store.rows(&tenant("a")).insert(3, body.to_vec());
        store.commit("a", 1);
        let report = verify(&store, &public_key());
        let unknown = Problem::LeafKindUnknown {
            log: tenant("a"),
            index: 3,
        };
        assert_eq!(report.problems(), [unknown]);
        assert_eq!(report.witness(), Some(WitnessState::OneBehind));
    }
}

#[test]
fn leaf_length_limit() {
    for bytes in [LEAF_BYTES_MAX - 1, LEAF_BYTES_MAX, LEAF_BYTES_MAX + 1] {
        let mut store = Store::sample();
        store.rows(&tenant("a")).insert(3, vec![1; bytes]);
        store.commit("a", 1);
        let report = verify(&store, &public_key());
        let too_long = Problem::LeafTooLong {
            log: tenant("a"),
            index: 3,
            bytes,
        };
        let expected = (bytes > LEAF_BYTES_MAX).then_some(too_long);
        assert_eq!(report.problems(), expected.as_slice());
    }
}

/// The problems after the last group head was replaced and signed for.
fn with_last_group(change: impl FnOnce(&mut GroupHead) -> Option<Vec<u8>>) -> Vec<Problem> {
    problems(|s| {
        let mut head = GroupHead::decode(&s.rows(&LogName::Heads)[&4]).unwrap();
        let body = change(&mut head).unwrap_or_else(|| head.encode());
        s.rows(&LogName::Heads).insert(4, body);
        s.sign();
        s.witness = None;
    })
}

#[test]
fn signed_group_heads_that_do_not_fit_are_named() {
    let found = with_last_group(|g| {
        g.group = 7;
        None
    });
    let number = Problem::GroupNumber { index: 4, found: 7 };
    assert_eq!(found, [number]);
    let found = with_last_group(|g| {
        g.epoch = 0;
        None
    });
    let falls = Problem::EpochFalls {
        index: 4,
        before: 1,
        found: 0,
    };
    assert_eq!(found, [falls]);
    let found = with_last_group(|g| {
        g.tenants = 9;
        None
    });
    let count = Problem::TenantCount {
        expected: 9,
        found: 3,
    };
    assert_eq!(found, [count]);
    let found = with_last_group(|g| {
        g.heads_root = NodeHash([1; 32]);
        None
    });
    assert!(is_heads_root(&found[0]) && found.len() == 1);
    let found = with_last_group(|_| Some(b"\x03\x02".to_vec()));
    let malformed = Problem::GroupMalformed {
        index: 4,
        source: HeadError::Version { found: 2 },
    };
    assert_eq!(found, [malformed]);
}

#[test]
fn checkpoints_that_do_not_hold_are_named() {
    let found = problems(|s| s.checkpoint = None);
    assert_eq!(found, [Problem::CheckpointMissing]);
    let found = problems(|s| s.checkpoint = Some("garbage".to_owned()));
    let form = CheckpointError::Note(NoteError::Form);
    assert_eq!(found, [Problem::CheckpointRefused(form)]);
    let report = verify(&Store::sample(), signer(ORIGIN, 2).verifier());
    let unsigned = CheckpointError::Note(NoteError::Unsigned);
    let expected = [
        Problem::CheckpointRefused(unsigned),
        Problem::WitnessUnsigned(unsigned),
    ];
    assert_eq!(report.problems(), expected);
    assert_eq!(report.checkpoint(), None);
}

#[test]
fn an_older_checkpoint_is_caught_without_and_with_a_witness() {
    let mut older = Store::empty();
    older.group("a", 2, 0);
    let older = older.checkpoint;
    let found = problems(|s| {
        s.checkpoint = older.clone();
        s.witness = None;
    });
    let beyond = Problem::LeavesBeyondHead {
        log: LogName::Heads,
        expected: 1,
        found: 5,
    };
    // The tile of the whole heads log stands where one of a single leaf should.
    let tile = Problem::TileMissing {
        log: LogName::Heads,
        level: 0,
        index: 0,
    };
    let count = Problem::TenantCount {
        expected: 1,
        found: 3,
    };
    assert_eq!(found[..3], [beyond, tile, count]);
    assert!(is_heads_root(&found[3]) && found.len() == 4);
    let found = problems(|s| s.checkpoint = older);
    let rollback = WitnessRefusal::StoreBehindWitness {
        store: 1,
        witness: 5,
    };
    assert!(found.contains(&Problem::Witness(rollback)));
}

#[test]
fn a_rolled_back_store_is_whole_and_only_the_witness_tells() {
    let mut old = Store::empty();
    old.group("a", 2, 0);
    assert!(verify(&old, &public_key()).ok());
    old.witness = Store::sample().witness;
    let report = verify(&old, &public_key());
    let rollback = WitnessRefusal::StoreBehindWitness {
        store: 1,
        witness: 5,
    };
    assert_eq!(report.problems(), [Problem::Witness(rollback)]);
    assert_eq!(report.witness(), None);
}

#[test]
fn witnesses_of_every_age() {
    let mut store = Store::empty();
    let mut witnesses = vec![store.checkpoint.clone()];
    for _ in 0..4 {
        store.group("a", 1, 0);
        witnesses.push(store.checkpoint.clone());
    }
    for (size, witness) in (0u64..).zip(witnesses) {
        store.witness = witness;
        let report = verify(&store, &public_key());
        match size {
            4 => assert_eq!(report.witness(), Some(WitnessState::Current)),
            3 => assert_eq!(report.witness(), Some(WitnessState::OneBehind)),
            _ => {
                let old = WitnessRefusal::WitnessTooOld {
                    store: 4,
                    witness: size,
                };
                assert_eq!(report.problems(), [Problem::Witness(old)]);
            }
        }
    }
    store.witness = Some("garbage".to_owned());
    let garbage = Problem::WitnessUnsigned(CheckpointError::Note(NoteError::Form));
    assert_eq!(verify(&store, &public_key()).problems(), [garbage]);
}

#[test]
fn what_cannot_be_read_is_named() {
    let found = problems(|s| s.unreadable = Some((tenant("c"), 9)));
    let unreadable = Problem::Unreadable {
        what: "log of tenant `c`: leaf 9".to_owned(),
        source: SourceError("bad sector".to_owned()),
    };
    assert_eq!(found, [unreadable]);
}

#[test]
fn tenant_names_that_cannot_be_are_named() {
    for name in [String::new(), "n".repeat(65)] {
        let found = problems(|s| {
            s.rows(&tenant(&name)).insert(0, b"\x01x".to_vec());
            // A head is made as an attacker would, without the check of names.
            let mut head = s.heads["a"].clone();
            head.tenant.clone_from(&name);
            head.size = 1;
            head.root = leaf_hash(b"\x01x");
            s.tiles
                .insert((tenant(&name), 0, 0, 1), leaf_hash(b"\x01x").0.to_vec());
            s.heads.insert(name.clone(), head);
        });
        let length = HeadError::NameLength { bytes: name.len() };
        assert!(found.contains(&Problem::Tenants(length)), "{found:?}");
    }
}

#[test]
fn a_tenant_listed_twice_is_caught() {
    let found = problems(|s| s.listed_again = Some("b".to_owned()));
    let count = Problem::TenantCount {
        expected: 3,
        found: 4,
    };
    let twice = Problem::Tenants(HeadError::Unordered { at: 2 });
    assert_eq!(found, [count, twice]);
}

#[test]
fn problems_are_listed_to_a_limit_and_all_counted() {
    for over in [-1i64, 0, 1] {
        let bad = (PROBLEMS_MAX as i64 + over) as u64;
        let mut store = Store::sample();
        for index in 3..3 + bad {
            store.rows(&tenant("a")).insert(index, vec![9]);
        }
        store.commit("a", 1);
        let report = verify(&store, &public_key());
        assert_eq!(report.problems_total(), bad);
        assert_eq!(report.problems().len() as u64, bad.min(PROBLEMS_MAX as u64));
    }
}

#[test]
fn a_log_with_too_many_missing_leaves_is_abandoned() {
    for over in [-1i64, 0, 1] {
        let missing = (MISSING_LEAVES_MAX as i64 + over) as u64;
        let mut store = Store::sample();
        store.kept = TilesKept::None;
        store.heads.remove("a");
        store.rows(&tenant("a")).insert(2 + missing + 1, vec![1]);
        let report = verify(&store, &public_key());
        // Missing head, missing leaves, and when the limit is reached, that it was.
        let abandoned = u64::from(missing >= MISSING_LEAVES_MAX);
        let expected = 1 + missing.min(MISSING_LEAVES_MAX) + abandoned;
        assert_eq!(report.problems_total(), expected, "{missing}");
    }
    // A row at the far end costs no more.
    let mut store = Store::sample();
    store.heads.remove("a");
    store.kept = TilesKept::None;
    store.rows(&tenant("a")).insert(u64::MAX - 1, vec![1]);
    let report = verify(&store, &public_key());
    assert_eq!(report.problems_total(), 2 + MISSING_LEAVES_MAX);
}

/// Flips one bit of one stored thing, picked by numbers.
fn flip_any(store: &mut Store, what: usize, item: &prop::sample::Index, bit: usize) {
    let flip = |bytes: &mut [u8]| {
        let bit = bit % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
    };
    let pick = |n: usize| item.index(n);
    match what {
        0 => {
            let n = store.leaves.values().map(|rows| rows.len()).sum();
            let mut rows = store.leaves.values_mut().flat_map(|rows| rows.values_mut());
            flip(rows.nth(pick(n)).unwrap());
        }
        1 => {
            let n = store.tiles.len();
            flip(store.tiles.values_mut().nth(pick(n)).unwrap());
        }
        2 => {
            let head = store.heads.values_mut().nth(pick(3)).unwrap();
            match bit % 3 {
                0 => flip(&mut head.root.0),
                1 => flip(&mut head.control),
                _ => head.size ^= 1 << (bit % 63),
            }
        }
        _ => {
            let mut text = key_text(store).into_bytes();
            // Stay in ASCII, since the source gives text.
            let at = bit / 8 % text.len();
            if text[at].is_ascii() {
                text[at] ^= 1 << (bit % 7);
            } else {
                text.truncate(at);
            }
            let text = String::from_utf8_lossy(&text).into_owned();
            if what == 3 {
                store.checkpoint = Some(text);
            } else {
                store.witness = Some(text);
            }
        }
    }
}

fn key_text(store: &Store) -> String {
    store.checkpoint.clone().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_flipped_bit_is_seen(
        what in 0usize..5,
        item: prop::sample::Index,
        bit in 0usize..100_000,
    ) {
        let mut store = Store::sample();
        flip_any(&mut store, what, &item, bit);
        let report = verify(&store, &public_key());
        prop_assert!(!report.ok());
    }
}

/// All formats end in this text, so that it changes when any of them does. It was computed
/// independently, from `docs/formats/ledger.md`.
#[test]
fn formats_have_not_changed() {
    let expected = "example.com/log\n\
                    5\n\
                    QfuzmZYGFY+yhHzoy/TXQCV2VgnCV9Q0AK1PxnqtxAY=\n\
                    \n\
                    \u{2014} example.com/log m+XTxjFZeeTrvJLS09W/IFmIYu9b8eV1mdYTi8UMk0oCn7656h1m\
                    cO4gM6HhWF5aMMDudaLMuGgyBz0xdP8Gq4iX2gw=\n";
    assert_eq!(key_text(&Store::sample()), expected);
}

#[test]
fn the_sample_is_signed_by_the_key_of_the_tests() {
    assert!(key().verifier().open(&key_text(&Store::sample())).is_ok());
}
