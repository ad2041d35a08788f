// SPDX-License-Identifier: MIT OR Apache-2.0
//! Append-only Merkle logs in C2SP tiles, proofs, signed checkpoints and the witness.
//!
//! Each tenant has its own log. A commit group appends leaves to tenant logs and then one
//! [`GroupHead`] to the *heads log*; the checkpoint over the heads log is signed, stored with the
//! group, and then copied to the [`Witness`]. The byte formats are in `docs/formats/ledger.md`.
//!
//! This crate knows bytes, not memories. It has no clock, network or randomness, and the only
//! files it touches are witness files and exported directories.

#![deny(missing_docs)]
#![deny(clippy::arithmetic_side_effects)]

mod checkpoint;
mod disk;
mod export;
mod frontier;
mod hash;
mod head;
mod note;
mod proof;
mod source;
mod tile;
mod tiling;
mod tree;
pub mod verify;
pub mod witness;

pub use checkpoint::{Checkpoint, CheckpointError, SignedCheckpoint};
pub use disk::{sync_directory, sync_file};
pub use export::{ExportError, Exported, ExportedLogs, export};
pub use hash::{
    ControlChain, HASH_BYTES, LEAF_BYTES_MAX, LeafKind, NodeHash, empty_root, leaf_hash, node_hash,
};
pub use head::{
    GROUP_HEAD_BYTES, GroupHead, HEAD_VERSION, HeadError, TENANT_BYTES_MAX, TenantHead, heads_root,
};
pub use note::{
    KEY_NAME_BYTES_MAX, KEY_TEXT_BYTES_MAX, KeyError, NOTE_BYTES_MAX, NOTE_SIGNATURES_MAX,
    NoteError, SignerKey, VerifierKey,
};
pub use proof::{ProofError, TreeHead, verify_consistency, verify_inclusion};
pub use source::{LogName, LogSource, SourceError, TilesKept};
pub use tile::{
    BUNDLE_BYTES_MAX, TILE_HEIGHT, TILE_WIDTH, TileError, decode_bundle, decode_tile,
    encode_bundle, encode_tile, entries_path, tile_path,
};
pub use tree::{Tree, TreeError};
pub use witness::{Witness, WitnessError, WitnessRefusal, WitnessState};
