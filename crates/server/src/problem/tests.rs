// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

#[test]
fn each_fault_has_its_status() {
    let rows = [
        (Fault::Malformed, 400, None, false),
        (Fault::Unauthenticated, 401, None, false),
        (Fault::Forbidden, 403, None, false),
        (Fault::NotFound, 404, None, false),
        (Fault::Conflict, 409, None, false),
        (Fault::TooLarge, 413, None, false),
        (Fault::Limit, 429, Some(RETRY_SECONDS), false),
        (Fault::Unavailable, 503, Some(RETRY_SECONDS), true),
        (Fault::Tampered, 409, None, true),
    ];
    for (fault, status, retry, grave) in rows {
        let problem = Problem::from(Refusal::new(fault, "some_code", "said"));
        assert_eq!(
            (problem.status.as_u16(), problem.code),
            (status, "some_code"),
            "{fault:?}"
        );
        assert_eq!(
            (problem.retry_after(), problem.grave),
            (retry, grave),
            "{fault:?}"
        );
    }
}

#[test]
fn what_is_for_the_log_stays_inside() {
    let refusal = Refusal::new(Fault::Unavailable, "undecided", "try again").inside("row 7");
    let problem = Problem::from(refusal);
    assert_eq!(problem.inside, "row 7");
    let body = String::from_utf8(problem.body("1-2")).unwrap();
    assert_eq!(
        body,
        "{\"type\":\"urn:ancile:problem:undecided\",\"title\":\"undecided\",\"status\":503,\
         \"detail\":\"try again\",\"code\":\"undecided\",\"request_id\":\"1-2\"}"
    );
    let body = String::from_utf8(Problem::internal("stack").body("1-3")).unwrap();
    assert!(!body.contains("stack"), "{body}");
}
