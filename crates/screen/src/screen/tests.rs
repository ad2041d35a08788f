// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

const RULES_MIN: usize = 40;

fn screener() -> Screener {
    Screener::new().unwrap()
}

fn screen(screener: &Screener, text: &str, channel: Channel) -> Screening {
    let stages = StageSet::ALL;
    screener.screen(&ScreenInput {
        text,
        channel,
        stages,
    })
}

#[test]
fn every_example_matches_and_every_twin_is_left_alone() {
    let screener = screener();
    let (mut rules, mut examples, mut twins) = (0, 0, 0);
    let mut wrong = Vec::new();
    for rule in screener.rules() {
        rules += 1;
        for text in &rule.examples {
            examples += 1;
            let found = screen(&screener, text, Channel::Web);
            if !found.findings.iter().any(|f| f.rule == rule.id) {
                wrong.push(format!(
                    "{} misses {text:?}; found {:?}",
                    rule.id, found.findings
                ));
            }
        }
        for text in &rule.twins {
            twins += 1;
            let found = screen(&screener, text, Channel::Web);
            let hit = found.findings.iter().any(|f| f.rule == rule.id);
            if hit || found.verdict == Verdict::Quarantine {
                wrong.push(format!(
                    "{} twin {text:?}; found {:?}",
                    rule.id, found.findings
                ));
            }
        }
    }
    println!("{rules} rules, {examples} examples, {twins} benign twins");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(rules >= RULES_MIN);
}

fn data(name: &str) -> Option<String> {
    let root = std::env::var("ANCILE_DATA").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").to_owned()
    });
    std::fs::read_to_string(format!("{root}/{name}")).ok()
}

/// The string fields of a JSON line, enough for the corpora: no nesting is looked into.
fn field(line: &str, name: &str) -> Option<String> {
    let from = line.find(&format!("\"{name}\": \""))? + name.len() + 5;
    let mut out = String::new();
    let mut units = Vec::new();
    let mut chars = line[from..].chars();
    while let Some(c) = chars.next() {
        if c == '"' {
            break;
        }
        let c = if c == '\\' {
            chars.next()?
        } else {
            units.extend(c.encode_utf16(&mut [0; 2]).iter());
            continue;
        };
        match c {
            'n' => units.push(10),
            't' => units.push(9),
            'r' => units.push(13),
            'b' => units.push(8),
            'f' => units.push(12),
            'u' => {
                let code: String = chars.by_ref().take(4).collect();
                units.push(u16::from_str_radix(&code, 16).ok()?);
            }
            c => units.extend(c.encode_utf16(&mut [0; 2]).iter()),
        }
    }
    out.push_str(&String::from_utf16_lossy(&units));
    Some(out)
}

#[test]
fn rates_on_real_texts() {
    let screener = screener();
    let sets = [
        ("benign_agent_memory/files.jsonl", "text"),
        ("aegis_bench/benign_synth_750_seed42.jsonl", "text"),
        ("aegis_bench/memory_workload.jsonl", "content"),
        ("reports/reports.jsonl", "payload"),
    ];
    let show = std::env::var("ANCILE_SHOW").is_ok();
    for (name, key) in sets {
        let Some(text) = data(name) else {
            println!("SKIPPED (no data): {name}");
            continue;
        };
        let (mut n, mut flagged, mut quarantined) = (0, 0, 0);
        let mut attacks = (0, 0);
        for line in text.lines() {
            let Some(text) = field(line, key) else {
                continue;
            };
            let found = screen(&screener, &text, Channel::Web);
            n += 1;
            flagged += usize::from(found.verdict > Verdict::Allow);
            quarantined += usize::from(found.verdict == Verdict::Quarantine);
            let id = field(line, "id").unwrap_or_default();
            if id.starts_with("rep-") {
                attacks.0 += usize::from(found.verdict == Verdict::Quarantine);
                attacks.1 += 1;
            }
            let odd = (found.verdict == Verdict::Quarantine) != id.starts_with("rep-");
            if show && odd {
                println!("{id} {}", found.verdict);
                for f in &found.findings {
                    if matches!(f.stage, Stage::Injection | Stage::Structure) {
                        let part = text[f.span.clone()].replace('\n', "\\n");
                        println!(
                            "    {} {:?}",
                            f.rule,
                            part.chars().take(160).collect::<String>()
                        );
                    }
                }
                if id.starts_with("rep-") {
                    println!("    {text}");
                }
            }
        }
        println!("{name}: {n} texts, {flagged} flagged or worse, {quarantined} quarantined");
        if attacks.1 > 0 {
            println!(
                "  of them {} of {} attack rows quarantined",
                attacks.0, attacks.1
            );
        }
    }
}
