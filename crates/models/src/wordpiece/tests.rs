// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::table::Table;
use proptest::prelude::*;
use serde_json::Value;

const TABLE: &[u8] = include_bytes!("../../data/static-minilm-l6-v2-128.bin");
const CASES: &str = include_str!("../../tests/cases/wordpiece.json");

fn split<'a>(wordpiece: &WordPiece, tokens: &[&'a str], text: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    wordpiece.each_row(text, |row| found.push(tokens[row]));
    found
}

#[test]
fn tokens_are_those_of_the_python_package() {
    let table = Table::read(TABLE).unwrap();
    let wordpiece = WordPiece::new(&table.tokens).unwrap();
    let cases: Value = serde_json::from_str(CASES).unwrap();
    let cases = cases.as_array().unwrap();
    assert!(cases.len() >= 200, "{} cases", cases.len());
    for case in cases {
        let text = case["text"].as_str().unwrap();
        let expected = case["tokens"].as_array().unwrap();
        let expected = expected.iter().map(|token| token.as_str().unwrap());
        let expected: Vec<&str> = expected.filter(|token| *token != "[UNK]").collect();
        assert_eq!(split(&wordpiece, &table.tokens, text), expected, "{text:?}");
    }
}

#[test]
fn the_longest_token_wins_and_a_rest_without_one_makes_the_word_unknown() {
    let tokens = ["un", "una", "##aff", "##able", "##a", "##", "#", "x"];
    let wordpiece = WordPiece::new(&tokens).unwrap();
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(split(&wordpiece, &tokens, text), expected, "{text}");
    };
    check("unaffable", &[]);
    check("UNAFFABLE x", &["x"]);
    check("unaable", &["una", "##able"]);
    check("unable", &[]);
    check("x##a", &["x", "#", "#"]);
    check("", &[]);
}

#[test]
fn a_word_is_looked_up_to_100_characters() {
    let wordpiece = WordPiece::new(&["a", "##a"]).unwrap();
    let rows = |chars: usize| {
        let mut n = 0;
        wordpiece.each_row(&"\u{e1}".repeat(chars), |_| n += 1);
        n
    };
    assert_eq!(rows(WORD_CHARS_MAX - 1), WORD_CHARS_MAX - 1);
    assert_eq!(rows(WORD_CHARS_MAX), WORD_CHARS_MAX);
    assert_eq!(rows(WORD_CHARS_MAX + 1), 0);
}

#[test]
fn an_empty_token_and_one_that_comes_twice_are_refused() {
    let refused = |tokens: &[&str]| WordPiece::new(tokens).unwrap_err();
    assert_eq!(refused(&["a", ""]), LoadError::Token(String::new()));
    assert_eq!(refused(&["a", "b", "a"]), LoadError::Token("a".to_owned()));
    assert_eq!(refused(&["##a", "##a"]), LoadError::Token("##a".to_owned()));
    assert!(WordPiece::new(&["a", "##a", "##", "#"]).is_ok());
}

proptest! {
    #[test]
    fn any_text_is_split_into_words_without_space_or_mark_inside(text in any::<String>()) {
        let text = canonical(&text);
        for word in words(&text) {
            let inside = word.chars().count() > 1;
            prop_assert!(!word.is_empty() && !word.contains(char::is_whitespace));
            prop_assert!(!(inside && word.contains(is_punctuation)));
        }
    }
}
