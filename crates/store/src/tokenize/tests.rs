// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use proptest::prelude::*;
use rusqlite::Connection;
use std::collections::BTreeSet;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(terms(text), expected, "{text:?}");
}

#[test]
fn words_lose_case_punctuation_and_endings() {
    check("Hello, WORLD!", &["hello", "world"]);
    check("researched researching research", &["research"; 3]);
    check(
        "Caroline's friends don't",
        &["carolin", "s", "friend", "don", "t"],
    );
    check(
        "\u{2018}quoted\u{2019} \u{201c}words\u{201d}",
        &["quot", "word"],
    );
    check("", &[]);
    check(" \t\n ... -- @ ", &[]);
}

#[test]
fn text_is_put_in_one_form() {
    check("\u{ff21}\u{ff22}\u{ff23}\u{ff11}\u{ff12}", &["abc12"]);
    check("\u{fb01}le", &["file"]);
    check("CAF\u{c9}", &["caf\u{e9}"]);
    check("cafe\u{301}", &["caf\u{e9}"]);
    check("pay\u{200c}p\u{ad}al\u{feff}", &["paypal"]);
    check("\u{3a3}\u{3a3}", &["\u{3c3}\u{3c3}"]);
}

#[test]
fn numbers_stay_whole() {
    check(
        "12.50 1,250.00 500 1500",
        &["12.50", "1,250.00", "500", "1500"],
    );
    check("$12.50,", &["12.50"]);
    check("192.168.0.1", &["192.168.0.1"]);
    check("2026-11-29", &["2026", "11", "29", "2026-11-29"]);
}

#[test]
fn addresses_are_found_whole_and_by_their_parts() {
    check(
        "bob.lee@mail.example.com",
        &[
            "bob",
            "lee",
            "mail",
            "exampl",
            "com",
            "bob.lee@mail.example.com",
        ],
    );
    check(
        "INV-2024-0042a",
        &["inv", "2024", "0042a", "inv-2024-0042a"],
    );
    check("snake_case", &["snake", "case", "snake_case"]);
    check("v1.2", &["v1", "2", "v1.2"]);
    check("a - b, c", &["a", "b", "c"]);
    check("one--two", &["on", "two"]);
}

#[test]
fn an_iban_is_found_compact_and_grouped() {
    let compact = terms("GB82WEST12345698765432");
    assert_eq!(
        compact,
        [
            "gb82west12345698765432",
            "gb82",
            "west",
            "1234",
            "5698",
            "7654",
            "32"
        ]
    );
    let grouped = terms("GB82 WEST 1234 5698 7654 32");
    assert_eq!(compact[1..], grouped);
    assert!(!is_iban_like("gb82west123456"), "14 characters");
    assert!(is_iban_like("gb82west1234567"), "15 characters");
    assert!(
        is_iban_like(&format!("gb82{}", "1".repeat(30))),
        "34 characters"
    );
    assert!(
        !is_iban_like(&format!("gb82{}", "1".repeat(31))),
        "35 characters"
    );
}

#[test]
fn unspaced_scripts_become_pairs() {
    check("東京都", &["東京", "京都"]);
    check("東", &["東"]);
    check("abc東京xyz", &["abc", "東京", "xyz"]);
    check("第3章", &["第", "3", "章"]);
    check("カタカナ", &["カタ", "タカ", "カナ"]);
    check("ｶﾞｷﾞ", &["ガギ"]);
    check("한국어 말", &["한국", "국어", "말"]);
    check("你好，世界。", &["你好", "世界"]);
    check("日本・東京", &["日本", "東京"]);
    check("𠮷野家", &["𠮷野", "野家"]);
}

#[test]
fn emoji_are_terms_in_any_dress() {
    check("ship it 🎉🎉", &["ship", "it", "🎉", "🎉"]);
    check("❤\u{fe0f} ❤", &["❤", "❤"]);
    check("👍🏽 👍", &["👍", "👍"]);
    check("👩\u{200d}💻", &["👩", "💻"]);
}

#[test]
fn terms_have_a_longest_length() {
    for (length, expected) in [
        (TERM_BYTES_MAX - 1, TERM_BYTES_MAX - 1),
        (TERM_BYTES_MAX, TERM_BYTES_MAX),
        (TERM_BYTES_MAX + 1, TERM_BYTES_MAX),
    ] {
        assert_eq!(terms(&"7".repeat(length)), ["7".repeat(expected)]);
        let chain = format!("a-{}", "7".repeat(length - 2));
        let whole = terms(&chain).contains(&chain);
        assert_eq!(whole, length <= TERM_BYTES_MAX, "{length}");
    }
    let wide = format!("a{}", "\u{e9}".repeat(TERM_BYTES_MAX));
    assert_eq!(
        terms(&wide)[0].len(),
        TERM_BYTES_MAX - 1,
        "cut between characters"
    );
}

#[test]
fn hostile_texts_cost_linear_work() {
    let size = 20_000;
    for unit in [
        "a-",
        "a.",
        "a:",
        "\u{301}",
        "a\u{301}:",
        "\u{fdfa}",
        "東",
        "🎉",
        "_",
        "\0",
        "1,",
    ] {
        let text = unit.repeat(size);
        let mut seen = 0;
        let mut bytes = 0;
        each_term(&text, &mut |term| {
            seen += 1;
            bytes += term.len();
        });
        assert!(seen <= 20 * size, "{unit:?}: {seen} terms");
        assert!(bytes <= 40 * size, "{unit:?}: {bytes} bytes");
    }
}

/// The tokens of FTS5 in order.
fn fts5(tokenizer: &str, text: &str) -> Vec<String> {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(&format!(
        "create virtual table t using fts5(body, tokenize = '{tokenizer}');
         create virtual table v using fts5vocab(t, instance);"
    ))
    .unwrap();
    db.execute("insert into t values (?1)", [text]).unwrap();
    let mut rows = db
        .prepare("select term from v order by \"offset\"")
        .unwrap();
    rows.query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

#[test]
fn stems_are_those_of_fts5() {
    const ROOTS: &str = "relat hop fall fil gen act conflat troubl siz hiss fail happ sky formal
        rational digit oper feudal decis hope good form adjust defens homolog commun bowdler
        activ effect rate ceas control roll analog ab valenc hesit radic differ vil predic
        vietnam callous sensit sensib triplic electr reviv allow infer airlin gyroscop irrit
        replac depend adopt angular probat agre plaster bled motor sing conditional y boy yes
        syzyg ll oo tt ess is as us";
    const ENDINGS: &str = "|s|es|ies|sses|ss|ed|eed|ing|y|ational|tional|enci|anci|izer|logi|bli|
        alli|entli|eli|ousli|ization|ation|ator|alism|iveness|fulness|ousness|aliti|iviti|biliti|
        icate|ative|alize|iciti|ical|ful|ness|al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ou|
        ism|ate|iti|ous|ive|ize|ion|e|ee|le|ll|l|ated|bling|izing|lly|ting|ter|yed|ying|ay|ally";
    let mut words = Vec::new();
    for root in ROOTS.split_whitespace() {
        words.extend(
            ENDINGS
                .split('|')
                .map(|ending| format!("{root}{}", ending.trim())),
        );
    }
    // And each ending as a word of its own.
    words.extend(ENDINGS.split('|').map(|ending| ending.trim().to_owned()));
    words.retain(|word| !word.is_empty());
    let ours: Vec<String> = words.iter().map(|word| porter::stem(word)).collect();
    let theirs = fts5("porter unicode61", &words.join(" "));
    assert_eq!(theirs.len(), words.len());
    let differing: Vec<_> = words
        .iter()
        .zip(ours.iter().zip(&theirs))
        .filter(|(_, (a, b))| a != b)
        .collect();
    assert!(
        differing.is_empty(),
        "{} of {}: {differing:?}",
        differing.len(),
        words.len()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_stems_are_those_of_fts5(
        words in prop::collection::vec("[aeiouybdlstz]{1,4}[a-z]{0,4}[aeilnst]{0,4}", 1..40),
    ) {
        let ours: Vec<String> = words.iter().map(|word| porter::stem(word)).collect();
        prop_assert_eq!(ours, fts5("porter unicode61", &words.join(" ")));
    }

    #[test]
    fn terms_are_bounded_and_repeatable(text in "\\PC{0,80}|[a-z@._: \u{301}\u{4e00}-]{0,80}") {
        let first = terms(&text);
        prop_assert_eq!(&first, &terms(&text));
        for term in &first {
            prop_assert!(!term.is_empty() && term.len() <= TERM_BYTES_MAX);
            prop_assert!(!term.contains(char::is_whitespace));
        }
    }

    #[test]
    fn upper_case_changes_nothing(text in "[a-z0-9@._ -]{0,60}") {
        prop_assert_eq!(terms(&text), terms(&text.to_uppercase()));
    }

    #[test]
    fn plain_words_are_those_of_fts5(words in prop::collection::vec("[A-Za-z0-9]{1,12}", 0..30)) {
        let text = words.join(" ");
        let ours: BTreeSet<String> = terms(&text).into_iter().collect();
        let stemmed = fts5("unicode61", &text).into_iter().map(|word| {
            if word.bytes().all(|b| b.is_ascii_lowercase()) { porter::stem(&word) } else { word }
        });
        for term in stemmed {
            prop_assert!(ours.contains(&term), "{term} not in {ours:?}");
        }
    }

    #[test]
    fn two_characters_are_found_in_any_run(run in "[\u{4e00}-\u{4eff}]{2,12}", at in 0_usize..11) {
        let pair: String = run.chars().skip(at.min(run.chars().count() - 2)).take(2).collect();
        prop_assert!(terms(&run).contains(&terms(&pair)[0]));
    }
}
