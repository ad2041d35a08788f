// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections: accepted under limits, and ended in order.

use crate::limits::{HEAD_BYTES_MAX, Limits};
use crate::listen::{Listeners, Open, Stream};
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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinSet;

/// How long to wait after a failed accept, for instance when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Threads of a server that [`ServerHandle`] runs.
const THREADS: usize = 2;

/// Serves until `shutdown` resolves; then lets requests under way end within `limits.stop`. Where
/// commands are to find the server, its starter tells the address by [`Engine::set_address`]: one
/// that ends with the command that started it must not be found.
///
/// # Errors
/// When the listeners cannot be used.
pub async fn serve(
    (engine, metrics): (Engine, Metrics),
    listeners: Listeners,
    limits: Limits,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    serve_on((engine, metrics), Open::new(listeners)?, limits, shutdown).await;
    Ok(())
}

async fn serve_on(
    (engine, metrics): (Engine, Metrics),
    listening: Open,
    limits: Limits,
    shutdown: impl Future<Output = ()> + Send,
) {
    let app = router(engine, limits, metrics);
    let places = Arc::new(Semaphore::new(limits.connections));
    let (stop, stopped) = watch::channel(());
    let mut open = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let next = next(&listening, &places);
        let (stream, peer, place) = tokio::select! {
            () = &mut shutdown => break,
            accepted = next => accepted,
        };
        let (app, stopped) = (app.clone(), stopped.clone());
        match stream {
            Stream::Tcp(stream) => {
                open.spawn(connection((stream, peer), place, app, limits, stopped))
            }
            #[cfg(unix)]
            Stream::Socket(stream) => {
                open.spawn(connection((stream, peer), place, app, limits, stopped))
            }
        };
        while open.try_join_next().is_some() {}
    }
    drop(listening);
    drop(stop);
    let all = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.stop, all).await.is_err() {
        tracing::warn!("requests were cut off at the end");
    }
}

/// Waits for a place, then for a connection.
async fn next(listening: &Open, places: &Arc<Semaphore>) -> (Stream, Peer, Place) {
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listening.accept().await {
            Ok((stream, peer)) => return (stream, peer, place),
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
async fn connection<S: AsyncRead + AsyncWrite + Unpin>(
    (stream, peer): (S, Peer),
    place: Place,
    app: Router,
    limits: Limits,
    mut stopped: watch::Receiver<()>,
) {
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
        let listener = std::net::TcpListener::bind(address)?;
        Self::spawn_on(engine, listener.into(), limits)
    }

    /// The same on what was bound before.
    ///
    /// # Errors
    /// When a listener cannot be used, or no thread can be had.
    pub fn spawn_on(engine: Engine, listeners: Listeners, limits: Limits) -> io::Result<Self> {
        let address = listeners.address()?;
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
                let listening = Open::new(listeners)?;
                // Nobody waits for this when the starter has gone away.
                let _ = ready.send(());
                let end = async {
                    // Resolves also when the handle is dropped.
                    let _ = stopped.await;
                };
                serve_on((engine, counted), listening, limits, end).await;
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
