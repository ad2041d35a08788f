// SPDX-License-Identifier: MIT OR Apache-2.0
//! The gates, through the engine's handle.

mod act;
mod recall;
mod tamper;
mod world;
mod write;
