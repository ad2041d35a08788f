// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::wire::act::{ProposeBody, ResultBody};
use crate::wire::entry::WriteBody;
use crate::wire::recall::RecallBody;
use crate::wire::step::StepBody;
use ancile_engine::api::{STEP_OPS_MAX, StepOp, ToolResult};

const UUID: &str = "01989d8e-7a00-7abc-8def-0123456789ab";

fn ops(text: &str) -> Result<Vec<StepOp>, Problem> {
    json::<StepBody<'_>>(text)?.ops()
}

fn code(text: &str) -> &'static str {
    ops(text).unwrap_err().code
}

fn step(op: &str) -> String {
    format!("{{\"ops\":[{op}]}}")
}

#[test]
fn every_operation_has_a_wire_form() {
    let text = format!(
        r#"{{"ops":[
            {{"op":"expose","kind":"user_turn","text":"hi"}},
            {{"op":"recall","query":"rent","k":3}},
            {{"op":"call","tool":"pay","args":{{"amount":12.50}}}},
            {{"op":"redeem","permit":"{UUID}","tool":"pay","args":{{"amount":12.50}}}},
            {{"op":"result","permit":"{UUID}","fields":{{"id":"7"}}}},
            {{"op":"write","kind":"memory","text":"paid"}}]}}"#
    );
    let ops = ops(&text).unwrap();
    let [
        StepOp::Expose(shown),
        StepOp::Recall(recall),
        StepOp::Call(call),
        StepOp::Redeem(_, redeemed),
        StepOp::Result(_, result),
        StepOp::Write(write),
    ] = ops.as_slice()
    else {
        panic!("{ops:?}");
    };
    assert_eq!(
        (shown.text.as_str(), shown.locator.as_str(), shown.channel),
        ("hi", "", None)
    );
    assert_eq!((recall.query.as_str(), recall.k), ("rent", Some(3)));
    assert_eq!(call.call, *redeemed);
    assert!(matches!(result, ToolResult::Fields(fields) if fields.len() == 1));
    assert_eq!(write.text, "paid");
}

#[test]
fn each_way_to_be_wrong_has_its_code() {
    let rows = [
        ("", "json_truncated"),
        ("{\"ops\":[", "json_truncated"),
        ("{\"ops\":[]} x", "json_malformed"),
        ("{ops:[]}", "json_malformed"),
        ("[[]]", "invalid_field"),
        ("{}", "missing_field"),
        ("7", "invalid_field"),
        ("{\"ops\":[],\"ops\":[]}", "duplicate_field"),
        ("{\"ops\":[],\"more\":1}", "unknown_field"),
        ("{\"ops\":[{\"op\":\"expose\"}]}", "missing_field"),
        ("{\"ops\":[{\"op\":\"sing\"}]}", "unknown_op"),
        ("{\"ops\":[{\"tool\":\"x\"}]}", "missing_field"),
        (
            "{\"ops\":[{\"op\":\"recall\",\"query\":\"q\",\"k\":-1}]}",
            "count_out_of_range",
        ),
        (
            "{\"ops\":[{\"op\":\"recall\",\"query\":\"q\",\"k\":4294967296}]}",
            "count_out_of_range",
        ),
        (
            "{\"ops\":[{\"op\":\"recall\",\"query\":\"q\",\"k\":1.5}]}",
            "invalid_field",
        ),
        (
            "{\"ops\":[{\"op\":\"recall\",\"query\":\"q\",\"namespace\":\"n\"}]}",
            "namespace_not_here",
        ),
        (
            "{\"ops\":[{\"op\":\"call\",\"tool\":\"a b\",\"args\":{}}]}",
            "invalid_field",
        ),
        (
            "{\"ops\":[{\"op\":\"call\",\"tool\":\"a\",\"args\":[]}]}",
            "arguments_refused",
        ),
        (
            "{\"ops\":[{\"op\":\"call\",\"tool\":\"a\",\"args\":{\"x\":1,\"x\":2}}]}",
            "duplicate_field",
        ),
        (
            "{\"ops\":[{\"op\":\"call\",\"tool\":\"a\",\"args\":{\"x\":\"\\ud800\"}}]}",
            "lone_surrogate",
        ),
        (
            "{\"ops\":[{\"op\":\"expose\",\"kind\":\"text\",\"text\":\"\\udc00\"}]}",
            "lone_surrogate",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(code(text), expected, "{text}");
    }
}

#[test]
fn problems_inside_a_step_name_the_operation() {
    let ok = "{\"op\":\"expose\",\"kind\":\"text\",\"text\":\"x\"}";
    let said = ops(&step(&format!(
        "{ok},{{\"op\":\"write\",\"kind\":\"note\"}}"
    )))
    .unwrap_err()
    .detail;
    assert!(
        said.starts_with("operation 1: `kind`: `note` is no kind of entry; give one of"),
        "{said}"
    );
}

#[test]
fn operations_of_a_step_are_limited() {
    let one = "{\"op\":\"expose\",\"kind\":\"text\",\"text\":\"x\"}";
    let many = |n: usize| ops(&step(&vec![one; n].join(",")));
    assert_eq!(many(STEP_OPS_MAX - 1).unwrap().len(), STEP_OPS_MAX - 1);
    assert_eq!(many(STEP_OPS_MAX).unwrap().len(), STEP_OPS_MAX);
    assert_eq!(many(STEP_OPS_MAX + 1).unwrap_err().code, "too_many_ops");
}

#[test]
fn a_result_is_exactly_one_thing() {
    let read = |rest: &str| {
        json::<ResultBody>(&format!("{{\"permit\":\"{UUID}\"{rest}}}"))
            .unwrap()
            .result()
    };
    let text = read(",\"text\":\"a\"").unwrap().1;
    assert_eq!(text, ToolResult::Text("a".to_owned()));
    assert_eq!(read(",\"not_shown\":true").unwrap().1, ToolResult::NotShown);
    for rest in [
        "",
        ",\"not_shown\":false",
        ",\"text\":\"a\",\"fields\":{}",
        ",\"text\":\"\",\"not_shown\":true",
    ] {
        assert_eq!(read(rest).unwrap_err().code, "result_not_one", "{rest}");
    }
}

#[test]
fn only_an_operation_of_a_step_has_a_name() {
    let text = r#"{"op":"call","tool":"t","args":{}}"#;
    assert_eq!(json::<ProposeBody>(text).unwrap_err().code, "unknown_field");
    for op in [text, r#"{"tool":"t","args":{},"op":"call"}"#] {
        assert!(matches!(
            ops(&step(op)).unwrap().as_slice(),
            [StepOp::Call(_)]
        ));
    }
    assert_eq!(
        code(&step(r#"{"op":"call","op":"write"}"#)),
        "duplicate_field"
    );
    assert_eq!(
        code(&step(r#"{"op":"call","\u006fp":"write"}"#)),
        "duplicate_field"
    );
}

#[test]
fn a_field_that_does_not_fit_is_named_by_its_path() {
    let write = |text: &str| json::<WriteBody>(text).unwrap_err().detail;
    let rows = [
        (
            r#"{"kind":"task","text":"a","task":{"due":1,"call":{"tool":7,"args":{}}}}"#,
            "`task.call.tool`: invalid type: integer `7`, expected a string",
        ),
        (
            r#"{"kind":"task","text":"a","task":{"due":1,"call":{"tool":"t","args":[]}}}"#,
            "`task.call.args`: arguments are no object; give {\"name\": value}",
        ),
        (
            r#"{"kind":"memory","text":"a","parents":["00", "7"]}"#,
            "`parents[0]`: `00` is no digest; give 64 hexadecimal digits",
        ),
        (
            r#"{"kind":"task","text":"a","task":{}}"#,
            "`task`: missing field `due`; add it",
        ),
        (r#"{"kind":"memory"}"#, "missing field `text`; add it"),
    ];
    for (text, said) in rows {
        assert_eq!(write(text), said);
    }
    let unknown = write(r#"{"kind":"memory","text":"a","op":"write"}"#);
    let said = "unknown field `op`, expected one of `kind`, `namespace`, ";
    assert!(
        unknown.starts_with(said) && unknown.ends_with("; leave it out"),
        "{unknown}"
    );
    let step = ops(&step(
        r#"{"op":"write","kind":"memory","text":"a","colour":1}"#,
    ));
    let said = "operation 0: unknown field `colour`, expected one of `kind`, ";
    let detail = step.unwrap_err().detail;
    assert!(
        detail.starts_with(said) && !detail.contains(" line "),
        "{detail}"
    );
}

#[test]
fn a_person_names_the_namespace_and_a_session_does_not() {
    let read = |text: &str| json::<RecallBody>(text).unwrap();
    assert_eq!(
        read("{\"query\":\"q\"}").outside().unwrap_err().code,
        "missing_field"
    );
    let (namespace, recall) = read("{\"query\":\"q\",\"namespace\":\"main\"}")
        .outside()
        .unwrap();
    assert_eq!((namespace.as_str(), recall.query.as_str()), ("main", "q"));
}

#[test]
fn a_write_carries_a_task() {
    let text = r#"{"kind":"task","text":"pay rent","field":{"source":"s","tool":"t","field":"f"},
        "task":{"due":1780272000000000,"every_seconds":60,"call":{"tool":"pay","args":{"n":1}}}}"#;
    let write = json::<WriteBody>(text).unwrap().write().unwrap();
    let task = write.task.unwrap();
    assert_eq!(
        (task.due.0, task.every_seconds),
        (1_780_272_000_000_000, Some(60))
    );
    assert_eq!(task.call.unwrap().tool.as_str(), "pay");
    let negative = text.replace("60", "-60");
    let fault = json::<WriteBody>(&negative).unwrap().write().unwrap_err();
    assert_eq!(fault.code, "count_out_of_range");
}

#[test]
fn halves_of_surrogate_pairs_are_found_where_they_are() {
    let lone = [
        "\\ud800",
        "\\udc00",
        "\\ud800\\u0041",
        "\\udc00\\ud800",
        "\\\\\\ud800",
        "\\uD83D x",
    ];
    for text in lone {
        assert!(has_lone_surrogate(text), "{text}");
    }
    let fine = [
        "",
        "\\ud83d\\ude00",
        "\\\\ud800",
        "\\u0041",
        "\\n\\\"",
        "\\",
        "\\u12",
        "\u{1f600}",
    ];
    for text in fine {
        assert!(!has_lone_surrogate(text), "{text}");
    }
}

#[test]
fn text_is_utf_8() {
    assert_eq!(text(b"abc").unwrap(), "abc");
    let fault = text(b"ab\xff").unwrap_err();
    assert_eq!(fault.code, "not_utf8");
    assert_eq!(
        fault.detail,
        "the body is not UTF-8 from byte 2 on; encode it as UTF-8"
    );
}
