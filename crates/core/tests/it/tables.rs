// SPDX-License-Identifier: MIT OR Apache-2.0
//! The golden tables: `tests/golden/tables.txt` holds every row of every table that decides.
//!
//! Each table is computed over its whole space, printed, and compared with the file, so a change of
//! policy is a change of that file. `UPDATE_GOLDEN=1` rewrites it.

use crate::support::facts::{
    BROKEN, CLASSES, EFFECTS, LOOKS, MODES, World, arg, decision, effect, grant, ground, look,
};
use ancile_core::{
    ArgKind, AuthorityClass, CallFacts, Channel, ChannelGrant, Coverage, Decision, EntryKind, Fire,
    FireCell, Grant, Ground, Lineage, Role, SensitiveArg, SourceState, call, class_of, fire,
    grounded,
};
use std::fmt::Write as _;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/tables.txt");

#[test]
fn the_tables_are_the_reviewed_ones() {
    let tables = [
        "The tables that decide. Computed over every row; `any` stands for every value.\n".into(),
        channel_table(),
        class_table(),
        fire_table(),
        call_table(),
        grounding_table(),
        code_table(),
    ];
    let computed = tables.join("\n");
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|v| v == "1") {
        std::fs::write(GOLDEN, &computed).unwrap();
    }
    let reviewed = std::fs::read_to_string(GOLDEN).unwrap();
    for (at, (a, b)) in computed.lines().zip(reviewed.lines()).enumerate() {
        assert_eq!(
            a,
            b,
            "line {} of {GOLDEN}; UPDATE_GOLDEN=1 rewrites it",
            at + 1
        );
    }
    assert_eq!(computed, reviewed, "{GOLDEN}; UPDATE_GOLDEN=1 rewrites it");
}

/// A table whose rows are told apart by keys.
struct Table {
    keys: Vec<&'static str>,
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Clone, PartialEq, Eq)]
struct Row {
    keys: Vec<String>,
    cells: Vec<String>,
}

impl Table {
    fn new(keys: &[&'static str], columns: &[&str]) -> Self {
        Self {
            keys: keys.to_vec(),
            columns: columns.iter().map(|c| (*c).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    fn row(&mut self, keys: &[&str], cells: Vec<String>) {
        assert_eq!(
            (keys.len(), cells.len()),
            (self.keys.len(), self.columns.len())
        );
        let keys = keys.iter().map(|k| (*k).to_owned()).collect();
        self.rows.push(Row { keys, cells });
    }

    /// Prints the table under its title and its number of rows; rows that are alike for every value
    /// of a key become one row that says `any` there, the last key first.
    fn print(mut self, title: &str) -> String {
        let mut out = format!("== {title} ({} rows)\n", self.rows.len());
        for key in (0..self.keys.len()).rev() {
            self.merge(key);
        }
        let head = Row {
            keys: self.keys.iter().map(|k| (*k).to_owned()).collect(),
            cells: self.columns.clone(),
        };
        let lines: Vec<Row> = std::iter::once(head).chain(self.rows).collect();
        let width = |of: &dyn Fn(&Row) -> usize| lines.iter().map(of).max().unwrap_or(0);
        let keys: Vec<usize> = (0..self.keys.len())
            .map(|i| width(&|row| row.keys[i].len()))
            .collect();
        let cells: Vec<usize> = (0..self.columns.len())
            .map(|i| width(&|row| row.cells[i].len()))
            .collect();
        for row in &lines {
            let mut line = String::new();
            for (key, width) in row.keys.iter().zip(&keys) {
                write!(line, "{key:width$}  ").unwrap();
            }
            line.push('|');
            for (cell, width) in row.cells.iter().zip(&cells) {
                write!(line, " {cell:width$} ").unwrap();
            }
            writeln!(out, "{}", line.trim_end()).unwrap();
        }
        out
    }

    fn merge(&mut self, key: usize) {
        let values: std::collections::BTreeSet<String> =
            self.rows.iter().map(|row| row.keys[key].clone()).collect();
        let mut out: Vec<Row> = Vec::new();
        for row in &self.rows {
            let alike = |other: &&Row| {
                let mut keys = other.keys.clone();
                keys[key].clone_from(&row.keys[key]);
                keys == row.keys && other.cells == row.cells
            };
            let mut row = row.clone();
            if values.len() > 1 && self.rows.iter().filter(alike).count() == values.len() {
                row.keys[key] = "any".to_owned();
            }
            if !out.contains(&row) {
                out.push(row);
            }
        }
        self.rows = out;
    }
}

fn yes(b: bool) -> &'static str {
    if b { "yes" } else { "no" }
}

/// `=` where the credential yields the channel that was asked for.
fn channel_table() -> String {
    let asked: Vec<Option<Channel>> = std::iter::once(None)
        .chain(Channel::ALL.iter().copied().map(Some))
        .collect();
    let names: Vec<&str> = asked
        .iter()
        .map(|a| a.map_or("(none)", Channel::name))
        .collect();
    let mut table = Table::new(&["role", "relays_user", "listed"], &names);
    for role in Role::ALL {
        for relays_user in [false, true] {
            for listed in [false, true] {
                let cells = asked.iter().map(|asked| {
                    let channels = if listed {
                        asked.iter().copied().collect()
                    } else {
                        vec![]
                    };
                    let grant = ChannelGrant {
                        role: *role,
                        relays_user,
                        channels,
                    };
                    let channel = grant.channel(*asked);
                    let same = Some(channel) == *asked;
                    if same { "=" } else { channel.name() }.to_owned()
                });
                let cells = cells.collect();
                table.row(&[role.name(), yes(relays_user), yes(listed)], cells);
            }
        }
    }
    table.print("The channel that a credential yields, by the channel asked for; `=` is as asked")
}

fn class_table() -> String {
    let mut table = Table::new(&["channel", "role", "source state"], &["class"]);
    let mut untrusted = 0;
    for channel in Channel::ALL {
        for role in Role::ALL {
            for state in SourceState::ALL {
                let class = class_of(*channel, *role, *state);
                if class == AuthorityClass::Untrusted {
                    untrusted += 1;
                    continue;
                }
                let cell = format!("{} {class}", class.number());
                table.row(&[channel.name(), role.name(), state.name()], vec![cell]);
            }
        }
    }
    let all = Channel::ALL.len() * Role::ALL.len() * SourceState::ALL.len();
    assert_eq!(table.rows.len() + untrusted, all);
    let mut out = table.print(&format!(
        "The strongest class of an origin, of {all} rows those listed"
    ));
    writeln!(out, "anything else ({untrusted} rows): 4 untrusted").unwrap();
    out
}

fn fire_cell(cell: FireCell) -> String {
    format!("{} + {}", decision(cell.decision), effect(cell.entry))
}

fn fire_table() -> String {
    let columns: Vec<&str> = LOOKS.iter().map(|l| look(*l)).collect();
    let mut table = Table::new(&["lineage", "class", "side effect", "covered"], &columns);
    for broken in [false, true] {
        for class in CLASSES {
            for side_effect in [false, true] {
                for covered in [false, true] {
                    let cells = LOOKS.map(|instruction_like| {
                        let at = |lineage| {
                            fire(&Fire {
                                class,
                                lineage,
                                instruction_like,
                                side_effect,
                                covered,
                                unverified: false,
                            })
                        };
                        if !broken {
                            return fire_cell(at(Lineage::Intact));
                        }
                        let cells = BROKEN.map(|why| at(Lineage::Broken(why)));
                        assert!(cells.iter().all(|c| *c == cells[0]), "{cells:?}");
                        fire_cell(cells[0])
                    });
                    let lineage = if broken { "broken" } else { "intact" };
                    let keys = [lineage, class.name(), yes(side_effect), yes(covered)];
                    table.row(&keys, cells.to_vec());
                }
            }
        }
    }
    table.print("A due task or a context file fires: decision + what becomes of the entry")
}

/// How mandates and grounding stand to a call, for the call table.
fn standings() -> [(&'static str, World); 5] {
    let one = || vec![arg("to", &["a"])];
    let with = |coverage, grounds| World {
        coverage,
        sensitive: one(),
        grounds,
    };
    let class_3 = || grant(AuthorityClass::AgentDerived, &["to"], true);
    let class_4 = || grant(AuthorityClass::Untrusted, &[], false);
    [
        ("no mandate, grounded", with(vec![], vec![ground(&["a"])])),
        (
            "class 3, grounded",
            with(vec![class_3()], vec![ground(&["a"])]),
        ),
        (
            "class 4, not grounded",
            with(vec![class_4()], vec![ground(&["b"])]),
        ),
        (
            "class 4, grounded",
            with(vec![class_4()], vec![ground(&["a"])]),
        ),
        (
            "class 3 and 4, grounded",
            with(vec![class_3(), class_4()], vec![ground(&["a"])]),
        ),
    ]
}

/// The call table reads no finding of a detector, so the entry effect is always to keep and the two
/// columns are computed from the same facts.
fn call_table() -> String {
    let keys = [
        "class",
        "tool",
        "session",
        "class 4 asks are denied",
        "mandate",
    ];
    let mut table = Table::new(&keys, &["detectors on", "detectors off"]);
    for class in CLASSES {
        for side_effect in [false, true] {
            let tools = EFFECTS
                .iter()
                .filter(|e| e.has_side_effect() == side_effect);
            let tools = tools.map(|e| e.name()).collect::<Vec<_>>().join(", ");
            for (mode, mode_name) in MODES {
                for deny_class_4 in [false, true] {
                    for (standing, world) in standings() {
                        let coverage = Coverage {
                            grants: world.coverage,
                        };
                        let cell = call(&CallFacts {
                            class,
                            side_effect,
                            coverage: &coverage,
                            sensitive: &world.sensitive,
                            grounds: &world.grounds,
                            mode,
                            deny_class_4,
                            unverified: false,
                        });
                        let by = if cell.mandate.is_some() {
                            " by mandate"
                        } else {
                            ""
                        };
                        let cell = format!("{}{by} + keep", decision(cell.decision));
                        let keys = [class.name(), &tools, mode_name, yes(deny_class_4), standing];
                        table.row(&keys, vec![cell.clone(), cell]);
                    }
                }
            }
        }
    }
    table.print("A session proposes a call: decision + what becomes of entries")
}

fn grounding_table() -> String {
    let sensitive: [(&str, Vec<SensitiveArg>); 5] = [
        ("none", vec![]),
        ("to=a", vec![arg("to", &["a"])]),
        ("to=[a,x]", vec![arg("to", &["a", "x"])]),
        (
            "to=a, amount=b",
            vec![arg("to", &["a"]), arg("amount", &["b"])],
        ),
        ("to=[]", vec![arg("to", &[])]),
    ];
    let grounds: [(&str, Vec<Ground>); 5] = [
        ("none", vec![]),
        ("{a}", vec![ground(&["a"])]),
        ("{a}, {b}", vec![ground(&["a"]), ground(&["b"])]),
        ("{a,b}", vec![ground(&["a", "b"])]),
        ("{a,b,x}", vec![ground(&["a", "b", "x"])]),
    ];
    let grants: [(&str, Vec<Grant>); 6] = [
        ("none", vec![]),
        (
            "class 3, fixes all",
            vec![grant(AuthorityClass::AgentDerived, &["to", "amount"], true)],
        ),
        (
            "class 4, fixes none",
            vec![grant(AuthorityClass::Untrusted, &[], false)],
        ),
        (
            "class 4, fixes to",
            vec![grant(AuthorityClass::Untrusted, &["to"], false)],
        ),
        ("class 4, fixes to, amount", {
            vec![grant(AuthorityClass::Untrusted, &["to", "amount"], false)]
        }),
        (
            "class 4, fixes all",
            vec![grant(AuthorityClass::Untrusted, &["to", "amount"], true)],
        ),
    ];
    let columns: Vec<&str> = grounds.iter().map(|(name, _)| *name).collect();
    let mut table = Table::new(&["sensitive arguments", "mandate"], &columns);
    for (args, sensitive) in &sensitive {
        for (mandate, grants) in &grants {
            let coverage = Coverage {
                grants: grants.clone(),
            };
            let cells = grounds.iter().map(|(_, grounds)| {
                let cell = call(&CallFacts {
                    class: AuthorityClass::Untrusted,
                    side_effect: true,
                    coverage: &coverage,
                    sensitive,
                    grounds,
                    mode: ancile_core::SessionMode::Headless,
                    deny_class_4: false,
                    unverified: false,
                });
                if let [grant] = grants.as_slice() {
                    let covers = grant.weakest == AuthorityClass::Untrusted
                        && grounded(sensitive, grant, grounds)
                        && (!sensitive.is_empty() || grant.fixes_all);
                    assert_eq!(covers, cell.decision == Decision::Permit);
                }
                decision(cell.decision).to_owned()
            });
            let cells = cells.collect();
            table.row(&[args, mandate], cells);
        }
    }
    table.print("A side effect in a headless class 4 session, by what the grounds name")
}

fn code_table() -> String {
    let mut table = Table::new(&["type", "name"], &["byte"]);
    let mut add = |kind, name, code: u8| table.row(&[kind, name], vec![code.to_string()]);
    CLASSES
        .iter()
        .for_each(|v| add("class", v.name(), v.number()));
    Channel::ALL
        .iter()
        .for_each(|v| add("channel", v.name(), v.code()));
    Role::ALL
        .iter()
        .for_each(|v| add("role", v.name(), v.code()));
    SourceState::ALL
        .iter()
        .for_each(|v| add("source state", v.name(), v.code()));
    EntryKind::ALL
        .iter()
        .for_each(|v| add("entry kind", v.name(), v.code()));
    ArgKind::ALL
        .iter()
        .for_each(|v| add("argument kind", v.name(), v.code()));
    table.print("Bytes in records and digests, fixed for ever")
}

#[test]
fn every_name_and_byte_is_read_back() {
    for class in CLASSES {
        assert_eq!(AuthorityClass::from_number(class.number()), class);
        assert_eq!(AuthorityClass::parse(class.name()), Some(class));
    }
    for byte in (0..=0).chain(4..=u8::MAX) {
        assert_eq!(AuthorityClass::from_number(byte), AuthorityClass::Untrusted);
    }
    macro_rules! read_back {
        ($($kind:ty),+) => {$(
            for value in <$kind>::ALL {
                assert_eq!(<$kind>::from_code(value.code()), Some(*value));
                assert_eq!(<$kind>::parse(value.name()), Some(*value));
            }
            let read = (0..=u8::MAX).filter(|byte| <$kind>::from_code(*byte).is_some());
            assert_eq!(read.count(), <$kind>::ALL.len());
        )+};
    }
    read_back!(Channel, Role, SourceState, EntryKind, ArgKind);
    assert_eq!(AuthorityClass::parse("4"), None);
}
