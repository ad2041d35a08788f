// SPDX-License-Identifier: MIT OR Apache-2.0
//! Embedders and language-model clients.
//!
//! Empty so far: no gate needs a model. The crate keeps heavy dependencies away from the others;
//! the screening stages it may add only ever flag or hold back content.
