// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a person or the system sends to a server that is to end.

use crate::failure::{Exit, Failure};
use tokio::runtime::Runtime;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown,
};

/// What ends a server, caught from the moment this is made: SIGINT and SIGTERM; on Windows Ctrl-C,
/// Ctrl-Break, the end of the console and that of the system.
pub struct Signals {
    runtime: Runtime,
    caught: Caught,
}

#[cfg(unix)]
struct Caught {
    interrupt: Signal,
    terminate: Signal,
}

#[cfg(windows)]
struct Caught {
    interrupt: CtrlC,
    stop: CtrlBreak,
    close: CtrlClose,
    shutdown: CtrlShutdown,
}

impl Signals {
    /// Catches them.
    pub fn catch() -> Result<Self, Failure> {
        let failed = |fault: std::io::Error| {
            Failure::new(
                Exit::Unavailable,
                "signals",
                format!(
                    "cannot wait for signals: {fault}; free memory or open files, and start again"
                ),
            )
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let caught = {
            let _within = runtime.enter();
            Caught::all().map_err(failed)?
        };
        Ok(Self { runtime, caught })
    }

    /// Waits for any.
    pub fn wait(mut self) {
        self.runtime.block_on(self.caught.any());
    }
}

#[cfg(unix)]
impl Caught {
    fn all() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
impl Caught {
    fn all() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: ctrl_c()?,
            stop: ctrl_break()?,
            close: ctrl_close()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.stop.recv() => {}
            _ = self.close.recv() => {}
            _ = self.shutdown.recv() => {}
        }
    }
}
