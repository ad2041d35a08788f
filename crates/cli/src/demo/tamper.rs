// SPDX-License-Identifier: MIT OR Apache-2.0
//! An edit behind the store's back: bytes of the database file, with no server running.

use crate::failure::{Exit, Failure};
use std::path::Path;

/// The first bytes of a database file (SQLite file format, section 1.3).
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// Puts one text in the place of another of the same length, wherever it stands in the databases
/// of a data directory. It must stand somewhere.
pub fn replace(data: &Path, old: &str, new: &str) -> Result<(), Failure> {
    let file = |fault: std::io::Error| Failure::file(data, "edit", &fault);
    let mut edits = 0_usize;
    for entry in std::fs::read_dir(data).map_err(file)? {
        let path = entry.map_err(file)?.path();
        if !path.is_file() {
            continue;
        }
        let mut bytes = std::fs::read(&path).map_err(file)?;
        if !bytes.starts_with(SQLITE_MAGIC) {
            continue;
        }
        let found = edit(&mut bytes, old.as_bytes(), new.as_bytes());
        if found > 0 {
            std::fs::write(&path, &bytes).map_err(file)?;
        }
        edits = edits.saturating_add(found);
    }
    if edits == 0 {
        let text = format!("`{old}` stands in no database under `{}`", data.display());
        return Err(Failure::new(Exit::Unavailable, "demo", text));
    }
    Ok(())
}

/// Replaces in place; how often.
fn edit(bytes: &mut [u8], old: &[u8], new: &[u8]) -> usize {
    if old.is_empty() || old.len() != new.len() {
        return 0;
    }
    let mut found = 0_usize;
    let mut at = 0_usize;
    while let Some(window) = at
        .checked_add(old.len())
        .and_then(|end| bytes.get_mut(at..end))
    {
        if window == old {
            window.copy_from_slice(new);
            found = found.saturating_add(1);
        }
        at = at.saturating_add(1);
    }
    found
}
