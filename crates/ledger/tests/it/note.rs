// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::vectors::{SIGNATURE, SIGNER, TEXT, VERIFIER};
use ancile_ledger::{
    KEY_NAME_BYTES_MAX, KEY_TEXT_BYTES_MAX, KeyError, NOTE_BYTES_MAX, NOTE_SIGNATURES_MAX,
    NoteError, SignerKey, VerifierKey,
};
use proptest::prelude::*;

pub fn signer(name: &str, seed: u8) -> SignerKey {
    SignerKey::generate(name, &[seed; 32]).unwrap()
}

fn verifier() -> VerifierKey {
    VerifierKey::parse(VERIFIER).unwrap()
}

fn note() -> String {
    format!("{TEXT}\n{SIGNATURE}")
}

#[test]
fn keys_round_trip() {
    let key = signer("example.com/log", 7);
    let text = key.to_secret_text();
    assert!(text.starts_with("PRIVATE+KEY+example.com/log+"));
    let again = SignerKey::parse(&text).unwrap();
    assert_eq!(again.verifier(), key.verifier());
    let public = key.verifier().to_string();
    assert_eq!(&VerifierKey::parse(&public).unwrap(), key.verifier());
    assert_eq!(key.verifier().name(), "example.com/log");
}

#[test]
fn debug_hides_the_secret() {
    let key = SignerKey::parse(SIGNER).unwrap();
    let shown = format!("{key:?} {key:#?}");
    assert!(shown.contains("secret hidden"));
    let secret = SIGNER.rsplit('+').next().unwrap();
    assert!(!shown.contains(secret));
    for error in [
        SignerKey::parse(&SIGNER[..SIGNER.len() - 4]).unwrap_err(),
        SignerKey::parse(&SIGNER.replace("c74f20a3", "c74f20a4")).unwrap_err(),
        VerifierKey::parse(SIGNER).unwrap_err(),
    ] {
        let said = format!("{error} {error:?}");
        assert!(!said.contains("AYEKFALV") && !said.contains(secret));
    }
}

#[test]
fn every_part_and_every_changed_byte_of_a_key_is_refused() {
    for start in 0..VERIFIER.len() {
        for end in start..=VERIFIER.len() {
            let part = &VERIFIER[start..end];
            assert_eq!(VerifierKey::parse(part).is_ok(), part == VERIFIER, "{part}");
        }
    }
    for (text, is_secret) in [(VERIFIER, false), (SIGNER, true)] {
        for at in 0..text.len() {
            for change in [1u8, 2, 0x20] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] ^= change;
                let Ok(other) = String::from_utf8(bytes) else {
                    continue;
                };
                assert!(VerifierKey::parse(&other).is_err(), "{other}");
                if is_secret {
                    assert!(SignerKey::parse(&other).is_err(), "{other}");
                }
            }
        }
    }
}

#[test]
fn malformed_keys_say_why() {
    let refused = |text: &str, error| assert_eq!(VerifierKey::parse(text), Err(error), "{text}");
    let key = "ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    refused("", KeyError::Form);
    refused("PeterNeumann+c74f20a3", KeyError::Form);
    refused(SIGNER, KeyError::Secrecy);
    assert_eq!(SignerKey::parse(VERIFIER).err(), Some(KeyError::Secrecy));
    refused(&format!("+c74f20a3+{key}"), KeyError::Name);
    refused(&format!("Peter Neumann+c74f20a3+{key}"), KeyError::Name);
    refused(&format!("Peter\u{a0}N+c74f20a3+{key}"), KeyError::Name);
    refused(&format!("PeterNeumann+C74F20A3+{key}"), KeyError::Form);
    refused(&format!("PeterNeumann+74f20a3+{key}"), KeyError::Form);
    refused(&format!("PeterNeumann++74f20a3+{key}"), KeyError::Form);
    refused(&format!("PeterNeumann+c74f20a4+{key}"), KeyError::Hash);
    refused(&format!("OtherName+c74f20a3+{key}"), KeyError::Hash);
    refused(&format!("PeterNeumann+c74f20a3+{key}="), KeyError::Encoding);
    refused(
        &format!("PeterNeumann+c74f20a3+{key}\n"),
        KeyError::Encoding,
    );
    refused(
        &format!("PeterNeumann+c74f20a3+{}", &key[4..]),
        KeyError::Algorithm { found: 0xd9 },
    );
    refused("PeterNeumann+c74f20a3+AQID", KeyError::Encoding);
    refused("PeterNeumann+c74f20a3+", KeyError::Encoding);
    let other = format!("PeterNeumann+c74f20a3+BR{}", &key[2..]);
    refused(&other, KeyError::Algorithm { found: 5 });
    // The neutral element, with which anyone can sign anything.
    let weak = "AQEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    refused(&format!("n+00000000+{weak}"), KeyError::Point);
}

#[test]
fn key_limits() {
    for (bytes, fits) in [(1, true), (254, true), (255, true), (256, false)] {
        assert_eq!(KEY_NAME_BYTES_MAX, 255);
        let name = "n".repeat(bytes);
        let key = SignerKey::generate(&name, &[1; 32]);
        assert_eq!(key.is_ok(), fits);
        if let Ok(key) = key {
            let text = key.verifier().to_string();
            assert_eq!(&VerifierKey::parse(&text).unwrap(), key.verifier());
            let note = key.sign_note("text\n").unwrap();
            assert_eq!(key.verifier().open_note(&note), Ok("text\n"));
        }
    }
    for name in ["", "a b", "a+b", "a\nb", "a\tb", "a\u{2003}b", "a\u{0}b"] {
        assert_eq!(
            SignerKey::generate(name, &[1; 32]).err(),
            Some(KeyError::Name)
        );
    }
    for bytes in [KEY_TEXT_BYTES_MAX - 1, KEY_TEXT_BYTES_MAX] {
        let text = "k".repeat(bytes);
        assert_eq!(VerifierKey::parse(&text), Err(KeyError::Form));
    }
    let bytes = KEY_TEXT_BYTES_MAX + 1;
    let answer = VerifierKey::parse(&"k".repeat(bytes));
    assert_eq!(answer, Err(KeyError::TooLong { bytes }));
}

#[test]
fn every_changed_byte_of_a_note_is_refused() {
    let (key, note) = (verifier(), note());
    for at in 0..note.len() {
        for bit in 0..8 {
            let mut bytes = note.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            if let Ok(other) = String::from_utf8(bytes) {
                assert!(key.open_note(&other).is_err(), "{other}");
            }
        }
    }
    for cut in (0..note.len()).filter(|cut| note.is_char_boundary(*cut)) {
        assert!(key.open_note(&note[..cut]).is_err());
    }
}

#[test]
fn another_key_or_name_does_not_open_a_note() {
    let note = signer("log", 1).sign_note("text\n").unwrap();
    assert_eq!(signer("log", 1).verifier().open_note(&note), Ok("text\n"));
    for (name, seed) in [("log", 2), ("gol", 1), ("lo", 1)] {
        let answer = signer(name, seed).verifier().open_note(&note);
        assert_eq!(answer, Err(NoteError::Unsigned));
    }
    // The right name and key id over another key's signature.
    let theirs = signer("log", 2).sign_note("text\n").unwrap();
    let (right, wrong) = (signature_bytes(&note), signature_bytes(&theirs));
    let forged = [&right[..4], &wrong[4..]].concat();
    let line = format!("text\n\n\u{2014} log {}\n", base64(&forged));
    let answer = signer("log", 1).verifier().open_note(&line);
    assert_eq!(answer, Err(NoteError::Invalid));
    // A signature of another length.
    let line = format!("text\n\n\u{2014} log {}\n", base64(&right[..67]));
    let answer = signer("log", 1).verifier().open_note(&line);
    assert_eq!(answer, Err(NoteError::Invalid));
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn signature_bytes(note: &str) -> Vec<u8> {
    use base64::Engine as _;
    let encoded = note.trim_end().rsplit(' ').next().unwrap();
    base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .unwrap()
}

#[test]
fn signatures_of_unknown_keys_are_ignored_and_counted() {
    let mut note = note();
    let others: Vec<String> = (0..NOTE_SIGNATURES_MAX)
        .map(|i| {
            let note = signer(&format!("w{i}"), i as u8).sign_note("x\n").unwrap();
            note[3..].to_owned()
        })
        .collect();
    for (lines, other) in (2..).zip(&others) {
        note.push_str(other);
        let expected = match lines {
            17 => Err(NoteError::TooManySignatures),
            _ => Ok(TEXT),
        };
        assert_eq!(verifier().open_note(&note), expected, "{lines}");
    }
    // They may come first too.
    let note = format!("{TEXT}\n{}{SIGNATURE}", others[0]);
    assert_eq!(verifier().open_note(&note), Ok(TEXT));
}

#[test]
fn a_second_signature_of_the_key_is_refused() {
    let note = format!("{}{SIGNATURE}", note());
    assert_eq!(verifier().open_note(&note), Err(NoteError::Repeated));
    let line = SIGNATURE.replace("ZJkuBS", "ZJkuBT");
    for note in [
        format!("{}{line}", self::note()),
        format!("{TEXT}\n{line}{SIGNATURE}"),
    ] {
        assert_eq!(verifier().open_note(&note), Err(NoteError::Repeated));
    }
}

#[test]
fn malformed_notes_say_why() {
    let refused = |note: String, error| {
        assert_eq!(verifier().open_note(&note), Err(error), "{note:?}");
    };
    let line = |line| NoteError::SignatureLine { line };
    refused(String::new(), NoteError::Form);
    refused(TEXT.to_owned(), NoteError::Form);
    refused(format!("{TEXT}{SIGNATURE}"), NoteError::Form);
    refused(format!("{TEXT}\n"), NoteError::Form);
    refused(note().trim_end().to_owned(), NoteError::Form);
    refused(format!("{}\n", note()), NoteError::Form);
    refused(note().replace('\n', "\r\n"), NoteError::ControlCharacter);
    refused(
        note().replacen('\n', "\r\n", 1),
        NoteError::ControlCharacter,
    );
    refused(note().replace(TEXT, "tab\t\n"), NoteError::ControlCharacter);
    refused(note().replace(TEXT, "nul\0\n"), NoteError::ControlCharacter);
    refused(note().replace('\u{2014}', "-"), line(0));
    refused(note().replace("PeterNeumann ", ""), line(0));
    refused(note().replace("PeterNeumann ", "Peter Neumann "), line(0));
    refused(note().replace("PeterNeumann ", "Peter+ "), line(0));
    refused(format!("{}noise\n", note()), line(1));
    refused(format!("{}\u{2014} name AQID\n", note()), line(1));
    // Four bytes: a key id and no signature.
    refused(format!("{}\u{2014} name AQIDBA==\n", note()), line(1));
}

#[test]
fn base64_that_is_not_canonical_is_refused() {
    let line = Err(NoteError::SignatureLine { line: 0 });
    // The last character carries two bits that must be zero.
    for (from, to) in [
        ("wJnAM=\n", "wJnAN=\n"),
        ("wJnAM=\n", "wJnAM\n"),
        ("wJnAM=\n", "wJnAM==\n"),
        ("wJnAM=\n", "wJnAM= \n"),
        ("x08go/", "x08go_"),
        ("x08go/", "x08 go/"),
    ] {
        let changed = note().replace(from, to);
        assert_ne!(changed, note());
        assert_eq!(verifier().open_note(&changed), line, "{changed}");
    }
}

#[test]
fn note_length_limit() {
    let key = signer("log", 3);
    let overhead = key.sign_note("\n").unwrap().len() - 1;
    for over in [-1i64, 0, 1] {
        let bytes = (NOTE_BYTES_MAX as i64 + over) as usize;
        let text = "x".repeat(bytes - overhead - 1) + "\n";
        let answer = key.sign_note(&text);
        if over > 0 {
            assert_eq!(answer, Err(NoteError::TooLong { bytes }));
        } else {
            let note = answer.unwrap();
            assert_eq!(note.len(), bytes);
            assert_eq!(key.verifier().open_note(&note), Ok(&text[..]));
        }
    }
    let long = "\n".repeat(50_000_000);
    let answer = key.verifier().open_note(&long);
    assert_eq!(answer, Err(NoteError::TooLong { bytes: long.len() }));
}

#[test]
fn only_texts_of_whole_lines_are_signed() {
    let key = signer("log", 3);
    for text in ["", "no line feed"] {
        assert_eq!(key.sign_note(text), Err(NoteError::Form));
    }
    assert_eq!(key.sign_note("a\r\n"), Err(NoteError::ControlCharacter));
    for text in ["\n", "a\n\nb\n", "a\n\n", "\u{2014} log AQIDBAU=\n"] {
        let note = key.sign_note(text).unwrap();
        assert_eq!(key.verifier().open_note(&note), Ok(text));
    }
}

proptest! {
    #[test]
    fn any_text_in(text in "(\\PC|\n|\u{2014} ){0,80}") {
        prop_assert!(verifier().open_note(&text).is_err());
        prop_assert!(VerifierKey::parse(&text).is_err());
        prop_assert!(SignerKey::parse(&text).is_err());
        let key = signer("log", 4);
        if let Ok(note) = key.sign_note(&text) {
            prop_assert_eq!(key.verifier().open_note(&note), Ok(&text[..]));
        }
    }
}
