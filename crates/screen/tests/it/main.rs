// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integration tests of screening.

mod grounding;
mod property;
