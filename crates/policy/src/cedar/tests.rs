// SPDX-License-Identifier: MIT OR Apache-2.0
use super::{at_semicolon, datetime, depth, sees_uses};
use ancile_core::Micros;
use cedar_policy::{Context, Entities, EvalResult, Expression, Request, eval_expression};

#[test]
fn moments_are_written_as_dates() {
    const DAY: i64 = 86_400_000_000;
    for (micros, text) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (999, "1970-01-01T00:00:00.000Z"),
        (1_000, "1970-01-01T00:00:00.001Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
        (951_782_400_000_000 + DAY, "2000-03-01T00:00:00.000Z"),
        (1_709_164_800_000_000, "2024-02-29T00:00:00.000Z"),
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000Z"),
        (4_107_542_399_999_999, "2100-02-28T23:59:59.999Z"),
        (1_798_761_599_999_999, "2026-12-31T23:59:59.999Z"),
        (1_798_761_600_000_000, "2027-01-01T00:00:00.000Z"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999Z"),
        (-62_167_219_200_000_000, "0000-01-01T00:00:00.000Z"),
    ] {
        assert_eq!(datetime(Micros(micros)).as_deref(), Some(text));
    }
    for beyond in [
        253_402_300_800_000_000,
        -62_167_219_200_000_001,
        i64::MIN,
        i64::MAX,
    ] {
        assert_eq!(datetime(Micros(beyond)), None);
    }
}

#[test]
fn cedar_counts_the_same_milliseconds() {
    let nobody = || "Agent::\"a\"".parse().unwrap();
    let request = Request::new(nobody(), nobody(), nobody(), Context::empty(), None).unwrap();
    let years_0_to_9999 = -62_167_219_200_000_000..253_402_300_800_000_000i64;
    for micros in years_0_to_9999.step_by(777_777_777_777_777) {
        let text = datetime(Micros(micros)).unwrap();
        let since: Expression = format!(
            "datetime(\"{text}\").durationSince(datetime(\"1970-01-01\")).toMilliseconds()"
        )
        .parse()
        .unwrap();
        let ms = eval_expression(&request, &Entities::empty(), &since).unwrap();
        assert_eq!(ms, EvalResult::Long(micros.div_euclid(1_000)), "{text}");
    }
}

#[test]
fn a_policy_that_could_see_the_uses_is_known() {
    for (condition, could) in [
        ("true", false),
        (
            "context.now < datetime(\"2027-01-01\") && context.class == \"x\"",
            false,
        ),
        (
            "context has args && context.args has a && context[\"args\"].a == \"5\"",
            false,
        ),
        ("context.args == {\"a\": \"5\"}", false),
        ("context.uses < 5", true),
        ("context . uses < 5", true),
        ("context[\"\\u{75}ses\"] < 5", true),
        ("context has uses", true),
        (
            "if context.class == \"x\" then true else !(1 + context.uses < 5)",
            true,
        ),
        ("{\"a\": context}.a[\"u\\x73es\"] < 5", true),
        ("[context].contains(context)", true),
        ("context == context", true),
        ("context\n== context", true),
        ("context// .\n", true),
        ("context hasn", true),
        ("context.args.uses == \"5\"", true),
    ] {
        let text = format!("permit (principal, action, resource) unless {{ {condition} }};");
        assert_eq!(sees_uses(&text), could, "{condition}");
    }
}

#[test]
fn the_end_of_a_policy_is_found() {
    for (before, after) in [
        ("permit (a)", ";"),
        ("permit (a) when { x == \";\" }", "; // ;"),
        ("permit (a) when { x == \"\\\";\\\\\" }", ";\n"),
        ("permit (a) // ; \"\n when { x like \"//*\" }", "; \";\""),
        ("permit (a) // it's \" open;\r ", ";"),
        ("@id(\"/\") permit (a) / / \"//;\"", ";"),
        ("", ";;"),
    ] {
        let text = format!("{before}{after}");
        assert_eq!(at_semicolon(&text), Some(before.len()), "{text}");
    }
    for text in ["", "permit (a)", "// ;", "\";", "\"\\\";"] {
        assert_eq!(at_semicolon(text), None, "{text}");
    }
}

#[test]
fn only_brackets_of_the_code_nest() {
    for (text, levels) in [
        ("", 0),
        ("permit (a) when { [1] };", 2),
        ("((\")))\" (", 3),
        ("(( // )))\n (", 3),
        ("(\"((((\\\"(\" // ((((\n)", 1),
        (")))(", 1),
    ] {
        assert_eq!(depth(text), levels, "{text}");
    }
}
