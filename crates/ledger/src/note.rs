// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ed25519 keys and signed notes (C2SP signed-note), in the text forms of golang.org/x/mod's
//! sumdb/note.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use core::fmt;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// Longest key name in bytes.
pub const KEY_NAME_BYTES_MAX: usize = 255;

/// Longest note that is read, in bytes.
pub const NOTE_BYTES_MAX: usize = 131_072;

/// Most signature lines that are read; C2SP asks for at least 16.
pub const NOTE_SIGNATURES_MAX: usize = 16;

/// Longest text form of a key that is read, in bytes.
pub const KEY_TEXT_BYTES_MAX: usize = 512;

const ALGORITHM_ED25519: u8 = 1;
const KEY_BYTES: usize = 32;
const KEY_ID_BYTES: usize = 4;
const SIGNATURE_BYTES: usize = 64;
const SECRET_PREFIX: &str = "PRIVATE+KEY+";
/// An em dash and a space.
const SIGNATURE_PREFIX: &str = "\u{2014} ";

/// Why a text is not a key. The text is never repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is too long.
    #[error("key is {bytes} bytes; limit is {KEY_TEXT_BYTES_MAX}; give the key alone")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The parts are not there.
    #[error("key is not of the form name+hash+base64; check that it was copied whole")]
    Form,
    /// A public key where a secret one is needed, or the reverse.
    #[error("key is a public key where a secret one is needed, or the reverse; give the other")]
    Secrecy,
    /// The name is empty, too long or has a character it must not have.
    #[error(
        "key name must be 1 to {KEY_NAME_BYTES_MAX} bytes without spaces, control characters or \
         plus; choose another"
    )]
    Name,
    /// The base64 part is not 33 bytes in canonical base64.
    #[error("key is not {KEY_BYTES} bytes after an algorithm byte in base64; copy it again")]
    Encoding,
    /// Another algorithm than Ed25519.
    #[error("key is of algorithm {found}; only {ALGORITHM_ED25519} (Ed25519) is read")]
    Algorithm {
        /// The algorithm byte.
        found: u8,
    },
    /// The hash part is not that of the key and name.
    #[error("key does not match its hash; it was changed or copied badly; copy it again")]
    Hash,
    /// The bytes are no point of the curve, or one of small order.
    #[error("key is not a usable Ed25519 public key; make a new one")]
    Point,
}

/// Why a note was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// The note is too long.
    #[error("note is {bytes} bytes; limit is {NOTE_BYTES_MAX}; give the note alone")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// It has a control character other than the line feed, such as a carriage return.
    #[error("note has a control character; it was changed on the way; take it as bytes")]
    ControlCharacter,
    /// It has no blank line before its signatures, or does not end with a line feed.
    #[error("note has no text, blank line and signature lines; it was cut; take it again")]
    Form,
    /// It has too many signature lines.
    #[error("note has more than {NOTE_SIGNATURES_MAX} signatures; drop those not needed")]
    TooManySignatures,
    /// A signature line is malformed.
    #[error("signature line {line} of the note is malformed; take the note again")]
    SignatureLine {
        /// Which of the signature lines, from 0.
        line: usize,
    },
    /// The key signed it twice.
    #[error("note has two signatures of the same key; one of them was added; take it again")]
    Repeated,
    /// The signature of the key does not hold.
    #[error("signature of the note does not hold; it was changed or signed by another key")]
    Invalid,
    /// The key did not sign it.
    #[error("note is not signed by the given key; check the key's name and hash")]
    Unsigned,
}

/// A public key with its name. `name+hash+base64` as text.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    id: [u8; KEY_ID_BYTES],
    key: VerifyingKey,
}

impl VerifierKey {
    /// Reads the text form.
    ///
    /// # Errors
    /// [`KeyError`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let (name, id, bytes) = parse_key(text)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::Point)?;
        if key.is_weak() {
            return Err(KeyError::Point);
        }
        if id != key_id(name, &bytes) {
            return Err(KeyError::Hash);
        }
        Ok(Self {
            name: name.to_owned(),
            id,
            key,
        })
    }

    /// The key's name; for a log, its origin.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first four bytes of SHA-256(name || "\n" || 0x01 || public key).
    #[must_use]
    pub const fn id(&self) -> [u8; 4] {
        self.id
    }

    /// Checks the signature of this key on a note and returns the text that it covers. Signatures
    /// of other keys are ignored, as C2SP asks.
    ///
    /// # Errors
    /// [`NoteError`] says why the note must not be believed.
    pub fn open_note<'a>(&self, note: &'a str) -> Result<&'a str, NoteError> {
        let (text, signatures) = split_note(note)?;
        let mut found = None;
        for (line, signature) in signatures.lines().enumerate() {
            if line == NOTE_SIGNATURES_MAX {
                return Err(NoteError::TooManySignatures);
            }
            let (name, id, bytes) =
                parse_signature(signature).ok_or(NoteError::SignatureLine { line })?;
            if name == self.name && id == self.id && found.replace(bytes).is_some() {
                return Err(NoteError::Repeated);
            }
        }
        let bytes: [u8; SIGNATURE_BYTES] = found
            .ok_or(NoteError::Unsigned)?
            .try_into()
            .map_err(|_| NoteError::Invalid)?;
        self.key
            .verify_strict(text.as_bytes(), &Signature::from_bytes(&bytes))
            .map_err(|_| NoteError::Invalid)?;
        Ok(text)
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+", self.name)?;
        write_hex(f, &self.id)?;
        write!(
            f,
            "+{}",
            STANDARD.encode(with_algorithm(self.key.as_bytes()))
        )
    }
}

impl fmt::Debug for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A secret key with its name. The secret is overwritten when it is dropped, and `Debug` does not
/// show it.
pub struct SignerKey {
    public: VerifierKey,
    key: SigningKey,
}

impl SignerKey {
    /// Makes a key from 32 random bytes, which the caller draws and erases.
    ///
    /// # Errors
    /// [`KeyError::Name`].
    pub fn generate(name: &str, random: &[u8; 32]) -> Result<Self, KeyError> {
        check_name(name)?;
        let key = SigningKey::from_bytes(random);
        let public = key.verifying_key();
        Ok(Self {
            public: VerifierKey {
                name: name.to_owned(),
                id: key_id(name, public.as_bytes()),
                key: public,
            },
            key,
        })
    }

    /// Reads the text form, `PRIVATE+KEY+name+hash+base64`.
    ///
    /// # Errors
    /// [`KeyError`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let rest = text.strip_prefix(SECRET_PREFIX).ok_or(KeyError::Secrecy)?;
        let (name, id, bytes) = parse_key(rest)?;
        let key = Self::generate(name, &bytes)?;
        if id != key.public.id {
            return Err(KeyError::Hash);
        }
        Ok(key)
    }

    /// The secret in its text form; it is overwritten when it is dropped.
    #[must_use]
    pub fn to_secret_text(&self) -> Zeroizing<String> {
        let bytes = Zeroizing::new(with_algorithm(self.key.as_bytes()));
        let secret = Zeroizing::new(STANDARD.encode(bytes.as_slice()));
        let public = self.public.to_string();
        // The public text without its key is the `name+hash+` that both forms share.
        let shared = public.len().saturating_sub(secret.len());
        let mut text = Zeroizing::new(String::with_capacity(
            SECRET_PREFIX.len().saturating_add(public.len()),
        ));
        text.push_str(SECRET_PREFIX);
        text.push_str(public.get(..shared).unwrap_or_default());
        text.push_str(&secret);
        text
    }

    /// The public key.
    #[must_use]
    pub const fn verifier(&self) -> &VerifierKey {
        &self.public
    }

    /// Signs a text, which must be UTF-8 lines without control characters that end with a line
    /// feed, and returns the whole note.
    ///
    /// # Errors
    /// [`NoteError`] when the text is not such a text.
    pub fn sign_note(&self, text: &str) -> Result<String, NoteError> {
        if text.is_empty() || !text.ends_with('\n') {
            return Err(NoteError::Form);
        }
        let signature = self.key.sign(text.as_bytes()).to_bytes();
        let bytes = [&self.public.id[..], &signature[..]].concat();
        let note = format!(
            "{text}\n{SIGNATURE_PREFIX}{} {}\n",
            self.public.name,
            STANDARD.encode(bytes)
        );
        split_note(&note)?;
        Ok(note)
    }
}

impl fmt::Debug for SignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignerKey({}, secret hidden)", self.public)
    }
}

/// Splits a note at its last blank line into the text, with its last line feed, and the
/// signature lines.
fn split_note(note: &str) -> Result<(&str, &str), NoteError> {
    if note.len() > NOTE_BYTES_MAX {
        return Err(NoteError::TooLong { bytes: note.len() });
    }
    if note.bytes().any(|b| b < 0x20 && b != b'\n') {
        return Err(NoteError::ControlCharacter);
    }
    let (text, signatures) = note.rsplit_once("\n\n").ok_or(NoteError::Form)?;
    if !signatures.ends_with('\n') {
        return Err(NoteError::Form);
    }
    let text = note
        .get(..text.len().saturating_add(1))
        .ok_or(NoteError::Form)?;
    Ok((text, signatures))
}

/// Takes a signature line apart: key name, key id, signature.
fn parse_signature(line: &str) -> Option<(&str, [u8; KEY_ID_BYTES], Vec<u8>)> {
    let (name, encoded) = line.strip_prefix(SIGNATURE_PREFIX)?.split_once(' ')?;
    check_name(name).ok()?;
    let bytes = STANDARD.decode(encoded).ok()?;
    let (id, signature) = bytes.split_first_chunk::<KEY_ID_BYTES>()?;
    if signature.is_empty() {
        return None;
    }
    Some((name, *id, signature.to_vec()))
}

type KeyParts<'a> = (&'a str, [u8; KEY_ID_BYTES], Zeroizing<[u8; KEY_BYTES]>);

/// Takes `name+hash+base64` apart; whether the hash fits is for the caller, who knows the public
/// key.
fn parse_key(text: &str) -> Result<KeyParts<'_>, KeyError> {
    if text.len() > KEY_TEXT_BYTES_MAX {
        return Err(KeyError::TooLong { bytes: text.len() });
    }
    if text.starts_with(SECRET_PREFIX) {
        return Err(KeyError::Secrecy);
    }
    let mut parts = text.splitn(3, '+');
    let (Some(name), Some(hash), Some(encoded)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(KeyError::Form);
    };
    check_name(name)?;
    let id = parse_id(hash).ok_or(KeyError::Form)?;
    let bytes = Zeroizing::new(STANDARD.decode(encoded).map_err(|_| KeyError::Encoding)?);
    let (algorithm, key) = bytes.split_first().ok_or(KeyError::Encoding)?;
    if *algorithm != ALGORITHM_ED25519 {
        return Err(KeyError::Algorithm { found: *algorithm });
    }
    let key: &[u8; KEY_BYTES] = key.try_into().map_err(|_| KeyError::Encoding)?;
    Ok((name, id, Zeroizing::new(*key)))
}

/// Reads eight lower-case hexadecimal digits.
fn parse_id(hash: &str) -> Option<[u8; KEY_ID_BYTES]> {
    let digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    if hash.len() != 8 || !hash.bytes().all(digit) {
        return None;
    }
    Some(u32::from_str_radix(hash, 16).ok()?.to_be_bytes())
}

fn key_id(name: &str, public: &[u8; KEY_BYTES]) -> [u8; KEY_ID_BYTES] {
    let mut hash = Sha256::new();
    hash.update(name.as_bytes());
    hash.update(b"\n");
    hash.update(with_algorithm(public));
    let digest: [u8; 32] = hash.finalize().into();
    let [a, b, c, d, ..] = digest;
    [a, b, c, d]
}

fn with_algorithm(key: &[u8; KEY_BYTES]) -> [u8; KEY_BYTES + 1] {
    let mut bytes = [ALGORITHM_ED25519; KEY_BYTES + 1];
    if let Some(rest) = bytes.last_chunk_mut() {
        *rest = *key;
    }
    bytes
}

fn check_name(name: &str) -> Result<(), KeyError> {
    let forbidden = |c: char| c == '+' || c.is_whitespace() || c.is_control();
    if name.is_empty() || name.len() > KEY_NAME_BYTES_MAX || name.contains(forbidden) {
        return Err(KeyError::Name);
    }
    Ok(())
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
}
