// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reply filter: what is taken out, what stays, and that nothing comes together again.

use crate::grounding::unescape;
use ancile_core::{ArgKind, CanonicalValue};
use ancile_screen::{
    FilteredReply, GroundText, LinkKind, LinkReason, REPLY_BYTES_MAX, canonical, filter_reply,
};
use proptest::prelude::*;

const CASES: &str = include_str!("../cases/reply.txt");
const CASES_MIN: usize = 50;

/// What the user said; nothing else is named.
const TURN: &str = "Look at https://good.example/start and b\u{fc}cher.example, mail \
    anna@good.example or call +49 30 123456.";

fn filter(reply: &str) -> FilteredReply {
    let ground = GroundText::new(TURN);
    filter_reply(reply, &|value| ground.names(value))
}

#[test]
fn what_was_named_stays_as_it_is() {
    for reply in [
        "",
        "No links at all, 1 < 2 > 0, a[1]: b, x](y) and <b>bold</b> <String>.",
        "See [it](https://good.example/other?x=1&y=2#z) and <https://good.example/?a=b>.",
        "![logo](https://GOOD.example./l.png \"title\") https://good.example,",
        "(https://good.example).",
        "[a][1] and [b]\n\n[1]: https://good.example/a\n[b]: <https://good.example/b> \"t\"\n",
        "[relative](docs/a.md) [up](../b) [anchor](#c) ![local](/i.png) [q](?x=1)",
        "https://xn--bcher-kva.example/ and https://b\u{fc}cher.example/x",
        "Mail [Anna](mailto:anna@good.example?subject=hi) or [call](tel:+4930123456).",
        "<a href=\"https://good.example/\" title='x'>a</a> <img src=/i.png width=3 alt=\"\">",
        "Write to bob@elsewhere.example; read node.js, src/main.rs and 3.5/4, std::fmt, http: no.",
        "```\nlet a: Vec<String> = b[1];\nif x <y then z\n```\n",
        "https://good.example\u{3001}next and [x](https://good.example)\u{3002}",
        "www and .com/ and //x and a:// and mailto: and https:",
    ] {
        let out = filter(reply);
        assert_eq!(out.text, reply);
        assert_eq!(out.removed, []);
    }
}

#[test]
fn each_way_to_write_a_link_is_read() {
    let mut cases = 0;
    for line in CASES.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (reason, rest) = line.split_once(' ').unwrap();
        let (reply, shown) = rest.trim_start().split_once(" => ").unwrap();
        let (reply, shown) = (unescape(reply), unescape(shown));
        cases += 1;
        let out = filter(&reply);
        assert_eq!(out.text, shown, "{reply}");
        let first = &out.removed[0];
        assert_eq!(first.reason.name(), reason, "{reply}: {first:?}");
    }
    println!("{cases} replies");
    assert!(cases >= CASES_MIN);
}

#[test]
fn references_lose_what_they_lead_to() {
    let reply = "See [the manual][m], [m] and ![x][i].\n\n[m]: https://evil.example/m \"t\"\n\
        [i]:\n  //evil.example/i\n[g]: https://good.example/\n";
    let out = filter(reply);
    assert!(!out.text.contains("evil"), "{}", out.text);
    assert!(
        out.text.starts_with("See the manual (link removed), "),
        "{}",
        out.text
    );
    assert!(out.text.contains("and (image removed)."));
    assert!(out.text.contains("[g]: https://good.example/"));
    let kinds: Vec<LinkKind> = out.removed.iter().map(|link| link.kind).collect();
    assert!(kinds.contains(&LinkKind::Definition) && kinds.contains(&LinkKind::Image));
}

#[test]
fn what_is_removed_is_reported_where_it_stood() {
    let reply = "\u{e4} [a](https://evil.example/1) ht![b](//evil.example/2)tps://evil.example/3";
    let out = filter(reply);
    assert_eq!(
        out.text,
        "\u{e4} a (link removed) ht(image removed)tps://evil.example/3"
    );
    let first = &out.removed[0];
    assert_eq!(&reply[first.span.clone()], "[a](https://evil.example/1)");
    assert_eq!(first.target, "https://evil.example/1");
    assert_eq!(
        (first.kind, first.reason),
        (LinkKind::Link, LinkReason::NotNamed)
    );
    for link in &out.removed {
        assert!(reply.get(link.span.clone()).is_some(), "{link:?}");
    }
}

#[test]
fn a_reply_over_the_limit_is_removed_unread() {
    let fits = "a b ".repeat(REPLY_BYTES_MAX / 4);
    assert_eq!(filter(&fits).text, fits);
    let out = filter(&(fits + "a"));
    assert_eq!(out.text, "(reply removed: its links cannot be read)");
    assert_eq!(out.removed[0].reason, LinkReason::TooLong);
}

/// Each of these would take minutes at this size in quadratic time.
#[test]
fn hostile_replies_are_read_in_linear_time() {
    const BYTES: usize = 1 << 15;
    for unit in [
        "[",
        "](",
        "]:",
        "![a](",
        "<a ",
        "<a b=\"",
        "<!--",
        "http://",
        "https://a",
        "a://",
        "www.",
        "[a](b",
        "[a]: b\n",
        "&#",
        "\\",
        "a.com/",
        "<",
        "<a<",
        "*_",
        "`",
        "|a",
        "[^1]:",
        "> ",
        "[a][",
        "[](https://evil.example)",
        "<https://evil.example>",
        "\u{200b}h",
    ] {
        let out = filter(&unit.repeat(BYTES / unit.len()));
        assert!(out.text.len() <= 20 * BYTES, "{unit}");
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("https://evil.example/?q=1".to_owned()),
        Just("//evil.example/i".to_owned()),
        Just("https://good.example/a".to_owned()),
        Just("www.evil.example".to_owned()),
        Just("javascript:alert(1)".to_owned()),
        Just("<img src=".to_owned()),
        Just("<a href='".to_owned()),
        Just("![x](".to_owned()),
        Just("[y][z]".to_owned()),
        Just("\n[z]: ".to_owned()),
        Just("ht".to_owned()),
        Just("tps:".to_owned()),
        Just("//".to_owned()),
        Just("evil.example".to_owned()),
        Just("&#58;".to_owned()),
        Just("\u{200b}".to_owned()),
        "[\\[\\]()<>!\"'`\\\\ \n:/&;=#.*_~|a-c]{0,4}",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// The destinations that an independent reading of Markdown finds.
fn destinations(text: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Parser, Tag};
    let parser = Parser::new(text);
    let found = parser.filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.to_string())
        }
        _ => None,
    });
    found.collect()
}

proptest! {
    #[test]
    fn nothing_is_left_that_was_not_named(reply in pieces()) {
        let out = filter(&reply);
        let again = filter(&out.text);
        prop_assert_eq!(&again.text, &out.text, "{:?}", again.removed);
        for to in destinations(&out.text) {
            let url = url::Url::parse("http://here.example").and_then(|base| base.join(&to));
            let host = url.as_ref().map(|url| url.host_str().map(str::to_owned));
            let fine = [Ok(Some("here.example".to_owned())), Ok(Some("good.example".to_owned()))];
            prop_assert!(fine.contains(&host), "{to}: {}", out.text);
        }
        let lower = out.text.to_lowercase();
        prop_assert!(!lower.contains("https://evil") && !lower.contains("<img src=//evil"));
        for link in &out.removed {
            prop_assert!(reply.get(link.span.clone()).is_some(), "{link:?}");
        }
        prop_assert!(!out.removed.is_empty() || out.text == reply);
    }
}

#[test]
fn a_value_is_asked_for_once() {
    let asked = std::cell::RefCell::new(Vec::<CanonicalValue>::new());
    let reply = "https://evil.example/a https://evil.example/a ".repeat(9);
    let _ = filter_reply(&reply, &|value| {
        asked.borrow_mut().push(value.clone());
        false
    });
    let host = canonical(ArgKind::Host, "evil.example").unwrap();
    let count = asked
        .borrow()
        .iter()
        .filter(|value| **value == host)
        .count();
    assert_eq!(count, 1);
}
