// SPDX-License-Identifier: MIT OR Apache-2.0
//! Edits behind the store's back: of a closed store, of an open one, and what the audit says.

use crate::fixture::*;
use ancile_ledger::LeafKind;
use ancile_store::{
    Audit, AuditReport, Damage, DamageKind, OpenError, ReadError, ReplayLeaf, Store, audit,
};

/// Every problem of an audit as a line.
fn problems(place: &Place) -> Vec<String> {
    let report = audit(&place.dir(), Some(&place.witness()), &verifier()).unwrap();
    lines(&report)
}

fn lines(report: &AuditReport) -> Vec<String> {
    let logs = report.logs().problems().iter().map(ToString::to_string);
    let lines: Vec<String> = logs
        .chain(report.problems().iter().map(ToString::to_string))
        .collect();
    assert_eq!(report.ok(), lines.is_empty());
    lines
}

/// Runs the statements on a closed copy of the sample; it must open with this damage, refuse to
/// read the damaged leaves, and show the problems to an audit.
fn opens_damaged(statements: &str, damage: &[Damage], audited: &[&str]) {
    let place = sample();
    place.sql(statements);
    let (store, report, seen) = place.open().unwrap();
    assert_eq!(report.damage, damage);
    assert_eq!(report.damage_total, damage.len() as u64);
    let in_log: Vec<Damage> = damage
        .iter()
        .filter(|d| !matches!(d.what, DamageKind::Inserted | DamageKind::InsertedContent))
        .cloned()
        .collect();
    let visited: Vec<Damage> = seen
        .iter()
        .filter_map(|s| {
            Some(crate::fixture::damage(
                &s.tenant,
                s.seq as i64,
                s.what.clone().err()?,
            ))
        })
        .collect();
    assert_eq!(visited, in_log);
    assert_eq!(seen.len(), 7);
    for seq in 0..6 {
        let expected = in_log
            .iter()
            .find(|d| d.tenant == "acme" && d.seq == seq as i64);
        assert_eq!(
            refused(&store, "acme", seq),
            expected.map(|d| d.what),
            "leaf {seq}"
        );
    }
    drop(store);
    assert_problems(&place, audited);
}

fn assert_problems(place: &Place, expected: &[&str]) {
    let found = problems(place);
    assert!(!expected.is_empty());
    for line in expected {
        assert!(
            found.iter().any(|f| f.contains(line)),
            "no `{line}` in {found:#?}"
        );
    }
}

/// What a read of the leaf says is wrong with it.
fn refused(store: &Store, name: &str, seq: u64) -> Option<DamageKind> {
    match store.read(&tenant(name), seq) {
        Ok(_) => None,
        Err(ReadError::Tampered { what, .. }) => Some(what),
        Err(other) => panic!("{other}"),
    }
}

const SWAP: &str = "CREATE TEMP TABLE t AS SELECT seq, body FROM leaf WHERE tenant = 'acme';
    UPDATE leaf SET body = (SELECT body FROM t WHERE t.seq = 3 - leaf.seq)
    WHERE tenant = 'acme' AND seq IN (1, 2)";

#[test]
fn an_untouched_store_has_no_problem() {
    let place = sample();
    let report = audit(&place.dir(), Some(&place.witness()), &verifier()).unwrap();
    assert!(report.ok(), "{report:?}");
    assert_eq!((report.contents(), report.contents_unchecked()), (4, 1));
    assert_eq!(report.records_without_content(), 0);
    let files: Vec<_> = std::fs::read_dir(place.dir())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        files.len(),
        2,
        "the audit wrote beside the store: {files:?}"
    );
}

#[test]
fn an_edited_record_is_broken() {
    let edit =
        "UPDATE leaf SET body = CAST(body || x'00' AS BLOB) WHERE tenant = 'acme' AND seq = 1";
    let damaged = [damage("acme", 1, DamageKind::Edited)];
    opens_damaged(edit, &damaged, &["leaf 1 hashes to", "head says root"]);
}

#[test]
fn a_record_made_a_control_event_is_broken() {
    let edit = "UPDATE leaf SET body = x'02ff' WHERE tenant = 'acme' AND seq = 2";
    let damaged = [damage("acme", 2, DamageKind::Edited)];
    opens_damaged(
        edit,
        &damaged,
        &["leaf 2 hashes to", "another control chain"],
    );
}

#[test]
fn an_oversized_record_is_broken_without_being_loaded() {
    let edit = "UPDATE leaf SET body = zeroblob(9000000) WHERE tenant = 'acme' AND seq = 2";
    let damaged = [damage("acme", 2, DamageKind::Edited)];
    opens_damaged(edit, &damaged, &["leaf 2 is 65536 bytes; limit is 65535"]);
}

#[test]
fn edited_content_is_refused() {
    for edit in [
        "UPDATE content SET bytes = CAST('first nOte' AS BLOB) WHERE tenant = 'acme' AND seq = 1",
        "UPDATE content SET salt = x'00' WHERE tenant = 'acme' AND seq = 1",
        "UPDATE content SET salt = zeroblob(16) WHERE tenant = 'acme' AND seq = 1",
        "UPDATE content SET bytes = zeroblob(9000000) WHERE tenant = 'acme' AND seq = 1",
    ] {
        let damaged = [damage("acme", 1, DamageKind::Content)];
        opens_damaged(
            edit,
            &damaged,
            &["content of leaf 1 is not what its leaf commits to"],
        );
    }
}

#[test]
fn swapped_records_are_both_broken() {
    let damaged = [
        damage("acme", 1, DamageKind::Edited),
        damage("acme", 2, DamageKind::Edited),
    ];
    opens_damaged(SWAP, &damaged, &["leaf 1 hashes to", "leaf 2 hashes to"]);
}

#[test]
fn a_removed_record_is_missing() {
    let edit = "DELETE FROM leaf WHERE tenant = 'acme' AND seq = 2";
    let damaged = [damage("acme", 2, DamageKind::Missing)];
    opens_damaged(
        edit,
        &damaged,
        &["leaf 2 is missing", "content 2 has no leaf"],
    );
    let edit = "DELETE FROM leaf WHERE tenant = 'acme' AND seq = 5";
    let damaged = [damage("acme", 5, DamageKind::Missing)];
    opens_damaged(
        edit,
        &damaged,
        &["leaves 5 to 6, the last not included, are missing"],
    );
}

#[test]
fn inserted_rows_are_not_served() {
    let edit = "INSERT INTO leaf VALUES ('acme', 6, x'0200'), ('acme', -1, x'01'),
        ('evil', 0, x'0200'), ('', 3, x'02'), (CAST(x'ff' AS TEXT), 0, x'02');
        INSERT INTO content VALUES ('acme', 6, zeroblob(16), x'00'), ('evil', 1, x'', x'')";
    let damaged = [
        damage("", 3, DamageKind::Inserted),
        damage("acme", -1, DamageKind::Inserted),
        damage("acme", 6, DamageKind::Inserted),
        damage("evil", 0, DamageKind::Inserted),
        damage("\u{fffd}", 0, DamageKind::Inserted),
        damage("acme", 6, DamageKind::InsertedContent),
        damage("evil", 1, DamageKind::InsertedContent),
    ];
    let audited = [
        "tenant `acme`: row -1 is outside the log",
        "tenant `acme`: row 6 is outside the log",
        "tenant `evil`: row 0 is outside the log",
        "tenant `evil`: content 1 has no leaf",
        "tenant `evil` has no stored head",
        "its head says 6; some were inserted",
    ];
    opens_damaged(edit, &damaged, &audited);
}

#[test]
fn an_inserted_row_gives_way_to_the_log() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    place.sql(
        "INSERT INTO leaf VALUES ('acme', 6, x'0200');
         INSERT INTO content VALUES ('acme', 6, zeroblob(16), x'00'), ('acme', 7, x'', x'')",
    );
    let acme = tenant("acme");
    assert!(matches!(
        store.read(&acme, 6),
        Err(ReadError::NoLeaf { .. })
    ));
    let replaced = |store: &mut Store| store.append(&acme, &control("x"), None).unwrap().replaced;
    assert_eq!([(); 3].map(|()| replaced(&mut store)), [true, true, false]);
    let _ = store.commit().unwrap();
    drop(store);
    let (_store, report, seen) = place.open().unwrap();
    assert_eq!(report.damage_total, 0);
    assert_eq!(seen[6].what, Ok((LeafKind::Control, control("x"), None)));
}

#[test]
fn a_lost_or_edited_control_leaf_refuses_the_store() {
    for (edit, audited) in [
        (
            "DELETE FROM leaf WHERE tenant = 'acme' AND seq = 3",
            "leaf 3 is missing",
        ),
        (
            "UPDATE leaf SET body = x'0200' WHERE tenant = 'acme' AND seq = 3",
            "another control chain than its 3 control leaves make",
        ),
        (
            "UPDATE leaf SET body = x'0100' WHERE tenant = 'acme' AND seq = 3",
            "another control chain than its 2 control leaves make",
        ),
    ] {
        let place = sample();
        place.sql(edit);
        assert_eq!(
            place.refusal().to_string(),
            "tenant `acme`: a control leaf is missing or edited, among 1 damaged leaves of which \
             the first is 3; restore a copy"
        );
        assert_problems(&place, &[audited]);
    }
}

#[test]
fn a_lost_control_leaf_is_named_before_what_the_reader_makes_of_it() {
    let place = sample();
    place.sql("DELETE FROM leaf WHERE tenant = 'acme' AND seq = 0");
    let refusal = with_config(&place.dir(), &place.witness(), |cfg| {
        Store::open(cfg, &mut |_: ReplayLeaf<'_>| {
            Err(ancile_store::ReplayRefusal("no policy".to_owned()))
        })
    });
    assert!(matches!(
        refusal,
        Err(OpenError::Control {
            damaged: 1,
            first: 0,
            ..
        })
    ));
}

#[test]
fn a_reader_can_refuse_a_leaf() {
    let place = sample();
    let refusal = with_config(&place.dir(), &place.witness(), |cfg| {
        Store::open(cfg, &mut |leaf: ReplayLeaf<'_>| match leaf {
            ReplayLeaf::Intact { seq: 3, .. } => {
                Err(ancile_store::ReplayRefusal("unknown event 7".to_owned()))
            }
            _ => Ok(()),
        })
    });
    let text = "tenant `acme`: leaf 3 could not be replayed: unknown event 7";
    assert_eq!(refusal.unwrap_err().to_string(), text);
}

#[test]
fn content_of_a_control_event_is_checked_by_who_knows_it() {
    let place = sample();
    place.sql("UPDATE content SET bytes = x'00' WHERE tenant = 'acme' AND seq = 4");
    let key = verifier();
    let dir = place.dir();
    let report = Audit::new(&dir, &key).run().unwrap();
    assert_eq!((report.ok(), report.contents_unchecked()), (true, 1));
    let commitment = ancile_core::content_commitment(&SALT, b"shown text");
    let read = |body: &[u8]| (body == control("exposure")).then_some(commitment);
    let report = Audit::new(&dir, &key)
        .control_commitments(&read)
        .run()
        .unwrap();
    assert_eq!(
        lines(&report),
        ["tenant `acme`: content of leaf 4 is not what its leaf commits to"]
    );
    place.sql("UPDATE content SET bytes = CAST('shown text' AS BLOB) WHERE seq = 4");
    let report = Audit::new(&dir, &key)
        .control_commitments(&read)
        .run()
        .unwrap();
    assert_eq!(
        (report.ok(), report.contents(), report.contents_unchecked()),
        (true, 5, 0)
    );
}

#[test]
fn removed_content_is_no_content() {
    let place = sample();
    place.sql("DELETE FROM content WHERE tenant = 'acme' AND seq = 1");
    let (store, ..) = place.open().unwrap();
    assert_eq!(store.read(&tenant("acme"), 1).unwrap().content, None);
    let report = audit(&place.dir(), None, &verifier()).unwrap();
    assert_eq!((report.ok(), report.records_without_content()), (true, 1));
}

/// Runs the statements on a closed copy of the sample; it must not open, and show the problem.
fn refuses(statements: &str, refusal: &str, audited: &[&str]) {
    let place = sample();
    place.sql(statements);
    assert_eq!(causes(&place.refusal()), refusal);
    assert_problems(&place, audited);
}

#[test]
fn an_edited_tile_refuses_the_store() {
    let place = sample();
    place.sql(
        "UPDATE tile SET bytes = CAST(zeroblob(32) || substr(bytes, 33) AS BLOB)
         WHERE log = 'acme' AND level = 0",
    );
    match place.refusal() {
        OpenError::TenantRoot {
            size: 6,
            found_size: 6,
            root,
            found_root,
            ..
        } => {
            assert_ne!(root, found_root);
        }
        other => panic!("{other}"),
    }
    assert_problems(&place, &["leaf 0 hashes to"]);
    let text =
        "log of tenant `acme`: tile 0 of level 0 is missing, added or edited; restore a copy";
    let cut = "UPDATE tile SET bytes = substr(bytes, 2) WHERE log = 'acme'";
    refuses(
        cut,
        text,
        &["tile 0 of level 0 is 191 bytes; it must be 192"],
    );
    let add = "INSERT INTO tile VALUES ('acme', 1, 0, zeroblob(32))";
    let place = sample();
    place.sql(add);
    assert_eq!(
        place.refusal().to_string(),
        text.replace("level 0", "level 1")
    );
    let place = sample();
    place.sql("DELETE FROM tile WHERE log = 'acme'");
    assert!(matches!(
        place.refusal(),
        OpenError::TenantRoot { found_size: 0, .. }
    ));
    assert_problems(&place, &["tile 0 of level 0 is missing"]);
    refuses(
        "DELETE FROM tile WHERE log = '@heads'",
        "heads log: tile 0 of level 0 is missing, added or edited; restore a copy",
        &["heads log: tile 0 of level 0 is missing"],
    );
    refuses(
        "INSERT INTO tile VALUES ('evil', 0, 0, x'00')",
        "log of tenant `evil`: tile 0 of level 0 is missing, added or edited; restore a copy",
        &["log of tenant `evil`: has tiles, but the store has no such log"],
    );
}

#[test]
fn an_edited_upper_tile_refuses_the_store() {
    let place = Place::new();
    let mut store = place.create();
    for n in 0..300u32 {
        put_control(&mut store, &tenant("acme"), &n.to_string());
    }
    let _ = store.commit().unwrap();
    drop(store);
    place.sql("UPDATE tile SET bytes = zeroblob(32) WHERE log = 'acme' AND level = 1");
    let text =
        "log of tenant `acme`: tile 0 of level 1 is missing, added or edited; restore a copy";
    assert_eq!(place.refusal().to_string(), text);
    assert_problems(
        &place,
        &["hash 0 of tile 0 of level 1 differs from the leaves"],
    );
}

#[test]
fn an_edited_checkpoint_refuses_the_store() {
    let refused = "stored checkpoint is not signed by this key; give the key of this store, or \
                   restore\ncheckpoint is not a note signed by this key\n";
    let held = "signature of the note does not hold; it was changed or signed by another key";
    refuses(
        "UPDATE checkpoint SET note = replace(note, '\n4\n', '\n3\n')",
        &format!("{refused}{held}"),
        &["stored checkpoint was refused"],
    );
    refuses(
        "DELETE FROM checkpoint",
        "stored checkpoint is missing; restore a copy",
        &["there is no signed checkpoint"],
    );
}

#[test]
fn an_edited_heads_log_refuses_the_store() {
    let place = sample();
    place.sql("DELETE FROM head WHERE \"group\" = 3");
    assert!(matches!(
        place.refusal(),
        OpenError::HeadsLog {
            size: 4,
            found_size: 3,
            ..
        }
    ));
    assert_problems(&place, &["heads log: leaves 3 to 4"]);
    let place = sample();
    place.sql(
        "INSERT INTO head SELECT 4, CAST(substr(body, 1, 9) || x'04' || substr(body, 11) AS BLOB)
         FROM head WHERE \"group\" = 3",
    );
    assert!(matches!(
        place.refusal(),
        OpenError::HeadsLog {
            size: 4,
            found_size: 5,
            ..
        }
    ));
    assert_problems(&place, &["heads log: has leaves up to 5, its head says 4"]);
    refuses(
        "DELETE FROM head WHERE \"group\" = 1",
        "heads log: group 1 is missing or malformed; restore a copy",
        &["heads log: leaf 1 is missing"],
    );
    refuses(
        "UPDATE head SET body = x'00' WHERE \"group\" = 1",
        "heads log: group 1 is missing or malformed; restore a copy\n\
         head does not begin with byte 3; the bytes are of another kind",
        &["heads log: leaf 1 is not a group head"],
    );
    let place = sample();
    place.sql(
        "UPDATE head SET body = CAST(substr(body, 1, 57) || x'00' AS BLOB) WHERE \"group\" = 1",
    );
    assert!(matches!(
        place.refusal(),
        OpenError::HeadsLog {
            size: 4,
            found_size: 4,
            ..
        }
    ));
    assert_problems(
        &place,
        &[
            "heads log: leaf 1 hashes to",
            "checkpoint of 4 groups says root",
        ],
    );
}

#[test]
fn an_edited_tenant_head_refuses_the_store() {
    for edit in [
        "DELETE FROM tenant WHERE tenant = 'zeta'",
        "UPDATE tenant SET head = CAST(substr(head, 1, 9) || x'01' || substr(head, 11) AS BLOB)",
        "UPDATE tenant SET head = CAST(substr(head, 1, 73) || x'01' || substr(head, 75) AS BLOB)",
    ] {
        let place = sample();
        place.sql(edit);
        match place.refusal() {
            OpenError::TenantHeads {
                tenants: 2,
                root,
                found_root,
                ..
            } => {
                assert_ne!(root, found_root);
            }
            other => panic!("{edit}: {other}"),
        }
        assert!(!problems(&place).is_empty());
    }
    refuses(
        "UPDATE tenant SET tenant = 'evil' WHERE tenant = 'zeta'",
        "head of tenant `evil` is malformed; restore a copy",
        &["tenant `zeta` has no stored head"],
    );
}

/// Runs the statements beside the open sample store, then asks it for the leaf.
fn open_refuses(statements: &str, seq: u64, what: DamageKind) {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    assert_eq!(refused(&store, "acme", seq), None);
    place.sql(statements);
    assert_eq!(refused(&store, "acme", seq), Some(what), "{statements}");
    // The rest of the store goes on.
    assert_eq!(refused(&store, "zeta", 0), None);
    put_record(&mut store, &tenant("acme"), b"more");
    let _ = store.commit().unwrap();
    assert_eq!(refused(&store, "acme", 6), None);
    assert_eq!(refused(&store, "acme", seq), Some(what));
    // An audit beside the running store sees it too.
    assert!(!problems(&place).is_empty());
}

#[test]
fn an_open_store_refuses_what_was_edited_under_it() {
    let at = "WHERE tenant = 'acme' AND seq = 1";
    open_refuses(
        &format!("UPDATE leaf SET body = x'0100' {at}"),
        1,
        DamageKind::Edited,
    );
    open_refuses(
        &format!("UPDATE content SET bytes = x'00' {at}"),
        1,
        DamageKind::Content,
    );
    open_refuses(&format!("DELETE FROM leaf {at}"), 1, DamageKind::Missing);
    open_refuses(
        "DELETE FROM leaf WHERE tenant = 'acme' AND seq = 3",
        3,
        DamageKind::Missing,
    );
    open_refuses(SWAP, 1, DamageKind::Edited);
    open_refuses(SWAP, 2, DamageKind::Edited);
}

#[test]
fn a_trigger_does_not_run_in_an_open_store_and_refuses_the_next_open() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    place.sql(
        "CREATE TRIGGER evil AFTER INSERT ON leaf BEGIN
         UPDATE content SET bytes = x'00'; END",
    );
    put_control(&mut store, &tenant("acme"), "x");
    let _ = store.commit().unwrap();
    assert_eq!(refused(&store, "acme", 1), None);
    drop(store);
    let text = place.refusal().to_string();
    let said = "`evil` is not as format version 3 has it; the schema was changed; restore a copy";
    assert!(text.ends_with(said), "{text}");
    let audited = audit(&place.dir(), None, &verifier());
    assert!(matches!(audited, Err(OpenError::Schema { .. })));
    place.sql("DROP TRIGGER evil; DROP TABLE content");
    assert!(matches!(place.refusal(), OpenError::Schema { name, .. } if name == "head"));
}

#[test]
fn a_body_is_read_without_its_content_and_a_change_from_outside_shows() {
    let place = sample();
    let (mut store, ..) = place.open().unwrap();
    let acme = tenant("acme");
    let version = store.data_version().unwrap();
    put_control(&mut store, &acme, "own");
    let _ = store.commit().unwrap();
    assert_eq!(store.data_version().unwrap(), version);
    place.sql("UPDATE content SET bytes = x'00' WHERE tenant = 'acme' AND seq = 1");
    assert_ne!(store.data_version().unwrap(), version);
    assert_eq!(refused(&store, "acme", 1), Some(DamageKind::Content));
    assert_eq!(
        store.read_body(&acme, 1).unwrap(),
        record(&acme, b"first note")
    );
    assert_eq!(store.content_unverified(&acme, 1).unwrap(), Some(vec![0]));
    assert_eq!(store.content_unverified(&acme, 0).unwrap(), None);
    place.sql("UPDATE leaf SET body = x'0100' WHERE tenant = 'acme' AND seq = 1");
    place.sql("DELETE FROM leaf WHERE tenant = 'acme' AND seq = 2");
    let what = |seq| match store.read_body(&acme, seq) {
        Err(ReadError::Tampered { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (what(1), what(2)),
        (DamageKind::Edited, DamageKind::Missing)
    );
    assert!(matches!(
        store.read_body(&acme, 99),
        Err(ReadError::NoLeaf { .. })
    ));
}
