// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shows one session as many texts as its argument says, and then recalls, proposes a call and asks
//! why. `scripts/full exposures` counts the instructions of it.

use ancile_core::{Channel, NamespaceName, PrincipalName, ProposedCall, SessionMode, ToolName};
use ancile_engine::api::{
    Expose, ExposureKind, Propose, Recall, STEP_OPS_MAX, SessionSpec, StepOp,
};
use ancile_engine::{Engine, EngineConfig, Refusal};
use std::collections::BTreeMap;
use std::error::Error;

type Fault = Box<dyn Error + Send + Sync>;

fn shown(number: u64) -> StepOp {
    StepOp::Expose(Expose {
        kind: ExposureKind::Text,
        channel: Some(Channel::Web),
        text: format!("Page {number} says that parcel {number} costs {number}.50 EUR."),
        locator: format!("https://site{}.example/{number}", number % 40),
    })
}

fn done<T>(result: Result<T, Refusal>) -> Result<T, Fault> {
    result.map_err(|refusal| refusal.outside.into())
}

fn main() -> Result<(), Fault> {
    let count = std::env::args().nth(1).ok_or("give a number of texts")?;
    let count: u64 = count.parse()?;
    let dir = tempfile::tempdir()?;
    let home = dir.path().join("home");
    done(Engine::init(&home))?;
    let (engine, _) = done(Engine::open(EngineConfig::new(&home)))?;
    let token = std::fs::read_to_string(home.join("keys/host.key"))?;
    let host = done(engine.authenticate(token.trim()))?;
    let spec = SessionSpec {
        agent: PrincipalName::new("assistant")?,
        user: PrincipalName::new("alice")?,
        namespace: NamespaceName::new("main")?,
        mode: SessionMode::Interactive,
        observed: true,
    };
    let session = done(engine.open_session(&host, spec))?;
    let step = |ops| done(engine.step(&host, session.id, &session.token, ops));
    let numbers: Vec<u64> = (0..count).collect();
    for some in numbers.chunks(STEP_OPS_MAX) {
        step(some.iter().map(|number| shown(*number)).collect())?;
    }
    let query = "parcel".to_owned();
    let call = ProposedCall {
        tool: ToolName::new("pay")?,
        args: BTreeMap::new(),
    };
    let answer = step(vec![
        StepOp::Recall(Recall {
            query,
            ..Recall::default()
        }),
        StepOp::Call(Propose {
            call,
            approval: None,
        }),
    ])?;
    let view = done(engine.session(&host, session.id))?;
    println!("{} exposures, class {}", answer.exposure_len, answer.class);
    println!("{}", view.why);
    engine.close();
    Ok(())
}
