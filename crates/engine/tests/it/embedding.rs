// SPDX-License-Identifier: MIT OR Apache-2.0
//! A slow model keeps its callers waiting, and not the writer; one that fails, and one that is
//! another than before, is told and mended.

use crate::world::{World, main_namespace, memory, recall, sealing};
use ancile_core::SessionMode;
use ancile_engine::api::{ChatMessage, ChatRole, Fact, Gates, StepOp};
use ancile_engine::{Engine, IndexConfig, Model};
use ancile_models::{EmbedError, Embedder, ModelId};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A model that notes which thread asks it for what.
struct Noting {
    id: ModelId,
    asked: Mutex<Vec<(String, String)>>,
}

impl Embedder for Noting {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        let thread = std::thread::current().name().unwrap_or("none").to_owned();
        self.asked.lock().unwrap().push((thread, text.to_owned()));
        Ok(Some(vec![1.0, 0.0]))
    }
}

#[test]
fn no_request_has_a_text_embedded_by_the_writer() {
    let model = Arc::new(Noting {
        id: ModelId {
            name: "noting".to_owned(),
            version: 1,
            dimension: 2,
            sha256: [1; 32],
        },
        asked: Mutex::default(),
    });
    let dir = tempfile::tempdir().unwrap();
    Engine::init(&dir.path().join("home")).unwrap();
    let index = IndexConfig {
        model: Model::Other(Arc::clone(&model) as Arc<dyn Embedder>),
        ..sealing(100)
    };
    let w = World::open_with(dir, (Gates::Enforce, true), index).unwrap();
    w.engine.write(&w.user, memory(None, "One.")).unwrap();
    let batch = vec![memory(None, "Two."), memory(None, "Three.")];
    w.engine.write_batch(&w.user, batch).unwrap();
    w.engine
        .import(&w.user, vec![memory(None, "Four.")])
        .unwrap();
    w.engine
        .recall(&w.user, main_namespace(), recall("five"))
        .unwrap();
    let s = w.session(SessionMode::Interactive);
    let ops = vec![
        StepOp::Recall(recall("six")),
        StepOp::Write(memory(None, "Seven.")),
    ];
    w.step(&s, ops).unwrap();
    let message = ChatMessage {
        role: ChatRole::User,
        content: "Eight.".to_owned(),
        tool: None,
        permit: None,
    };
    let fact = Fact {
        message: 0,
        text: "Nine.".to_owned(),
    };
    w.engine
        .add_messages(&w.host, (s.id, &s.token), vec![message], vec![fact])
        .unwrap();
    let asked = model.asked.lock().unwrap();
    let texts = [
        "One.", "Two.", "Three.", "Four.", "five", "six", "Seven.", "Eight.", "Nine.",
    ];
    for text in texts {
        let by: Vec<&str> = asked
            .iter()
            .filter(|(_, asked)| asked == text)
            .map(|(thread, _)| thread.as_str())
            .collect();
        assert_eq!(by.len(), 1, "{text} is embedded once: {by:?}");
        assert_ne!(by, ["ancile-writer"], "{text}");
    }
}

/// A model that can be made to fail.
struct Moody {
    id: ModelId,
    fails: AtomicBool,
}

impl Moody {
    fn new(name: &str, dimension: usize) -> Arc<Self> {
        Arc::new(Self {
            id: ModelId {
                name: name.to_owned(),
                version: 1,
                dimension,
                sha256: [2; 32],
            },
            fails: AtomicBool::new(false),
        })
    }

    fn fails(&self, whether: bool) {
        self.fails.store(whether, Ordering::SeqCst);
    }
}

impl Embedder for Moody {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn embed(&self, _: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(EmbedError::Failed("it is in a mood".to_owned()));
        }
        let mut vector = vec![0.0; self.id.dimension];
        vector[0] = 1.0;
        Ok(Some(vector))
    }
}

fn with_model(model: &Arc<Moody>, records: u32) -> IndexConfig {
    IndexConfig {
        model: Model::Other(Arc::clone(model) as Arc<dyn Embedder>),
        ..sealing(records)
    }
}

fn opened(index: IndexConfig) -> World {
    let dir = tempfile::tempdir().unwrap();
    Engine::init(&dir.path().join("home")).unwrap();
    World::open_with(dir, (Gates::Enforce, true), index).unwrap()
}

fn reopened(w: World, index: IndexConfig) -> World {
    let World { dir, engine, .. } = w;
    engine.close();
    World::open_with(dir, (Gates::Enforce, true), index).unwrap()
}

/// Writes a text.
fn keep(w: &World, text: &str) {
    w.engine.write(&w.user, memory(None, text)).unwrap();
}

/// Which path served a question, and how many entries wait for a rebuild.
fn served(w: &World, question: &str) -> (&'static str, u64) {
    let found = w
        .engine
        .recall(&w.user, main_namespace(), recall(question))
        .unwrap();
    let state = w.engine.index_state(&w.operator).unwrap();
    (found.served_by, state.without_vectors)
}

fn rebuilt(w: &World) {
    assert!(w.engine.reindex(&w.operator).unwrap().busy);
    w.settled();
}

#[test]
fn a_model_that_fails_is_told_and_gets_another_try() {
    let model = Moody::new("moody", 2);
    let w = opened(with_model(&model, 4));
    keep(&w, "The first.");
    assert_eq!(served(&w, "one"), ("hybrid", 0));
    model.fails(true);
    keep(&w, "The second.");
    assert_eq!(served(&w, "two"), ("lexical", 1), "the question has none");
    model.fails(false);
    assert_eq!(
        served(&w, "two"),
        ("hybrid_in_part", 1),
        "it is asked again"
    );
    keep(&w, "The third.");
    keep(&w, "The fourth.");
    w.settled();
    assert_eq!(
        served(&w, "four"),
        ("hybrid", 0),
        "it is tried when it is sealed"
    );

    model.fails(true);
    for text in ["The fifth.", "The sixth.", "The seventh.", "The eighth."] {
        keep(&w, text);
    }
    w.settled();
    model.fails(false);
    assert_eq!(served(&w, "eight"), ("hybrid_in_part", 4));
    let w = reopened(w, with_model(&model, 4));
    w.settled();
    assert_eq!(served(&w, "eight"), ("hybrid_in_part", 4));
    model.fails(true);
    rebuilt(&w);
    model.fails(false);
    assert_eq!(served(&w, "eight"), ("lexical", 8), "none could be made");
    rebuilt(&w);
    assert_eq!(served(&w, "eight"), ("hybrid", 0));
    // What is in memory is embedded anew when a store is opened.
    model.fails(true);
    keep(&w, "The ninth.");
    model.fails(false);
    assert_eq!(served(&w, "nine"), ("hybrid_in_part", 1));
    let w = reopened(w, with_model(&model, 4));
    assert_eq!(served(&w, "nine"), ("hybrid", 0));
}

#[test]
fn another_model_or_dimension_and_back_is_told_until_it_is_rebuilt() {
    let (small, large) = (Moody::new("small", 2), Moody::new("small", 3));
    let indexes = [
        with_model(&small, 2),
        with_model(&large, 2),
        sealing(2),
        with_model(&small, 2),
    ];
    let mut w = opened(sealing(2));
    for text in ["A cat on a mat.", "A dog in the fog.", "A hen.", "A pen."] {
        keep(&w, text);
    }
    w.settled();
    assert_eq!(served(&w, "cat"), ("hybrid", 0));
    for (before, index) in indexes.into_iter().enumerate() {
        let entries = 4 + 2 * before as u64;
        w = reopened(w, index);
        w.settled();
        assert_eq!(served(&w, "cat"), ("lexical", entries));
        keep(&w, "A fish in a dish.");
        keep(&w, "A mouse in a house.");
        w.settled();
        assert_eq!(served(&w, "cat"), ("hybrid_in_part", entries));
        rebuilt(&w);
        assert_eq!(served(&w, "cat"), ("hybrid", 0));
    }
}
