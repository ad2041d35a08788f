// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on which a server listens on no Unix socket, and says so.

use crate::failure::{Exit, Failure};
use ancile_server::Listeners;
use std::net::TcpListener;
use std::path::Path;

/// The name of a socket; there is none here.
#[derive(Debug)]
pub struct SocketFile;

/// Listens on the address alone, and refuses a socket: who may connect to one is for its mode to
/// say, and here it would have none.
pub fn beside(
    tcp: TcpListener,
    path: Option<&Path>,
) -> Result<(Listeners, Option<SocketFile>), Failure> {
    let Some(path) = path else {
        return Ok((Listeners::from(tcp), None));
    };
    let text = format!(
        "cannot listen on the socket `{}`: there are Unix sockets on Unix only; leave out --socket \
         and `server.socket`, and use the address",
        path.display()
    );
    Err(Failure::new(Exit::Usage, "listen", text))
}
