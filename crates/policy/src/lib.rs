// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mandates and tool manifests: Cedar policies, schema, fixed values; yields coverage.
