// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes entries that wait for a judge which never returns, says the id of each that was
//! acknowledged, and goes on until it is killed: for the test of what a kill leaves.
//!
//! `holds_until_killed HOME`

use ancile_core::Channel;
use ancile_engine::api::Write;
use ancile_engine::{
    Engine, EngineConfig, Judge, JudgeConfig, JudgeError, JudgeId, JudgeInput, Score,
};
use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

struct Never(JudgeId);

impl Judge for Never {
    fn id(&self) -> &JudgeId {
        &self.0
    }

    fn judge(&self, _: &JudgeInput<'_>) -> Result<Score, JudgeError> {
        loop {
            std::thread::park();
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let home = PathBuf::from(std::env::args().nth(1).ok_or("give a home")?);
    let config = EngineConfig {
        judging: JudgeConfig {
            judge: Some(Arc::new(Never(JudgeId::new("never", 1)?))),
            ..JudgeConfig::default()
        },
        ..EngineConfig::new(&home)
    };
    let (engine, _) = Engine::open(config)?;
    let token = std::fs::read_to_string(home.join("keys/host.key"))?;
    let host = engine.authenticate(token.trim())?;
    for number in 0_u64.. {
        let text = format!("The ferry to the island leaves pier {number} at nine.");
        let written = engine.write(&host, page(text))?;
        if !written.pending {
            return Err("an entry is not held".into());
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", written.id)?;
        out.flush()?;
    }
    Ok(())
}

fn page(text: String) -> Write {
    Write {
        channel: Some(Channel::Web),
        ..Write::memory(text)
    }
}
