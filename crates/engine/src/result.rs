// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a permitted call gave, as it counts for the session and for grounding.

use crate::api::{CONTENT_BYTES_MAX, ToolResult};
use crate::before::Noted;
use crate::event::Event;
use crate::refusal::{Fault, Refusal};
use crate::session::Session;
use crate::state::{PermitRow, Tenant};
use crate::step::{In, values_of};
use crate::turn::{Exposure, Turn, not_found, within};
use ancile_core::{
    ArgKind, AuthorityClass, CanonicalValue, Channel, FieldName, PermitId, PolicyView as _, Role,
    RootSet, SensitiveArg, SourceField, SourceState, TrustRoot, class_of,
};

/// Takes what a permitted call gave: the meet of the source's grade and of the arguments it may
/// echo.
pub(crate) fn take_result(
    turn: &mut Turn<'_>,
    at: &In<'_>,
    (permit, result): (PermitId, ToolResult),
    noted: &[Noted],
) -> Result<Option<AuthorityClass>, Refusal> {
    let session = at.session(turn)?;
    let tenant = turn.tenant(&at.key.tenant)?;
    let row = tenant
        .permits
        .get(&permit)
        .filter(|row| row.session == at.id)
        .cloned();
    let row = row.ok_or_else(|| not_found("permit"))?;
    if !session.outstanding.contains(&permit) {
        let text = "the result of this permit was reported before";
        return Err(Refusal::new(Fault::Conflict, "result_reported", text));
    }
    let items = match result {
        ToolResult::NotShown => Vec::new(),
        ToolResult::Text(text) => {
            let field = FieldName::new("text").map_err(|e| crate::turn::internal(&e))?;
            let items = result_items(turn, at, (&permit, &row), &field, text)?;
            with_note(items, noted.first())
        }
        ToolResult::Fields(fields) => {
            let mut items = Vec::new();
            for (place, (field, text)) in fields.into_iter().enumerate() {
                let shown = result_items(turn, at, (&permit, &row), &field, text)?;
                items.extend(with_note(shown, noted.get(place)));
            }
            items
        }
    };
    let class = items
        .iter()
        .map(|i| i.class)
        .fold(AuthorityClass::UserAuthored, AuthorityClass::meet);
    if items.is_empty() {
        turn.emit(
            &at.key.tenant,
            &Event::NotShown {
                session: at.id,
                permit,
            },
        )?;
        return Ok(None);
    }
    turn.expose(&at.key.tenant, at.id, items, Some(permit))?;
    Ok(Some(class))
}

/// Exposures of one text, with what screening says of it.
fn with_note(mut items: Vec<Exposure>, noted: Option<&Noted>) -> Vec<Exposure> {
    if let Some(noted) = noted {
        items.iter_mut().for_each(|item| item.noted = noted.clone());
    }
    items
}

/// One field of a result as it is shown. A value that leaves room for words, such as a name or a
/// path, is shown twice: once as the value, which may ground, and once as a text, which is class 4
/// to the session unless something trusted named the value before.
fn result_items(
    turn: &Turn<'_>,
    at: &In<'_>,
    permit: (&PermitId, &PermitRow),
    field: &FieldName,
    text: String,
) -> Result<Vec<Exposure>, Refusal> {
    within(&text, CONTENT_BYTES_MAX, "result")?;
    let session = at.session(turn)?;
    let tenant = turn.tenant(&at.key.tenant)?;
    let (id, row) = permit;
    let decided = &row.decided;
    let graded = graded(tenant, row, field, &text);
    let readings = turn.readings(&text);
    let tainted = readings.iter().any(|hash| tenant.wrote.contains(hash));
    let class = class_of(Channel::Tool, Role::Host, graded.state).meet(decided.echo);
    let class = if tainted {
        AuthorityClass::Untrusted
    } else {
        class
    };
    let echoed = decided.args.iter().any(|hash| readings.contains(hash));
    let may = session.may_ground(decided.grounded, Some(id)) && !echoed;
    let evidence = graded.state == SourceState::Evidence;
    let grounds = match (class, &graded.value) {
        (AuthorityClass::ApprovedSource, _) if may => "text".to_owned(),
        (AuthorityClass::AgentDerived, Some(value)) if may && evidence => {
            format!("value:{}", value.kind.name())
        }
        _ => String::new(),
    };
    let roots = match graded.place {
        Some(place) if class != AuthorityClass::Untrusted => {
            RootSet::new([TrustRoot::Source(place)])
        }
        _ => RootSet::Untrusted,
    };
    let item = |class, roots, grounds, text: String| Exposure {
        kind: "result",
        channel: Channel::Tool,
        class,
        roots,
        entry: None,
        by: None,
        from: format!("{}.{field}", decided.tool),
        values: values_of(turn, class, &text),
        grounds,
        alone: decided.grounded,
        noted: Noted::default(),
        text,
    };
    let wordy = evidence
        && class != AuthorityClass::Untrusted
        && graded.value.is_some_and(|value| {
            !ancile_screen::is_bare(value.kind, &text) && !is_known(&session, tenant, value)
        });
    if !wordy {
        return Ok(vec![item(class, roots, grounds, text)]);
    }
    let words = AuthorityClass::Untrusted;
    let words = item(words, RootSet::Untrusted, String::new(), text.clone());
    if grounds.is_empty() {
        return Ok(vec![words]);
    }
    Ok(vec![item(class, roots, grounds, text), words])
}

/// What a field of a result is worth before it is looked at what it says.
struct Graded {
    place: Option<SourceField>,
    state: SourceState,
    /// The value, where the field declares a kind and holds one.
    value: Option<CanonicalValue>,
}

/// A field that is free text, or does not hold what it declares, is worth no grade.
fn graded(tenant: &Tenant, row: &PermitRow, field: &FieldName, text: &str) -> Graded {
    let tool = &row.decided.tool;
    let declared = tenant
        .manifest
        .tool(tool)
        .and_then(|t| t.results.get(field));
    let typed = declared.copied().filter(|kind| *kind != ArgKind::Free);
    let value = typed.and_then(|kind| ancile_screen::canonical(kind, text));
    let source = tenant
        .sources
        .iter()
        .find(|(_, row)| row.tools.contains(tool));
    let place = source.map(|(name, _)| SourceField {
        source: name.clone(),
        tool: tool.clone(),
        field: field.clone(),
    });
    let state = place
        .as_ref()
        .map_or(SourceState::None, |place| tenant.source(place));
    let state = match value {
        Some(_) => state,
        None => SourceState::Registered.min(state),
    };
    Graded {
        place,
        state,
        value,
    }
}

/// Whether a user turn or something else trusted named the value in the session before.
fn is_known(session: &Session, tenant: &Tenant, value: CanonicalValue) -> bool {
    let asked = SensitiveArg {
        name: "value".into(),
        elements: vec![Some(value)],
    };
    let grounds = session.grounds(tenant, &[asked]);
    grounds.iter().any(|ground| !ground.values.is_empty())
}
