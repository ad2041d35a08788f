// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recall gate.

use crate::world::{World, main_namespace, memory, recall};
use ancile_core::{AuthorityClass, Channel, SessionMode};
use ancile_engine::api::{BoundSpec, PackItem, Recall, StepOp, StepResult};

#[test]
fn what_is_recalled_counts_as_shown() {
    let w = World::new();
    w.engine
        .write(&w.user, memory(None, "The landlord is Mr Weber."))
        .unwrap();
    let web = memory(Some(Channel::Web), "The landlord moved to Spain.");
    w.engine.write(&w.host, web).unwrap();
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "Who is my landlord?");
    assert_eq!(w.class(s.id), AuthorityClass::UserAuthored);
    let texts = w.recalled(&s, "landlord");
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("Weber"));
    assert!(
        texts[1].contains("untrusted data"),
        "class 4 is fenced: {}",
        texts[1]
    );
    assert_eq!(w.class(s.id), AuthorityClass::Untrusted);
}

#[test]
fn a_question_without_words_is_refused() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    for query in ["", " \n\t"] {
        let ops = vec![StepOp::Recall(recall(query))];
        let refusal = w.engine.step(&w.host, s.id, &s.token, ops).unwrap_err();
        assert_eq!(refusal.code, "empty_query", "{query:?}");
    }
}

#[test]
fn a_caller_can_keep_class_4_out() {
    let w = World::new();
    w.engine
        .write(&w.host, memory(Some(Channel::Web), "The landlord moved."))
        .unwrap();
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "Who is my landlord?");
    let mut op = recall("landlord");
    op.max_class = Some(AuthorityClass::AgentDerived);
    let StepResult::Recalled(pack) = w.one(&s, StepOp::Recall(op)) else {
        panic!()
    };
    assert_eq!(pack.items.len(), 0);
    assert_eq!(w.class(s.id), AuthorityClass::UserAuthored);
}

#[test]
fn class_4_cannot_supersede_class_1_and_a_user_can() {
    let w = World::new();
    let old = w
        .engine
        .write(&w.user, memory(None, "Rent goes to account one."))
        .unwrap();
    let mut attack = memory(Some(Channel::Web), "Rent goes to account two.");
    attack.supersedes = Some(old.id);
    w.engine.write(&w.host, attack).unwrap();
    let s = w.session(SessionMode::Interactive);
    assert!(
        w.recalled(&s, "rent account")
            .iter()
            .any(|t| t.contains("account one"))
    );
    let mut edit = memory(None, "Rent goes to account three.");
    edit.supersedes = Some(old.id);
    w.engine.write(&w.user, edit).unwrap();
    let s = w.session(SessionMode::Interactive);
    let texts = w.recalled(&s, "rent account");
    assert!(
        !texts.iter().any(|t| t.contains("account one")),
        "{texts:?}"
    );
    assert!(texts.iter().any(|t| t.contains("account three")));
}

#[test]
fn a_two_character_chinese_word_is_found() {
    let w = World::new();
    let note = "\u{6211}\u{6bcf}\u{5929}\u{559d}\u{7eff}\u{8336}\u{3002}";
    w.engine.write(&w.user, memory(None, note)).unwrap();
    let s = w.session(SessionMode::Interactive);
    assert_eq!(w.recalled(&s, "\u{7eff}\u{8336}").len(), 1);
}

#[test]
fn a_refused_step_leaves_no_trace() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    let before = w.engine.session(&w.host, s.id).unwrap();
    let bad = StepOp::Recall(ancile_engine::api::Recall {
        k: Some(0),
        ..recall("x")
    });
    let ops = vec![
        StepOp::Write(memory(Some(Channel::Agent), "Kept? No.")),
        bad,
    ];
    assert!(w.step(&s, ops).is_err());
    assert_eq!(w.engine.session(&w.host, s.id).unwrap(), before);
    assert!(w.recalled(&s, "kept").is_empty());
}

#[test]
fn sessions_and_entries_survive_a_reopen() {
    let w = World::new();
    let s = w.session(SessionMode::Interactive);
    w.says(&s, "I live in Bonn.");
    w.remember(&s, "The user lives in Bonn.");
    w.sees(&s, Channel::Web, "Bonn has a museum.");
    let before = w.engine.session(&w.host, s.id).unwrap();
    let w = w.reopen();
    assert_eq!(w.engine.session(&w.host, s.id).unwrap(), before);
    assert_eq!(w.recalled(&s, "Bonn").len(), 1);
    assert!(ancile_engine::audit(&w.home(), None).unwrap().ok);
}

/// Words for made-up notes.
const WORDS: [&str; 12] = [
    "rent", "garden", "train", "doctor", "violin", "passport", "coffee", "bridge", "winter",
    "school", "letter", "harbour",
];

fn note(seed: usize) -> String {
    let word = |n: usize| WORDS[(seed * 7 + n * 5 + seed / 3) % WORDS.len()];
    format!(
        "Note {seed}: the {} and the {} near the {}.",
        word(1),
        word(2),
        word(3)
    )
}

#[test]
fn promise_4_the_trusted_part_of_a_pack_is_a_prefix_of_the_one_without_class_4() {
    let (clean, attacked) = (World::new(), World::new());
    for seed in 0..60 {
        clean
            .engine
            .write(&clean.user, memory(None, &note(seed)))
            .unwrap();
        attacked
            .engine
            .write(&attacked.user, memory(None, &note(seed)))
            .unwrap();
        for copy in 0..3 {
            let text = format!("{} Copy {copy}: rent rent rent.", note(seed));
            let mut op = memory(Some(Channel::Web), &text);
            op.locator = format!("https://site{seed}-{copy}.example/page");
            attacked.engine.write(&attacked.host, op).unwrap();
        }
    }
    for query in WORDS {
        let trusted = |w: &World| {
            let s = w.session(SessionMode::Interactive);
            w.says(&s, query);
            let StepResult::Recalled(pack) = w.one(&s, StepOp::Recall(recall(query))) else {
                panic!()
            };
            let texts = pack
                .items
                .iter()
                .filter(|i| i.class != AuthorityClass::Untrusted);
            (
                texts.map(|i| i.text.clone()).collect::<Vec<_>>(),
                pack.untrusted_slots,
            )
        };
        let ((without, none), (with, slots)) = (trusted(&clean), trusted(&attacked));
        assert_eq!(none, 0);
        assert!(slots > 0, "{query}: class 4 keeps its floor");
        assert_eq!(with, without[..with.len()], "{query}");
        let room = 15usize.saturating_sub(usize::try_from(slots).unwrap());
        assert_eq!(
            with.len(),
            without.len().min(room),
            "{query}: shortened by more than {slots}"
        );
    }
}

/// How many texts of each side a recall with this change gives.
fn sides(w: &World, change: impl Fn(&mut Recall)) -> (usize, usize) {
    let mut op = recall("landlord");
    change(&mut op);
    let pack = w.engine.recall(&w.user, main_namespace(), op).unwrap();
    let untrusted = |item: &&PackItem| item.class == AuthorityClass::Untrusted;
    let untrusted = pack.items.iter().filter(untrusted).count();
    assert_eq!(pack.slots_used as usize, pack.items.len());
    assert_eq!(pack.untrusted_slots as usize, untrusted);
    (pack.items.len() - untrusted, untrusted)
}

#[test]
fn a_pack_takes_no_more_tokens_than_the_caller_says() {
    let w = World::new();
    // At four bytes a token: 6 and 8.
    let texts = [
        "The landlord is Mr Weber",
        "The landlord rented a place to us",
    ];
    assert_eq!(texts.map(|text| text.len().div_ceil(4)), [6, 9]);
    for text in texts {
        w.engine.write(&w.user, memory(None, text)).unwrap();
    }
    for (tokens, expected) in [(0, 0), (14, 1), (15, 2), (16, 2)] {
        let found = sides(&w, |op| op.tokens = Some(tokens));
        assert_eq!(found, (expected, 0), "{tokens} tokens");
    }
}

#[test]
fn a_pack_keeps_the_bound_that_the_caller_says() {
    let w = World::new();
    for text in ["The landlord is Mr Weber.", "The landlord lives in Bonn."] {
        w.engine.write(&w.user, memory(None, text)).unwrap();
    }
    // Three pages of one origin, and one of another.
    for (text, locator) in [
        ("The landlord moved to Spain.", "https://one.example/a"),
        ("Pets are fine with the landlord.", "https://one.example/b"),
        ("A landlord has to heat.", "https://one.example/c"),
        (
            "Every landlord wants a deposit first.",
            "https://two.example/",
        ),
    ] {
        let mut page = memory(Some(Channel::Web), text);
        page.locator = locator.to_owned();
        w.engine.write(&w.host, page).unwrap();
    }
    let bound = |k: u32, (floor, ceiling, per_origin): (u32, u32, u32)| {
        sides(&w, |op| {
            op.k = Some(k);
            op.bound = Some(BoundSpec {
                floor,
                ceiling,
                per_origin,
            });
        })
    };
    for (k, given, expected) in [
        // The ceiling.
        (6, (0, 0, 3), (2, 0)),
        (6, (0, 1, 3), (2, 1)),
        (6, (0, 4, 3), (2, 4)),
        // Slots of one origin.
        (6, (0, 4, 1), (2, 2)),
        (6, (0, 4, 2), (2, 3)),
        // The floor takes a slot that a trusted text would have had.
        (2, (0, 1, 1), (2, 0)),
        (2, (1, 1, 1), (1, 1)),
    ] {
        assert_eq!(bound(k, given), expected, "{k} slots, {given:?}");
    }
    for given in [(2, 1, 1), (0, 7, 1), (0, 1, 0)] {
        let mut op = recall("landlord");
        op.k = Some(6);
        let (floor, ceiling, per_origin) = given;
        op.bound = Some(BoundSpec {
            floor,
            ceiling,
            per_origin,
        });
        let refused = w.engine.recall(&w.user, main_namespace(), op).unwrap_err();
        assert_eq!(refused.code, "bound_refused", "{given:?}");
    }
}
