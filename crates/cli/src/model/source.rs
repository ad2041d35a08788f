// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the files of a model are taken from.

use super::{hub, wheel};
use crate::failure::{Exit, Failure};
use ancile_models::ModelFile;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A place that may have files of a model.
#[derive(Debug)]
pub enum Source {
    /// A directory that has them by name.
    Directory(PathBuf),
    /// A wheel, which is a zip file, that has them somewhere inside.
    Wheel(PathBuf),
    /// The publisher's hub, or a mirror of it.
    Hub(String),
}

/// What takes the bytes of a file as they come.
pub type Take<'a> = &'a mut dyn FnMut(&mut dyn Read) -> Result<(), Failure>;

impl Source {
    /// The source that a path names.
    pub fn at(path: &Path) -> Result<Self, Failure> {
        let said = std::fs::metadata(path).map_err(|fault| unreadable(path, &fault))?;
        if said.is_dir() {
            return Ok(Self::Directory(path.to_owned()));
        }
        if said.is_file() {
            return Ok(Self::Wheel(path.to_owned()));
        }
        let text = format!(
            "`{}` is neither a directory nor a file; name the directory that has the files of the \
             model, or a wheel",
            path.display()
        );
        Err(Failure::new(Exit::Usage, "model_source", text))
    }

    /// Gives the bytes of a file to `take`; `false` where this source does not have it.
    pub fn give(&self, file: &ModelFile, take: Take<'_>) -> Result<bool, Failure> {
        match self {
            Self::Directory(dir) => in_directory(&dir.join(file.name), file, take),
            Self::Wheel(path) => wheel::give(path, file, take),
            Self::Hub(base) => hub::give(base, file, take),
        }
    }

    /// How it is named to a person.
    pub fn name(&self) -> String {
        match self {
            Self::Directory(path) | Self::Wheel(path) => format!("`{}`", path.display()),
            Self::Hub(base) => format!("`{base}`"),
        }
    }
}

fn in_directory(path: &Path, file: &ModelFile, take: Take<'_>) -> Result<bool, Failure> {
    let mut opened = match File::open(path) {
        Ok(opened) => opened,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(fault) => return Err(unreadable(path, &fault)),
    };
    let length = opened
        .metadata()
        .map_err(|fault| unreadable(path, &fault))?
        .len();
    file.check_length(length)
        .map_err(|fault| wrong(&format!("`{}`", path.display()), &fault))?;
    take(&mut opened)?;
    Ok(true)
}

/// A file that cannot be read.
pub fn unreadable(path: &Path, fault: &dyn std::fmt::Display) -> Failure {
    let path = path.display();
    let text = format!("cannot read `{path}`: {fault}; mend that, or name another by --from");
    Failure::new(Exit::Usage, "model_source", text)
}

/// A file that is not the pinned one.
pub fn wrong(source: &str, fault: &dyn std::fmt::Display) -> Failure {
    let text = format!("{source}: {fault} from another source; nothing was kept");
    Failure::new(Exit::Refused, "model_wrong", text)
}
