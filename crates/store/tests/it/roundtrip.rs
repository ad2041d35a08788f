// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is written is read, before and after a reopen; what is rolled back leaves no trace.

use crate::fixture::*;
use ancile_ledger::{LeafKind, WitnessState};
use ancile_store::{
    BODY_BYTES_MAX, CONTENT_BYTES_MAX, Content, ReadError, StoredContent, StoredLeaf, WriteError,
};

#[test]
fn leaves_are_read_before_commit_after_it_and_after_a_reopen() {
    let place = Place::new();
    let mut store = place.create();
    let acme = tenant("acme");
    let body = record(&acme, b"note");
    let content = Content {
        salt: SALT,
        bytes: b"note",
    };
    let appended = store.append(&acme, &body, Some(content)).unwrap();
    assert_eq!((appended.seq, appended.replaced), (0, false));
    assert_eq!(put_control(&mut store, &acme, "event"), 1);
    let first = StoredLeaf {
        kind: LeafKind::Record,
        body,
        content: Some(StoredContent {
            salt: SALT,
            bytes: b"note".to_vec(),
        }),
    };
    let second = StoredLeaf {
        kind: LeafKind::Control,
        body: control("event"),
        content: None,
    };
    let check = |store: &ancile_store::Store| {
        assert_eq!(store.read(&acme, 0).unwrap(), first);
        assert_eq!(store.read(&acme, 1).unwrap(), second);
        assert_eq!(
            (store.size(&acme), store.leaf(&acme, 0)),
            (2, Some(appended.leaf))
        );
        assert!(matches!(
            store.read(&acme, 2),
            Err(ReadError::NoLeaf { seq: 2, .. })
        ));
        assert!(matches!(
            store.read(&tenant("none"), 0),
            Err(ReadError::NoLeaf { .. })
        ));
    };
    check(&store);
    let receipt = store.commit().unwrap();
    assert_eq!(
        (receipt.group(), receipt.checkpoint().checkpoint().size),
        (1, 2)
    );
    check(&store);
    drop(store);
    let (store, report, seen) = place.open().unwrap();
    check(&store);
    assert_eq!(
        (report.groups, report.epoch, report.tenants, report.leaves),
        (2, 0, 1, 2)
    );
    assert_eq!(
        (report.witness, report.damage_total),
        (WitnessState::Current, 0)
    );
    let note = Some(b"note".to_vec());
    assert_eq!(
        seen[0].what,
        Ok((LeafKind::Record, first.body.clone(), note))
    );
    assert_eq!(
        seen[1].what,
        Ok((LeafKind::Control, second.body.clone(), None))
    );
}

#[test]
fn replay_gives_tenants_by_name_and_leaves_in_order() {
    let (_store, report, seen) = sample().open().unwrap();
    let order: Vec<(&str, u64)> = seen.iter().map(|s| (s.tenant.as_str(), s.seq)).collect();
    let acme = (0..6).map(|seq| ("acme", seq));
    assert_eq!(order, acme.chain([("zeta", 0)]).collect::<Vec<_>>());
    assert_eq!((report.groups, report.tenants, report.leaves), (4, 2, 7));
}

#[test]
fn what_is_not_committed_is_gone() {
    let place = sample();
    let (mut store, _, before) = place.open().unwrap();
    put_record(&mut store, &tenant("acme"), b"lost");
    put_record(&mut store, &tenant("new"), b"lost");
    drop(store);
    let (store, report, seen) = place.open().unwrap();
    assert_eq!(seen, before);
    assert_eq!((report.groups, report.damage_total), (4, 0));
    assert_eq!(store.tenants().count(), 2);
}

#[test]
fn an_empty_group_commits_nothing() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    let before = store.checkpoint().clone();
    let receipt = store.commit().unwrap();
    assert_eq!((receipt.group(), receipt.checkpoint()), (3, &before));
    let savepoint = store.savepoint().unwrap();
    put_record(&mut store, &tenant("acme"), b"undone");
    store.rollback(savepoint).unwrap();
    assert_eq!(store.commit().unwrap(), receipt);
    assert_eq!(place.number("SELECT count(*) FROM head"), 4);
    // The database is free again.
    place.sql("BEGIN IMMEDIATE; ROLLBACK");
}

#[test]
fn a_rolled_back_item_leaves_no_trace() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    let (acme, new) = (tenant("acme"), tenant("new"));
    put_record(&mut store, &acme, b"kept");
    let leaf = store.leaf(&acme, 6);
    let outer = store.savepoint().unwrap();
    put_control(&mut store, &acme, "undone");
    let inner = store.savepoint().unwrap();
    put_record(&mut store, &new, b"undone too");
    store.remove_content(&acme, 1).unwrap();
    store.release(inner).unwrap();
    store.rollback(outer).unwrap();
    assert_eq!(
        (store.size(&acme), store.size(&new), store.leaf(&acme, 6)),
        (7, 0, leaf)
    );
    assert!(store.read(&acme, 1).unwrap().content.is_some());
    assert_eq!(put_record(&mut store, &acme, b"kept too"), 7);
    let _ = store.commit().unwrap();
    drop(store);
    let (store, report, seen) = place.open().unwrap();
    assert_eq!(
        (report.leaves, report.tenants, report.damage_total),
        (9, 2, 0)
    );
    assert_eq!(seen.iter().filter(|s| s.what.is_err()).count(), 0);
    assert_eq!(
        store.read(&acme, 7).unwrap().content.unwrap().bytes,
        b"kept too"
    );
    assert_eq!(
        place.number("SELECT count(*) FROM leaf WHERE tenant = 'new'"),
        0
    );
    assert_eq!(
        place.number("SELECT count(*) FROM tile WHERE log = 'new'"),
        0
    );
}

#[test]
fn savepoints_end_with_outer_ones_and_with_the_group() {
    let place = Place::new();
    let mut store = place.create();
    let acme = tenant("acme");
    let outer = store.savepoint().unwrap();
    let inner = store.savepoint().unwrap();
    put_control(&mut store, &acme, "undone");
    store.rollback(outer).unwrap();
    assert!(matches!(
        store.release(inner),
        Err(WriteError::SavepointOver)
    ));
    let old = store.savepoint().unwrap();
    assert_eq!(put_control(&mut store, &acme, "kept"), 0);
    let _ = store.commit().unwrap();
    assert!(matches!(
        store.rollback(old),
        Err(WriteError::SavepointOver)
    ));
    assert_eq!((store.size(&acme), store.fault()), (1, None));
}

#[test]
fn content_is_removed_and_the_leaf_stays() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    let acme = tenant("acme");
    store.remove_content(&acme, 1).unwrap();
    put_control(&mut store, &acme, "erased 1");
    let _ = store.commit().unwrap();
    assert_eq!(store.read(&acme, 1).unwrap().content, None);
    assert!(matches!(
        store.remove_content(&acme, 99),
        Err(WriteError::NoLeaf { seq: 99, .. })
    ));
    drop(store);
    let (_store, report, seen) = place.open().unwrap();
    assert_eq!(report.damage_total, 0);
    assert_eq!(seen[1].what.clone().unwrap().2, None);
    let files: Vec<u8> = std::fs::read(place.database()).unwrap();
    let kept = |text: &[u8]| files.windows(text.len()).any(|w| w == text);
    assert!(kept(b"second note") && !kept(b"first note"));
}

#[test]
fn a_removal_alone_is_committed() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    store.remove_content(&tenant("acme"), 1).unwrap();
    assert_eq!(store.commit().unwrap().group(), 4);
    drop(store);
    let (store, ..) = place.open().unwrap();
    assert_eq!(store.read(&tenant("acme"), 1).unwrap().content, None);
}

#[test]
fn a_leaf_is_checked_before_it_is_written() {
    let place = Place::new();
    let mut store = place.create();
    let acme = tenant("acme");
    let mut refuse = |body: &[u8], content: Option<&[u8]>| {
        let content = content.map(|bytes| Content { salt: SALT, bytes });
        store
            .append(&acme, body, content)
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    let kind = "leaf body begins with neither 1 (record) nor 2 (control event); encode it again";
    assert_eq!(refuse(b"", None), kind);
    assert_eq!(refuse(b"\x03", None), kind);
    let other =
        "content does not fit the commitment in its record; commit to this salt and content";
    assert_eq!(
        refuse(&record(&tenant("acme"), b"this"), Some(b"that")),
        other
    );
    assert_eq!(
        refuse(b"\x01junk", Some(b"that")),
        "record is malformed; encode it again"
    );
    let long = vec![2; BODY_BYTES_MAX + 1];
    let limit = "leaf body is 65536 bytes; limit is 65535; split what it says";
    assert_eq!(refuse(&long, None), limit);
    let content = vec![b'x'; CONTENT_BYTES_MAX + 1];
    assert_eq!(
        refuse(b"\x02", Some(&content)),
        "content is 1048577 bytes; limit is 1048576; split it"
    );
    assert_eq!((store.size(&acme), store.fault()), (0, None));
}

#[test]
fn bodies_and_contents_up_to_their_limits_come_back() {
    let place = Place::new();
    let mut store = place.create();
    let acme = tenant("acme");
    for less in [1, 0] {
        let body = vec![2; BODY_BYTES_MAX - less];
        let bytes = vec![b'x'; CONTENT_BYTES_MAX - less];
        let _ = store
            .append(
                &acme,
                &body,
                Some(Content {
                    salt: SALT,
                    bytes: &bytes,
                }),
            )
            .unwrap();
    }
    let _ = store.commit().unwrap();
    drop(store);
    let (store, report, _) = place.open().unwrap();
    assert_eq!(report.damage_total, 0);
    for (seq, less) in [(0, 1), (1, 0)] {
        let leaf = store.read(&acme, seq).unwrap();
        assert_eq!(leaf.body.len(), BODY_BYTES_MAX - less);
        assert_eq!(leaf.content.unwrap().bytes.len(), CONTENT_BYTES_MAX - less);
    }
}

#[test]
fn logs_longer_than_a_tile_reopen() {
    let place = Place::new();
    let acme = tenant("acme");
    let mut store = place.create();
    for n in 0..515u32 {
        put_control(&mut store, &acme, &n.to_string());
        if n % 64 == 63 {
            let _ = store.commit().unwrap();
        }
    }
    let _ = store.commit().unwrap();
    drop(store);
    for round in 0..2u32 {
        let (mut store, report, seen) = place.open().unwrap();
        assert_eq!(
            (report.leaves, report.damage_total),
            (u64::from(515 + round), 0)
        );
        assert_eq!(seen.len(), 515 + round as usize);
        put_control(&mut store, &acme, "more");
        let _ = store.commit().unwrap();
    }
    let report = ancile_store::audit(&place.dir(), Some(&place.witness()), &verifier()).unwrap();
    assert!(report.ok(), "{report:?}");
}
