//! From a formula to an expression of the IR, in the precision of the call and without steps that do nothing.

use super::formula::Formula;
use super::helpers;
use super::table::{Entry, entry};
use crate::ir::{BinaryOp, Expr, ExprKind, FloatKind, Real, Type, UnaryOp};

/// A call whose derivative is built.
pub(super) struct Call<'c> {
    /// Its arguments.
    pub(super) args: &'c [Expr],
    /// Its value.
    pub(super) result: &'c Expr,
    /// The integer parameter's position, if there is one.
    pub(super) integer: Option<usize>,
    /// Whether it is a fast approximation.
    pub(super) is_fast: bool,
}

impl Call<'_> {
    /// The formula as an expression of type `ty`, which is the result's or, inside, that of the integer argument.
    pub(super) fn build(&self, formula: &Formula, ty: &Type) -> Option<Expr> {
        Some(match formula {
            Formula::Number(value) => number(*value, ty)?,
            Formula::Result => self.result.clone(),
            Formula::Argument(position) => converted(self.args.get(*position)?.clone(), ty),
            Formula::Negate(operand) => negate(self.build(operand, ty)?),
            Formula::Binary(BinaryOp::Or, left, right) => {
                either(self.build(left, &Type::Bool)?, self.build(right, &Type::Bool)?)
            }
            Formula::Binary(op, left, right) if op.is_comparison() => {
                let ty = self.compared_type(left)?;
                compare(*op, self.build(left, &ty)?, self.build(right, &ty)?)
            }
            Formula::Binary(op, left, right) => arithmetic(*op, self.build(left, ty)?, self.build(right, ty)?),
            Formula::Select(parts) => {
                let [cond, then, otherwise] = &**parts;
                select(self.build(cond, &Type::Bool)?, self.build(then, ty)?, self.build(otherwise, ty)?)
            }
            Formula::Call(name, args) => self.call(name, args, ty)?,
        })
    }

    /// Integers are compared as such.
    fn compared_type(&self, left: &Formula) -> Option<Type> {
        match *left {
            Formula::Argument(position) if self.integer == Some(position) => Some(self.args.get(position)?.ty.clone()),
            _ => Some(self.result.ty.clone()),
        }
    }

    fn call(&self, name: &'static str, args: &[Formula], ty: &Type) -> Option<Expr> {
        let is_single = *ty == Type::FLOAT;
        if !is_single && *ty != Type::DOUBLE {
            return None;
        }
        let entry = entry(name);
        let integer = entry.and_then(Entry::integer);
        let mut built = Vec::new();
        for (position, arg) in args.iter().enumerate() {
            let ty = if integer == Some(position) { &self.args.get(self.integer?)?.ty } else { ty };
            built.push(self.build(arg, ty)?);
        }
        if let ("pow", [base, exponent]) = (name, built.as_slice()) {
            if is_constant(exponent, 0.0) {
                return number(1.0, ty);
            }
            if is_constant(exponent, 1.0) {
                return Some(base.clone());
            }
        }
        let spelling = match entry {
            Some(entry) if self.is_fast && is_single && !entry.fast.is_empty() => entry.fast.into(),
            Some(entry) if is_single => entry.f32.into(),
            Some(_) => name.into(),
            None => helpers::spelling(name, is_single)?.into(),
        };
        Some(Expr::new(ExprKind::Math(spelling, built), ty.clone()))
    }
}

/// A constant of a type, rounded to it.
fn number(value: f64, ty: &Type) -> Option<Expr> {
    let kind = match ty {
        Type::Float(FloatKind::Double) => ExprKind::Float(Real(value)),
        Type::Float(FloatKind::Float) => ExprKind::Float(Real(f64::from(value as f32))),
        Type::Int(kind) => return Some(Expr::integer(value as i128, *kind)),
        Type::Float(FloatKind::Half | FloatKind::BFloat)
        | Type::Void
        | Type::Bool
        | Type::Pointer(_)
        | Type::Array(..)
        | Type::Record(_)
        | Type::Opaque(_) => return None,
    };
    Some(Expr::new(kind, ty.clone()))
}

/// The argument in the type of the formula; a constant stays one.
fn converted(arg: Expr, ty: &Type) -> Expr {
    let inner = if let ExprKind::Cast(operand) = &arg.kind { operand } else { &arg };
    match constant(inner).and_then(|value| number(value, ty)) {
        Some(constant) if arg.ty != *ty || matches!(arg.kind, ExprKind::Cast(_)) => constant,
        Some(_) | None => Expr::cast(arg, ty.clone()),
    }
}

/// The value of a constant that a formula may reckon with.
fn constant(expr: &Expr) -> Option<f64> {
    if let ExprKind::Int(value) = expr.kind {
        return (value.unsigned_abs() < 1 << 53).then_some(value as f64);
    }
    if let ExprKind::Float(value) = expr.kind { Some(value.0) } else { None }
}

fn is_constant(expr: &Expr, value: f64) -> bool {
    constant(expr) == Some(value)
}

fn negate(operand: Expr) -> Expr {
    if let ExprKind::Float(value) = operand.kind {
        return Expr::new(ExprKind::Float(Real(-value.0)), operand.ty);
    }
    if let ExprKind::Unary(UnaryOp::Negate, inner) = operand.kind {
        return *inner;
    }
    Expr::unary(UnaryOp::Negate, operand)
}

type Arithmetic = fn(f64, f64) -> f64;
type Comparison = fn(&f64, &f64) -> bool;

/// What arithmetic on two constants gives.
const ARITHMETIC: &[(BinaryOp, Arithmetic)] = &[
    (BinaryOp::Add, |a, b| a + b),
    (BinaryOp::Subtract, |a, b| a - b),
    (BinaryOp::Multiply, |a, b| a * b),
    (BinaryOp::Divide, |a, b| a / b),
];

/// What a comparison of two constants gives.
const COMPARISONS: &[(BinaryOp, Comparison)] = &[
    (BinaryOp::Equal, f64::eq),
    (BinaryOp::NotEqual, f64::ne),
    (BinaryOp::Less, f64::lt),
    (BinaryOp::LessEqual, f64::le),
    (BinaryOp::Greater, f64::gt),
    (BinaryOp::GreaterEqual, f64::ge),
];

/// `+ - * /` without the steps that do nothing.
fn arithmetic(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    if let (Some(a), Some(b)) = (constant(&left), constant(&right))
        && let Some((_, compute)) = ARITHMETIC.iter().find(|(known, _)| *known == op)
        && let Some(folded) = Some(compute(a, b)).filter(|value| value.is_finite())
        && let Some(folded) = number(folded, &left.ty)
    {
        return folded;
    }
    let is_sum = matches!(op, BinaryOp::Add | BinaryOp::Subtract);
    let is_product = matches!(op, BinaryOp::Multiply | BinaryOp::Divide);
    if (is_sum && is_constant(&right, 0.0)) || (is_product && is_constant(&right, 1.0)) {
        left
    } else if is_product && is_constant(&right, -1.0) {
        negate(left)
    } else if (op == BinaryOp::Add && is_constant(&left, 0.0)) || (op == BinaryOp::Multiply && is_constant(&left, 1.0))
    {
        right
    } else if op == BinaryOp::Multiply && is_constant(&left, -1.0) {
        negate(right)
    } else {
        Expr::binary(op, left, right)
    }
}

fn compare(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    if let (Some(a), Some(b)) = (constant(&left), constant(&right))
        && let Some((_, holds)) = COMPARISONS.iter().find(|(known, _)| *known == op)
    {
        return Expr::bool(holds(&a, &b));
    }
    Expr::binary(op, left, right)
}

fn either(left: Expr, right: Expr) -> Expr {
    if matches!(left.kind, ExprKind::Bool(true)) || matches!(right.kind, ExprKind::Bool(false)) {
        return left;
    }
    if matches!(left.kind, ExprKind::Bool(false)) || matches!(right.kind, ExprKind::Bool(true)) {
        return right;
    }
    Expr::binary(BinaryOp::Or, left, right)
}

fn select(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    if let ExprKind::Bool(value) = cond.kind {
        return if value { then } else { otherwise };
    }
    let ty = then.ty.clone();
    Expr::new(ExprKind::Select(Box::new(cond), Box::new(then), Box::new(otherwise)), ty)
}
