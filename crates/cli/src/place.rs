// SPDX-License-Identifier: MIT OR Apache-2.0
//! The home of a store: its keys, its lock, and the server that holds it.

use crate::client::Client;
use crate::config::{Settings, Sources};
use crate::failure::{Exit, Failure};
use crate::model;
use crate::print;
use ancile_engine::{Engine, EngineConfig, HomePart, Model, OpenReport, PartKind};
use ancile_server::{Limits, Listeners, ServerHandle};
use clap::ValueEnum;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a server has to take a connection before it counts as gone.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait for a store that another command holds; each holds it for its own length.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);
/// The first pause of that wait; each is twice the one before, up to [`LOCK_PAUSE_MAX`].
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause of that wait.
const LOCK_PAUSE_MAX: Duration = Duration::from_millis(160);
/// The engine's code for a store that another process holds.
const STORE_LOCKED: &str = "store_locked";

/// Whose local key to speak with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeyRole {
    /// Keys, tenants, namespaces, manifest, source grades
    Operator,
    /// Own entries, mandates, approvals, quarantine
    User,
    /// Sessions, steps and tasks
    Host,
    /// Writes and reads of an agent
    Agent,
}

impl KeyRole {
    const fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::User => "user",
            Self::Host => "host",
            Self::Agent => "agent",
        }
    }
}

/// Where a command works, and as whom.
pub struct Place {
    /// The home.
    pub home: PathBuf,
    /// Where its settings come from.
    pub sources: Sources,
    role: Option<KeyRole>,
    key_file: Option<PathBuf>,
}

/// A way to the server: one that runs, or one of our own that ends with this value.
pub struct Connection {
    client: Client,
    own: Option<(ServerHandle, Engine)>,
}

impl Place {
    /// The place that the flags name.
    pub const fn new(
        home: PathBuf,
        role: Option<KeyRole>,
        key_file: Option<PathBuf>,
        sources: Sources,
    ) -> Self {
        Self {
            home,
            sources,
            role,
            key_file,
        }
    }

    /// Connects with the key the flags name, else with that of the role the command needs.
    pub fn connect(&self, needs: KeyRole) -> Result<Connection, Failure> {
        self.must_exist()?;
        for warning in loose_keys(&self.home, self.key_file.as_deref()) {
            print::err(&format!("ancile: warning: {}", print::line(&warning)));
        }
        let token = match (&self.key_file, self.role) {
            (Some(file), None) => read_key(file, None),
            (_, role) => {
                let role = role.unwrap_or(needs);
                read_key(&key_path(&self.home, role), Some(role))
            }
        }?;
        self.reach(Some(token))
    }

    /// Connects without a key to a server that runs, for what anybody may ask of it.
    pub fn connect_openly(&self) -> Result<Connection, Failure> {
        self.must_exist()?;
        let address = running(&self.home).ok_or_else(|| {
            let text = format!(
                "no server runs for `{}`; start one by `ancile serve`, or look at the store by \
                 `ancile audit verify`",
                self.home.display()
            );
            Failure::new(Exit::Unavailable, "no_server", text)
        })?;
        Ok(Connection::to(address, None))
    }

    fn must_exist(&self) -> Result<(), Failure> {
        if Engine::is_initialised(&self.home) {
            return Ok(());
        }
        if self.home.join("data").exists() {
            let text = format!(
                "`{}` holds a store without a local key, which a first run writes last; restore \
                 its keys, or remove it and start again",
                self.home.display()
            );
            return Err(Failure::new(
                Exit::Unavailable,
                "first_run_unfinished",
                text,
            ));
        }
        let text = format!(
            "there is no store in `{}`; run `ancile serve` once to make it, or name another by \
             --home",
            self.home.display()
        );
        Err(Failure::new(Exit::Unavailable, "no_store", text))
    }

    fn reach(&self, token: Option<String>) -> Result<Connection, Failure> {
        if let Some(address) = running(&self.home) {
            return Ok(Connection::to(address, token));
        }
        let settings = self.sources.load()?.settings;
        let config = engine_config(&self.home, &settings)?;
        match Connection::own(config, settings.limits, token.clone()) {
            // A server took the store in the meantime.
            Err(failure) if failure.code == STORE_LOCKED => running(&self.home)
                .map(|address| Connection::to(address, token))
                .ok_or(failure),
            other => other,
        }
    }
}

impl Connection {
    fn to(address: SocketAddr, token: Option<String>) -> Self {
        Self {
            client: Client::new(address, token),
            own: None,
        }
    }

    /// Opens the store and serves it on a free port of this machine, which nobody is told: it is
    /// gone when the command ends.
    pub fn own(
        config: EngineConfig,
        limits: Limits,
        token: Option<String>,
    ) -> Result<Self, Failure> {
        let (engine, _) = open(&config)?;
        let listener = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let handle = spawn(engine.clone(), listener.into(), limits)?;
        let client = Client::new(handle.address(), token);
        Ok(Self {
            client,
            own: Some((handle, engine)),
        })
    }

    /// Whether the server is our own: what it holds in memory alone ends with this command.
    pub const fn ends_here(&self) -> bool {
        self.own.is_some()
    }

    /// Ends it; a server of our own stops and closes its store.
    pub fn end(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        if let Some((handle, engine)) = self.own.take() {
            if let Err(fault) = handle.stop() {
                print::err(&format!("the server ended with a fault: {fault}"));
            }
            engine.close();
        }
    }
}

impl Deref for Connection {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What is wrong with the modes of key files: those of the home, and one that a flag names.
pub fn loose_keys(home: &Path, key_file: Option<&Path>) -> Vec<String> {
    let mut keys = ancile_engine::home_parts(home);
    keys.retain(|part| matches!(part.kind, PartKind::Secret | PartKind::Token));
    keys.extend(key_file.map(ancile_engine::key_file));
    keys.iter().filter_map(loose).collect()
}

/// What is wrong with the mode of a key file.
pub fn loose(key: &HomePart) -> Option<String> {
    let can = match (key.others_read(), key.others_write()) {
        (false, false) => return None,
        (true, false) => "read",
        (false, true) => "change",
        (true, true) => "read and change",
    };
    let (path, mode) = (key.path.display(), key.mode.unwrap_or_default());
    Some(format!(
        "key file `{path}` has mode {mode:04o}: others on this machine can {can} it; make it its \
         owner's alone by `chmod 600`, and make another key if others may have seen it"
    ))
}

/// How a store is opened by these settings. A model that was fetched is loaded here.
///
/// # Errors
/// The judge is no program or one that others can change; the build has no such model, or its files
/// are missing or not the pinned ones.
pub fn engine_config(home: &Path, settings: &Settings) -> Result<EngineConfig, Failure> {
    let judging = settings.judge.config()?;
    let mut index = settings.index.clone();
    if let Some(fetched) = settings.fetched {
        index.model = Model::Other(model::embedder(home, fetched, settings)?);
    }
    Ok(EngineConfig {
        home: home.to_owned(),
        gates: settings.gates,
        screening: settings.screening,
        screen_policy: settings.screen_policy.clone(),
        judging,
        index,
    })
}

/// Opens a store. Where another process holds it and no server runs, that is a command that ends
/// soon: waits for it, up to [`LOCK_WAIT_MAX`].
pub fn open(config: &EngineConfig) -> Result<(Engine, OpenReport), Failure> {
    open_within(config, LOCK_WAIT_MAX)
}

/// The same with pauses of at most `limit` together.
fn open_within(config: &EngineConfig, limit: Duration) -> Result<(Engine, OpenReport), Failure> {
    let mut waited = Duration::ZERO;
    let mut pause = LOCK_PAUSE;
    loop {
        let refusal = match Engine::open(config.clone()) {
            Ok(opened) => return Ok(opened),
            Err(refusal) => refusal,
        };
        let locked = refusal.code == STORE_LOCKED && running(&config.home).is_none();
        let mut failure = Failure::from(refusal);
        if !locked {
            return Err(failure);
        }
        if waited >= limit {
            failure.text += &format!("; waited {} s for it", waited.as_secs());
            return Err(failure);
        }
        std::thread::sleep(pause);
        waited = waited.saturating_add(pause);
        pause = pause.saturating_mul(2).min(LOCK_PAUSE_MAX);
    }
}

/// Takes an address to listen on.
pub fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|fault| cannot_listen(&address.to_string(), &fault))
}

/// Starts a server on an address that was taken.
pub fn spawn(
    engine: Engine,
    listeners: Listeners,
    limits: Limits,
) -> Result<ServerHandle, Failure> {
    ServerHandle::spawn_on(engine, listeners, limits)
        .map_err(|fault| cannot_listen("the address", &fault))
}

fn cannot_listen(address: &str, fault: &std::io::Error) -> Failure {
    let text = format!("cannot listen on {address}: {fault}; choose another by --listen");
    Failure::new(Exit::Unavailable, "listen", text)
}

/// The path of a local key.
pub fn key_path(home: &Path, role: KeyRole) -> PathBuf {
    home.join("keys").join(format!("{}.key", role.name()))
}

/// Reads the token in a key file; that of a role, or one that a flag names.
pub fn read_key(path: &Path, role: Option<KeyRole>) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path).map_err(|fault| {
        let what = match role {
            Some(role) => format!("the token of the local {} key", role.name()),
            None => "the token that --key-file or ANCILE_KEY_FILE means".to_owned(),
        };
        let make = match role {
            Some(KeyRole::Operator) => "restore it from a copy: it alone makes keys",
            _ => {
                "restore it, or make a key by `ancile key create` and put the token that it prints \
                 into a file"
            }
        };
        let path = path.display();
        let text = format!(
            "cannot read `{path}`, which holds {what}: {fault}; {make}; name another by --as or \
             --key-file"
        );
        Failure::new(Exit::Refused, "no_key", text)
    })?;
    Ok(text.trim().to_owned())
}

/// The server of this home, if one runs. It is asked for twice: one that ended while we connected
/// leaves its address to anybody who listens for our key.
pub fn running(home: &Path) -> Option<SocketAddr> {
    let said = Engine::served_at(home)?;
    let address = said.parse().ok()?;
    TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).ok()?;
    (Engine::served_at(home)? == said).then_some(address)
}

#[cfg(test)]
mod tests;
