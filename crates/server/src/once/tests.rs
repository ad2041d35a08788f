// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kept answers, and what makes two requests one.

use super::{KINDS, decode, encode, request};
use crate::ask::{Parts, Reply};
use axum::http::StatusCode;

#[test]
fn an_answer_is_read_as_it_was_kept() {
    for kind in KINDS {
        let reply = Reply {
            status: StatusCode::CREATED,
            content_type: kind,
            body: b"{}".to_vec(),
            again: false,
        };
        assert_eq!(decode(&encode(&reply).unwrap()).unwrap(), reply);
    }
    let other = Reply {
        status: StatusCode::OK,
        content_type: Some("text/html"),
        body: Vec::new(),
        again: false,
    };
    assert!(encode(&other).is_err());
    for bytes in [&b""[..], b"\0\xc8", b"\0\0\x01", b"\0\xc8\x09"] {
        assert!(decode(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn requests_differ_by_path_name_session_and_body() {
    let parts = |name: &str, session: Option<&str>, body: &str| Parts {
        name: name.to_owned(),
        session: session.map(str::to_owned),
        body: body.as_bytes().to_vec(),
        ..Parts::default()
    };
    let all = [
        request("/v1/a", &parts("", None, "")),
        request("/v1/b", &parts("", None, "")),
        request("/v1/a", &parts("x", None, "")),
        request("/v1/a", &parts("", Some("x"), "")),
        request("/v1/a", &parts("", None, "x")),
    ];
    for (i, one) in all.iter().enumerate() {
        assert!(all[i + 1..].iter().all(|other| other != one), "{i}");
    }
    assert_eq!(all[0], request("/v1/a", &parts("", None, "")));
}
