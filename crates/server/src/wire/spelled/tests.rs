// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

fn round<T: Spelling + PartialEq + fmt::Debug>(values: &[T]) {
    for value in values {
        assert_eq!(T::read(&value.spell()).as_ref(), Ok(value));
    }
}

#[test]
fn every_named_value_reads_back() {
    round(&AuthorityClass::ALL);
    round(Channel::ALL);
    round(Role::ALL);
    round(EntryKind::ALL);
    round(SourceState::ALL);
    round(&Decision::ALL);
    round(&[SessionMode::Interactive, SessionMode::Headless]);
    round(EXPOSURES);
    round(APPROVALS);
    round(&[Gates::Enforce, Gates::LogOnly, Gates::Off]);
    round(&[Digest::sha256(b"x")]);
    round(&[EntryId::at(1_700_000_000_000, [7; 10])]);
}

#[test]
fn a_field_of_a_source_is_three_names() {
    let field = SourceField::read("bank/rates/eur").unwrap();
    assert_eq!(field.spell(), "bank/rates/eur");
    for text in ["bank/rates", "bank/rates/eur/usd", "bank//eur", ""] {
        assert!(SourceField::read(text).is_err(), "{text}");
    }
}

#[test]
fn errors_say_what_is_allowed_and_repeat_little() {
    let said = Channel::read("carrier\u{1b}pigeon").unwrap_err();
    let names = "user, paste, document, source, tool, web, agent, peer_agent, import, unknown";
    assert_eq!(
        said,
        format!("`carrier\\u{{1b}}pigeon` is no channel; give one of {names}")
    );
    let said = Digest::read(&"f".repeat(1_000)).unwrap_err();
    assert_eq!(
        said,
        format!(
            "`{}...` is no digest; give 64 hexadecimal digits",
            "f".repeat(64)
        )
    );
}

#[test]
fn keyed_objects_refuse_a_key_that_comes_twice() {
    type Fields = Keyed<FieldName, String>;
    let good: Fields = serde_json::from_str(r#"{"a":"1","b":"2"}"#).unwrap();
    assert_eq!(
        serde_json::to_string(&good).unwrap(),
        r#"{"a":"1","b":"2"}"#
    );
    let said = serde_json::from_str::<Fields>(r#"{"a":"1","\u0061":"2"}"#)
        .unwrap_err()
        .to_string();
    assert!(said.starts_with("duplicate field `a`"), "{said}");
    assert!(serde_json::from_str::<Fields>(r#"{"a b":"1"}"#).is_err());
}
