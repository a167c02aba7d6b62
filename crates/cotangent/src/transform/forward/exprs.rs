//! Tangents of expressions. None stands for zero, and for the null pointer.

use super::Pushforward;
use super::activity::Ways;
use crate::analysis::carries_floats;
use crate::ir::walk;
use crate::ir::{BinaryOp, Expr, ExprKind, Place, Real, Storage, Type, UnaryOp};
use crate::rules::{self, Partial};
use crate::transform::locals::{aggregate, in_type};

impl Pushforward<'_, '_> {
    /// The tangent of a value, zero if it has none, as a value of the given type.
    pub(super) fn tangent_or_zero(&mut self, value: &Expr, ty: &Type) -> Expr {
        match self.tangent(value) {
            Some(tangent) => converted(tangent, ty),
            None => self.ctx.primal.zero(ty).at(value.span),
        }
    }

    /// The tangent of a value; of a pointer, the pointer to the tangent.
    pub(super) fn tangent(&mut self, value: &Expr) -> Option<Expr> {
        if value.ty.is_pointer() {
            return self.pointer(value);
        }
        if !self.carries(&value.ty) {
            return None;
        }
        let tangent = match &value.kind {
            ExprKind::Load(place) => Expr::load(self.shadows.place(place)?),
            ExprKind::Unary(op, operand) => match op {
                UnaryOp::Negate => Expr::unary(UnaryOp::Negate, self.tangent(operand)?),
                UnaryOp::Not | UnaryOp::BitNot => return None,
            },
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, value)?,
            ExprKind::Select(cond, then, otherwise) => {
                let (left, right) = (self.tangent(then), self.tangent(otherwise));
                if left.is_none() && right.is_none() {
                    return None;
                }
                let or_zero =
                    |tangent: Option<Expr>| Box::new(tangent.unwrap_or_else(|| self.ctx.primal.zero(&value.ty)));
                Expr::new(ExprKind::Select(cond.clone(), or_zero(left), or_zero(right)), value.ty.clone())
            }
            ExprKind::Cast(operand) => Expr::cast(self.tangent(operand)?, value.ty.clone()),
            ExprKind::Math(name, args) => self.math(name, args, value)?,
            ExprKind::Construct(parts) => self.construct(parts, value)?,
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_) => return None,
        };
        Some(tangent.at(value.span))
    }

    /// The pointer to the tangent of what a pointer points to. None if that is constant.
    fn pointer(&mut self, pointer: &Expr) -> Option<Expr> {
        // Shared memory of integers may be looked at as floats later: `int* ids = shared; float* part = (float*)&ids[n];`.
        let is_view = self.is_of_shared(pointer) && self.activity.points_to_active(self.ctx.primal, pointer);
        if !self.carries(&pointer.ty) && !is_view {
            return None;
        }
        let shadow = self.shadows.pointer(pointer);
        // A pointer to constant memory as well was reported already.
        let is_known = shadow.is_some() || !self.ctx.diagnostics.is_empty();
        if !is_known && self.activity.points_to_active(self.ctx.primal, pointer) {
            self.refuse(
                pointer.span,
                "where the derivative of what this points to lies is not known",
                "use pointers that come from parameters and locals, without a detour through numbers",
            );
        }
        shadow
    }

    /// Whether a pointer leads into an array that the threads of a block share, by its name.
    fn is_of_shared(&self, pointer: &Expr) -> bool {
        match &pointer.kind {
            ExprKind::AddressOf(place) => {
                walk::own_variable(place).is_some_and(|local| self.function.locals[local].storage != Storage::Private)
            }
            ExprKind::Binary(BinaryOp::Offset, base, _) | ExprKind::Cast(base) => self.is_of_shared(base),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => false,
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr, value: &Expr) -> Option<Expr> {
        let (first, second) = (self.tangent(left), self.tangent(right));
        let may_vanish = op == BinaryOp::Divide
            && second.is_some()
            && self.activity.may_vanish(self.ctx.primal, right, Ways::AllLoopsRun);
        let (left, right) = (left.clone(), right.clone());
        let product = |a: Expr, b: Expr| Expr::binary(BinaryOp::Multiply, a, b);
        match op {
            BinaryOp::Add => sum(first, second),
            BinaryOp::Subtract => difference(first, second),
            BinaryOp::Multiply => {
                sum(first.map(|first| product(first, right)), second.map(|second| product(left, second)))
            }
            BinaryOp::Divide if may_vanish => {
                let ratio = |above: Expr| Expr::binary(BinaryOp::Divide, above, right.clone());
                let change = second.map(|second| times_unless_zero(ratio(value.clone()), second));
                difference(first.map(ratio), change)
            }
            // (da - y db) / b, where y is the quotient.
            BinaryOp::Divide => {
                let change = second.map(|second| product(value.clone(), second));
                difference(first, change).map(|above| Expr::binary(BinaryOp::Divide, above, right))
            }
            BinaryOp::Remainder
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight
            | BinaryOp::Equal
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

    fn construct(&mut self, parts: &[Expr], value: &Expr) -> Option<Expr> {
        let tangents: Vec<Option<Expr>> = parts.iter().map(|part| self.tangent(part)).collect();
        if tangents.iter().all(Option::is_none) {
            return None;
        }
        let tangents = parts.iter().zip(tangents).map(|(part, tangent)| match tangent {
            Some(tangent) => converted(tangent, &part.ty),
            None => self.ctx.primal.zero(&part.ty),
        });
        Some(aggregate(tangents.collect(), value.ty.clone()))
    }

    /// The sum of partials times tangents.
    fn math(&mut self, name: &str, args: &[Expr], value: &Expr) -> Option<Expr> {
        // In `float` for half precision.
        let ty = value.ty.at_least_single();
        let mut total = None;
        for (index, arg) in args.iter().enumerate() {
            if !carries_floats(self.ctx.primal, &arg.ty) {
                continue;
            }
            let Some(tangent) = self.tangent(arg) else { continue };
            let Some(rule) = rules::derivative(name) else {
                self.refuse(value.span, format!("the derivative of `{name}` is not known"), "use a function of CUDA's");
                continue;
            };
            if let Partial::Refused(reason) = rule.partial(index) {
                self.refuse(value.span, format!("`{name}` has no derivative: {reason}"), "use another function here");
            } else if let Some(partial) = rule.build(index, args, value) {
                let tangent = in_type(tangent, &ty);
                let may_vanish = rule.has_pole() && self.activity.may_vanish(self.ctx.primal, arg, Ways::All);
                let share = if may_vanish { times_unless_zero(partial, tangent) } else { times(partial, tangent) };
                total = sum(total, Some(share));
            } else if matches!(rule.partial(index), Partial::Expr(_)) {
                let message = format!("the derivative of `{name}` is not known in this precision");
                self.refuse(value.span, message, "compute it in float or double");
            }
        }
        total.map(|total| in_type(total, &value.ty))
    }
}

/// A partial times a tangent; many partials are 1 or -1. One that is 0 or 1 chooses: a tangent that is not taken may be
/// infinite.
fn times(partial: Expr, tangent: Expr) -> Expr {
    match partial.kind {
        ExprKind::Select(cond, then, otherwise) if is_choice(&then, &otherwise) => {
            let ty = tangent.ty.clone();
            let zero = Expr::new(ExprKind::Float(Real(0.0)), ty.clone());
            let (then, otherwise) = if otherwise.is_float_zero() { (tangent, zero) } else { (zero, tangent) };
            Expr::new(ExprKind::Select(cond, Box::new(then), Box::new(otherwise)), ty)
        }
        ExprKind::Float(Real(1.0)) => tangent,
        ExprKind::Float(Real(-1.0)) => Expr::unary(UnaryOp::Negate, tangent),
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
        | ExprKind::Construct(_) => Expr::binary(BinaryOp::Multiply, partial, tangent),
    }
}

fn is_choice(then: &Expr, otherwise: &Expr) -> bool {
    let is_one = |expr: &Expr| matches!(expr.kind, ExprKind::Float(Real(1.0)));
    (is_one(then) && otherwise.is_float_zero()) || (then.is_float_zero() && is_one(otherwise))
}

/// A partial that may be infinite times a tangent that is zero where the value is constant: zero there, and no NaN.
fn times_unless_zero(partial: Expr, tangent: Expr) -> Expr {
    let ty = tangent.ty.clone();
    let (inner, is_negative) =
        if let ExprKind::Unary(UnaryOp::Negate, inner) = tangent.kind { (*inner, true) } else { (tangent, false) };
    let signed = |value: Expr| if is_negative { Expr::unary(UnaryOp::Negate, value) } else { value };
    let zero = || Expr::new(ExprKind::Float(Real(0.0)), ty.clone());
    // One test is enough for a product of several partials.
    let (is_there, inner) = if let ExprKind::Select(cond, share, otherwise) = &inner.kind
        && is_test(cond)
        && **otherwise == zero()
    {
        ((**cond).clone(), (**share).clone())
    } else {
        (Expr::binary(BinaryOp::NotEqual, inner.clone(), zero()), inner)
    };
    let share = times(partial, signed(inner));
    Expr::new(ExprKind::Select(Box::new(is_there), Box::new(share), Box::new(zero())), ty)
}

/// Whether an expression asks whether something is not zero.
fn is_test(cond: &Expr) -> bool {
    matches!(&cond.kind, ExprKind::Binary(BinaryOp::NotEqual, _, right) if matches!(right.kind, ExprKind::Float(Real(0.0))))
}

fn sum(left: Option<Expr>, right: Option<Expr>) -> Option<Expr> {
    match (left, right) {
        (Some(left), Some(right)) => Some(Expr::binary(BinaryOp::Add, left, right)),
        (left, right) => left.or(right),
    }
}

fn difference(left: Option<Expr>, right: Option<Expr>) -> Option<Expr> {
    match (left, right) {
        (Some(left), Some(right)) => Some(Expr::binary(BinaryOp::Subtract, left, right)),
        (Some(left), None) => Some(left),
        (None, right) => right.map(|right| Expr::unary(UnaryOp::Negate, right)),
    }
}

/// A tangent as a value of a type that may differ in what pointers promise: `const`, or being a reference.
pub(super) fn converted(tangent: Expr, ty: &Type) -> Expr {
    if tangent.ty == *ty {
        return tangent;
    }
    if let Type::Pointer(_) = ty {
        match &tangent.kind {
            ExprKind::AddressOf(place) if ty.pointee() == Some(&place.ty) => {
                return Expr::new(ExprKind::AddressOf(place.clone()), ty.clone());
            }
            ExprKind::Null => return Expr::new(ExprKind::Null, ty.clone()),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => {}
        }
        if tangent.ty.is_reference() != ty.is_reference() {
            return Expr::new(ExprKind::AddressOf(Place::deref(tangent)), ty.clone());
        }
    }
    requalified(&tangent, ty).unwrap_or_else(|| Expr::cast(tangent, ty.clone()))
}

/// A pointer of the wanted type, if it is computed from one of that type.
fn requalified(pointer: &Expr, ty: &Type) -> Option<Expr> {
    match &pointer.kind {
        _ if pointer.ty == *ty => Some(pointer.clone()),
        ExprKind::Cast(operand) if ty.is_pointer() => requalified(operand, ty),
        ExprKind::Binary(BinaryOp::Offset, base, offset) => {
            Some(Expr::binary(BinaryOp::Offset, requalified(base, ty)?, (**offset).clone()).at(pointer.span))
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
