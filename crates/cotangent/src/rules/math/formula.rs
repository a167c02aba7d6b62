//! Formulas of the table: parsed once, and built as expressions of the IR wherever a derivative needs them.
//!
//! ```text
//! formula = or (? formula : formula)?          or = compare (|| compare)*
//! compare = sum ((== != < <= > >=) sum)?       sum = product ((+ -) product)*
//! product = unary ((* /) unary)*               unary = - unary | NUMBER | NAME | NAME(formula,*) | (formula)
//! ```

use super::table::CONSTANTS;
use crate::ir::BinaryOp;

/// A formula.
#[derive(Clone, PartialEq, Debug)]
pub enum Formula {
    /// A number.
    Number(f64),
    /// The function's own result.
    Result,
    /// The argument at a position.
    Argument(usize),
    /// The negative of a formula.
    Negate(Box<Formula>),
    /// Arithmetic, a comparison or `||`.
    Binary(BinaryOp, Box<Formula>, Box<Formula>),
    /// One of two formulas.
    Select(Box<[Formula; 3]>),
    /// A function, by its name for `double`.
    Call(&'static str, Vec<Formula>),
}

/// What could not be read, and why.
#[derive(Debug)]
pub(super) struct FormulaError(#[expect(dead_code, reason = "shown when the table is wrong")] String);

/// The formula that a text is. `y` is the result, and the other names are parameters, constants or functions.
pub(super) fn parse(text: &'static str, parameters: &[&str]) -> Result<Formula, FormulaError> {
    let mut parser = Parser { rest: text, parameters };
    let formula = parser.select()?;
    if parser.rest.trim().is_empty() { Ok(formula) } else { Err(parser.error("an operator or the end")) }
}

/// Operators by binding strength, the weakest first; a longer one stands before those that it begins with.
const LEVELS: &[&[(&str, BinaryOp)]] = &[
    &[("||", BinaryOp::Or)],
    &[
        ("==", BinaryOp::Equal),
        ("!=", BinaryOp::NotEqual),
        ("<=", BinaryOp::LessEqual),
        (">=", BinaryOp::GreaterEqual),
        ("<", BinaryOp::Less),
        (">", BinaryOp::Greater),
    ],
    &[("+", BinaryOp::Add), ("-", BinaryOp::Subtract)],
    &[("*", BinaryOp::Multiply), ("/", BinaryOp::Divide)],
];

struct Parser<'p> {
    rest: &'static str,
    parameters: &'p [&'p str],
}

impl Parser<'_> {
    fn error(&self, expected: &str) -> FormulaError {
        FormulaError(format!("expected {expected} at `{}`", self.rest))
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, symbol: &str) -> Result<(), FormulaError> {
        if self.accept(symbol) { Ok(()) } else { Err(self.error(symbol)) }
    }

    /// Takes as many characters as are wanted.
    fn take(&mut self, wanted: impl Fn(char) -> bool) -> &'static str {
        let text = self.rest.trim_start();
        let (taken, rest) = text.split_at(text.find(|c| !wanted(c)).unwrap_or(text.len()));
        self.rest = rest;
        taken
    }

    fn select(&mut self) -> Result<Formula, FormulaError> {
        let first = self.binary(0)?;
        if !self.accept("?") {
            return Ok(first);
        }
        let then = self.select()?;
        self.expect(":")?;
        Ok(Formula::Select(Box::new([first, then, self.select()?])))
    }

    fn binary(&mut self, level: usize) -> Result<Formula, FormulaError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some((_, op)) = operators.iter().find(|(symbol, _)| self.accept(symbol)) {
            left = Formula::Binary(*op, Box::new(left), Box::new(self.binary(level + 1)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Formula, FormulaError> {
        if self.accept("-") {
            return Ok(Formula::Negate(Box::new(self.unary()?)));
        }
        if self.accept("(") {
            let inner = self.select()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.rest.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            let digits = self.take(|c| c.is_ascii_digit() || c == '.');
            return digits.parse().map(Formula::Number).map_err(|_| self.error("a number"));
        }
        let name = self.take(|c| c.is_ascii_alphanumeric() || c == '_');
        if self.accept("(") {
            let mut args = vec![self.select()?];
            while self.accept(",") {
                args.push(self.select()?);
            }
            self.expect(")")?;
            return Ok(Formula::Call(name, args));
        }
        if let Some(position) = self.parameters.iter().position(|parameter| *parameter == name) {
            return Ok(Formula::Argument(position));
        }
        if let Some((_, value)) = CONSTANTS.iter().find(|(known, _)| *known == name) {
            return Ok(Formula::Number(*value));
        }
        if name == "y" { Ok(Formula::Result) } else { Err(self.error("a parameter, a constant, a function or `y`")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_bind_as_in_c() {
        let same = |left, right| {
            let [left, right] = [left, right].map(|text| parse(text, &["a", "b"]).unwrap());
            assert_eq!(left, right);
        };
        same("-a * b / 2 + y", "(((-a) * b) / 2) + y");
        same(
            "a < b + 1 || b != b ? 1 : a > 0 ? pow(a, b) : 0",
            "((a < (b + 1)) || (b != b)) ? 1 : ((a > 0) ? pow(a, b) : 0)",
        );
    }

    #[test]
    fn what_is_no_formula_is_refused() {
        for text in ["", "a +", "c", "sin(a", "a b", "a ? b", "(a", "1.2.3", "sin()"] {
            assert!(parse(text, &["a", "b"]).is_err(), "{text}");
        }
    }
}
