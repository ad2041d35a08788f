// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections: accepted under limits, and ended in order.

use crate::limits::{HEAD_BYTES_MAX, Limits};
use crate::metrics::Metrics;
use crate::route::{Peer, router};
use ancile_engine::Engine;
use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinSet;

/// How long to wait after a failed accept, for instance when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Threads of a server that [`ServerHandle`] runs.
const THREADS: usize = 2;

/// Serves until `shutdown` resolves; then lets requests under way end within `limits.stop`. Where
/// commands are to find the server, its starter tells the address by [`Engine::set_address`]: one
/// that ends with the command that started it must not be found.
pub async fn serve(
    (engine, metrics): (Engine, Metrics),
    listener: TcpListener,
    limits: Limits,
    shutdown: impl Future<Output = ()> + Send,
) {
    let app = router(engine, limits, metrics);
    let places = Arc::new(Semaphore::new(limits.connections));
    let (stop, stopped) = watch::channel(());
    let mut open = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let next = next(&listener, &places);
        let (stream, peer, place) = tokio::select! {
            () = &mut shutdown => break,
            accepted = next => accepted,
        };
        let served = connection((stream, peer), place, app.clone(), limits, stopped.clone());
        open.spawn(served);
        while open.try_join_next().is_some() {}
    }
    drop(listener);
    drop(stop);
    let all = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.stop, all).await.is_err() {
        tracing::warn!("requests were cut off at the end");
    }
}

/// Waits for a place, then for a connection.
async fn next(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, Peer, Place) {
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, Peer(peer.ip()), place),
            Err(fault) => {
                tracing::warn!(%fault, "no connection could be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// One of the places for connections; none only if the semaphore is closed, which it never is.
type Place = Option<OwnedSemaphorePermit>;

/// Serves one connection to its end.
async fn connection(
    (stream, peer): (TcpStream, Peer),
    place: Place,
    app: Router,
    limits: Limits,
    mut stopped: watch::Receiver<()>,
) {
    if let Err(fault) = stream.set_nodelay(true) {
        tracing::debug!(%fault, "no delay could not be set");
    }
    let app = TowerToHyperService::new(app);
    let service = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        app.call(request)
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BYTES_MAX);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        // The sender sends nothing; it is dropped when the server stops.
        _ = stopped.changed() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(fault) = ended {
        tracing::debug!(%fault, "connection ended early");
    }
    drop(place);
}

/// A server on a thread of its own, for code that is not async.
#[derive(Debug)]
pub struct ServerHandle {
    address: SocketAddr,
    metrics: Metrics,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl ServerHandle {
    /// Binds `address` (port 0: any free one) and serves on it with the default limits.
    ///
    /// # Errors
    /// When the address cannot be bound, or no thread can be had.
    pub fn spawn(engine: Engine, address: SocketAddr) -> io::Result<Self> {
        Self::spawn_with(engine, address, Limits::default())
    }

    /// The same with limits of its own.
    ///
    /// # Errors
    /// When the address cannot be bound, or no thread can be had.
    pub fn spawn_with(engine: Engine, address: SocketAddr, limits: Limits) -> io::Result<Self> {
        Self::spawn_on(engine, std::net::TcpListener::bind(address)?, limits)
    }

    /// The same on an address that was bound before.
    ///
    /// # Errors
    /// When the listener cannot be used, or no thread can be had.
    pub fn spawn_on(
        engine: Engine,
        listener: std::net::TcpListener,
        limits: Limits,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, started) = mpsc::channel();
        let metrics = Metrics::new(engine.clone());
        let counted = metrics.clone();
        let run = move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(THREADS)
                .max_blocking_threads(limits.requests.saturating_add(1))
                .enable_all()
                .build()?;
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener)?;
                // Nobody waits for this when the starter has gone away.
                let _ = ready.send(());
                let end = async {
                    // Resolves also when the handle is dropped.
                    let _ = stopped.await;
                };
                serve((engine, counted), listener, limits, end).await;
                Ok(())
            })
        };
        let thread = std::thread::Builder::new()
            .name("ancile-server".to_owned())
            .spawn(run)?;
        let mut handle = Self {
            address,
            metrics,
            stop: Some(stop),
            thread: Some(thread),
        };
        match started.recv() {
            Ok(()) => Ok(handle),
            Err(_) => Err(handle.end().err().unwrap_or_else(gone)),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it counts.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Stops: takes no more connections, lets requests under way end, and waits for the thread.
    ///
    /// # Errors
    /// What ended the server early, if anything did.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        drop(self.stop.take());
        match self.thread.take() {
            Some(thread) => thread.join().unwrap_or_else(|_| Err(gone())),
            None => Ok(()),
        }
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        if let Err(fault) = self.end() {
            tracing::error!(%fault, "the server ended with a fault");
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("the server's thread ended unexpectedly")
}
