//! Whole numbers computed from sizes: `(B * C + 127) / 128`. They are printed as C++ and as Python.

use std::str::FromStr;

use crate::wrong::Wrong;

/// An expression, as words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Name(String),
    Number(String),
    Sign(char),
}

impl FromStr for Expression {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Expression, Wrong> {
        let words = words(text).ok_or_else(|| Wrong::Expression(text.to_owned()))?;
        let mut rest = &words[..];
        if !(sum(&mut rest) && rest.is_empty()) {
            return Err(Wrong::Expression(text.to_owned()));
        }
        Ok(Expression { words })
    }
}

impl Expression {
    /// What it names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.words.iter().filter_map(|word| match word {
            Word::Name(name) => Some(name.as_str()),
            Word::Number(_) | Word::Sign(_) => None,
        })
    }

    /// The name, if it is nothing else.
    pub(crate) fn as_name(&self) -> Option<&str> {
        match &self.words[..] {
            [Word::Name(name)] => Some(name),
            _ => None,
        }
    }

    /// The number, if it is nothing else.
    pub(crate) fn as_number(&self) -> Option<usize> {
        match &self.words[..] {
            [Word::Number(number)] => number.parse().ok(),
            _ => None,
        }
    }

    /// As C++, with names as they are called there.
    pub(crate) fn cpp(&self, named: impl Fn(&str) -> String) -> String {
        self.printed(named, "/")
    }

    /// As Python.
    pub(crate) fn python(&self, named: impl Fn(&str) -> String) -> String {
        self.printed(named, "//")
    }

    fn printed(&self, named: impl Fn(&str) -> String, divided: &str) -> String {
        let mut text = String::new();
        for word in &self.words {
            match word {
                Word::Name(name) => text.push_str(&named(name)),
                Word::Number(number) => text.push_str(number),
                Word::Sign(sign @ ('(' | ')')) => text.push(*sign),
                Word::Sign('/') => text.push_str(&format!(" {divided} ")),
                Word::Sign(sign) => text.push_str(&format!(" {sign} ")),
            }
        }
        text
    }
}

fn words(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, length) = match first {
            'a'..='z' | 'A'..='Z' | '_' => {
                let length = length(|c| c.is_ascii_alphanumeric() || c == '_');
                (Word::Name(rest[..length].to_owned()), length)
            }
            '0'..='9' => {
                let length = length(|c| c.is_ascii_digit());
                (Word::Number(rest[..length].to_owned()), length)
            }
            '+' | '-' | '*' | '/' | '%' | '(' | ')' => (Word::Sign(first), 1),
            _ => return None,
        };
        words.push(word);
        rest = rest[length..].trim_start();
    }
    Some(words)
}

/// Whether what comes first is operands with signs between them; they are taken away.
fn sum(rest: &mut &[Word]) -> bool {
    loop {
        if !operand(rest) {
            return false;
        }
        let [Word::Sign('+' | '-' | '*' | '/' | '%'), after @ ..] = *rest else { return true };
        *rest = after;
    }
}

fn operand(rest: &mut &[Word]) -> bool {
    match *rest {
        [Word::Name(_) | Word::Number(_), after @ ..] => {
            *rest = after;
            true
        }
        [Word::Sign('('), after @ ..] => {
            *rest = after;
            let is_whole = sum(rest);
            let [Word::Sign(')'), after @ ..] = *rest else { return false };
            *rest = after;
            is_whole
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_printed_for_both_languages() {
        let expression: Expression = "(B*C + 127)/ 128".parse().unwrap();
        assert_eq!(expression.cpp(|name| format!("s.{name}")), "(s.B * s.C + 127) / 128");
        assert_eq!(expression.python(str::to_owned), "(B * C + 127) // 128");
        assert_eq!(expression.names().collect::<Vec<_>>(), ["B", "C"]);
        assert_eq!(expression.as_name(), None);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in ["", "B +", "B C", "(B", "B)", "B; system()", "-1", "B ** 2", "()", "f(B)"] {
            assert!(text.parse::<Expression>().is_err(), "{text}");
        }
    }
}
