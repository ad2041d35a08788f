// SPDX-License-Identifier: MIT OR Apache-2.0
//! A slow model keeps its callers waiting, and not the writer.

use crate::world::{World, main_namespace, memory, recall, sealing};
use ancile_core::SessionMode;
use ancile_engine::api::{ChatMessage, ChatRole, Fact, Gates, StepOp};
use ancile_engine::{Engine, IndexConfig, Model};
use ancile_models::{EmbedError, Embedder, ModelId};
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
