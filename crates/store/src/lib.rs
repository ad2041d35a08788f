// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries, records and logs in SQLite; the only user of a database.

pub mod bm25;
pub mod tokenize;
