// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates on texts that others wrote: reported attack shapes with their harmless twins, real agent
//! files, generated memories. They are read in place and printed; floors and ceilings keep them.

use ancile_core::Channel;
use ancile_screen::{ScreenInput, Screener, StageSet, Verdict};

/// The texts under `key` in a JSON Lines file, with their ids; nothing when the file is absent.
fn texts(name: &str, key: &str) -> Vec<(String, String)> {
    let root = std::env::var("ANCILE_DATA").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").to_owned()
    });
    let Ok(file) = std::fs::read_to_string(format!("{root}/{name}")) else {
        println!("SKIPPED (no data): {name}");
        return Vec::new();
    };
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
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
