// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes: lines a file, lines a function, columns a line. `sizes.txt` holds what is over the
//! limit; a number in it may fall, never rise, and goes when it is no longer needed.

use crate::rust_text::code_only;
use crate::tree::{File, files, no_faults};
use std::collections::BTreeMap;

/// Most lines of a source file that is not a test.
const FILE_LINES_MAX: usize = 600;
/// Most lines of code between the braces of a function, as clippy counts them.
const FUNCTION_LINES_MAX: usize = 70;
/// Most columns of a line of Rust.
const COLUMNS_MAX: usize = 100;

fn columns(file: &File) -> Vec<String> {
    let long = |(_, line): &(usize, &str)| line.chars().count() > COLUMNS_MAX;
    let fault = |(at, line): (usize, &str)| {
        let width = line.chars().count();
        let path = &file.path;
        format!("{path}:{}: {width} columns; limit is {COLUMNS_MAX}", at + 1)
    };
    file.text
        .lines()
        .enumerate()
        .filter(long)
        .map(fault)
        .collect()
}

/// Each function with its line and its lines of code.
fn functions(source: &str) -> Vec<(usize, String, usize)> {
    let code = code_only(source);
    let mut found = Vec::new();
    for (start, _) in code.match_indices("fn ") {
        let before = code[..start].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[start + 3..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
        if let Some(body) = body(rest)
            && !name.is_empty()
        {
            let lines = body.lines().filter(|l| !l.trim().is_empty()).count();
            let line = code[..start].matches('\n').count() + 1;
            found.push((line, name, lines));
        }
    }
    found
}

/// What lies between the braces of the function whose text starts here; nothing for a declaration.
fn body(rest: &str) -> Option<&str> {
    let mut round = 0i32;
    let open = rest.char_indices().find(|(_, c)| {
        round += match c {
            '(' | '[' => 1,
            ')' | ']' => -1,
            _ => 0,
        };
        round == 0 && (*c == '{' || *c == ';')
    });
    let (open, '{') = open? else { return None };
    let mut depth = 0;
    let close = rest[open..].char_indices().find(|(_, c)| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    });
    Some(&rest[open + 1..open + close?.0])
}

/// Everything over a limit, by name, with its size.
fn over_limit(file: &File) -> BTreeMap<String, usize> {
    let mut over = BTreeMap::new();
    let lines = file.text.lines().count();
    if !file.is_test() && lines > FILE_LINES_MAX {
        over.insert(file.path.clone(), lines);
    }
    for (_, name, lines) in functions(&file.text) {
        if lines > FUNCTION_LINES_MAX {
            over.insert(format!("{}#{name}", file.path), lines);
        }
    }
    over
}

/// Compares what is over the limit with what is excused.
fn against(over: &BTreeMap<String, usize>, excused: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut known = BTreeMap::new();
    for line in excused
        .lines()
        .filter(|l| !l.starts_with('#') && !l.is_empty())
    {
        match line.split_once(' ').map(|(n, s)| (n, s.parse::<usize>())) {
            Some((name, Ok(size))) => _ = known.insert(name.to_owned(), size),
            _ => faults.push(format!("sizes.txt: `{line}` is not a name and a number")),
        }
    }
    for (name, size) in over {
        match known.get(name) {
            Some(limit) if size <= limit => {}
            Some(limit) => faults.push(format!("{name}: {size} lines; it had {limit}; split it")),
            None => faults.push(format!("{name}: {size} lines; split it")),
        }
    }
    for name in known.keys().filter(|name| !over.contains_key(*name)) {
        faults.push(format!(
            "sizes.txt: {name} is within the limit now; drop it"
        ));
    }
    faults
}

#[test]
fn lines_are_at_most_100_columns() {
    let file = |n: usize| File::new("a.rs", &"x".repeat(n));
    assert!(columns(&file(COLUMNS_MAX)).is_empty());
    assert_eq!(columns(&file(COLUMNS_MAX + 1)).len(), 1);

    let faults: Vec<_> = files()
        .iter()
        .filter(|f| f.is_rust())
        .flat_map(columns)
        .collect();
    no_faults(&faults);
}

#[test]
fn functions_are_found_with_their_lines_of_code() {
    let source =
        "fn a();\nfn b(x: [u8; 3]) -> u8 {\n\n // c\n  let s = \"}\";\n  0\n}\nlet fn_x = 1;";
    assert_eq!(functions(source), [(2, "b".to_owned(), 2)]);
}

#[test]
fn the_list_of_exceptions_only_shrinks() {
    let of = |size| BTreeMap::from([("a.rs".to_owned(), size)]);
    assert!(against(&of(610), "# why\na.rs 610\n").is_empty());
    assert_eq!(against(&of(611), "a.rs 610").len(), 1);
    assert_eq!(against(&of(611), "").len(), 1);
    assert_eq!(against(&BTreeMap::new(), "a.rs 610").len(), 1);
    assert_eq!(against(&BTreeMap::new(), "a.rs").len(), 1);
}

#[test]
fn files_and_functions_are_small() {
    let long = |lines: usize| File::new("src/a.rs", &"x;\n".repeat(lines));
    assert!(over_limit(&long(FILE_LINES_MAX)).is_empty());
    assert_eq!(over_limit(&long(FILE_LINES_MAX + 1)).len(), 1);
    let function =
        |lines: usize| File::new("a.rs", &format!("fn f() {{\n{}}}", "x;\n".repeat(lines)));
    assert!(over_limit(&function(FUNCTION_LINES_MAX)).is_empty());
    assert_eq!(over_limit(&function(FUNCTION_LINES_MAX + 1)).len(), 1);

    let over = files()
        .iter()
        .filter(|f| f.is_rust())
        .flat_map(over_limit)
        .collect();
    no_faults(&against(&over, include_str!("sizes.txt")));
}
