// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::store::{Store, public_key, tenant};
use ancile_ledger::verify::{Problem, verify};
use ancile_ledger::{
    ExportError, Exported, ExportedLogs, LEAF_BYTES_MAX, LogName, LogSource, TileError,
    WitnessState, decode_bundle, export,
};
use std::fs;
use std::path::{Path, PathBuf};

fn exported(store: &Store) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    export(store, directory.path()).unwrap();
    directory
}

/// All files below a directory, relative to it, sorted.
fn files(directory: &Path) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![directory.to_owned()], vec![]);
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(directory).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_layout_is_the_specifications() {
    let directory = tempfile::tempdir().unwrap();
    let done = export(&Store::sample(), &directory.path().join("new")).unwrap();
    let expected = [
        "checkpoint",
        "tenant/61/head",
        "tenant/61/tile/0/000.p/3",
        "tenant/61/tile/entries/000.p/3",
        "tenant/62/head",
        "tenant/62/tile/0/000",
        "tenant/62/tile/0/001",
        "tenant/62/tile/0/002.p/88",
        "tenant/62/tile/1/000.p/2",
        "tenant/62/tile/entries/000",
        "tenant/62/tile/entries/001",
        "tenant/62/tile/entries/002.p/88",
        "tenant/63/head",
        "tenant/63/tile/0/000",
        "tenant/63/tile/1/000.p/1",
        "tenant/63/tile/entries/000",
        "tile/0/000.p/5",
        "tile/entries/000.p/5",
        "witness",
    ];
    let found = files(&directory.path().join("new"));
    assert_eq!(found, expected.map(PathBuf::from));
    let expected = Exported {
        tenants: 3,
        leaves: 864,
        files: 19,
    };
    assert_eq!(done, expected);
}

#[test]
fn an_export_has_what_the_store_has_and_verifies() {
    let store = Store::sample();
    let directory = exported(&store);
    let logs = ExportedLogs::new(directory.path());
    assert_eq!(logs.tenants().unwrap(), ["a", "b", "c"]);
    for (log, rows) in &store.leaves {
        assert_eq!(logs.extent(log).unwrap(), rows.len() as u64);
        for (index, body) in rows {
            assert_eq!(logs.leaf(log, *index).unwrap().as_ref(), Some(body));
        }
        let end = rows.len() as u64;
        assert_eq!(logs.leaf(log, end).unwrap(), None);
        assert_eq!(logs.leaf(log, end + 1000).unwrap(), None);
    }
    for ((log, level, index, width), tile) in &store.tiles {
        let read = logs.tile(log, *level, *index, *width).unwrap();
        assert_eq!(read.as_ref(), Some(tile));
    }
    let report = verify(&logs, &public_key());
    assert!(report.ok(), "{:?}", report.problems());
    assert_eq!(report.witness(), Some(WitnessState::Current));
    assert_eq!(report, verify(&store, &public_key()));
    let bundle = fs::read(directory.path().join("tenant/61/tile/entries/000.p/3")).unwrap();
    let leaves = decode_bundle(&bundle).unwrap();
    assert_eq!(leaves, [b"\x01a 0", b"\x01a 1", b"\x01a 2"]);
}

#[test]
fn an_empty_store_is_exported() {
    let directory = exported(&Store::empty());
    assert_eq!(files(directory.path()), [Path::new("checkpoint")]);
    let report = verify(&ExportedLogs::new(directory.path()), &public_key());
    assert!(report.ok(), "{:?}", report.problems());
}

#[test]
fn any_changed_or_missing_file_is_seen() {
    let directory = exported(&Store::sample());
    let report = || verify(&ExportedLogs::new(directory.path()), &public_key());
    for file in files(directory.path()) {
        let path = directory.path().join(&file);
        let bytes = fs::read(&path).unwrap();
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            fs::write(&path, changed).unwrap();
            assert!(!report().ok(), "{file:?} {at}");
        }
        fs::write(&path, [&bytes[..], b"\0"].concat()).unwrap();
        assert!(!report().ok(), "{file:?} longer");
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(!report().ok(), "{file:?} shorter");
        fs::remove_file(&path).unwrap();
        // Without a witness nothing can be said of it.
        assert_eq!(report().ok(), file == Path::new("witness"), "{file:?}");
        fs::write(&path, bytes).unwrap();
        assert!(report().ok(), "{file:?} put back");
    }
}

#[test]
fn an_export_cut_short_has_no_checkpoint() {
    let mut store = Store::sample();
    store
        .rows(&LogName::Heads)
        .insert(5, vec![3; LEAF_BYTES_MAX + 1]);
    let directory = tempfile::tempdir().unwrap();
    let error = export(&store, directory.path()).unwrap_err();
    assert!(matches!(error, ExportError::Leaf { index: 5, .. }));
    let report = verify(&ExportedLogs::new(directory.path()), &public_key());
    assert!(report.problems().contains(&Problem::CheckpointMissing));
}

#[test]
fn leaf_length_limit() {
    for bytes in [LEAF_BYTES_MAX - 1, LEAF_BYTES_MAX, LEAF_BYTES_MAX + 1] {
        let mut store = Store::sample();
        store.rows(&tenant("a")).insert(3, vec![1; bytes]);
        store.commit("a", 1);
        let directory = tempfile::tempdir().unwrap();
        let answer = export(&store, directory.path());
        if bytes > LEAF_BYTES_MAX {
            let Err(ExportError::Leaf { log, index, source }) = answer else {
                panic!("{answer:?}");
            };
            assert_eq!((log, index), (tenant("a"), 3));
            assert_eq!(source, TileError::LeafTooLong { bytes });
        } else {
            answer.unwrap();
            let report = verify(&ExportedLogs::new(directory.path()), &public_key());
            assert!(report.ok(), "{:?}", report.problems());
        }
    }
}

#[test]
fn what_cannot_be_exported_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::sample();
    store.rows(&tenant("b")).remove(&7);
    let answer = export(&store, &directory.path().join("1"));
    let Err(ExportError::LeafMissing { log, index }) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((log, index), (tenant("b"), 7));
    let mut store = Store::sample();
    store.checkpoint = None;
    let answer = export(&store, &directory.path().join("2"));
    assert!(matches!(answer, Err(ExportError::CheckpointMissing)));
    for (bytes, fits) in [(0, false), (63, true), (64, true), (65, false)] {
        let mut store = Store::sample();
        let name = "n".repeat(bytes);
        store.rows(&tenant(&name)).insert(0, vec![1]);
        let to = directory.path().join(format!("n{bytes}"));
        let answer = export(&store, &to);
        match answer {
            Ok(_) => assert!(fits),
            Err(ExportError::TenantName { bytes: found }) => assert!(!fits && found == bytes),
            Err(other) => panic!("{other}"),
        }
    }
    let answer = export(&Store::sample(), directory.path());
    assert!(matches!(answer, Err(ExportError::NotEmpty { .. })));
    let file = directory.path().join("file");
    fs::write(&file, "x").unwrap();
    let answer = export(&Store::sample(), &file);
    assert!(matches!(answer, Err(ExportError::Io { .. })));
}

#[test]
fn strange_files_are_named_and_stop_no_one() {
    let directory = exported(&Store::sample());
    // No hexadecimal, upper case, half a byte, and a byte that is not UTF-8.
    for name in ["Zz", "6A", "616", "ff"] {
        let stranger = directory.path().join("tenant").join(name);
        fs::create_dir(&stranger).unwrap();
        let report = verify(&ExportedLogs::new(directory.path()), &public_key());
        let Problem::Unreadable { what, source } = &report.problems()[0] else {
            panic!("{report:?}");
        };
        assert_eq!(what, "tenant list");
        assert!(source.0.contains("is no tenant's name"), "{source}");
        fs::remove_dir(&stranger).unwrap();
    }
    // A head under another tenant's name.
    let (a, c) = (
        directory.path().join("tenant/61/head"),
        directory.path().join("tenant/63/head"),
    );
    fs::copy(&c, &a).unwrap();
    let report = verify(&ExportedLogs::new(directory.path()), &public_key());
    assert!(
        report.problems()[0]
            .to_string()
            .starts_with("head of tenant `a`")
    );
    // A file of a width that no bundle has is no bundle.
    let directory = exported(&Store::sample());
    for width in ["0", "256", "x", "-1"] {
        let path = directory.path().join("tile/entries/000.p").join(width);
        fs::write(path, "").unwrap();
    }
    let report = verify(&ExportedLogs::new(directory.path()), &public_key());
    assert!(report.ok(), "{:?}", report.problems());
    // A bundle with one more leaf than its name says.
    let bundle = directory.path().join("tile/entries/000.p/5");
    let bytes = fs::read(&bundle).unwrap();
    fs::write(&bundle, [&bytes[..], b"\0\x01x"].concat()).unwrap();
    let report = verify(&ExportedLogs::new(directory.path()), &public_key());
    let said = |problem: &Problem| {
        matches!(problem, Problem::Unreadable { source, .. }
        if source.0.ends_with("has 6 leaves"))
    };
    assert!(
        report.problems().iter().all(said) && !report.ok(),
        "{report:?}"
    );
    fs::write(&bundle, bytes).unwrap();
    // A bundle with one leaf less.
    let bundle = directory.path().join("tile/entries/000.p");
    fs::copy(bundle.join("5"), bundle.join("6")).unwrap();
    let report = verify(&ExportedLogs::new(directory.path()), &public_key());
    assert!(!report.ok());
}
