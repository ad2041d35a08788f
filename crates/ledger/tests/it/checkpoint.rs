// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::note::signer;
use ancile_ledger::{Checkpoint, CheckpointError, NodeHash, NoteError, leaf_hash};
use proptest::prelude::*;

pub fn checkpoint(size: u64) -> Checkpoint {
    Checkpoint {
        origin: "example.com/log".to_owned(),
        size,
        root: leaf_hash(b"root"),
    }
}

#[test]
fn the_text_is_the_specifications() {
    let text =
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
    let checkpoint = Checkpoint::decode(text).unwrap();
    assert_eq!(checkpoint.origin, "example.com/behind-the-sofa");
    assert_eq!(checkpoint.size, 20_852_163);
    assert_eq!(checkpoint.root.0[..4], [0x0a, 0xc5, 0x18, 0x6a]);
    assert_eq!(checkpoint.encode(), text);
}

#[test]
fn signing_and_opening() {
    let key = signer("example.com/log", 1);
    let signed = key.sign(checkpoint(5)).unwrap();
    let opened = key.verifier().open(signed.text()).unwrap();
    assert_eq!(opened, signed);
    assert_eq!(opened.checkpoint(), &checkpoint(5));
    assert_eq!(opened.checkpoint().head().size, 5);
}

#[test]
fn a_key_signs_and_opens_only_its_own_log() {
    let key = signer("example.com/other", 1);
    assert_eq!(key.sign(checkpoint(5)), Err(CheckpointError::Origin));
    let note = key.sign_note(&checkpoint(5).encode()).unwrap();
    assert_eq!(key.verifier().open(&note), Err(CheckpointError::Origin));
}

#[test]
fn a_changed_size_or_another_key_is_refused() {
    let key = signer("example.com/log", 1);
    let signed = key.sign(checkpoint(5)).unwrap();
    let changed = signed.text().replace("\n5\n", "\n6\n");
    let invalid = CheckpointError::Note(NoteError::Invalid);
    assert_eq!(key.verifier().open(&changed), Err(invalid));
    let other = signer("example.com/log", 2);
    let unsigned = CheckpointError::Note(NoteError::Unsigned);
    assert_eq!(other.verifier().open(signed.text()), Err(unsigned));
}

#[test]
fn signed_texts_that_are_no_checkpoint_are_refused() {
    let key = signer("example.com/log", 1);
    let root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";
    let cases = [
        (
            format!("example.com/log\n5\n{root}\nextension\n"),
            CheckpointError::Lines,
        ),
        (
            format!("example.com/log\n5\n{root}\n\n"),
            CheckpointError::Lines,
        ),
        ("example.com/log\n5\n".to_owned(), CheckpointError::Lines),
        (format!("\n5\n{root}\n"), CheckpointError::Lines),
        (
            format!("example.com/log\n05\n{root}\n"),
            CheckpointError::Size,
        ),
        (
            format!("example.com/log\n+5\n{root}\n"),
            CheckpointError::Size,
        ),
        (
            format!("example.com/log\n-5\n{root}\n"),
            CheckpointError::Size,
        ),
        (
            format!("example.com/log\n\n{root}\n"),
            CheckpointError::Size,
        ),
        (
            format!("example.com/log\n5 \n{root}\n"),
            CheckpointError::Size,
        ),
        (
            format!("example.com/log\n18446744073709551616\n{root}\n"),
            CheckpointError::Size,
        ),
        (
            "example.com/log\n5\nAQID\n".to_owned(),
            CheckpointError::Root,
        ),
        (
            format!("example.com/log\n5\n{}\n", root.replace("I=", "J=")),
            CheckpointError::Root,
        ),
        (
            format!("example.com/log\n5\n{}\n", root.replace('=', "")),
            CheckpointError::Root,
        ),
    ];
    for (text, error) in cases {
        let note = key.sign_note(&text).unwrap();
        assert_eq!(key.verifier().open(&note), Err(error), "{text}");
    }
    let text = format!("example.com/log\n18446744073709551615\n{root}\n");
    assert_eq!(Checkpoint::decode(&text).unwrap().size, u64::MAX);
    assert_eq!(Checkpoint::decode(""), Err(CheckpointError::Lines));
}

proptest! {
    #[test]
    fn checkpoints_round_trip(origin in "[a-z./]{1,30}", size: u64, root: [u8; 32]) {
        let checkpoint = Checkpoint { origin, size, root: NodeHash(root) };
        prop_assert_eq!(Checkpoint::decode(&checkpoint.encode()).unwrap(), checkpoint);
    }
}
