// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/configuration.md`, from the table of settings.

use super::{SETTINGS, Setting};
use std::fmt::Write as _;

/// What stands above the table.
const HEAD: &str = include_str!("reference.txt");

/// The whole document.
pub fn document() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("| key | takes | default | what | variable |\n|---|---|---|---|---|\n");
    for row in SETTINGS {
        let Setting {
            key,
            kind,
            unit,
            default,
            what,
            ..
        } = row;
        let what = what.trim_end_matches('.');
        let takes = kind.due(unit);
        let name = kind.name();
        let env = row.env();
        _ = writeln!(
            out,
            "| `{key}` | {name}: {takes} | `{default}` | {what} | `{env}` |"
        );
    }
    out
}
