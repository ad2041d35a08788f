// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of grounding cases, and what needs more than one value or place.

use ancile_core::{ArgKind, Ground, SensitiveArg};
use ancile_screen::{GroundText, VALUES_MAX, canonical, registrable_domain, values};

const CASES: &str = include_str!("../cases/grounding.txt");
const CASES_MIN: usize = 60;

pub fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        if let Some(code) = tail.strip_prefix("u{") {
            let end = code.find('}').unwrap();
            out.push(char::from_u32(u32::from_str_radix(&code[..end], 16).unwrap()).unwrap());
            rest = &code[end + 1..];
        } else {
            out.push(if tail.starts_with('n') { '\n' } else { '\\' });
            rest = &tail[1..];
        }
    }
    out + rest
}

#[test]
fn every_grounding_case_holds() {
    let mut cases = 0;
    let mut wrong = Vec::new();
    for (number, line) in CASES.lines().enumerate() {
        if line.is_empty() || line.starts_with(['#', '=']) {
            continue;
        }
        let (head, rest) = line.split_once('[').unwrap();
        let (text, value) = rest.rsplit_once("] [").unwrap();
        let value = unescape(value.strip_suffix(']').unwrap());
        let mut head = head.split_whitespace();
        let expected = head.next().unwrap() == "yes";
        let kind = ArgKind::parse(head.next().unwrap()).unwrap();
        let text = GroundText::new(&unescape(text));
        let named = canonical(kind, &value).is_some_and(|value| text.names(&value));
        cases += 1;
        if named != expected {
            wrong.push(format!("line {}: {line}", number + 1));
        }
    }
    println!("{cases} grounding cases");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(cases >= CASES_MIN);
}

fn arg(name: &str, kind: ArgKind, elements: &[&str]) -> SensitiveArg {
    SensitiveArg {
        name: name.into(),
        elements: elements.iter().map(|e| canonical(kind, e)).collect(),
    }
}

fn ground(text: &str, args: &[SensitiveArg]) -> Ground {
    let text = GroundText::new(text);
    let elements = args.iter().flat_map(|arg| arg.elements.iter().flatten());
    Ground {
        values: elements
            .filter(|value| text.names(value))
            .cloned()
            .collect(),
    }
}

#[test]
fn a_recipient_list_with_one_foreign_address_is_not_named() {
    let turn = "Send the minutes to anna@example.com and bob@example.com";
    let ours = arg(
        "to",
        ArgKind::Email,
        &["anna@example.com", "BOB@example.com"],
    );
    let mixed = arg("to", ArgKind::Email, &["anna@example.com", "eve@evil.io"]);
    let joined = arg("to", ArgKind::Email, &["anna@example.com, bob@example.com"]);
    let args = [ours, mixed, joined];
    let ground = ground(turn, &args);
    assert_eq!(
        args.each_ref().map(|arg| ground.names(arg)),
        [true, false, false]
    );
}

#[test]
fn a_value_split_over_two_arguments_is_not_named() {
    let turn = "Pay to DE89 3704 0044 0532 0130 00, call +49 30 123456, mail bob@example.com";
    let halves = [
        (ArgKind::Account, "DE89 3704 0044", "0532 0130 00"),
        (ArgKind::Account, "DE893704004", "40532013000"),
        (ArgKind::Phone, "+49 30 123", "456"),
        (ArgKind::Phone, "+49 30", "123456"),
        (ArgKind::Email, "bob@example", ".com"),
        (ArgKind::Host, "example", "com"),
        (ArgKind::Free, "bob@", "example.com"),
    ];
    for (kind, a, b) in halves {
        let args = [arg("a", kind, &[a]), arg("b", kind, &[b])];
        let ground = ground(turn, &args);
        assert!(
            !args.iter().all(|arg| ground.names(arg)),
            "{kind}: {a} + {b}"
        );
    }
}

#[test]
fn spans_are_of_the_original_text() {
    let text = "\u{ff50}ay b\u{200b}ob@ex\u{e4}mple.com \u{20ac}\u{ff11}\u{ff12} \u{2014} ok";
    let found = values(text);
    let seen: Vec<&str> = found.iter().map(|f| &text[f.span.clone()]).collect();
    assert!(seen.contains(&"b\u{200b}ob@ex\u{e4}mple.com"), "{seen:?}");
    assert!(seen.contains(&"\u{20ac}\u{ff11}\u{ff12}"), "{seen:?}");
}

#[test]
fn values_are_bounded() {
    let text = |n: usize| {
        (0..n)
            .map(|i| format!("u{i}@example.com\n"))
            .collect::<String>()
    };
    for n in [VALUES_MAX - 1, VALUES_MAX, VALUES_MAX + 1] {
        assert_eq!(values(&text(n)).len(), n.min(VALUES_MAX));
    }
}

#[test]
fn registrable_domains() {
    let cases = [
        (
            "https://Blog.Example.co.uk:8443/a?b#c",
            Some("example.co.uk"),
        ),
        (
            "https://user@www.example.com\\@evil.io/ x",
            Some("example.com"),
        ),
        ("sub.b\u{fc}cher.de", Some("xn--bcher-kva.de")),
        ("a.b.xn--p1ai", Some("b.xn--p1ai")),
        ("x.github.io", Some("x.github.io")),
        ("y.x.github.io", Some("x.github.io")),
        ("co.uk", Some("co.uk")),
        ("localhost", Some("localhost")),
        ("http://192.168.1.20/x", Some("192.168.1.20")),
        ("http://[2001:db8::1]:80/x", Some("2001:db8::1")),
        ("EXAMPLE.com.", Some("example.com")),
        ("", None),
        ("not a host", None),
    ];
    for (locator, expected) in cases {
        assert_eq!(
            registrable_domain(locator).as_deref(),
            expected,
            "{locator}"
        );
    }
}
