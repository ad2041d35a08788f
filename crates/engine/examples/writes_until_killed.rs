// SPDX-License-Identifier: MIT OR Apache-2.0
//! Child of the kill and full-disk tests: writes to a home from four threads and prints what was
//! acknowledged, until it is killed.
//!
//! `writes_until_killed HOME ROUND` prints a line `W <id> <hash> <text>` for each acknowledged
//! entry and `P <session> <permit>` for each permit, flushed after the answer. A refused write
//! prints `R <code> <sentence>`, and is tried again.

use ancile_core::{Channel, NamespaceName, PrincipalName, ProposedCall, SessionMode, ToolName};
use ancile_engine::api::{
    Expose, ExposureKind, Gates, Propose, Recall, SessionSpec, StepOp, StepResult, Write, Written,
};
use ancile_engine::{Caller, Engine, EngineConfig, IndexConfig, Refusal};
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Threads that write.
const THREADS: usize = 4;
/// Steps of a session before a new one is opened.
const STEPS: usize = 6;

type Fault = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Fault> {
    let mut args = std::env::args().skip(1);
    let home = PathBuf::from(args.next().ok_or("give a home")?);
    let round = args.next().ok_or("give a round")?;
    let (engine, _) = Engine::open(EngineConfig {
        home: home.clone(),
        gates: Gates::Enforce,
        screening: true,
        screen_policy: ancile_engine::ScreenPolicy::default(),
        judging: ancile_engine::JudgeConfig::default(),
        index: IndexConfig {
            seal_records: std::num::NonZeroU32::MIN.saturating_add(15),
            ..IndexConfig::default()
        },
    })
    .map_err(|e| e.outside)?;
    say("READY")?;
    std::thread::scope(|threads| {
        let mut running = Vec::new();
        for thread in 0..THREADS {
            let (engine, home, round) = (engine.clone(), &home, &round);
            running.push(threads.spawn(move || -> Result<(), Fault> {
                let writer = Writer {
                    user: caller(&engine, home, "user")?,
                    host: caller(&engine, home, "host")?,
                    engine,
                };
                if thread % 2 == 0 {
                    writer.entries(&format!("round {round} thread {thread}"))
                } else {
                    writer.sessions(&format!("round {round} thread {thread}"))
                }
            }));
        }
        for thread in running {
            thread.join().map_err(|_| "a thread ended by a panic")??;
        }
        Ok(())
    })
}

fn caller(engine: &Engine, home: &Path, role: &str) -> Result<Caller, Fault> {
    let token = std::fs::read_to_string(home.join("keys").join(format!("{role}.key")))?;
    engine
        .authenticate(token.trim())
        .map_err(|e| e.outside.into())
}

/// Prints a line and makes sure that it is out.
fn say(line: &str) -> Result<(), Fault> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

struct Writer {
    engine: Engine,
    user: Caller,
    host: Caller,
}

impl Writer {
    /// Writes entries of its user's, one after another.
    fn entries(&self, label: &str) -> Result<(), Fault> {
        for number in 0.. {
            let text = format!("Note {number} of {label}: the rent is due.");
            match self.engine.write(&self.user, memory(None, &text)) {
                Ok(written) => wrote(&written, &text)?,
                Err(refusal) => refused(&refusal)?,
            }
        }
        Ok(())
    }

    /// Runs sessions: a user turn, a recall, a call and a write in each step.
    fn sessions(&self, label: &str) -> Result<(), Fault> {
        for number in 0.. {
            if let Err(refusal) = self.session(&format!("session {number} of {label}"))? {
                refused(&refusal)?;
            }
        }
        Ok(())
    }

    fn session(&self, label: &str) -> Result<Result<(), Refusal>, Fault> {
        let spec = SessionSpec {
            agent: PrincipalName::new("assistant")?,
            user: PrincipalName::new("alice")?,
            namespace: NamespaceName::new("main")?,
            mode: SessionMode::Interactive,
            observed: true,
        };
        let session = match self.engine.open_session(&self.host, spec) {
            Ok(session) => session,
            Err(refusal) => return Ok(Err(refusal)),
        };
        for number in 0..STEPS {
            let text = format!("Step {number} of {label}: the user asked for the rent.");
            let answer = self
                .engine
                .step(&self.host, session.id, &session.token, ops(&text)?);
            let results = match answer {
                Ok(answer) => answer.results,
                Err(refusal) => return Ok(Err(refusal)),
            };
            for result in results {
                match result {
                    StepResult::Written(written) => wrote(&written, &text)?,
                    StepResult::Called(call) => {
                        if let Some(permit) = call.permit {
                            say(&format!("P {} {permit}", session.id))?;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(self
            .engine
            .close_session(&self.host, session.id, &session.token))
    }
}

fn ops(text: &str) -> Result<Vec<StepOp>, Fault> {
    let turn = Expose {
        kind: ExposureKind::UserTurn,
        channel: None,
        text: "When is the rent due?".to_owned(),
        locator: String::new(),
    };
    let recall = Recall {
        query: "rent due".to_owned(),
        k: Some(3),
        ..Recall::default()
    };
    let call = Propose {
        call: ProposedCall {
            tool: ToolName::new("ping")?,
            args: std::collections::BTreeMap::new(),
        },
        approval: None,
    };
    Ok(vec![
        StepOp::Expose(turn),
        StepOp::Recall(recall),
        StepOp::Call(call),
        StepOp::Write(memory(Some(Channel::Agent), text)),
    ])
}

fn memory(channel: Option<Channel>, text: &str) -> Write {
    Write {
        channel,
        ..Write::memory(text)
    }
}

fn wrote(written: &Written, text: &str) -> Result<(), Fault> {
    say(&format!("W {} {} {text}", written.id, written.hash))
}

fn refused(refusal: &Refusal) -> Result<(), Fault> {
    say(&format!("R {} {}", refusal.code, refusal.outside))?;
    std::thread::sleep(Duration::from_millis(100));
    Ok(())
}
