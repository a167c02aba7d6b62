//! Adjoints of expressions: how a value's adjoint is shared out among what the value was computed from.

use std::ops::ControlFlow;

use super::Rules;
use crate::diagnostic::{Diagnostic, NO_DERIVATIVE};
use crate::ir::walk::{self, Node, NodeMut};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, Place, PlaceKind, Stmt, StmtKind, Type, UnaryOp};
use crate::rules::{self, Partial, has_pole, is_steep};
use crate::transform::locals::{constant, declare, in_type, when};

/// An addition to an adjoint. Behind a pointer to memory of a thread's own it is a plain one: no later pass could tell.
fn add(shadow: Place, value: Expr, is_private: bool) -> Stmt {
    let value = in_type(value, &shadow.ty);
    if is_private && walk::own_variable(&shadow).is_none() {
        let sum = Expr::binary(BinaryOp::Add, Expr::load(shadow.clone()), value);
        return Stmt::new(StmtKind::Assign { place: shadow, value: sum });
    }
    Stmt::new(StmtKind::Accumulate { place: shadow, value })
}

/// What an adjoint holds, in the type in which derivatives are computed.
pub(in crate::transform::reverse) fn seed_in(shadow: Place) -> Expr {
    let ty = shadow.ty.at_least_single();
    Expr::cast(Expr::load(shadow), ty)
}

fn is_constant(expr: &Expr, value: f64) -> bool {
    matches!(expr.kind, ExprKind::Float(real) if real.0 == value)
}

/// What follows from a seed, or zero where the seed is: it must not meet a derivative that is infinite.
pub(super) fn unless_zero(seed: &Expr, share: Expr) -> Expr {
    if matches!(seed.kind, ExprKind::Float(_)) {
        return share;
    }
    let (ty, zero) = (share.ty.clone(), constant(0.0, &share.ty));
    Expr::new(ExprKind::Select(Box::new(is_not_zero(seed)), Box::new(share), Box::new(zero)), ty)
}

fn is_not_zero(seed: &Expr) -> Expr {
    Expr::binary(BinaryOp::NotEqual, seed.clone(), constant(0.0, &seed.ty))
}

/// Whether a seed is divided by a value, as that of a divisor is. Where the value is zero such a seed is not.
fn is_divided_by(seed: &Expr, value: &Expr) -> bool {
    let ExprKind::Binary(op, _, last) = &seed.as_negated().unwrap_or(seed).kind else { return false };
    let ExprKind::Binary(inner, left, right) = &last.kind else { return false };
    match (op, inner) {
        (BinaryOp::Divide, BinaryOp::Multiply) => **left == *value && **right == *value,
        (BinaryOp::Multiply, BinaryOp::Divide) => **right == *value,
        (_, _) => false,
    }
}

/// `-value`, without a double minus.
fn negate(value: Expr) -> Expr {
    match value.kind {
        ExprKind::Unary(UnaryOp::Negate, inner) => *inner,
        ExprKind::Float(real) => constant(-real.0, &value.ty),
        // -(-a * b) and -(-a / b) are a * b and a / b.
        ExprKind::Binary(op @ (BinaryOp::Multiply | BinaryOp::Divide), left, right) => {
            Expr::binary(op, negate(*left), *right)
        }
        kind @ (ExprKind::Bool(_)
        | ExprKind::Int(_)
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
        | ExprKind::Construct(_)) => {
            let ty = value.ty.clone();
            Expr::unary(UnaryOp::Negate, Expr { kind, ty, span: value.span })
        }
    }
}

/// `left * right`, without factors of one.
fn multiply(left: Expr, right: Expr) -> Expr {
    if is_constant(&right, 1.0) {
        return left;
    }
    if is_constant(&left, 1.0) {
        return right;
    }
    match (left.kind, right.kind) {
        (kind, ExprKind::Unary(UnaryOp::Negate, inner)) => {
            negate(multiply(Expr { kind, ty: left.ty, span: left.span }, *inner))
        }
        (kind, ExprKind::Float(real)) if real.0 == -1.0 => negate(Expr { kind, ty: left.ty, span: left.span }),
        (left_kind, right_kind) => Expr::binary(
            BinaryOp::Multiply,
            Expr { kind: left_kind, ty: left.ty, span: left.span },
            Expr { kind: right_kind, ty: right.ty, span: right.span },
        ),
    }
}

impl Rules<'_> {
    /// Appends the statements that add `seed` times the derivative of `value` to the adjoints of its operands. The seed
    /// is of the type in which derivatives of the value are computed.
    pub(in crate::transform::reverse) fn adjoint(&mut self, value: &Expr, seed: Expr, out: &mut Block) {
        if !self.facts.is_active_value(value) {
            return;
        }
        match &value.kind {
            ExprKind::Load(place) => {
                if let Some(shadow) = self.shadow(place) {
                    let is_private = !self.facts.is_host() && self.is_private_place(place);
                    out.push(add(shadow, seed, is_private).at(value.span));
                }
            }
            ExprKind::Unary(UnaryOp::Negate, operand) => self.adjoint(operand, negate(seed), out),
            ExprKind::Binary(op, left, right) => self.adjoint_of_operator(*op, left, right, seed, out),
            ExprKind::Select(cond, then, otherwise) => {
                let seed = self.vars.bind(seed, out);
                let (mut then_block, mut else_block) = (Block::new(), Block::new());
                self.adjoint(then, seed.clone(), &mut then_block);
                self.adjoint(otherwise, seed, &mut else_block);
                out.extend(when((**cond).clone(), then_block, else_block));
            }
            ExprKind::Cast(operand) => self.adjoint(operand, in_type(seed, &operand.ty.at_least_single()), out),
            ExprKind::Math(name, args) => self.adjoint_of_math(value, name, args, seed, out),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => {}
        }
    }

    fn adjoint_of_operator(&mut self, op: BinaryOp, left: &Expr, right: &Expr, seed: Expr, out: &mut Block) {
        let both = self.facts.is_active_value(left) && self.facts.is_active_value(right);
        let seed = if both { self.vars.bind(seed, out) } else { seed };
        let factor = |operand: &Expr| in_type(operand.clone(), &operand.ty.at_least_single());
        match op {
            BinaryOp::Add => {
                self.adjoint(left, seed.clone(), out);
                self.adjoint(right, seed, out);
            }
            BinaryOp::Subtract => {
                self.adjoint(left, seed.clone(), out);
                self.adjoint(right, negate(seed), out);
            }
            BinaryOp::Multiply => {
                self.adjoint(left, multiply(seed.clone(), factor(right)), out);
                self.adjoint(right, multiply(seed, factor(left)), out);
            }
            BinaryOp::Divide => {
                let share = self.adjoint_of_dividend([left, right], seed, out);
                self.adjoint(right, negate(share), out);
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
            | BinaryOp::Distance => {}
        }
    }

    /// Gives a dividend its share of a seed; returns what the divisor is to be taken off. It is made of the quotient, which the
    /// forward sweep has computed, where that saves a division.
    fn adjoint_of_dividend(&mut self, [left, right]: [&Expr; 2], seed: Expr, out: &mut Block) -> Expr {
        let factor = |operand: &Expr| in_type(operand.clone(), &operand.ty.at_least_single());
        let quotient = Expr::binary(BinaryOp::Divide, factor(left), factor(right));
        if is_constant(left, 1.0) {
            return multiply(multiply(seed, quotient.clone()), quotient);
        }
        if !self.facts.is_active_value(left) {
            let square = Expr::binary(BinaryOp::Multiply, factor(right), factor(right));
            return Expr::binary(BinaryOp::Divide, multiply(seed, factor(left)), square);
        }
        let share = Expr::binary(BinaryOp::Divide, seed, factor(right));
        if !self.facts.is_active_value(right) {
            self.adjoint(left, share.clone(), out);
            return share;
        }
        let share = self.vars.bind(share, out);
        self.adjoint(left, share.clone(), out);
        multiply(share, quotient)
    }

    fn adjoint_of_math(&mut self, value: &Expr, name: &str, args: &[Expr], seed: Expr, out: &mut Block) {
        let Some(rule) = rules::derivative(name) else {
            let message = format!("`{name}` has no derivative");
            self.report(Diagnostic::new(NO_DERIVATIVE, value.span, message, "on an active path"));
            return;
        };
        let may_meet_pole = is_steep(value) && !is_divided_by(&seed, value);
        let active = args.iter().filter(|arg| self.facts.is_active_value(arg)).count();
        let seed = if active > 1 || may_meet_pole { self.vars.bind(seed, out) } else { seed };
        for (position, arg) in args.iter().enumerate().filter(|(_, arg)| arg.ty.is_arithmetic()) {
            if let Partial::Refused(reason) = rule.partial(position)
                && (self.facts.is_active_value(arg) || arg.ty.is_integral())
            {
                let message = format!("`{name}` has no derivative: {reason}");
                self.report(Diagnostic::new(NO_DERIVATIVE, value.span, message, "on an active path"));
                continue;
            }
            if !self.facts.is_active_value(arg) {
                continue;
            }
            let Some(partial) = rule.build(position, args, value) else { continue };
            let partial = self.call_helpers(partial, out);
            let ty = arg.ty.at_least_single();
            if let ExprKind::Select(cond, then, otherwise) = &partial.kind
                && is_constant(then, 1.0)
                && is_constant(otherwise, 0.0)
            {
                let mut then_block = Block::new();
                self.adjoint(arg, in_type(seed.clone(), &ty), &mut then_block);
                out.extend(when((**cond).clone(), then_block, Block::new()));
            } else {
                let share = multiply(seed.clone(), partial);
                let share = if may_meet_pole { unless_zero(&seed, share) } else { share };
                self.adjoint(arg, in_type(share, &ty), out);
            }
        }
    }

    /// Replaces functions of Cotangent's own in a partial derivative by calls.
    fn call_helpers(&mut self, mut expr: Expr, out: &mut Block) -> Expr {
        let mut calls = Block::new();
        let _ = walk::visit_expr_mut(&mut expr, &mut |node| {
            if let NodeMut::Expr(inner) = node
                && let ExprKind::Math(name, args) = &inner.kind
                && let Some(function) = self.derivatives.helper(name)
            {
                let local = self.vars.add("_t", inner.ty.clone());
                let into = Place::local(local, inner.ty.clone());
                calls.push(declare(local, None));
                calls.push(Stmt::new(StmtKind::Call { into: Some(into.clone()), function, args: args.clone() }));
                *inner = Expr::load(into);
            }
            ControlFlow::<()>::Continue(())
        });
        out.append(&mut calls);
        expr
    }

    /// Shares out the adjoint of a record or array, which lies in `seed`, leaf by leaf.
    pub(in crate::transform::reverse) fn adjoint_of_aggregate(&mut self, value: &Expr, seed: &Place, out: &mut Block) {
        if !self.facts.is_active_value(value) {
            return;
        }
        match (&value.kind, &value.ty) {
            (_, Type::Float(_)) => self.adjoint(value, seed_in(seed.clone()), out),
            (ExprKind::Load(place), _) => {
                let Some(shadow) = self.shadow(place) else { return };
                let is_private = !self.facts.is_host() && self.is_private_place(place);
                for (from, into) in self.vars.leaves(seed).into_iter().zip(self.vars.leaves(&shadow)) {
                    out.push(add(into, Expr::load(from), is_private).at(value.span));
                }
            }
            (ExprKind::Construct(operands), Type::Record(_)) => {
                // An adjoint may have wider numbers than what it is the adjoint of.
                let Type::Record(record) = seed.ty else { return };
                let fields = self.facts.module.records[record].fields.clone();
                for ((position, field), operand) in (0u32..).zip(&fields).zip(operands) {
                    self.adjoint_of_aggregate(operand, &seed.clone().field(position, field.ty.clone()), out);
                }
            }
            (ExprKind::Construct(operands), _) => {
                for (position, operand) in (0i128..).zip(operands) {
                    let index = Expr::new(ExprKind::Int(position), Type::INT);
                    self.adjoint_of_aggregate(operand, &seed.clone().index(index), out);
                }
            }
            (ExprKind::Select(cond, then, otherwise), _) => {
                let (mut then_block, mut else_block) = (Block::new(), Block::new());
                self.adjoint_of_aggregate(then, seed, &mut then_block);
                self.adjoint_of_aggregate(otherwise, seed, &mut else_block);
                out.extend(when((**cond).clone(), then_block, else_block));
            }
            (ExprKind::Cast(operand), _) => self.adjoint_of_aggregate(operand, seed, out),
            (
                ExprKind::Bool(_)
                | ExprKind::Int(_)
                | ExprKind::Float(_)
                | ExprKind::Null
                | ExprKind::AddressOf(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::Math(..)
                | ExprKind::Builtin(_)
                | ExprKind::SizeOf(_),
                _,
            ) => {}
        }
    }

    /// The adjoint of a value that is stored to a place, whose adjoint is the seed.
    pub(in crate::transform::reverse) fn adjoint_of_stored(
        &mut self,
        place: &Place,
        value: &Expr,
        seed: Expr,
        out: &mut Block,
    ) {
        let is_sometimes =
            matches!(place.kind, PlaceKind::Local(local) if self.facts.locals.used_sometimes.contains(&local));
        let has_pole = || {
            walk::visit_expr(value, &mut |node| match node {
                Node::Expr(expr) if has_pole(expr) && !is_steep(expr) && self.facts.is_active_value(expr) => {
                    ControlFlow::Break(())
                }
                Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => ControlFlow::Continue(()),
            })
            .is_break()
        };
        if !is_sometimes || !has_pole() {
            return self.adjoint(value, seed, out);
        }
        let mut inside = Block::new();
        let cond = is_not_zero(&seed);
        self.adjoint(value, seed, &mut inside);
        out.extend(when(cond, inside, Block::new()));
    }
}
