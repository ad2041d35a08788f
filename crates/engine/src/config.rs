// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a store is opened.

use crate::api::Gates;
use crate::embedding::Embedding;
use crate::refusal::Refusal;
use crate::turn::internal;
use ancile_models::{Embedder, StaticEmbedder};
use ancile_screen::{Judge, JudgeThresholds, ScreenPolicy};
use std::num::{NonZeroU8, NonZeroU32};
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
    /// What judges contents after that.
    pub judging: JudgeConfig,
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
            judging: JudgeConfig::default(),
            index: IndexConfig::default(),
        }
    }
}

/// What judges contents after the rules did, and what follows.
///
/// A program that embeds the engine gives a judge of its own:
///
/// ```
/// use ancile_engine::{
///     EngineConfig, Judge, JudgeConfig, JudgeError, JudgeId, JudgeInput, Score,
/// };
/// use std::path::Path;
/// use std::sync::Arc;
///
/// /// Scores by how much of a text is in capitals; a real one asks a classifier or a model.
/// struct Shouting(JudgeId);
///
/// impl Judge for Shouting {
///     fn id(&self) -> &JudgeId {
///         &self.0
///     }
///
///     fn judge(&self, input: &JudgeInput<'_>) -> Result<Score, JudgeError> {
///         let letters = input.text.chars().filter(|c| c.is_alphabetic());
///         let (all, loud) = letters.fold((0_usize, 0), |(all, loud), c| {
///             (all + 1, loud + usize::from(c.is_uppercase()))
///         });
///         Score::new(u16::try_from(loud * 1_000 / all.max(1)).unwrap_or(u16::MAX))
///     }
/// }
///
/// let judge = Shouting(JudgeId::new("shouting", 1)?);
/// let config = EngineConfig {
///     judging: JudgeConfig { judge: Some(Arc::new(judge)), ..JudgeConfig::default() },
///     ..EngineConfig::new(Path::new("/var/lib/ancile"))
/// };
/// # assert!(config.judging.judge.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct JudgeConfig {
    /// The judge; without one no write waits for it, and for what an earlier one left undecided
    /// the failure policy holds at once.
    pub judge: Option<Arc<dyn Judge>>,
    /// What follows from its scores.
    pub thresholds: JudgeThresholds,
    /// What follows where it gives none.
    pub on_failure: JudgeFailure,
    /// How many contents it is asked about at once.
    pub threads: NonZeroU8,
    /// How long it may take for one, in milliseconds; beyond that the failure policy holds.
    pub time_limit_ms: NonZeroU32,
    /// Most writes of a tenant that wait for it; further ones are refused. A request of more than
    /// so many never fits, so that from [`crate::api::BATCH_ENTRIES_MAX`] on each does some time.
    pub pending_max: NonZeroU32,
}

/// What follows for a content of which a judge gave no score: it was not there, it failed, it
/// panicked, or it took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JudgeFailure {
    /// What the rules said of it holds, and it is flagged.
    FallBack,
    /// It goes to the quarantine shelf.
    #[default]
    Quarantine,
}

impl Default for JudgeConfig {
    fn default() -> Self {
        Self {
            judge: None,
            thresholds: JudgeThresholds::default(),
            on_failure: JudgeFailure::default(),
            threads: JUDGE_THREADS,
            time_limit_ms: JUDGE_TIME_LIMIT_MS,
            pending_max: PENDING_MAX,
        }
    }
}

/// How many contents a judge is asked about at once, unless the configuration says otherwise.
pub const JUDGE_THREADS: NonZeroU8 = match NonZeroU8::new(2) {
    Some(threads) => threads,
    None => NonZeroU8::MIN,
};

/// How long a judge may take for one content, in milliseconds, unless the configuration says
/// otherwise.
pub const JUDGE_TIME_LIMIT_MS: NonZeroU32 = match NonZeroU32::new(30_000) {
    Some(limit) => limit,
    None => NonZeroU32::MIN,
};

/// Most writes of a tenant that wait for a judge, unless the configuration says otherwise.
pub const PENDING_MAX: NonZeroU32 = match NonZeroU32::new(4_096) {
    Some(most) => most,
    None => NonZeroU32::MIN,
};

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
