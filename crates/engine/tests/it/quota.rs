// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quotas: class 4 makes room, and nothing else does.

use crate::world::{World, main_namespace, memory, principal};
use ancile_core::{Channel, EntryId, NamespaceName, SessionMode};
use ancile_engine::api::{EVICTIONS_MAX, EntryState, PageSpec, QuotaSpec};
use ancile_engine::{Caller, Fault, Refusal, audit};

const ALL: PageSpec<'static> = PageSpec {
    cursor: None,
    limit: 200,
};

fn quota(entries: Option<u64>, bytes: Option<u64>) -> QuotaSpec {
    QuotaSpec {
        namespace: Some(main_namespace()),
        principal: None,
        entries,
        bytes,
    }
}

fn set(w: &World, spec: QuotaSpec) {
    w.engine.set_quota(&w.operator, spec).unwrap();
}

fn own(w: &World, text: &str) -> Result<EntryId, Refusal> {
    let written = w.engine.write(&w.user, memory(None, text));
    written.map(|w| w.id)
}

fn web(w: &World, by: &Caller, text: &str) -> Result<EntryId, Refusal> {
    let written = w.engine.write(by, memory(Some(Channel::Web), text));
    written.map(|w| w.id)
}

fn state(w: &World, id: EntryId) -> EntryState {
    w.engine.entry(&w.user, id).unwrap().state
}

fn used(w: &World) -> (u64, u64, u64) {
    let view = &w.engine.quotas(&w.operator, ALL).unwrap().items[0];
    (view.used_entries, view.used_bytes, view.untrusted_entries)
}

#[test]
fn promise_5_a_quota_evicts_class_4_only_and_the_oldest_first() {
    let w = World::new();
    set(&w, quota(Some(4), None));
    let mine = own(&w, "the first note").unwrap();
    let pages: Vec<EntryId> = (0..3)
        .map(|n| web(&w, &w.host, &format!("page number {n}")).unwrap())
        .collect();
    assert_eq!(used(&w).0, 4, "at the limit");
    let fourth = web(&w, &w.host, "page number 3").unwrap();
    assert_eq!(state(&w, pages[0]), EntryState::Evicted);
    assert_eq!(state(&w, pages[1]), EntryState::Current);
    let second = own(&w, "the second note").unwrap();
    assert_eq!(state(&w, pages[1]), EntryState::Evicted);
    own(&w, "the third note").unwrap();
    own(&w, "the fourth note").unwrap();
    for id in [pages[2], fourth] {
        assert_eq!(state(&w, id), EntryState::Evicted);
    }
    let full = own(&w, "the fifth note").unwrap_err();
    assert_eq!((full.fault, full.code), (Fault::Conflict, "quota_exceeded"));
    assert!(full.outside.contains("is 4 entries"), "{full}");
    assert!(full.outside.contains("raise the quota"), "{full}");
    let full = web(&w, &w.host, "page number 4").unwrap_err();
    assert_eq!(full.code, "quota_exceeded");
    assert_eq!(used(&w), (4, 58, 0));
    for id in [mine, second] {
        assert_eq!(state(&w, id), EntryState::Current);
    }
    // What was evicted is gone for good, and the log says so.
    let w = w.reopen();
    assert_eq!(used(&w), (4, 58, 0));
    assert_eq!(state(&w, pages[0]), EntryState::Evicted);
    assert_eq!(w.engine.entry(&w.user, pages[0]).unwrap().text, None);
    w.settled();
    assert_eq!(w.engine.health().integrity, "verified");
    w.engine.erase(&w.user, mine).unwrap();
    own(&w, "the fifth note").unwrap();
    let home = w.home();
    w.engine.clone().close();
    let summary = audit(&home, None).unwrap();
    assert!(summary.ok, "{:?}", summary.problems);
}

#[test]
fn bytes_have_a_limit_below_at_and_above() {
    for (room, fits) in [(9, false), (10, true), (11, true)] {
        let w = World::new();
        set(&w, quota(None, Some(room)));
        let outcome = own(&w, "ten bytes!");
        assert_eq!(outcome.is_ok(), fits, "{room}");
        if fits {
            assert!(own(&w, "xy").unwrap_err().outside.contains("bytes"));
        }
    }
    let w = World::new();
    set(&w, quota(Some(0), None));
    assert_eq!(own(&w, "a note").unwrap_err().code, "quota_exceeded");
    set(&w, quota(None, None));
    own(&w, "a note").unwrap();
    assert!(w.engine.quotas(&w.operator, ALL).unwrap().items.is_empty());
}

#[test]
fn one_who_floods_pushes_out_their_own() {
    let w = World::new();
    set(&w, quota(Some(4), None));
    let first = web(&w, &w.agent, "of the agent").unwrap();
    for n in 0..10 {
        web(&w, &w.host, &format!("flood number {n}")).unwrap();
    }
    assert_eq!(state(&w, first), EntryState::Current);
    // A principal's quota is over all namespaces, and one in a namespace over that.
    let spec = QuotaSpec {
        namespace: None,
        principal: Some(principal("host")),
        entries: Some(2),
        bytes: None,
    };
    set(&w, spec);
    web(&w, &w.host, "one more").unwrap();
    assert_eq!(used(&w).0, 2, "the host's");
    let spec = QuotaSpec {
        namespace: Some(main_namespace()),
        principal: Some(principal("assistant")),
        entries: Some(1),
        bytes: None,
    };
    set(&w, spec);
    web(&w, &w.agent, "another of the agent").unwrap();
    assert_eq!(state(&w, first), EntryState::Evicted);
    let all = w.engine.quotas(&w.operator, ALL).unwrap().items;
    assert_eq!(all.len(), 3);
    let mut listed = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = PageSpec {
            cursor: cursor.as_deref(),
            limit: 1,
        };
        let page = w.engine.quotas(&w.operator, page).unwrap();
        listed.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(listed, all);
}

#[test]
fn a_lowered_quota_is_reached_by_and_by() {
    let w = World::new();
    let pages = EVICTIONS_MAX + 10;
    let ops: Vec<_> = (0..pages)
        .map(|n| memory(Some(Channel::Web), &format!("page {n}")))
        .collect();
    for some in ops.chunks(ancile_engine::api::BATCH_ENTRIES_MAX) {
        w.engine.write_batch(&w.host, some.to_vec()).unwrap();
    }
    set(&w, quota(Some(5), None));
    own(&w, "a note").unwrap();
    assert_eq!(used(&w).0, 11);
    own(&w, "a note more").unwrap();
    assert_eq!(used(&w), (5, 17 + 24, 3));
}

#[test]
fn only_operators_set_quotas_and_an_evicted_entry_leaves_its_line() {
    let w = World::new();
    for by in [&w.user, &w.host, &w.agent] {
        let refused = w.engine.set_quota(by, quota(Some(1), None)).unwrap_err();
        assert_eq!(refused.fault, Fault::Forbidden);
        assert_eq!(
            w.engine.quotas(by, ALL).unwrap_err().fault,
            Fault::Forbidden
        );
    }
    let mut spec = quota(Some(1), None);
    spec.namespace = None;
    let refused = w.engine.set_quota(&w.operator, spec.clone()).unwrap_err();
    assert_eq!(refused.code, "quota_of_nothing");
    spec.namespace = NamespaceName::new("elsewhere").ok();
    let refused = w.engine.set_quota(&w.operator, spec).unwrap_err();
    assert_eq!(refused.fault, Fault::NotFound);
    // A session that was shown what is evicted goes on, and keeps its class.
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "What does the page say?");
    let page = web(&w, &w.host, "The page says zebra.").unwrap();
    assert_eq!(w.recalled(&s, "zebra").len(), 1);
    let class = w.class(s.id);
    set(&w, quota(Some(1), None));
    own(&w, "a note").unwrap();
    assert_eq!(state(&w, page), EntryState::Evicted);
    assert_eq!(w.recalled(&s, "zebra").len(), 0);
    assert_eq!(w.class(s.id), class);
}
