//! Words, numbers and punctuation of a PTX text.

use super::SyntaxError;

/// One token, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) offset: usize,
    /// Counted from 1.
    pub(crate) line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind<'a> {
    /// A name, an opcode with its modifiers or a directive: `%rd1`, `ld.global.f32`, `.reg`.
    Word(&'a str),
    /// An integer, or the bits of a floating-point number.
    Number(Number),
    /// What stands between quotes.
    Text(&'a str),
    /// Any other character.
    Punctuation(char),
}

/// A literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Integer(u64),
    /// `0f3f800000`.
    Single(u32),
    /// `0d3ff0000000000000`.
    Double(u64),
}

/// All tokens of a text. Comments and blanks are left out.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, SyntaxError> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(&byte) = bytes.get(at) {
        let rest = &text[at..];
        let (kind, length) = match byte {
            b'\n' => {
                line += 1;
                at += 1;
                continue;
            }
            b' ' | b'\t' | b'\r' | 0 => {
                at += 1;
                continue;
            }
            b'/' if rest.starts_with("//") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with("/*") => {
                let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
                line += rest[..length].matches('\n').count() as u32;
                at += length;
                continue;
            }
            b'"' => {
                let end = rest[1..].find('"').ok_or_else(|| SyntaxError::new(line, "a string has no end"))?;
                (Kind::Text(&rest[1..=end]), end + 2)
            }
            // A version has a point, which no number has.
            b'0'..=b'9' if word(rest).contains('.') => (Kind::Word(word(rest)), word(rest).len()),
            b'0'..=b'9' => {
                let word = word(rest);
                let number = number(word).ok_or_else(|| SyntaxError::new(line, format!("`{word}` is no number")))?;
                (Kind::Number(number), word.len())
            }
            _ if is_word(byte) => (Kind::Word(word(rest)), word(rest).len()),
            _ => {
                let character = rest.chars().next().unwrap_or('?');
                (Kind::Punctuation(character), character.len_utf8())
            }
        };
        tokens.push(Token { kind, offset: at, line });
        at += length;
    }
    Ok(tokens)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

/// The word at the beginning. Two colons belong to it (`L2::128B`), one does not (a label).
fn word(rest: &str) -> &str {
    let bytes = rest.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        if is_word(bytes[end]) {
            end += 1;
        } else if bytes[end..].starts_with(b"::") && bytes.get(end + 2).is_some_and(|next| is_word(*next)) {
            end += 2;
        } else {
            break;
        }
    }
    &rest[..end]
}

fn number(word: &str) -> Option<Number> {
    let hexadecimal = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let (prefix, digits) = word.split_at_checked(2).unwrap_or(("", word));
    match prefix {
        "0f" | "0F" => hexadecimal(digits).and_then(|bits| u32::try_from(bits).ok()).map(Number::Single),
        "0d" | "0D" => hexadecimal(digits).map(Number::Double),
        _ => {
            let word = word.trim_end_matches('U');
            let (digits, radix) = match prefix {
                "0x" | "0X" => (&word[2..], 16),
                "0b" | "0B" => (&word[2..], 2),
                _ if word.len() > 1 && word.starts_with('0') => (&word[1..], 8),
                _ => (word, 10),
            };
            u64::from_str_radix(digits, radix).ok().map(Number::Integer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind<'_>> {
        tokens(text).expect("the text has only tokens").into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn an_instruction_is_words_numbers_and_punctuation() {
        let expected = [
            Kind::Word("ld.global.L2::128B.f32"),
            Kind::Word("%f1"),
            Kind::Punctuation(','),
            Kind::Punctuation('['),
            Kind::Word("%rd1"),
            Kind::Punctuation('+'),
            Kind::Number(Number::Integer(4)),
            Kind::Punctuation(']'),
            Kind::Punctuation(';'),
        ];
        assert_eq!(kinds("ld.global.L2::128B.f32 %f1, [%rd1+4]; // a comment"), expected);
        assert_eq!(kinds("$L__BB0_2:"), [Kind::Word("$L__BB0_2"), Kind::Punctuation(':')]);
    }

    #[test]
    fn numbers_are_read_by_their_prefix() {
        let number = |text| match kinds(text)[..] {
            [Kind::Number(number)] => number,
            ref other => panic!("{other:?}"),
        };
        assert_eq!(number("0f3F800000"), Number::Single(1f32.to_bits()));
        assert_eq!(number("0d3FF0000000000000"), Number::Double(1f64.to_bits()));
        assert_eq!(number("0x1fU"), Number::Integer(31));
        assert_eq!(number("017"), Number::Integer(15));
        assert_eq!(number("0"), Number::Integer(0));
        assert!(tokens("12ab").is_err());
        assert!(tokens("\"open").is_err());
    }
}
