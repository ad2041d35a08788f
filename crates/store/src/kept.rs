// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a tenant keeps: its records whose content is there.

use crate::fault::{DatabaseFault, ReadError};
use crate::store::Store;
use ancile_core::TenantName;
use ancile_ledger::leaf_hash;

impl Store {
    /// Gives each record of a tenant whose content is there, those of the open group included: its
    /// sequence number, its body, and the length of its content. Rows that are not what was
    /// written are left out. Contents are not read.
    ///
    /// # Errors
    /// [`ReadError::Database`], [`ReadError::Dead`] after a fault.
    pub fn each_kept(
        &self,
        tenant: &TenantName,
        see: &mut dyn FnMut(u64, &[u8], u64),
    ) -> Result<(), ReadError> {
        if let Some(first) = self.fault() {
            return Err(ReadError::Dead {
                first: first.to_owned(),
            });
        }
        let fault = |e| ReadError::Database(DatabaseFault::of("reading what is kept", e));
        let mut statement = self.conn.prepare_cached(KEPT).map_err(fault)?;
        let mut rows = statement.query([tenant.as_str()]).map_err(fault)?;
        while let Some(row) = rows.next().map_err(fault)? {
            let (seq, length): (i64, i64) = (
                row.get(0).map_err(fault)?,
                row.get::<_, Option<i64>>(2).map_err(fault)?.unwrap_or(0),
            );
            let body = row.get_ref(1).map_err(fault)?.as_blob().unwrap_or_default();
            let Ok(seq) = u64::try_from(seq) else {
                continue;
            };
            if self.leaf(tenant, seq) == Some(leaf_hash(body)) {
                see(seq, body, length.unsigned_abs());
            }
        }
        Ok(())
    }
}

/// Records are told from control events by their first byte.
const KEPT: &str = "SELECT l.seq, l.body, length(c.bytes) FROM leaf l \
                    JOIN content c USING (tenant, seq) \
                    WHERE l.tenant = ?1 AND substr(l.body, 1, 1) = x'01' ORDER BY l.seq";
