// SPDX-License-Identifier: MIT OR Apache-2.0
//! Canonicaliser, screening stages 1 to 3 and typed values in text.
