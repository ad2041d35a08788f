// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often recall finds what a question needs, by the weight of the lexical leg.
//!
//! Conversations of LoCoMo, one store each, one memory a round (two turns) with the time of its
//! session before it. A question of category 1, 2 or 4 counts as answered where a round with any of
//! its evidence is among the best 15. Weights are compared on the first five conversations; the
//! other five are looked at once a weight is chosen.
//!
//! With the feature `minilm`, `ANCILE_MINILM` names the directory with the files of
//! all-MiniLM-L6-v2, and it takes the place of the built-in embedder.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a measurement may stop at the first surprise"
)]

use ancile_core::{EntryId, NamespaceName};
use ancile_engine::api::{BATCH_ENTRIES_MAX, Explained, Recall, Write};
use ancile_engine::{Caller, Engine, EngineConfig, Model};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The best that are looked at.
const TOP: usize = 15;
/// The constant of reciprocal rank fusion, as in the engine.
const RANK_OFFSET: f64 = 60.0;
/// Conversations on which weights are compared.
const TRAINING: usize = 5;

/// A question: where its evidence is, and the candidates with their ranks in both legs.
struct Asked {
    evidence: Vec<EntryId>,
    found: Vec<(EntryId, Explained)>,
}

fn main() {
    let Some(data) = std::env::var_os("ANCILE_DATA").map(PathBuf::from) else {
        println!("not_run: ANCILE_DATA is not set; name the directory of the corpora");
        return;
    };
    let path = data.join("locomo").join("locomo10.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("not_run: {} is missing", path.display());
        return;
    };
    let conversations: Vec<Value> = serde_json::from_str(&text).expect("LoCoMo is JSON");
    let model = model();
    println!("model: {model:?}");
    let asked: Vec<Vec<Asked>> = conversations.iter().map(|c| ask(c, &model)).collect();
    let (training, test) = asked.split_at(TRAINING.min(asked.len()));
    println!("lexical weight, any evidence among {TOP}: training, test");
    for lexical in (0..=10).map(|tenth| f64::from(tenth) / 10.0) {
        let (of, all) = score(training, lexical);
        let (of_test, all_test) = score(test, lexical);
        println!(
            "{lexical:.1}  {of}/{all} {:.4}  {of_test}/{all_test} {:.4}",
            of as f64 / all as f64,
            of_test as f64 / all_test as f64
        );
    }
}

/// Questions answered, and all of them.
fn score(conversations: &[Vec<Asked>], lexical: f64) -> (usize, usize) {
    let questions = || conversations.iter().flatten();
    let answered = questions().filter(|asked| {
        let share = |rank: Option<u32>| rank.map_or(0.0, |r| 1.0 / (RANK_OFFSET + f64::from(r)));
        let score = |why: &Explained| {
            lexical * share(why.lexical.map(|(rank, _)| rank))
                + (1.0 - lexical) * share(why.dense.map(|(rank, _)| rank))
        };
        let mut ranked: Vec<(f64, EntryId)> = asked
            .found
            .iter()
            .map(|(id, why)| (score(why), *id))
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let best = ranked.iter().take(TOP).filter(|(score, _)| *score > 0.0);
        best.into_iter().any(|(_, id)| asked.evidence.contains(id))
    });
    (answered.count(), questions().count())
}

/// What finds entries by meaning.
#[cfg(not(feature = "minilm"))]
fn model() -> Model {
    Model::Builtin
}

/// What finds entries by meaning: the model that was fetched, where one is named.
#[cfg(feature = "minilm")]
fn model() -> Model {
    let Some(dir) = std::env::var_os("ANCILE_MINILM").map(PathBuf::from) else {
        return Model::Builtin;
    };
    let read = |name| {
        let bytes = std::fs::read(dir.join(name)).expect("a file of the model");
        ancile_models::Hashed::of(bytes)
    };
    let (weights, tokenizer) = (read("model.safetensors"), read("tokenizer.json"));
    let threads = std::thread::available_parallelism().expect("a number of processors");
    let made = ancile_models::MiniLm::load(&weights, &tokenizer, threads);
    Model::Other(std::sync::Arc::new(made.expect("the pinned model")))
}

/// Writes a conversation and asks all its questions.
fn ask(conversation: &Value, model: &Model) -> Vec<Asked> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let home = dir.path().join("home");
    Engine::init(&home).expect("a new home");
    let mut config = EngineConfig::new(&home);
    config.index.model = model.clone();
    let (engine, _) = Engine::open(config).expect("a store that opens");
    let token = std::fs::read_to_string(home.join("keys/user.key")).expect("a key");
    let user = engine.authenticate(token.trim()).expect("a key that works");
    let turns = write(&engine, &user, &conversation["conversation"]);
    let questions = conversation["qa"].as_array().expect("questions");
    let kept = questions
        .iter()
        .filter(|q| matches!(q["category"].as_i64(), Some(1 | 2 | 4)));
    let asked = kept.map(|question| {
        let evidence = question["evidence"].as_array().into_iter().flatten();
        let ids = evidence.filter_map(|turn| turns.get(turn.as_str()?).copied());
        let recall = Recall {
            query: question["question"].as_str().unwrap_or_default().to_owned(),
            k: Some(256),
            tokens: Some(u32::MAX),
            explain: true,
            ..Recall::default()
        };
        let pack = engine.recall(&user, namespace(), recall).expect("a pack");
        assert_eq!(pack.served_by, "hybrid");
        let found = pack
            .items
            .iter()
            .filter_map(|item| Some((item.id, item.explained?)));
        Asked {
            evidence: ids.collect(),
            found: found.collect(),
        }
    });
    let asked: Vec<Asked> = asked.filter(|asked| !asked.evidence.is_empty()).collect();
    engine.close();
    asked
}

fn namespace() -> NamespaceName {
    NamespaceName::new("main").expect("a name")
}

/// One memory a round; says which holds which turn.
fn write(engine: &Engine, user: &Caller, conversation: &Value) -> BTreeMap<String, EntryId> {
    let mut rounds: Vec<(String, Vec<String>)> = Vec::new();
    for number in 1.. {
        let Some(turns) = conversation[format!("session_{number}")].as_array() else {
            if number > 99 {
                break;
            }
            continue;
        };
        let time = conversation[format!("session_{number}_date_time")].as_str();
        for round in turns.chunks(2) {
            let mut text = time.unwrap_or_default().to_owned();
            let mut ids = Vec::new();
            for turn in round {
                let field = |name: &str| turn[name].as_str().unwrap_or_default();
                text.push_str(&format!("\n{}: {}", field("speaker"), field("text")));
                if let Some(seen) = turn["blip_caption"].as_str() {
                    text.push_str(&format!(" [shows {seen}]"));
                }
                ids.push(field("dia_id").to_owned());
            }
            rounds.push((text, ids));
        }
    }
    let mut turns = BTreeMap::new();
    for some in rounds.chunks(BATCH_ENTRIES_MAX) {
        let entries = some.iter().map(|(text, _)| memory(text)).collect();
        let written = engine.write_batch(user, entries).expect("a batch");
        for ((_, ids), written) in some.iter().zip(written) {
            turns.extend(ids.iter().map(|id| (id.clone(), written.id)));
        }
    }
    turns
}

fn memory(text: &str) -> Write {
    Write::memory(text)
}
