//! Constants: what Clang evaluated, and the little that is folded here so that lowering is a normal form.
//!
//! Printed literals come back with conversions and signs around them. Folding exactly those makes the printed text
//! mean the same constant again.

use crate::clang::{Kind, Node, Value};
use crate::ir::{Expr, ExprKind, FloatKind, Real, Type, UnaryOp};

/// The integer value of a constant expression, as far as the dump tells it.
pub(super) fn constant_value(node: &Node) -> Option<i128> {
    match &node.data.value {
        Some(Value::Text(text)) => {
            return text.parse().ok().or(match &**text {
                "true" => Some(1),
                "false" => Some(0),
                _ => None,
            });
        }
        Some(Value::Number(number)) => return Some(i128::from(*number)),
        Some(Value::Bool(truth)) => return Some(i128::from(*truth)),
        None => {}
    }
    let operand = || node.inner.last().and_then(constant_value);
    match node.kind {
        Kind::UnaryOperator if node.opcode() == "-" => operand().map(|value| -value),
        Kind::ConstantExpr
        | Kind::ParenExpr
        | Kind::ImplicitCastExpr
        | Kind::SubstNonTypeTemplateParmExpr
        | Kind::CStyleCastExpr
        | Kind::CXXFunctionalCastExpr
        | Kind::CXXStaticCastExpr => operand(),
        Kind::BinaryOperator => {
            let left = constant_value(node.inner.first()?)?;
            let right = operand()?;
            match node.opcode() {
                "+" => left.checked_add(right),
                "-" => left.checked_sub(right),
                "*" => left.checked_mul(right),
                "/" => left.checked_div(right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A conversion, done now if the operand is a literal.
pub(super) fn convert(operand: Expr, ty: Type) -> Expr {
    if operand.ty == ty || operand.ty.unrestricted() == ty.unrestricted() {
        return operand;
    }
    let span = operand.span;
    let folded = match (&operand.kind, &ty) {
        (ExprKind::Int(value), Type::Int(kind)) => Some(ExprKind::Int(kind.wrap(*value))),
        (ExprKind::Int(value), Type::Float(kind)) => rounded(*value as f64, *kind)
            .filter(|real| real.0 as i128 == *value || *kind == FloatKind::Double)
            .map(ExprKind::Float),
        (ExprKind::Int(value), Type::Bool) => Some(ExprKind::Bool(*value != 0)),
        (ExprKind::Bool(truth), Type::Int(_)) => Some(ExprKind::Int(i128::from(*truth))),
        (ExprKind::Bool(truth), Type::Float(_)) => Some(ExprKind::Float(Real(f64::from(u8::from(*truth))))),
        // Rounding is left to the program: what is read as `float` may be compiled as `double`, to check it.
        (ExprKind::Float(real), Type::Float(kind)) => kind.has_value(real.0).then_some(ExprKind::Float(*real)),
        (ExprKind::Null, Type::Pointer(_) | Type::Opaque(_)) => Some(ExprKind::Null),
        _ => None,
    };
    match folded {
        Some(kind) => Expr::new(kind, ty).at(span),
        None => Expr::cast(operand, ty),
    }
}

/// The negated operand, done now if it is a literal.
pub(super) fn negate(operand: Expr) -> Expr {
    let span = operand.span;
    let folded = match (&operand.kind, &operand.ty) {
        (ExprKind::Int(value), Type::Int(kind)) => Some(ExprKind::Int(kind.wrap(-*value))),
        (ExprKind::Float(real), _) => Some(ExprKind::Float(Real(-real.0))),
        _ => None,
    };
    match folded {
        Some(kind) => Expr::new(kind, operand.ty).at(span),
        None => Expr::unary(UnaryOp::Negate, operand).at(span),
    }
}

/// The value rounded to a precision; rounding to a half precision is left to the program.
pub(super) fn rounded(value: f64, kind: FloatKind) -> Option<Real> {
    match kind {
        FloatKind::Double => Some(Real(value)),
        FloatKind::Float => Some(Real(f64::from(value as f32))),
        FloatKind::Half | FloatKind::BFloat => kind.has_value(value).then_some(Real(value)),
    }
}
