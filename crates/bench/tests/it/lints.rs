// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every crate takes the lints of the workspace, and those forbid unsafe code.

use crate::tree::{File, files, no_faults};

/// The lines of one table of a Cargo.toml.
fn table<'a>(toml: &'a str, name: &str) -> Vec<&'a str> {
    let head = format!("[{name}]");
    toml.lines()
        .map(str::trim)
        .skip_while(|line| *line != head)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty())
        .collect()
}

fn inherits_lints(file: &File) -> Option<String> {
    (table(&file.text, "lints") != ["workspace = true"]).then(|| {
        let path = &file.path;
        format!("{path}: `[lints]` is not exactly `workspace = true`")
    })
}

fn forbids_unsafe(file: &File) -> Option<String> {
    let forbids = table(&file.text, "workspace.lints.rust").contains(&"unsafe_code = \"forbid\"");
    (!forbids).then(|| format!("{}: unsafe code is not forbidden", file.path))
}

#[test]
fn each_crate_forbids_unsafe_code() {
    let check = |text: &str| inherits_lints(&File::new("Cargo.toml", text));
    assert!(check("[lints]\nworkspace = true\n\n[dependencies]\n").is_none());
    assert!(check("[dependencies]\n").is_some());
    assert!(check("[lints]\nworkspace = true\nrust.unsafe_code = \"allow\"\n").is_some());
    let check = |text: &str| forbids_unsafe(&File::new("Cargo.toml", text));
    assert!(check("[workspace.lints.rust]\nunsafe_code = \"forbid\"\n").is_none());
    assert!(check("[workspace.lints.rust]\nunsafe_code = \"deny\"\n").is_some());

    let is_crate = |f: &&File| f.path.starts_with("crates/") && f.path.ends_with("/Cargo.toml");
    let mut faults: Vec<_> = files()
        .iter()
        .filter(is_crate)
        .filter_map(inherits_lints)
        .collect();
    let root = files().iter().find(|f| f.path == "Cargo.toml");
    faults.extend(forbids_unsafe(
        root.expect("the workspace has a Cargo.toml"),
    ));
    no_faults(&faults);
}
