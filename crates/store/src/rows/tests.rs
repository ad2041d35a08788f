// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the statements are run.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::{leaf_query, with_leaf};
use crate::schema::create_tables;
use rusqlite::{Connection, StatementStatus, params};

#[test]
fn a_leaf_is_read_by_a_statement_that_is_prepared_once() {
    let conn = Connection::open_in_memory().unwrap();
    create_tables(&conn).unwrap();
    for seq in 0..9 {
        let leaf = "INSERT INTO leaf(tenant, seq, body) VALUES (?1, ?2, x'01')";
        conn.execute(leaf, params!["t", seq]).unwrap();
    }
    for seq in 0..9 {
        let found = with_leaf(&conn, ("t", seq), |row| row.map(|row| row.seq)).unwrap();
        assert_eq!(found, Some(seq));
    }
    let statement = conn.prepare_cached(&leaf_query()).unwrap();
    assert!(
        statement.get_status(StatementStatus::Run) >= 9,
        "it is the one that ran"
    );
    assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
}
