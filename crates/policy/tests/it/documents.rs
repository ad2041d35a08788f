// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `docs/formats/mandate.md` shows is what is read.

use crate::fixture::{Plain, asker, email, set};
use ancile_policy::{Mandate, MandateDraft, Manifest};

const DOCUMENT: &str = include_str!("../../../../docs/formats/mandate.md");

fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    DOCUMENT
        .split(fence.as_str())
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

#[test]
fn the_examples_are_in_form_and_cover_a_call() {
    let [manifest, draft] = blocks("json").try_into().unwrap();
    let manifest = Manifest::parse(manifest).unwrap();
    let draft = MandateDraft::from_json(draft).unwrap();
    let mandate = Mandate::parse(draft.clone(), &manifest, &Plain).unwrap();
    let mut call = email(&["bob@example.com"]);
    let covered = |call: &_| {
        let answer = asker().ask_in(&manifest, &set([mandate.clone()]), call);
        answer.coverage.grants.len() == 1
    };
    assert!(!covered(&call), "`hello` is no fixed value");
    call.args.insert("body".into(), crate::fixture::text("yes"));
    assert!(covered(&call));
    let [condition] = blocks("cedar").try_into().unwrap();
    assert!(mandate.narrow(condition, &manifest, &Plain).is_ok());
}

#[test]
fn the_schema_is_written_as_it_is_made() {
    let [schema] = blocks("cedarschema").try_into().unwrap();
    let (head, tail) = schema.split_once("/*").unwrap();
    let (_, tail) = tail.split_once("*/").unwrap();
    let schema = format!("{head}to: String, cc?: String{tail}");
    let fault = cedar_policy::Schema::from_cedarschema_str(&schema).err();
    assert!(fault.is_none(), "{fault:?}");
}

#[test]
fn the_limits_are_those_of_the_code() {
    use ancile_policy::*;
    let grouped = |n: usize| match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{},{:03}", n / 1_000, n % 1_000),
        _ => format!(
            "{},{:03},{:03}",
            n / 1_000_000,
            n / 1_000 % 1_000,
            n % 1_000
        ),
    };
    let of = |name: &str, first: usize, rest: &str| {
        let row = format!("| {name} | {}{rest} |", grouped(first));
        assert!(DOCUMENT.contains(&row), "{row}");
    };
    of("manifest text", MANIFEST_BYTES_MAX, " bytes");
    of("tools of a manifest", TOOLS_MAX, "");
    of("arguments of a tool", ARGS_MAX, "");
    of("declared result fields of a tool", RESULTS_MAX, "");
    of("elements of a list argument", ELEMENTS_MAX, "");
    of("mandates of one agent for one tool", MANDATES_MAX, "");
    of(
        "Cedar text",
        CEDAR_BYTES_MAX,
        &format!(" bytes, {CEDAR_DEPTH_MAX} levels"),
    );
    let each = format!(", each at most {} bytes", grouped(VALUE_BYTES_MAX));
    of("fixed values of an argument", FIXED_VALUES_MAX, &each);
    of(
        "combinations of list elements in a call",
        COMBINATIONS_MAX,
        "",
    );
}
