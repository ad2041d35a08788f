// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Unix socket that a server listens on beside its address: its owner's alone, never put in
//! the place of anything but a socket that nobody answers at, and gone when the server ends.

use crate::failure::{Exit, Failure};
use ancile_server::Listeners;
use rustix::fs::Mode;
use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// What the mode of a new socket lacks: all but reading and writing by its owner.
const MASKED: Mode = Mode::XUSR.union(Mode::RWXG).union(Mode::RWXO);

/// The name of a socket; removed with this value, where it still is the one that was made.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    made: (u64, u64),
}

/// Listens on this socket too, where there is one. The name must end before the listener does:
/// a name without a listener may be taken by another server.
pub fn beside(
    tcp: TcpListener,
    path: Option<&Path>,
) -> Result<(Listeners, Option<SocketFile>), Failure> {
    let listeners = Listeners::from(tcp);
    let Some(path) = path else {
        return Ok((listeners, None));
    };
    let socket = take(path)?;
    let named = path.symlink_metadata().map_err(|e| failed(path, &e))?;
    let file = SocketFile {
        path: path.to_owned(),
        made: (named.dev(), named.ino()),
    };
    Ok((listeners.with_socket(socket), Some(file)))
}

fn take(path: &Path) -> Result<UnixListener, Failure> {
    match bind(path) {
        Err(fault) if fault.kind() == io::ErrorKind::AddrInUse => {
            let _alone = clear(path)?;
            bind(path)
        }
        bound => bound,
    }
    .map_err(|fault| failed(path, &fault))
}

/// Makes the socket. The mask is of the whole process, in which nothing else runs yet; so the
/// socket is its owner's from the moment it has a name.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let before = rustix::process::umask(MASKED);
    let bound = UnixListener::bind(path);
    rustix::process::umask(before);
    bound
}

/// Removes the socket of a server that was killed. One server at a time does so in a directory,
/// until what this returns is dropped: else two might, and the second remove what the first made.
fn clear(path: &Path) -> Result<File, Failure> {
    let refused = |what: &str| Failure::new(Exit::Unavailable, "listen", said(path, what));
    let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = File::open(parent.unwrap_or(Path::new("."))).map_err(|e| failed(path, &e))?;
    if dir.try_lock().is_err() {
        return Err(refused("its directory is locked by another process"));
    }
    match path.symlink_metadata() {
        Ok(found) if found.file_type().is_socket() => {}
        Ok(_) => return Err(refused("what is there is no socket, and stays")),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(dir),
        Err(fault) => return Err(failed(path, &fault)),
    }
    match knock(path) {
        Ok(()) => Err(refused("another process listens there")),
        Err(fault) if fault.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|e| failed(path, &e))?;
            Ok(dir)
        }
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(dir),
        Err(fault) => Err(refused(&format!(
            "whether another process listens there cannot be seen: {fault}"
        ))),
    }
}

/// Connects, and waits for nobody: where too many wait already, that is a fault at once.
fn knock(path: &Path) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime
        .block_on(tokio::net::UnixStream::connect(path))
        .map(drop)
}

fn failed(path: &Path, fault: &io::Error) -> Failure {
    Failure::new(Exit::Unavailable, "listen", said(path, &fault.to_string()))
}

fn said(path: &Path, fault: &str) -> String {
    let path = path.display();
    format!("cannot listen on the socket `{path}`: {fault}; choose another by --socket")
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = |found: fs::Metadata| (found.dev(), found.ino()) == self.made;
        let removed = match self.path.symlink_metadata().map(ours) {
            Ok(true) => fs::remove_file(&self.path),
            Ok(false) => return,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = removed {
            let path = self.path.display();
            tracing::warn!("the socket `{path}` could not be removed: {fault}");
        }
    }
}
