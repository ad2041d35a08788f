// SPDX-License-Identifier: MIT OR Apache-2.0
//! Edits behind the store's back.

use crate::world::{World, memory};
use ancile_core::{Channel, SessionMode};
use ancile_engine::api::{EntryState, Gates};

/// Replaces bytes in the closed database file, same length, as someone with a disk would.
pub fn edit(w: World, from: &str, to: &str) -> tempfile::TempDir {
    assert_eq!(from.len(), to.len());
    let World { dir, engine, .. } = w;
    engine.close();
    let path = dir
        .path()
        .join("home/data")
        .join(ancile_store::DATABASE_FILE);
    let mut bytes = std::fs::read(&path).unwrap();
    let at: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter_map(|(i, window)| (window == from.as_bytes()).then_some(i))
        .collect();
    assert!(!at.is_empty(), "the text is in the file");
    for i in at {
        bytes[i..i + to.len()].copy_from_slice(to.as_bytes());
    }
    std::fs::write(&path, bytes).unwrap();
    dir
}

#[test]
fn promise_6_an_edited_content_is_refused_and_the_rest_stays() {
    let w = World::new();
    let source = w
        .engine
        .write(&w.user, memory(None, "The code word is alpha."))
        .unwrap();
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "What is the code word?");
    assert_eq!(w.recalled(&s, "code word").len(), 1);
    let summary = w.remember(&s, "The user asked for the code word.");
    let dir = edit(w, "word is alpha", "word is omega");
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    let view = w.engine.entry(&w.user, source.id).unwrap();
    assert_eq!(view.state, EntryState::Broken("content_edited".to_owned()));
    assert_eq!(view.text, None);
    let s = w.session(SessionMode::Interactive);
    assert!(
        !w.recalled(&s, "code word")
            .iter()
            .any(|t| t.contains("omega"))
    );
    assert!(w.engine.entry(&w.user, summary.id).unwrap().text.is_some());
    assert!(!ancile_engine::audit(&w.home(), None).unwrap().ok);
    assert_eq!(w.engine.health().integrity, "damaged");
}

#[test]
fn an_older_copy_of_the_store_is_refused() {
    let w = World::new();
    w.engine.write(&w.user, memory(None, "Old.")).unwrap();
    let World { dir, engine, .. } = w;
    engine.close();
    let file = dir
        .path()
        .join("home/data")
        .join(ancile_store::DATABASE_FILE);
    let old = std::fs::read(&file).unwrap();
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    w.engine
        .write(&w.host, memory(Some(Channel::Web), "New."))
        .unwrap();
    let World { dir, engine, .. } = w;
    engine.close();
    std::fs::write(&file, old).unwrap();
    let refused = World::open(dir, Gates::Enforce, true).err().unwrap();
    assert_eq!(refused.code, "store_refused");
    assert!(
        refused.outside.contains("rolled back"),
        "{}",
        refused.outside
    );
}
