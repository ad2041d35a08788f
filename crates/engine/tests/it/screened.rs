// SPDX-License-Identifier: MIT OR Apache-2.0
//! Screening at the gates: what is refused, and what a model is shown in its place.

use crate::world::{World, main_namespace, memory, principal, recall};
use ancile_core::{Channel, Role, SessionMode};
use ancile_engine::Fault;
use ancile_engine::api::{Gates, KeySpec};

const NOTE: &str = "The deploy key of the staging cluster is AKIAQWERTYUIOPASDFGH, ask Dana.";
const KEY: &str = "AKIAQWERTYUIOPASDFGH";
const MARK: &str = "[redacted: aws-access-key]";

/// What a fresh session recalls of the note.
fn recalled(w: &World) -> Vec<String> {
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "What about the staging cluster?");
    w.recalled(&s, "staging cluster deploy key")
}

#[test]
fn a_secret_from_outside_is_kept_whole_and_shown_to_a_model_as_a_mark() {
    let w = World::new();
    let web = w
        .engine
        .write(&w.host, memory(Some(Channel::Web), NOTE))
        .unwrap();
    assert!(!web.quarantined);
    let texts = recalled(&w);
    assert_eq!(texts.len(), 1);
    assert!(
        texts[0].contains(MARK) && !texts[0].contains(KEY),
        "{texts:?}"
    );
    assert!(texts[0].contains("ask Dana"));
    let entry = w.engine.entry(&w.user, web.id).unwrap();
    assert_eq!(entry.text.as_deref(), Some(NOTE));
    let pack = w
        .engine
        .recall(&w.user, main_namespace(), recall("staging"));
    assert_eq!(pack.unwrap().items[0].text, NOTE, "a person reads it whole");
}

#[test]
fn a_users_own_secret_is_theirs_and_not_another_users() {
    let w = World::new();
    w.engine.write(&w.user, memory(None, NOTE)).unwrap();
    assert_eq!(recalled(&w), [NOTE]);
    let spec = KeySpec {
        role: Role::User,
        principal: principal("bob"),
        agent: None,
        namespaces: vec![main_namespace()],
        channels: vec![],
        relays_user: false,
        expires: None,
    };
    let bob = w.engine.make_key(&w.operator, spec).unwrap();
    let bob = w.engine.authenticate(&bob.token).unwrap();
    let other = NOTE.replace("staging", "second staging");
    w.engine.write(&bob, memory(None, &other)).unwrap();
    let texts = recalled(&w);
    assert_eq!(texts.len(), 2);
    let his = texts.iter().find(|t| t.contains("second")).unwrap();
    assert!(his.contains(MARK) && !his.contains(KEY), "{his}");
}

#[test]
fn what_the_gates_only_log_is_shown_whole() {
    let w = World::with(Gates::LogOnly, true);
    w.engine
        .write(&w.host, memory(Some(Channel::Web), NOTE))
        .unwrap();
    assert!(recalled(&w)[0].contains(KEY));
}

#[test]
fn a_policy_refuses_a_kind_of_secret_on_a_channel() {
    let w = World::under("secret.aws_access_key@web=reject, personal=redact").unwrap();
    let refused = w
        .engine
        .write(&w.host, memory(Some(Channel::Web), NOTE))
        .unwrap_err();
    assert_eq!(
        (refused.fault, refused.code),
        (Fault::Forbidden, "screening_refused")
    );
    assert!(!refused.outside.contains("aws"), "no rule is named outside");
    w.engine
        .write(&w.host, memory(Some(Channel::Tool), NOTE))
        .unwrap();
    let mail = "The staging cluster belongs to dana@example.com.";
    w.engine.write(&w.user, memory(None, mail)).unwrap();
    let texts = recalled(&w);
    assert!(
        texts
            .iter()
            .any(|t| t == "The staging cluster belongs to [redacted: email].")
    );
}

#[test]
fn a_policy_made_stricter_marks_what_was_written_before() {
    let w = World::new();
    w.engine.write(&w.user, memory(None, NOTE)).unwrap();
    assert_eq!(recalled(&w), [NOTE]);
    let w = w.reopen_under("secret=redact").unwrap();
    assert_eq!(recalled(&w), [NOTE.replace(KEY, MARK)]);
    let w = w.reopen_under("secret=reject").unwrap();
    assert_eq!(recalled(&w), [NOTE.replace(KEY, MARK)]);
}
