// SPDX-License-Identifier: MIT OR Apache-2.0
//! The home directory: `data` with the store, `keys` with the secrets, `witness` with the last
//! signed checkpoint. Keys and witness lie outside the data directory, so that one who can write
//! the store has neither. So does the file that says where the store is served: whoever can write
//! it is sent the key of the next command.

use crate::refusal::{Fault, Refusal};
use ancile_core::Digest;
use ancile_ledger::{SignerKey, VerifierKey};
use ancile_store::{Notice, StoreConfig};
use std::fs;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// The roles that a first run makes a key for, in the order in which they are written.
pub(crate) const LOCAL_ROLES: [&str; 4] = ["operator", "user", "host", "agent"];
/// Name of the heads log in checkpoints.
const ORIGIN: &str = "ancile.example/heads";
/// File beside the witness that lists what was erased.
const ERASED_FILE: &str = "erased";
/// File in the home that says where the store is served.
const SERVER_FILE: &str = "server";
/// Longest text of that file that is read, in bytes.
const SERVER_FILE_BYTES_MAX: u64 = 256;
/// Longest key file, in bytes.
const KEY_FILE_BYTES_MAX: u64 = 4_096;

/// A home directory.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    root: PathBuf,
    data: PathBuf,
    witness: PathBuf,
}

impl Home {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            data: root.join("data"),
            witness: root.join("witness").join("checkpoint"),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    pub(crate) fn witness(&self) -> &Path {
        &self.witness
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// The verifier key's file.
    pub(crate) fn public_key(&self) -> PathBuf {
        self.keys().join("store.pub")
    }

    /// Whether a first run was made here. Its local keys are written last, the operator's before
    /// the others, which it can make anew; so any of them says so, however many were lost since.
    pub(crate) fn is_initialised(&self) -> bool {
        let there = |role| self.keys().join(format!("{role}.key")).exists();
        LOCAL_ROLES.into_iter().any(there)
    }

    /// Makes the directories, the signing key and the key for value hashes.
    pub(crate) fn make(&self) -> Result<(), Refusal> {
        if self.is_initialised() {
            let text = format!("`{}` already holds a store; open it", self.root.display());
            return Err(Refusal::new(Fault::Conflict, "already_initialised", text));
        }
        if self.keys().exists() || self.data.exists() {
            let text = format!(
                "`{}` holds an unfinished first run, or a store without its keys; \
                 restore its keys, or remove it and start again",
                self.root.display()
            );
            return Err(Refusal::new(Fault::Conflict, "first_run_unfinished", text));
        }
        for dir in [self.data.clone(), self.keys(), self.root.join("witness")] {
            private_dir(&dir)?;
        }
        let seed = zeroize::Zeroizing::new(random::<32>()?);
        let signer = SignerKey::generate(ORIGIN, &seed).map_err(|e| broken_key(&e))?;
        private_file(&self.public_key(), &signer.verifier().to_string())?;
        let value_key = zeroize::Zeroizing::new(Digest(random()?).to_string());
        private_file(&self.keys().join("value.key"), &value_key)?;
        private_file(&self.keys().join("store.key"), &signer.to_secret_text())
    }

    /// Writes the token of a principal.
    pub(crate) fn write_token(&self, role: &str, token: &str) -> Result<PathBuf, Refusal> {
        let path = self.keys().join(format!("{role}.key"));
        private_file(&path, token)?;
        Ok(path)
    }

    /// Where the store is and whose, once a restore that was stopped is at its end.
    pub(crate) fn store_config(&self) -> Result<StoreConfig<'_>, Refusal> {
        self.end_restore()?;
        let text = read_key(&self.keys().join("store.key"))?;
        let signer = SignerKey::parse(text.trim()).map_err(|e| broken_key(&e))?;
        Ok(StoreConfig {
            dir: &self.data,
            witness: &self.witness,
            signer,
            origin: ORIGIN,
        })
    }

    /// Says where the store is served, until what this returns is dropped or the process ends.
    pub(crate) fn announce(&self, address: &str) -> Result<Announced, Refusal> {
        let path = self.root.join(SERVER_FILE);
        let failed = |e: &std::io::Error| io("say the address in", &path, e);
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|e| failed(&e))?;
        let mut notice = Notice::take(file, &path).map_err(|e| failed(&e.into()))?;
        notice
            .say(&format!("address {address}\n"))
            .map_err(|e| failed(&e))?;
        Ok(Announced { _notice: notice })
    }

    /// Where the store is served. What the file says counts only while its lock is held: a killed
    /// server leaves its address behind, where by now anybody may listen.
    pub(crate) fn served_at(&self) -> Option<String> {
        let path = self.root.join(SERVER_FILE);
        let file = fs::File::open(&path).ok()?;
        let held = Notice::is_held(&file, &path).ok()?;
        let mut text = String::new();
        (&file)
            .take(SERVER_FILE_BYTES_MAX)
            .read_to_string(&mut text)
            .ok()?;
        let address = text
            .lines()
            .find_map(|line| line.strip_prefix("address "))?;
        held.then(|| address.to_owned())
    }

    /// The text of the list of what was erased; empty where nothing was.
    pub(crate) fn erased_text(&self) -> Result<String, Refusal> {
        let path = self.erased_list();
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text),
            Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            Err(fault) => Err(io("read the list of erased entries", &path, &fault)),
        }
    }

    /// Adds whole lines to the list of what was erased, in the place of one that was cut off.
    pub(crate) fn append_erased(&self, lines: &str) -> Result<(), Refusal> {
        let whole = self.erased_text()?;
        let whole = whole.rfind('\n').map_or(0, |end| end.saturating_add(1));
        let path = self.erased_list();
        let failed = |e: &std::io::Error| io("write the list of erased entries", &path, e);
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(|e| failed(&e))?;
        let whole = u64::try_from(whole).unwrap_or(u64::MAX);
        file.set_len(whole)
            .and_then(|()| file.seek(std::io::SeekFrom::Start(whole)))
            .and_then(|_| file.write_all(lines.as_bytes()))
            .and_then(|()| file.sync_all())
            .map_err(|e| failed(&e))
    }

    pub(crate) fn erased_list(&self) -> PathBuf {
        self.witness.with_file_name(ERASED_FILE)
    }

    /// The key under hashes of typed values.
    pub(crate) fn value_key(&self) -> Result<[u8; 32], Refusal> {
        let text = read_key(&self.keys().join("value.key"))?;
        let digest = Digest::parse_hex(text.trim()).ok_or_else(|| broken_key(&"value.key"))?;
        Ok(digest.0)
    }
}

/// A store that is said to be served.
#[derive(Debug)]
pub(crate) struct Announced {
    _notice: Notice,
}

/// Reads a verifier key from a file.
pub(crate) fn read_public(path: &Path) -> Result<VerifierKey, Refusal> {
    VerifierKey::parse(read_key(path)?.trim()).map_err(|e| broken_key(&e))
}

fn broken_key(fault: &dyn std::fmt::Display) -> Refusal {
    let text = format!("a key file does not read as a key: {fault}; restore the keys directory");
    Refusal::new(Fault::Unavailable, "key_unreadable", text)
}

/// A medium that did not do its part.
pub(crate) fn io(doing: &str, path: &Path, fault: &std::io::Error) -> Refusal {
    let text = format!(
        "could not {doing} `{}`: {fault}; mend that, or give another home",
        path.display()
    );
    Refusal::new(Fault::Unavailable, "io", text)
}

fn read_key(path: &Path) -> Result<zeroize::Zeroizing<String>, Refusal> {
    let size = fs::metadata(path)
        .map_err(|e| io("read key file", path, &e))?
        .len();
    if size > KEY_FILE_BYTES_MAX {
        return Err(broken_key(&format!("`{}` is {size} bytes", path.display())));
    }
    fs::read_to_string(path)
        .map(zeroize::Zeroizing::new)
        .map_err(|e| io("read key file", path, &e))
}

/// Makes a directory that only its owner can enter.
pub(crate) fn private_dir(path: &Path) -> Result<(), Refusal> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(path)
        .map_err(|e| io("make directory", path, &e))
}

/// Writes a new file that only its owner can read.
pub(crate) fn private_file(path: &Path, text: &str) -> Result<(), Refusal> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options
        .open(path)
        .map_err(|e| io("make key file", path, &e))?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.write_all(b"\n"));
    written
        .and_then(|()| file.sync_all())
        .map_err(|e| io("write key file", path, &e))
}

/// Copies a file into a new one that only its owner can read, and has it on the medium.
pub(crate) fn copy_file(from: &Path, to: &Path) -> Result<(), Refusal> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut source = fs::File::open(from).map_err(|e| io("read", from, &e))?;
    let mut copy = options.open(to).map_err(|e| io("make", to, &e))?;
    std::io::copy(&mut source, &mut copy)
        .and_then(|_| copy.sync_all())
        .map_err(|e| io("copy to", to, &e))
}

/// Has the names in a directory on the medium.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), Refusal> {
    ancile_ledger::sync_directory(dir).map_err(|e| io("sync directory", dir, &e))
}

/// Bytes from the system's source of randomness.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Refusal> {
    let mut bytes = [0u8; N];
    getrandom::fill(&mut bytes).map_err(|e| {
        Refusal::new(
            Fault::Unavailable,
            "no_randomness",
            format!("no random bytes: {e}"),
        )
    })?;
    Ok(bytes)
}
