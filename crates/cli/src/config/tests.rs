// SPDX-License-Identifier: MIT OR Apache-2.0
use super::value::{Kind, Value};
use super::*;
use ancile_engine::Gates;
use std::collections::BTreeSet;

/// A file of these lines in a home of its own.
struct Home(tempfile::TempDir);

impl Home {
    fn with(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE), text).unwrap();
        Self(dir)
    }

    fn sources(&self, flags: &[(&str, &str)]) -> Sources {
        let flag = |(key, value): &(&str, &str)| Flag {
            flag: format!("--set {key}"),
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        Sources {
            home: self.0.path().to_owned(),
            file: None,
            flags: flags.iter().map(flag).collect(),
        }
    }

    /// Every fault of the file, with the home left out.
    fn faults(&self, flags: &[(&str, &str)], env: &[(&str, &str)]) -> Vec<String> {
        let (_, faults) = self.read(flags, env);
        let home = format!("{}/", self.0.path().display());
        let text = |fault: &Failure| fault.text.replace(&home, "");
        faults.iter().map(text).collect()
    }

    fn read(&self, flags: &[(&str, &str)], env: &[(&str, &str)]) -> (Config, Vec<Failure>) {
        let find = |name: &str| {
            let found = env.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Config::read(&self.sources(flags), &find)
    }
}

fn origin_of(config: &Config, key: &str) -> (Value, Origin) {
    let (_, value, origin) = config.rows().find(|(row, ..)| row.key == key).unwrap();
    (value.clone(), origin.clone())
}

const KEY: &str = "limits.body_bytes";

#[test]
fn a_flag_goes_before_the_environment_that_before_the_file_and_that_before_the_default() {
    let home = Home::with("\n[limits]\nbody_bytes = 3_000\n");
    let path = home.0.path().join(FILE);
    let (flag, env) = ([(KEY, "5000")], [("ANCILE_LIMITS_BODY_BYTES", "4000")]);
    let check = |flags: &[(&str, &str)], env: &[(&str, &str)], value, origin| {
        let (config, faults) = home.read(flags, env);
        assert_eq!(faults, []);
        assert_eq!(origin_of(&config, KEY), (Value::Whole(value), origin));
        assert_eq!(config.settings.limits.body_bytes as u64, value);
    };
    check(&flag, &env, 5000, Origin::Flag(format!("--set {KEY}")));
    check(
        &[],
        &env,
        4000,
        Origin::Env("ANCILE_LIMITS_BODY_BYTES".to_owned()),
    );
    check(&[], &[], 3000, Origin::File(path, 3));
    // An empty variable counts as absent.
    let empty = [("ANCILE_LIMITS_BODY_BYTES", "")];
    let (config, _) = home.read(&[], &empty);
    assert_eq!(origin_of(&config, KEY).0, Value::Whole(3000));
    let (config, faults) = Home::with("").read(&[], &[]);
    assert_eq!(faults, []);
    assert_eq!(config.settings, Settings::default());
    assert!(config.rows().all(|(.., from)| *from == Origin::Default));
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_the_nearest() {
    let home = Home::with("[limits]\nbody_byte = 1\nxyzzy = 2\n[sever]\nlisten = \"\"\n");
    let said = home.faults(&[("gate.mode", "enforce")], &[]);
    assert_eq!(
        said,
        [
            "there is no setting `limits.body_byte` at `ancile.toml` line 2; the nearest is \
             `limits.body_bytes`; write that, or remove it; `ancile config reference` lists all",
            "there is no setting `limits.xyzzy` at `ancile.toml` line 3; the nearest is \
             `limits.body_bytes`; write that, or remove it; `ancile config reference` lists all",
            "there is no setting `sever` at `ancile.toml` line 4; the nearest is \
             `server`; write that, or remove it; `ancile config reference` lists all",
            "there is no setting `gate.mode` in --set gate.mode; the nearest is `gates.mode`; \
             write that, or remove it; `ancile config reference` lists all",
        ]
    );
    let said = Home::with("\"a.b.c.d\" = 1").faults(&[], &[]);
    assert!(
        said[0].contains("`a.b.c.d` at `ancile.toml` line 1; remove it"),
        "{said:?}"
    );
}

#[test]
fn a_value_that_does_not_fit_names_its_limit_and_unit() {
    let home = Home::with(
        "[server]\nlisten = \"foo\"\n[gates]\nmode = 1\n[limits]\nbody_bytes = 1_023\n\
         requests = \"many\"\nhead_seconds = 601\nbody_seconds = -1\n[screening]\nenabled = 1\n\
         policy = \"secrets=redact\"\n",
    );
    let said = home.faults(&[], &[("ANCILE_LOG", "bogus===")]);
    let fits = |part: &str| assert!(said.iter().any(|s| s.contains(part)), "{part}: {said:#?}");
    fits(
        "`limits.body_bytes` in `ancile.toml` line 6 is `1023`: it takes 1024 to 67108864 bytes; \
         set it so",
    );
    fits(
        "`limits.requests` in `ancile.toml` line 7 is `\\\"many\\\"`: it takes 1 to 4096 requests",
    );
    fits("`limits.head_seconds` in `ancile.toml` line 8 is `601`: it takes 1 to 600 seconds");
    fits("`limits.body_seconds` in `ancile.toml` line 9 is `-1`: it takes 1 to 600 seconds");
    fits("`server.listen` in `ancile.toml` line 2 is `foo`: it takes an IP address with a port");
    fits("`gates.mode` in `ancile.toml` line 4 is `integer`: it takes `enforce` or `log_only`");
    fits("`screening.enabled` in `ancile.toml` line 11 is `integer`: it takes `true` or `false`");
    fits("ANCILE_LOG is `bogus===`: ");
    fits(
        "`screening.policy` in `ancile.toml` line 12 is `secrets=redact`: there is no stage, \
         family or rule `secrets`; ",
    );
    assert_eq!(said.len(), 9);
}

#[test]
fn every_number_is_taken_at_its_limits_and_refused_beyond() {
    for row in SETTINGS {
        let Kind::Whole { min, max } = row.kind else {
            continue;
        };
        let fits = |n: u64| row.kind.of_text(&n.to_string()).is_ok();
        assert!(fits(min) && fits(max), "{}", row.key);
        assert!(
            !fits(max + 1) && (min == 0 || !fits(min - 1)),
            "{}",
            row.key
        );
    }
}

#[test]
fn bodies_together_have_room_for_the_longest() {
    let home = Home::with("[limits]\nbodies_bytes = 2048\nbody_bytes = 2049\n");
    let said = home.faults(&[], &[]);
    assert!(
        said[0].starts_with("`limits.bodies_bytes` is 2048 bytes and `limits.body_bytes` 2049"),
        "{said:?}"
    );
    assert_eq!(home.faults(&[(KEY, "2048")], &[]), [""; 0]);
}

#[test]
fn thresholds_of_a_judge_are_in_order() {
    let at = |flag: &str, quarantine: &str| {
        let home = Home::with("");
        let flags = [
            ("judge.flag_per_mille", flag),
            ("judge.quarantine_per_mille", quarantine),
        ];
        home.faults(&flags, &[])
    };
    assert_eq!((at("800", "800"), at("1", "1000")), (vec![], vec![]));
    assert_eq!(
        at("801", "800"),
        [
            "`judge.flag_per_mille` and `judge.quarantine_per_mille` do not fit together: \
             thresholds flag 801 and escalate 800 per mille; give 1 <= flag <= escalate <= 1000"
        ]
    );
}

#[test]
fn as_many_writes_may_wait_for_a_judge_as_one_request_has() {
    let most = ancile_engine::api::BATCH_ENTRIES_MAX;
    let at = |most: usize| {
        Home::with("").faults(&[("judge.pending_max", most.to_string().as_str())], &[])
    };
    assert_eq!((at(most), at(most + 1)), (vec![], vec![]));
    let below = at(most - 1);
    assert!(
        below.len() == 1 && below[0].contains("256 to 1000000"),
        "{below:?}"
    );
}

#[test]
fn a_command_of_a_judge_is_taken_apart_at_its_blanks() {
    let home = Home::with("[judge]\ncommand = \" /usr/bin/python3 -I  /etc/judge.py \"\n");
    let (config, faults) = home.read(&[], &[]);
    assert_eq!(faults, []);
    let judge = config.settings.judge;
    assert_eq!(judge.command, ["/usr/bin/python3", "-I", "/etc/judge.py"]);
    let said = Home::with("[judge]\ncommand = \"judge.py\"\nname = \"guard\"\n").faults(&[], &[]);
    let starts = |at: usize, text: &str| assert!(said[at].starts_with(text), "{said:#?}");
    starts(
        0,
        "`judge.command` in `ancile.toml` line 2 is `judge.py`: its path is not absolute; it takes",
    );
    starts(
        1,
        "`judge.name` in `ancile.toml` line 3 is `guard`: it is no name",
    );
}

#[test]
fn a_file_that_does_not_read_is_refused() {
    let said = Home::with("[limits\n").faults(&[], &[]);
    assert!(
        said[0].starts_with("`ancile.toml` line 1 is not TOML: "),
        "{said:?}"
    );
    let said = Home::with("[gates]\nmode = \"enforce\"\nmode = \"log_only\"\n").faults(&[], &[]);
    assert!(said[0].contains("is not TOML: duplicate key"), "{said:?}");
    let long = "#".repeat(usize::try_from(FILE_BYTES_MAX).unwrap() + 1);
    let said = Home::with(&long).faults(&[], &[]);
    assert!(said[0].contains("longer than 262144 bytes"), "{said:?}");
    let mut sources = Home::with("").sources(&[]);
    sources.file = Some(PathBuf::from("/nowhere/ancile.toml"));
    let missing = sources.load().unwrap_err().text;
    assert!(
        missing.starts_with("cannot read the configuration `/nowhere/"),
        "{missing}"
    );
}

#[test]
fn every_row_puts_its_value_somewhere_and_the_defaults_are_those_of_the_program() {
    let keys: BTreeSet<&str> = SETTINGS.iter().map(|row| row.key).collect();
    assert_eq!(keys.len(), SETTINGS.len());
    for row in SETTINGS {
        let mut settings = Settings::default();
        (row.put)(&mut settings, &row.default);
        assert_eq!(settings, Settings::default(), "{}", row.key);
        let other = match row.kind {
            Kind::Whole { min, .. } => Value::Whole(min),
            Kind::Switch => Value::Switch(!row.default.is_on()),
            Kind::OneOf(words) => {
                let other = words.iter().find(|word| **word != row.default.text());
                Value::fixed(other.unwrap())
            }
            Kind::Address => Value::fixed("[::1]:1"),
            Kind::Form { check, .. } => {
                let others = [
                    "error",
                    "secret=reject",
                    "http://[::1]:1",
                    "/bin/judge",
                    "a/2",
                    "/lib/library.so",
                ];
                let other = others.iter().find(|text| check(text).is_ok());
                Value::fixed(other.unwrap())
            }
        };
        (row.put)(&mut settings, &other);
        assert_ne!(settings, Settings::default(), "{}", row.key);
        assert!(row.what.ends_with('.') && !row.unit.ends_with('.'));
    }
}

#[test]
fn what_is_shown_reads_back_as_the_same() {
    let home = Home::with("[gates]\nmode = \"log_only\"\n");
    let (config, _) = home.read(&[("log.level", "info,ancile_engine=debug")], &[]);
    assert_eq!(config.settings.gates, Gates::LogOnly);
    let shown = crate::commands::config::show(&config, true).text;
    let (again, faults) = Home::with(&shown).read(&[], &[]);
    assert_eq!(
        (faults.as_slice(), again.settings),
        (&[][..], config.settings)
    );
}

#[test]
fn every_flag_of_a_command_line_counts_wherever_it_stands() {
    let line = [
        "ancile",
        "--set",
        "a.b=1",
        "write",
        "--set=a.c=x=y",
        "--json",
        "--set",
        "a.b=2",
        "--",
        "--set",
        "a.d=3",
    ];
    let all = Flag::all_of(line.into_iter().map(OsString::from));
    let said: Vec<(&str, &str)> = all.iter().map(|f| (&*f.key, &*f.value)).collect();
    assert_eq!(said, [("a.b", "1"), ("a.c", "x=y"), ("a.b", "2")]);
}

#[test]
fn variables_that_are_no_settings_are_found() {
    let names = ["ANCILE_GATE_MODE", "ANCILE_HOME", "ANCILE_LOG", "PATH"];
    let found = unknown_variables(names.into_iter().map(OsString::from));
    assert_eq!(found, ["ANCILE_GATE_MODE"]);
}

#[test]
fn the_reference_is_the_committed_one() {
    let made = document();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == committed,
        "docs/configuration.md is not what the table says; run this test with UPDATE_GOLDEN=1 and \
         read the difference"
    );
}
