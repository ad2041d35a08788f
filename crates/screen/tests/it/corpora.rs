// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates on texts that others wrote: reported attack shapes with their harmless twins, real agent
//! files, generated memories. They are read in place and printed; floors and ceilings keep them.

use ancile_core::Channel;
use ancile_screen::{ScreenInput, Screener, Stage, StageSet, Verdict};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a file of the data directory holds; nothing when the file is absent.
fn read(name: &str) -> Option<String> {
    let root = std::env::var("ANCILE_DATA").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").to_owned()
    });
    let file = std::fs::read_to_string(format!("{root}/{name}"));
    if file.is_err() {
        println!("SKIPPED (no data): {name}");
    }
    file.ok()
}

/// The texts under `key` in a JSON Lines file, with their ids; nothing when the file is absent.
fn texts(name: &str, key: &str) -> Vec<(String, String)> {
    let Some(file) = read(name) else {
        return Vec::new();
    };
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = row[key].as_str()?.to_owned();
        Some((row["id"].as_str().unwrap_or_default().to_owned(), text))
    };
    file.lines().filter_map(row).collect()
}

struct Rates {
    texts: usize,
    quarantined: usize,
}

fn rates(name: &str, texts: &[(String, String)], wrong: Option<bool>) -> Rates {
    let screener = Screener::new().unwrap();
    let (mut remarked, mut quarantined) = (0, 0);
    for (id, text) in texts {
        let (channel, stages) = (Channel::Web, StageSet::ALL);
        let found = screener.screen(&ScreenInput {
            text,
            channel,
            stages,
        });
        let held = found.verdict == Verdict::Quarantine;
        remarked += usize::from(found.verdict != Verdict::Allow);
        quarantined += usize::from(held);
        if Some(held) == wrong {
            let rules: Vec<_> = found.findings.iter().map(|f| f.rule).collect();
            println!("  {id}: {} {rules:?}", found.verdict);
        }
    }
    let texts = texts.len();
    println!("{name}: {texts} texts, {remarked} not allowed, {quarantined} of them quarantined");
    Rates { texts, quarantined }
}

#[test]
fn reported_attacks_are_quarantined_and_their_twins_kept() {
    let rows = texts("reports/reports.jsonl", "payload");
    let (twins, attacks): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(id, _)| id.starts_with("ctl-"));
    let attacks = rates("reported attacks", &attacks, Some(false));
    let twins = rates("their twins", &twins, Some(true));
    assert_eq!(attacks.quarantined, attacks.texts);
    assert_eq!(twins.quarantined, 0);
}

#[test]
fn harmless_texts_are_mostly_kept() {
    let sets = [
        ("benign_agent_memory/files.jsonl", "text", 4),
        ("aegis_bench/benign_synth_750_seed42.jsonl", "text", 0),
        ("aegis_bench/memory_workload.jsonl", "content", 0),
    ];
    for (name, key, ceiling) in sets {
        let found = rates(name, &texts(name, key), Some(true));
        assert!(found.quarantined <= ceiling, "{name}");
    }
}

/// Every text of a JSON value.
fn strings(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, out)),
        _ => {}
    }
}

/// Benign files with what is let pass in them: findings of family `secret`, then of `personal`.
/// Read by hand, each is what its rule says: web tokens in addresses of pictures, a key in a
/// configuration, a token in a mail. The last five are held out: no rule was written with a look at
/// them.
const BENIGN: [(&str, usize, usize); 17] = [
    ("benign_agent_memory/files.jsonl", 1, 1),
    ("benign_agent_memory/cron_schedules.jsonl", 0, 0),
    ("aegis_bench/benign_synth_750_seed42.jsonl", 0, 0),
    ("aegis_bench/memory_workload.jsonl", 0, 0),
    ("jbb_benign/jbb_benign_goals.jsonl", 0, 0),
    ("locomo/locomo10.json", 6, 0),
    ("longmemeval/longmemeval_s_merged3.json", 0, 34),
    ("bipia/email_train.jsonl", 0, 21),
    ("asb/all_normal_tools.jsonl", 0, 0),
    ("agentdojo/user_task_prompts.jsonl", 0, 7),
    ("agentdojo/workspace_inbox.json", 1, 75),
    ("agentdojo/workspace_cloud_drive.json", 0, 50),
    ("notinject/NotInject_one.json", 0, 0),
    ("notinject/NotInject_two.json", 0, 0),
    ("notinject/NotInject_three.json", 0, 0),
    ("dolly/dolly_response_750_seed42.jsonl", 0, 1),
    ("dolly/dolly_context_extra.jsonl", 0, 0),
];

#[test]
fn stage_2_finds_few_secrets_where_there_are_none() {
    let screener = Screener::new().unwrap();
    let mut wrong = Vec::new();
    for (name, secrets_max, personal_max) in BENIGN {
        let Some(file) = read(name) else {
            continue;
        };
        let values = match serde_json::from_str(&file) {
            Ok(value) => vec![value],
            Err(_) => file
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
        };
        let mut texts = Vec::new();
        values.iter().for_each(|value| strings(value, &mut texts));
        let bytes: usize = texts.iter().map(String::len).sum();
        let mut families: BTreeMap<&str, usize> = BTreeMap::new();
        let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
        for text in &texts {
            let (channel, stages) = (Channel::Web, StageSet::NONE.with(Stage::Sensitive));
            let found = screener.screen(&ScreenInput {
                text,
                channel,
                stages,
            });
            for f in &found.findings {
                *families.entry(f.rule.family()).or_default() += 1;
                *rules.entry(f.rule.as_str()).or_default() += 1;
            }
        }
        println!(
            "{name}: {} texts, {bytes} bytes, findings {rules:?}",
            texts.len()
        );
        let of = |family: &str| families.get(family).copied().unwrap_or_default();
        if of("secret") > secrets_max || of("personal") > personal_max {
            wrong.push(format!("{name}: {families:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "more than is let pass:\n{}",
        wrong.join("\n")
    );
}
