// SPDX-License-Identifier: MIT OR Apache-2.0
//! The configuration: one TOML file, with a flag before the environment, the environment before
//! the file, and the file before the default.
//!
//! A setting is a row of [`settings::SETTINGS`]; all else here follows from the rows: the names in
//! file, environment and flags, what is refused, what `ancile config show` prints, and
//! `docs/configuration.md`.

mod reference;
mod settings;
mod value;

pub use reference::document;
pub use settings::{LogFormat, SETTINGS, Setting, Settings};
pub use value::Value;

use crate::failure::{Exit, Failure};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The file in the home that is read where no other is named.
const FILE: &str = "ancile.toml";
/// Longest configuration file, in bytes.
const FILE_BYTES_MAX: u64 = 262_144;
/// What variables begin with.
const PREFIX: &str = "ANCILE_";
/// Variables that are no settings: they say where a command works, and as whom.
const PLACES: [&str; 5] = [
    "ANCILE_HOME",
    "ANCILE_CONFIG",
    "ANCILE_KEY_FILE",
    "ANCILE_SESSION",
    "ANCILE_SESSION_TOKEN",
];

/// Where settings come from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The home, in which [`FILE`] is read if it is there.
    pub home: PathBuf,
    /// A file named instead; it must be there.
    pub file: Option<PathBuf>,
    /// What flags say.
    pub flags: Vec<Flag>,
}

/// A setting on the command line.
#[derive(Debug, Clone)]
pub struct Flag {
    /// The flag, as it was written.
    pub flag: String,
    /// The key of the setting.
    pub key: String,
    /// Its value.
    pub value: String,
}

impl Flag {
    /// Every `--set` of a command line. The parser has checked their form, but keeps only those
    /// beside the innermost command.
    pub fn all_of(args: impl Iterator<Item = OsString>) -> Vec<Self> {
        let mut args = args.map(|arg| arg.to_string_lossy().into_owned());
        let mut all = Vec::new();
        while let Some(arg) = args.next() {
            let said = match arg.as_str() {
                "--" => break,
                "--set" => args.next(),
                other => other.strip_prefix("--set=").map(str::to_owned),
            };
            let Some((key, value)) = said.as_deref().and_then(|said| said.split_once('=')) else {
                continue;
            };
            all.push(Self {
                flag: format!("--set {key}"),
                key: key.to_owned(),
                value: value.to_owned(),
            });
        }
        all
    }
}

/// Where the value of a setting is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag, as it was written.
    Flag(String),
    /// A variable of the environment.
    Env(String),
    /// A line of the file.
    File(PathBuf, usize),
    /// Nobody said anything.
    Default,
}

impl Origin {
    /// Its kind, for `--json`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Flag(_) => "flag",
            Self::Env(_) => "env",
            Self::File(..) => "file",
            Self::Default => "default",
        }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Env(name) => write!(f, "env {name}"),
            Self::File(path, line) => write!(f, "file {} line {line}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// The settings in force, and where each is from.
#[derive(Debug)]
pub struct Config {
    /// What the program goes by.
    pub settings: Settings,
    /// The file that was read, if one was.
    pub file: Option<PathBuf>,
    values: BTreeMap<&'static str, (Value, Origin)>,
}

/// Reads the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

impl Sources {
    /// The settings in force.
    ///
    /// # Errors
    /// The first fault: where it is, what would do, and the next step.
    pub fn load(&self) -> Result<Config, Failure> {
        let (config, faults) = Config::read(self, &|name| std::env::var_os(name));
        match faults.into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(config),
        }
    }
}

impl Config {
    /// Reads all there is; gives what could be read and every fault.
    pub fn read(from: &Sources, environment: Environment<'_>) -> (Self, Vec<Failure>) {
        let mut reading = Reading::default();
        let file = reading.file(from);
        reading.environment(environment);
        reading.flags(&from.flags);
        let Reading { values, mut faults } = reading;
        let mut settings = Settings::default();
        let rows = SETTINGS.iter().map(|row| {
            let said = values.get(row.key).cloned();
            let default = || (row.default.clone(), Origin::Default);
            (row, said.unwrap_or_else(default))
        });
        let mut all = BTreeMap::new();
        for (row, (value, origin)) in rows {
            (row.put)(&mut settings, &value);
            all.insert(row.key, (value, origin));
        }
        faults.extend(settings.faults().into_iter().map(bad));
        let config = Self {
            settings,
            file,
            values: all,
        };
        (config, faults)
    }

    /// Each setting in order of the table, with its value and where it is from.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Setting, &Value, &Origin)> {
        SETTINGS.iter().filter_map(|row| {
            let (value, origin) = self.values.get(row.key)?;
            Some((row, value, origin))
        })
    }
}

/// Variables that look like settings and are none.
pub fn unknown_variables(all: impl Iterator<Item = OsString>) -> Vec<String> {
    let names = all.filter_map(|name| name.into_string().ok());
    let known = |name: &str| PLACES.contains(&name) || SETTINGS.iter().any(|s| s.env() == name);
    let mut unknown: Vec<String> = names
        .filter(|name| name.starts_with(PREFIX) && !known(name))
        .collect();
    unknown.sort();
    unknown
}

/// What was read so far: a later source takes the place of an earlier one.
#[derive(Default)]
struct Reading {
    values: BTreeMap<&'static str, (Value, Origin)>,
    faults: Vec<Failure>,
}

impl Reading {
    /// Reads the file; gives its path if there is one.
    fn file(&mut self, from: &Sources) -> Option<PathBuf> {
        let path = from.file.clone().unwrap_or_else(|| from.home.join(FILE));
        let text = match read(&path) {
            Ok(text) => text,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound && from.file.is_none() => {
                return None;
            }
            Err(fault) => {
                let path = path.display();
                let text = format!(
                    "cannot read the configuration `{path}`: {fault}; mend that, or name another \
                     by --config"
                );
                self.faults.push(bad(text));
                return None;
            }
        };
        let file = File {
            path: &path,
            text: &text,
        };
        match DeTable::parse(&text) {
            Ok(table) => self.table(&file, "", table.get_ref()),
            Err(fault) => {
                let at = file.place(fault.span());
                let said = fault.message();
                self.faults
                    .push(bad(format!("{at} is not TOML: {said}; correct it")));
            }
        }
        Some(path)
    }

    fn table(&mut self, file: &File<'_>, within: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = match within {
                "" => name.get_ref().to_string(),
                within => format!("{within}.{}", name.get_ref()),
            };
            let row = SETTINGS.iter().find(|row| row.key == key);
            let section = format!("{key}.");
            let is_section = SETTINGS.iter().any(|row| row.key.starts_with(&section));
            match (row, value.get_ref()) {
                (None, DeValue::Table(inner)) if is_section => self.table(file, &key, inner),
                (None, _) => {
                    let at = file.place(Some(name.span()));
                    self.unknown(&key, &format!(" at {at}"));
                }
                (Some(row), value) => {
                    let line = file.line(name.span().start);
                    let origin = Origin::File(file.path.to_owned(), line);
                    self.take(row, row.kind.of_toml(value), origin);
                }
            }
        }
    }

    fn environment(&mut self, environment: Environment<'_>) {
        for row in SETTINGS {
            let name = row.env();
            let Some(text) = environment(&name).filter(|text| !text.is_empty()) else {
                continue;
            };
            let value = row.kind.of_text(&text.to_string_lossy());
            self.take(row, value, Origin::Env(name));
        }
    }

    fn flags(&mut self, flags: &[Flag]) {
        for Flag { flag, key, value } in flags {
            match SETTINGS.iter().find(|row| row.key == key) {
                Some(row) => self.take(row, row.kind.of_text(value), Origin::Flag(flag.clone())),
                None => self.unknown(key, &format!(" in {flag}")),
            }
        }
    }

    fn take(&mut self, row: &'static Setting, value: Result<Value, value::Bad>, origin: Origin) {
        match value {
            Ok(value) => {
                self.values.insert(row.key, (value, origin));
            }
            Err(value::Bad { given, why }) => {
                let what = match &origin {
                    Origin::Flag(flag) => flag.clone(),
                    Origin::Env(name) => name.clone(),
                    Origin::File(path, line) => {
                        format!("`{}` in `{}` line {line}", row.key, path.display())
                    }
                    Origin::Default => row.key.to_owned(),
                };
                let due = row.kind.due(row.unit);
                let text = format!("{what} is `{given}`: {why}it takes {due}; set it so");
                self.faults.push(bad(text));
            }
        }
    }

    fn unknown(&mut self, key: &str, place: &str) {
        let near = match nearest(key) {
            Some(near) => format!("the nearest is `{near}`; write that, or remove it"),
            None => "remove it".to_owned(),
        };
        let text = format!(
            "there is no setting `{key}`{place}; {near}; `ancile config reference` lists all"
        );
        self.faults.push(bad(text));
    }
}

/// A file while it is read.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        before.iter().filter(|b| **b == b'\n').count() + 1
    }

    fn place(&self, span: Option<Range<usize>>) -> String {
        let path = self.path.display();
        match span {
            Some(span) => format!("`{path}` line {}", self.line(span.start)),
            None => format!("`{path}`"),
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let limit = FILE_BYTES_MAX.saturating_add(1);
    std::fs::File::open(path)?
        .take(limit)
        .read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let said = format!("it is longer than {FILE_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, said));
    }
    Ok(text)
}

/// The key or section that looks most like this one.
fn nearest(key: &str) -> Option<&'static str> {
    let section = |row: &'static Setting| row.key.split('.').next().unwrap_or_default();
    let names = SETTINGS.iter().flat_map(|row| [row.key, section(row)]);
    let likeness = |name: &str| strsim::normalized_levenshtein(key, name);
    names
        .filter(|name| likeness(name) > LIKE_MIN)
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}

/// Below this likeness a key is no guess worth making.
const LIKE_MIN: f64 = 0.4;

fn bad(text: String) -> Failure {
    Failure::new(Exit::Usage, "config", text)
}

#[cfg(test)]
mod tests;
