// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mandates and tool manifests: Cedar policies, schema, fixed values; yields [`Coverage`].
//!
//! A [`Manifest`] says what tools a tenant has: their effect, their arguments with a kind each, and
//! which of those are sensitive. [`Manifest::check`] turns a proposed call into a [`CheckedCall`]
//! or a [`SchemaDenial`]. A [`Mandate`] is one user's grant to one agent for one tool: structured
//! conditions (validity, uses, weakest class, fixed values) beside one Cedar `permit`, validated in
//! strict mode against the schema made from the manifest. [`MandateSet::coverage`] says which
//! mandates cover a checked call, and why each of the others does not.
//!
//! Every condition of a mandate must hold, and whatever cannot be decided counts as not held: a
//! value without a canonical form, an error while a policy is evaluated, a tool that has changed
//! since the mandate was made. Lists are evaluated element by element.
//!
//! This crate reads no clock, disk or network, and canonicalises nothing: see [`Canonicalise`].
//! The forms are written down in `docs/formats/mandate.md`.
//!
//! [`Coverage`]: ancile_core::Coverage

mod call;
mod cedar;
mod draft;
mod grant;
mod json;
mod mandate;
mod manifest;
mod parsed;
mod set;

pub use call::{Canonicalise, CheckedArg, CheckedCall, ELEMENTS_MAX, Element, SchemaDenial};
pub use draft::MandateDraft;
pub use grant::{GrantFlags, Grantor, grant};
pub use mandate::{
    CEDAR_BYTES_MAX, CEDAR_DEPTH_MAX, FIXED_VALUES_MAX, Mandate, MandateError, VALUE_BYTES_MAX,
};
pub use manifest::{
    ARGS_MAX, ArgSpec, MANIFEST_BYTES_MAX, Manifest, ManifestError, RESULTS_MAX, TOOLS_MAX,
    ToolSpec,
};
pub use set::{
    COMBINATIONS_MAX, CallContext, CoverageAnswer, MANDATES_MAX, MandateSet, MissReason, SetFull,
};
