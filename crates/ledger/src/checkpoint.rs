// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checkpoints (C2SP tlog-checkpoint): the signed head of the heads log.

use crate::hash::{HASH_BYTES, NodeHash};
use crate::note::{NoteError, SignerKey, VerifierKey};
use crate::proof::TreeHead;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Why a checkpoint was refused or not signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The note around it was refused.
    #[error("checkpoint is not a note signed by this key")]
    Note(#[source] NoteError),
    /// The text is not origin, size and root, a line each, and nothing more.
    #[error("checkpoint is not three lines of origin, size and root; take it again")]
    Lines,
    /// The size is not a decimal number without leading zeros below 2^64.
    #[error("checkpoint size is not a plain decimal number; take it again")]
    Size,
    /// The root is not 32 bytes in canonical base64.
    #[error("checkpoint root is not {HASH_BYTES} bytes in base64; take it again")]
    Root,
    /// It is of another log than the key.
    #[error("checkpoint origin differs from the key's name; give the key of this log")]
    Origin,
}

/// What a checkpoint says: the heads log's name, size and root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's identity; it equals the name of the key that signs for it.
    pub origin: String,
    /// The number of groups.
    pub size: u64,
    /// The root over their heads.
    pub root: NodeHash,
}

impl Checkpoint {
    /// Size and root together.
    #[must_use]
    pub const fn head(&self) -> TreeHead {
        TreeHead {
            size: self.size,
            root: self.root,
        }
    }

    /// The text that is signed.
    #[must_use]
    pub fn encode(&self) -> String {
        let root = STANDARD.encode(self.root.0);
        format!("{}\n{}\n{root}\n", self.origin, self.size)
    }

    /// Reads what [`Self::encode`] writes, and nothing else; extension lines, which C2SP allows
    /// and advises against, are refused.
    ///
    /// # Errors
    /// [`CheckpointError`] says which line is wrong.
    pub fn decode(text: &str) -> Result<Self, CheckpointError> {
        let body = text.strip_suffix('\n').ok_or(CheckpointError::Lines)?;
        let mut lines = body.split('\n');
        let (Some(origin), Some(size), Some(root), None) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(CheckpointError::Lines);
        };
        if origin.is_empty() {
            return Err(CheckpointError::Lines);
        }
        let number: u64 = size.parse().map_err(|_| CheckpointError::Size)?;
        if number.to_string() != size {
            return Err(CheckpointError::Size);
        }
        let bytes = STANDARD.decode(root).map_err(|_| CheckpointError::Root)?;
        let root: [u8; HASH_BYTES] = bytes.try_into().map_err(|_| CheckpointError::Root)?;
        Ok(Self {
            origin: origin.to_owned(),
            size: number,
            root: NodeHash(root),
        })
    }
}

/// A checkpoint whose signature was checked or just made.
///
/// Only [`VerifierKey::open`] and [`SignerKey::sign`] make one:
///
/// ```compile_fail
/// fn forge(text: String, checkpoint: ancile_ledger::Checkpoint) {
///     let _ = ancile_ledger::SignedCheckpoint { text, checkpoint };
/// }
/// ```
/// ```
/// fn read(signed: &ancile_ledger::SignedCheckpoint) -> (&str, &ancile_ledger::Checkpoint) {
///     (signed.text(), signed.checkpoint())
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    text: String,
    checkpoint: Checkpoint,
}

impl SignedCheckpoint {
    /// The whole note, as it is stored.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it says.
    #[must_use]
    pub const fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }
}

impl SignerKey {
    /// Signs a checkpoint of the log that this key is named after.
    ///
    /// # Errors
    /// [`CheckpointError::Origin`] for another log's.
    pub fn sign(&self, checkpoint: Checkpoint) -> Result<SignedCheckpoint, CheckpointError> {
        if checkpoint.origin != self.verifier().name() {
            return Err(CheckpointError::Origin);
        }
        let text = self
            .sign_note(&checkpoint.encode())
            .map_err(CheckpointError::Note)?;
        Ok(SignedCheckpoint { text, checkpoint })
    }
}

impl VerifierKey {
    /// Checks a signed checkpoint of the log that this key is named after.
    ///
    /// # Errors
    /// [`CheckpointError`] says why it must not be believed.
    pub fn open(&self, note: &str) -> Result<SignedCheckpoint, CheckpointError> {
        let text = self.open_note(note).map_err(CheckpointError::Note)?;
        let checkpoint = Checkpoint::decode(text)?;
        if checkpoint.origin != self.name() {
            return Err(CheckpointError::Origin);
        }
        Ok(SignedCheckpoint {
            text: note.to_owned(),
            checkpoint,
        })
    }
}
