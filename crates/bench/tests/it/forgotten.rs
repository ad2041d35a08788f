// SPDX-License-Identifier: MIT OR Apache-2.0
//! No test file is forgotten: each crate has one integration binary whose `main.rs` names every
//! file beside it, and every `tests.rs` is declared by the module it belongs to.

use crate::tree::{File, files, no_faults};

/// Test files that nothing compiles.
fn forgotten(files: &[File]) -> Vec<String> {
    let text = |path: &str| files.iter().find(|f| f.path == path).map(|f| &f.text);
    let mut faults = Vec::new();
    for file in files.iter().filter(|f| f.is_rust()) {
        let Some((parent, module)) = parent_of(&file.path) else {
            continue;
        };
        let declared = parent.iter().any(|p| {
            text(p).is_some_and(|t| {
                t.lines()
                    .any(|l| l.trim().trim_start_matches("pub ") == format!("mod {module};"))
            })
        });
        if !declared {
            let parents = parent.join("` or `");
            faults.push(format!(
                "{}: `{parents}` does not say `mod {module};`",
                file.path
            ));
        }
    }
    faults
}

/// The files that may declare a test file, and the name they would give it.
fn parent_of(path: &str) -> Option<(Vec<String>, String)> {
    let (dir, name) = path.rsplit_once('/')?;
    let stem = name.strip_suffix(".rs")?;
    let in_tests = path.contains("/tests/");
    if path.ends_with("/tests/it/main.rs") || (!in_tests && name != "tests.rs") {
        return None;
    }
    if dir.ends_with("/tests") {
        return Some((vec![format!("{dir}/it/main.rs")], stem.to_owned()));
    }
    let (dir, module) = if name == "mod.rs" {
        dir.rsplit_once('/')?
    } else {
        (dir, stem)
    };
    let root = |file: &str| format!("{dir}/{file}.rs");
    let parents = vec![format!("{dir}.rs"), root("mod"), root("main"), root("lib")];
    Some((parents, module.to_owned()))
}

#[test]
fn no_test_file_is_forgotten() {
    let main = File::new("crates/a/tests/it/main.rs", "mod b;\n");
    let check = |path: &str, faults: usize| {
        let main = File::new(&main.path, &main.text);
        let source = File::new("crates/a/src/c.rs", "#[cfg(test)]\nmod tests;\n");
        let files = [main, source, File::new(path, "")];
        assert_eq!(forgotten(&files).len(), faults, "{path}");
    };
    check("crates/a/tests/it/b.rs", 0);
    check("crates/a/tests/it/b/mod.rs", 0);
    check("crates/a/tests/it/c.rs", 1);
    check("crates/a/tests/other.rs", 1);
    check("crates/a/src/c/tests.rs", 0);
    check("crates/a/src/d/tests.rs", 1);

    no_faults(&forgotten(files()));
}
