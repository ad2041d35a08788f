// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists, batches, and the ends of keys and tasks.

use crate::world::{World, main_namespace, memory, principal};
use ancile_core::{Channel, EntryKind, Micros, NamespaceName, Role, SessionMode, TenantName};
use ancile_engine::api::{
    BATCH_ENTRIES_MAX, KeySpec, OVERLAP_SECONDS_MAX, Page, PageSpec, ProvenLog, TaskFilter,
    TaskSpec, TenantSpec, Write,
};
use ancile_engine::{Caller, Fault, FireSpec, Refusal};

const ALL: PageSpec<'static> = PageSpec {
    cursor: None,
    limit: 200,
};

fn key(role: Role, name: &str) -> KeySpec {
    KeySpec {
        principal: principal(name),
        role,
        namespaces: vec![main_namespace()],
        channels: vec![Channel::User],
        agent: None,
        relays_user: false,
        expires: None,
    }
}

/// All items of a list, by pages of this size, and what `meanwhile` does after each page.
fn by_pages<T>(
    limit: usize,
    list: impl Fn(PageSpec<'_>) -> Result<Page<T>, Refusal>,
    meanwhile: impl Fn(usize),
) -> Vec<T> {
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    for at in 0.. {
        let page = list(PageSpec {
            cursor: cursor.as_deref(),
            limit,
        });
        let page = page.unwrap();
        assert!(page.items.len() <= limit);
        items.extend(page.items);
        meanwhile(at);
        cursor = page.next;
        if cursor.is_none() {
            return items;
        }
    }
    items
}

#[test]
fn a_batch_is_written_in_order_all_or_none() {
    let w = World::new();
    let batch = |n: usize| -> Vec<Write> {
        let one = |i| memory(None, &format!("note number {i}"));
        (0..n).map(one).collect()
    };
    for (n, fits) in [
        (0, false),
        (1, true),
        (BATCH_ENTRIES_MAX - 1, true),
        (BATCH_ENTRIES_MAX, true),
        (BATCH_ENTRIES_MAX + 1, false),
    ] {
        let outcome = w.engine.write_batch(&w.user, batch(n));
        match outcome {
            Ok(written) => {
                assert!(fits, "{n}");
                assert_eq!(written.len(), n);
                assert!(written.is_sorted_by_key(|w| w.seq));
            }
            Err(refusal) => assert_eq!((refusal.code, fits), ("count_out_of_range", false)),
        }
    }
    let before = w.engine.health().entries;
    let mut bad = batch(3);
    bad[2].text = " ".to_owned();
    let refused = w.engine.write_batch(&w.user, bad).unwrap_err();
    assert_eq!(refused.code, "empty_text");
    assert!(refused.outside.starts_with("entry 2: "), "{refused}");
    assert_eq!(w.engine.health().entries, before, "nothing of it was kept");
}

#[test]
fn lists_are_whole_and_stable_while_things_are_made() {
    let w = World::new();
    let mut ids: Vec<_> = (0..7)
        .map(|_| w.session(SessionMode::Headless).id)
        .collect();
    // Those of one millisecond have no order but that of their bytes.
    ids.sort_unstable();
    let listed = by_pages(
        2,
        |page| w.engine.sessions(&w.host, page),
        |_| drop(w.session(SessionMode::Headless)),
    );
    let listed: Vec<_> = listed.into_iter().map(|s| s.id).collect();
    assert_eq!(listed, ids.into_iter().rev().collect::<Vec<_>>());
    let name = |name: &str| NamespaceName::new(name).unwrap();
    for made in ["b", "d", "f"] {
        w.engine
            .make_namespace(&w.operator, name(made), vec![], vec![])
            .unwrap();
    }
    // What is made behind the cursor is left out, what is made before it comes.
    let listed = by_pages(
        1,
        |page| w.engine.namespaces(&w.operator, page),
        |at| {
            if at == 1 {
                for made in ["a", "e"] {
                    w.engine
                        .make_namespace(&w.operator, name(made), vec![], vec![])
                        .unwrap();
                }
            }
        },
    );
    let listed: Vec<String> = listed.iter().map(|n| n.name.to_string()).collect();
    assert_eq!(listed, ["b", "d", "e", "f", "main"]);
    for who in ["zoe", "bob"] {
        w.engine
            .make_key(&w.operator, key(Role::User, who))
            .unwrap();
    }
    let who = by_pages(2, |page| w.engine.principals(&w.operator, page), |_| {});
    let who: Vec<String> = who.iter().map(|p| p.name.to_string()).collect();
    assert_eq!(
        who,
        ["alice", "assistant", "bob", "host", "operator", "zoe"]
    );
    let keys = by_pages(2, |page| w.engine.keys(&w.operator, page), |_| {});
    assert_eq!(keys.len(), 6);
    assert!(keys.is_sorted_by_key(|k| k.id.clone()));
    for bad in ["", "x", "../..", "0123456789abcdeg"] {
        let page = PageSpec {
            cursor: Some(bad),
            limit: 1,
        };
        let refused = w.engine.keys(&w.operator, page).unwrap_err();
        assert_eq!(refused.code, "bad_cursor");
        let refused = w.engine.sessions(&w.host, page).unwrap_err();
        assert_eq!(refused.code, "bad_cursor");
    }
}

#[test]
fn each_sees_the_sessions_that_concern_it() {
    let w = World::new();
    let session = w.session(SessionMode::Headless);
    let seen = |by: &Caller| w.engine.sessions(by, ALL).unwrap().items.len();
    assert_eq!([seen(&w.host), seen(&w.user), seen(&w.operator)], [1, 1, 1]);
    assert_eq!(seen(&w.agent), 0);
    let bob = w.engine.make_key(&w.operator, key(Role::User, "bob"));
    let bob = w.engine.authenticate(&bob.unwrap().token).unwrap();
    assert_eq!(seen(&bob), 0);
    assert_eq!(
        w.engine.session(&bob, session.id).unwrap_err().fault,
        Fault::NotFound
    );
}

#[test]
fn a_namespace_gets_other_readers_and_writers_also_after_reopening() {
    let w = World::new();
    let (main, alice) = (main_namespace(), principal("alice"));
    let write = |w: &World| w.engine.write(&w.user, memory(None, "a note"));
    write(&w).unwrap();
    let change = |w: &World, by: &Caller, writers| {
        let name = main_namespace();
        w.engine.change_namespace(by, name, vec![], writers)
    };
    assert_eq!(
        change(&w, &w.user, vec![alice.clone()]).unwrap_err().fault,
        Fault::Forbidden
    );
    change(&w, &w.operator, vec![principal("bob")]).unwrap();
    assert_eq!(write(&w).unwrap_err().fault, Fault::Forbidden);
    let w = w.reopen();
    assert_eq!(write(&w).unwrap_err().fault, Fault::Forbidden);
    change(&w, &w.operator, vec![alice]).unwrap();
    write(&w).unwrap();
    let seen = w.engine.namespaces(&w.user, ALL).unwrap().items;
    assert_eq!((seen[0].name.clone(), seen[0].writes), (main, true));
    assert_eq!(seen[0].lists, None, "the lists are the operator's");
    let unknown = NamespaceName::new("elsewhere").unwrap();
    let refused = w
        .engine
        .change_namespace(&w.operator, unknown, vec![], vec![]);
    assert_eq!(refused.unwrap_err().fault, Fault::NotFound);
}

#[test]
fn a_rotated_key_ends_with_its_overlap_and_the_new_one_is_like_it() {
    let w = World::new();
    let made = w
        .engine
        .make_key(&w.operator, key(Role::User, "bob"))
        .unwrap();
    let rotate = |by: &Caller, id: &str, overlap| w.engine.rotate_key(by, id, overlap);
    assert_eq!(
        rotate(&w.user, &made.id, 0).unwrap_err().fault,
        Fault::Forbidden
    );
    for (overlap, fits) in [
        (OVERLAP_SECONDS_MAX - 1, true),
        (OVERLAP_SECONDS_MAX, true),
        (OVERLAP_SECONDS_MAX + 1, false),
    ] {
        let outcome = rotate(&w.operator, &made.id, overlap);
        assert_eq!(outcome.is_ok(), fits, "{overlap}");
    }
    w.engine.authenticate(&made.token).unwrap();
    let next = rotate(&w.operator, &made.id, 0).unwrap();
    let refused = w.engine.authenticate(&made.token).unwrap_err();
    assert_eq!(refused.code, "key_refused");
    let w = w.reopen();
    assert!(w.engine.authenticate(&made.token).is_err());
    let bob = w.engine.authenticate(&next.token).unwrap();
    assert_eq!(
        (bob.principal(), bob.role()),
        (&principal("bob"), Role::User)
    );
    let again = w.engine.rotate_key(&w.operator, &made.id, 0).unwrap_err();
    assert_eq!(again.code, "already_revoked");
    let keys = w.engine.keys(&w.operator, ALL).unwrap().items;
    let own = keys.iter().find(|k| k.spec.role == Role::Operator).unwrap();
    let refused = w.engine.rotate_key(&w.operator, &own.id, 0).unwrap_err();
    assert_eq!(refused.code, "own_key");
    let new = w.engine.rotate_key(&w.operator, &own.id, 1).unwrap();
    w.engine.authenticate(&new.token).unwrap();
}

#[test]
fn a_cancelled_task_fires_no_more_also_after_reopening() {
    let w = World::new();
    let mut op = memory(None, "Water the plants.");
    op.kind = EntryKind::Task;
    op.task = Some(TaskSpec {
        due: Micros(1),
        every_seconds: Some(60),
        call: None,
    });
    let task = w.engine.write(&w.user, op).unwrap().id;
    for by in [&w.host, &w.agent] {
        let refused = w.engine.cancel_task(by, task).unwrap_err();
        assert_eq!(refused.fault, Fault::Forbidden);
    }
    w.engine.cancel_task(&w.user, task).unwrap();
    assert_eq!(
        w.engine.cancel_task(&w.user, task).unwrap_err().code,
        "task_over"
    );
    let w = w.reopen();
    let spec = FireSpec {
        agent: principal("assistant"),
        user: principal("alice"),
    };
    let refused = w.engine.fire(&w.host, task, spec).unwrap_err();
    assert_eq!(refused.code, "task_not_due");
    let due = TaskFilter {
        namespace: main_namespace(),
        due_only: true,
    };
    assert_eq!(
        w.engine.tasks(&w.user, due, None, 10).unwrap().items,
        vec![]
    );
    let note = w.engine.write(&w.user, memory(None, "a note")).unwrap().id;
    let refused = w.engine.cancel_task(&w.user, note).unwrap_err();
    assert_eq!(refused.fault, Fault::NotFound);
}

#[test]
fn operators_see_the_tenants_and_the_integrity_that_are_theirs() {
    let w = World::new();
    let spec = TenantSpec {
        name: TenantName::new("acme").unwrap(),
        operator: principal("root"),
    };
    let root = w.engine.make_tenant(&w.operator, spec).unwrap();
    let root = w.engine.authenticate(&root.token).unwrap();
    w.engine.write(&w.user, memory(None, "a note")).unwrap();
    let all = w.engine.tenants(&w.operator, ALL).unwrap().items;
    let all: Vec<_> = all.iter().map(|t| (t.name.as_str(), t.entries)).collect();
    assert_eq!(all, [("acme", 0), ("default", 1)]);
    assert_eq!(
        w.engine.tenants(&root, ALL).unwrap_err().fault,
        Fault::Forbidden
    );
    let theirs = w.engine.integrity(&root).unwrap();
    assert_eq!((theirs.health.tenants, theirs.health.entries), (1, 0));
    assert_eq!(theirs.leaves, 2);
    let ours = w.engine.integrity(&w.operator).unwrap();
    assert_eq!((ours.health.tenants, ours.health.entries), (2, 1));
    assert_eq!(
        w.engine.integrity(&w.user).unwrap_err().fault,
        Fault::Forbidden
    );
}

#[test]
fn a_log_is_proved_to_continue_an_earlier_one() {
    use ancile_ledger::{NodeHash, TreeHead, verify_consistency};
    let w = World::new();
    let ask = |log, size| -> serde_json::Value {
        let text = w.engine.consistency(&w.user, log, size).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let node = |value: &serde_json::Value| {
        NodeHash(
            ancile_core::Digest::parse_hex(value.as_str().unwrap())
                .unwrap()
                .0,
        )
    };
    let head = |json: &serde_json::Value| TreeHead {
        size: json["size"].as_u64().unwrap(),
        root: node(&json["root"]),
    };
    let before = ask(ProvenLog::Tenant, 1);
    let earlier = head(&before);
    for i in 0..5 {
        let text = format!("note number {i}");
        w.engine.write(&w.user, memory(None, &text)).unwrap();
    }
    let after = ask(ProvenLog::Tenant, earlier.size);
    let proof: Vec<NodeHash> = after["consistency"]
        .as_array()
        .unwrap()
        .iter()
        .map(node)
        .collect();
    let later = head(&after);
    assert_eq!(later.size, earlier.size + 5);
    verify_consistency(&earlier, &later, &proof).unwrap();
    let groups = ask(ProvenLog::Heads, 1)["size"].as_u64().unwrap();
    for (size, fits) in [
        (0, false),
        (1, true),
        (groups, true),
        (groups + 1, false),
        (u64::MAX, false),
    ] {
        let outcome = w.engine.consistency(&w.user, ProvenLog::Heads, size);
        assert_eq!(outcome.is_ok(), fits, "{size}");
    }
}
