// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector scan kernels.
//!
//! Empty so far: recall is lexical and its index lives in the store. The crate keeps the place of
//! the one scan over vectors, apart from all others, so that if it ever needs `unsafe` no other
//! crate has to allow it.
