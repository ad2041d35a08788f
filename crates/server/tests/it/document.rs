// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/http.md` against the server.

use crate::roles::ROWS;
use ancile_core::pack::K_MAX;
use ancile_core::{
    LOCATOR_BYTES_MAX, PARENTS_MAX, PERMIT_SECONDS, VALUE_DEPTH_MAX, VALUE_NODES_MAX,
};
use ancile_engine::api::{
    ANSWER_BYTES_MAX, ANSWERS_MAX, APPROVAL_SECONDS, BATCH_ENTRIES_MAX, CONTENT_BYTES_MAX,
    ENDORSED_VALUES_MAX, EVICTIONS_MAX, LINEAGE_NODES_MAX, MESSAGES_MAX, OPEN_ASKS_MAX,
    OVERLAP_SECONDS_MAX, PAGE_MAX, QUERY_BYTES_MAX, REASON_BYTES_MAX, REPORT_ROWS_MAX,
    SESSION_SECONDS, STEP_OPS_MAX,
};
use ancile_engine::{ONCE_KEY_BYTES_MAX, PENDING_MAX};
use ancile_server::limits::{
    BODIES_BYTES_MAX, BODY_BYTES_MAX, BODY_SECONDS, CONNECTIONS_MAX, HEAD_BYTES_MAX, HEAD_SECONDS,
    RATE_BURST, RATE_PER_SECOND, REQUESTS_MAX, WORK_SECONDS,
};
use ancile_server::{ROUTES, Verb};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const DOCUMENT: &str = include_str!("../../../../docs/http.md");
/// The roles of [`ROWS`], in its order.
const ROLES: [&str; 4] = ["operator", "user", "host", "agent"];

/// The rows of the table under a heading, cell by cell.
fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let (_, after) = DOCUMENT.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = after.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    rows.skip(1)
        .map(|row| {
            let row = row.trim_matches(['|', ' ']);
            row.split(" | ").map(str::trim).collect()
        })
        .collect()
}

const fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "GET",
        Verb::Post => "POST",
        Verb::Put => "PUT",
        Verb::Delete => "DELETE",
    }
}

#[test]
fn the_document_lists_each_path_with_its_query_and_who_may() {
    let said: BTreeSet<(String, String)> = table("Paths")
        .iter()
        .map(|row| (row[0].trim_matches('`').to_owned(), row[1].to_owned()))
        .collect();
    let is = ROWS.iter().map(|(method, path, statuses, _)| {
        let route = ROUTES
            .iter()
            .find(|r| r.verb == *method && r.path == *path)
            .unwrap();
        let query = match route.query {
            [] => String::new(),
            names => format!("?{}", names.join("&")),
        };
        let may = ROLES.iter().zip(statuses).filter(|(_, s)| **s < 400);
        let may: Vec<&str> = may.map(|(role, _)| *role).collect();
        let who = if *path == "/healthz" {
            "anybody".to_owned()
        } else {
            may.join(", ")
        };
        (format!("{} {path}{query}", verb(*method)), who)
    });
    assert_eq!(said, is.collect());
}

/// Whether the document has this code under this status.
pub fn has_problem(status: u16, code: &str) -> bool {
    let code = format!("`{code}`");
    table("Problems")
        .iter()
        .any(|row| row[0] == status.to_string() && row[1].split(", ").any(|c| c == code))
}

/// The codes of refusals in a source: what stands as a text after a fault or a status.
fn codes(source: &str) -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    let mut before = "";
    for (at, part) in source.split('"').enumerate() {
        if at % 2 == 1 && names_a_fault(before.trim_end()) {
            codes.insert(part.to_owned());
        }
        before = part;
    }
    codes
}

fn names_a_fault(before: &str) -> bool {
    let last = before.rsplit([' ', '(', '\n']).next().unwrap_or("");
    let fault = last.starts_with("Fault::") || last.starts_with("StatusCode::");
    (fault && last.ends_with(',')) || before.ends_with("Problem::malformed(")
}

#[test]
fn the_document_lists_each_code_that_the_sources_name() {
    let example = "Refusal::new(Fault::Conflict, \"one\", \"text\"); \
                   Problem::new(\n  StatusCode::NOT_FOUND,\n  \"two\", \"text\"); \
                   Problem::malformed(\"three\", \"text\"); say(\"four\")";
    let read = ["one", "two", "three"].map(str::to_owned);
    assert_eq!(codes(example), read.into());

    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut named = BTreeSet::new();
    for source in ["engine/src", "server/src"].map(|dir| crates.join(dir)) {
        each_source(&source, &mut |text| named.extend(codes(text)));
    }
    let listed: BTreeSet<String> = table("Problems")
        .iter()
        .flat_map(|row| row[1].split(", "))
        .map(|code| code.trim_matches('`').to_owned())
        .collect();
    let said: BTreeSet<String> = named.difference(&listed).cloned().collect();
    let by_commands = BY_COMMANDS.map(str::to_owned);
    assert_eq!(said, by_commands.into());
}

fn each_source(dir: &Path, take: &mut impl FnMut(&str)) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_source(&path, take);
        } else if path.file_name().is_some_and(|name| name != "tests.rs") {
            take(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// Codes that no request gets: of commands that work on a home by themselves.
const BY_COMMANDS: [&str; 13] = [
    "already_initialised",
    "audit_impossible",
    "backup_damaged",
    "backup_exists",
    "backup_inside",
    "backup_newer",
    "first_run_unfinished",
    "lock_unreadable",
    "migrated_damaged",
    "no_backup",
    "no_keys",
    "restore_pending",
    "witness_missing",
];

#[test]
fn the_document_gives_the_limits_that_hold() {
    let limits = [
        BODY_BYTES_MAX,
        BODIES_BYTES_MAX,
        HEAD_BYTES_MAX,
        REQUESTS_MAX,
        CONNECTIONS_MAX,
        CONTENT_BYTES_MAX,
        LOCATOR_BYTES_MAX,
        QUERY_BYTES_MAX,
        REASON_BYTES_MAX,
        STEP_OPS_MAX,
        BATCH_ENTRIES_MAX,
        ENDORSED_VALUES_MAX,
        REPORT_ROWS_MAX,
        LINEAGE_NODES_MAX,
        MESSAGES_MAX,
        EVICTIONS_MAX,
        PAGE_MAX,
        ANSWER_BYTES_MAX,
        ANSWERS_MAX,
        ONCE_KEY_BYTES_MAX,
        RATE_PER_SECOND as usize,
        RATE_BURST as usize,
        PARENTS_MAX,
        VALUE_NODES_MAX,
        VALUE_DEPTH_MAX,
        OPEN_ASKS_MAX,
        PENDING_MAX.get() as usize,
    ];
    let seconds = [
        i64::try_from(BODY_SECONDS).unwrap(),
        i64::try_from(HEAD_SECONDS).unwrap(),
        i64::try_from(WORK_SECONDS).unwrap(),
        PERMIT_SECONDS,
        APPROVAL_SECONDS,
        SESSION_SECONDS,
        i64::from(OVERLAP_SECONDS_MAX),
    ];
    let is: BTreeSet<String> = limits
        .iter()
        .map(ToString::to_string)
        .chain(seconds.iter().map(|s| format!("{s} seconds")))
        .chain([PAGE_DEFAULT.to_owned()])
        .collect();
    let mut said = BTreeSet::new();
    for row in table("Limits") {
        let words: Vec<String> = row[1]
            .split(' ')
            .map(|w| w.replace([',', ';'], ""))
            .collect();
        for (at, word) in words.iter().enumerate() {
            if word.parse::<u64>().is_ok() {
                let unit = words.get(at + 1).filter(|unit| *unit == "seconds");
                said.insert(unit.map_or_else(|| word.clone(), |unit| format!("{word} {unit}")));
            }
        }
    }
    assert_eq!(said, is);
    assert!(DOCUMENT.contains(&format!("`k` (1 to {K_MAX}, default 15)")));
    let openapi = ancile_server::openapi();
    let recall = &openapi["components"]["schemas"]["RecallRequest"]["properties"];
    assert_eq!(recall["k"]["maximum"], json!(K_MAX));
}

/// Items on a page where the query does not say.
const PAGE_DEFAULT: &str = "50";

#[test]
fn the_openapi_document_is_the_committed_one() {
    let made = format!("{:#}\n", ancile_server::openapi());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(
        made == committed,
        "docs/openapi.json is not what the server makes; run this test with UPDATE_GOLDEN=1 and \
         read the difference"
    );
}

#[test]
fn the_document_names_no_code_that_nothing_gives() {
    let mut sources = String::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut dirs: Vec<PathBuf> = ["core", "engine", "server"]
        .map(|name| crates.join(name).join("src"))
        .into();
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.file_name().is_none_or(|name| name != "tests.rs") {
                sources += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    for row in table("Problems") {
        for code in row[1].split(", ") {
            let literal = code.replace('`', "\"");
            assert!(sources.contains(&literal), "{code}");
        }
    }
}
