// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workspace as text, and as `cargo metadata` sees it.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// One text file of the workspace; `path` is relative to its root, with `/`.
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }

    /// Whether the file holds tests or their data, by where it lies.
    pub fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("the crate lies two levels down")
        .to_owned()
}

/// All text files, sorted by path. Build output, history and stores are left out.
pub fn files() -> &'static [File] {
    static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
        let root = root();
        let mut found = Vec::new();
        walk(&root, &root, &mut found);
        found.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(found.len() > 100, "only {} files were found", found.len());
        found
    });
    &FILES
}

fn walk(root: &Path, dir: &Path, found: &mut Vec<File>) {
    for entry in fs::read_dir(dir).expect("a directory of the workspace reads") {
        let path = entry.expect("an entry of a directory reads").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        let hidden = name.starts_with('.') && name != ".ci" && name != ".config";
        if hidden || name == "target" || name == "node_modules" {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let relative = path.strip_prefix(root).expect("it lies under the root");
            let parts: Vec<_> = relative.iter().filter_map(|p| p.to_str()).collect();
            found.push(File {
                path: parts.join("/"),
                text,
            });
        }
    }
}

/// What `cargo metadata` says of the locked dependencies as they are on Linux.
pub fn metadata() -> &'static Value {
    static METADATA: LazyLock<Value> = LazyLock::new(|| {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let output = Command::new(cargo)
            .args(["metadata", "--locked", "--format-version", "1"])
            .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
            .current_dir(root())
            .output()
            .expect("cargo metadata runs");
        let fault = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo metadata: {fault}");
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
    });
    &METADATA
}

/// Fails with all faults, one a line.
#[track_caller]
pub fn no_faults(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}
