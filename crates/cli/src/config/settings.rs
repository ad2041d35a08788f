// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one table of settings.

use super::value::{Kind, Value};
use crate::judge::{self, JudgeSettings};
use ancile_engine::api::BATCH_ENTRIES_MAX;
use ancile_engine::{
    ESCALATE_FROM, FLAG_FROM, Gates, IndexConfig, JUDGE_THREADS, JUDGE_TIME_LIMIT_MS, JudgeFailure,
    Model, PENDING_MAX, SEAL_RECORDS, ScreenPolicy, counts,
};
use ancile_models::{FETCHED, FetchedModel, MINILM, MINILM_ONNX};
use ancile_server::{Limits, MetricsAccess, limits};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU8, NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Its key in the file, with the section before the point.
    pub key: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// The unit of a number; empty for all else.
    pub unit: &'static str,
    /// What holds where nobody says anything.
    pub default: Value,
    /// What it does, in one sentence.
    pub what: &'static str,
    /// Puts a value that fits into its place.
    pub put: fn(&mut Settings, &Value),
}

/// What the program goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where the server listens.
    pub listen: SocketAddr,
    /// The Unix socket that it listens on besides.
    pub socket: Option<PathBuf>,
    /// Whether decisions bind.
    pub gates: Gates,
    /// Whether contents are screened.
    pub screening: bool,
    /// What follows from what screening finds.
    pub screen_policy: ScreenPolicy,
    /// What judges contents, and what follows.
    pub judge: JudgeSettings,
    /// How recall finds entries.
    pub index: IndexConfig,
    /// The model that was fetched and finds them by meaning, in the place of the one in `index`.
    pub fetched: Option<&'static FetchedModel>,
    /// Threads that compute it.
    pub model_threads: NonZeroUsize,
    /// The library that computes it, where it is one for ONNX Runtime.
    pub onnx_runtime: PathBuf,
    /// What is logged.
    pub log_level: String,
    /// How it is logged.
    pub log_format: LogFormat,
    /// How long a commit may take before the store counts as degraded.
    pub slow_commit: Duration,
    /// Where traces and metrics are exported to; nowhere where it is empty.
    pub otlp_endpoint: String,
    /// How often metrics are exported.
    pub otlp_interval: Duration,
    /// What one caller may take of the server.
    pub limits: Limits,
}

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people on a terminal, as JSON anywhere else.
    Auto,
    /// As JSON.
    Json,
    /// For people.
    Text,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)),
            socket: None,
            gates: Gates::Enforce,
            screening: true,
            screen_policy: ScreenPolicy::default(),
            judge: JudgeSettings::default(),
            index: IndexConfig::default(),
            fetched: None,
            model_threads: MODEL_THREADS,
            onnx_runtime: PathBuf::new(),
            log_level: LOG_LEVEL.to_owned(),
            log_format: LogFormat::Auto,
            slow_commit: counts::SLOW_COMMIT,
            otlp_endpoint: String::new(),
            otlp_interval: Duration::from_secs(60),
            limits: Limits::default(),
        }
    }
}

impl Setting {
    /// Its variable.
    pub fn env(&self) -> String {
        if self.key == LOG_KEY {
            return "ANCILE_LOG".to_owned();
        }
        format!("ANCILE_{}", self.key.replace('.', "_").to_uppercase())
    }
}

impl Settings {
    /// What does not fit together.
    pub fn faults(&self) -> Vec<String> {
        let Limits {
            body_bytes,
            bodies_bytes,
            ..
        } = self.limits;
        let room = (bodies_bytes < body_bytes).then(|| {
            format!(
                "`limits.bodies_bytes` is {bodies_bytes} bytes and `limits.body_bytes` \
                 {body_bytes}, so that the longest body finds no room; raise the first or lower \
                 the second"
            )
        });
        room.into_iter().chain(self.judge.faults()).collect()
    }
}

/// Every setting, in the order in which they are shown.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "server.listen",
        kind: Kind::Address,
        unit: "",
        default: Value::fixed("127.0.0.1:7878"),
        what: "Where the server listens; port 0 takes a free one.",
        put: |to, value| {
            if let Ok(address) = value.text().parse() {
                to.listen = address;
            }
        },
    },
    Setting {
        key: "server.socket",
        kind: Kind::Form {
            due: "the path of a Unix socket, of at most 103 bytes, or nothing",
            check: socket_path,
        },
        unit: "",
        default: Value::fixed(""),
        what: "The Unix socket on which the server listens too; mode 0600, so that only its owner \
               can connect.",
        put: |to, value| {
            let path = Some(value.text()).filter(|path| !path.is_empty());
            to.socket = path.map(PathBuf::from);
        },
    },
    Setting {
        key: "gates.mode",
        kind: Kind::OneOf(&["enforce", LOG_ONLY]),
        unit: "",
        default: Value::fixed("enforce"),
        what: "Whether decisions bind, or are only made and logged.",
        put: |to, value| {
            to.gates = if value.text() == LOG_ONLY {
                Gates::LogOnly
            } else {
                Gates::Enforce
            };
        },
    },
    Setting {
        key: "screening.enabled",
        kind: Kind::Switch,
        unit: "",
        default: Value::Switch(true),
        what: "Whether contents are screened when they are written; the gates hold without.",
        put: |to, value| to.screening = value.is_on(),
    },
    Setting {
        key: "screening.policy",
        kind: Kind::Form {
            due: "lines such as `secret=redact`, `personal@web+tool=quarantine` and \
                  `secret.private_key=reject`, with commas between them",
            check: |text| match text.parse::<ScreenPolicy>() {
                Ok(_) => Ok(()),
                Err(fault) => Err(fault.to_string()),
            },
        },
        unit: "",
        default: Value::fixed(""),
        what: "What follows for a content from what is found in it, by stage, family or rule, and \
               channel, where the default does not suit.",
        put: |to, value| {
            if let Ok(policy) = value.text().parse() {
                to.screen_policy = policy;
            }
        },
    },
    Setting {
        key: "judge.command",
        kind: Kind::Form {
            due: "the absolute path of a program and its arguments, with blanks between them, or \
                  nothing",
            check: judge::check,
        },
        unit: "",
        default: Value::fixed(""),
        what: "The program that judges a text: it is given it on standard input and prints a \
               score, a whole number of 0 to 1000; no shell reads the command.",
        put: |to, value| {
            let words = value.text().split_ascii_whitespace();
            to.judge.command = words.map(str::to_owned).collect();
        },
    },
    Setting {
        key: "judge.name",
        kind: Kind::Form {
            due: "a name and a version, such as `guard-7b/2`",
            check: |text| match judge::id_of(text) {
                Some(_) => Ok(()),
                None => Err("it is no name of `A-Z a-z 0-9 . _ -`, a `/` and a number".to_owned()),
            },
        },
        unit: "",
        default: Value::fixed(judge::ID),
        what: "What verdicts call the judge; give one that can score otherwise another version.",
        put: |to, value| to.judge.id = judge::id_of(value.text()),
    },
    Setting {
        key: "judge.flag_per_mille",
        kind: PER_MILLE,
        unit: "per mille",
        default: Value::Whole(FLAG_FROM as u64),
        what: "Score from which a text is flagged.",
        put: |to, value| to.judge.flag = value.per_mille(),
    },
    Setting {
        key: "judge.quarantine_per_mille",
        kind: PER_MILLE,
        unit: "per mille",
        default: Value::Whole(ESCALATE_FROM as u64),
        what: "Score from which a text goes to the quarantine shelf.",
        put: |to, value| to.judge.quarantine = value.per_mille(),
    },
    Setting {
        key: "judge.on_failure",
        kind: Kind::OneOf(&["quarantine", FALL_BACK]),
        unit: "",
        default: Value::fixed("quarantine"),
        what: "What follows where the judge gives no score: the text goes to the quarantine shelf, \
               or is used and flagged as the rules left it.",
        put: |to, value| {
            to.judge.on_failure = match value.text() {
                FALL_BACK => JudgeFailure::FallBack,
                _ => JudgeFailure::Quarantine,
            };
        },
    },
    Setting {
        key: "judge.timeout_milliseconds",
        kind: Kind::Whole {
            min: 1,
            max: 600_000,
        },
        unit: "milliseconds",
        default: Value::Whole(JUDGE_TIME_LIMIT_MS.get() as u64),
        what: "How long the judge may take for one text; then it is ended and gave no score.",
        put: |to, value| {
            to.judge.time_limit_ms = NonZeroU32::new(value.count()).unwrap_or(JUDGE_TIME_LIMIT_MS);
        },
    },
    Setting {
        key: "judge.threads",
        kind: Kind::Whole { min: 1, max: 64 },
        unit: "threads",
        default: Value::Whole(JUDGE_THREADS.get() as u64),
        what: "How many texts are judged at the same time.",
        put: |to, value| {
            let threads = u8::try_from(value.whole()).ok().and_then(NonZeroU8::new);
            to.judge.threads = threads.unwrap_or(JUDGE_THREADS);
        },
    },
    Setting {
        key: "judge.pending_max",
        // A request is taken whole or not at all: a limit that none of its size fits under would
        // refuse it for ever.
        kind: Kind::Whole {
            min: BATCH_ENTRIES_MAX as u64,
            max: 1_000_000,
        },
        unit: "writes",
        default: Value::Whole(PENDING_MAX.get() as u64),
        what: "Most writes of one tenant that wait for the judge; further ones are answered with \
               429.",
        put: |to, value| {
            to.judge.pending_max = NonZeroU32::new(value.count()).unwrap_or(PENDING_MAX);
        },
    },
    Setting {
        key: "index.model",
        kind: Kind::OneOf(&["builtin", MINILM.name, MINILM_ONNX.name, NO_MODEL]),
        unit: "",
        default: Value::fixed("builtin"),
        what: "What finds entries by meaning, beside their words: a table of token vectors that is \
               part of the program, a model that `ancile model fetch` brought, or nothing; after a \
               change, `ancile reindex`.",
        put: |to, value| {
            to.fetched = FETCHED.iter().find(|model| model.name == value.text());
            to.index.model = match value.text() {
                NO_MODEL => Model::None,
                _ => Model::Builtin,
            };
        },
    },
    Setting {
        key: "index.model_threads",
        kind: Kind::Whole { min: 1, max: 64 },
        unit: "threads",
        default: Value::Whole(MODEL_THREADS.get() as u64),
        what: "How many threads compute the vectors of a model that was fetched.",
        put: |to, value| {
            to.model_threads = NonZeroUsize::new(value.size()).unwrap_or(MODEL_THREADS);
        },
    },
    Setting {
        key: "index.onnx_runtime",
        kind: Kind::Form {
            due: "the path of ONNX Runtime, such as `/usr/lib/libonnxruntime.so`, or nothing",
            check: |text| match text.is_empty() || Path::new(text).is_absolute() {
                true => Ok(()),
                false => Err("it begins at the root, so that no other library is found".to_owned()),
            },
        },
        unit: "",
        default: Value::fixed(""),
        what: "The library that computes `minilm-onnx`: it is code that runs inside the server; \
               only in a build with the cargo feature `ort`.",
        put: |to, value| to.onnx_runtime = PathBuf::from(value.text()),
    },
    Setting {
        key: "index.seal_records",
        kind: Kind::Whole {
            min: 1,
            max: 1_000_000,
        },
        unit: "records",
        default: Value::Whole(SEAL_RECORDS.get() as u64),
        what: "How many records of a tenant are kept in memory before they go into index segments; \
               after a crash as many are read again.",
        put: |to, value| {
            to.index.seal_records = NonZeroU32::new(value.count()).unwrap_or(SEAL_RECORDS);
        },
    },
    Setting {
        key: LOG_KEY,
        kind: Kind::Form {
            due: "a level, such as `info`, or levels by part, such as `info,ancile_engine=debug`",
            check: |text| match EnvFilter::builder().parse(text) {
                Ok(_) => Ok(()),
                Err(fault) => Err(fault.to_string()),
            },
        },
        unit: "",
        default: Value::fixed(LOG_LEVEL),
        what: "What is logged.",
        put: |to, value| value.text().clone_into(&mut to.log_level),
    },
    Setting {
        key: "log.format",
        kind: Kind::OneOf(&["auto", "json", "text"]),
        unit: "",
        default: Value::fixed("auto"),
        what: "How a line of the log looks: for people, as JSON, or `auto`, which is JSON unless \
               standard error is a terminal.",
        put: |to, value| {
            to.log_format = match value.text() {
                "json" => LogFormat::Json,
                "text" => LogFormat::Text,
                _ => LogFormat::Auto,
            };
        },
    },
    Setting {
        key: "metrics.access",
        kind: Kind::OneOf(&["operator", "loopback", "off"]),
        unit: "",
        default: Value::fixed("operator"),
        what: "Who may read `/metrics`: the first tenant's operator by key, besides whoever \
               connects from this machine (a proxy on it included), or nobody.",
        put: |to, value| {
            to.limits.metrics = match value.text() {
                "loopback" => MetricsAccess::Loopback,
                "off" => MetricsAccess::Off,
                _ => MetricsAccess::Operator,
            };
        },
    },
    Setting {
        key: "otlp.endpoint",
        kind: Kind::Form {
            due: "the address of a collector, such as `http://127.0.0.1:4318`, or nothing",
            check: |text| match text.strip_prefix("http://") {
                _ if text.is_empty() => Ok(()),
                Some(rest) if !rest.is_empty() && !rest.ends_with('/') => Ok(()),
                _ => Err("it begins with `http://` and ends without `/`".to_owned()),
            },
        },
        unit: "",
        default: Value::fixed(""),
        what: "Where traces and metrics go, by OTLP over plain HTTP with `/v1/traces` and \
               `/v1/metrics` appended; only in a build with the cargo feature `otlp`.",
        put: |to, value| value.text().clone_into(&mut to.otlp_endpoint),
    },
    Setting {
        key: "otlp.interval_seconds",
        kind: Kind::Whole { min: 1, max: 3_600 },
        unit: "seconds",
        default: Value::Whole(60),
        what: "How often metrics are exported; besides, once at the end.",
        put: |to, value| to.otlp_interval = Duration::from_secs(value.whole()),
    },
    Setting {
        key: "health.slow_commit_milliseconds",
        kind: Kind::Whole {
            min: 1,
            max: 600_000,
        },
        unit: "milliseconds",
        default: Value::Whole(1_000),
        what: "How long a commit may take; a slower one degrades `/healthz` until 32 in a row were \
               not.",
        put: |to, value| to.slow_commit = Duration::from_millis(value.whole()),
    },
    Setting {
        key: "limits.body_bytes",
        kind: Kind::Whole {
            min: 1_024,
            max: 67_108_864,
        },
        unit: "bytes",
        default: Value::Whole(limits::BODY_BYTES_MAX as u64),
        what: "Longest body of a request.",
        put: |to, value| to.limits.body_bytes = value.size(),
    },
    Setting {
        key: "limits.bodies_bytes",
        kind: Kind::Whole {
            min: 1_024,
            max: 4_294_967_295,
        },
        unit: "bytes",
        default: Value::Whole(limits::BODIES_BYTES_MAX as u64),
        what: "Most bytes of bodies held at the same time; further ones are answered with 503.",
        put: |to, value| to.limits.bodies_bytes = value.size(),
    },
    Setting {
        key: "limits.requests",
        kind: Kind::Whole { min: 1, max: 4_096 },
        unit: "requests",
        default: Value::Whole(limits::REQUESTS_MAX as u64),
        what: "Most requests worked on at the same time, each on a thread; further ones are \
               answered with 503.",
        put: |to, value| to.limits.requests = value.size(),
    },
    Setting {
        key: "limits.connections",
        kind: Kind::Whole {
            min: 1,
            max: 65_536,
        },
        unit: "connections",
        default: Value::Whole(limits::CONNECTIONS_MAX as u64),
        what: "Most open connections; further ones wait to be accepted.",
        put: |to, value| to.limits.connections = value.size(),
    },
    Setting {
        key: "limits.rate_per_second",
        kind: RATE,
        unit: "requests",
        default: Value::Whole(limits::RATE_PER_SECOND as u64),
        what: "How fast one key may ask, over time; further requests are answered with 429.",
        put: |to, value| to.limits.rate.per_second = value.count(),
    },
    Setting {
        key: "limits.rate_burst",
        kind: RATE,
        unit: "requests",
        default: Value::Whole(limits::RATE_BURST as u64),
        what: "How many requests of one key may come at once, after a time without any.",
        put: |to, value| to.limits.rate.burst = value.count(),
    },
    Setting {
        key: "limits.head_seconds",
        kind: SECONDS,
        unit: "seconds",
        default: Value::Whole(limits::HEAD_SECONDS),
        what: "How long a client may take for request line and headers, and a connection idle.",
        put: |to, value| to.limits.head = Duration::from_secs(value.whole()),
    },
    Setting {
        key: "limits.body_seconds",
        kind: SECONDS,
        unit: "seconds",
        default: Value::Whole(limits::BODY_SECONDS),
        what: "How long a client may take to send a body.",
        put: |to, value| to.limits.body = Duration::from_secs(value.whole()),
    },
    Setting {
        key: "limits.work_seconds",
        kind: SECONDS,
        unit: "seconds",
        default: Value::Whole(limits::WORK_SECONDS),
        what: "How long the engine may take for one request.",
        put: |to, value| to.limits.work = Duration::from_secs(value.whole()),
    },
    Setting {
        key: "limits.stop_seconds",
        kind: SECONDS,
        unit: "seconds",
        default: Value::Whole(limits::STOP_SECONDS),
        what: "How long requests under way may take once the server is told to stop.",
        put: |to, value| to.limits.stop = Duration::from_secs(value.whole()),
    },
];

/// Longest path of a Unix socket, in bytes, on every platform: what macOS and the BSDs take.
const SOCKET_PATH_BYTES_MAX: usize = 103;

/// Says what is wrong with the path of a socket.
fn socket_path(path: &str) -> Result<(), String> {
    if path.len() > SOCKET_PATH_BYTES_MAX {
        return Err(format!("it has {} bytes", path.len()));
    }
    if path.contains('\0') {
        return Err("no path has a zero byte".to_owned());
    }
    if cfg!(not(unix)) && !path.is_empty() {
        return Err("this platform has no Unix sockets".to_owned());
    }
    Ok(())
}

/// Requests of one key.
const RATE: Kind = Kind::Whole {
    min: 1,
    max: 1_000_000,
};
/// A time-out.
const SECONDS: Kind = Kind::Whole { min: 1, max: 600 };
/// A score, or a threshold of scores.
const PER_MILLE: Kind = Kind::Whole { min: 1, max: 1_000 };
/// What the rules left holds.
const FALL_BACK: &str = "fall_back";
/// The gates only log.
const LOG_ONLY: &str = "log_only";

/// Threads of a fetched model where nothing is said.
const MODEL_THREADS: NonZeroUsize = match NonZeroUsize::new(2) {
    Some(threads) => threads,
    None => NonZeroUsize::MIN,
};
/// The word for no model.
const NO_MODEL: &str = "none";
/// What is logged where nothing is said.
const LOG_LEVEL: &str = "info";
/// The one setting whose variable has a name of its own.
const LOG_KEY: &str = "log.level";
/// The port of the server where nothing is said.
const PORT: u16 = 7878;
