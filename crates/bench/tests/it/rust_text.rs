// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rust source with comments and the insides of literals blanked, so that braces and words in
//! what is left are code. Lines stay where they are.

/// Blanks comments, string literals and character literals.
pub fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            let blanked = chars[at..end].iter();
            out.extend(blanked.map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// Where the comment or literal that starts at `at` ends; `at` itself where none does.
fn literal_end(chars: &[char], at: usize) -> usize {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => find(chars, at, |c| c == '\n'),
        '/' if next == Some('*') => block_comment_end(chars, at),
        '"' => quoted_end(chars, at + 1, '"'),
        'r' if !follows_word(chars, at) => raw_string_end(chars, at),
        '\'' if next == Some('\\') => quoted_end(chars, at + 1, '\''),
        '\'' if chars.get(at + 2) == Some(&'\'') => at + 3,
        _ => at,
    }
}

fn find(chars: &[char], from: usize, wanted: impl Fn(char) -> bool) -> usize {
    let found = chars[from..].iter().position(|c| wanted(*c));
    found.map_or(chars.len(), |offset| from + offset)
}

fn follows_word(chars: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map(|i| chars[i]);
    before.is_some_and(|c| c != 'b' && (c.is_alphanumeric() || c == '_'))
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut i = at;
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => (depth, i) = (depth + 1, i + 2),
            ('*', '/') => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

fn quoted_end(chars: &[char], from: usize, quote: char) -> usize {
    let mut i = from;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            c if c == quote => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

fn raw_string_end(chars: &[char], at: usize) -> usize {
    let quote = find(chars, at + 1, |c| c != '#');
    if chars.get(quote) != Some(&'"') {
        return at;
    }
    let hashes = quote - at - 1;
    let mut i = quote + 1;
    while i < chars.len() {
        let close = find(chars, i, |c| c == '"');
        let after = find(chars, (close + 1).min(chars.len()), |c| c != '#');
        if after.saturating_sub(close + 1) >= hashes {
            return close + 1 + hashes;
        }
        i = close + 1;
    }
    chars.len()
}

#[test]
fn literals_and_comments_are_blanked_and_code_stays() {
    let check = |source: &str, code: &str| {
        let squeezed: Vec<_> = code_only(source)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        assert_eq!(squeezed.join(" "), code, "{source}");
    };
    check("a // b {\nc", "a c");
    check("a /* b /* { */ } */ c", "a c");
    check(r#"let s = "{ \" }"; d"#, "let s = ; d");
    check("let s = r#\"{ \" }\"#; d", "let s = ; d");
    check(r"let c = '{'; let d = '\''; e", "let c = ; let d = ; e");
    check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
    check("for r in rows {}", "for r in rows {}");
}
