// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proofs from a leaf to the signed checkpoint, and the tiles of the logs.

use crate::fault::ProveError;
use crate::store::Store;
use ancile_core::TenantName;
use ancile_ledger::{
    CheckpointError, GroupHead, LogName, NodeHash, ProofError, SignedCheckpoint, TILE_HEIGHT,
    TILE_WIDTH, TenantHead, Tree, TreeHead, VerifierKey, leaf_hash, verify_inclusion,
};

/// A proof that a leaf is in the log of a tenant, under a signed checkpoint: leaf to tenant root,
/// tenant head to the heads root of the last group, group to the root that is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    /// The leaf's sequence number.
    pub seq: u64,
    /// The tenant's head in the last committed group.
    pub head: TenantHead,
    /// From the leaf to the root of `head`.
    pub to_tenant_root: Vec<NodeHash>,
    /// The position of `head` among the heads of all tenants, in order of their names.
    pub head_index: u64,
    /// The last committed group.
    pub group: GroupHead,
    /// From `head` to the heads root of `group`.
    pub to_heads_root: Vec<NodeHash>,
    /// From `group` to the root of the checkpoint.
    pub to_checkpoint: Vec<NodeHash>,
    /// The text of the signed checkpoint.
    pub checkpoint: String,
}

/// Why an inclusion proof does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InclusionError {
    /// The checkpoint is not one of this key.
    #[error("checkpoint of the proof is refused")]
    Checkpoint(#[source] CheckpointError),
    /// The group is not in the heads log of the checkpoint.
    #[error("group is not under the checkpoint; ask for the proof again")]
    Group(#[source] ProofError),
    /// The tenant head is not in the group.
    #[error("tenant head is not in the group; ask for the proof again")]
    Head(#[source] ProofError),
    /// The leaf is not in the tenant's log.
    #[error("leaf is not in the tenant's log; it is not the one that was written")]
    Leaf(#[source] ProofError),
}

impl InclusionProof {
    /// Checks the proof for a leaf body with nothing but the public key, and gives the checkpoint
    /// that covers it. The tenant and the place are `self.head.tenant` and `self.seq`.
    ///
    /// # Errors
    /// [`InclusionError`] says which link does not hold.
    pub fn verify(
        &self,
        key: &VerifierKey,
        body: &[u8],
    ) -> Result<SignedCheckpoint, InclusionError> {
        let signed = key
            .open(&self.checkpoint)
            .map_err(InclusionError::Checkpoint)?;
        let heads_log = signed.checkpoint().head();
        verify_inclusion(
            &self.group.leaf(),
            self.group.group,
            &heads_log,
            &self.to_checkpoint,
        )
        .map_err(InclusionError::Group)?;
        let heads = TreeHead {
            size: self.group.tenants,
            root: self.group.heads_root,
        };
        let head = leaf_hash(&self.head.encode());
        verify_inclusion(&head, self.head_index, &heads, &self.to_heads_root)
            .map_err(InclusionError::Head)?;
        let log = TreeHead {
            size: self.head.size,
            root: self.head.root,
        };
        verify_inclusion(&leaf_hash(body), self.seq, &log, &self.to_tenant_root)
            .map_err(InclusionError::Leaf)?;
        Ok(signed)
    }
}

impl Store {
    /// Proves that a committed leaf is under the current checkpoint.
    ///
    /// It costs O(tenants), since the heads of all tenants are hashed.
    ///
    /// # Errors
    /// [`ProveError::NotCommitted`] for a leaf of the open group or outside the log.
    pub fn inclusion(&self, tenant: &TenantName, seq: u64) -> Result<InclusionProof, ProveError> {
        let not_committed = || ProveError::NotCommitted {
            tenant: tenant.clone(),
            seq,
        };
        let log = self.logs.get(tenant).ok_or_else(not_committed)?;
        let head = log
            .head
            .as_ref()
            .filter(|head| seq < head.size)
            .ok_or_else(not_committed)?;
        let to_tenant_root = log
            .tree
            .inclusion_proof(seq, head.size)
            .map_err(ProveError::Tree)?;
        let mut heads = Tree::new();
        let mut head_index = 0;
        for other in self.logs.values().filter_map(|log| log.head.as_ref()) {
            let index = heads.append(leaf_hash(&other.encode()));
            if other.tenant == head.tenant {
                head_index = index;
            }
        }
        let to_heads_root = heads
            .inclusion_proof(head_index, heads.size())
            .map_err(ProveError::Tree)?;
        let group = self.tip.group;
        let groups = self.tip.checkpoint.checkpoint().size;
        let to_checkpoint = self
            .heads
            .inclusion_proof(group.group, groups)
            .map_err(ProveError::Tree)?;
        Ok(InclusionProof {
            seq,
            head: head.clone(),
            to_tenant_root,
            head_index,
            group,
            to_heads_root,
            to_checkpoint,
            checkpoint: self.tip.checkpoint.text().to_owned(),
        })
    }

    /// Proves that an earlier checkpoint, of `groups` groups, is a prefix of the current one.
    ///
    /// # Errors
    /// [`ProveError::Tree`] for more groups than there are.
    pub fn consistency(&self, groups: u64) -> Result<Vec<NodeHash>, ProveError> {
        let now = self.tip.checkpoint.checkpoint().size;
        self.heads
            .consistency_proof(groups, now)
            .map_err(ProveError::Tree)
    }

    /// Proves that a tenant's log of `size` leaves is a prefix of the one in the last committed
    /// group.
    ///
    /// # Errors
    /// [`ProveError::NotCommitted`] for a tenant without a committed leaf, [`ProveError::Tree`] for
    /// a size beyond the log.
    pub fn tenant_consistency(
        &self,
        tenant: &TenantName,
        size: u64,
    ) -> Result<Vec<NodeHash>, ProveError> {
        let log = self.logs.get(tenant);
        let (log, head) = log
            .and_then(|log| Some((log, log.head.as_ref()?)))
            .ok_or_else(|| ProveError::NotCommitted {
                tenant: tenant.clone(),
                seq: size.saturating_sub(1),
            })?;
        log.tree
            .consistency_proof(size, head.size)
            .map_err(ProveError::Tree)
    }

    /// A tenant's head in the last committed group.
    #[must_use]
    pub fn head(&self, tenant: &TenantName) -> Option<&TenantHead> {
        self.logs.get(tenant)?.head.as_ref()
    }

    /// The bytes of a tile (C2SP tlog-tiles) of `width` hashes, 1 to 256, over committed leaves;
    /// nothing where there are not that many.
    #[must_use]
    pub fn tile(&self, log: &LogName, level: u8, index: u64, width: u16) -> Option<Vec<u8>> {
        let (tree, size) = match log {
            LogName::Heads => (&self.heads, self.tip.checkpoint.checkpoint().size),
            LogName::Tenant(name) => {
                let log = self.logs.get(&TenantName::new(name).ok()?)?;
                (&log.tree, log.head.as_ref()?.size)
            }
        };
        let shift = u32::from(level).checked_mul(u32::from(TILE_HEIGHT))?;
        let committed = size.checked_shr(shift)?;
        let end = index
            .checked_mul(u64::from(TILE_WIDTH))?
            .checked_add(u64::from(width))?;
        if end > committed {
            return None;
        }
        tree.tile(level, index, width)
    }
}
