// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::checkpoint::checkpoint;
use crate::naive;
use crate::note::signer;
use ancile_ledger::witness::{WITNESS_BYTES_MAX, compare};
use ancile_ledger::{
    Checkpoint, NodeHash, SignedCheckpoint, Tree, Witness, WitnessError, WitnessRefusal,
    WitnessState, leaf_hash,
};
use std::fs;

fn signed(size: u64, root: NodeHash) -> SignedCheckpoint {
    let origin = "example.com/log".to_owned();
    let checkpoint = Checkpoint { origin, size, root };
    signer("example.com/log", 1).sign(checkpoint).unwrap()
}

fn witness_of(tree: &Tree, size: u64) -> SignedCheckpoint {
    signed(size, tree.root_at(size).unwrap())
}

#[test]
fn a_witness_may_be_one_group_behind_and_no_more() {
    let tree = naive::tree(&naive::leaves(40));
    for size in 0..=40u64 {
        let mut heads = tree.clone();
        heads.truncate(size);
        for witness in 0..=40u64 {
            let expected = match size.checked_sub(witness) {
                Some(0) => Ok(WitnessState::Current),
                Some(1) => Ok(WitnessState::OneBehind),
                Some(_) => Err(WitnessRefusal::WitnessTooOld {
                    store: size,
                    witness,
                }),
                None => Err(WitnessRefusal::StoreBehindWitness {
                    store: size,
                    witness,
                }),
            };
            assert_eq!(compare(&heads, &witness_of(&tree, witness)), expected);
        }
    }
}

#[test]
fn another_history_is_a_fork_at_any_distance() {
    let leaves = naive::leaves(10);
    let tree = naive::tree(&leaves);
    let mut forked = leaves.clone();
    forked[4] = leaf_hash(b"another past");
    let fork = naive::tree(&forked);
    for witness in 0..=10u64 {
        let answer = compare(&fork, &witness_of(&tree, witness));
        let forked = Err(WitnessRefusal::Forked { store: 10, witness });
        assert_eq!(answer == forked, witness > 4, "{witness}");
        assert!(answer.is_err());
    }
    // A longer fork does not hide it, and a root at size 0 must be that of nothing.
    let refusal = compare(&tree, &signed(0, leaf_hash(b"x"))).unwrap_err();
    let expected = WitnessRefusal::Forked {
        store: 10,
        witness: 0,
    };
    assert_eq!(refusal, expected);
}

#[test]
fn refusals_name_sizes_and_the_next_step() {
    let (store, witness) = (7, 9);
    for (refusal, starts) in [
        (
            WitnessRefusal::StoreBehindWitness { store, witness },
            "store has 7 groups, its witness 9; the store was rolled back; restore",
        ),
        (
            WitnessRefusal::WitnessTooOld {
                store: 9,
                witness: 7,
            },
            "store has 9 groups, its witness 7, and only one fewer is normal; bring",
        ),
        (
            WitnessRefusal::Forked { store, witness },
            "store of 7 groups has another root than its witness at 9 groups; history",
        ),
        (
            WitnessRefusal::Missing { store },
            "store has 7 groups and no witness; bring the witness",
        ),
    ] {
        let said = refusal.to_string();
        assert!(said.starts_with(starts), "{said}");
        assert!(!said.ends_with('.'));
    }
}

#[test]
fn writing_and_reading() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("witness");
    assert_eq!(Witness::read(&path).unwrap(), None);
    let key = signer("example.com/log", 1);
    for size in [1, 2] {
        let signed = key.sign(checkpoint(size)).unwrap();
        Witness::write(&path, &signed).unwrap();
        let text = Witness::read(&path).unwrap().unwrap();
        assert_eq!(key.verifier().open(&text).unwrap(), signed);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // Nothing but the witness is left.
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn an_interrupted_write_leaves_the_old_witness() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("witness");
    let temp = directory.path().join("witness.tmp");
    let key = signer("example.com/log", 1);
    let (old, new) = (checkpoint(1), checkpoint(2));
    let (old, new) = (key.sign(old).unwrap(), key.sign(new).unwrap());
    Witness::write(&path, &old).unwrap();
    // The process died at each byte of the temporary file.
    for cut in [0, 1, new.text().len() / 2, new.text().len()] {
        fs::write(&temp, &new.text().as_bytes()[..cut]).unwrap();
        assert_eq!(Witness::read(&path).unwrap().as_deref(), Some(old.text()));
    }
    fs::write(&temp, "x".repeat(10_000)).unwrap();
    Witness::write(&path, &new).unwrap();
    assert_eq!(Witness::read(&path).unwrap().as_deref(), Some(new.text()));
    assert!(!temp.exists());
}

#[test]
fn a_failed_write_leaves_the_old_witness() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("witness");
    let key = signer("example.com/log", 1);
    let old = key.sign(checkpoint(1)).unwrap();
    let new = key.sign(checkpoint(2)).unwrap();
    Witness::write(&path, &old).unwrap();
    // A directory stands where the temporary file should.
    fs::create_dir(directory.path().join("witness.tmp")).unwrap();
    let error = Witness::write(&path, &new).unwrap_err();
    assert!(matches!(
        error,
        WitnessError::Io {
            step: "removing a leftover",
            ..
        }
    ));
    assert_eq!(Witness::read(&path).unwrap().as_deref(), Some(old.text()));
    // A directory stands where the witness should.
    let error = Witness::write(directory.path(), &new).unwrap_err();
    assert!(matches!(
        error,
        WitnessError::Io {
            step: "renaming",
            ..
        }
    ));
    let error = Witness::write(std::path::Path::new("/"), &new).unwrap_err();
    assert!(matches!(error, WitnessError::NoFileName { .. }));
    let nowhere = directory.path().join("no/such/witness");
    let error = Witness::write(&nowhere, &new).unwrap_err();
    assert!(error.to_string().contains("creating failed"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_left_in_place_of_the_temporary_file_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("witness");
    let victim = directory.path().join("victim");
    fs::write(&victim, "keep").unwrap();
    std::os::unix::fs::symlink(&victim, directory.path().join("witness.tmp")).unwrap();
    let signed = signer("example.com/log", 1).sign(checkpoint(1)).unwrap();
    Witness::write(&path, &signed).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "keep");
    let text = Witness::read(&path).unwrap();
    assert_eq!(text.as_deref(), Some(signed.text()));
}

#[test]
fn garbage_is_read_and_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("witness");
    let key = signer("example.com/log", 1);
    let other = signer("example.com/log", 2).sign(checkpoint(1)).unwrap();
    for garbage in ["", "\n", "garbage", other.text()] {
        fs::write(&path, garbage).unwrap();
        let text = Witness::read(&path).unwrap().unwrap();
        assert_eq!(text, garbage);
        assert!(key.verifier().open(&text).is_err());
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    let error = Witness::read(&path).unwrap_err();
    assert!(matches!(error, WitnessError::Encoding { .. }));
    let error = Witness::read(directory.path()).unwrap_err();
    assert!(matches!(error, WitnessError::Io { .. }));
}

#[test]
fn witness_length_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("witness");
    for length in [WITNESS_BYTES_MAX - 1, WITNESS_BYTES_MAX] {
        fs::write(&path, "x".repeat(length)).unwrap();
        assert_eq!(Witness::read(&path).unwrap().unwrap().len(), length);
    }
    fs::write(&path, "x".repeat(WITNESS_BYTES_MAX + 1)).unwrap();
    let error = Witness::read(&path).unwrap_err();
    assert!(matches!(error, WitnessError::TooLong { .. }));
}
