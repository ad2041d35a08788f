// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults around the store: each says what it is and what to do, loses nothing, and is over when
//! its cause is gone.

use crate::world::{World, main_namespace, memory, principal, text, tool_call};
use ancile_core::{
    AuthorityClass, Channel, Decision, FieldName, Micros, PermitId, ProposedCall, SessionMode,
    SourceField, SourceName, SourceState, ToolName, Value,
};
use ancile_engine::api::{EntryState, Gates, MandateSpec, MandateView, Propose, StepOp};
use ancile_engine::{Engine, EngineConfig, Fault, IndexConfig, Refusal};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Pays 900 to an account.
pub fn pay() -> ProposedCall {
    let amount = Value::Number("900".into());
    let to = text("DE89370400440532013000");
    tool_call("pay", &[("to", to), ("amount", amount)])
}

/// Alice grants her assistant to pay, down to a class, as often as it likes.
pub fn grant(w: &World, weakest: AuthorityClass) -> MandateView {
    let spec = MandateSpec {
        agent: principal("assistant"),
        tool: ToolName::new("pay").unwrap(),
        weakest,
        not_before: Micros(0),
        not_after: Micros(i64::MAX),
        uses_max: None,
        fixed: BTreeMap::new(),
        allow: BTreeMap::new(),
        amount_max: BTreeMap::new(),
        cedar: None,
    };
    w.engine.grant_mandate(&w.user, spec).unwrap()
}

/// Alice approves the contact book's e-mail addresses as evidence.
pub fn grade(w: &World) {
    let source = SourceName::new("book").unwrap();
    let tool = ToolName::new("contact").unwrap();
    w.engine
        .register_source(&w.user, source.clone(), vec![tool.clone()])
        .unwrap();
    let field = FieldName::new("email").unwrap();
    let place = SourceField {
        source,
        tool,
        field,
    };
    w.engine
        .approve_source(&w.user, place, SourceState::Evidence)
        .unwrap();
}

fn open(home: &Path) -> Result<Engine, Refusal> {
    let config = EngineConfig {
        home: home.to_owned(),
        gates: Gates::Enforce,
        screening: true,
        screen_policy: ancile_engine::ScreenPolicy::default(),
        judging: ancile_engine::JudgeConfig::default(),
        index: IndexConfig::default(),
    };
    Engine::open(config).map(|(engine, _)| engine)
}

/// A store with one entry, closed.
fn sample() -> (tempfile::TempDir, ancile_core::EntryId) {
    let w = World::new();
    let kept = w
        .engine
        .write(&w.user, memory(None, "The rent is due."))
        .unwrap();
    let World { dir, engine, .. } = w;
    engine.close();
    (dir, kept.id)
}

/// Opening is refused with these words; nothing is lost.
fn refused(home: &Path, words: &[&str]) {
    refused_as("store_refused", home, words);
}

fn refused_as(code: &str, home: &Path, words: &[&str]) {
    let refusal = open(home).unwrap_err();
    assert_eq!((refusal.fault, refusal.code), (Fault::Unavailable, code));
    for word in words {
        assert!(refusal.outside.contains(word), "{}", refusal.outside);
    }
}

fn nothing_lost(dir: tempfile::TempDir, id: ancile_core::EntryId) {
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    let view = w.engine.entry(&w.user, id).unwrap();
    assert_eq!(view.text.as_deref(), Some("The rent is due."));
    w.engine
        .write(&w.user, memory(None, "Writing goes on."))
        .unwrap();
    assert!(ancile_engine::audit(&w.home(), None).unwrap().ok);
}

#[test]
fn a_missing_witness_is_refused_until_it_is_back() {
    let (dir, kept) = sample();
    let home = dir.path().join("home");
    let witness = home.join("witness/checkpoint");
    let away = dir.path().join("away");
    std::fs::rename(&witness, &away).unwrap();
    refused(
        &home,
        &["no witness", "bring the witness", "new witness epoch"],
    );
    std::fs::rename(&away, &witness).unwrap();
    nothing_lost(dir, kept);
}

#[test]
fn a_missing_witness_is_accepted_by_a_logged_epoch() {
    let (dir, kept) = sample();
    let home = dir.path().join("home");
    std::fs::remove_file(home.join("witness/checkpoint")).unwrap();
    let said = ancile_engine::new_witness_epoch(&home).unwrap();
    assert!(said.contains("witness epoch 1"), "{said}");
    nothing_lost(dir, kept);
}

#[test]
fn a_witness_of_another_store_is_refused() {
    let (dir, kept) = sample();
    let (other, _) = sample();
    let home = dir.path().join("home");
    let witness = home.join("witness/checkpoint");
    let own = std::fs::read(&witness).unwrap();
    std::fs::copy(other.path().join("home/witness/checkpoint"), &witness).unwrap();
    refused(
        &home,
        &["not signed by this key", "give the witness of this store"],
    );
    std::fs::write(&witness, own).unwrap();
    nothing_lost(dir, kept);
}

#[test]
fn a_newer_database_is_refused() {
    let (dir, kept) = sample();
    let home = dir.path().join("home");
    let file = home.join("data").join(ancile_store::DATABASE_FILE);
    let set = |version: i32| {
        let conn = rusqlite::Connection::open(&file).unwrap();
        conn.pragma_update(None, "user_version", version).unwrap();
    };
    let current = ancile_store::FORMAT_VERSION;
    set(current + 1);
    let newer = format!("format version {}", current + 1);
    let ours = format!("this build reads {current}");
    refused_as("store_version", &home, &[&newer, &ours]);
    set(current);
    nothing_lost(dir, kept);
}

#[test]
fn a_second_opener_is_refused_and_the_first_goes_on() {
    let (dir, kept) = sample();
    let home = dir.path().join("home");
    let w = World::open(dir, Gates::Enforce, true).unwrap();
    w.engine.set_address("127.0.0.1:7777").unwrap();
    let second = open(&home).unwrap_err();
    assert_eq!(
        (second.fault, second.code),
        (Fault::Unavailable, "store_locked")
    );
    let pid = std::process::id().to_string();
    for words in ["in use by", pid.as_str(), "127.0.0.1:7777", "stop it"] {
        assert!(second.outside.contains(words), "{}", second.outside);
    }
    w.engine
        .write(&w.user, memory(None, "The first goes on."))
        .unwrap();
    let World { dir, engine, .. } = w;
    engine.close();
    nothing_lost(dir, kept);
}

#[cfg(unix)]
fn mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Opens a home whose data directory cannot be written and gives what was said. The superuser
/// writes where it likes, so for it a child of user `nobody` opens.
#[cfg(unix)]
fn opened_read_only(home: &Path) -> Option<String> {
    let probe = home.join("data/probe");
    if std::fs::write(&probe, "").is_err() {
        return open(home).err().map(|refusal| refusal.outside);
    }
    std::fs::remove_file(probe).unwrap();
    let child = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(crate::kill::program())
        .arg(home)
        .arg("0")
        .output();
    let child = child
        .ok()
        .filter(|c| c.stdout.is_empty() && !c.status.success())?;
    let said = String::from_utf8(child.stderr).unwrap();
    (!said.contains("setpriv")).then_some(said)
}

#[cfg(unix)]
#[test]
fn a_read_only_directory_is_refused_until_it_is_writable() {
    let (dir, kept) = sample();
    let home = dir.path().join("home");
    let files = |to| {
        for entry in ["data", "keys", "witness"] {
            for file in std::fs::read_dir(home.join(entry)).unwrap() {
                mode(&file.unwrap().path(), to);
            }
        }
    };
    files(0o444);
    for place in [dir.path(), &home, &home.join("keys"), &home.join("witness")] {
        mode(place, 0o755);
    }
    mode(&home.join("data"), 0o555);
    let said = opened_read_only(&home);
    mode(&home.join("data"), 0o700);
    files(0o600);
    match said {
        None => println!("SKIPPED (superuser, and no other user to be): a read-only directory"),
        Some(said) => assert!(
            said.contains("data") && (said.contains("permission") || said.contains("writ")),
            "{said}"
        ),
    }
    nothing_lost(dir, kept);
}

/// Takes the witness's directory away and gives it back.
struct NoWitness {
    at: std::path::PathBuf,
    away: std::path::PathBuf,
}

impl NoWitness {
    fn take(w: &World) -> Self {
        let at = w.home().join("witness");
        let away = w.home().join("witness-away");
        std::fs::rename(&at, &away).unwrap();
        Self { at, away }
    }

    fn give_back(self) {
        std::fs::rename(self.away, self.at).unwrap();
    }
}

#[test]
fn promise_7_a_write_without_its_witness_is_not_acknowledged_and_the_store_opens_again() {
    let w = World::new();
    let first = w
        .engine
        .write(&w.user, memory(None, "The rent is due."))
        .unwrap();
    let fault = NoWitness::take(&w);
    let refused = w
        .engine
        .write(&w.user, memory(None, "The rent is paid."))
        .unwrap_err();
    assert_eq!(
        (refused.fault, refused.code),
        (Fault::Unavailable, "store_unavailable")
    );
    for words in [
        "written but not witnessed",
        "does not count as done",
        "look",
    ] {
        assert!(refused.outside.contains(words), "{}", refused.outside);
    }
    let down = w.engine.entry(&w.user, first.id).unwrap_err();
    assert_eq!(down.code, "store_refused");
    assert!(down.outside.contains("witness"), "{}", down.outside);
    assert_eq!(w.engine.health().integrity, "down");
    fault.give_back();
    let view = w.engine.entry(&w.user, first.id).unwrap();
    assert_eq!(view.state, EntryState::Current);
    let second = w
        .engine
        .write(&w.user, memory(None, "The rent is paid now."))
        .unwrap();
    assert!(w.engine.health().witness_was_behind);
    let w = w.reopen();
    assert!(w.engine.entry(&w.user, second.id).unwrap().text.is_some());
    assert!(ancile_engine::audit(&w.home(), None).unwrap().ok);
}

#[test]
fn promise_8_a_fault_while_a_call_is_decided_is_a_refusal_without_a_permit() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "Pay the rent to DE89 3704 0044 0532 0130 00.");
    let fault = NoWitness::take(&w);
    let propose = StepOp::Call(Propose {
        call: pay(),
        approval: None,
    });
    let refused = w.step(&s, vec![propose]).unwrap_err();
    assert_eq!(refused.fault, Fault::Unavailable);
    fault.give_back();
    // The decision may have reached the log. Its permit was given to nobody and is worth nothing.
    let view = w.engine.session(&w.host, s.id).unwrap();
    for permit in view.outstanding {
        let redeem = w.step(&s, vec![StepOp::Redeem(permit, pay())]).unwrap_err();
        assert_eq!(redeem.code, "permit_used");
        assert_eq!(w.class(s.id), AuthorityClass::Untrusted);
    }
}

#[test]
fn promise_8_a_permit_does_not_outlive_the_store_that_gave_it() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "Pay the rent to DE89 3704 0044 0532 0130 00.");
    let permit = w.call(&s, pay()).permit.unwrap();
    let fault = NoWitness::take(&w);
    w.step(&s, vec![StepOp::Redeem(permit, pay())]).unwrap_err();
    fault.give_back();
    let redeem = w.step(&s, vec![StepOp::Redeem(permit, pay())]).unwrap_err();
    assert_eq!(redeem.code, "permit_used");
}

#[test]
fn promise_8_another_program_that_holds_the_database_makes_calls_refused() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "Pay the rent to DE89 3704 0044 0532 0130 00.");
    let file = w.home().join("data").join(ancile_store::DATABASE_FILE);
    let other = rusqlite::Connection::open(file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let propose = StepOp::Call(Propose {
        call: pay(),
        approval: None,
    });
    let refused = w.step(&s, vec![propose]).unwrap_err();
    assert_eq!(
        (refused.fault, refused.code),
        (Fault::Unavailable, "store_unavailable")
    );
    assert!(
        refused.inside.contains("another program"),
        "{}",
        refused.inside
    );
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(w.call(&s, pay()).decision, Decision::Permit);
}

#[test]
fn promise_8_a_refused_step_leaves_no_permit() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "Pay the rent to DE89 3704 0044 0532 0130 00.");
    let propose = StepOp::Call(Propose {
        call: pay(),
        approval: None,
    });
    let unknown = StepOp::Redeem(PermitId::from_bytes([7; 16]), pay());
    let refused = w.step(&s, vec![propose, unknown]).unwrap_err();
    assert_eq!(refused.fault, Fault::NotFound);
    let view = w.engine.session(&w.host, s.id).unwrap();
    assert!(view.outstanding.is_empty());
    assert_eq!(view.class, AuthorityClass::UserAuthored);
}

#[test]
fn promise_8_a_call_that_cannot_be_read_is_denied() {
    let w = World::new();
    grant(&w, AuthorityClass::Untrusted);
    let s = w.session(SessionMode::Headless);
    w.says(&s, "Pay the rent to DE89 3704 0044 0532 0130 00.");
    w.sees(&s, Channel::Web, "Pay.");
    let number = |text: &str| Value::Number(text.into());
    let list = Value::List(vec![text("DE89370400440532013000")]);
    for args in [
        vec![("to", text("not an account")), ("amount", number("900"))],
        vec![("to", list), ("amount", number("900"))],
        vec![("to", Value::Null), ("amount", number("900"))],
        vec![("to", text("")), ("amount", number("900"))],
        vec![("amount", number("900"))],
        vec![("to", text("DE89370400440532013000"))],
    ] {
        let answer = w.call(&s, tool_call("pay", &args));
        assert_eq!(answer.decision, Decision::Deny, "{args:?}");
        assert_eq!(answer.permit, None);
        assert!(!answer.reasons.is_empty());
    }
    assert_eq!(w.call(&s, pay()).decision, Decision::Permit);
}

#[test]
fn an_entry_of_the_namespace_is_read_after_every_fault() {
    // A fault that is over leaves no trace in what a recall gives.
    let w = World::new();
    w.engine
        .write(&w.user, memory(None, "The rent is due."))
        .unwrap();
    for _ in 0..3 {
        let fault = NoWitness::take(&w);
        w.engine
            .write(&w.user, memory(None, "Lost or not."))
            .unwrap_err();
        fault.give_back();
        let pack = w
            .engine
            .recall(&w.user, main_namespace(), crate::world::recall("rent"))
            .unwrap();
        assert_eq!(pack.items.len(), 1);
    }
}
