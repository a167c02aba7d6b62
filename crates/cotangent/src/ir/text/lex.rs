//! Splits the text form into tokens, one at a time.
//!
//! A token is a slice of the text. White space and `//` comments separate tokens and mean nothing else.

use super::ParseError;
use super::words::is_reserved;

/// What kind of token it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    /// A reserved word: `if`.
    Keyword,
    /// A plain name, with its namespaces: `geo::Vec3`.
    Word,
    /// A name in backticks; the text is what stands between them, still escaped.
    Quoted,
    /// A number with its suffix.
    Number,
    /// A string; the text is what stands between the quotes, still escaped.
    Text,
    /// An operator or a bracket.
    Symbol,
    /// The end of the text.
    End,
}

/// One token and where it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
    pub(super) offset: usize,
}

/// Operators. Longer ones stand before those that they begin with.
const OPERATORS: &[&str] = &[
    "<<<", ">>>", "<<=", ">>=", "::<", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->", "+=", "-=", "*=", "/=",
    "%=", "&=", "|=", "^=", "+", "-", "*", "/", "%", "&", "|", "^", "!", "<", ">", "=", ":",
];

/// A position in the text.
#[derive(Clone)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    offset: usize,
}

impl Token<'_> {
    /// Whether it is a reserved word or a plain name.
    pub(super) fn is_word(self) -> bool {
        matches!(self.kind, TokenKind::Keyword | TokenKind::Word)
    }
}

impl<'t> Lexer<'t> {
    /// Begins at the beginning.
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, offset: 0 }
    }

    /// An error at an offset of this text.
    pub(super) fn error(&self, offset: usize, message: impl Into<String>) -> ParseError {
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        ParseError { line, column: before[line_start..].chars().count() + 1, message: message.into() }
    }

    /// The next token; at the end, `End` again and again.
    pub(super) fn next(&mut self) -> Result<Token<'t>, ParseError> {
        self.skip_space();
        let offset = self.offset;
        let rest = &self.text[offset..];
        let (kind, length) = match rest.as_bytes().first() {
            None => (TokenKind::End, 0),
            Some(b'0'..=b'9') => (TokenKind::Number, number_length(rest)),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                let length = word_length(rest);
                (if is_reserved(&rest[..length]) { TokenKind::Keyword } else { TokenKind::Word }, length)
            }
            Some(b'"') => return self.quoted(TokenKind::Text, b'"'),
            Some(b'`') => return self.quoted(TokenKind::Quoted, b'`'),
            Some(b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b';' | b'.' | b'?' | b'#' | b'~') => {
                (TokenKind::Symbol, 1)
            }
            Some(&first) => {
                let is_here = |symbol: &&&str| symbol.as_bytes()[0] == first && rest.starts_with(**symbol);
                let Some(symbol) = OPERATORS.iter().find(is_here) else {
                    let found: String = rest.chars().take(1).collect();
                    return Err(self.error(offset, format!("expected a token, found {found:?}")));
                };
                (TokenKind::Symbol, symbol.len())
            }
        };
        self.offset += length;
        Ok(Token { kind, text: &rest[..length], offset })
    }

    fn skip_space(&mut self) {
        loop {
            let rest = &self.text[self.offset..];
            let trimmed = rest.trim_start();
            self.offset += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.offset += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// A token between two quotes; a backslash protects the byte after it.
    fn quoted(&mut self, kind: TokenKind, quote: u8) -> Result<Token<'t>, ParseError> {
        let start = self.offset + 1;
        let bytes = self.text.as_bytes();
        let mut end = start;
        while let Some(&byte) = bytes.get(end) {
            if byte == quote {
                let token = Token { kind, text: &self.text[start..end], offset: self.offset };
                self.offset = end + 1;
                return Ok(token);
            }
            end += if byte == b'\\' { 2 } else { 1 };
        }
        Err(self.error(self.offset, format!("expected a closing {}, found the end of the text", quote as char)))
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn run_length(text: &str, accept: impl Fn(u8) -> bool) -> usize {
    text.bytes().position(|byte| !accept(byte)).unwrap_or(text.len())
}

/// Identifiers joined by `::`. A `::` that no identifier follows is not part of the word.
fn word_length(text: &str) -> usize {
    let mut length = run_length(text, is_word_byte);
    while let Some(rest) = text[length..].strip_prefix("::") {
        match rest.as_bytes().first() {
            Some(byte) if is_word_byte(*byte) && !byte.is_ascii_digit() => {
                length += 2 + run_length(rest, is_word_byte);
            }
            Some(_) | None => break,
        }
    }
    length
}

/// Digits, a fraction, an exponent, and letters and digits as a suffix.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit_at = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let mut length = run_length(text, |byte| byte.is_ascii_digit());
    if bytes.get(length) == Some(&b'.') && is_digit_at(length + 1) {
        length += 1 + run_length(&text[length + 1..], |byte| byte.is_ascii_digit());
    }
    if bytes.get(length) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        if is_digit_at(length + 1 + sign) {
            length += 1 + sign + run_length(&text[length + 1 + sign..], |byte| byte.is_ascii_digit());
        }
    }
    length + run_length(&text[length..], is_word_byte)
}
