// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the verifier and the exporter read.

use crate::head::TenantHead;
use core::fmt;

/// One log of a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogName {
    /// The log of group heads.
    Heads,
    /// The log of the tenant with this name.
    Tenant(String),
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heads => f.write_str("heads log"),
            Self::Tenant(name) => write!(f, "log of tenant `{}`", name.escape_debug()),
        }
    }
}

/// Which tiles a source keeps, so that one that is gone can be told from one never kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TilesKept {
    /// None: tiles are made from leaves when needed.
    None,
    /// Full tiles only.
    Full,
    /// Full tiles and the partial ones of the current size.
    All,
}

impl TilesKept {
    pub(crate) const fn keeps(self, full: bool) -> bool {
        match self {
            Self::None => false,
            Self::Full => full,
            Self::All => true,
        }
    }
}

/// A source could not be read; the text says what and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// Read access to the logs of one store, at one moment.
pub trait LogSource {
    /// The names of all tenants, in any order.
    ///
    /// # Errors
    /// [`SourceError`] when the source cannot be read.
    fn tenants(&self) -> Result<Vec<String>, SourceError>;

    /// The stored head of a tenant's log.
    ///
    /// # Errors
    /// [`SourceError`] when the source cannot be read.
    fn head(&self, tenant: &str) -> Result<Option<TenantHead>, SourceError>;

    /// One more than the highest index at which the log has a leaf; 0 for none.
    ///
    /// # Errors
    /// [`SourceError`] when the source cannot be read.
    fn extent(&self, log: &LogName) -> Result<u64, SourceError>;

    /// The leaf body at an index; nothing when there is no such row. It is asked in rising order.
    ///
    /// # Errors
    /// [`SourceError`] when the source cannot be read.
    fn leaf(&self, log: &LogName, index: u64) -> Result<Option<Vec<u8>>, SourceError>;

    /// Which tiles are stored.
    fn tiles_kept(&self) -> TilesKept;

    /// The bytes of a stored tile; nothing when it is not stored.
    ///
    /// # Errors
    /// [`SourceError`] when the source cannot be read.
    fn tile(
        &self,
        log: &LogName,
        level: u8,
        index: u64,
        width: u16,
    ) -> Result<Option<Vec<u8>>, SourceError>;

    /// The stored signed checkpoint of the heads log.
    ///
    /// # Errors
    /// [`SourceError`] when the source cannot be read.
    fn checkpoint(&self) -> Result<Option<String>, SourceError>;

    /// The text of the witness file, if the source has one.
    ///
    /// # Errors
    /// [`SourceError`] when the source cannot be read.
    fn witness(&self) -> Result<Option<String>, SourceError>;
}
