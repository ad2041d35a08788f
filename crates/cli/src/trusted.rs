// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a file that runs in our name is in nobody else's hands.

use std::path::{Path, PathBuf};

/// What is wrong with a path, and the next step.
#[derive(Debug, PartialEq, Eq)]
pub struct Untrusted {
    /// The file, or a directory or link on the way to it.
    pub path: PathBuf,
    /// What it is, and what to do.
    pub what: String,
}

impl Untrusted {
    fn at(path: &Path, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            what: what.into(),
        }
    }

    fn unseen(path: &Path, fault: &std::io::Error) -> Self {
        Self::at(
            path,
            format!("cannot be looked at: {fault}; put it there, or mend its mode"),
        )
    }
}

/// Whether a file or directory is there, and only root and the user that we run as can change it
/// or put another in its place: neither it, nor a directory above it, nor a link on the way.
#[cfg(unix)]
pub fn check(path: &Path) -> Result<(), Untrusted> {
    use std::path::Component;

    let us = rustix::process::geteuid().as_raw();
    std::fs::metadata(path).map_err(|fault| Untrusted::unseen(path, &fault))?;
    let mut at = PathBuf::from("/");
    // What is still to be gone, the next step last.
    let mut rest: Vec<PathBuf> = Vec::new();
    let go = |rest: &mut Vec<PathBuf>, path: &Path| {
        let steps = path.components().rev();
        rest.extend(steps.map(|step| PathBuf::from(step.as_os_str())));
    };
    go(&mut rest, path);
    let mut links = 0;
    while let Some(step) = rest.pop() {
        match step.components().next() {
            Some(Component::ParentDir) => {
                at.pop();
                continue;
            }
            Some(Component::RootDir) => at = PathBuf::from("/"),
            _ => at.push(&step),
        }
        let found = std::fs::symlink_metadata(&at);
        let found = found.map_err(|fault| Untrusted::unseen(&at, &fault))?;
        if let Some(what) = others(&found.into(), us) {
            return Err(Untrusted { path: at, what });
        }
        if !at.is_symlink() {
            continue;
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(Untrusted::at(path, "is a ring of links; name the file"));
        }
        let to = std::fs::read_link(&at).map_err(|fault| Untrusted::unseen(&at, &fault))?;
        at.pop();
        go(&mut rest, &to);
    }
    Ok(())
}

/// The same on systems that have no modes: whether it is there.
#[cfg(not(unix))]
pub fn check(path: &Path) -> Result<(), Untrusted> {
    let found = std::fs::metadata(path);
    found.map_err(|fault| Untrusted::unseen(path, &fault))?;
    Ok(())
}

/// As much of what a system says of a path as counts here.
#[cfg(unix)]
struct Said {
    link: bool,
    directory: bool,
    owner: u32,
    mode: u32,
}

#[cfg(unix)]
impl From<std::fs::Metadata> for Said {
    fn from(found: std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            link: found.is_symlink(),
            directory: found.is_dir(),
            owner: found.uid(),
            mode: found.mode() & 0o7777,
        }
    }
}

/// How others than root and this user can change what lies at a path. The mode of a link says
/// nothing, and in a directory with the sticky bit nobody moves what is another's.
#[cfg(unix)]
fn others(said: &Said, us: u32) -> Option<String> {
    let Said { owner, mode, .. } = said;
    if ![0, us].contains(owner) {
        return Some(format!(
            "belongs to user {owner}, who can change it; `chown` it to root or to the user that \
             Ancile runs as"
        ));
    }
    let sticky = said.directory && mode & 0o1000 != 0;
    let open = !said.link && !sticky && mode & 0o022 != 0;
    open.then(|| format!("has mode {mode:04o}: others can change it; `chmod go-w` it"))
}

/// Most links on the way to a file; as many as Linux follows.
#[cfg(unix)]
const LINKS_MAX: u32 = 40;

#[cfg(test)]
#[cfg(unix)]
mod tests;
