// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random histories of a store against plain lists.

use crate::fixture::*;
use ancile_store::{Content, Savepoint, Store, audit};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum Act {
    Record {
        tenant: u8,
        content: Vec<u8>,
    },
    Control {
        tenant: u8,
        text: String,
    },
    Erase {
        tenant: u8,
        seq: u8,
    },
    Savepoint,
    Rollback,
    Release,
    Commit,
    /// Drops the store, with its open group, and opens it again.
    Reopen,
}

fn act() -> impl Strategy<Value = Act> {
    let content = prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        4 => (0..3u8, content).prop_map(|(tenant, content)| Act::Record { tenant, content }),
        2 => (0..3u8, "[a-z]{0,8}").prop_map(|(tenant, text)| Act::Control { tenant, text }),
        1 => (0..3u8, 0..4u8).prop_map(|(tenant, seq)| Act::Erase { tenant, seq }),
        2 => Just(Act::Savepoint),
        1 => Just(Act::Rollback),
        1 => Just(Act::Release),
        2 => Just(Act::Commit),
        1 => Just(Act::Reopen),
    ]
}

/// Body and content of each leaf of each tenant.
type Logs = BTreeMap<String, Vec<(Vec<u8>, Option<Vec<u8>>)>>;

struct Model {
    place: Place,
    store: Option<Store>,
    now: Logs,
    committed: Logs,
    groups: u64,
    changed: bool,
    savepoints: Vec<(Savepoint, Logs, bool)>,
}

impl Model {
    fn new() -> Self {
        let place = Place::new();
        let store = Some(place.create());
        let (now, committed) = (Logs::new(), Logs::new());
        Self {
            place,
            store,
            now,
            committed,
            groups: 1,
            changed: false,
            savepoints: Vec::new(),
        }
    }

    fn store(&mut self) -> &mut Store {
        self.store.as_mut().unwrap()
    }

    fn append(&mut self, number: u8, body: Vec<u8>, content: Option<Vec<u8>>) {
        let name = format!("t{number}");
        let bytes = content
            .as_deref()
            .map(|bytes| Content { salt: SALT, bytes });
        let appended = self.store().append(&tenant(&name), &body, bytes).unwrap();
        let log = self.now.entry(name).or_default();
        assert_eq!(appended.seq, log.len() as u64);
        log.push((body, content));
        self.changed = true;
    }

    fn run(&mut self, act: Act) {
        match act {
            Act::Record {
                tenant: number,
                content,
            } => {
                let body = record(&tenant(&format!("t{number}")), &content);
                self.append(number, body, Some(content));
            }
            Act::Control { tenant, text } => self.append(tenant, control(&text), None),
            Act::Erase {
                tenant: number,
                seq,
            } => {
                let name = format!("t{number}");
                let removed = self.store().remove_content(&tenant(&name), u64::from(seq));
                let leaf = self
                    .now
                    .get_mut(&name)
                    .and_then(|log| log.get_mut(usize::from(seq)));
                assert_eq!(removed.is_ok(), leaf.is_some());
                if let Some(leaf) = leaf {
                    leaf.1 = None;
                    self.changed = true;
                }
            }
            Act::Savepoint => {
                let savepoint = self.store().savepoint().unwrap();
                self.savepoints
                    .push((savepoint, self.now.clone(), self.changed));
            }
            Act::Rollback => {
                if let Some((savepoint, before, changed)) = self.savepoints.pop() {
                    self.store().rollback(savepoint).unwrap();
                    (self.now, self.changed) = (before, changed);
                }
            }
            Act::Release => {
                if let Some((savepoint, ..)) = self.savepoints.pop() {
                    self.store().release(savepoint).unwrap();
                }
            }
            Act::Commit => {
                self.groups += u64::from(self.changed);
                let groups = self.groups;
                assert_eq!(self.store().commit().unwrap().group() + 1, groups);
                self.committed = self.now.clone();
                self.changed = false;
                self.savepoints.clear();
            }
            Act::Reopen => self.reopen(),
        }
        self.check_reads();
    }

    fn reopen(&mut self) {
        self.savepoints.clear();
        self.store = None;
        let (store, report, seen) = self.place.open().unwrap();
        assert_eq!((report.groups, report.damage_total), (self.groups, 0));
        let mut replayed = Logs::new();
        for leaf in seen {
            let (_, body, content) = leaf.what.unwrap();
            let log = replayed.entry(leaf.tenant).or_default();
            assert_eq!(leaf.seq, log.len() as u64);
            log.push((body, content));
        }
        assert_eq!(replayed, self.committed);
        self.store = Some(store);
        self.now = self.committed.clone();
        self.changed = false;
    }

    fn check_reads(&mut self) {
        let now = self.now.clone();
        let store = self.store();
        let names: Vec<String> = store.tenants().map(ToString::to_string).collect();
        let held: Vec<&String> = now
            .iter()
            .filter(|(_, log)| !log.is_empty())
            .map(|l| l.0)
            .collect();
        assert_eq!(names.iter().collect::<Vec<_>>(), held);
        for (name, log) in &now {
            assert_eq!(store.size(&tenant(name)), log.len() as u64);
            for (seq, (body, content)) in (0u64..).zip(log) {
                let leaf = store.read(&tenant(name), seq).unwrap();
                assert_eq!(
                    (&leaf.body, leaf.content.map(|c| c.bytes)),
                    (body, content.clone())
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn a_store_is_a_list_a_tenant(acts in prop::collection::vec(act(), 1..30)) {
        let mut model = Model::new();
        for act in acts {
            model.run(act);
        }
        model.reopen();
        model.store = None;
        let place = &model.place;
        let report = audit(&place.dir(), Some(&place.witness()), &verifier()).unwrap();
        prop_assert!(report.ok(), "{:?}", report);
    }
}
