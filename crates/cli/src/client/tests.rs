// SPDX-License-Identifier: MIT OR Apache-2.0
use super::{problem, query, segment};
use crate::failure::{Exit, Failure};
use ureq::http::StatusCode;

#[test]
fn a_segment_cannot_leave_its_place() {
    assert_eq!(segment("a-b.c_1"), "a-b.c_1");
    assert_eq!(segment("../x?y#z %\u{e4}"), "..%2Fx%3Fy%23z%20%25%C3%A4");
}

#[test]
fn only_given_parameters_make_a_query() {
    assert_eq!(query(&[("a", None)]), "");
    let two = [
        ("a", Some("1 2".to_owned())),
        ("b", None),
        ("c", Some("&".to_owned())),
    ];
    assert_eq!(query(&two), "?a=1%202&c=%26");
}

#[test]
fn a_status_becomes_the_documented_exit() {
    for (status, exit) in [
        (400, Exit::Usage),
        (401, Exit::Refused),
        (403, Exit::Refused),
        (404, Exit::NotFound),
        (409, Exit::Refused),
        (413, Exit::Usage),
        (429, Exit::Refused),
        (503, Exit::Unavailable),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let body = r#"{"code":"c","detail":"what is wrong; do this"}"#;
        assert_eq!(
            problem(status, body),
            Failure::new(exit, "c", "what is wrong; do this")
        );
        assert_eq!(problem(status, "<html>").exit, exit);
    }
    let down = problem(StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"down"}"#);
    assert_eq!(down.exit, Exit::Unavailable);
    assert!(down.text.contains("start it again"), "{}", down.text);
    let edited = problem(StatusCode::CONFLICT, r#"{"code":"lineage_broken"}"#);
    assert_eq!(edited.exit, Exit::Damaged);
}
