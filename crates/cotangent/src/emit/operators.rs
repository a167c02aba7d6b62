//! Operators, and which conversions of their operands need no saying.
//!
//! An operand's conversion is left out if the operator converts the operands as printed to exactly the type that the
//! IR computes in. Integer constants count as converted too: `i < 5` says what `i < 5u` does for an unsigned `i`,
//! because a converted constant is a constant of the other type.

use std::borrow::Cow;

use super::conversions::{
    common, common_of_branches, converts_through_int, is_implicit, is_same_value_type, is_smaller_than_int,
    is_standard_arithmetic, promoted,
};
use super::layout::operator_break;
use super::literals::fits_int;
use super::precedence::{Code, Side, of_operator};
use crate::ir::same::same_expr;
use crate::ir::{BinaryOp, Expr, ExprKind, Type, UnaryOp};

/// An operand as it is printed.
pub(super) struct Operand<'e> {
    pub(super) expr: Cow<'e, Expr>,
    pub(super) conversion: Conversion,
}

/// What an operator does to an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Conversion {
    /// Nothing: the operand has exactly its type.
    None,
    /// It converts to `bool`.
    ToBool,
    /// It promotes integers.
    Promotion,
}

/// A binary operator with its operands, as they are printed.
pub(super) struct Operation<'e> {
    pub(super) op: BinaryOp,
    pub(super) left: Operand<'e>,
    pub(super) right: Operand<'e>,
    /// Whether C++ computes in `int` what the IR computes in a smaller type.
    pub(super) is_in_int: bool,
}

/// The operand of a unary operator of type `ty`, with the operator's sign, and whether C++ computes in `int` what the IR
/// computes in a smaller type.
pub(super) fn unary<'e>(op: UnaryOp, operand: &'e Expr, ty: &Type) -> (&'static str, Operand<'e>, bool) {
    let (sign, conversion) = match op {
        UnaryOp::Not => ("!", Conversion::ToBool),
        UnaryOp::Negate => ("-", Conversion::Promotion),
        UnaryOp::BitNot => ("~", Conversion::Promotion),
    };
    (sign, Operand::new(operand, conversion), op != UnaryOp::Not && is_smaller_than_int(ty))
}

/// A binary operator of type `ty`.
pub(super) fn binary<'e>(op: BinaryOp, left: &'e Expr, right: &'e Expr, ty: &Type) -> Operation<'e> {
    let both = |conversion| (Operand::new(left, conversion), Operand::new(right, conversion));
    let exact = |(left, right)| (Operand::exact(left), Operand::exact(right));
    let ((left, right), is_in_int) = match op {
        BinaryOp::And | BinaryOp::Or => (both(Conversion::ToBool), false),
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => (both(Conversion::Promotion), is_smaller_than_int(ty)),
        BinaryOp::Offset => {
            let (op, size) = signed_offset(right);
            return Operation {
                op,
                left: Operand::exact(Cow::Borrowed(left)),
                right: Operand::exact(size),
                is_in_int: false,
            };
        }
        BinaryOp::Distance => (both(Conversion::None), false),
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => {
            // Promotion changes no comparison, so operands that are smaller than `int` compare as they are.
            let meet = if is_smaller_than_int(&left.ty) { first_of } else { common };
            (exact(unconverted_pair(left, right, meet)), false)
        }
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Remainder
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor => (exact(unconverted_pair(left, right, common)), is_smaller_than_int(ty)),
    };
    Operation { op, left, right, is_in_int }
}

/// Both sides of `?:`.
pub(super) fn branches<'e>(left: &'e Expr, right: &'e Expr) -> (Cow<'e, Expr>, Cow<'e, Expr>) {
    unconverted_pair(left, right, common_of_branches)
}

/// The right side of `place op= …`, for a place of type `place_ty` and a computation in type `computed`; `None` if
/// C++ would compute in another type.
pub(super) fn compound_operand<'e>(
    op: BinaryOp,
    place_ty: &Type,
    computed: &Type,
    operand: &'e Expr,
) -> Option<Operand<'e>> {
    match op {
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
            (promoted(place_ty) == *computed).then(|| Operand::new(operand, Conversion::Promotion))
        }
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Remainder
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor => {
            let computes = |operand: &Expr| common(place_ty, &operand.ty).as_ref() == Some(computed);
            let operand = unconverted(operand)
                .filter(|operand| computes(operand))
                .or_else(|| Some(Cow::Borrowed(operand)).filter(|operand| computes(operand)))?;
            Some(Operand::exact(operand))
        }
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Offset
        | BinaryOp::Distance => None,
    }
}

/// The test of a counted loop. The counter's value stands alone, and is compared in the type of the other side.
pub(super) fn counter_test<'e>(counter: &'e Expr, test: BinaryOp, to: &'e Expr) -> Operation<'e> {
    if to.ty.is_pointer() || is_smaller_than_int(&to.ty) {
        return binary(test, counter, to, &Type::Bool);
    }
    let bare = unconverted(to).filter(|bare| common(&counter.ty, &bare.ty).as_ref() == Some(&to.ty));
    let right = Operand::exact(bare.unwrap_or(Cow::Borrowed(to)));
    Operation { op: test, left: Operand::exact(Cow::Borrowed(counter)), right, is_in_int: false }
}

/// The right side of the step `counter op= …` of a counted loop, if its conversion to the counter's type is the one
/// that remains of C++'s: adding and multiplying in a wider type and converting back is the same as converting first.
pub(super) fn counter_step<'e>(counter: &Type, op: BinaryOp, by: &'e Expr) -> Option<&'e Expr> {
    if !matches!(counter, Type::Int(_)) || !matches!(op, BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply) {
        return None;
    }
    let ExprKind::Cast(operand) = &by.kind else { return None };
    let converts_to_by = |operand: &Expr| {
        let Some(computed) = common(counter, &operand.ty) else { return false };
        same_expr(&Expr::cast(Expr::cast(operand.clone(), computed), counter.clone()), by)
    };
    let inner = if let ExprKind::Cast(inner) = &operand.kind { Some(inner) } else { None };
    let mut bare = inner.into_iter().chain([operand]).map(|bare| &**bare);
    bare.find(|bare| bare.ty.is_integral() && converts_to_by(bare))
}

/// A pointer offset as its sign and its size: `p + -1` is written `p - 1`.
pub(super) fn signed_offset(index: &Expr) -> (BinaryOp, Cow<'_, Expr>) {
    if let ExprKind::Int(value) = index.kind
        && value < 0
        && fits_int(value)
    {
        return (BinaryOp::Subtract, Cow::Owned(Expr::new(ExprKind::Int(-value), index.ty.clone())));
    }
    if let ExprKind::Unary(UnaryOp::Negate, size) = &index.kind
        && is_signed(&size.ty)
    {
        return (BinaryOp::Subtract, Cow::Borrowed(size));
    }
    (BinaryOp::Add, Cow::Borrowed(index))
}

/// The operator between its printed operands.
pub(super) fn joined(op: BinaryOp, left: Code, right: Code) -> Code {
    let precedence = of_operator(op);
    let mark = operator_break(precedence as u8);
    let left = left.into_operand_of(op, Side::Left);
    let right = right.into_operand_of(op, Side::Right);
    Code { text: format!("{left} {} {mark}{right}", op.spelling()), precedence }
}

impl<'e> Operand<'e> {
    fn new(expr: &'e Expr, conversion: Conversion) -> Operand<'e> {
        Operand { expr: Cow::Borrowed(expr), conversion }
    }

    fn exact(expr: Cow<'e, Expr>) -> Operand<'e> {
        Operand { expr, conversion: Conversion::None }
    }
}

fn is_signed(ty: &Type) -> bool {
    matches!(ty, Type::Int(kind) if kind.is_signed())
}

/// Both operands without the conversions that the operator makes itself. `meet` is the operator's rule for two types.
fn unconverted_pair<'e>(
    left: &'e Expr,
    right: &'e Expr,
    meet: fn(&Type, &Type) -> Option<Type>,
) -> (Cow<'e, Expr>, Cow<'e, Expr>) {
    if left.ty.is_pointer() {
        return unconverted_pointers(left, right);
    }
    let (bare_left, bare_right) = (unconverted(left), unconverted(right));
    let keep = |expr: &'e Expr| Some(Cow::Borrowed(expr));
    let is_constant = |expr: &Expr| matches!(expr.kind, ExprKind::Int(_));
    let mut candidates =
        [(bare_left.clone(), bare_right.clone()), (keep(left), bare_right.clone()), (bare_left.clone(), keep(right))];
    // One cast is enough, and stands on the left; but a constant rather has a suffix than a variable a cast.
    if is_constant(right) {
        candidates.swap(1, 2);
    }
    for (left_choice, right_choice) in candidates {
        if let (Some(left_choice), Some(right_choice)) = (left_choice, right_choice)
            && meet(&left_choice.ty, &right_choice.ty).as_ref() == Some(&left.ty)
        {
            return (left_choice, right_choice);
        }
    }
    (Cow::Borrowed(left), Cow::Borrowed(right))
}

/// The rule of two operands that are not converted.
fn first_of(left: &Type, _: &Type) -> Option<Type> {
    Some(left.clone())
}

/// The operand before the operator converts it, if that is possible for its type.
fn unconverted(expr: &Expr) -> Option<Cow<'_, Expr>> {
    if let ExprKind::Int(value) = expr.kind {
        let can_be_int = expr.ty != Type::INT && fits_int(value);
        return can_be_int.then(|| Cow::Owned(Expr::new(ExprKind::Int(value), Type::INT)));
    }
    let ExprKind::Cast(operand) = &expr.kind else { return None };
    if !is_standard_arithmetic(&operand.ty) || !is_standard_arithmetic(&expr.ty) {
        return None;
    }
    if let ExprKind::Cast(inner) = &operand.kind
        && operand.ty == Type::INT
        && converts_through_int(&inner.ty, &expr.ty)
    {
        return Some(Cow::Borrowed(inner));
    }
    (!converts_through_int(&operand.ty, &expr.ty)).then_some(Cow::Borrowed(operand))
}

/// Two pointers meet in the type of one of them; the other needs no conversion if it has one that C++ makes.
fn unconverted_pointers<'e>(left: &'e Expr, right: &'e Expr) -> (Cow<'e, Expr>, Cow<'e, Expr>) {
    let bare = |expr: &'e Expr| {
        let ExprKind::Cast(operand) = &expr.kind else { return None };
        (operand.ty.is_pointer() && is_implicit(&operand.ty, &expr.ty)).then_some(&**operand)
    };
    let is_kept = |expr: &Expr| expr.kind != ExprKind::Null && is_same_value_type(&expr.ty, &left.ty);
    match (bare(left), bare(right)) {
        (Some(operand), None) if is_kept(right) => (Cow::Borrowed(operand), Cow::Borrowed(right)),
        (_, Some(operand)) if is_kept(left) => (Cow::Borrowed(left), Cow::Borrowed(operand)),
        _ => (Cow::Borrowed(left), Cow::Borrowed(right)),
    }
}
