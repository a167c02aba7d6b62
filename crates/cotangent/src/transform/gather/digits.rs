//! The numbers that tell the threads and iterations of a kernel apart, as its text has them.

use std::ops::ControlFlow;

use super::turn::{Turn, turn};
use crate::analysis::affine::{Atom, INDEX_BITS, Values};
use crate::analysis::polynomial::Polynomial;
use crate::ir::walk::{Part, expr_parts};
use crate::ir::{Axis, BinaryOp, Builtin, Expr, ExprKind, For, LocalId, Place, PlaceKind, Type};
use crate::transform::elements::builtin;
use crate::transform::launch_values::{axis, of_launch};

/// One of these numbers.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Digit {
    /// `blockIdx.x * blockDim.x + threadIdx.x`: which thread of the launch it is.
    Axis(Axis),
    /// That divided by something that is the same for the whole launch.
    Quotient(Axis, Expr),
    /// What is left then.
    Remainder(Axis, Expr),
    /// The counter of a loop.
    Counter(LocalId),
}

impl Digit {
    /// The axis that it is a part of.
    pub(super) fn axis(&self) -> Option<Axis> {
        match self {
            Digit::Axis(axis) | Digit::Quotient(axis, _) | Digit::Remainder(axis, _) => Some(*axis),
            Digit::Counter(_) => None,
        }
    }
}

/// A digit of an index, with its value.
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) digit: Digit,
    /// As a part of an index.
    pub(super) value: Polynomial,
    /// How the value is made of the digit, if it goes around.
    pub(super) turn: Option<Turn>,
}

/// How many threads a launch has along an axis, as an `int`.
pub(super) fn threads(axis: Axis) -> Expr {
    let product = Expr::binary(BinaryOp::Multiply, builtin(Builtin::GridDim(axis)), builtin(Builtin::BlockDim(axis)));
    Expr::cast(product, Type::INT)
}

/// Which of them a thread is, as an `int`.
pub(super) fn thread(axis: Axis) -> Expr {
    let before = Expr::binary(BinaryOp::Multiply, builtin(Builtin::BlockIdx(axis)), builtin(Builtin::BlockDim(axis)));
    Expr::cast(Expr::binary(BinaryOp::Add, before, builtin(Builtin::ThreadIdx(axis))), Type::INT)
}

/// The digits of a place: those that its indices are made of. None if they are made of anything else that differs.
pub(super) fn digits(values: &Values<'_>, place: &Place) -> Option<Vec<Number>> {
    let mut found = Vec::new();
    of_place(values, place, &mut found)?;
    Some(found)
}

fn of_place(values: &Values<'_>, place: &Place, found: &mut Vec<Number>) -> Option<()> {
    match &place.kind {
        PlaceKind::Local(_) | PlaceKind::Global(_) => None,
        PlaceKind::Element(pointer, index) => {
            of_expr(values, index, found)?;
            of_pointer(values, pointer, found)
        }
        PlaceKind::Field(base, _) => of_place(values, base, found),
        PlaceKind::Index(base, index) => {
            of_expr(values, index, found)?;
            of_place(values, base, found)
        }
    }
}

fn of_pointer(values: &Values<'_>, pointer: &Expr, found: &mut Vec<Number>) -> Option<()> {
    match &pointer.kind {
        ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
            if values.function.params.contains(local) {
                return values.locals[*local].is_constant().then_some(());
            }
            of_pointer(values, values.locals[*local].constant()?, found)
        }
        ExprKind::Binary(BinaryOp::Offset, base, offset) => {
            of_expr(values, offset, found)?;
            of_pointer(values, base, found)
        }
        ExprKind::AddressOf(place) => of_place(values, place, found),
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => None,
    }
}

/// Adds those of an expression.
pub(super) fn of_expr(values: &Values<'_>, expr: &Expr, found: &mut Vec<Number>) -> Option<()> {
    let plain = digit(values, expr).map(|digit| (digit, None));
    if let Some((digit, turn)) = plain.or_else(|| turn(values, expr).map(|(digit, turn)| (digit, Some(turn)))) {
        match found.iter().find(|known| known.digit == digit) {
            // As it is and turned it would be two numbers.
            Some(known) => return (known.turn == turn).then_some(()),
            None => found.push(Number { digit, value: values.index(expr)?, turn }),
        }
        return Some(());
    }
    match &expr.kind {
        ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
            let uses = &values.locals[*local];
            if values.function.params.contains(local) {
                return uses.is_constant().then_some(());
            }
            of_expr(values, uses.constant()?, found)
        }
        ExprKind::Builtin(Builtin::ThreadIdx(_) | Builtin::BlockIdx(_))
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Math(..)
        | ExprKind::Construct(_)
        | ExprKind::Null => None,
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Builtin(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_) => {
            let all = expr_parts(expr, &mut |part| match part {
                Part::Expr(operand) if of_expr(values, operand, found).is_some() => ControlFlow::Continue(()),
                Part::Expr(_) | Part::Place(_) | Part::Block(_) => ControlFlow::Break(()),
            });
            all.is_continue().then_some(())
        }
    }
}

/// The digit that an expression is.
pub(super) fn digit(values: &Values<'_>, expr: &Expr) -> Option<Digit> {
    if !matches!(expr.ty, Type::Int(_)) {
        return None;
    }
    if let Some(axis) = axis(values, expr) {
        return Some(Digit::Axis(axis));
    }
    match &expr.kind {
        ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
            let is_counter = values.locals[*local].is_given && !values.function.params.contains(local);
            is_counter.then_some(Digit::Counter(*local))
        }
        ExprKind::Binary(BinaryOp::Divide, left, right) => {
            Some(Digit::Quotient(axis(values, left)?, of_launch(values, right)?))
        }
        ExprKind::Binary(BinaryOp::Remainder, left, right) => {
            Some(Digit::Remainder(axis(values, left)?, of_launch(values, right)?))
        }
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => None,
    }
}

/// The axis whose threads go through the values of a counter together, one after the other, and where it ends:
/// `for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)`. It has each value from zero on once.
pub(super) fn sweep(values: &Values<'_>, head: &For) -> Option<(Axis, Expr)> {
    let axis = axis(values, &head.from)?;
    let by = values.value(&head.by)?;
    let [grid, block] =
        [Builtin::GridDim(axis), Builtin::BlockDim(axis)].map(|builtin| values.atom(Atom::Builtin(builtin), 32));
    let narrow = grid.times(&block)?;
    let [wide_grid, wide_block] = [grid, block].map(|part| values.widen(part, false, INDEX_BITS));
    let all = [Some(narrow.clone()), wide_grid.times(&wide_block), Some(values.widen(narrow, false, INDEX_BITS))];
    let is_short = matches!(head.to.ty, Type::Int(kind) if kind.bits() <= 32);
    let is_it = (head.step, head.test) == (BinaryOp::Add, BinaryOp::Less) && all.contains(&Some(by)) && is_short;
    is_it.then(|| of_launch(values, &head.to).map(|to| (axis, Expr::cast(to, Type::INT))))?
}
