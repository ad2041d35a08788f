// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chat messages, facts of single turns, export and import.

use crate::world::{World, main_namespace, memory, principal, recall, tool_call};
use ancile_core::{
    AuthorityClass, Channel, NamespaceName, Role, SessionMode, ToolName, content_commitment,
};
use ancile_engine::api::{
    Added, BATCH_ENTRIES_MAX, ChatMessage, ChatRole, EntryState, Fact, KeySpec, MESSAGES_MAX,
    PageSpec, SessionOpened, StepOp,
};
use ancile_engine::{Caller, Fault, Refusal};

fn says(role: ChatRole, content: &str) -> ChatMessage {
    ChatMessage {
        role,
        content: content.to_owned(),
        tool: (role == ChatRole::Tool).then(|| ToolName::new("search").unwrap()),
        permit: None,
    }
}

fn fact(message: u32, text: &str) -> Fact {
    Fact {
        message,
        text: text.to_owned(),
    }
}

fn add(
    w: &World,
    by: &Caller,
    s: &SessionOpened,
    messages: Vec<ChatMessage>,
    facts: Vec<Fact>,
) -> Result<Added, Refusal> {
    w.engine.add_messages(by, (s.id, &s.token), messages, facts)
}

#[test]
fn each_message_is_kept_by_its_own_origin() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    let messages = vec![
        says(ChatRole::System, "You are an assistant."),
        says(ChatRole::User, "I moved to Bonn."),
        says(ChatRole::Assistant, "Noted: you live in Bonn."),
        says(ChatRole::Assistant, ""),
        says(ChatRole::Tool, "Bonn is a city on the Rhine."),
        says(ChatRole::Assistant, "It is on the Rhine."),
    ];
    let added = add(&w, &w.host, &s, messages, vec![]).unwrap();
    let class = |n: usize| {
        added.messages[n]
            .written
            .as_ref()
            .map(|w| (w.class, w.channel))
    };
    assert_eq!(class(0), None, "instructions are not memory");
    assert_eq!(
        class(1),
        Some((AuthorityClass::UserAuthored, Channel::User))
    );
    assert_eq!(
        class(2),
        Some((AuthorityClass::AgentDerived, Channel::Agent))
    );
    assert_eq!(class(3), None, "it has no words");
    assert_eq!(class(4), Some((AuthorityClass::Untrusted, Channel::Tool)));
    assert_eq!(
        class(5),
        Some((AuthorityClass::Untrusted, Channel::Agent)),
        "after the page"
    );
    let shown: Vec<_> = added.messages.iter().map(|m| m.shown).collect();
    assert_eq!(
        shown,
        [
            Some(AuthorityClass::ApprovedSource),
            Some(AuthorityClass::UserAuthored),
            None,
            None,
            Some(AuthorityClass::Untrusted),
            None
        ]
    );
    assert_eq!(
        (added.class, added.exposure_len),
        (AuthorityClass::Untrusted, 3)
    );
    let turn = added.messages[1].written.as_ref().unwrap();
    let kept = w.engine.entry(&w.user, turn.id).unwrap();
    assert_eq!(kept.text.as_deref(), Some("I moved to Bonn."), "verbatim");
    let page = added.messages[4].written.as_ref().unwrap();
    let kept = w.engine.entry(&w.user, page.id).unwrap();
    assert_eq!(kept.locator, "tool:search");
}

#[test]
fn a_fact_of_one_user_turn_is_class_3_whatever_the_conversation_was_shown() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    w.sees(&s, Channel::Web, "A page that nobody knows.");
    let messages = vec![says(ChatRole::User, "I moved to Bonn.")];
    let facts = vec![fact(0, "The user lives in Bonn.")];
    let added = add(&w, &w.host, &s, messages, facts).unwrap();
    assert_eq!(added.class, AuthorityClass::Untrusted, "the conversation");
    let of_turn = &added.facts[0];
    assert_eq!(of_turn.class, AuthorityClass::AgentDerived);
    // The same words written in the conversation are worth what it is worth.
    let in_session = w.remember(&s, "The user lives in Bonn.");
    assert_eq!(in_session.class, AuthorityClass::Untrusted);
    let lineage = w.engine.lineage(&w.user, of_turn.id).unwrap();
    assert_eq!(
        (lineage.broken, lineage.roots.as_slice()),
        (None, &["user:alice".to_owned()][..])
    );
    let turn = added.messages[0].written.as_ref().unwrap().hash;
    assert_eq!(lineage.nodes[0].parents, [turn]);
    let w = w.reopen();
    let view = w.engine.entry(&w.user, of_turn.id).unwrap();
    assert_eq!(
        (view.class, view.state),
        (AuthorityClass::AgentDerived, EntryState::Current)
    );
}

#[test]
fn a_host_that_does_not_relay_its_user_gets_class_4_for_both() {
    let w = World::new();
    let spec = KeySpec {
        principal: principal("relay"),
        role: Role::Host,
        namespaces: vec![main_namespace()],
        channels: vec![Channel::User, Channel::Agent, Channel::Tool],
        agent: None,
        relays_user: false,
        expires: None,
    };
    let made = w.engine.make_key(&w.operator, spec).unwrap();
    let host = w.engine.authenticate(&made.token).unwrap();
    let spec = ancile_engine::api::SessionSpec {
        agent: principal("assistant"),
        user: principal("alice"),
        namespace: main_namespace(),
        mode: SessionMode::Interactive,
        observed: true,
    };
    let s = w.engine.open_session(&host, spec).unwrap();
    let messages = vec![says(ChatRole::User, "I moved to Bonn.")];
    let facts = vec![fact(0, "The user lives in Bonn.")];
    let added = add(&w, &host, &s, messages, facts).unwrap();
    let turn = added.messages[0].written.as_ref().unwrap();
    assert_eq!(turn.class, AuthorityClass::Untrusted);
    assert_eq!(added.facts[0].class, AuthorityClass::Untrusted);
}

#[test]
fn a_fact_is_of_a_user_turn_of_its_request_and_all_is_taken_or_nothing() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    let conversation = || {
        vec![
            says(ChatRole::User, "I moved to Bonn."),
            says(ChatRole::Tool, "The user lives in Rome."),
        ]
    };
    for message in [1, 2, u32::MAX] {
        let facts = vec![fact(message, "The user lives in Rome.")];
        let refused = add(&w, &w.host, &s, conversation(), facts).unwrap_err();
        assert_eq!(refused.code, "fact_of_no_turn", "{message}");
        assert!(refused.outside.starts_with("fact 0: "), "{refused}");
    }
    let mut bad = conversation();
    bad[0].tool = ToolName::new("search").ok();
    let refused = add(&w, &w.host, &s, bad, vec![]).unwrap_err();
    assert_eq!(refused.code, "message_fields");
    let mut bad = conversation();
    bad[1].tool = None;
    assert!(add(&w, &w.host, &s, bad, vec![]).is_err());
    let health = w.engine.health();
    assert_eq!(health.entries, 0);
    let view = w.engine.session(&w.host, s.id).unwrap();
    assert_eq!(view.exposure_len, 0);
    let refused = add(&w, &w.agent, &s, conversation(), vec![]).unwrap_err();
    assert_eq!(refused.fault, Fault::NotFound);
    for (count, fits) in [
        (0, true),
        (MESSAGES_MAX - 1, true),
        (MESSAGES_MAX, true),
        (MESSAGES_MAX + 1, false),
    ] {
        let many = vec![says(ChatRole::User, "hi"); count];
        let outcome = add(&w, &w.host, &s, many, vec![]);
        assert_eq!(outcome.is_ok(), fits, "{count}");
    }
}

#[test]
fn a_tools_message_reports_the_result_of_its_permit() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "Look for Bonn.");
    let call = tool_call("search", &[("query", crate::world::text("Bonn"))]);
    let permit = w.call(&s, call.clone()).permit.unwrap();
    w.one(&s, StepOp::Redeem(permit, call));
    let mut message = says(ChatRole::Tool, "Bonn is a city.");
    message.permit = Some(permit);
    add(&w, &w.host, &s, vec![message.clone()], vec![]).unwrap();
    let view = w.engine.session(&w.host, s.id).unwrap();
    assert_eq!(view.outstanding, []);
    let again = add(&w, &w.host, &s, vec![message], vec![]).unwrap_err();
    assert_eq!(again.code, "result_reported");
}

#[test]
fn an_export_has_all_that_proves_its_entries() {
    let w = World::new();
    for n in 0..5 {
        let text = format!("note number {n}");
        w.engine.write(&w.user, memory(None, &text)).unwrap();
    }
    let gone = w.engine.write(&w.user, memory(None, "to go")).unwrap().id;
    w.engine.erase(&w.user, gone).unwrap();
    let mut cursor: Option<String> = None;
    let mut all = Vec::new();
    loop {
        let page = PageSpec {
            cursor: cursor.as_deref(),
            limit: 2,
        };
        let (page, checkpoint) = w.engine.export(&w.user, main_namespace(), page).unwrap();
        for item in page.items {
            let proof: serde_json::Value = serde_json::from_str(&item.proof).unwrap();
            assert_eq!(proof["checkpoint"], checkpoint);
            assert_eq!(proof["leaf"], item.view.hash.to_string());
            let record = item.record.clone().unwrap();
            assert_eq!(ancile_core::record_hash(&record), item.view.hash);
            let decoded = ancile_core::DerivationRecord::decode(&record).unwrap();
            match (&item.view.text, item.salt) {
                (Some(text), Some(salt)) => assert_eq!(
                    content_commitment(&salt, text.as_bytes()),
                    decoded.commitment
                ),
                (None, None) => assert_eq!(item.view.state, EntryState::Erased),
                other => panic!("{other:?}"),
            }
            all.push(item.view.id);
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(all.len(), 6);
    let page = PageSpec {
        cursor: None,
        limit: 1,
    };
    for by in [&w.host, &w.agent, &w.operator] {
        let refused = w.engine.export(by, main_namespace(), page).unwrap_err();
        assert_eq!(refused.fault, Fault::Forbidden);
    }
}

#[test]
fn what_is_imported_is_class_4_whatever_it_says() {
    let w = World::new();
    let own = w.engine.write(&w.user, memory(None, "The rent is 900."));
    let own = own.unwrap();
    for by in [&w.user, &w.host] {
        for channel in Channel::ALL {
            let mut op = memory(Some(*channel), "The rent is 950.");
            op.supersedes = Some(own.id);
            op.parents = vec![own.hash];
            let written = w.engine.import(by, vec![op]).unwrap();
            assert_eq!(
                (written[0].class, written[0].channel),
                (AuthorityClass::Untrusted, Channel::Import)
            );
        }
    }
    let kept = w.engine.entry(&w.user, own.id).unwrap();
    assert_eq!(kept.state, EntryState::Current, "nothing is replaced");
    for by in [&w.agent, &w.operator] {
        let refused = w.engine.import(by, vec![memory(None, "x")]).unwrap_err();
        assert_eq!(refused.fault, Fault::Forbidden);
    }
    let mut elsewhere = memory(None, "x");
    elsewhere.namespace = NamespaceName::new("elsewhere").ok();
    assert!(w.engine.import(&w.user, vec![elsewhere]).is_err());
    for (count, fits) in [
        (0, false),
        (BATCH_ENTRIES_MAX, true),
        (BATCH_ENTRIES_MAX + 1, false),
    ] {
        let many = (0..count).map(|n| memory(None, &format!("note {n}")));
        let outcome = w.engine.import(&w.user, many.collect());
        assert_eq!(outcome.is_ok(), fits, "{count}");
    }
    let found = w.engine.recall(&w.user, main_namespace(), recall("rent"));
    let found = found.unwrap();
    assert_eq!(found.items[0].class, AuthorityClass::UserAuthored);
}
