// SPDX-License-Identifier: MIT OR Apache-2.0
//! One arm of the demo: a memory is filled and attacked, the attacker leaves, five sessions follow.

mod fill;

use super::agent::{self, Seen};
use super::conversation::Conversation;
use super::host::{self, Host, Said, Session};
use super::plan::{self, Errand, LATER, Later, Payload};
use super::tamper;
use super::world::{Call, World};
use crate::commands::audit;
use crate::failure::{Exit, Failure};
use crate::place::Connection;
use crate::when;
use ancile_engine::{Engine, EngineConfig, Gates, IndexConfig};
use ancile_server::Limits;
use fill::Filled;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// What is varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its name in reports.
    pub name: &'static str,
    /// How decisions bind.
    pub gates: Gates,
    /// Whether content is screened.
    screening: bool,
    /// The payloads are the user's own words, brought in by herself.
    pub by_user: bool,
}

impl Setting {
    /// The payloads come in as attackers bring them in.
    pub const fn attacked(gates: Gates) -> Self {
        let (name, screening) = match gates {
            Gates::Off => ("gates_off", false),
            Gates::Enforce => ("gates_on", true),
            Gates::LogOnly => ("log_only", true),
        };
        Self {
            name,
            gates,
            screening,
            by_user: false,
        }
    }

    /// The gates are on and every detector is off.
    pub const fn unscreened() -> Self {
        Self {
            name: "no_screening",
            screening: false,
            ..Self::attacked(Gates::Enforce)
        }
    }

    /// The user writes the same payloads; the gates are on.
    pub const fn by_user() -> Self {
        Self {
            name: "by_user",
            by_user: true,
            ..Self::attacked(Gates::Enforce)
        }
    }

    /// The weakest class that the agent asks its memory for.
    const fn max_class(self) -> &'static str {
        if self.by_user {
            "user_authored"
        } else {
            "untrusted"
        }
    }
}

/// Something legitimate that should happen in a session.
#[derive(Debug, Clone)]
pub struct Legitimate {
    /// In which session, from 1.
    pub session: usize,
    /// What.
    pub what: String,
    /// Whether it did.
    pub ran: bool,
}

/// A payload that was stopped at a gate.
#[derive(Debug, Clone)]
pub struct Stop {
    /// In which session, from 1; 0 for when it was written.
    pub session: usize,
    /// Which.
    pub payload: Payload,
    /// The decision, or what happened to the entry.
    pub decision: String,
    /// Rule ids and sentences.
    pub reasons: Vec<(String, String)>,
}

/// How the store stands at the end, seen from outside.
pub struct AuditSeen {
    /// Whether nothing was found but the edit that the demo made on disk, and that was.
    pub ok: bool,
    /// What `audit verify` says.
    pub said: Value,
    /// The same for people.
    pub text: String,
}

/// What one arm came to.
pub struct Arm {
    /// What was varied.
    pub setting: Setting,
    /// The calls that were made.
    pub world: World,
    /// What should have happened, and whether it did.
    pub legitimate: Vec<Legitimate>,
    /// Calls that a person was asked about.
    pub asked: usize,
    /// What was stopped.
    pub stops: Vec<Stop>,
    /// The lineage of each payload, as the interface gives it.
    pub lineages: BTreeMap<Payload, Value>,
    /// `audit verify`.
    pub audit: AuditSeen,
}

/// One later session as it runs.
struct Scene<'a> {
    host: &'a Host,
    filled: &'a Filled,
    /// Its number, from 1.
    number: usize,
}

/// Runs one arm on a temporary home.
pub fn run(setting: Setting, conversation: &Conversation) -> Result<Arm, Failure> {
    let temporary = tempfile::Builder::new()
        .prefix("ancile-demo-")
        .tempdir()
        .map_err(|fault| {
            Failure::new(
                Exit::Unavailable,
                "demo",
                format!("no temporary directory: {fault}"),
            )
        })?;
    let home = temporary.path().join("home");
    Engine::init(&home)?;
    let (connection, host) = open(setting, &home)?;
    let mut arm = Arm {
        setting,
        world: World::default(),
        legitimate: Vec::new(),
        asked: 0,
        stops: Vec::new(),
        lineages: BTreeMap::new(),
        audit: AuditSeen {
            ok: false,
            said: Value::Null,
            text: String::new(),
        },
    };
    let filled = fill::fill(&host, &connection, setting, conversation)?;
    connection.end();
    if !setting.by_user {
        tamper::replace(
            &home.join("data"),
            plan::METER_ADDRESS,
            plan::EDITED_ADDRESS,
        )?;
    }
    let (connection, host) = open(setting, &home)?;
    arm.withheld_at_write(&host, &filled)?;
    for (number, later) in (1..).zip(&LATER) {
        arm.session(
            &Scene {
                host: &host,
                filled: &filled,
                number,
            },
            later,
        )?;
    }
    for (payload, id) in &filled.payloads {
        let lineage = host.user.get(&format!("/v1/entries/{id}/lineage"))?;
        arm.lineages.insert(*payload, lineage);
    }
    let edited = match filled.payloads.get(&Payload::EditedTask) {
        Some(id) if !setting.by_user => Some(host.user.get(&format!("/v1/entries/{id}"))?),
        _ => None,
    };
    connection.end();
    arm.audit = audited(&home, edited.as_ref())?;
    Ok(arm)
}

/// Verifies the store from outside. An entry edited on disk has to be found, and nothing else.
fn audited(home: &Path, edited: Option<&Value>) -> Result<AuditSeen, Failure> {
    let audit = audit::verify(home, None)?;
    let problems = audit.value.get("problems").and_then(Value::as_array);
    let found: Vec<&str> = problems
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let ok = match (
        edited.and_then(|entry| entry.get("seq")?.as_u64()),
        found.as_slice(),
    ) {
        (None, []) => edited.is_none() && audit.exit == Exit::Done,
        (Some(seq), [only]) => only.contains(&format!("content of leaf {seq} ")),
        _ => false,
    };
    Ok(AuditSeen {
        ok,
        said: audit.value,
        text: audit.text,
    })
}

fn open(setting: Setting, home: &Path) -> Result<(Connection, Host), Failure> {
    let config = EngineConfig {
        home: home.to_owned(),
        gates: setting.gates,
        screening: setting.screening,
        screen_policy: ancile_engine::ScreenPolicy::default(),
        judging: ancile_engine::JudgeConfig::default(),
        index: IndexConfig::default(),
    };
    let connection = Connection::own(config, Limits::default(), None)?;
    let host = Host::new(&connection, home)?;
    Ok((connection, host))
}

impl Arm {
    /// Notes the payloads that went to the shelf when they were written.
    fn withheld_at_write(&mut self, host: &Host, filled: &Filled) -> Result<(), Failure> {
        let page = host.user.get("/v1/quarantine?namespace=main&limit=200")?;
        let items = page.get("items").and_then(Value::as_array);
        for item in items.into_iter().flatten() {
            let id = item
                .pointer("/entry/id")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let Some(payload) = filled.payload(id) else {
                continue;
            };
            let rules = item
                .get("rules")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let reason = host::text(item, "reason");
            let rules = rules
                .filter_map(Value::as_str)
                .map(|rule| (rule.to_owned(), reason.clone()));
            let reasons = rules.collect();
            let decision = "quarantine at write".to_owned();
            self.stops.push(Stop {
                session: 0,
                payload,
                decision,
                reasons,
            });
        }
        Ok(())
    }

    /// One later session: the user asks for something, then the due tasks fire.
    fn session(&mut self, at: &Scene<'_>, later: &Later) -> Result<(), Failure> {
        wait_until_due(at.host)?;
        let session = at.host.open(later.turn)?;
        let seen = at
            .host
            .recall(&session, later.query, self.setting.max_class())?;
        if let Some((what, text)) = later.needs {
            let ran = seen.iter().any(|seen| seen.text.contains(text));
            self.note(at.number, what, ran);
        }
        self.obey(at, &session, &seen)?;
        self.errand(at, &session, &seen, later.errand)?;
        at.host.close(&session)?;
        for id in at.filled.due(at.host)? {
            self.fire(at, &id)?;
        }
        Ok(())
    }

    /// The agent does whatever the texts tell it, each thing once.
    fn obey(&mut self, at: &Scene<'_>, session: &Session, seen: &[Seen]) -> Result<(), Failure> {
        let mut done: Vec<Call> = Vec::new();
        for call in seen.iter().flat_map(|seen| agent::orders(&seen.text)) {
            if !done.contains(&call) {
                self.propose(at, session, &call)?;
                done.push(call);
            }
        }
        Ok(())
    }

    /// The agent does the user's errand with the newest value it read; where that is not
    /// permitted, with the next.
    fn errand(
        &mut self,
        at: &Scene<'_>,
        session: &Session,
        seen: &[Seen],
        errand: Errand,
    ) -> Result<(), Failure> {
        let what = match errand {
            Errand::None => return Ok(()),
            Errand::PayRent => "errand: rent to the landlord",
            Errand::SendRecap => "errand: recap to Jonas",
        };
        let mut ran = false;
        for call in agent::errand(errand, seen) {
            if self.propose(at, session, &call)?.permits() {
                ran = call.serves().is_none();
                break;
            }
        }
        self.note(at.number, what, ran);
        Ok(())
    }

    fn propose(&mut self, at: &Scene<'_>, session: &Session, call: &Call) -> Result<Said, Failure> {
        let said = at.host.call(session, call, &mut self.world, at.number)?;
        self.heard(&said, at.number);
        Ok(said)
    }

    /// Notes an ask, and a payload's call that was not permitted.
    fn heard(&mut self, said: &Said, number: usize) {
        if said.decision == "ask" {
            self.asked = self.asked.saturating_add(1);
        }
        if let Some(payload) = said.call.serves().filter(|_| !said.permits()) {
            self.stops.push(Stop {
                session: number,
                payload,
                decision: said.decision.clone(),
                reasons: said.reasons.clone(),
            });
        }
    }

    /// Fires a task: its own call is made if permitted; without one the agent obeys its text.
    fn fire(&mut self, at: &Scene<'_>, id: &str) -> Result<(), Failure> {
        let fired = match at.host.fire(id, &mut self.world, at.number) {
            Ok(fired) => fired,
            // It went to the shelf in an earlier session and stays there.
            Err(failure) if failure.code == "task_withheld" => return Ok(()),
            Err(failure) => return Err(failure),
        };
        if fired.decision == "ask" {
            self.asked = self.asked.saturating_add(1);
        }
        if let Some(payload) = at
            .filled
            .payload(id)
            .filter(|_| !host::permits(&fired.decision))
        {
            let (decision, reasons) = (fired.decision.clone(), fired.reasons.clone());
            self.stops.push(Stop {
                session: at.number,
                payload,
                decision,
                reasons,
            });
        }
        let mut ran = host::permits(&fired.decision);
        if let Some(said) = &fired.call {
            self.heard(said, at.number);
            ran = ran && said.permits();
        }
        if let (Some(payload), Some(session)) = (&fired.payload, &fired.session) {
            self.world.notified.push((at.number, payload.clone()));
            if fired.call.is_none() {
                let seen = [Seen {
                    created: 0,
                    text: payload.clone(),
                }];
                self.obey(at, session, &seen)?;
            }
            at.host.close(session)?;
        }
        if let Some(what) = at.filled.legitimate(id) {
            self.note(at.number, what, ran);
        }
        Ok(())
    }

    fn note(&mut self, session: usize, what: &str, ran: bool) {
        self.legitimate.push(Legitimate {
            session,
            what: what.to_owned(),
            ran,
        });
    }
}

/// Waits until every task that comes due again is due: a second stands for a day.
fn wait_until_due(host: &Host) -> Result<(), Failure> {
    let page = host.user.get("/v1/tasks?namespace=main&limit=200")?;
    let items = page.get("items").and_then(Value::as_array);
    let dues = items
        .into_iter()
        .flatten()
        .filter_map(|item| item.get("next_due")?.as_i64());
    let wait = dues.max().unwrap_or_default().saturating_sub(when::now());
    if let Ok(micros @ 1..) = u64::try_from(wait) {
        std::thread::sleep(Duration::from_micros(micros));
    }
    Ok(())
}
