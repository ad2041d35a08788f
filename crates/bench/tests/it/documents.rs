// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the documents say of the sources: the version of the store's format, the files of each
//! crate, and the list of formats.

use crate::tree::{File, files, no_faults};

fn text(path: &str) -> &'static str {
    let found = files().iter().find(|file| file.path == path);
    &found.unwrap_or_else(|| panic!("there is a {path}")).text
}

/// The digits right after a text.
fn number_after<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(words)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()
}

#[test]
fn the_store_is_documented_in_its_version() {
    let schema = text("crates/store/src/schema.rs");
    let is = number_after(schema, "pub const FORMAT_VERSION: i32 = ").expect("it has a version");
    let document = text("docs/formats/store.md");
    for words in ["Format version ", "| `user_version` | "] {
        assert_eq!(number_after(document, words), Some(is), "after {words:?}");
    }
    let (_, versions) = document
        .split_once("\n## Versions\n")
        .expect("they are listed");
    let last = versions.lines().rfind(|line| {
        let digit = |c: char| c.is_ascii_digit();
        line.strip_prefix("| ")
            .is_some_and(|l| l.starts_with(digit) && !l.contains(". "))
    });
    assert_eq!(last.and_then(|row| number_after(row, "| ")), Some(is));
    for part in schema.split("CREATE ").skip(1) {
        let name = part
            .split([' ', '('])
            .skip_while(|w| *w != "TABLE" && *w != "INDEX")
            .nth(1);
        let name = name.expect("a statement names what it makes");
        assert!(
            document.contains(&format!("`{name}`")),
            "`{name}` is in no document"
        );
    }
}

/// Source files of a crate that its table in the code map does not name.
fn unmapped(architecture: &str, sources: &[&File]) -> Vec<String> {
    let mut faults = Vec::new();
    for section in architecture.split("\n### ").skip(1) {
        let crate_name = section
            .strip_prefix("`crates/")
            .and_then(|s| s.split('`').next());
        let section = section.split("\n## ").next().unwrap_or("");
        let (Some(name), true) = (crate_name, section.contains("| file |")) else {
            continue;
        };
        let dir = format!("crates/{name}/src/");
        for file in sources {
            let module = file.path.strip_prefix(&dir).filter(|m| !m.contains('/'));
            if let Some(module) = module.filter(|m| *m != "lib.rs")
                && !section.contains(&format!("`{module}`"))
            {
                faults.push(format!("ARCHITECTURE.md does not name `{}`", file.path));
            }
        }
    }
    faults
}

#[test]
fn the_code_map_names_each_file() {
    let map =
        "# A\n\n### `crates/a`\n\n| file | what |\n|---|---|\n| `b.rs` | b |\n\n## Next\n`c.rs`";
    let check = |path: &str, faults: usize| {
        assert_eq!(
            unmapped(map, &[&File::new(path, "")]).len(),
            faults,
            "{path}"
        );
    };
    check("crates/a/src/b.rs", 0);
    check("crates/a/src/lib.rs", 0);
    check("crates/a/src/b/d.rs", 0);
    check("crates/a/src/c.rs", 1);
    check("crates/other/src/c.rs", 0);

    let sources: Vec<&File> = files().iter().filter(|f| f.is_rust()).collect();
    no_faults(&unmapped(text("ARCHITECTURE.md"), &sources));
}

#[test]
fn the_readme_lists_each_format() {
    let readme = text("README.md");
    let formats = files()
        .iter()
        .filter(|f| f.path.starts_with("docs/formats/"));
    let missing = formats.filter(|f| !readme.contains(&format!("({})", f.path)));
    let faults: Vec<String> = missing
        .map(|f| format!("README.md does not list {}", f.path))
        .collect();
    no_faults(&faults);
}
