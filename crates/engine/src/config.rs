// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a store is opened.

use crate::api::Gates;
use crate::embedding::Embedding;
use crate::refusal::Refusal;
use crate::turn::internal;
use ancile_models::{Embedder, StaticEmbedder};
use ancile_screen::ScreenPolicy;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The home directory: `data`, `keys`, `witness`.
    pub home: PathBuf,
    /// Whether decisions bind.
    pub gates: Gates,
    /// Whether content is screened. The gates hold without.
    pub screening: bool,
    /// What follows for a content from what screening finds.
    pub screen_policy: ScreenPolicy,
    /// How recall finds entries.
    pub index: IndexConfig,
}

impl EngineConfig {
    /// A home with binding gates, screening, and the default index.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            gates: Gates::Enforce,
            screening: true,
            screen_policy: ScreenPolicy::default(),
            index: IndexConfig::default(),
        }
    }
}

/// How recall finds entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexConfig {
    /// What finds entries by meaning, beside their words.
    pub model: Model,
    /// Records of a tenant that are kept in memory before they go into segments. After a crash as
    /// many are read again.
    pub seal_records: NonZeroU32,
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self {
            model: Model::Builtin,
            seal_records: SEAL_RECORDS,
        }
    }
}

/// Records of a tenant in memory from which they are sealed, unless the configuration says
/// otherwise.
pub const SEAL_RECORDS: NonZeroU32 = match NonZeroU32::new(4_096) {
    Some(records) => records,
    None => NonZeroU32::MIN,
};

/// What finds entries by meaning.
#[derive(Clone)]
pub enum Model {
    /// Nothing: entries are found by their words alone.
    None,
    /// The table of token vectors that is part of the program.
    Builtin,
    /// Another model.
    Other(Arc<dyn Embedder>),
}

/// Two are equal that give the same vectors.
impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) | (Self::Builtin, Self::Builtin) => true,
            (Self::Other(one), Self::Other(other)) => one.id() == other.id(),
            _ => false,
        }
    }
}

impl Eq for Model {}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Builtin => f.write_str("Builtin"),
            Self::Other(model) => write!(f, "Other({})", model.id()),
        }
    }
}

impl Model {
    pub(crate) fn embedding(&self) -> Result<Embedding, Refusal> {
        let embedder = match self {
            Self::None => None,
            Self::Builtin => Some(builtin()?),
            Self::Other(model) => Some(Arc::clone(model)),
        };
        Ok(Embedding::new(embedder))
    }
}

/// The table, read once a process.
fn builtin() -> Result<Arc<dyn Embedder>, Refusal> {
    static TABLE: OnceLock<Arc<StaticEmbedder>> = OnceLock::new();
    if let Some(table) = TABLE.get() {
        return Ok(Arc::clone(table) as Arc<dyn Embedder>);
    }
    let table = Arc::new(StaticEmbedder::builtin().map_err(|e| internal(&e))?);
    Ok(Arc::clone(TABLE.get_or_init(|| table)) as Arc<dyn Embedder>)
}
