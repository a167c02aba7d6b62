//! Indices that go around: `i > 0 ? i - 1 : n - 1`, `(i + 1) % n`. What lies periodic is read with them.
//!
//! Where `0 <= i < n`, such an index has each value below `n` once: it is `i` turned. So an element has one thread, which is found
//! by turning back. Everything is read off the text; what is not of this form stays as it was.

use super::digits::{Digit, of_expr};
use crate::analysis::affine::{Atom, INDEX_BITS, Values};
use crate::analysis::polynomial::Polynomial;
use crate::analysis::threads::Threads;
use crate::ir::{BinaryOp, Expr, ExprKind, Place, Type};

/// By how much a digit is turned, at most.
const MOST: i128 = 1 << 20;

/// How an index is made of a digit that is at least zero and below a size: it is the digit with a number added, modulo the size.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Turn {
    /// The number.
    pub(super) by: i64,
    /// The size, as an `int` that the host knows, and as a part of an index.
    pub(super) size: Expr,
    pub(super) limit: Polynomial,
    /// The digit.
    pub(super) digit: Polynomial,
}

/// The turned digit that an expression is.
pub(super) fn turn(values: &Values<'_>, expr: &Expr) -> Option<(Digit, Turn)> {
    if !is_signed(expr) {
        return None;
    }
    match &expr.kind {
        ExprKind::Select(cond, then, otherwise) => of_choice(values, cond, then, otherwise),
        ExprKind::Binary(BinaryOp::Remainder, left, right) => of_remainder(values, left, right),
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => None,
    }
}

/// `i > 0 ? i - 1 : n - 1`, `i + 1 < n ? i + 1 : 0`, `i >= 2 ? i - 2 : i - 2 + n`, and the same with `==`.
fn of_choice(values: &Values<'_>, cond: &Expr, then: &Expr, otherwise: &Expr) -> Option<(Digit, Turn)> {
    let (found, digit) = only_digit(values, &[then, otherwise])?;
    let [then, otherwise] = [values.index(then)?, values.index(otherwise)?];
    [(true, &then, &otherwise), (false, &otherwise, &then)].into_iter().find_map(|(is_then, moved, other)| {
        let by = moved.plus(-1, &digit)?.as_constant().filter(|by| *by != 0 && by.abs() < MOST)?;
        let limits = limits(values, cond, is_then, by, &digit);
        // The other value is that of the one digit whose neighbour is at the other end, or the same with the size in it.
        let limit = if values.varies(other, Threads::Grid) {
            let limit = if by < 0 { other.plus(-1, moved)? } else { moved.plus(-1, other)? };
            Some(limit).filter(|limit| limits.contains(&room(by, limit, &digit)))
        } else if by == -1 {
            let limit = other.plus(1, &constant(1))?;
            Some(limit).filter(|limit| limits.contains(&room(by, limit, &digit)))
        } else if by == 1 && other.as_constant() == Some(0) {
            let of = |limit: &Option<Polynomial>| limit.as_ref()?.plus(1, &digit)?.plus(1, &constant(2));
            limits.iter().filter_map(of).find(|limit| !values.varies(limit, Threads::Grid))
        } else {
            None
        };
        let limit = limit?;
        let size = size(values, &limit)?;
        Some((found.clone(), Turn { by: by as i64, size, limit, digit: digit.clone() }))
    })
}

/// `(i + 1) % n`, `(i - 1 + n) % n`.
fn of_remainder(values: &Values<'_>, left: &Expr, right: &Expr) -> Option<(Digit, Turn)> {
    if !is_signed(left) || !is_signed(right) {
        return None;
    }
    let (found, digit) = only_digit(values, &[left])?;
    let limit = values.index(right)?;
    let size = size(values, &limit)?;
    let more = values.index(left)?.plus(-1, &digit)?;
    let by = match more.as_constant() {
        // A remainder of what is below zero is not above it.
        Some(by) => Some(by).filter(|by| *by > 0)?,
        None => more.plus(-1, &limit)?.as_constant()?,
    };
    (by != 0 && by.abs() < MOST).then_some((found, Turn { by: by as i64, size, limit, digit }))
}

/// The one digit that some expressions have.
fn only_digit(values: &Values<'_>, exprs: &[&Expr]) -> Option<(Digit, Polynomial)> {
    let mut found = Vec::new();
    for expr in exprs {
        of_expr(values, expr, &mut found)?;
    }
    match found.as_slice() {
        [number] if number.turn.is_none() => Some((number.digit.clone(), number.value.clone())),
        [..] => None,
    }
}

/// What is not negative exactly where the digit has a neighbour on this side: `i - 1`, or `n - 1 - 1 - i`.
fn room(by: i128, limit: &Polynomial, digit: &Polynomial) -> Option<Polynomial> {
    if by < 0 { digit.plus(1, &constant(by)) } else { limit.plus(-1, digit)?.plus(-1, &constant(by + 1)) }
}

/// What is not negative exactly where a condition has a value, for digits from zero to below the size. That a digit is not the
/// first one, or not the last, says that it is after that, or before.
fn limits(values: &Values<'_>, cond: &Expr, is_true: bool, by: i128, digit: &Polynomial) -> Vec<Option<Polynomial>> {
    let ExprKind::Binary(op, left, right) = &cond.kind else { return Vec::new() };
    let (Some(left_value), Some(right_value)) = (values.index(left), values.index(right)) else { return Vec::new() };
    if !is_signed(left) || !is_signed(right) {
        return Vec::new();
    }
    let less = |least: &Polynomial, most: &Polynomial| most.plus(-1, least)?.plus(-1, &constant(1));
    let not_more = |least: &Polynomial, most: &Polynomial| most.plus(-1, least);
    let (left, right) = (&left_value, &right_value);
    match (op, is_true) {
        (BinaryOp::Less, true) | (BinaryOp::GreaterEqual, false) => vec![less(left, right)],
        (BinaryOp::LessEqual, true) | (BinaryOp::Greater, false) => vec![not_more(left, right)],
        (BinaryOp::Greater, true) | (BinaryOp::LessEqual, false) => vec![less(right, left)],
        (BinaryOp::GreaterEqual, true) | (BinaryOp::Less, false) => vec![not_more(right, left)],
        (BinaryOp::NotEqual, true) | (BinaryOp::Equal, false) => [(left, right), (right, left)]
            .into_iter()
            .filter_map(|(one, other)| match by {
                // `i != 0`, for the first one.
                -1 => one.plus(-1, other).filter(|difference| difference == digit).map(|_| room(by, digit, digit)),
                // `i != n - 1`: the difference is `i - (n - 1)`, of the last one.
                1 => {
                    let last = digit.plus(-1, &one.plus(-1, other)?)?;
                    let is_one = !values.varies(&last, Threads::Grid);
                    is_one.then(|| room(by, &last.plus(1, &constant(1))?, digit))
                }
                _ => None,
            })
            .collect(),
        (_, _) => Vec::new(),
    }
}

/// A size as an expression: a number, a parameter, or a product of parameters.
pub(super) fn size(values: &Values<'_>, limit: &Polynomial) -> Option<Expr> {
    if let Some(size) = limit.as_constant() {
        return (1..1 << 30).contains(&size).then(|| Expr::int(size as i64));
    }
    let mut terms = limit.terms();
    let (Some((product, 1)), None) = (terms.next(), terms.next()) else { return None };
    product.iter().map(|atom| parameter(values, &values.atom_of(*atom))).try_fold(
        None,
        |all: Option<Expr>, factor| {
            let factor = factor?;
            Some(Some(match all {
                Some(all) => Expr::binary(BinaryOp::Multiply, all, factor),
                None => factor,
            }))
        },
    )?
}

/// A parameter, as an `int`.
fn parameter(values: &Values<'_>, atom: &Atom) -> Option<Expr> {
    match atom {
        Atom::Variable(local) => {
            let ty = values.function.locals[*local].ty.clone();
            let is_number = values.function.params.contains(local) && matches!(ty, Type::Int(kind) if kind.is_signed());
            is_number.then(|| Expr::cast(Expr::load(Place::local(*local, ty)), Type::INT))
        }
        Atom::Widened { is_signed: true, value } => {
            let mut terms = value.terms();
            let (Some(([atom], 1)), None) = (terms.next(), terms.next()) else { return None };
            parameter(values, &values.atom_of(*atom))
        }
        Atom::Widened { .. } | Atom::Builtin(_) | Atom::Operation { .. } | Atom::Loaded { .. } => None,
    }
}

fn is_signed(expr: &Expr) -> bool {
    matches!(expr.ty, Type::Int(kind) if kind.is_signed())
}

fn constant(value: i128) -> Polynomial {
    Polynomial::constant(value, INDEX_BITS)
}
