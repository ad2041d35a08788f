// SPDX-License-Identifier: MIT OR Apache-2.0
//! The common mandates, made from flags.

use crate::cedar::Scope;
use crate::mandate::{kind_of, tool_of, within};
use crate::parsed::Parsed;
use crate::{Canonicalise, Mandate, MandateDraft, MandateError, Manifest};
use ancile_core::{ArgKind, AuthorityClass, FieldName, MandateId, Micros, PrincipalName, ToolName};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What a person says of the mandate they want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantFlags {
    /// The tool.
    pub tool: ToolName,
    /// The agent.
    pub agent: PrincipalName,
    /// Values that arguments must have; only these can stand in for grounding.
    pub fixed: BTreeMap<FieldName, BTreeSet<String>>,
    /// Patterns that restrict arguments; `*` stands for any run of characters. For an email
    /// `local@domain`, for a URL `scheme://host[:port]/path`, for a host its name: a domain or host
    /// may begin with `*.` and holds no other `*`. A URL path that does not end in `*` allows no
    /// query.
    pub allow: BTreeMap<FieldName, String>,
    /// The largest amount, with its currency if calls give one; amounts below zero are not covered.
    pub amount_max: BTreeMap<FieldName, String>,
    /// Most uses.
    pub uses_max: Option<u32>,
    /// The first moment it no longer holds.
    pub until: Micros,
    /// The weakest class of session it covers.
    pub weakest: AuthorityClass,
}

/// Who grants, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grantor {
    /// The id of the mandate to be.
    pub id: MandateId,
    /// The user.
    pub user: PrincipalName,
    /// The first moment it holds.
    pub now: Micros,
}

/// Makes the draft of a common mandate; its `cedar` is the text to show to the user. The draft is
/// one that [`Mandate::parse`] takes.
///
/// # Errors
/// [`MandateError`]: as [`Mandate::parse`], and [`MandateError::Condition`] for a pattern or an
/// amount that cannot be made into a condition.
pub fn grant(
    flags: &GrantFlags,
    by: &Grantor,
    manifest: &Manifest,
    canon: &dyn Canonicalise,
) -> Result<MandateDraft, MandateError> {
    let tool = tool_of(&flags.tool, manifest)?;
    let mut conditions = Vec::new();
    let mut add = |arg: &FieldName, holds: String| {
        let required = tool.args.get(arg).is_some_and(|spec| spec.required);
        conditions.push(if required {
            holds
        } else {
            format!("(if context.args has \"{arg}\" then {holds} else true)")
        });
    };
    for (arg, pattern) in &flags.allow {
        within(arg, pattern)?;
        add(arg, allowed(arg, kind_of(tool, arg)?, pattern, canon)?);
    }
    for (arg, most) in &flags.amount_max {
        within(arg, most)?;
        add(arg, at_most(arg, kind_of(tool, arg)?, most, canon)?);
    }
    let scope = Scope::new(flags.agent.as_str(), flags.tool.as_str())
        .map_err(|fault| MandateError::Cedar { fault })?;
    let mut cedar = scope.to_string();
    if !conditions.is_empty() {
        let conditions = conditions.join(" &&\n  ");
        cedar.push_str(&format!("\nwhen {{\n  {conditions}\n}}"));
    }
    cedar.push(';');
    let draft = MandateDraft {
        id: by.id,
        user: by.user.clone(),
        agent: flags.agent.clone(),
        tool: flags.tool.clone(),
        weakest: flags.weakest,
        not_before: by.now,
        not_after: flags.until,
        uses_max: flags.uses_max,
        fixed: flags.fixed.clone(),
        cedar,
    };
    Mandate::parse(draft, manifest, canon).map(|mandate| mandate.draft().clone())
}

/// The condition that a pattern makes.
fn allowed(
    arg: &FieldName,
    kind: ArgKind,
    pattern: &str,
    canon: &dyn Canonicalise,
) -> Result<String, MandateError> {
    let refuse = |fault| {
        Err(MandateError::Condition {
            arg: arg.clone(),
            value: pattern.to_owned(),
            fault,
        })
    };
    let of = format!("context.args[\"{arg}\"]");
    if pattern.is_empty() || pattern.chars().all(|c| c == '*') {
        return refuse("it allows everything or nothing; name what is allowed");
    }
    if !may_match(kind, pattern, canon) {
        return refuse("it matches no canonical value; write it as values are compared");
    }
    match kind {
        ArgKind::Amount => refuse("an amount has no pattern; give the largest one instead"),
        ArgKind::Email => {
            let Some((local, domain)) = pattern.split_once('@') else {
                return refuse("write `local@domain`, such as `*@example.com`");
            };
            match host_condition(&format!("{of}.domain"), domain) {
                Some(domain) if local == "*" => Ok(domain),
                Some(domain) => Ok(format!("{of}.local like {} && {domain}", quoted(local))),
                None => refuse(HOST_FAULT),
            }
        }
        ArgKind::Host => match host_condition(&of, pattern) {
            Some(host) => Ok(host),
            None => refuse(HOST_FAULT),
        },
        ArgKind::Url => match url_condition(&of, pattern) {
            Some(url) => Ok(url),
            None => refuse("write `scheme://host/path`, such as `https://example.com/v1/*`"),
        },
        _ => Ok(format!("{of} like {}", quoted(pattern))),
    }
}

/// Whether a value that the pattern matches is in canonical form, where such a value is one of its
/// kind at all: `Ann*` matches no name if names are compared in lower case.
fn may_match(kind: ArgKind, pattern: &str, canon: &dyn Canonicalise) -> bool {
    let sample = pattern.replace('*', "x");
    canon
        .canonical(kind, &sample)
        .is_none_or(|canonical| *canonical.bytes == *sample.as_bytes())
}

/// A host by name, or all below a name where it begins with `*.`.
fn host_condition(of: &str, pattern: &str) -> Option<String> {
    let name = pattern.strip_prefix("*.").unwrap_or(pattern);
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._".contains(c);
    let plain = !name.is_empty() && name.chars().all(fits) && !name.starts_with('.');
    if !plain {
        return None;
    }
    let op = if name.len() == pattern.len() {
        "=="
    } else {
        "like"
    };
    Some(format!("{of} {op} {}", quoted(pattern)))
}

/// Scheme, host and port as written, and a path; the query may be any where the path ends in `*`,
/// and else is empty.
fn url_condition(of: &str, pattern: &str) -> Option<String> {
    let (scheme, rest) = pattern.split_once("://")?;
    let (authority, path) = rest.split_at_checked(rest.find('/')?)?;
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let scheme_fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
    let plain = !scheme.is_empty()
        && scheme.chars().all(scheme_fits)
        && port.bytes().all(|b| b.is_ascii_digit());
    if !plain || path.contains(['?', '#']) {
        return None;
    }
    let host = host_condition(&format!("{of}.host"), host)?;
    let query = if path.ends_with('*') {
        String::new()
    } else {
        format!(" && {of}.query == \"\"")
    };
    let (scheme, port, path) = (quoted(scheme), quoted(port), quoted(path));
    Some(format!(
        "{of}.scheme == {scheme} && {host} && {of}.port == {port} && {of}.path like {path}{query}"
    ))
}

/// The condition that a largest amount makes.
fn at_most(
    arg: &FieldName,
    kind: ArgKind,
    most: &str,
    canon: &dyn Canonicalise,
) -> Result<String, MandateError> {
    let refuse = |fault| MandateError::Condition {
        arg: arg.clone(),
        value: most.to_owned(),
        fault,
    };
    if kind != ArgKind::Amount {
        return Err(refuse(
            "only an argument of kind amount has a largest value",
        ));
    }
    let canonical = canon.canonical(kind, most);
    match canonical.as_ref().and_then(Parsed::new) {
        Some(Parsed::Amount { value, currency }) => {
            let of = format!("context.args[\"{arg}\"]");
            Ok(format!(
                "{of}.currency == {} && {of}.value.greaterThanOrEqual(decimal(\"0.0\")) && \
                 {of}.value.lessThanOrEqual(decimal(\"{value}\"))",
                quoted(&currency)
            ))
        }
        _ => Err(refuse(
            "write digits with at most four after the point, such as `100.00 EUR`",
        )),
    }
}

/// A Cedar text or pattern literal; `*` stays a wildcard where it is a pattern.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

const HOST_FAULT: &str = "write the domain in lower case, in its ASCII form; `*` may stand only \
                          before its first dot, as in `*.example.com`";
