// SPDX-License-Identifier: MIT OR Apache-2.0
//! A mandate: one user's grant to one agent for one tool.

use crate::call::canonical as canonical_value;
use crate::cedar::{self, Scope, report};
use crate::parsed::Parsed;
use crate::{Canonicalise, MandateDraft, Manifest, ToolSpec};
use ancile_core::{
    ArgKind, AuthorityClass, CanonicalValue, Digest, FieldName, MandateId, ToolName,
};
use cedar_policy::{
    ActionConstraint, Effect, Expression, Policy, PolicyId, PolicySet, PrincipalConstraint,
    ResourceConstraint, ValidationMode, Validator,
};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr as _;

#[cfg(test)]
mod tests;

/// A mandate that holds together with the manifest. Only [`Mandate::parse`], and
/// what rests on it, [`Mandate::reopen`] and [`Mandate::narrow`], make one.
///
/// ```compile_fail
/// fn forge(draft: ancile_policy::MandateDraft) -> ancile_policy::Mandate {
///     ancile_policy::Mandate { draft }
/// }
/// ```
///
/// The checked way compiles:
///
/// ```
/// use ancile_policy::{Canonicalise, Mandate, MandateDraft, MandateError, Manifest};
///
/// fn mint(
///     draft: MandateDraft,
///     manifest: &Manifest,
///     canon: &dyn Canonicalise,
/// ) -> Result<Mandate, MandateError> {
///     Mandate::parse(draft, manifest, canon)
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Mandate {
    draft: MandateDraft,
    fixed: BTreeMap<FieldName, BTreeSet<CanonicalValue>>,
    manifest: Digest,
    tool: Digest,
    scope: Scope,
    policies: PolicySet,
    sees_uses: bool,
}

/// Why a draft is no mandate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MandateError {
    /// It is not in the form of `docs/formats/mandate.md`.
    #[error("mandate is not in the documented form: {fault}")]
    Form {
        /// What the reader found.
        fault: String,
    },
    /// The manifest has no such tool.
    #[error("tool `{tool}` is not in the manifest; add it there first")]
    UnknownTool {
        /// The tool.
        tool: ToolName,
    },
    /// The tool is no longer what it was when the mandate was granted.
    #[error("tool `{tool}` changed since the mandate was granted; grant it anew")]
    ToolChanged {
        /// The tool.
        tool: ToolName,
    },
    /// The tool takes no such argument.
    #[error("tool `{tool}` takes no argument `{arg}`; name one that it takes")]
    UnknownArg {
        /// The tool.
        tool: ToolName,
        /// The argument.
        arg: FieldName,
    },
    /// A weakest class that no mandate is needed for.
    #[error("weakest class is {class}; a mandate covers agent_derived or untrusted")]
    Weakest {
        /// The class.
        class: AuthorityClass,
    },
    /// It ends before it begins.
    #[error("mandate holds at no moment; end it after it begins")]
    NeverValid,
    /// It may be used no time at all.
    #[error("mandate may be used 0 times; allow at least 1 or set no limit")]
    NoUses,
    /// An argument is fixed to no value, or to more than [`FIXED_VALUES_MAX`].
    #[error("argument `{arg}` is fixed to {values} values; give 1 to {FIXED_VALUES_MAX}")]
    FixedCount {
        /// The argument.
        arg: FieldName,
        /// How many.
        values: usize,
    },
    /// A fixed value, a pattern or an amount is too long.
    #[error("a value of argument `{arg}` is {bytes} bytes; limit is {VALUE_BYTES_MAX}; shorten it")]
    ValueTooLong {
        /// The argument.
        arg: FieldName,
        /// Its length in bytes.
        bytes: usize,
    },
    /// A fixed value is none of its kind.
    #[error("`{}` is no {kind}, as argument `{arg}` is; write it in full", value.escape_debug())]
    FixedForm {
        /// The argument.
        arg: FieldName,
        /// Its kind.
        kind: ArgKind,
        /// The value.
        value: String,
    },
    /// A condition names a secret, which would then stand in the mandate for all to read.
    #[error("argument `{arg}` is a secret; a mandate cannot name its value")]
    Secret {
        /// The argument.
        arg: FieldName,
    },
    /// A pattern or a largest amount that cannot be made into a condition.
    #[error("`{}` cannot restrict argument `{arg}`: {fault}", value.escape_debug())]
    Condition {
        /// The argument.
        arg: FieldName,
        /// The pattern or amount.
        value: String,
        /// What is wrong with it, and what to write.
        fault: &'static str,
    },
    /// The Cedar text is longer than [`CEDAR_BYTES_MAX`].
    #[error("policy is {bytes} bytes; limit is {CEDAR_BYTES_MAX}; grant several mandates")]
    CedarTooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The Cedar text nests deeper than [`CEDAR_DEPTH_MAX`].
    #[error("policy nests {depth} levels; limit is {CEDAR_DEPTH_MAX}; flatten it")]
    CedarTooDeep {
        /// Its depth in levels.
        depth: usize,
    },
    /// The Cedar text is not one policy without slots.
    #[error("policy does not parse as one static policy: {fault}")]
    Cedar {
        /// What Cedar says.
        fault: String,
    },
    /// The policy is a `forbid`.
    #[error("policy is a forbid; a mandate is one permit; narrow it with `unless` instead")]
    Forbid,
    /// The scope of the policy is not exactly this agent, this action and this tool.
    #[error("policy scope is not the mandate's; write {wanted}")]
    Scope {
        /// The scope it must have.
        wanted: String,
    },
    /// Cedar's strict validator refuses or warns.
    #[error("policy does not validate against the manifest: {fault}")]
    Invalid {
        /// What the validator says.
        fault: String,
    },
}

impl Mandate {
    /// Checks a draft against the manifest.
    ///
    /// # Errors
    /// [`MandateError`]: it names what the manifest does not have, breaks a limit, can never hold,
    /// or its policy is not one `permit` for exactly its agent and tool that validates strictly.
    pub fn parse(
        draft: MandateDraft,
        manifest: &Manifest,
        canon: &dyn Canonicalise,
    ) -> Result<Self, MandateError> {
        let tool = tool_of(&draft.tool, manifest)?;
        if draft.weakest < AuthorityClass::AgentDerived {
            return Err(MandateError::Weakest {
                class: draft.weakest,
            });
        }
        if draft.not_before >= draft.not_after {
            return Err(MandateError::NeverValid);
        }
        if draft.uses_max == Some(0) {
            return Err(MandateError::NoUses);
        }
        let mut fixed = BTreeMap::new();
        for (arg, values) in &draft.fixed {
            fixed.insert(arg.clone(), fixed_values(tool, arg, values, canon)?);
        }
        let scope = Scope::new(draft.agent.as_str(), draft.tool.as_str())
            .map_err(|fault| MandateError::Cedar { fault })?;
        let policies = policies(&draft, tool, &scope)?;
        Ok(Self {
            sees_uses: cedar::sees_uses(&draft.cedar),
            policies,
            fixed,
            manifest: manifest.digest(),
            tool: tool.digest(),
            scope,
            draft,
        })
    }

    /// Takes up a mandate that was granted before, when its tool had this digest.
    ///
    /// # Errors
    /// [`MandateError::ToolChanged`] where the tool is another today; else as [`Mandate::parse`].
    pub fn reopen(
        draft: MandateDraft,
        tool_digest: Digest,
        manifest: &Manifest,
        canon: &dyn Canonicalise,
    ) -> Result<Self, MandateError> {
        if tool_of(&draft.tool, manifest)?.digest() != tool_digest {
            return Err(MandateError::ToolChanged { tool: draft.tool });
        }
        Self::parse(draft, manifest, canon)
    }

    /// This mandate AND a further condition, a Cedar expression. It keeps its id, so that its uses
    /// are counted on and it takes the place of this one in a set.
    ///
    /// # Errors
    /// [`MandateError`]: the condition is no Cedar expression, or does not validate; the manifest
    /// no longer has the tool as it was, since a mandate that has lapsed must not come back so.
    pub fn narrow(
        &self,
        condition: &str,
        manifest: &Manifest,
        canon: &dyn Canonicalise,
    ) -> Result<Self, MandateError> {
        let mut draft = self.draft.clone();
        draft.cedar = narrowed(&draft.cedar, condition)?;
        Self::reopen(draft, self.tool, manifest, canon)
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> MandateId {
        self.draft.id
    }

    /// What it was made from.
    #[must_use]
    pub const fn draft(&self) -> &MandateDraft {
        &self.draft
    }

    /// The values that it fixes, in canonical form.
    #[must_use]
    pub const fn fixed(&self) -> &BTreeMap<FieldName, BTreeSet<CanonicalValue>> {
        &self.fixed
    }

    /// Digest of the manifest it was validated against.
    #[must_use]
    pub const fn manifest(&self) -> Digest {
        self.manifest
    }

    /// Digest of the tool as it was then. It covers calls of that very tool only.
    #[must_use]
    pub const fn tool_digest(&self) -> Digest {
        self.tool
    }

    /// The one policy, as Cedar evaluates it.
    pub(crate) const fn policies(&self) -> &PolicySet {
        &self.policies
    }

    /// Whether the policy can see how often the mandate was used.
    pub(crate) const fn sees_uses(&self) -> bool {
        self.sees_uses
    }

    /// Its agent, action and tool as Cedar names them.
    pub(crate) const fn scope(&self) -> &Scope {
        &self.scope
    }
}

/// The tool of this name, or the error that names it.
pub(crate) fn tool_of<'a>(
    name: &ToolName,
    manifest: &'a Manifest,
) -> Result<&'a ToolSpec, MandateError> {
    manifest
        .tool(name)
        .ok_or_else(|| MandateError::UnknownTool { tool: name.clone() })
}

/// The kind of an argument that a mandate may name.
pub(crate) fn kind_of(tool: &ToolSpec, arg: &FieldName) -> Result<ArgKind, MandateError> {
    let spec = tool.args.get(arg).ok_or_else(|| MandateError::UnknownArg {
        tool: tool.name.clone(),
        arg: arg.clone(),
    })?;
    if spec.kind == ArgKind::Secret {
        return Err(MandateError::Secret { arg: arg.clone() });
    }
    Ok(spec.kind)
}

/// Refuses a value over [`VALUE_BYTES_MAX`].
pub(crate) fn within(arg: &FieldName, value: &str) -> Result<(), MandateError> {
    if value.len() <= VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(MandateError::ValueTooLong {
        arg: arg.clone(),
        bytes: value.len(),
    })
}

fn fixed_values(
    tool: &ToolSpec,
    arg: &FieldName,
    values: &BTreeSet<String>,
    canon: &dyn Canonicalise,
) -> Result<BTreeSet<CanonicalValue>, MandateError> {
    let kind = kind_of(tool, arg)?;
    if values.is_empty() || values.len() > FIXED_VALUES_MAX {
        return Err(MandateError::FixedCount {
            arg: arg.clone(),
            values: values.len(),
        });
    }
    let one = |value: &String| {
        within(arg, value)?;
        canonical_value(kind, value, canon)
            .filter(|canonical| Parsed::new(canonical).is_some())
            .ok_or_else(|| MandateError::FixedForm {
                arg: arg.clone(),
                kind,
                value: value.clone(),
            })
    };
    values.iter().map(one).collect()
}

/// Compiles the one policy of a draft.
fn policies(
    draft: &MandateDraft,
    tool: &ToolSpec,
    scope: &Scope,
) -> Result<PolicySet, MandateError> {
    let policy = parse_policy(&draft.cedar, PolicyId::new(draft.id.to_string()))?;
    if policy.effect() != Effect::Permit {
        return Err(MandateError::Forbid);
    }
    let scoped = policy.principal_constraint() == PrincipalConstraint::Eq(scope.principal.clone())
        && policy.action_constraint() == ActionConstraint::Eq(scope.action.clone())
        && policy.resource_constraint() == ResourceConstraint::Eq(scope.resource.clone());
    if !scoped {
        let wanted = scope.to_string();
        return Err(MandateError::Scope { wanted });
    }
    let mut set = PolicySet::new();
    set.add(policy).map_err(|fault| MandateError::Cedar {
        fault: report(&fault),
    })?;
    let result = Validator::new(tool.schema().clone()).validate(&set, ValidationMode::Strict);
    let faults = result
        .validation_errors()
        .map(|fault| report(fault))
        .chain(result.validation_warnings().map(|fault| report(fault)));
    match faults.collect::<Vec<_>>().as_slice() {
        [] => Ok(set),
        faults => Err(MandateError::Invalid {
            fault: faults.join("; "),
        }),
    }
}

fn parse_policy(text: &str, id: PolicyId) -> Result<Policy, MandateError> {
    within_cedar_limits(text)?;
    Policy::parse(Some(id), text).map_err(|fault| MandateError::Cedar {
        fault: report(&fault),
    })
}

fn within_cedar_limits(text: &str) -> Result<(), MandateError> {
    if text.len() > CEDAR_BYTES_MAX {
        return Err(MandateError::CedarTooLong { bytes: text.len() });
    }
    let depth = cedar::depth(text);
    if depth > CEDAR_DEPTH_MAX {
        return Err(MandateError::CedarTooDeep { depth });
    }
    Ok(())
}

/// The policy with a further condition before its semicolon. All conditions of one policy have to
/// hold, so that it can only take away.
fn narrowed(cedar: &str, condition: &str) -> Result<String, MandateError> {
    let fault = |fault: String| MandateError::Cedar { fault };
    let text = match cedar::at_semicolon(cedar).and_then(|at| cedar.split_at_checked(at)) {
        Some((policy, rest)) => format!("{policy}\nwhen {{\n  {condition}\n}}{rest}"),
        None => return Err(fault("the policy does not end in `;`".to_owned())),
    };
    within_cedar_limits(&text)?;
    match Expression::from_str(condition) {
        Ok(_one_expression) => Ok(text),
        Err(refused) => Err(fault(report(&refused))),
    }
}

/// Longest Cedar text, in bytes.
pub const CEDAR_BYTES_MAX: usize = 8_192;
/// Deepest nesting of brackets in a Cedar text, in levels: its parser is recursive.
pub const CEDAR_DEPTH_MAX: usize = 32;
/// Most values one argument is fixed to.
pub const FIXED_VALUES_MAX: usize = 64;
/// Longest fixed value or pattern, in bytes.
pub const VALUE_BYTES_MAX: usize = 1_024;
