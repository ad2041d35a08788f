// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policy and people: keys, tenants, namespaces, tools, mandates and sources.

use crate::api::{
    KeyMade, KeySpec, KeyView, MandateSpec, MandateView, OVERLAP_SECONDS_MAX, Page, SourceView,
    TenantSpec,
};
use crate::event::Event;
use crate::home::random;
use crate::lists;
use crate::read::{bad_cursor, page};
use crate::refusal::{Fault, Refusal};
use crate::state::{KEY_ID_CHARS, Key, MandateRow, Tenant};
use crate::step::own_field;
use crate::turn::{OPERATORS_KEY, PERSONS_KEY, Turn, USERS_KEY, forbidden, not_found};
use ancile_core::{
    Digest, FieldName, MandateId, NamespaceName, PrincipalName, Role, SourceField, SourceName,
    SourceState, TenantName, ToolName,
};
use ancile_policy::{GrantFlags, Grantor, Mandate, MandateDraft, Manifest, grant};
use std::collections::BTreeSet;

pub(crate) fn operator(key: &Key, what: &str) -> Result<(), Refusal> {
    if key.spec.role == Role::Operator {
        Ok(())
    } else {
        Err(forbidden(what, OPERATORS_KEY))
    }
}

fn person(key: &Key, what: &str) -> Result<(), Refusal> {
    match key.spec.role {
        Role::Operator | Role::User => Ok(()),
        _ => Err(forbidden(what, PERSONS_KEY)),
    }
}

fn refused(code: &'static str) -> impl Fn(&dyn std::fmt::Display) -> Refusal {
    move |fault| Refusal::new(Fault::Malformed, code, fault.to_string())
}

/// Makes a key. The token is returned once and kept as its hash.
pub(crate) fn make_key(
    turn: &mut Turn<'_>,
    tenant: &TenantName,
    spec: KeySpec,
) -> Result<KeyMade, Refusal> {
    if spec.role == Role::Agent && spec.agent.is_none() {
        let text = "an agent's key is bound to one agent; name it";
        return Err(Refusal::new(Fault::Malformed, "agent_missing", text));
    }
    if spec.relays_user && spec.role != Role::Host {
        let text = "only a host can relay its user's turns; drop relays_user";
        return Err(Refusal::new(Fault::Malformed, "relays_user", text));
    }
    let token = format!("ank_{}_{}", spec.role, Digest(random()?));
    let hash = Digest::sha256(token.as_bytes());
    let relays = spec.relays_user.then(|| spec.principal.clone());
    let event = Event::KeyMade {
        hash,
        principal: spec.principal,
        role: spec.role,
        namespaces: spec.namespaces,
        channels: spec.channels,
        agent: spec.agent,
        relays_user: spec.relays_user,
        expires: spec.expires,
    };
    turn.emit(tenant, &event)?;
    if let Some(host) = relays {
        approve_host(turn, tenant, &host)?;
    }
    Ok(KeyMade {
        id: hash.to_string().chars().take(KEY_ID_CHARS).collect(),
        token,
    })
}

/// A host that relays its user is part of the trusted base: its system prompts are approved.
fn approve_host(
    turn: &mut Turn<'_>,
    tenant: &TenantName,
    host: &PrincipalName,
) -> Result<(), Refusal> {
    let field = own_field(host.as_str(), "system_prompt")?;
    let registered = Event::SourceRegistered {
        name: field.source.clone(),
        tools: Vec::new(),
    };
    turn.emit(tenant, &registered)?;
    let graded = Event::SourceGraded {
        field,
        state: SourceState::Authority,
        by: host.clone(),
    };
    turn.emit(tenant, &graded)
}

/// Makes a key of the operator's tenant.
pub(crate) fn new_key(turn: &mut Turn<'_>, key: &Key, spec: KeySpec) -> Result<KeyMade, Refusal> {
    operator(key, "make keys")?;
    let tenant = turn.tenant(&key.tenant)?;
    if let Some(missing) = spec
        .namespaces
        .iter()
        .find(|n| !tenant.namespaces.contains_key(*n))
    {
        let text = format!("namespace `{missing}` does not exist; make it first");
        return Err(Refusal::new(Fault::Malformed, "namespace_unknown", text));
    }
    make_key(turn, &key.tenant.clone(), spec)
}

/// The keys of the operator's tenant in order of id, without their tokens.
pub(crate) fn keys(
    turn: &Turn<'_>,
    key: &Key,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<KeyView>, Refusal> {
    operator(key, "list keys")?;
    let is_id =
        |text: &str| text.len() == KEY_ID_CHARS && text.bytes().all(|b| b.is_ascii_hexdigit());
    let after = lists::read(cursor, |text| is_id(text).then(|| text.to_owned()))?;
    let mine = turn
        .core
        .state
        .keys
        .values()
        .filter(|k| k.tenant == key.tenant);
    let mut views: Vec<KeyView> = mine
        .map(|k| KeyView {
            id: k.id(),
            spec: k.spec.clone(),
            revoked: k.revoked,
        })
        .collect();
    views.sort_by(|a, b| a.id.cmp(&b.id));
    let rest = views
        .into_iter()
        .filter(|v| after.as_ref().is_none_or(|a| v.id > *a));
    Ok(page(rest, limit, |v| v.id.clone()))
}

/// Makes a key like another, which stops working after an overlap.
pub(crate) fn rotate_key(
    turn: &mut Turn<'_>,
    key: &Key,
    id: &str,
    overlap: u32,
) -> Result<KeyMade, Refusal> {
    operator(key, "rotate keys")?;
    if overlap > OVERLAP_SECONDS_MAX {
        let text = format!(
            "`overlap_seconds` is {overlap}; limit is {OVERLAP_SECONDS_MAX}; make another key for \
             longer"
        );
        return Err(Refusal::new(Fault::Malformed, "count_out_of_range", text));
    }
    let hash = hash_of(turn, key, id).ok_or_else(|| not_found("key"))?;
    let old = turn.core.state.keys.get(&hash).cloned();
    let old = old.ok_or_else(|| not_found("key"))?;
    if !old.works_at(turn.now) {
        let text = "the key works no more; make a new one";
        return Err(Refusal::new(Fault::Conflict, "already_revoked", text));
    }
    if hash == key.hash && overlap == 0 {
        let text = "a key that rotates itself at once is lost with its answer; give an overlap";
        return Err(Refusal::new(Fault::Conflict, "own_key", text));
    }
    let made = make_key(turn, &key.tenant.clone(), old.spec)?;
    let at = turn.now.plus_seconds(i64::from(overlap));
    turn.emit(&key.tenant, &Event::KeyEnds { hash, at })?;
    Ok(made)
}

/// Revokes a key.
pub(crate) fn revoke_key(turn: &mut Turn<'_>, key: &Key, id: &str) -> Result<(), Refusal> {
    operator(key, "revoke keys")?;
    let hash = hash_of(turn, key, id).ok_or_else(|| not_found("key"))?;
    if hash == key.hash {
        let text = "a key cannot revoke itself; use another operator key";
        return Err(Refusal::new(Fault::Conflict, "own_key", text));
    }
    turn.emit(&key.tenant, &Event::KeyRevoked { hash })
}

fn hash_of(turn: &Turn<'_>, key: &Key, id: &str) -> Option<Digest> {
    let mut keys = turn.core.state.keys.values();
    keys.find(|k| k.tenant == key.tenant && k.id() == id)
        .map(|k| k.hash)
}

/// Makes a tenant with its operator. Only the first tenant's operator may.
pub(crate) fn make_tenant(
    turn: &mut Turn<'_>,
    key: &Key,
    spec: &TenantSpec,
) -> Result<KeyMade, Refusal> {
    operator(key, "make tenants")?;
    if turn.core.state.first.as_ref() != Some(&key.tenant) {
        return Err(forbidden(
            "make tenants",
            "the key of the first tenant's operator",
        ));
    }
    if turn.core.state.tenants.contains_key(&spec.name) {
        let text = format!("tenant `{}` exists; choose another name", spec.name);
        return Err(Refusal::new(Fault::Conflict, "tenant_exists", text));
    }
    found_tenant(turn, &spec.name, &spec.operator)
}

/// The first leaves of a tenant's log: itself and its operator's key.
pub(crate) fn found_tenant(
    turn: &mut Turn<'_>,
    name: &TenantName,
    by: &PrincipalName,
) -> Result<KeyMade, Refusal> {
    turn.emit(name, &Event::TenantMade { by: by.clone() })?;
    let spec = KeySpec {
        principal: by.clone(),
        role: Role::Operator,
        namespaces: Vec::new(),
        channels: Vec::new(),
        agent: None,
        relays_user: false,
        expires: None,
    };
    make_key(turn, name, spec)
}

/// Makes a namespace.
pub(crate) fn make_namespace(
    turn: &mut Turn<'_>,
    key: &Key,
    name: NamespaceName,
    readers: Vec<PrincipalName>,
    writers: Vec<PrincipalName>,
) -> Result<(), Refusal> {
    operator(key, "make namespaces")?;
    if turn.tenant(&key.tenant)?.namespaces.contains_key(&name) {
        let text = format!("namespace `{name}` exists; choose another name");
        return Err(Refusal::new(Fault::Conflict, "namespace_exists", text));
    }
    turn.emit(
        &key.tenant,
        &Event::NamespaceMade {
            name,
            readers,
            writers,
        },
    )
}

/// Gives a namespace other readers and writers.
pub(crate) fn change_namespace(
    turn: &mut Turn<'_>,
    key: &Key,
    name: NamespaceName,
    readers: Vec<PrincipalName>,
    writers: Vec<PrincipalName>,
) -> Result<(), Refusal> {
    operator(key, "change namespaces")?;
    if !turn.tenant(&key.tenant)?.namespaces.contains_key(&name) {
        return Err(not_found("namespace"));
    }
    let event = Event::NamespaceChanged {
        name,
        readers,
        writers,
        by: key.spec.principal.clone(),
    };
    turn.emit(&key.tenant, &event)
}

/// The tool manifest's text.
pub(crate) fn manifest(turn: &Turn<'_>, key: &Key) -> Result<String, Refusal> {
    Ok(turn.tenant(&key.tenant)?.manifest.json().to_owned())
}

/// Sets the tool manifest. Mandates whose tool changed lapse.
pub(crate) fn set_manifest(turn: &mut Turn<'_>, key: &Key, json: &str) -> Result<Digest, Refusal> {
    operator(key, "set the manifest")?;
    let manifest = Manifest::parse(json).map_err(|e| refused("manifest_refused")(&e))?;
    let event = Event::ManifestSet {
        json: json.to_owned(),
        by: key.spec.principal.clone(),
    };
    turn.emit(&key.tenant, &event)?;
    Ok(manifest.digest())
}

/// The draft that a user's words make.
fn draft(turn: &Turn<'_>, key: &Key, spec: &MandateSpec) -> Result<MandateDraft, Refusal> {
    if key.spec.role != Role::User {
        return Err(forbidden("grant mandates", USERS_KEY));
    }
    if spec.not_after <= turn.now {
        let text = "not_after is past; give microseconds since 1970-01-01 UTC";
        return Err(Refusal::new(Fault::Malformed, "mandate_refused", text));
    }
    let manifest = &turn.tenant(&key.tenant)?.manifest;
    let by = Grantor {
        id: turn.fresh(MandateId::at)?,
        user: key.spec.principal.clone(),
        now: spec.not_before,
    };
    let sets = |values: &Vec<String>| values.iter().cloned().collect::<BTreeSet<String>>();
    let flags = GrantFlags {
        tool: spec.tool.clone(),
        agent: spec.agent.clone(),
        fixed: spec
            .fixed
            .iter()
            .map(|(k, v)| (k.clone(), sets(v)))
            .collect(),
        allow: spec.allow.clone(),
        amount_max: spec.amount_max.clone(),
        uses_max: spec.uses_max,
        until: spec.not_after,
        weakest: spec.weakest,
    };
    let made = grant(&flags, &by, manifest, &crate::Canon);
    let mut draft = made.map_err(|e| refused("mandate_refused")(&e))?;
    if let Some(cedar) = &spec.cedar {
        if !spec.allow.is_empty() || !spec.amount_max.is_empty() {
            let text = "give Cedar text, or patterns and amounts, not both";
            return Err(Refusal::new(Fault::Malformed, "mandate_two_texts", text));
        }
        draft.cedar.clone_from(cedar);
        Mandate::parse(draft.clone(), manifest, &crate::Canon)
            .map_err(|e| refused("mandate_refused")(&e))?;
    }
    Ok(draft)
}

/// The Cedar text that a grant would store.
pub(crate) fn draft_mandate(
    turn: &Turn<'_>,
    key: &Key,
    spec: &MandateSpec,
) -> Result<String, Refusal> {
    draft(turn, key, spec).map(|d| d.cedar)
}

/// Grants a mandate.
pub(crate) fn grant_mandate(
    turn: &mut Turn<'_>,
    key: &Key,
    spec: &MandateSpec,
) -> Result<MandateView, Refusal> {
    let draft = draft(turn, key, spec)?;
    let id = draft.id;
    let tenant = turn.tenant(&key.tenant)?;
    let manifest = tenant.manifest.digest();
    let mandate = Mandate::parse(draft.clone(), &tenant.manifest, &crate::Canon)
        .map_err(|e| refused("mandate_refused")(&e))?;
    // The set is tried on a copy: a full one refuses before anything is logged.
    let mut trial = (*tenant.mandates).clone();
    trial
        .insert(mandate)
        .map_err(|e| Refusal::new(Fault::Limit, "too_many_mandates", e.to_string()))?;
    let json = draft
        .to_json()
        .map_err(|e| refused("mandate_refused")(&e))?;
    turn.emit(
        &key.tenant,
        &Event::MandateGranted {
            draft: json,
            manifest,
        },
    )?;
    let row = turn.tenant(&key.tenant)?.mandate_rows.get(&id);
    row.map(mandate_view).ok_or_else(|| not_found("mandate"))
}

fn mandate_view(row: &MandateRow) -> MandateView {
    let d = &row.draft;
    MandateView {
        id: d.id,
        user: d.user.clone(),
        agent: d.agent.clone(),
        tool: d.tool.clone(),
        weakest: d.weakest,
        not_before: d.not_before,
        not_after: d.not_after,
        uses_max: d.uses_max,
        uses: row.uses,
        fixed: d
            .fixed
            .iter()
            .map(|(k, v)| (k.clone(), v.iter().cloned().collect()))
            .collect(),
        cedar: d.cedar.clone(),
        revoked: row.revoked,
    }
}

/// A user sees their own mandates, an operator all, newest first.
pub(crate) fn mandates(
    turn: &Turn<'_>,
    key: &Key,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<MandateView>, Refusal> {
    person(key, "list mandates")?;
    let after = match cursor {
        None => None,
        Some(text) => Some(MandateId::parse(text).map_err(|_| bad_cursor())?),
    };
    let rows = turn.tenant(&key.tenant)?.mandate_rows.iter().rev();
    let rows = rows.filter(|(id, _)| after.is_none_or(|a| **id < a));
    let mine = rows.filter(|(_, r)| owns(key, r));
    Ok(page(mine.map(|(_, r)| mandate_view(r)), limit, |v| {
        v.id.to_string()
    }))
}

fn owns(key: &Key, row: &MandateRow) -> bool {
    key.spec.role == Role::Operator || row.draft.user == key.spec.principal
}

/// Revokes a mandate: later and unredeemed permits stop.
pub(crate) fn revoke_mandate(turn: &mut Turn<'_>, key: &Key, id: MandateId) -> Result<(), Refusal> {
    person(key, "revoke mandates")?;
    let row = turn.tenant(&key.tenant)?.mandate_rows.get(&id);
    let revoked = row.filter(|r| owns(key, r)).map(|r| r.revoked);
    match revoked {
        None => Err(not_found("mandate")),
        Some(true) => Err(Refusal::new(
            Fault::Conflict,
            "already_revoked",
            "the mandate was revoked before",
        )),
        Some(false) => turn.emit(
            &key.tenant,
            &Event::MandateRevoked {
                id,
                by: key.spec.principal.clone(),
            },
        ),
    }
}

/// Registers a source and the tools whose results it gives.
pub(crate) fn register_source(
    turn: &mut Turn<'_>,
    key: &Key,
    name: SourceName,
    tools: Vec<ToolName>,
) -> Result<(), Refusal> {
    person(key, "register sources")?;
    let tenant = turn.tenant(&key.tenant)?;
    if tenant.sources.contains_key(&name) {
        let text = format!("source `{name}` is registered; approve or revoke its fields");
        return Err(Refusal::new(Fault::Conflict, "source_exists", text));
    }
    let taken = tools
        .iter()
        .find(|t| tenant.sources.values().any(|row| row.tools.contains(t)));
    if let Some(tool) = taken {
        let text = format!("tool `{tool}` belongs to another source; a tool has one source");
        return Err(Refusal::new(Fault::Conflict, "tool_taken", text));
    }
    turn.emit(&key.tenant, &Event::SourceRegistered { name, tools })
}

/// Approves a field with a grade. Only the operator gives `authority`.
pub(crate) fn approve_source(
    turn: &mut Turn<'_>,
    key: &Key,
    field: SourceField,
    grade: SourceState,
) -> Result<(), Refusal> {
    match grade {
        SourceState::Evidence => person(key, "approve sources")?,
        SourceState::Authority => operator(key, "give grade authority")?,
        _ => {
            let text = "a grade is `evidence` or `authority`";
            return Err(Refusal::new(Fault::Malformed, "grade", text));
        }
    }
    let tenant = turn.tenant(&key.tenant)?;
    let row = tenant
        .sources
        .get(&field.source)
        .ok_or_else(|| not_found("source"))?;
    let declared = tenant
        .manifest
        .tool(&field.tool)
        .and_then(|t| t.results.get(&field.field));
    if grade == SourceState::Evidence && declared.is_none() {
        let text = "only a result field that the manifest declares can be evidence; declare it";
        return Err(Refusal::new(Fault::Malformed, "field_undeclared", text));
    }
    if !row.tools.contains(&field.tool) {
        let text = format!(
            "source `{}` does not give tool `{}`",
            field.source, field.tool
        );
        return Err(Refusal::new(Fault::Malformed, "tool_not_given", text));
    }
    let event = Event::SourceGraded {
        field,
        state: grade,
        by: key.spec.principal.clone(),
    };
    turn.emit(&key.tenant, &event)
}

/// Withdraws approval, of one field or of all: it weakens at the next check.
pub(crate) fn revoke_source(
    turn: &mut Turn<'_>,
    key: &Key,
    name: &SourceName,
    field: Option<(ToolName, FieldName)>,
) -> Result<(), Refusal> {
    person(key, "revoke sources")?;
    let row = turn
        .tenant(&key.tenant)?
        .sources
        .get(name)
        .ok_or_else(|| not_found("source"))?;
    let operator = key.spec.role == Role::Operator;
    if !operator
        && row
            .fields
            .values()
            .any(|state| *state == SourceState::Authority)
    {
        return Err(forbidden(
            "revoke a source that the operator approved",
            OPERATORS_KEY,
        ));
    }
    let approved: Vec<SourceField> = row
        .fields
        .keys()
        .filter(|f| {
            field
                .as_ref()
                .is_none_or(|(t, n)| f.tool == *t && f.field == *n)
        })
        .cloned()
        .collect();
    if approved.is_empty() {
        return Err(not_found("approved field"));
    }
    for field in approved {
        let event = Event::SourceGraded {
            field,
            state: SourceState::Revoked,
            by: key.spec.principal.clone(),
        };
        turn.emit(&key.tenant, &event)?;
    }
    Ok(())
}

/// The sources, in order of name.
pub(crate) fn sources(
    turn: &Turn<'_>,
    key: &Key,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<SourceView>, Refusal> {
    person(key, "list sources")?;
    let after = lists::read(cursor, |text| SourceName::new(text).ok())?;
    let tenant: &Tenant = turn.tenant(&key.tenant)?;
    let view = |(name, row): (&SourceName, &crate::state::SourceRow)| SourceView {
        name: name.clone(),
        tools: row.tools.clone(),
        fields: row.fields.clone(),
    };
    let rows = tenant.sources.iter();
    let rows = rows.filter(|(name, _)| after.as_ref().is_none_or(|a| *name > a));
    Ok(page(rows.map(view), limit, |v| v.name.to_string()))
}
