//! How tightly pieces of C++ bind, and where parentheses are printed.
//!
//! Parentheses stand where the language needs them, and where Clang and GCC ask for them under `-Wparentheses` because
//! people misread the text without: `&&` inside `||`, arithmetic inside shifts and bit operators, chains of comparisons.

use crate::ir::BinaryOp;

/// How tightly a piece of code binds, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Precedence {
    /// `a ? b : c`.
    Conditional,
    /// `a || b`.
    Or,
    /// `a && b`.
    And,
    /// `a | b`.
    BitOr,
    /// `a ^ b`.
    BitXor,
    /// `a & b`.
    BitAnd,
    /// `a == b`.
    Equality,
    /// `a < b`.
    Relational,
    /// `a << b`.
    Shift,
    /// `a + b`.
    Additive,
    /// `a * b`.
    Multiplicative,
    /// `-a`, `*a`, `&a`, `(T)a`.
    Unary,
    /// `a[b]`, `a.b`, `f(a)`, names and constants.
    Postfix,
}

/// Which operand of a binary operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Left,
    Right,
}

/// A piece of C++ and how tightly it binds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Code {
    pub(super) text: String,
    pub(super) precedence: Precedence,
}

impl Code {
    /// A piece that binds as tightly as anything does.
    pub(super) fn postfix(text: impl Into<String>) -> Code {
        Code { text: text.into(), precedence: Precedence::Postfix }
    }

    /// A prefix operator and its operand.
    pub(super) fn unary(text: impl Into<String>) -> Code {
        Code { text: text.into(), precedence: Precedence::Unary }
    }

    /// The text, in parentheses if it binds looser than `least`.
    pub(super) fn at_least(self, least: Precedence) -> String {
        if self.precedence < least { parenthesized(&self.text) } else { self.text }
    }

    /// The text as the operand of a prefix operator; two signs never touch.
    pub(super) fn into_unary_operand(self) -> String {
        if self.text.starts_with('-') { parenthesized(&self.text) } else { self.at_least(Precedence::Unary) }
    }

    /// The text as an operand of a binary operator.
    pub(super) fn into_operand_of(self, op: BinaryOp, side: Side) -> String {
        if needs_parentheses(of_operator(op), side, &self) { parenthesized(&self.text) } else { self.text }
    }

    /// The text as the condition of `?:`. Compilers ask for parentheses around an operator that is no test.
    pub(super) fn into_branch_condition(self) -> String {
        let is_test =
            matches!(self.precedence, Precedence::Or | Precedence::And | Precedence::Equality | Precedence::Relational);
        if is_test { self.text } else { self.at_least(Precedence::Unary) }
    }
}

/// How tightly a binary operator binds.
pub(super) fn of_operator(op: BinaryOp) -> Precedence {
    match op {
        BinaryOp::Or => Precedence::Or,
        BinaryOp::And => Precedence::And,
        BinaryOp::BitOr => Precedence::BitOr,
        BinaryOp::BitXor => Precedence::BitXor,
        BinaryOp::BitAnd => Precedence::BitAnd,
        BinaryOp::Equal | BinaryOp::NotEqual => Precedence::Equality,
        BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => Precedence::Relational,
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => Precedence::Shift,
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Offset | BinaryOp::Distance => Precedence::Additive,
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder => Precedence::Multiplicative,
    }
}

/// The text in parentheses.
pub(super) fn parenthesized(text: &str) -> String {
    format!("({text})")
}

fn needs_parentheses(parent: Precedence, side: Side, child: &Code) -> bool {
    use Precedence::*;
    if child.precedence < parent || (child.precedence == parent && side == Side::Right) {
        return true;
    }
    let is_operator = child.precedence < Unary;
    match parent {
        Or => child.precedence == And,
        BitOr | BitXor | BitAnd => (is_operator && child.precedence != parent) || child.text.starts_with('!'),
        Equality | Relational => {
            matches!(child.precedence, Equality | Relational | Shift) || child.text.starts_with('!')
        }
        Shift => matches!(child.precedence, Additive | Multiplicative),
        Additive => side == Side::Right && child.text.starts_with('-'),
        Conditional | And | Multiplicative | Unary | Postfix => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_operand(op: BinaryOp, side: Side, text: &str, precedence: Precedence) -> String {
        Code { text: text.into(), precedence }.into_operand_of(op, side)
    }

    #[test]
    fn left_association_needs_none_on_the_left_only() {
        assert_eq!(in_operand(BinaryOp::Subtract, Side::Left, "a - b", Precedence::Additive), "a - b");
        assert_eq!(in_operand(BinaryOp::Subtract, Side::Right, "a - b", Precedence::Additive), "(a - b)");
        assert_eq!(in_operand(BinaryOp::Add, Side::Right, "a * b", Precedence::Multiplicative), "a * b");
        assert_eq!(in_operand(BinaryOp::Multiply, Side::Left, "a + b", Precedence::Additive), "(a + b)");
    }

    #[test]
    fn what_compilers_warn_about_is_parenthesized() {
        assert_eq!(in_operand(BinaryOp::Or, Side::Left, "a && b", Precedence::And), "(a && b)");
        assert_eq!(in_operand(BinaryOp::And, Side::Left, "a < b", Precedence::Relational), "a < b");
        assert_eq!(in_operand(BinaryOp::ShiftLeft, Side::Right, "a + b", Precedence::Additive), "(a + b)");
        assert_eq!(in_operand(BinaryOp::BitOr, Side::Right, "a & b", Precedence::BitAnd), "(a & b)");
        assert_eq!(in_operand(BinaryOp::BitOr, Side::Left, "a | b", Precedence::BitOr), "a | b");
        assert_eq!(in_operand(BinaryOp::Less, Side::Left, "a < b", Precedence::Relational), "(a < b)");
        assert_eq!(in_operand(BinaryOp::Equal, Side::Left, "!a", Precedence::Unary), "(!a)");
    }

    #[test]
    fn signs_never_touch() {
        assert_eq!(Code::unary("-x").into_unary_operand(), "(-x)");
        assert_eq!(in_operand(BinaryOp::Subtract, Side::Right, "-x", Precedence::Unary), "(-x)");
        assert_eq!(in_operand(BinaryOp::Multiply, Side::Right, "-x", Precedence::Unary), "-x");
    }
}
