// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be wrong with a store, and the report that says so.

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::hash::NodeHash;
use crate::head::HeadError;
use crate::source::{LogName, SourceError};
use crate::witness::{WitnessRefusal, WitnessState};

/// Problems that a report lists; it counts all.
pub const PROBLEMS_MAX: usize = 100;

/// Missing leaves after which a log is read no further.
pub const MISSING_LEAVES_MAX: u64 = 256;

/// One thing that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The source could not be read.
    #[error("{what} could not be read")]
    Unreadable {
        /// What was read.
        what: String,
        /// What the source said.
        #[source]
        source: SourceError,
    },
    /// A leaf is not there.
    #[error("{log}: leaf {index} is missing")]
    LeafMissing {
        /// The log.
        log: LogName,
        /// The leaf's index.
        index: u64,
    },
    /// So many leaves are not there that the rest of the log was not read.
    #[error("{log}: {MISSING_LEAVES_MAX} leaves are missing; not read from leaf {index} on")]
    LogAbandoned {
        /// The log.
        log: LogName,
        /// The first leaf that was not read.
        index: u64,
    },
    /// The log ends before the size that its head says.
    #[error("{log}: leaves {found} to {expected}, the last not included, are missing")]
    LogShort {
        /// The log.
        log: LogName,
        /// The size that the head says.
        expected: u64,
        /// The size that is there.
        found: u64,
    },
    /// The log goes on beyond the size that its head says.
    #[error("{log}: has leaves up to {found}, its head says {expected}; some were inserted")]
    LeavesBeyondHead {
        /// The log.
        log: LogName,
        /// The size that the head says.
        expected: u64,
        /// One more than the highest index that is there.
        found: u64,
    },
    /// A leaf is too long.
    #[error(
        "{log}: leaf {index} is {bytes} bytes; limit is {}",
        crate::LEAF_BYTES_MAX
    )]
    LeafTooLong {
        /// The log.
        log: LogName,
        /// The leaf's index.
        index: u64,
        /// Its length in bytes.
        bytes: usize,
    },
    /// A leaf of a tenant log is neither a record nor a control event.
    #[error("{log}: leaf {index} begins with neither 1 (record) nor 2 (control event)")]
    LeafKindUnknown {
        /// The log.
        log: LogName,
        /// The leaf's index.
        index: u64,
    },
    /// A leaf is not the one in its stored tile.
    #[error("{log}: leaf {index} hashes to {found}, its tile says {expected}")]
    LeafDiffers {
        /// The log.
        log: LogName,
        /// The leaf's index.
        index: u64,
        /// The hash in the tile.
        expected: NodeHash,
        /// The hash of the leaf.
        found: NodeHash,
    },
    /// A tile that the source keeps is not there.
    #[error("{log}: tile {index} of level {level} is missing")]
    TileMissing {
        /// The log.
        log: LogName,
        /// The tile's level.
        level: u8,
        /// The tile's index.
        index: u64,
    },
    /// A stored tile has another length than the log's size asks.
    #[error("{log}: tile {index} of level {level} is {found} bytes; it must be {expected}")]
    TileLength {
        /// The log.
        log: LogName,
        /// The tile's level.
        level: u8,
        /// The tile's index.
        index: u64,
        /// The length it must have in bytes.
        expected: usize,
        /// Its length in bytes.
        found: usize,
    },
    /// A stored tile above level 0 differs from the leaves.
    #[error("{log}: hash {at} of tile {index} of level {level} differs from the leaves")]
    TileDiffers {
        /// The log.
        log: LogName,
        /// The tile's level.
        level: u8,
        /// The tile's index.
        index: u64,
        /// Position of the first such hash in the tile.
        at: u64,
    },
    /// A tenant has no stored head.
    #[error("tenant `{}` has no stored head", .tenant.escape_debug())]
    HeadMissing {
        /// The tenant.
        tenant: String,
    },
    /// A tenant's stored root is not that of its leaves.
    #[error("tenant `{}`: head says root {expected}, its leaves {found}", .tenant.escape_debug())]
    HeadRootDiffers {
        /// The tenant.
        tenant: String,
        /// The stored root.
        expected: NodeHash,
        /// The root of the leaves.
        found: NodeHash,
    },
    /// A tenant's stored control chain is not that of its control leaves.
    #[error(
        "tenant `{}`: head says another control chain than its {events} control leaves make",
        .tenant.escape_debug()
    )]
    ControlDiffers {
        /// The tenant.
        tenant: String,
        /// The number of control leaves.
        events: u64,
    },
    /// The tenants cannot be put into one list of heads.
    #[error("tenant list is not one of distinct names of the allowed length")]
    Tenants(#[source] HeadError),
    /// A leaf of the heads log is not a group head.
    #[error("heads log: leaf {index} is not a group head")]
    GroupMalformed {
        /// The leaf's index.
        index: u64,
        /// What is wrong with it.
        #[source]
        source: HeadError,
    },
    /// A group head has another number than its place.
    #[error("heads log: leaf {index} says it is group {found}")]
    GroupNumber {
        /// The leaf's index.
        index: u64,
        /// The number it says.
        found: u64,
    },
    /// The witness epoch falls.
    #[error("heads log: leaf {index} says witness epoch {found} after epoch {before}")]
    EpochFalls {
        /// The leaf's index.
        index: u64,
        /// The epoch of the leaf before it.
        before: u64,
        /// The epoch it says.
        found: u64,
    },
    /// The last group has another number of tenants.
    #[error("last group says {expected} tenants; there are {found}; some were added or removed")]
    TenantCount {
        /// The number the group says.
        expected: u64,
        /// The number there are.
        found: u64,
    },
    /// The last group's heads are not those of the tenant logs.
    #[error("last group says heads root {expected}; the tenant logs give {found}")]
    HeadsRootDiffers {
        /// The root the group says.
        expected: NodeHash,
        /// The root of the recomputed heads.
        found: NodeHash,
    },
    /// There is no signed checkpoint.
    #[error("there is no signed checkpoint")]
    CheckpointMissing,
    /// The checkpoint is not one of this key.
    #[error("stored checkpoint was refused")]
    CheckpointRefused(#[source] CheckpointError),
    /// The checkpoint's root is not that of the heads log.
    #[error("checkpoint of {size} groups says root {expected}; the heads log gives {found}")]
    CheckpointRootDiffers {
        /// The number of groups.
        size: u64,
        /// The root the checkpoint says.
        expected: NodeHash,
        /// The root of the heads log.
        found: NodeHash,
    },
    /// The witness is not a checkpoint of this key.
    #[error("witness was refused")]
    WitnessUnsigned(#[source] CheckpointError),
    /// The store does not fit its witness.
    #[error("store does not fit its witness")]
    Witness(#[source] WitnessRefusal),
}

/// What was read of one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCount {
    /// The log.
    pub log: LogName,
    /// Leaves read.
    pub leaves: u64,
    /// Control leaves among them.
    pub control: u64,
    /// Stored tiles compared.
    pub tiles: u64,
}

/// What [`crate::verify::verify`] found. Only it makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub(super) logs: Vec<LogCount>,
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) witness: Option<WitnessState>,
    pub(super) problems: Vec<Problem>,
    pub(super) problems_total: u64,
}

impl Report {
    pub(super) const fn new() -> Self {
        Self {
            logs: Vec::new(),
            checkpoint: None,
            witness: None,
            problems: Vec::new(),
            problems_total: 0,
        }
    }

    pub(super) fn add(&mut self, problem: Problem) {
        self.problems_total = self.problems_total.saturating_add(1);
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    /// Whether everything that was checked holds.
    #[must_use]
    pub const fn ok(&self) -> bool {
        self.problems_total == 0
    }

    /// What was read: the tenant logs in order of their names, then the heads log.
    #[must_use]
    pub fn logs(&self) -> &[LogCount] {
        &self.logs
    }

    /// The checkpoint, if it carries the key's signature.
    #[must_use]
    pub const fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    /// How the store stands to its witness; nothing when the source has none, or it was refused.
    #[must_use]
    pub const fn witness(&self) -> Option<WitnessState> {
        self.witness
    }

    /// The first [`PROBLEMS_MAX`] problems.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The number of problems, those not listed included.
    #[must_use]
    pub const fn problems_total(&self) -> u64 {
        self.problems_total
    }
}
