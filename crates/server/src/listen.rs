// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is listened on: an address, and a Unix socket beside it.

use crate::route::Peer;
use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::net::{IpAddr, Ipv4Addr};
#[cfg(unix)]
use std::os::unix::net as local;
use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};

/// What a server listens on: an address, and on Unix a socket in the file system besides. They
/// share the limits.
#[derive(Debug)]
pub struct Listeners {
    tcp: std::net::TcpListener,
    #[cfg(unix)]
    socket: Option<local::UnixListener>,
}

impl Listeners {
    /// Listens on this socket too. Who may connect is for its mode to say; a caller needs a key
    /// as anywhere, and counts as one on this machine.
    #[cfg(unix)]
    #[must_use]
    pub fn with_socket(mut self, socket: local::UnixListener) -> Self {
        self.socket = Some(socket);
        self
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

impl From<std::net::TcpListener> for Listeners {
    fn from(tcp: std::net::TcpListener) -> Self {
        Self {
            tcp,
            #[cfg(unix)]
            socket: None,
        }
    }
}

/// The same within a runtime.
pub(crate) struct Open {
    tcp: TcpListener,
    #[cfg(unix)]
    socket: Option<UnixListener>,
}

/// An accepted connection.
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Socket(UnixStream),
}

impl Open {
    /// Takes them over; within a runtime only.
    pub(crate) fn new(listeners: Listeners) -> io::Result<Self> {
        listeners.tcp.set_nonblocking(true)?;
        #[cfg(unix)]
        let socket = match listeners.socket {
            Some(socket) => {
                socket.set_nonblocking(true)?;
                Some(UnixListener::from_std(socket)?)
            }
            None => None,
        };
        Ok(Self {
            tcp: TcpListener::from_std(listeners.tcp)?,
            #[cfg(unix)]
            socket,
        })
    }

    /// Waits for a connection to either; it may be dropped while it waits.
    #[cfg(unix)]
    pub(crate) async fn accept(&self) -> io::Result<(Stream, Peer)> {
        let Some(socket) = &self.socket else {
            return self.accept_tcp().await;
        };
        tokio::select! {
            accepted = self.accept_tcp() => accepted,
            accepted = socket.accept() => {
                let (stream, _) = accepted?;
                Ok((Stream::Socket(stream), Peer(IpAddr::V4(Ipv4Addr::LOCALHOST))))
            }
        }
    }

    /// Waits for a connection; it may be dropped while it waits.
    #[cfg(not(unix))]
    pub(crate) async fn accept(&self) -> io::Result<(Stream, Peer)> {
        self.accept_tcp().await
    }

    async fn accept_tcp(&self) -> io::Result<(Stream, Peer)> {
        let (stream, peer) = self.tcp.accept().await?;
        if let Err(fault) = stream.set_nodelay(true) {
            tracing::debug!(%fault, "no delay could not be set");
        }
        Ok((Stream::Tcp(stream), Peer(peer.ip())))
    }
}
