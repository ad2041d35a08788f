// SPDX-License-Identifier: MIT OR Apache-2.0
//! A store in a temporary home, with its four keys.

use ancile_core::{
    AuthorityClass, Channel, FieldName, NamespaceName, PrincipalName, ProposedCall, SessionId,
    SessionMode, SourceField, SourceName, SourceState, ToolName, Value,
};
use ancile_engine::api::{
    CallAnswer, Expose, ExposureKind, Gates, IndexState, Propose, Recall, SessionOpened,
    SessionSpec, StepAnswer, StepOp, StepResult, ToolResult, Write, Written,
};
use ancile_engine::{
    Caller, Engine, EngineConfig, IndexConfig, JudgeConfig, Refusal, ScreenPolicy,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub const MANIFEST: &str = r#"{"version":1,"tools":[
 {"name":"pay","effect":"external","args":{
   "to":{"kind":"account","sensitive":true,"required":true},
   "amount":{"kind":"amount","required":true}}},
 {"name":"send_email","effect":"external","args":{
   "to":{"kind":"email","list":true,"sensitive":true,"required":true},
   "body":{"kind":"free"}}},
 {"name":"search","effect":"read_only","args":{"query":{"kind":"free"}}},
 {"name":"contact","effect":"read_only","args":{"name":{"kind":"name"}},
   "results":{"email":"email","note":"free"}},
 {"name":"ping","effect":"external","args":{}}]}"#;

pub struct World {
    pub dir: tempfile::TempDir,
    pub engine: Engine,
    pub operator: Caller,
    pub user: Caller,
    pub host: Caller,
    pub agent: Caller,
}

pub fn principal(name: &str) -> PrincipalName {
    PrincipalName::new(name).unwrap()
}

pub fn main_namespace() -> NamespaceName {
    NamespaceName::new("main").unwrap()
}

/// Few entries in memory, so that every test meets segments.
fn index() -> IndexConfig {
    sealing(7)
}

/// An index that seals from so many records on.
pub fn sealing(records: u32) -> IndexConfig {
    IndexConfig {
        seal_records: std::num::NonZeroU32::new(records).unwrap(),
        ..IndexConfig::default()
    }
}

impl World {
    pub fn new() -> Self {
        Self::with(Gates::Enforce, true)
    }

    pub fn with(gates: Gates, screening: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Engine::init(&dir.path().join("home")).unwrap();
        let world = Self::open(dir, gates, screening).unwrap();
        world
            .engine
            .set_manifest(&world.operator, MANIFEST)
            .unwrap();
        world
    }

    /// A store whose contents are screened under a policy.
    pub fn under(policy: &str) -> Result<Self, Refusal> {
        Self::new().reopen_under(policy)
    }

    pub fn reopen_under(self, policy: &str) -> Result<Self, Refusal> {
        let Self { dir, engine, .. } = self;
        engine.close();
        Self::open_under(
            dir,
            (Gates::Enforce, true),
            &policy.parse().unwrap(),
            (index(), JudgeConfig::default()),
        )
    }

    /// A store whose contents are judged.
    pub fn judged(judging: JudgeConfig) -> Self {
        Self::new().reopen_judged((Gates::Enforce, true), judging)
    }

    pub fn reopen_judged(self, gates: (Gates, bool), judging: JudgeConfig) -> Self {
        let Self { dir, engine, .. } = self;
        engine.close();
        let policy = ScreenPolicy::default();
        Self::open_under(dir, gates, &policy, (index(), judging)).unwrap()
    }

    pub fn open_judged(dir: tempfile::TempDir, judging: JudgeConfig) -> Self {
        let policy = ScreenPolicy::default();
        Self::open_under(dir, (Gates::Enforce, true), &policy, (index(), judging)).unwrap()
    }

    pub fn open(dir: tempfile::TempDir, gates: Gates, screening: bool) -> Result<Self, Refusal> {
        Self::open_with(dir, (gates, screening), index())
    }

    pub fn open_with(
        dir: tempfile::TempDir,
        gates: (Gates, bool),
        index: IndexConfig,
    ) -> Result<Self, Refusal> {
        let judging = JudgeConfig::default();
        Self::open_under(dir, gates, &ScreenPolicy::default(), (index, judging))
    }

    fn open_under(
        dir: tempfile::TempDir,
        (gates, screening): (Gates, bool),
        policy: &ScreenPolicy,
        (index, judging): (IndexConfig, JudgeConfig),
    ) -> Result<Self, Refusal> {
        let home = dir.path().join("home");
        let config = EngineConfig {
            home: home.clone(),
            gates,
            screening,
            screen_policy: policy.clone(),
            judging,
            index,
        };
        let (engine, _) = Engine::open(config)?;
        let caller = |role: &str| {
            let token = std::fs::read_to_string(home.join("keys").join(format!("{role}.key")));
            engine.authenticate(token.unwrap().trim()).unwrap()
        };
        let (operator, user) = (caller("operator"), caller("user"));
        let (host, agent) = (caller("host"), caller("agent"));
        Ok(Self {
            dir,
            engine,
            operator,
            user,
            host,
            agent,
        })
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn reopen(self) -> Self {
        let Self { dir, engine, .. } = self;
        engine.close();
        Self::open(dir, Gates::Enforce, true).unwrap()
    }

    /// Waits until nothing is left to be sealed, merged, swept or compared.
    pub fn settled(&self) -> IndexState {
        loop {
            let state = self.engine.index_state(&self.operator).unwrap();
            if !state.busy {
                return state;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    pub fn session(&self, mode: SessionMode) -> SessionOpened {
        let spec = SessionSpec {
            agent: principal("assistant"),
            user: principal("alice"),
            namespace: main_namespace(),
            mode,
            observed: true,
        };
        self.engine.open_session(&self.host, spec).unwrap()
    }

    pub fn step(&self, s: &SessionOpened, ops: Vec<StepOp>) -> Result<StepAnswer, Refusal> {
        self.engine.step(&self.host, s.id, &s.token, ops)
    }

    pub fn one(&self, s: &SessionOpened, op: StepOp) -> StepResult {
        self.step(s, vec![op]).unwrap().results.remove(0)
    }

    pub fn says(&self, s: &SessionOpened, text: &str) -> AuthorityClass {
        match self.one(s, expose(ExposureKind::UserTurn, None, text)) {
            StepResult::Exposed(class, _) => class,
            other => panic!("{other:?}"),
        }
    }

    pub fn sees(&self, s: &SessionOpened, channel: Channel, text: &str) -> AuthorityClass {
        match self.one(s, expose(ExposureKind::Text, Some(channel), text)) {
            StepResult::Exposed(class, _) => class,
            other => panic!("{other:?}"),
        }
    }

    pub fn call(&self, s: &SessionOpened, call: ProposedCall) -> CallAnswer {
        match self.one(
            s,
            StepOp::Call(Propose {
                call,
                approval: None,
            }),
        ) {
            StepResult::Called(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub fn remember(&self, s: &SessionOpened, text: &str) -> Written {
        match self.one(s, StepOp::Write(memory(Some(Channel::Agent), text))) {
            StepResult::Written(written) => written,
            other => panic!("{other:?}"),
        }
    }

    /// Registers a source for a tool, and approves fields of its result as evidence.
    pub fn evidence(&self, source: &str, tool: &str, fields: &[&str]) -> SourceName {
        let source = SourceName::new(source).unwrap();
        let tool = ToolName::new(tool).unwrap();
        self.engine
            .register_source(&self.user, source.clone(), vec![tool.clone()])
            .unwrap();
        for field in fields {
            let field = SourceField {
                source: source.clone(),
                tool: tool.clone(),
                field: FieldName::new(field).unwrap(),
            };
            self.engine
                .approve_source(&self.user, field, SourceState::Evidence)
                .unwrap();
        }
        source
    }

    /// Makes a call that is permitted, and takes one field of its result.
    pub fn reports(
        &self,
        s: &SessionOpened,
        call: ProposedCall,
        field: (&str, &str),
    ) -> StepResult {
        let permit = self.call(s, call.clone()).permit.unwrap();
        self.one(s, StepOp::Redeem(permit, call));
        let fields = BTreeMap::from([(FieldName::new(field.0).unwrap(), field.1.to_owned())]);
        self.one(s, StepOp::Result(permit, ToolResult::Fields(fields)))
    }

    pub fn recalled(&self, s: &SessionOpened, query: &str) -> Vec<String> {
        match self.one(s, StepOp::Recall(recall(query))) {
            StepResult::Recalled(pack) => pack.items.into_iter().map(|i| i.text).collect(),
            other => panic!("{other:?}"),
        }
    }

    pub fn class(&self, id: SessionId) -> AuthorityClass {
        self.engine.session(&self.host, id).unwrap().class
    }
}

pub fn expose(kind: ExposureKind, channel: Option<Channel>, text: &str) -> StepOp {
    StepOp::Expose(Expose {
        kind,
        channel,
        text: text.to_owned(),
        locator: String::new(),
    })
}

pub fn recall(query: &str) -> Recall {
    Recall {
        query: query.to_owned(),
        ..Recall::default()
    }
}

pub fn memory(channel: Option<Channel>, text: &str) -> Write {
    Write {
        channel,
        ..Write::memory(text)
    }
}

pub fn tool_call(tool: &str, args: &[(&str, Value)]) -> ProposedCall {
    ProposedCall {
        tool: ToolName::new(tool).unwrap(),
        args: args.iter().map(|(k, v)| ((*k).into(), v.clone())).collect(),
    }
}

pub fn text(value: &str) -> Value {
    Value::Text(value.into())
}
