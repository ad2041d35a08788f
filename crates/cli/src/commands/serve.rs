// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server in the foreground.

use crate::config::{Flag, Settings};
use crate::failure::{Exit, Failure};
use crate::log::Log;
use crate::place::{self, KeyRole, Place};
use crate::print;
use crate::signals::Signals;
use crate::socket;
use ancile_engine::{Engine, Gates, PartKind};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

/// `ancile serve`
#[derive(Args)]
pub struct Serve {
    /// The address to listen on, 127.0.0.1:7878 where nothing is set; port 0 takes a free one
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<String>,
    /// A Unix socket to listen on too, of mode 0600
    #[arg(long, value_name = "PATH")]
    socket: Option<String>,
    /// Whether decisions bind, or are only logged
    #[arg(long, value_enum)]
    gates: Option<Mode>,
}

/// Whether decisions bind.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// They bind
    Enforce,
    /// They are made and logged, and none binds
    LogOnly,
}

impl Serve {
    /// The settings of these flags.
    fn flags(&self) -> impl Iterator<Item = Flag> {
        let flag = |flag: &str, key: &str, value: &str| Flag {
            flag: flag.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let listen = self.listen.as_deref();
        let listen = listen.map(|text| flag("--listen", "server.listen", text));
        let socket = self.socket.as_deref();
        let socket = socket.map(|text| flag("--socket", "server.socket", text));
        let gates = self.gates.map(|mode| {
            let word = match mode {
                Mode::Enforce => "enforce",
                Mode::LogOnly => "log_only",
            };
            flag("--gates", "gates.mode", word)
        });
        listen.into_iter().chain(socket).chain(gates)
    }
}

/// Runs `ancile serve` until a signal ends it.
pub fn run(place: &Place, args: &Serve, json: bool) -> Result<Exit, Failure> {
    let mut sources = place.sources.clone();
    sources.flags.extend(args.flags());
    let settings = sources.load()?.settings;
    let log = Log::start(&settings)?;
    let signals = Signals::catch()?;
    // Before a store is made: a run that cannot serve leaves nothing behind.
    let listener = listen(place, settings.listen)?;
    let (listeners, socket) = socket::beside(listener, settings.socket.as_deref())?;
    let config = place::engine_config(&place.home, &settings)?;
    let first = !Engine::is_initialised(&place.home);
    if first {
        Engine::init(&place.home)?;
    }
    warn_of_keys(&place.home);
    let (engine, report) = place::open(&config)?;
    for damage in &report.damage {
        tracing::error!(damage, "damaged; ancile audit verify says more");
    }
    if report.witness_behind {
        tracing::warn!("the witness was one group behind; it has been brought up to date");
    }
    engine.counts().set_slow_commit(settings.slow_commit);
    let server = place::spawn(engine.clone(), listeners, settings.limits)?;
    engine.set_address(&server.address().to_string())?;
    #[cfg(feature = "otlp")]
    let exported = crate::otlp::Exported::start(&settings, server.metrics().clone())?;
    let (address, screening) = (server.address(), settings.screening);
    tracing::info!(%address, gates = ?settings.gates, screening, "serving");
    let welcome = Welcome {
        home: &place.home,
        address: server.address(),
        first,
        settings: &settings,
    };
    if json {
        print::out(&print::one_line_json(&welcome.json()));
    } else {
        print::out(welcome.text().trim_end());
    }
    signals.wait();
    tracing::info!("stopping");
    drop(socket);
    let ended = server.stop().map_err(|fault| {
        Failure::new(
            Exit::Unavailable,
            "server",
            format!("the server ended with a fault: {fault}"),
        )
    });
    #[cfg(feature = "otlp")]
    drop(exported);
    engine.close();
    log.end();
    ended.map(|()| Exit::Done)
}

/// Logs which local keys are missing, and whose modes let others in.
fn warn_of_keys(home: &Path) {
    for key in ancile_engine::home_parts(home) {
        if key.kind == PartKind::Token && !key.there {
            let path = key.path.display();
            tracing::warn!("local key `{path}` is missing; make one by `ancile key create`");
        }
    }
    for loose in place::loose_keys(home, None) {
        tracing::warn!("{loose}");
    }
}

/// Takes the address. Where it is taken by the server of this very home, that is said.
fn listen(place: &Place, address: SocketAddr) -> Result<TcpListener, Failure> {
    place::listen(address).map_err(|failure| match place::running(&place.home) {
        Some(server) if server == address => {
            let text = format!(
                "`{}` is served at {server} already; speak to that server, or stop it",
                place.home.display()
            );
            Failure::new(Exit::Unavailable, "served_already", text)
        }
        _ => failure,
    })
}

/// What a server says when it is up.
struct Welcome<'a> {
    home: &'a Path,
    address: SocketAddr,
    first: bool,
    settings: &'a Settings,
}

impl Welcome<'_> {
    fn key(&self, role: KeyRole) -> PathBuf {
        place::key_path(self.home, role)
    }

    /// A first call that works as it stands.
    fn curl(&self) -> String {
        let key = print::word(&self.key(KeyRole::User).display().to_string());
        format!(
            "curl -sS -H \"Authorization: Bearer $(cat {key})\" \
             -H 'Content-Type: application/json' \
             -d '{{\"kind\":\"memory\",\"namespace\":\"main\",\
             \"text\":\"The dentist is on Tuesday\"}}' \
             http://{}/v1/entries",
            self.address
        )
    }

    /// The demo as a command that works where this one did: by the name it was called.
    fn demo(&self) -> String {
        let called = std::env::args_os().next().unwrap_or_default();
        let called = match called.to_string_lossy().into_owned() {
            none if none.is_empty() => "ancile".to_owned(),
            some => some,
        };
        format!("{} demo", print::word(&print::line(&called)))
    }

    fn json(&self) -> serde_json::Value {
        let key = |role| self.key(role).display().to_string();
        json!({
            "address": self.address.to_string(), "socket": self.settings.socket,
            "first_run": self.first,
            "home": self.home.display().to_string(),
            "keys": {
                "operator": key(KeyRole::Operator), "user": key(KeyRole::User),
                "host": key(KeyRole::Host), "agent": key(KeyRole::Agent),
            },
            "curl": self.curl(), "demo": self.demo(),
        })
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let shown = |path: &Path| print::line(&path.display().to_string());
        let home = shown(self.home);
        if self.first {
            _ = writeln!(out, "made a store in {home}: data, keys, witness");
        } else {
            _ = writeln!(out, "opened the store in {home}");
        }
        for (role, name, what) in [
            (
                KeyRole::Operator,
                "operator",
                "keys, tenants, manifest, source grades",
            ),
            (
                KeyRole::User,
                "user",
                "alice: her entries, mandates and approvals",
            ),
            (
                KeyRole::Host,
                "host",
                "the program around the model: sessions and steps",
            ),
            (
                KeyRole::Agent,
                "agent",
                "assistant: what the model may do by itself",
            ),
        ] {
            _ = writeln!(out, "  {name:<8}  {}  ({what})", shown(&self.key(role)));
        }
        if self.settings.gates == Gates::LogOnly {
            _ = writeln!(out, "the gates only log: no decision binds");
        }
        if !self.settings.screening {
            _ = writeln!(out, "screening is off: no content is shelved");
        }
        _ = writeln!(out, "listening on http://{}", self.address);
        if let Some(socket) = &self.settings.socket {
            _ = writeln!(out, "and on the socket {}", shown(socket));
        }
        _ = writeln!(out, "\na first call:\n  {}", self.curl());
        _ = writeln!(
            out,
            "\nan attack that comes back, and is stopped:\n  {}",
            self.demo()
        );
        out
    }
}
