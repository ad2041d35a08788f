// SPDX-License-Identifier: MIT OR Apache-2.0
//! Embedders and language-model clients.
