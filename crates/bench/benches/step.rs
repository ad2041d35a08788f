// SPDX-License-Identifier: MIT OR Apache-2.0
//! One round trip of a model: three exposures, a recall and a call, in a store of a few thousand
//! entries; against a bare loop that appends the same leaves to a copy of that store and commits.
#![allow(missing_docs, reason = "the entry points are made by macros")]
#![allow(
    clippy::expect_used,
    reason = "a benchmark stops where its input is not in form"
)]

use ancile_core::{
    AuthorityClass, Channel, Decision, Micros, NamespaceName, PrincipalName, ProposedCall,
    SessionMode, TenantName, ToolName, Value,
};
use ancile_engine::api::{
    Expose, ExposureKind, Gates, MandateSpec, Propose, Recall, SessionOpened, SessionSpec,
    StepAnswer, StepOp, StepResult, Write,
};
use ancile_engine::{Caller, Engine, EngineConfig};
use ancile_store::Store;
use bare::{Leaf, Words, caller, commit, copy, leaves, median, tenant};
use criterion::{Criterion, criterion_group};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

mod bare;

/// Entries in the store, in steps of [`WRITES`].
const ENTRIES: u64 = 3_200;
/// Writes of one step while the store is filled.
const WRITES: u64 = 64;
/// Steps and bare commits of the comparison, in turn.
const ROUNDS: usize = 300;

const MANIFEST: &str = r#"{"version":1,"tools":[{"name":"pay","effect":"external","args":{
    "to":{"kind":"account","sensitive":true,"required":true},
    "amount":{"kind":"amount","required":true}}}]}"#;
const TURN: &str = "The rent for the flat is due: pay 900 to DE89 3704 0044 0532 0130 00.";
const PAGE: &str = "Tenants' news. The boiler on the second floor was replaced on Monday. Rent \
    rises are limited in this district until the end of next year; the office is open on \
    weekdays from nine to noon.";

struct World {
    engine: Engine,
    host: Caller,
    user: Caller,
}

fn principal(name: &str) -> PrincipalName {
    PrincipalName::new(name).expect("a name")
}

fn open(home: &Path) -> World {
    let config = EngineConfig {
        home: home.to_owned(),
        gates: Gates::Enforce,
        screening: true,
        screen_policy: ancile_engine::ScreenPolicy::default(),
        judging: ancile_engine::JudgeConfig::default(),
        index: ancile_engine::IndexConfig::default(),
    };
    let (engine, report) = Engine::open(config).expect("a store that opens");
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    let host = caller(&engine, home, "host");
    let user = caller(&engine, home, "user");
    World { engine, host, user }
}

/// A first run with a manifest, a mandate that covers the call at class 4, and entries: four of
/// five the user's, one from the web.
fn fill(home: &Path) {
    Engine::init(home).expect("a first run");
    let world = open(home);
    let operator = caller(&world.engine, home, "operator");
    let set = world.engine.set_manifest(&operator, MANIFEST);
    set.expect("a manifest in form");
    let mandate = MandateSpec {
        agent: principal("assistant"),
        tool: ToolName::new("pay").expect("a name"),
        weakest: AuthorityClass::Untrusted,
        not_before: Micros(0),
        not_after: Micros(i64::MAX),
        uses_max: None,
        fixed: BTreeMap::new(),
        allow: BTreeMap::new(),
        amount_max: BTreeMap::new(),
        cedar: None,
    };
    let granted = world.engine.grant_mandate(&world.user, mandate);
    granted.expect("a mandate in form");
    let session = world.session();
    let mut words = Words(1);
    for _ in 0..ENTRIES / WRITES {
        let ops = (0..WRITES).map(|n| {
            let channel = if n % 5 == 0 {
                Channel::Web
            } else {
                Channel::User
            };
            StepOp::Write(memory(channel, words.text()))
        });
        world.step(&session, ops.collect());
    }
    world.engine.close();
}

fn memory(channel: Channel, text: String) -> Write {
    Write {
        channel: Some(channel),
        ..Write::memory(text)
    }
}

impl World {
    fn session(&self) -> SessionOpened {
        let spec = SessionSpec {
            agent: principal("assistant"),
            user: principal("alice"),
            namespace: NamespaceName::new("main").expect("a name"),
            mode: SessionMode::Headless,
            observed: true,
        };
        let opened = self.engine.open_session(&self.host, spec);
        opened.expect("a host opens sessions")
    }

    fn step(&self, session: &SessionOpened, ops: Vec<StepOp>) -> StepAnswer {
        let answer = self
            .engine
            .step(&self.host, session.id, &session.token, ops);
        answer.expect("a step in form")
    }

    /// The time of the step in a session just opened; it must end in a permit.
    fn timed_step(&self) -> Duration {
        let session = self.session();
        let ops = ops();
        let start = Instant::now();
        let answer = self.step(&session, ops);
        let took = start.elapsed();
        let Some(StepResult::Called(call)) = answer.results.last() else {
            unreachable!("the last operation is a call");
        };
        assert_eq!(call.decision, Decision::Permit, "{:?}", call.reasons);
        let shown = answer
            .results
            .iter()
            .any(|result| matches!(result, StepResult::Recalled(pack) if pack.items.len() == 15));
        assert!(shown, "the recall fills its 15 slots");
        took
    }
}

/// Three exposures, a recall of 15 and a call that rests on a grounded value and a mandate.
fn ops() -> Vec<StepOp> {
    let expose = |kind, channel, text: &str| {
        StepOp::Expose(Expose {
            kind,
            channel: Some(channel),
            text: text.to_owned(),
            locator: String::new(),
        })
    };
    let text = |value: &str| Value::Text(value.into());
    let call = ProposedCall {
        tool: ToolName::new("pay").expect("a name"),
        args: [
            ("to".into(), text("DE89370400440532013000")),
            ("amount".into(), Value::Number("900".into())),
        ]
        .into(),
    };
    vec![
        expose(ExposureKind::UserTurn, Channel::User, TURN),
        expose(ExposureKind::Text, Channel::Document, TURN),
        expose(ExposureKind::Text, Channel::Web, PAGE),
        StepOp::Recall(Recall {
            query: "rent flat w40 w300".to_owned(),
            ..Recall::default()
        }),
        StepOp::Call(Propose {
            call,
            approval: None,
        }),
    ]
}

/// The bare store, and what it appends: what opening a session appended, and what the step did.
struct Bare {
    store: Store,
    tenant: TenantName,
    opening: Vec<Leaf>,
    step: Vec<Leaf>,
}

impl Bare {
    /// Runs opening and step once in the home, sees what they appended, and copies the home.
    fn after(home: &Path, copy_to: &Path) -> Self {
        let (store, _, before) = leaves(home, u64::MAX);
        drop(store);
        let world = open(home);
        world.timed_step();
        world.engine.close();
        let (store, mut opening, _) = leaves(home, before);
        drop(store);
        copy(home, copy_to);
        let step = opening.split_off(1);
        let (store, ..) = leaves(copy_to, u64::MAX);
        let tenant = tenant();
        Self {
            store,
            tenant,
            opening,
            step,
        }
    }

    fn timed_commit(&mut self) -> Duration {
        commit(&mut self.store, &self.tenant, &self.opening);
        let start = Instant::now();
        commit(&mut self.store, &self.tenant, &self.step);
        start.elapsed()
    }

    fn bytes(&self) -> usize {
        let content = |leaf: &Leaf| leaf.content.as_ref().map_or(0, |(_, bytes)| bytes.len());
        self.step.iter().map(|l| l.body.len() + content(l)).sum()
    }
}

fn steps(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (home, copied) = (dir.path().join("home"), dir.path().join("copy"));
    fill(&home);
    let mut bare = Bare::after(&home, &copied);
    let world = open(&home);
    let mut group = c.benchmark_group("step");
    group.sample_size(20);
    group.bench_function("3_exposures_recall_call", |b| {
        b.iter_custom(|n| (0..n).map(|_| world.timed_step()).sum());
    });
    group.bench_function("bare_commit", |b| {
        b.iter_custom(|n| (0..n).map(|_| bare.timed_commit()).sum());
    });
    group.finish();
    let (mut ours, mut floor) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        ours.push(world.timed_step());
        floor.push(bare.timed_commit());
    }
    let (ours, floor) = (median(ours), median(floor));
    println!(
        "{ENTRIES} entries; the step appends {} leaves, {} bytes",
        bare.step.len(),
        bare.bytes()
    );
    println!("p50: step = {ours:.2?}, bare commit = {floor:.2?}");
    println!("cost above one commit = {:.2?}", ours.saturating_sub(floor));
    world.engine.close();
}

criterion_group!(benches, steps);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
}
