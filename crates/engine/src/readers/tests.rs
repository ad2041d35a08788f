// SPDX-License-Identifier: MIT OR Apache-2.0
//! Readers are answered in the middle of a batch, from the state of the last commit.

use crate::api::{ContextPack, Gates, Recall, Write};
use crate::counts::Total;
use crate::{Caller, Engine, EngineConfig, IndexConfig, Model, Refusal, write};
use ancile_core::NamespaceName;
use ancile_models::{EmbedError, Embedder, ModelId};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a test waits for what should come at once.
const LONG: Duration = Duration::from_secs(60);

/// A model that says when the writer wants the vector of an entry that begins with `stop`, and
/// gives it when it is told to.
struct Gate {
    id: ModelId,
    reached: SyncSender<()>,
    go: Mutex<Receiver<()>>,
}

impl Embedder for Gate {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        if text.starts_with("stop") {
            self.reached.send(()).unwrap();
            self.go.lock().unwrap().recv_timeout(LONG).unwrap();
        }
        Ok(Some(vec![1.0, 0.0]))
    }
}

struct Gated {
    _dir: tempfile::TempDir,
    engine: Engine,
    user: Caller,
    reached: Receiver<()>,
    go: SyncSender<()>,
}

fn gated(gates: Gates) -> Gated {
    let ((reached, arrives), (go, waits)) = (sync_channel(0), sync_channel(0));
    let model = Gate {
        id: ModelId {
            name: "gate".to_owned(),
            version: 1,
            dimension: 2,
            sha256: [1; 32],
        },
        reached,
        go: Mutex::new(waits),
    };
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    Engine::init(&home).unwrap();
    let token = std::fs::read_to_string(home.join("keys/user.key")).unwrap();
    let config = EngineConfig {
        gates,
        index: IndexConfig {
            model: Model::Other(Arc::new(model)),
            ..IndexConfig::default()
        },
        ..EngineConfig::new(&home)
    };
    let (engine, _) = Engine::open(config).unwrap();
    let user = engine.authenticate(token.trim()).unwrap();
    Gated {
        _dir: dir,
        engine,
        user,
        reached: arrives,
        go,
    }
}

fn main() -> NamespaceName {
    NamespaceName::new("main").unwrap()
}

fn memory(text: &str) -> Write {
    Write::memory(text)
}

/// Runs a batch, and asks while it stands before its second entry.
fn beside_a_batch<T: Send>(
    gated: &Gated,
    ask: impl FnOnce(&Engine, &Caller) -> T + Send,
    batch_ends_first: bool,
) -> T {
    let Gated {
        engine,
        user,
        reached,
        go,
        ..
    } = gated;
    std::thread::scope(|threads| {
        // Its callers would have the vectors made before.
        let writes = threads.spawn(move || {
            engine.with(user, |turn, key| {
                write::batch(
                    turn,
                    key,
                    vec![memory("stop at first"), memory("stop at second")],
                )
            })
        });
        reached.recv_timeout(LONG).unwrap();
        let (answer, found) = sync_channel(1);
        threads.spawn(move || answer.send(ask(engine, user)).unwrap());
        // The question is on its way while the first entry is still being written.
        std::thread::sleep(Duration::from_millis(200));
        go.send(()).unwrap();
        reached.recv_timeout(LONG).unwrap();
        let found = if batch_ends_first {
            go.send(()).unwrap();
            found.recv_timeout(LONG).unwrap()
        } else {
            let found = found.recv_timeout(LONG).unwrap();
            go.send(()).unwrap();
            found
        };
        writes.join().unwrap().unwrap();
        found
    })
}

fn of(query: &str) -> impl FnOnce(&Engine, &Caller) -> Result<ContextPack, Refusal> + Send {
    move |engine, user| {
        let query = query.to_owned();
        engine.recall(
            user,
            main(),
            Recall {
                query,
                ..Recall::default()
            },
        )
    }
}

#[test]
fn a_reader_does_not_wait_for_a_batch() {
    let gated = gated(Gates::Enforce);
    let w = &gated;
    let kept = w.engine.write(&w.user, memory("first of May"));
    let kept = kept.unwrap();
    let pack = beside_a_batch(&gated, of("first"), false).unwrap();
    let found: Vec<_> = pack.items.iter().map(|item| item.id).collect();
    assert_eq!(found, [kept.id], "what was committed, and no more");
    let page = w.engine.entries(&w.user, main(), None, 10);
    assert_eq!(page.unwrap().items.len(), 3);
}

#[test]
fn a_list_is_of_the_last_commit() {
    let gated = gated(Gates::Enforce);
    let w = &gated;
    w.engine.write(&w.user, memory("first of May")).unwrap();
    let ask = |engine: &Engine, user: &Caller| {
        let page = engine.entries(user, main(), None, 10).unwrap();
        page.items.len()
    };
    assert_eq!(beside_a_batch(&gated, ask, false), 1);
}

#[test]
fn a_reader_that_has_to_write_waits_for_the_batch() {
    let gated = gated(Gates::Enforce);
    let w = &gated;
    let kept = w.engine.write(&w.user, memory("first of May")).unwrap();
    // It was written before the rule that holds it back.
    let as_of_old = w.engine.writer.submit(move |turn| {
        let tenant = turn.core.state.first.clone().unwrap();
        let entry = turn.entry_by_id(&tenant, &kept.id)?.unwrap();
        let mut entry = crate::state::Entry::clone(&entry);
        let mut record = ancile_core::DerivationRecord::clone(&entry.record);
        record.class = ancile_core::AuthorityClass::Untrusted;
        record.roots = ancile_core::RootSet::Untrusted;
        record.screening.instruction_like = Some(true);
        entry.record = Arc::new(record);
        let known = turn.core.state.tenant_mut(&tenant).unwrap();
        known.entries.insert_mut(entry.seq, Arc::new(entry));
        Ok(())
    });
    as_of_old.unwrap();
    let pack = beside_a_batch(&gated, of("first"), true).unwrap();
    assert_eq!(pack.withheld, 1);
    assert!(pack.items.iter().all(|item| item.id != kept.id));
    let shelf = w.engine.quarantine(&w.user, main(), None, 10).unwrap();
    assert_eq!(shelf.items.len(), 1, "logged, once");
    assert_eq!(w.engine.counts().totals().of(Total::Withheld), 1);
}
