// SPDX-License-Identifier: MIT OR Apache-2.0
//! Looking at a home without opening its store.

use crate::home::{Home, read_public};
use crate::refusal::{Fault, Refusal, with_causes};
use ancile_store::LockHolder;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// A part of a home, as it lies there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomePart {
    /// Where it is due.
    pub path: PathBuf,
    /// What it is.
    pub kind: PartKind,
    /// Whether it is there.
    pub there: bool,
    /// Its permission bits; nothing where it is missing, or where the system has none: then who
    /// can read and change it was not checked.
    pub mode: Option<u32>,
}

/// What a part of a home is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// A directory.
    Directory,
    /// A file that holds no secret.
    File,
    /// A secret without which the store cannot be opened.
    Secret,
    /// The token of a local key: another can be made with the operator's.
    Token,
}

impl HomePart {
    /// Whether others on this machine are seen to be able to read it.
    #[must_use]
    pub fn others_read(&self) -> bool {
        self.mode.is_some_and(|mode| mode & 0o044 != 0)
    }

    /// Whether others on this machine are seen to be able to change it.
    #[must_use]
    pub fn others_write(&self) -> bool {
        self.mode.is_some_and(|mode| mode & 0o022 != 0)
    }
}

/// The parts of a home, those that are missing included.
#[must_use]
pub fn home_parts(home: &Path) -> Vec<HomePart> {
    let place = Home::new(home);
    let keys = place.keys();
    let witness = place.witness();
    let directory = witness.parent().unwrap_or(home);
    let mut parts = vec![
        part(place.data().to_owned(), PartKind::Directory),
        part(keys.clone(), PartKind::Directory),
        part(directory.to_owned(), PartKind::Directory),
        part(
            place.data().join(ancile_store::DATABASE_FILE),
            PartKind::File,
        ),
        part(witness.to_owned(), PartKind::File),
        part(place.public_key(), PartKind::File),
        part(keys.join("store.key"), PartKind::Secret),
        part(keys.join("value.key"), PartKind::Secret),
    ];
    for role in crate::home::LOCAL_ROLES {
        parts.push(part(keys.join(format!("{role}.key")), PartKind::Token));
    }
    parts
}

/// A file that holds a key, as it lies there.
#[must_use]
pub fn key_file(path: &Path) -> HomePart {
    part(path.to_owned(), PartKind::Token)
}

fn part(path: PathBuf, kind: PartKind) -> HomePart {
    let found = path.metadata().ok();
    HomePart {
        there: found.is_some(),
        mode: found.and_then(|found| mode(&found)),
        path,
        kind,
    }
}

#[cfg(unix)]
fn mode(found: &Metadata) -> Option<u32> {
    Some(std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o777)
}

#[cfg(not(unix))]
const fn mode(_: &Metadata) -> Option<u32> {
    None
}

/// The format of a store, and the one that this build reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreFormat {
    /// The store's.
    pub found: i32,
    /// This build's.
    pub supported: i32,
}

/// The format of the store of a home.
///
/// # Errors
/// [`Refusal`] when there is none, or it is no store.
pub fn store_format(home: &Path) -> Result<StoreFormat, Refusal> {
    let found = ancile_store::format_version(Home::new(home).data())
        .map_err(|e| unreadable("store_refused", &e))?;
    Ok(StoreFormat {
        found,
        supported: ancile_store::FORMAT_VERSION,
    })
}

/// How many groups the witness of a home has seen; its signature is checked.
///
/// # Errors
/// [`Refusal`] when it is missing, cannot be read, or another key signed it.
pub fn witnessed_groups(home: &Path) -> Result<u64, Refusal> {
    witnessed_groups_of(&Home::new(home))
}

/// The same of a home that is known.
pub(crate) fn witnessed_groups_of(place: &Home) -> Result<u64, Refusal> {
    let key = read_public(&place.public_key())?;
    let text = ancile_ledger::Witness::read(place.witness())
        .map_err(|e| unreadable("witness_unreadable", &e))?;
    let text = text.ok_or_else(|| {
        let path = place.witness().display();
        let text = format!(
            "witness `{path}` is missing; bring it back, or accept the store as it stands by \
             `ancile audit witness-epoch`"
        );
        Refusal::new(Fault::Unavailable, "witness_missing", text)
    })?;
    let signed = key
        .open(&text)
        .map_err(|e| unreadable("witness_unreadable", &e))?;
    Ok(signed.checkpoint().head().size)
}

/// Who holds the store of a home, if anybody does.
///
/// # Errors
/// [`Refusal`] when its lock cannot be looked at.
pub fn lock_holder(home: &Path) -> Result<Option<LockHolder>, Refusal> {
    let data = Home::new(home).data().to_owned();
    ancile_store::lock_holder(&data).map_err(|fault| {
        let path = data.display();
        let text = format!("cannot look at the lock in `{path}`: {fault}; mend its permissions");
        Refusal::new(Fault::Unavailable, "lock_unreadable", text)
    })
}

fn unreadable(code: &'static str, fault: &dyn std::error::Error) -> Refusal {
    Refusal::new(Fault::Unavailable, code, with_causes(fault))
}
