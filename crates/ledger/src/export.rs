// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logs as plain directories in the C2SP tlog-tiles layout.
//!
//! The heads log lies at the top with its `checkpoint`; the log of each tenant lies under
//! `tenant/<name in hexadecimal>/` beside a file `head`.

use crate::hash::{ControlChain, LeafKind, NodeHash, leaf_hash};
use crate::head::{TENANT_BYTES_MAX, TenantHead};
use crate::note::NOTE_BYTES_MAX;
use crate::source::{LogName, LogSource, SourceError, TilesKept};
use crate::tile::{
    BUNDLE_BYTES_MAX, TILE_WIDTH, TileError, decode_bundle, encode_tile, entries_path, push_leaf,
    tile_path,
};
use crate::tiling::{Tile, Tiling};
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

const CHECKPOINT_FILE: &str = "checkpoint";
const WITNESS_FILE: &str = "witness";
const TENANT_DIRECTORY: &str = "tenant";
const HEAD_FILE: &str = "head";

/// Longest `head` file in bytes.
const HEAD_BYTES_MAX: usize = 256;

/// Leaves in a full entry bundle.
const BUNDLE_LEAVES: u64 = TILE_WIDTH as u64;

/// Longest tile file in bytes.
const TILE_BYTES_MAX: usize = 8192;

/// Why an export failed. What was written has no checkpoint and is refused by the verifier.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The directory has something in it.
    #[error("`{}` is not empty; give a new directory", .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The source could not be read.
    #[error("logs could not be read")]
    Source(#[source] SourceError),
    /// A leaf is not there.
    #[error("{log}: leaf {index} is missing; run the verifier on the store")]
    LeafMissing {
        /// The log.
        log: LogName,
        /// The leaf's index.
        index: u64,
    },
    /// A leaf does not fit the format.
    #[error("{log}: leaf {index} does not fit an entry bundle")]
    Leaf {
        /// The log.
        log: LogName,
        /// The leaf's index.
        index: u64,
        /// Why not.
        #[source]
        source: TileError,
    },
    /// There is no checkpoint to export.
    #[error("store has no signed checkpoint; commit a group first")]
    CheckpointMissing,
    /// The tenant's name cannot be a directory.
    #[error("tenant name is {bytes} bytes; give 1 to {TENANT_BYTES_MAX}")]
    TenantName {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The medium refused.
    #[error("`{}` could not be written; check the medium and its permissions", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// What an export wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Tenant logs.
    pub tenants: u64,
    /// Leaves of all logs, the heads log included.
    pub leaves: u64,
    /// Files.
    pub files: u64,
}

/// Writes all logs of a source into a new or empty directory, the checkpoint last.
///
/// Tiles are made from the leaves, stored ones are not copied; nothing is checked. Files are not
/// synced: run [`crate::verify::verify`] on the result.
///
/// # Errors
/// [`ExportError`] says what failed.
pub fn export(source: &dyn LogSource, directory: &Path) -> Result<Exported, ExportError> {
    let mut writer = Writer {
        directory,
        done: Exported::default(),
    };
    writer.check_empty()?;
    let checkpoint = source
        .checkpoint()
        .map_err(ExportError::Source)?
        .ok_or(ExportError::CheckpointMissing)?;
    for tenant in source.tenants().map_err(ExportError::Source)? {
        if tenant.is_empty() || tenant.len() > TENANT_BYTES_MAX {
            let bytes = tenant.len();
            return Err(ExportError::TenantName { bytes });
        }
        writer.tenant(source, tenant)?;
        writer.done.tenants = writer.done.tenants.saturating_add(1);
    }
    writer.log(source, &LogName::Heads, &mut |_, _| {})?;
    if let Some(witness) = source.witness().map_err(ExportError::Source)? {
        writer.file(Path::new(WITNESS_FILE), witness.as_bytes())?;
    }
    writer.file(Path::new(CHECKPOINT_FILE), checkpoint.as_bytes())?;
    Ok(writer.done)
}

struct Writer<'a> {
    directory: &'a Path,
    done: Exported,
}

impl Writer<'_> {
    fn check_empty(&self) -> Result<(), ExportError> {
        let path = || self.directory.to_owned();
        let mut entries = match fs::read_dir(self.directory) {
            Ok(entries) => entries,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => {
                return Err(ExportError::Io {
                    path: path(),
                    source,
                });
            }
        };
        if entries.next().is_some() {
            return Err(ExportError::NotEmpty { path: path() });
        }
        Ok(())
    }

    /// Writes a tenant's log and its stored head, or where none is stored the recomputed one.
    fn tenant(&mut self, source: &dyn LogSource, tenant: String) -> Result<(), ExportError> {
        let stored = source.head(&tenant).map_err(ExportError::Source)?;
        let log = LogName::Tenant(tenant.clone());
        let mut control = ControlChain::new();
        let (size, root) = self.log(source, &log, &mut |body, hash| {
            if LeafKind::of(body) == Some(LeafKind::Control) {
                control.push(hash);
            }
        })?;
        let head = stored.unwrap_or_else(|| TenantHead {
            tenant,
            size,
            root,
            control: *control.bytes(),
        });
        self.file(&prefix(&log).join(HEAD_FILE), &head.encode())
    }

    /// Writes the entry bundles and tiles of a log.
    fn log(
        &mut self,
        source: &dyn LogSource,
        log: &LogName,
        visit: &mut dyn FnMut(&[u8], &NodeHash),
    ) -> Result<(u64, NodeHash), ExportError> {
        let prefix = prefix(log);
        let extent = source.extent(log).map_err(ExportError::Source)?;
        let mut tiling = Tiling::default();
        let mut bundle = Vec::new();
        for index in 0..extent {
            let body = source
                .leaf(log, index)
                .map_err(ExportError::Source)?
                .ok_or_else(|| ExportError::LeafMissing {
                    log: log.clone(),
                    index,
                })?;
            push_leaf(&mut bundle, &body).map_err(|source| ExportError::Leaf {
                log: log.clone(),
                index,
                source,
            })?;
            let hash = leaf_hash(&body);
            visit(&body, &hash);
            tiling.push(hash, &mut |tile| self.tile(&prefix, tile, &mut bundle))?;
        }
        tiling.finish(&mut |tile| self.tile(&prefix, tile, &mut bundle))?;
        self.done.leaves = self.done.leaves.saturating_add(extent);
        Ok((tiling.size(), tiling.root()))
    }

    /// Writes a tile; one of level 0 comes with its entry bundle.
    fn tile(
        &mut self,
        prefix: &Path,
        tile: &Tile<'_>,
        bundle: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let width = tile.width();
        let path = prefix.join(tile_path(tile.level, tile.index, width));
        self.file(&path, &encode_tile(tile.hashes))?;
        if tile.level > 0 {
            return Ok(());
        }
        let path = prefix.join(entries_path(tile.index, width));
        self.file(&path, bundle)?;
        bundle.clear();
        Ok(())
    }

    fn file(&mut self, path: &Path, bytes: &[u8]) -> Result<(), ExportError> {
        let path = self.directory.join(path);
        let parent = path.parent().unwrap_or(self.directory);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|source| ExportError::Io { path, source })?;
        self.done.files = self.done.files.saturating_add(1);
        Ok(())
    }
}

/// An exported directory, to be given to the verifier.
#[derive(Debug)]
pub struct ExportedLogs {
    directory: PathBuf,
    /// The log asked last, since logs are read one after the other.
    layout: RefCell<Option<Layout>>,
}

/// The entry bundles of one log, and the leaves of the one read last.
#[derive(Debug, Clone)]
struct Layout {
    log: LogName,
    /// The number of full bundles.
    full: u64,
    /// The width of the partial bundle after them; 0 for none.
    partial: u16,
    bundle: Option<(u64, Vec<Vec<u8>>)>,
}

impl ExportedLogs {
    /// The logs in a directory; it is read when asked.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            layout: RefCell::new(None),
        }
    }

    fn read(&self, path: &Path, limit: usize) -> Result<Option<Vec<u8>>, SourceError> {
        let path = self.directory.join(path);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(unreadable(&path, &e)),
        };
        let mut bytes = Vec::new();
        file.take((limit as u64).saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| unreadable(&path, &e))?;
        if bytes.len() > limit {
            return Err(unreadable(&path, &format!("is above {limit} bytes")));
        }
        Ok(Some(bytes))
    }

    fn read_text(&self, name: &str) -> Result<Option<String>, SourceError> {
        let path = Path::new(name);
        self.read(path, NOTE_BYTES_MAX)?
            .map(|bytes| String::from_utf8(bytes).map_err(|e| unreadable(path, &e)))
            .transpose()
    }

    fn layout(&self, log: &LogName) -> Result<Layout, SourceError> {
        let base = self.directory.join(prefix(log));
        let mut full = 0u64;
        while base.join(entries_path(full, 0)).is_file() {
            full = full.saturating_add(1);
        }
        let mut partial = 0u16;
        let widths = base.join(format!("{}.p", entries_path(full, 0)));
        match fs::read_dir(&widths) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(unreadable(&widths, &e)),
            Ok(entries) => {
                for entry in entries {
                    let name = entry.map_err(|e| unreadable(&widths, &e))?.file_name();
                    let width = name.to_str().and_then(|n| n.parse::<u16>().ok());
                    partial = partial.max(width.filter(|w| *w < TILE_WIDTH).unwrap_or(0));
                }
            }
        }
        Ok(Layout {
            log: log.clone(),
            full,
            partial,
            bundle: None,
        })
    }

    fn bundle(&self, layout: &Layout, index: u64) -> Result<Vec<Vec<u8>>, SourceError> {
        let width = match index.cmp(&layout.full) {
            core::cmp::Ordering::Less => TILE_WIDTH,
            core::cmp::Ordering::Equal if layout.partial > 0 => layout.partial,
            _ => return Ok(Vec::new()),
        };
        let path = prefix(&layout.log).join(entries_path(index, width));
        let Some(bytes) = self.read(&path, BUNDLE_BYTES_MAX)? else {
            return Ok(Vec::new());
        };
        let leaves = decode_bundle(&bytes).map_err(|e| unreadable(&path, &e))?;
        if leaves.len() != usize::from(width) {
            let found = leaves.len();
            return Err(unreadable(&path, &format!("has {found} leaves")));
        }
        Ok(leaves.into_iter().map(<[u8]>::to_vec).collect())
    }

    /// Gives `ask` the layout of a log, kept from the last call where that was the same log.
    fn with_layout<T>(
        &self,
        log: &LogName,
        ask: impl FnOnce(&mut Layout) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let kept = self.layout.take().filter(|layout| layout.log == *log);
        let mut layout = kept.map_or_else(|| self.layout(log), Ok)?;
        let answer = ask(&mut layout);
        self.layout.replace(Some(layout));
        answer
    }
}

impl LogSource for ExportedLogs {
    fn tenants(&self) -> Result<Vec<String>, SourceError> {
        let path = self.directory.join(TENANT_DIRECTORY);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(unreadable(&path, &e)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let file = entry.map_err(|e| unreadable(&path, &e))?.file_name();
            let name = file.to_str().and_then(decode_name);
            names.push(name.ok_or_else(|| unreadable(&path.join(&file), &"is no tenant's name"))?);
        }
        names.sort_unstable();
        Ok(names)
    }

    fn head(&self, tenant: &str) -> Result<Option<TenantHead>, SourceError> {
        let path = prefix(&LogName::Tenant(tenant.to_owned())).join(HEAD_FILE);
        let Some(bytes) = self.read(&path, HEAD_BYTES_MAX)? else {
            return Ok(None);
        };
        let head = TenantHead::decode(&bytes).map_err(|e| unreadable(&path, &e))?;
        if head.tenant != tenant {
            return Err(unreadable(&path, &"is of another tenant"));
        }
        Ok(Some(head))
    }

    fn extent(&self, log: &LogName) -> Result<u64, SourceError> {
        self.with_layout(log, |layout| {
            let full = layout.full.saturating_mul(BUNDLE_LEAVES);
            Ok(full.saturating_add(u64::from(layout.partial)))
        })
    }

    fn leaf(&self, log: &LogName, index: u64) -> Result<Option<Vec<u8>>, SourceError> {
        self.with_layout(log, |layout| {
            let wanted = index / BUNDLE_LEAVES;
            let leaves = match layout.bundle.take() {
                Some((at, leaves)) if at == wanted => leaves,
                _ => self.bundle(layout, wanted)?,
            };
            let at = usize::try_from(index % BUNDLE_LEAVES).unwrap_or(usize::MAX);
            let body = leaves.get(at).cloned();
            layout.bundle = Some((wanted, leaves));
            Ok(body)
        })
    }

    fn tiles_kept(&self) -> TilesKept {
        TilesKept::All
    }

    fn tile(
        &self,
        log: &LogName,
        level: u8,
        index: u64,
        width: u16,
    ) -> Result<Option<Vec<u8>>, SourceError> {
        let path = prefix(log).join(tile_path(level, index, width));
        self.read(&path, TILE_BYTES_MAX)
    }

    fn checkpoint(&self) -> Result<Option<String>, SourceError> {
        self.read_text(CHECKPOINT_FILE)
    }

    fn witness(&self) -> Result<Option<String>, SourceError> {
        self.read_text(WITNESS_FILE)
    }
}

/// Where a log lies below the exported directory.
fn prefix(log: &LogName) -> PathBuf {
    match log {
        LogName::Heads => PathBuf::new(),
        LogName::Tenant(name) => {
            let hex: String = name.bytes().map(|b| format!("{b:02x}")).collect();
            Path::new(TENANT_DIRECTORY).join(hex)
        }
    }
}

/// Reads lower-case hexadecimal digits as UTF-8.
fn decode_name(hex: &str) -> Option<String> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        return None;
    }
    let bytes: Option<Vec<u8>> = pairs
        .iter()
        .map(|[high, low]| {
            let digit = |b: u8| match b {
                b'A'..=b'F' => None,
                _ => char::from(b).to_digit(16),
            };
            u8::try_from((digit(*high)? << 4) | digit(*low)?).ok()
        })
        .collect();
    String::from_utf8(bytes?).ok()
}

fn unreadable(path: &Path, why: &dyn core::fmt::Display) -> SourceError {
    SourceError(format!("`{}`: {why}", path.display()))
}
