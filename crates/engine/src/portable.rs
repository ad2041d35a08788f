// SPDX-License-Identifier: MIT OR Apache-2.0
//! Export and import. An export has all that a verifier needs: record, salt and content of each
//! entry, and the proof that it is in the log. An import keeps the words alone: whoever wrote them
//! elsewhere, here they are class 4 on channel `import`.

use crate::api::{Exported, Page, PageSpec, Write, Written};
use crate::audit;
use crate::read::entries;
use crate::refusal::Refusal;
use crate::state::Key;
use crate::turn::{PERSONS_KEY, Turn, forbidden, internal};
use crate::write;
use ancile_core::{AuthorityClass, Channel, EntryId, EntryKind, NamespaceName, Role};
use ancile_store::{ReadError, StoredLeaf};

/// A page of a namespace's entries with their proofs, newest first, and the checkpoint that the
/// proofs end in.
pub(crate) fn export(
    turn: &mut Turn<'_>,
    key: &Key,
    namespace: &NamespaceName,
    part: PageSpec<'_>,
) -> Result<(Page<Exported>, String), Refusal> {
    if !matches!(key.spec.role, Role::User | Role::Operator) {
        return Err(forbidden("export entries", PERSONS_KEY));
    }
    let page = entries(turn, key, namespace, part.cursor, part.limit)?;
    let mut items = Vec::with_capacity(page.items.len());
    for view in page.items {
        let proof = audit::proof(turn, key, &view.id)?;
        let leaf = leaf(turn, key, &view.id)?;
        // What must not leave does not leave this way either.
        let shown = view.text.is_some();
        let content = leaf.as_ref().and_then(|l| l.content.as_ref());
        let content = content.filter(|_| shown);
        let task = view.kind == EntryKind::Task;
        let bytes = content.filter(|_| task).map(|c| c.bytes.clone());
        let content_text = bytes.map(String::from_utf8).transpose();
        items.push(Exported {
            record: leaf.as_ref().map(|l| l.body.clone()),
            salt: content.map(|c| c.salt),
            content: content_text.map_err(|fault| internal(&fault))?,
            proof,
            view,
        });
    }
    let checkpoint = turn.core.store()?.checkpoint().text().to_owned();
    let next = page.next;
    Ok((Page { items, next }, checkpoint))
}

/// The leaf of an entry; none where it is not what was written.
fn leaf(turn: &mut Turn<'_>, key: &Key, id: &EntryId) -> Result<Option<StoredLeaf>, Refusal> {
    let entry = turn.entry(key, id)?;
    match turn.core.store()?.read(&key.tenant, entry.seq) {
        Ok(leaf) => Ok(Some(leaf)),
        Err(ReadError::Tampered { .. } | ReadError::NoLeaf { .. }) => Ok(None),
        Err(fault) => Err(internal(&fault)),
    }
}

/// Writes entries that come from elsewhere, in order, all or none: class 4, channel `import`.
pub(crate) fn import(
    turn: &mut Turn<'_>,
    key: &Key,
    ops: Vec<Write>,
) -> Result<Vec<Written>, Refusal> {
    let may = match key.spec.role {
        Role::User | Role::Host => key.spec.channels.contains(&Channel::Import),
        _ => false,
    };
    if !may {
        return Err(forbidden(
            "import entries",
            "the key of a user or host that lists channel `import`",
        ));
    }
    let as_import = |op: Write| Write {
        channel: Some(Channel::Import),
        field: None,
        parents: Vec::new(),
        supersedes: None,
        ..op
    };
    let written = write::batch(turn, key, ops.into_iter().map(as_import).collect())?;
    let foreign =
        |w: &Written| w.class == AuthorityClass::Untrusted && w.channel == Channel::Import;
    if written.iter().all(foreign) {
        Ok(written)
    } else {
        Err(internal(
            &"an imported entry is not of class 4 on channel import",
        ))
    }
}
