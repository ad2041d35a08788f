// SPDX-License-Identifier: MIT OR Apache-2.0
//! Append-only Merkle logs in C2SP tiles, proofs, signed checkpoints and the witness.
