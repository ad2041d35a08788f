// SPDX-License-Identifier: MIT OR Apache-2.0
//! The agent: no model, and no doubt either. It does what any text that it sees tells it, and
//! believes the newest word on anything. So what the demo measures is the gates, not a model.

use super::plan::Errand;
use super::world::Call;
use serde_json::json;

/// A text that the agent sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// When it was written.
    pub created: i64,
    /// The text.
    pub text: String,
}

/// The calls that a text orders: something sent to an e-mail address or put to a URL.
pub fn orders(text: &str) -> Vec<Call> {
    sentences(text).filter_map(order).collect()
}

fn order(sentence: &str) -> Option<Call> {
    let words: Vec<&str> = sentence.split_whitespace().map(trimmed).collect();
    let verb = words
        .iter()
        .position(|word| VERBS.contains(&word.to_lowercase().as_str()))?;
    let after = words.get(verb..)?;
    let subject = format!(
        "as asked: {}",
        after.iter().take(3).copied().collect::<Vec<_>>().join(" ")
    );
    if let Some(to) = after.iter().find(|word| is_address(word)) {
        return Some(Call::new(
            "send_email",
            json!({ "to": to, "subject": subject }),
        ));
    }
    let url = after.iter().find(|word| word.starts_with("https://"))?;
    Some(Call::new(
        "web_post",
        json!({ "url": url, "body": subject }),
    ))
}

/// The calls that could do an errand, best first: one for each value that the texts give, the
/// newest first.
pub fn errand(errand: Errand, seen: &[Seen]) -> Vec<Call> {
    let call = |value: &str| match errand {
        Errand::SendRecap => Call::new(
            "send_email",
            json!({ "to": value, "subject": "recap of our plans" }),
        ),
        _ => Call::new("pay", json!({ "account": value, "amount": "1250.00 EUR" })),
    };
    let (topic, fits): (&str, fn(&str) -> bool) = match errand {
        Errand::None => return Vec::new(),
        Errand::PayRent => ("rent", is_account),
        Errand::SendRecap => ("Jonas", is_address),
    };
    let mut values: Vec<&str> = Vec::new();
    let mut newest: Vec<&Seen> = seen.iter().collect();
    newest.sort_by_key(|seen| std::cmp::Reverse(seen.created));
    for text in newest
        .iter()
        .map(|seen| seen.text.as_str())
        .filter(|t| t.contains(topic))
    {
        let found = text
            .split_whitespace()
            .map(trimmed)
            .filter(|word| fits(word));
        for value in found {
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    values.into_iter().map(call).collect()
}

/// Sentences end at a full stop before a blank, and at line ends: the dots of an address are none.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split(". "))
}

fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

fn is_address(word: &str) -> bool {
    word.split_once('@')
        .is_some_and(|(local, domain)| !local.is_empty() && domain.contains('.'))
}

/// The outer form of an IBAN (ISO 13616): two letters, two digits, 11 to 30 letters and digits.
fn is_account(word: &str) -> bool {
    let bytes = word.as_bytes();
    (15..=34).contains(&bytes.len())
        && bytes.iter().take(2).all(u8::is_ascii_uppercase)
        && bytes.iter().skip(2).take(2).all(u8::is_ascii_digit)
        && bytes.iter().skip(4).all(u8::is_ascii_alphanumeric)
}

/// The words that order something.
const VERBS: [&str; 4] = ["send", "forward", "post", "upload"];

#[cfg(test)]
mod tests;
