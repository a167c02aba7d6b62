//! A program's text as words, and where its statements begin and end: as much of C++'s grammar as is needed to damage a
//! program so that Clang often does not mind.

use std::ops::Range;

#[derive(PartialEq, Clone, Copy)]
pub(crate) enum Kind {
    /// Also comments and lines of the preprocessor.
    Blank,
    Name,
    Number,
    Operator,
    Bracket,
}

/// Longer ones first. Those of launches are one word, so that they are not taken for shifts.
const OPERATORS: &[&str] = &[
    "<<<", ">>>", "<<=", ">>=", "...", "::", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=",
];

pub(crate) fn kind(word: &str) -> Kind {
    match word.as_bytes() {
        [] | [b'#', ..] | [b'/', b'/', ..] => Kind::Blank,
        [byte, ..] if byte.is_ascii_whitespace() => Kind::Blank,
        [byte, ..] if byte.is_ascii_alphabetic() || *byte == b'_' => Kind::Name,
        [byte, ..] if byte.is_ascii_digit() => Kind::Number,
        [b'.', second, ..] if second.is_ascii_digit() => Kind::Number,
        [b'(' | b')' | b'{' | b'}' | b'[' | b']' | b';' | b',', ..] => Kind::Bracket,
        _ => Kind::Operator,
    }
}

/// All of the text, cut between words.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, behind) = rest.split_at(length_of_first(rest));
        words.push(word.to_owned());
        rest = behind;
    }
    words
}

fn length_of_first(text: &str) -> usize {
    let run = |belongs: &dyn Fn(char) -> bool| text.find(|character| !belongs(character)).unwrap_or(text.len());
    let first = text.chars().next().map_or(0, char::len_utf8);
    match kind(text) {
        Kind::Blank if text.starts_with(['#', '/']) => run(&|character| character != '\n'),
        Kind::Blank => run(&|character| character.is_ascii_whitespace()),
        Kind::Name => run(&|character| character.is_ascii_alphanumeric() || character == '_'),
        Kind::Number => run(&|character| character.is_ascii_alphanumeric() || character == '.'),
        Kind::Bracket => first,
        Kind::Operator if text.starts_with(['"', '\'']) => text[1..].find(&text[..1]).map_or(text.len(), |end| end + 2),
        Kind::Operator => OPERATORS.iter().find(|operator| text.starts_with(**operator)).map_or(first, |op| op.len()),
    }
}

/// The statements inside of braces, each from its first word to its semicolon or closing brace.
pub(crate) fn statements(words: &[String]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut braces, mut parentheses, mut is_start) = (0usize, 0usize, false);
    for (at, word) in words.iter().enumerate() {
        let is_between = parentheses == 0 && braces > 0;
        if kind(word) == Kind::Blank {
            continue;
        }
        if is_start && is_between && word != "}" && word != "else" {
            found.push(at..end_of_statement(words, at));
        }
        is_start = ["{", "}", ";"].contains(&word.as_str());
        match word.as_str() {
            "{" => braces += 1,
            "}" => braces = braces.saturating_sub(1),
            "(" => parentheses += 1,
            ")" => parentheses = parentheses.saturating_sub(1),
            _ => {}
        }
    }
    found
}

fn end_of_statement(words: &[String], start: usize) -> usize {
    let (mut braces, mut parentheses) = (0usize, 0usize);
    for (at, word) in words.iter().enumerate().skip(start) {
        match word.as_str() {
            "(" => parentheses += 1,
            ")" => parentheses = parentheses.saturating_sub(1),
            "{" => braces += 1,
            "}" if braces > 1 => braces -= 1,
            // The `;` of `int a[] = {1, 2};` belongs to it.
            "}" => return if words.get(at + 1).is_some_and(|next| next == ";") { at + 2 } else { at + 1 },
            ";" if braces == 0 && parentheses == 0 => return at + 1,
            _ => {}
        }
    }
    words.len()
}
